//! The way to the live sessions of this machine for a screen on another one, over the standard streams of this
//! process, which ssh has started. The connection may end at any time; the sessions are in other processes.
//!
//! The client sends one line, [`Hello`], and gets one, [`Welcome`]; then both speak HTTP/2, and each request is
//! passed on to the process that has its session open.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::Method;
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::sync::Mutex;

use super::commands::{self, find_record};
use super::relayed_board::RelayedBoard;
use super::{record, start};
use crate::args::CliArgs;
use crate::attach::wire::relay::{MARK, PROTOCOL, RUN, SERVE};
use crate::attach::wire::{FarCommand, Hello, NextSession, Welcome, protocol_version};
use crate::compose::environment::{Environment, OnBadConfig};
use crate::compose::session_lookup;
use crate::process::exit::{Exit, fail, say};
use crate::process::runtime;
use crate::serve::elsewhere::{Elsewhere, session_in};
use crate::serve::guard::Guard;
use crate::serve::hub::blocking;
use crate::serve::problem::Problem;
use tau_agent::session::list;
use tau_agent::settings::Paths;
use tau_tools::user_error::UserError;

/// Maximum length of a line from the client, in bytes.
const MAX_LINE: usize = 64 * 1024;
/// Maximum body of a request, in bytes.
const MAX_BODY: usize = 32 << 20;
/// The interval at which the client is asked for a sign of life, and the longest wait for it.
const ASKED: Duration = Duration::from_secs(15);
const SILENT: Duration = Duration::from_secs(45);

/// Runs the process; returns its end.
pub(crate) fn run(arguments: &[OsString]) -> Exit {
    match arguments {
        [what] if what == PROTOCOL => say(&format!("{}\n", protocol_version())),
        [what] if what == SERVE => serve().unwrap_or_else(|error| fail(Exit::Config, &error)),
        [what] if what == RUN => run_command().unwrap_or_else(|error| fail(Exit::Config, &error)),
        _ => fail(Exit::Usage, "this is what `tau attach ssh://HOST` starts: it is not for users"),
    }
}

/// Carries out the command of a client, whose end ends it.
fn run_command() -> Result<Exit, UserError> {
    let Some(line) = line().map_err(UserError::of)? else { return Ok(Exit::Ok) };
    let far: FarCommand = serde_json::from_slice(&line).map_err(UserError::of)?;
    if say(&format!("{MARK}\n")) != Exit::Ok {
        return Ok(Exit::Ok);
    }
    std::thread::spawn(|| {
        // Nothing more comes.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        std::process::exit(1);
    });
    Ok(commands::run_far(far))
}

fn serve() -> Result<Exit, UserError> {
    let environment = Environment::read(&CliArgs::without_arguments(), OnBadConfig::Warn);
    let environment = environment.map_err(|refusal| refusal.text)?;
    let root = environment.settings.session_root(&environment.paths);
    let (hello, directory) = loop {
        let line = line().map_err(|error| error.to_string())?;
        let Some(line) = line else { return Ok(Exit::Ok) };
        let hello: Hello = serde_json::from_slice(&line).map_err(|error| error.to_string())?;
        let welcome = welcome(&hello, &environment.paths, &root);
        let welcome = welcome.unwrap_or_else(|why| Welcome::Refused { why: why.into() });
        let text = serde_json::to_string(&welcome).map_err(|error| error.to_string())?;
        let mut out = io::stdout();
        writeln!(out, "{MARK}{text}").and_then(|()| out.flush()).map_err(|error| error.to_string())?;
        match welcome {
            Welcome::Session { directory, .. } => break (hello, directory),
            Welcome::Board => return serve_board(hello, environment),
            Welcome::Choose { .. } => {}
            Welcome::Refused { .. } => return Ok(Exit::Config),
        }
    };
    let network = environment.settings.network();
    let relay = Arc::new(Relay {
        guard: Guard::new(&hello.token, None, Vec::new(), u32::MAX),
        elsewhere: Elsewhere::new(environment.paths, network, None),
        directory,
        opening: Mutex::default(),
    });
    until_the_end(answer_all(move |request| {
        let relay = Arc::clone(&relay);
        async move { relay.pass_on(request).await.unwrap_or_else(IntoResponse::into_response) }
    }))
}

/// Answers the requests of a board.
fn serve_board(hello: Hello, environment: Environment) -> Result<Exit, UserError> {
    let guard = Guard::new(&hello.token, None, Vec::new(), u32::MAX);
    let directory = hello.directory.as_deref().map(|text| folder(text, false)).transpose()?;
    let network = environment.settings.network();
    let board = Arc::new(RelayedBoard::new(environment.paths, network, directory));
    let guard = Arc::new(guard);
    until_the_end(answer_all(move |request| {
        let (board, guard) = (Arc::clone(&board), Arc::clone(&guard));
        async move {
            match guard.token(request.headers()) {
                Ok(()) => board.answer(request).await.unwrap_or_else(IntoResponse::into_response),
                Err(problem) => problem.into_response(),
            }
        }
    }))
}

/// Runs this to its end.
fn until_the_end(work: impl Future<Output = ()>) -> Result<Exit, UserError> {
    let runtime = runtime::on_this_thread().map_err(|refusal| refusal.text)?;
    runtime.block_on(work);
    // The thread that reads standard input must not delay the end.
    runtime.shutdown_background();
    Ok(Exit::Ok)
}

