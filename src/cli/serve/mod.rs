//! `tau serve`: sessions over HTTP. Requests are commands, event streams are events.
//!
//! [`hub`] has the open sessions, each a [`live`] session with an [`event_log`] that all its clients read;
//! [`elsewhere`] is the way to sessions that other processes have open. [`routes`] are the requests, [`guard`] checks their senders. The server's answers are in [`types`] and
//! [`problem`], which the OpenAPI document is made from.

pub(crate) mod accept;
mod answer_types;
pub(crate) mod app;
mod attached;
mod attempt_types;
mod branch_types;
pub(crate) mod elsewhere;
mod event_log;
mod event_record;
mod extract;
pub(crate) mod facts;
mod far_attempts;
pub(crate) mod guard;
pub(crate) mod hub;
pub(crate) mod live;
pub(crate) mod mcp;
mod mcp_tools;
pub(crate) mod metrics;
mod opening;
mod page;
pub(crate) mod problem;
pub(crate) mod routes;
mod screen_stream;
mod sender;
pub(crate) mod strangers;
mod stream;
mod types;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;

use super::args::serve::{ServeArgs, ServedSessions};
use super::attach::running::{RunningServer, announce};
use super::compose::Setup;
use crate::compose::environment::Connections;
use crate::compose::profile::FrontEndProfile;
use crate::live::hosting::{Hosting, end_server, follow};
use crate::process::crash;
use crate::process::exit::{Exit, Refusal, fail, say, warn};
use crate::process::signals::Signals;
use crate::upkeep;
use accept::{Listener, accept, raise_file_limit};
use app::{App, AppParts};
use elsewhere::Elsewhere;
use guard::{Guard, new_token};
use hub::{Hub, HubLimits};
use metrics::Metrics;

/// The composition of this front end's agents: a user can be asked, but the terminal is not visible.
pub const PROFILE: FrontEndProfile =
    FrontEndProfile { connections: Connections::ForClients, ..FrontEndProfile::OF_CLIENT };

/// The variable of the token if no file is named.
const TOKEN: &str = "TAU_SERVE_TOKEN";
/// Minimum length of a token, in bytes.
const MIN_LEN: usize = 16;
/// Time for connections to end after all sessions have.
const FAREWELL: Duration = Duration::from_secs(2);

/// Serves until a signal ends it; returns the program's end.
pub fn run(args: ServeArgs) -> Exit {
    match token(args.token_file.as_deref()) {
        Ok(token) => run_server(&args.sessions, PROFILE, async |setup| serve(&args, setup, token).await),
        Err(refusal) => refusal.fail(),
    }
}

/// Reads the set-up of a server, and runs it until its end.
fn run_server(
    sessions: &ServedSessions,
    profile: FrontEndProfile,
    serve: impl AsyncFnOnce(Setup) -> Exit,
) -> Exit {
    let setup = Setup::read(sessions.program_args(), profile).and_then(Setup::with_model_if_asked);
    let setup = match setup {
        Ok(setup) => setup,
        Err(refusal) => return refusal.fail(),
    };
    crash::install_for_server(setup.paths.state.clone());
    setup.notices.iter().for_each(|notice| warn(notice));
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(Exit::Config, &format!("cannot start: {error}")),
    };
    let exit = runtime.block_on(serve(setup));
    // Blocking work, such as a pending read of standard input, must not delay the exit.
    runtime.shutdown_background();
    exit
}

/// The token of clients, and whether it was generated here.
struct Token {
    text: String,
    is_new: bool,
}

fn token(file: Option<&Path>) -> Result<Token, Refusal> {
    let (text, origin) = match (file, std::env::var(TOKEN)) {
        (Some(file), _) => {
            let text = std::fs::read_to_string(file).map_err(|error| {
                Refusal::config(format!("cannot read the token {}: {error}", file.display()))
            })?;
            (text.trim().to_owned(), file.display().to_string())
        }
        (None, Ok(text)) if !text.trim().is_empty() => (text.trim().to_owned(), TOKEN.to_owned()),
        (None, _) => return Ok(Token { text: new_token()?, is_new: true }),
    };
    let is_sound = text.len() >= MIN_LEN && text.chars().all(|c| c.is_ascii_graphic());
    match is_sound {
        true => Ok(Token { text, is_new: false }),
        false => Err(Refusal::config(format!(
            "{origin}: the token has to be at least {MIN_LEN} visible ASCII characters"
        ))),
    }
}

