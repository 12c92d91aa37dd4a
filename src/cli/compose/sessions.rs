//! The session requested by the arguments, and opening it.
//!
//! Without a user to ask, a session that is in use, or whose directory is gone, is refused with a remedy. On
//! the screen it is offered instead; see the agent's `open_session`.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::session_lookup::{self, find, places, rows_as_table, short_ids};
use crate::args::front_end::{FrontEnd, StandardStreams};
use crate::args::sessions::{SessionsAction, SessionsArgs};
use crate::commands::session_search;
use crate::compose::{self, Setup};
use crate::live::record::{self, FoundRecord};
use crate::process::exit::{Exit, Refusal, say, warn};
use tau_agent::session::all;
use tau_agent::session::entry::iso;
use tau_agent::session::lock::{self, Life};
use tau_agent::session::tail::TAIL;
use tau_agent::session::{Access, NEW_LOCK, Session, SessionError, list};
use tau_agent::settings::private_files::LockFile;
use tau_protocol::live_session::LiveState;
use tau_protocol::session_row::{SessionOrigin, SessionRow};
use tau_tools::paths;
use tau_tools::user_error::UserError;

/// The refusal to continue the last session of a directory that has archived ones only.
const ONLY_ARCHIVED: &str = "every session in this directory is archived; `tau sessions --archived` lists them, and \
    `tau --session ID` opens one";

/// The request in the arguments.
enum SessionRequest {
    /// A new session, with this id if given.
    New(Option<String>),
    /// This file.
    Open(PathBuf),
    /// A copy of this file, here.
    Copy(PathBuf, SessionOrigin),
    /// A copy of a file of another agent, where that ran.
    Continue(PathBuf, SessionOrigin),
}

/// The reason why no session was opened.
pub(crate) enum NotOpened {
    /// Another process has it open.
    InUse(Refusal),
    Refused(Refusal),
}

impl From<Refusal> for NotOpened {
    fn from(refusal: Refusal) -> Self {
        NotOpened::Refused(refusal)
    }
}

impl From<NotOpened> for Refusal {
    fn from(not_opened: NotOpened) -> Self {
        match not_opened {
            NotOpened::InUse(refusal) | NotOpened::Refused(refusal) => refusal,
        }
    }
}

/// The session requested by the arguments, an earlier one or a new one, for a front end without a user to
/// ask. Fails when there is no such session, when it cannot be opened, or its directory is gone.
pub(crate) fn open(setup: &Setup) -> Result<Session, NotOpened> {
    let session = match session_request(setup)? {
        SessionRequest::Open(path) => open_file(&path)?,
        other => {
            if let Some(path) = earlier(setup).filter(|_| matches!(other, SessionRequest::New(_))) {
                let was = list::directory(&path).unwrap_or_default();
                let id = list::row_of(&path).map(|row| row.id).unwrap_or_default();
                warn(&format!(
                    "no session to continue in this directory; the latest session of {}, which no longer exists, can be continued here with --fork {id}",
                    was.display(),
                ));
            }
            begin(setup, other)?
        }
    };
    Ok(apply_name(setup, session)?)
}

/// The session to offer when continuing and this directory has none: the latest of the path that the
/// directory may have had before.
fn earlier(setup: &Setup) -> Option<PathBuf> {
    let root = setup.settings.session_root(&setup.paths);
    setup.args.continue_last.then(|| list::find_moved_session(&root, &setup.cwd)).flatten()
}

fn is_screen(setup: &Setup) -> bool {
    !setup.args.background && setup.args.front_end(StandardStreams::here()) == FrontEnd::Screen
}

/// Like [`open`], for the screen: where the session cannot be opened, a new one, and the file to offer. Fails
/// when there is no such session.
pub(crate) fn open_or_offer(setup: &Setup) -> Result<(Session, Option<(PathBuf, SessionOrigin)>), Refusal> {
    let path = match session_request(setup)? {
        SessionRequest::Open(path) => path,
        SessionRequest::Continue(path, source) => {
            let session = begin_from(setup, &path, source)?;
            return Ok(match session.info().cwd.is_dir() {
                true => (apply_name(setup, session)?, None),
                false => {
                    (Session::begin(setup.session_dir().as_deref(), &setup.cwd, None), Some((path, source)))
                }
            });
        }
        other => {
            let earlier = earlier(setup).filter(|_| matches!(other, SessionRequest::New(_)));
            let earlier = earlier.map(|path| (path, SessionOrigin::Tau));
            return Ok((apply_name(setup, begin(setup, other)?)?, earlier));
        }
    };
    match Session::open_tail(&path, Access::Write, TAIL) {
        Ok(mut session) if session.info().cwd.is_dir() => {
            session.continue_on_screen().map_err(Refusal::config)?;
            Ok((apply_name(setup, session)?, None))
        }
        Ok(_) | Err(SessionError::Locked { .. }) => {
            let offer = Some((path, SessionOrigin::Tau));
            Ok((Session::begin(setup.session_dir().as_deref(), &setup.cwd, None), offer))
        }
        Err(error) => Err(Refusal::config(error)),
    }
}

