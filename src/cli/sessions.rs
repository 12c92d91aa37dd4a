//! Which session the arguments ask for, and how it is opened.
//!
//! Without a person to ask, a session that is in use or whose directory is gone is refused with
//! what to do about it. On the screen it is offered instead; see the agent's `offer`.

use std::path::{Path, PathBuf};

use super::compose::{Refusal, Setup};
use super::exit::Exit;
use crate::agent::session::lock::Life;
use crate::agent::session::tail::TAIL;
use crate::agent::session::{Access, Session, SessionError, list};

/// What the arguments ask for.
enum Wanted {
    /// A new session; its id where one is asked for.
    New(Option<String>),
    /// This file.
    Open(PathBuf),
    /// A copy of this file, here.
    Copy(PathBuf),
}

/// The session for a front end that can ask nobody.
pub(super) fn open(setup: &Setup) -> Result<Session, Refusal> {
    let session = match wanted(setup)? {
        Wanted::Open(path) => open_file(setup, &path)?,
        other => begin(setup, other)?,
    };
    named(setup, session)
}

/// The session for the screen, and the file to be offered once there is one.
pub(super) fn open_or_offer(setup: &Setup) -> Result<(Session, Option<PathBuf>), Refusal> {
    let path = match wanted(setup)? {
        Wanted::Open(path) => path,
        other => return Ok((named(setup, begin(setup, other)?)?, None)),
    };
    match Session::open_tail(&path, Access::Write, TAIL) {
        Ok(session) if session.info().cwd.is_dir() => Ok((named(setup, session)?, None)),
        Ok(_) | Err(SessionError::Locked { .. }) => {
            Ok((Session::begin(setup.session_dir().as_deref(), &setup.cwd, None), Some(path)))
        }
        Err(error) => Err(Refusal::config(error)),
    }
}

fn wanted(setup: &Setup) -> Result<Wanted, Refusal> {
    let root = setup.settings.session_root(&setup.paths);
    let args = &setup.args;
    Ok(match (&args.session, &args.fork, &args.session_id) {
        (Some(wanted), ..) => Wanted::Open(file_of(&root, wanted)?),
        (_, Some(wanted), _) => Wanted::Copy(file_of(&root, wanted)?),
        (_, _, Some(id)) if !args.no_session => match list::of_id(&root, id) {
            Some(path) => Wanted::Open(path),
            None => Wanted::New(Some(id.clone())),
        },
        (_, _, id) => match list::newest(&root, &setup.cwd).filter(|_| args.continue_last) {
            Some(path) => Wanted::Open(path),
            None => Wanted::New(id.clone()),
        },
    })
}

fn begin(setup: &Setup, wanted: Wanted) -> Result<Session, Refusal> {
    let dir = setup.session_dir();
    match wanted {
        Wanted::New(id) => Ok(Session::begin(dir.as_deref(), &setup.cwd, id)),
        Wanted::Open(path) => open_file(setup, &path),
        Wanted::Copy(path) => Session::copy(&path, dir.as_deref(), Some(&setup.cwd)).map_err(Refusal::config),
    }
}

fn open_file(setup: &Setup, path: &Path) -> Result<Session, Refusal> {
    let session = match Session::open_tail(path, Access::Write, TAIL) {
        Err(SessionError::Locked { owner, .. }) if setup.args.take_over && owner.life() == Life::Ended => {
            Session::open_tail(path, Access::TakeOver, TAIL)
        }
        other => other,
    };
    let session = session.map_err(|error| match &error {
        SessionError::Locked { owner, .. } if owner.life() == Life::Ended => Refusal::config(format!(
            "{error}; --take-over writes to it all the same, --fork {} goes on in a copy",
            path.display()
        )),
        SessionError::Locked { .. } => {
            Refusal::config(format!("{error}; --fork {} goes on in a copy", path.display()))
        }
        _ => Refusal::config(error),
    })?;
    let cwd = &session.info().cwd;
    if cwd.is_dir() {
        return Ok(session);
    }
    let text = format!(
        "the directory of this session, {}, is gone; --fork {} goes on here, in a copy",
        cwd.display(),
        path.display()
    );
    Err(Refusal { exit: Exit::Config, text })
}

fn named(setup: &Setup, mut session: Session) -> Result<Session, Refusal> {
    if let Some(name) = &setup.args.name {
        session.set_name(name).map_err(Refusal::config)?;
    }
    Ok(session)
}

/// The file of the session that `wanted` names: a path, an id, or the beginning of one.
pub(super) fn file_of(root: &Path, wanted: &str) -> Result<PathBuf, Refusal> {
    let path = Path::new(wanted);
    if wanted.contains('/') || wanted.ends_with(".jsonl") {
        return Ok(path.to_owned());
    }
    match list::with_id(root, wanted).as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Refusal::config(format!("there is no session {wanted}; `tau --resume` lists them"))),
        several => Err(Refusal::config(format!(
            "{} sessions begin with {wanted}; give more of the id",
            several.len()
        ))),
    }
}
