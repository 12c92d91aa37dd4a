//! `tau mcp-serve`: the sessions of a [`Hub`] as tools of MCP, on the standard streams or over HTTP.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::accept::{Listener, accept, raise_file_limit};
use super::app::{App, Shared};
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
use tau_tools::scratch::Scratch;

/// Time after which an unused session is closed.
const IDLE: Duration = Duration::from_secs(3_600);
/// Maximum size of a request, in bytes.
const MAX_BODY: usize = 8 << 20;
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
        tokio::task::spawn_blocking(|| Scratch::default().sweep());
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
async fn ended(signals: &mut Signals) -> Exit {
    loop {
        tokio::select! {
            caught = signals.next() => if let Some(exit) = caught.exit() { return exit },
            () = crash::crashed() => return Exit::Crash,
        }
    }
}

/// One client, on the standard streams.
async fn streams(hub: &Arc<Hub>) -> Result<Exit, Refusal> {
    let mut signals = watch_signals()?;
    let tools = SessionTools::new(Arc::clone(hub));
    let served = async {
        let running = tools.serve((tokio::io::stdin(), tokio::io::stdout())).await;
        match running {
            // A leaving client is the usual end.
            Ok(running) => running.waiting().await.map(|_| Exit::Ok).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    };
    tokio::select! {
        exit = ended(&mut signals) => Ok(exit),
        served = served => served.map_err(|error| Refusal::config(format!("no client of MCP on standard input: {error}"))),
    }
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
    let app = App::new(Shared {
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
    let router = routes::checked(app, Router::new().route_service("/mcp", service));
    if say(&greeting(&format!("http://{address}/mcp"), &token)) != Exit::Ok {
        return Ok(Exit::Model);
    }
    let (stop, stopped) = watch::channel(false);
    let mut serving = tokio::spawn(accept(Listener::Tcp(listener), move || router.clone(), stopped));
    let exit = ended(&mut signals).await;
    ending.cancel();
    stop.send_replace(true);
    // A client that does not read its last bytes must not delay the end.
    let _ = tokio::time::timeout(GRACE, &mut serving).await;
    Ok(exit)
}