/// The requested session, if another process of the user has it open.
pub(crate) fn live(setup: &Setup) -> Option<FoundRecord> {
    let args = &setup.args;
    if args.session.is_none() && args.session_id.is_none() && !args.continue_last {
        return None;
    }
    record::of(&setup.paths, &requested_id(setup)?).filter(|found| found.is_live)
}

/// The id of the requested session, if there is one of tau's.
pub(crate) fn requested_id(setup: &Setup) -> Option<String> {
    list::row_of(&requested_file(setup)?).map(|row| row.id)
}

/// The file of the requested session, if it is one of tau's.
fn requested_file(setup: &Setup) -> Option<PathBuf> {
    match session_request(setup).ok()? {
        SessionRequest::Open(path) => Some(path),
        SessionRequest::New(_) | SessionRequest::Copy(..) | SessionRequest::Continue(..) => None,
    }
}

fn session_request(setup: &Setup) -> Result<SessionRequest, Refusal> {
    let root = setup.settings.session_root(&setup.paths);
    let args = &setup.args;
    Ok(match (&args.session, &args.fork, &args.session_id) {
        (Some(wanted), ..) => match find(&root, wanted)? {
            (path, SessionOrigin::Tau) => SessionRequest::Open(path),
            (path, source) => SessionRequest::Continue(path, source),
        },
        (_, Some(wanted), _) => {
            let (path, source) = find(&root, wanted)?;
            SessionRequest::Copy(path, source)
        }
        (_, _, Some(id)) if !args.no_session => match list::of_id(&root, id) {
            Some(path) => SessionRequest::Open(path),
            None => SessionRequest::New(Some(id.clone())),
        },
        (_, _, id) => {
            // A run of print mode is continued only if there is nothing else, on the screen not even to offer.
            let newest = |printed| session_lookup::newest(&setup.paths, &root, &setup.cwd, printed);
            let can_offer = || is_screen(setup) && earlier(setup).is_some();
            let newest = || newest(setup.profile.prints).or_else(|| newest(!can_offer()));
            let is_only_archived =
                || args.continue_last && !can_offer() && list::newest(&root, &setup.cwd, true).is_some();
            match args.continue_last.then(newest).flatten() {
                Some(path) => SessionRequest::Open(path),
                None if is_only_archived() => return Err(Refusal::config(ONLY_ARCHIVED)),
                None => SessionRequest::New(id.clone()),
            }
        }
    })
}

fn begin(setup: &Setup, wanted: SessionRequest) -> Result<Session, NotOpened> {
    let dir = setup.session_dir();
    match wanted {
        SessionRequest::New(Some(id)) if dir.is_some() => begin_as(setup, id),
        SessionRequest::New(id) if setup.profile.prints => {
            Ok(Session::begin_for_printing(dir.as_deref(), &setup.cwd, id))
        }
        SessionRequest::New(id) => Ok(Session::begin(dir.as_deref(), &setup.cwd, id)),
        SessionRequest::Open(path) => open_file(&path),
        SessionRequest::Copy(path, source) => {
            Ok(Session::begin_from(&path, source, dir.as_deref(), Some(&setup.cwd))
                .map_err(Refusal::config)?)
        }
        SessionRequest::Continue(path, source) => {
            let session = begin_from(setup, &path, source)?;
            if session.info().cwd.is_dir() {
                if setup.profile.prints {
                    let (program, id) = (source.program(), &session.info().id);
                    warn(&format!(
                        "a session of {program} is continued in a copy, {id}; the original stays as it is"
                    ));
                }
                Ok(session)
            } else {
                Err(missing_directory(&session, &path).into())
            }
        }
    }
}

/// A session that continues one of another agent.
fn begin_from(setup: &Setup, path: &Path, source: SessionOrigin) -> Result<Session, Refusal> {
    let session = Session::begin_from(path, source, setup.session_dir().as_deref(), None);
    let mut session = session.map_err(Refusal::config)?;
    if setup.profile.prints && setup.args.name.is_none() {
        session = session.for_printing();
    }
    Ok(match &setup.args.session_id {
        Some(id) => session.under_id(id),
        None => session,
    })
}

