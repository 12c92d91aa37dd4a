//! `tau attach ssh://HOST/DIRECTORY`: a session on a machine that the user's ssh leads to.
//!
//! [`connect`] runs one of the [`scripts`] over ssh, which finds tau there; [`install`] copies tau if it is missing.
//! The first connection is made before the screen is opened, so that ssh can ask for a password; then it belongs
//! to the [`tunnel`], which logs in again when it is lost. At the other end is [`crate::live::relay`]. [`far`] runs
//! single commands there.

mod child;
mod connect;
pub(crate) mod far;
mod install;
mod scripts;
pub(crate) mod tunnel;

use std::io::{BufRead, IsTerminal};
use std::path::Path;
use std::sync::Arc;

use super::server::Server;
use super::wire::{Hello, Welcome};
use crate::commands::table;
use crate::compose::Setup;
use crate::process::exit::{Exit, Refusal, say};
use crate::process::plain;
use child::{Asks, SshChild};
use connect::{Attempt, ask_again, attempt};
use tau_agent::settings::servers::SshAddress;
use tau_protocol::live_session::LiveRow;
use tunnel::Tunnel;

/// The refusal when ssh has failed, which has said why.
const NO_CONNECTION: &str = "ssh ended without a connection";
/// Maximum number of sessions to choose from.
const LISTED: usize = 30;
/// Maximum length of a title, in characters.
const MAX_TITLE: usize = 50;

/// The wanted session.
#[derive(Clone, Debug, Default)]
pub(super) struct Wish {
    pub session: Option<String>,
    pub new: bool,
}

/// Connects to the machine, and finds the session or begins it. ssh asks on the terminal.
pub(super) fn connect(text: &str, wish: Wish, setup: &Setup) -> Result<(Server, String), Refusal> {
    let address = SshAddress::read(text)
        .map_err(|why| Refusal::usage(format!("{:?} is not an ssh address: {why}", plain::line(text))))?;
    let cannot = |why: &str| Refusal::config(format!("cannot attach to {}: {why}", address.machine()));
    if wish.new && address.session.is_some() {
        return Err(Refusal::usage("--new starts a session: do not name one"));
    }
    let mut hello = Hello {
        token: crate::serve::guard::new_token()?,
        directory: address.directory.clone(),
        session: wish.session.or_else(|| address.session.clone()),
        new: wish.new,
        ..Hello::default()
    };
    let (mut ssh, mut welcome) = first(&address, &hello)?;
    loop {
        match welcome {
            Welcome::Session { id, directory } => {
                let directory = directory.to_str().map(str::to_owned);
                let again = Hello { directory, session: Some(id.clone()), again: true, new: false, ..hello };
                let tunnel = Tunnel::new(address.clone(), again, Some(ssh), &setup.paths);
                let tunnel = tunnel.map_err(|error| cannot(&error.to_string()))?;
                let server = Server::behind_ssh(Arc::new(tunnel), &setup.settings.network());
                return Ok((server.map_err(|failure| cannot(&failure.message))?, id));
            }
            Welcome::Refused { why } => return Err(cannot(&plain::line(&why))),
            Welcome::Board => return Err(cannot("the tau there did not open a session")),
            Welcome::Choose { sessions } => {
                choose(&address, &sessions, &mut hello)?;
                welcome = ask_again(&mut ssh, &hello).map_err(|why| cannot(&why))?;
            }
        }
    }
}

/// The first connection; tau is copied if it is missing and the user wants it.
fn first(address: &SshAddress, hello: &Hello) -> Result<(SshChild, Welcome), Refusal> {
    let machine = address.machine();
    let mut is_copied = false;
    loop {
        let attempt = attempt(address, hello, Asks::Terminal);
        let why =
            match attempt.map_err(|why| Refusal::config(format!("cannot attach to {machine}: {why}")))? {
                Attempt::Answered(ssh, welcome) => return Ok((ssh, welcome)),
                Attempt::NoTau(other) if !is_copied => {
                    install::offer(address, &other)?;
                    is_copied = true;
                    continue;
                }
                Attempt::NoTau(_) => "the copy of tau is not found there".to_owned(),
                Attempt::Failed(_) => NO_CONNECTION.to_owned(),
            };
        return Err(Refusal::config(format!("cannot attach to {machine}: {why}")));
    }
}

/// Lets the user choose one of the open sessions, or a folder.
fn choose(address: &SshAddress, sessions: &[LiveRow], hello: &mut Hello) -> Result<(), Refusal> {
    let machine = address.machine();
    if hello.new {
        hello.directory = Some("~".to_owned());
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(Refusal::usage(format!(
            "name a folder ({address}/FOLDER) or a session: nobody can be asked here"
        )));
    }
    let shown = sessions.get(..LISTED.min(sessions.len())).unwrap_or_default();
    let rows: Vec<[String; 4]> = (1..).zip(shown).map(|(number, row)| row_cells(number, row)).collect();
    let list = match shown {
        [] => format!("No session is open on {machine}.\nFolder to work in: "),
        _ => format!(
            "Open on {machine}:\n{}Number of a session, or folder to work in: ",
            table::columns(&rows)
        ),
    };
    let mut answer = String::new();
    if say(&list) == Exit::Ok {
        std::io::stdin().lock().read_line(&mut answer).map_err(Refusal::config)?;
    }
    let answer = answer.trim();
    let numbered = answer.parse::<usize>().ok().and_then(|number| shown.get(number.checked_sub(1)?));
    match (numbered, answer) {
        (Some(row), _) => hello.session = Some(row.id.clone()),
        (None, "") => return Err(Refusal { exit: Exit::Aborted, text: "nothing was chosen".to_owned() }),
        (None, folder) => {
            let is_whole = Path::new(folder).is_absolute() || folder.starts_with('~');
            hello.directory = Some(if is_whole { folder.to_owned() } else { format!("~/{folder}") });
        }
    }
    Ok(())
}

/// A row of the list. Its text is from elsewhere.
fn row_cells(number: usize, row: &LiveRow) -> [String; 4] {
    let title: String = plain::line(&row.title).chars().take(MAX_TITLE).collect();
    let directory = plain::line(&row.directory.display().to_string());
    [number.to_string(), row.state.name().to_owned(), title, directory]
}
