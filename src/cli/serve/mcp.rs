//! `tau mcp-serve`: the sessions of a [`Hub`] as tools of MCP, on the standard streams or over HTTP.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, watch};
use tokio_util::task::AbortOnDropHandle;

use super::accept::{Listener, accept, raise_file_limit};
use super::app::{App, AppParts};
use super::guard::Guard;
use super::hub::{Hub, HubLimits};
use super::mcp_tools::SessionTools;
use super::metrics::Metrics;
use super::{PROFILE, greeting, routes, run_server, token};
use crate::args::mcp_serve::McpServeArgs;
use crate::args::serve::LogFormat;
use crate::compose::profile::FrontEndProfile;
use crate::live::hosting::{Hosting, end_server, follow};
use crate::process::crash;
use crate::process::exit::{Exit, Refusal, say};
use crate::process::signals::Signals;
use crate::upkeep;

/// Time after which an unused session is closed.
const IDLE: Duration = Duration::from_secs(3_600);
/// Maximum size of a request, in bytes.
const MAX_BODY: usize = 8 << 20;
/// Size of the pipe between the streams and the server, in bytes.
const PIPE: usize = 64 * 1024;
/// Requests per second from one address.
const RATE: u32 = 100;
/// Time for which runs may continue once the client has left.
const GRACE: Duration = Duration::from_secs(2);

/// Serves until the client leaves, or a signal ends it; returns the program's end.
pub fn run(args: McpServeArgs) -> Exit {
    // An MCP client is a program, and mostly a model itself.
    let profile = FrontEndProfile { asks_user: false, ..PROFILE };
    run_server(&args.sessions, profile, async |setup| {
        let limits = HubLimits { sessions: args.max_sessions as usize, idle: IDLE };
        let metrics = Arc::<Metrics>::default();
        let hub = Hub::new(setup.clone(), limits, Arc::clone(&metrics));
        let mut hosting = Hosting::of_server(&hub, &setup, &metrics);
        upkeep::sweep_scratch_later(&setup.paths);
        let served = async {
            match args.listen {
                None => streams(&hub).await,
                Some(_) => http(&args, &hub, metrics).await,
            }
        };
        let mut served = pin!(served);
        let exit = loop {
            tokio::select! {
                exit = &mut served => break exit.unwrap_or_else(|refusal| refusal.fail()),
                () = follow(hosting.as_mut()) => {}
            }
        };
        end_server(hosting, &hub, tokio::time::sleep(GRACE), exit).await;
        exit
    })
}

fn watch_signals() -> Result<Signals, Refusal> {
    Signals::for_batch().map_err(|error| Refusal::config(format!("cannot watch for signals: {error}")))
}

/// The end requested by a signal or a crash.
async fn wait_for_exit(signals: &mut Signals) -> Exit {
    loop {
        tokio::select! {
            caught = signals.next() => if let Some(exit) = caught.exit() { return exit },
            () = crash::wait_for_crash() => return Exit::Crash,
        }
    }
}

/// One client, on the standard streams.
async fn streams(hub: &Arc<Hub>) -> Result<Exit, Refusal> {
    let mut signals = watch_signals()?;
    let tools = SessionTools::new(Arc::clone(hub));
    let served = async {
        let (client, server) = tokio::io::duplex(PIPE);
        let (answers, requests) = tokio::io::split(client);
        let passed = pass(tokio::io::stdin(), tokio::io::stdout(), answers, requests);
        let mut passed = AbortOnDropHandle::new(tokio::spawn(passed));
        let ended = match tools.serve(tokio::io::split(server)).await {
            // A leaving client is the usual end.
            Ok(running) => running.waiting().await.map(|_| Exit::Ok).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        // The last answers are on their way.
        let _ = tokio::time::timeout(GRACE, &mut passed).await;
        ended
    };
    tokio::select! {
        exit = wait_for_exit(&mut signals) => Ok(exit),
        served = served => served.map_err(|error| Refusal::config(format!("no client of MCP on standard input: {error}"))),
    }
}

/// Passes the lines of a client to the server, and those of the server back. A line that is not JSON, which the server
/// would skip, is answered with an error.
async fn pass(
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    answers: impl AsyncRead + Unpin,
    mut server: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let output = Mutex::new(output);
    let write = async |line: &[u8]| {
        let mut output = output.lock().await;
        output.write_all(&[line, b"\n"].concat()).await?;
        output.flush().await
    };
    let there = async {
        let mut lines = BufReader::new(input).split(b'\n');
        while let Some(line) = lines.next_segment().await? {
            let is_json = serde_json::from_slice::<IgnoredAny>(&line).is_ok();
            if is_json || line.trim_ascii().is_empty() {
                server.write_all(&[&line[..], b"\n"].concat()).await?;
            } else {
                let error = json!({ "code": -32700, "message": "Parse error: the line is not JSON" });
                let answer = json!({ "jsonrpc": "2.0", "id": null, "error": error });
                write(answer.to_string().as_bytes()).await?;
            }
        }
        server.shutdown().await
    };
    let back = async {
        let mut lines = BufReader::new(answers).split(b'\n');
        while let Some(line) = lines.next_segment().await? {
            write(&line).await?;
        }
        Ok(())
    };
    tokio::try_join!(there, back).map(drop)
}

/// Any number of clients, over streamable HTTP at `/mcp`, with the checks of `tau serve`.
async fn http(args: &McpServeArgs, hub: &Arc<Hub>, metrics: Arc<Metrics>) -> Result<Exit, Refusal> {
    let Some(address) = args.listen else { return Ok(Exit::Usage) };
    raise_file_limit();
    let mut signals = watch_signals()?;
    let token = token(args.token_file.as_deref())?;
    let failed = |error| Refusal::config(format!("cannot listen on {address}: {error}; see --listen"));
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let app = App::new(AppParts {
        hub: Arc::clone(hub),
        guard: Guard::new(&token.text, Some(args.allow_host.clone()), Vec::new(), RATE),
        metrics,
        max_body: MAX_BODY,
        max_streams: u64::from(u32::MAX),
        elsewhere: None,
        log: LogFormat::Off,
    });
    // Hosts and origins are checked before a request reaches the service.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(MAX_BODY);
    let ending = config.cancellation_token.clone();
    let tools = SessionTools::new(Arc::clone(hub));
    let service =
        StreamableHttpService::new(move || Ok(tools.clone()), Arc::<LocalSessionManager>::default(), config);
    let router = routes::with_checks(app, Router::new().route_service("/mcp", service));
    if say(&greeting(&format!("http://{address}/mcp"), &token)) != Exit::Ok {
        return Ok(Exit::Model);
    }
    let (stop, stopped) = watch::channel(false);
    let mut serving = tokio::spawn(accept(Listener::Tcp(listener), move || router.clone(), stopped));
    let exit = wait_for_exit(&mut signals).await;
    ending.cancel();
    stop.send_replace(true);
    // A client that does not read its last bytes must not delay the end.
    let _ = tokio::time::timeout(GRACE, &mut serving).await;
    Ok(exit)
}