/// Answers the requests of the client until the connection ends.
async fn answer_all<W: Future<Output = Response> + Send + 'static>(
    answer: impl Fn(Request) -> W + Clone + Send + 'static,
) {
    let streams = TokioIo::new(tokio::io::join(tokio::io::stdin(), tokio::io::stdout()));
    let service = service_fn(move |request: axum::http::Request<Incoming>| {
        let answered = answer(request.map(Body::new));
        async move { Ok::<_, Infallible>(answered.await) }
    });
    let mut server = http2::Builder::new(TokioExecutor::new());
    server.timer(TokioTimer::new()).adaptive_window(true);
    server.keep_alive_interval(ASKED).keep_alive_timeout(SILENT);
    if let Err(error) = server.serve_connection(streams, service).await {
        tracing::debug!(%error, "the connection of a client ended");
    }
}

/// A line of standard input; `None` at its end. Reads nothing beyond it, as other bytes follow.
fn line() -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < MAX_LINE {
        match rustix::io::read(rustix::stdio::stdin(), &mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) if byte == *b"\n" => return Ok(Some(line)),
            Ok(_) => line.extend(byte),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long"))
}

/// Finds the session that a client wants, or begins it. The error is a sentence.
fn welcome(hello: &Hello, paths: &Paths, root: &Path) -> Result<Welcome, UserError> {
    let directory = hello.directory.as_deref().map(|text| folder(text, hello.again)).transpose()?;
    if hello.board {
        return Ok(Welcome::Board);
    }
    if let Some(wanted) = &hello.session {
        let here = || std::env::home_dir().unwrap_or_else(|| PathBuf::from("/"));
        let (id, of_session) = match hello.again {
            true => (wanted.clone(), None),
            false => find_session(paths, root, wanted)?,
        };
        let directory = of_session.or(directory).unwrap_or_else(here);
        return Ok(Welcome::Session { id, directory });
    }
    let Some(directory) = directory else {
        let mut sessions: Vec<_> = record::all(paths)
            .into_values()
            .filter(|found| found.is_live)
            .map(record::FoundRecord::row)
            .collect();
        sessions.sort_by_key(|row| (row.state, std::cmp::Reverse(row.changed)));
        return Ok(Welcome::Choose { sessions });
    };
    let is_there = |found: &record::FoundRecord| found.is_live && found.record.directory == directory;
    let live = record::all(paths).into_values().filter(is_there).map(|found| found.record);
    let id = match live.max_by_key(|record| record.changed).filter(|_| !hello.new) {
        Some(record) => record.id,
        None => start::open(&directory, None)?,
    };
    Ok(Welcome::Session { id, directory })
}

/// The session with this id, or the only one whose id begins or ends so, and its folder.
fn find_session(paths: &Paths, root: &Path, wanted: &str) -> Result<(String, Option<PathBuf>), UserError> {
    if let Some(found) = find_record(paths, wanted) {
        return Ok((found.record.id, Some(found.record.directory)));
    }
    let none = || {
        UserError::new(format!("no session {wanted:?}"))
            .remedy("without one, the folder's or a new one is opened")
    };
    // Clients on other machines cannot name a session by its path.
    if wanted.contains('/') || wanted.is_empty() {
        return Err(none());
    }
    let path = session_lookup::file_of(root, wanted).map_err(|refusal| refusal.text)?;
    list::row_of(&path).map(|row| (row.id, Some(row.cwd))).ok_or_else(none)
}

/// The folder that a client names. One that is gone is refused, except where its session is known.
fn folder(text: &str, known: bool) -> Result<PathBuf, UserError> {
    let path = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = std::env::home_dir().ok_or("the home folder is not known there")?;
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(text),
    };
    match path.canonicalize() {
        Ok(found) if found.is_dir() => Ok(found),
        _ if known => Ok(path),
        Ok(_) => Err(format!("{} is not a folder", path.display()).into()),
        Err(error) => Err(format!("cannot work in {}: {error}", path.display()).into()),
    }
}

/// Whether a request leaves its session for another one.
fn path_leaves(path: &str) -> bool {
    path.ends_with("/leave")
}

/// The requests of the client.
struct Relay {
    guard: Guard,
    elsewhere: Elsewhere,
    /// The folder of a session that is begun again, as it had nothing to save.
    directory: PathBuf,
    /// Held while a session is opened, to open none twice.
    opening: Mutex<()>,
}

impl Relay {
    /// Passes a request on to the process that has its session open.
    async fn pass_on(&self, request: Request) -> Result<Response, Problem> {
        self.guard.token(request.headers())?;
        let path = request.uri().path();
        let nothing = || Problem::not_found("there is nothing at this path; see /openapi.json");
        let id = session_in(path).ok_or_else(nothing)?.to_owned();
        let opens = path.ends_with("/attach") && request.method() == Method::GET || path_leaves(path);
        let _opening = self.opening.lock().await;
        let owner = match self.elsewhere.owner(&id) {
            Some(owner) => owner,
            None if opens => {
                let (directory, wanted) = (self.directory.clone(), id.clone());
                blocking(move || start::open(&directory, Some(&wanted))).await?.map_err(Problem::refused)?;
                self.elsewhere.owner(&id).ok_or_else(|| Problem::unavailable("the session ended at once"))?
            }
            None => return Err(Problem::conflict("not-open", format!("the session {id} is not open"))),
        };
        drop(_opening);
        let leaves = path_leaves(request.uri().path());
        let response = self.elsewhere.pass_on(&owner, request, MAX_BODY, None).await?;
        if leaves { self.wait_for_registration(response).await } else { Ok(response) }
    }

    /// Returns the answer of a process that has opened another session once that is known to be open there.
    async fn wait_for_registration(&self, response: Response) -> Result<Response, Problem> {
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, MAX_BODY).await.map_err(|error| Problem::failed(error.to_string()))?;
        if let Ok(left) = serde_json::from_slice::<NextSession>(&body) {
            self.elsewhere.wait_for_registration(&left.id).await;
        }
        Ok(Response::from_parts(parts, Body::from(body)))
    }
}
