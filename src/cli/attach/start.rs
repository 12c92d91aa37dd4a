//! Starts `tau attach`: finds the server, its token and the session. This happens before the terminal is
//! taken over, so that errors remain readable.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::reach::{Address, Trouble, split_link};
use super::running::{RunningServer, running};
use super::server::Server;
use super::ssh::{self, Wish};
use super::wire::AttachRequest;
use crate::args::CliArgs;
use crate::args::attach::AttachArgs;
use crate::commands::table;
use crate::compose::{Setup, session_lookup};
use crate::live::commands::{find_record, open_sessions, short_names};
use crate::live::kept_screen::KeptScreen;
use crate::live::record::LiveRecord;
use crate::live::rights::{self, FlaggedMode};
use crate::process::exit::{Exit, Refusal, fail};
use crate::process::plain;
use crate::process::runtime;
use crate::tui;
use crate::tui::start::{PROFILE, check_terminal, run_attached};
use tau_agent::session::list;
use tau_agent::settings::servers::SCHEME;

/// The default address of `tau serve`.
const USUAL: &str = "http://127.0.0.1:4180";
/// The maximum number of sessions that are named, and of characters of their titles.
const MAX_ROWS: usize = 10;
const MAX_TITLE: usize = 60;
/// The longest wait for the server.
const PATIENCE: Duration = Duration::from_secs(10);
/// The variable of the token if no file is named.
const TOKEN: &str = "TAU_SERVE_TOKEN";

/// Attaches the screen; returns the program's end.
pub(crate) fn run(args: AttachArgs) -> Exit {
    let prepared = check_terminal().and_then(|()| prepare(args));
    let (setup, server, wanted) = match prepared {
        Ok(Target::Here(setup, id)) => {
            let restored = KeptScreen::of(&setup.paths, &id);
            return tui::start::run_restored((*setup).or_demo(), restored);
        }
        Ok(Target::Connected(connected)) => {
            let (setup, server, session) = *connected;
            let restored = KeptScreen::of(&setup.paths, &session);
            return run_attached(&setup, server, session, restored, None);
        }
        Ok(Target::Server(target)) => *target,
        Err(refusal) => return refusal.fail(),
    };
    let runtime = match runtime::on_this_thread() {
        Ok(runtime) => runtime,
        Err(refusal) => return refusal.fail(),
    };
    let found = runtime.block_on(async { tokio::time::timeout(PATIENCE, server.find(&wanted)).await });
    let silent = |_| Trouble::Unreachable(format!("{} does not answer", server.name()));
    let found = found.map_err(silent).flatten();
    drop(runtime);
    let found = match (found, &wanted.session) {
        // Its process ends at this moment: another one opens the session.
        (Err(Trouble::Unreachable(_)), Some(id)) if server.display_name().is_empty() => Ok(id.clone()),
        (found, _) => found,
    };
    match found {
        Ok(session) => {
            let restored = KeptScreen::of(&setup.paths, &session);
            run_attached(&setup, server, session, restored, None)
        }
        Err(trouble) => fail(Exit::Config, &format!("cannot attach: {}", trouble.text())),
    }
}

/// The place of the session.
enum Target {
    /// This process.
    Here(Box<Setup>, String),
    /// Another machine, to which there is a connection.
    Connected(Box<(Setup, Server, String)>),
    /// Another process.
    Server(Box<(Setup, Server, AttachRequest)>),
}

