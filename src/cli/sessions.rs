//! Which session the arguments ask for, and how it is opened.
//!
//! With nobody to ask, a session that is in use, or whose directory is gone, is refused with what
//! to do about it. On the screen it is offered instead; see the agent's `open_session`.

use std::path::{Path, PathBuf};

use super::compose::Setup;
use super::exit::Refusal;
use super::session_lookup::file_of;
use crate::agent::session::lock::{self, Life};
use crate::agent::session::tail::TAIL;
use crate::agent::session::{Access, Session, SessionError, list};

/// What the arguments ask for.
enum Wanted {
    /// A new session, with this id if one is asked for.
    New(Option<String>),
    /// This file.
    Open(PathBuf),
    /// A copy of this file, here.
    Copy(PathBuf),
}

/// The session that the arguments ask for, an earlier one or a new one, for a front end that can
/// ask nobody.
///
/// # Errors
/// When there is no such session, when it cannot be opened as it is, or its directory is gone.
pub fn open(setup: &Setup) -> Result<Session, Refusal> {
    let session = match wanted(setup)? {
        Wanted::Open(path) => open_file(setup, &path)?,
        other => begin(setup, other)?,
    };
    named(setup, session)
}

/// As [`open`], for the screen: where the session cannot be opened as it is, a new one, and the
/// file to be offered.
///
/// # Errors
/// When there is no such session.
pub(crate) fn open_or_offer(setup: &Setup) -> Result<(Session, Option<PathBuf>), Refusal> {
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
            "{error}; --take-over uses it anyway, --fork {} continues in a copy",
            path.display()
        )),
        SessionError::Locked { .. } => {
            Refusal::config(format!("{error}; --fork {} continues in a copy", path.display()))
        }
        _ => Refusal::config(error),
    })?;
    let cwd = &session.info().cwd;
    if cwd.is_dir() {
        return Ok(session);
    }
    Err(Refusal::config(format!(
        "cannot continue this session: its directory {} is gone; --fork {} continues here, in a copy",
        cwd.display(),
        path.display()
    )))
}

fn named(setup: &Setup, mut session: Session) -> Result<Session, Refusal> {
    if let Some(name) = &setup.args.name {
        session.set_name(name).map_err(Refusal::config)?;
    }
    Ok(session)
}

/// Deletes a session file below `sessions`, into the trash if there is one; what was done.
///
/// # Errors
/// When it is somewhere else, somebody has the session open, or it cannot be removed.
pub(crate) fn delete(sessions: &Path, path: &Path) -> Result<String, String> {
    if !path.starts_with(sessions) {
        return Err("only files in the sessions folder can be deleted".to_owned());
    }
    if let Some(owner) = lock::noted(path).filter(|owner| owner.life() != Life::Ended) {
        return Err(format!("not deleted: the session is open ({owner})"));
    }
    if trash::delete(path).is_ok() {
        return Ok("session moved to the trash".to_owned());
    }
    match std::fs::remove_file(path) {
        Ok(()) => Ok("session deleted (no trash available)".to_owned()),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}