/// A new session with this ID. Of several programs that start with it at the same time, one begins the
/// session, and the others find it in use.
fn begin_as(setup: &Setup, id: String) -> Result<Session, NotOpened> {
    let root = setup.settings.session_root(&setup.paths);
    let _lock = LockFile::take(&root.join(NEW_LOCK)).map_err(|error| {
        Refusal::config(format!("cannot begin a session in {}: {}", root.display(), paths::reason(&error)))
    })?;
    if let Some(path) = list::of_id(&root, &id) {
        return open_file(&path);
    }
    let begin = if setup.profile.prints { Session::begin_for_printing } else { Session::begin };
    let mut session = begin(setup.session_dir().as_deref(), &setup.cwd, Some(id));
    session.make_file().map_err(Refusal::config)?;
    Ok(session)
}

fn open_file(path: &Path) -> Result<Session, NotOpened> {
    let session = match Session::open_tail(path, Access::Write, TAIL) {
        // Its process was killed and a program started by it still holds the lock.
        Err(SessionError::Locked { owner, .. }) if owner.life() == Life::Ended => {
            Session::open_tail(path, Access::TakeOver, TAIL)
        }
        other => other,
    };
    let session = session.map_err(|error| match &error {
        SessionError::Locked { .. } => {
            let id = list::row_of(path).map_or_else(|| path.display().to_string(), |row| row.id);
            NotOpened::InUse(Refusal::config(format!("{error}; --fork {id} continues in a copy")))
        }
        _ => NotOpened::Refused(Refusal::config(error)),
    })?;
    if session.info().cwd.is_dir() { Ok(session) } else { Err(missing_directory(&session, path).into()) }
}

fn missing_directory(session: &Session, path: &Path) -> Refusal {
    let why = match &session.info().cwd {
        cwd if cwd.as_os_str().is_empty() => "it does not say its directory".to_owned(),
        cwd => format!("its directory {} is gone", cwd.display()),
    };
    let path = path.display();
    Refusal::config(format!("cannot continue this session: {why}; --fork {path} continues here, in a copy"))
}

fn apply_name(setup: &Setup, mut session: Session) -> Result<Session, Refusal> {
    if let Some(name) = &setup.args.name {
        session.set_name(name).map_err(Refusal::config)?;
    }
    Ok(session)
}

/// Runs `tau sessions`; returns the program's end.
pub(crate) fn run(args: &SessionsArgs) -> Result<Exit, Refusal> {
    if let Some(SessionsAction::Search { words, limit }) = &args.action {
        return session_search::run(args, &words.join(" "), *limit);
    }
    let environment = Environment::of_sessions(args.session_dir.as_deref())?;
    let root = environment.settings.session_root(&environment.paths);
    let gone = |refusal: Refusal| {
        Refusal::config(format!("{}; `tau sessions --all` lists those of every directory", refusal.text))
    };
    let here = if args.all { None } else { Some(compose::here().map_err(gone)?) };
    let others = places(&root);
    let mut rows = all::rows(&root, &others, here.as_deref(), &environment.paths.session_index());
    others.troubles().iter().for_each(|trouble| warn(trouble));
    let live = record::all(&environment.paths);
    let mut unwritten = unwritten_rows(&live, here.as_deref());
    unwritten.retain(|row| rows.iter().all(|known| known.id != row.id));
    rows.splice(0..0, unwritten);
    let all = rows.len();
    let own = |row: &SessionRow| live.get(&row.id).filter(|_| row.source.is_own());
    let state = |row: &SessionRow| own(row).map(FoundRecord::state).unwrap_or_default();
    rows.iter_mut().for_each(|row| row.archived = own(row).is_some_and(|found| found.record.archived));
    let archived = rows.iter().filter(|row| row.archived).count();
    rows.retain(|row| match row.archived {
        true => args.archived,
        false => args.print || !row.printed || state(row).is_at_work(),
    });
    let exit = match args.json {
        true => say(&as_json(&rows, &state)),
        false => say(&rows_as_table(&rows, &state, args.all)),
    };
    if !args.json && rows.is_empty() && !args.all {
        warn("no sessions in this directory; --all lists those of all directories");
    }
    if !args.json && rows.len() < all && std::io::stderr().is_terminal() {
        let archived = if args.archived { 0 } else { archived };
        if rows.len() + archived < all {
            warn("runs of -p are left out; --print lists them too");
        }
        if archived > 0 {
            warn("archived sessions are left out; --archived lists them too");
        }
    }
    Ok(exit)
}