fn prepare(args: AttachArgs) -> Result<Target, Refusal> {
    let (url, session) = match (args.url, args.session.or(args.named)) {
        (Some(only), None) if Address::read(&only).is_none() && !only.contains("://") => (None, Some(only)),
        (url, session) => (url, session),
    };
    if args.new && session.is_some() {
        return Err(Refusal::usage("--new starts a session: do not name one"));
    }
    let flags =
        CliArgs { record: args.record.clone(), no_context_files: true, ..CliArgs::without_arguments() };
    let setup = Setup::read(flags, PROFILE)?;
    if let Some(url) = url.as_deref().filter(|url| url.starts_with(SCHEME)) {
        let (server, id) = ssh::connect(url, Wish { session, new: args.new }, &setup)?;
        return Ok(Target::Connected(Box::new((setup, server, id))));
    }
    if let (None, Some(wanted)) = (&url, &session)
        && let Some(found) = find_record(&setup.paths, wanted)
        && let Some(address) = found.address()
    {
        let server = Server::of_session(&found, address, &setup.paths, &setup.settings.network());
        let server = server.map_err(Refusal::config)?;
        let wanted = AttachRequest { session: Some(found.record.id), new: false };
        return Ok(Target::Server(Box::new((setup, server, wanted))));
    }
    if let (None, None, Some(wanted)) = (&url, &args.token_file, &session) {
        match session_lookup::find(&setup.settings.session_root(&setup.paths), wanted) {
            // No process has it open: this one does.
            Ok((path, _)) => return open_here(&setup, args.record, wanted, &path),
            Err(refusal) if running(&setup.paths).is_empty() => return Err(refusal),
            // A server here may have sessions elsewhere.
            Err(_) => {}
        }
    }
    let has_token =
        args.token_file.is_some() || std::env::var_os(TOKEN).is_some_and(|token| !token.is_empty());
    if url.is_none() && !args.new && !has_token && running(&setup.paths).is_empty() {
        let open = open_sessions(&setup.paths, &setup.cwd);
        if !open.is_empty() {
            return Err(Refusal::config(which(&open)));
        }
    }
    let (address, known) = address(url.as_deref(), running(&setup.paths))?;
    let linked = url.as_deref().and_then(|url| split_link(url).1);
    let token = token(args.token_file.as_deref(), linked, known, &address)?;
    let unusable = |failure: tau_agent::provider::Failure| {
        Refusal::config(format!("cannot attach to {}: {}", address.text(), failure.message))
    };
    let server = Server::new(address.clone(), &token, &setup.settings.network()).map_err(unusable)?;
    if !server.is_private() && !args.cleartext {
        return Err(Refusal::config(format!(
            "cannot attach to {}: anyone on the network path could read the token; use https:// or an SSH tunnel, or add \
             --cleartext if the network is your own",
            address.text()
        )));
    }
    Ok(Target::Server(Box::new((setup, server, AttachRequest { session, new: args.new }))))
}

/// The session in this file, named by the user, for a screen of this process.
fn open_here(setup: &Setup, record: Option<PathBuf>, wanted: &str, file: &Path) -> Result<Target, Refusal> {
    let id = list::row_of(file).map(|row| row.id).unwrap_or_default();
    let session = Some(wanted.to_owned());
    let mut flags = CliArgs { record, session, of_session: true, ..CliArgs::without_arguments() };
    rights::restore(&mut flags, &setup.paths, &setup.settings, &id, FlaggedMode::Holds);
    Setup::read(flags, PROFILE).map(|setup| Target::Here(Box::new(setup), id))
}

/// Asks for one of the open sessions.
fn which(open: &[LiveRecord]) -> String {
    let row = |(record, short): (&LiveRecord, String)| {
        let title: String = record.title.chars().take(MAX_TITLE).collect();
        [format!("  tau attach {short}"), record.state.name().to_owned(), plain::line(&title)]
    };
    let rows: Vec<_> = open.iter().take(MAX_ROWS).zip(short_names(open)).map(row).collect();
    format!("you have no `tau serve` running; to attach to a session:\n{}", table::columns(&rows).trim_end())
}

/// The address of the server, and its announcement if it runs here.
fn address(
    url: Option<&str>,
    servers: Vec<RunningServer>,
) -> Result<(Address, Option<RunningServer>), Refusal> {
    let Some(url) = url else {
        let newest = servers.into_iter().find_map(|server| Some((server.client_address()?, Some(server))));
        return Ok(newest.unwrap_or_else(|| (Address::Url(USUAL.to_owned()), None)));
    };
    let address = Address::read(url).ok_or_else(|| {
        Refusal::usage(format!(
            "{url:?} is not an address: write http://HOST:PORT, https://HOST, unix:PATH or ssh://HOST/FOLDER"
        ))
    })?;
    let known = servers.into_iter().find(|server| server.is_at(&address));
    Ok((address, known))
}

/// The token: one from the user takes precedence over the one announced by a server here.
fn token(
    file: Option<&Path>,
    linked: Option<&str>,
    known: Option<RunningServer>,
    address: &Address,
) -> Result<String, Refusal> {
    if let Some(file) = file {
        let text = std::fs::read_to_string(file)
            .map_err(|error| Refusal::config(format!("cannot read the token {}: {error}", file.display())))?;
        return Ok(text.trim().to_owned());
    }
    if let Some(token) = linked.filter(|token| !token.is_empty()) {
        return Ok(token.to_owned());
    }
    if let Some(token) = known.and_then(|server| server.token) {
        return Ok(token);
    }
    match std::env::var(TOKEN) {
        Ok(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        _ => Err(Refusal::config(format!(
            "cannot attach to {}: no token is known for it; start your own server with `tau serve`, or set {TOKEN} to \
             the token that the server printed",
            address.text()
        ))),
    }
}