async fn serve(args: &ServeArgs, setup: Setup, token: Token) -> Exit {
    raise_file_limit();
    let mut signals = match Signals::for_batch() {
        Ok(signals) => signals,
        Err(error) => return fail(Exit::Config, &format!("cannot watch for signals: {error}")),
    };
    let (listener, address) = match listen(args).await {
        Ok(listening) => listening,
        Err(refusal) => return refusal.fail(),
    };
    let metrics = Arc::<Metrics>::default();
    let own = RunningServer { address: address.clone(), token: token.is_new.then(|| token.text.clone()) };
    let _announced = announce(&setup.paths, &own)
        .inspect_err(|error| warn(&format!("`tau attach` will need the address and the token: {error}")));
    let limits = HubLimits { sessions: args.max_sessions as usize, idle: Duration::from_secs(args.idle) };
    let elsewhere = Elsewhere::new(setup.paths.clone(), setup.settings.network(), Some(setup.first_mode()));
    let hub = Hub::new(setup.clone(), limits, Arc::clone(&metrics));
    let mut hosting = Hosting::of_server(&hub, &setup, &metrics);
    upkeep::sweep_scratch_later(&setup.paths);
    let hosts = args.socket.is_none().then(|| args.allow_host.clone());
    let app = App::new(AppParts {
        hub: Arc::clone(&hub),
        guard: Guard::new(&token.text, hosts, args.allow_origin.clone(), args.rate),
        metrics,
        max_body: usize::try_from(args.max_body).unwrap_or(usize::MAX),
        max_streams: args.max_streams.into(),
        log: args.log,
        elsewhere: Some(elsewhere),
    });
    let greeting = match address.strip_prefix("http://") {
        Some(place) => link(place, &token),
        None => greeting(&address, &token),
    };
    if say(&greeting) != Exit::Ok {
        return Exit::Model;
    }
    let (stop, stopped) = watch::channel(false);
    let serving = tokio::spawn(accept(listener, move || routes::router(app.clone()), stopped));
    let exit = loop {
        tokio::select! {
            caught = signals.next() => if let Some(exit) = caught.exit() { break exit },
            () = crash::wait_for_crash() => return Exit::Crash,
            () = follow(hosting.as_mut()) => {}
        }
    };
    // Work that takes longer is aborted.
    let patience = async {
        let _ = tokio::time::timeout(Duration::from_secs(args.grace), signals.exit()).await;
    };
    end_server(hosting, &hub, patience, exit).await;
    stop.send_replace(true);
    // A client that does not read its last bytes must not delay the end.
    let _ = tokio::time::timeout(FAREWELL, serving).await;
    if let Some(path) = &args.socket {
        let _ = std::fs::remove_file(path);
    }
    exit
}

/// The output once the page can be opened: the link that opens it. A generated token is in its fragment,
/// which browsers do not send.
fn link(place: &str, token: &Token) -> String {
    let token = if token.is_new { format!("/#token={}", token.text) } else { String::new() };
    match place.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_unspecified() => {
            let here = if address.is_ipv6() { "[::1]" } else { "127.0.0.1" };
            format!("listening on {place}, here http://{here}:{}{token}\n", address.port())
        }
        _ => format!("listening on http://{place}{token}\n"),
    }
}

/// The output once a server without a page is ready.
fn greeting(address: &str, token: &Token) -> String {
    let token = if token.is_new { format!("token {}\n", token.text) } else { String::new() };
    format!("listening on {address}\n{token}")
}

async fn listen(args: &ServeArgs) -> Result<(Listener, String), Refusal> {
    let Some(path) = &args.socket else {
        let failed =
            |error| Refusal::config(format!("cannot listen on {}: {error}; see --listen", args.listen));
        let listener = TcpListener::bind(args.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        return Ok((Listener::Tcp(listener), format!("http://{address}")));
    };
    remove_stale(path);
    let failed =
        |error| Refusal::config(format!("cannot listen on {}: {error}; see --socket", path.display()));
    let listener = UnixListener::bind(path).map_err(failed)?;
    let only_user = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(path, only_user).map_err(failed)?;
    Ok((Listener::Unix(listener), format!("unix:{}", path.display())))
}

/// Removes the socket of an ended server. A socket in use stays, and binding fails.
fn remove_stale(path: &Path) {
    use std::os::unix::fs::FileTypeExt as _;
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    // Any other error, as of a server that has too many clients, is that of a server that lives.
    let is_refused = |error: std::io::Error| matches!(error.kind(), std::io::ErrorKind::ConnectionRefused);
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err_and(is_refused) {
        // Binding reports the fault.
        let _ = std::fs::remove_file(path);
    }
}