/// The sessions that are at work and have no file yet: nothing was said in them, but a command of the user runs.
fn unwritten_rows(live: &HashMap<String, FoundRecord>, here: Option<&Path>) -> Vec<SessionRow> {
    let is_meant = |found: &&FoundRecord| {
        let record = &found.record;
        // One that has a file is among the others, or in another folder.
        let is_unwritten = record.title.is_empty() && record.parent.is_none();
        let is_here = here.is_none_or(|here| here == record.directory);
        is_unwritten && is_here && found.is_live && record.state.is_at_work()
    };
    let row = |FoundRecord { record, .. }: &FoundRecord| SessionRow {
        id: record.id.clone(),
        cwd: record.directory.clone(),
        created: record.changed,
        modified: record.changed,
        ..SessionRow::default()
    };
    live.values().filter(is_meant).map(row).collect()
}

fn as_json(rows: &[SessionRow], state: &dyn Fn(&SessionRow) -> LiveState) -> String {
    // A session that has moved to another directory keeps the name of its file.
    let ids: HashMap<_, &str> = rows.iter().map(|row| (row.path.file_name(), row.id.as_str())).collect();
    let lines = rows.iter().zip(short_ids(rows)).map(|(row, short)| {
        let mut line = serde_json::to_value(row).unwrap_or_default();
        if let Some(fields) = line.as_object_mut() {
            // In large sessions of other programs they are not counted.
            if row.messages == 0 && row.source.is_foreign() {
                fields.insert("messages".to_owned(), serde_json::Value::Null);
            }
            if row.path.as_os_str().is_empty() {
                fields.remove("path");
            }
            fields.insert("shortId".to_owned(), short.into());
            fields.insert("title".to_owned(), row.title().into());
            fields.insert("directory".to_owned(), row.cwd.to_string_lossy().into());
            fields.insert("updated".to_owned(), iso(row.modified).into());
            fields.insert("state".to_owned(), state(row).name().into());
            if let Some(parent) = row.parent.as_deref().and_then(|parent| ids.get(&parent.file_name())) {
                fields.insert("parentId".to_owned(), (*parent).into());
            }
        }
        line.to_string()
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", lines.join(",\n")) }
}

/// Deletes a session file below `sessions`, into the trash if there is one; returns a report. Fails when it
/// is in another place, the session is open, or it cannot be removed.
pub(crate) fn delete(sessions: &Path, path: &Path) -> Result<String, UserError> {
    let failed = |error: std::io::Error| UserError::new(format!("{}: {error}", path.display()));
    let (sessions, path) = (sessions.canonicalize().map_err(failed)?, path.canonicalize().map_err(failed)?);
    let is_session = path.starts_with(&sessions) && path.extension().is_some_and(|end| end == "jsonl");
    if !is_session || !path.is_file() {
        return Err("only session files in the sessions folder can be deleted".into());
    }
    let path = path.as_path();
    let _lock = lock::lock_for_deletion(path)
        .map_err(|owner| UserError::new(format!("not deleted: the session is open ({owner})")))?;
    if trash::delete(path).is_ok() {
        return Ok("session moved to the trash".to_owned());
    }
    match std::fs::remove_file(path) {
        Ok(()) => Ok("session deleted (no trash available)".to_owned()),
        Err(error) => Err(format!("{}: {error}", path.display()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_session_is_not_deleted_even_without_its_note() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("work.jsonl");
        let header = r#"{"type":"session","version":3,"id":"a","timestamp":"","cwd":"/"}"#;
        std::fs::write(&path, format!("{header}\n")).unwrap();
        let session = Session::open(&path).unwrap();
        std::fs::remove_file(lock::note_path(&path)).unwrap();
        let error = delete(dir.path(), &path).unwrap_err().to_string();
        assert!(error.starts_with("not deleted: the session is open"), "{error}");
        assert!(path.exists());
        drop(session);
    }

    #[test]
    fn nothing_but_session_files_is_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("sessions/work.jsonl")).unwrap();
        for file in ["victim.txt", "victim.jsonl", "sessions/index.json"] {
            std::fs::write(at(file), "").unwrap();
        }
        std::os::unix::fs::symlink(at("victim.jsonl"), at("sessions/link.jsonl")).unwrap();
        let sessions = at("sessions");
        for path in
            ["../victim.txt", "../victim.jsonl", "link.jsonl", "index.json", "work.jsonl", "", "gone.jsonl"]
        {
            delete(&sessions, &sessions.join(path)).unwrap_err();
        }
        for file in *tau_tools::words!(
            "victim.txt victim.jsonl sessions/index.json sessions/work.jsonl sessions/link.jsonl"
        ) {
            assert!(at(file).exists(), "{file}");
        }
    }
}
