//! Searches everything that was said in sessions of all agents: messages, thinking, calls, output of tools.
//!
//! An index makes it quick (`store`). It is built with the first search, brought up to date with each later one
//! (`gather`), costs nothing otherwise, and may be deleted at any time. Secrets are masked in it as in exports.

mod gather;
mod said;
mod store;
mod tokens;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use super::all::list_files;
use super::foreign::places::ForeignPlaces;
use super::index::SessionIndex;
use super::row::ListedFile;
use super::words::matching;
use crate::secrets::redact::Redactor;
use crate::settings::private_files::LockFile;
use gather::{Stale, gather};
use store::{Known, Store, file_of};
use tau_protocol::session_row::SessionRow;

/// The interval at which the lock of another process that builds the index is tried.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

/// Where to search.
#[derive(Clone, Copy, Debug)]
pub struct SearchScope<'a> {
    /// The folder of tau's sessions.
    pub root: &'a Path,
    /// The folders of other agents.
    pub others: &'a ForeignPlaces,
    /// Only sessions of this directory.
    pub cwd: Option<&'a Path>,
    /// The file of the index.
    pub index: &'a Path,
    /// The index of session lists.
    pub list_index: &'a Path,
    /// Values that must not be in the index, besides those that look like secrets.
    pub secrets: &'a [String],
}

/// How many hits to return.
#[derive(Clone, Copy, Debug)]
pub struct SearchLimits {
    /// Of each session.
    pub per_session: usize,
    /// Of all sessions.
    pub total: usize,
}

/// An entry of a session in which all words occur.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionHit {
    pub session: SessionRow,
    /// The id of the entry.
    pub entry: String,
    /// The line with the words, cut.
    pub text: String,
    /// The part of the line from the first word on, by which it is found again.
    pub passage: String,
}

/// A listed session.
struct Session {
    row: SessionRow,
    size: i64,
    modified: i64,
}

/// Finds the entries of sessions that contain all words of `query`, each from the beginning of a word; case is
/// ignored. Hits in sessions that are in the index come first, newest session first. `emit` returns whether to
/// continue; it gets `None` from time to time, so that a search that is no longer needed can end.
///
/// # Errors
/// When the index can be neither read nor written.
pub fn search(
    scope: &SearchScope<'_>,
    query: &str,
    limits: SearchLimits,
    emit: &mut dyn FnMut(Option<SessionHit>) -> bool,
) -> io::Result<()> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let Some(expression) = tokens::expression(&words) else { return Ok(()) };
    let sessions = listed(scope);
    let mut hits = Hits { words, expression, limits, left: limits.total, emit };
    let mut searched = HashSet::new();
    if let Some(store) = Store::open(scope.index) {
        let known = store.files()?;
        let fresh = sessions.iter().filter_map(|session| {
            let known = known.get(&session.row.path).filter(|known| is_fresh(known, session))?;
            Some((known.id, session))
        });
        let fresh: HashMap<i64, &Session> = fresh.collect();
        if !hits.of_known(&store, &fresh)? {
            return Ok(());
        }
        searched.extend(fresh.into_values().map(|session| session.row.path.clone()));
    }
    if sessions.iter().all(|session| searched.contains(&session.row.path)) {
        return Ok(());
    }
    let lock = match locked(scope.index, &mut hits) {
        Locked::Held(lock) => Some(lock),
        Locked::Cancelled => return Ok(()),
        Locked::Impossible => None,
    };
    let store = match &lock {
        Some(_) => Store::create(scope.index),
        None => Store::in_memory(),
    };
    let store = store.or_else(|error| {
        tracing::warn!(%error, "the index of what was said cannot be written");
        Store::in_memory()
    })?;
    update(&store, scope, &sessions, &searched, &mut hits)
}

/// Brings the index up to date, and searches what was not searched before.
fn update(
    store: &Store,
    scope: &SearchScope<'_>,
    sessions: &[Session],
    searched: &HashSet<PathBuf>,
    hits: &mut Hits<'_>,
) -> io::Result<()> {
    let known = store.files()?;
    if scope.cwd.is_none() {
        let listed: HashSet<&Path> = sessions.iter().map(|session| session.row.path.as_path()).collect();
        let gone = known.iter().filter(|(path, _)| !listed.contains(path.as_path()));
        store.all_or_nothing(|| gone.map(|(_, known)| known.id).try_for_each(|id| store.forget(id)))?;
    }
    let mut stale: Vec<(&Session, Stale<'_>)> = Vec::new();
    for session in sessions.iter().filter(|session| !searched.contains(&session.row.path)) {
        let known = known.get(&session.row.path).copied();
        if let Some(known) = known.filter(|known| is_fresh(known, session)) {
            // Another process has read it in the meantime.
            if !hits.of_file(store, known.id, session)? {
                return Ok(());
            }
            continue;
        }
        let (size, modified) = (session.size, session.modified);
        let file = Stale { path: &session.row.path, origin: session.row.source, size, modified, known };
        stale.push((session, file));
    }
    let (sessions, files): (Vec<&Session>, Vec<Stale<'_>>) = stale.into_iter().unzip();
    let mut result = Ok(());
    gather(store, &files, &Redactor::new(scope.secrets), &mut |stored| match stored {
        None => (hits.emit)(None),
        Some((at, id)) => match sessions.get(at).map_or(Ok(true), |session| hits.of_file(store, id, session))
        {
            Ok(continues) => continues,
            Err(error) => {
                result = Err(error);
                false
            }
        },
    })?;
    result
}

/// The sessions, last changed first.
fn listed(scope: &SearchScope<'_>) -> Vec<Session> {
    let mut known = SessionIndex::load(scope.list_index);
    let mut sessions = Vec::new();
    list_files(scope.root, scope.others, scope.cwd, &mut known, &mut |file, row| {
        let size = i64::try_from(file.size).unwrap_or(i64::MAX);
        sessions.push(Session { row, size, modified: nanoseconds(file) });
        true
    });
    if let Err(error) = known.save(scope.list_index) {
        tracing::warn!(%error, "the index of sessions could not be written");
    }
    sessions
}

fn nanoseconds(file: &ListedFile) -> i64 {
    let since = file.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn is_fresh(known: &Known, session: &Session) -> bool {
    known.size == session.size && known.modified == session.modified
}

enum Locked {
    Held(LockFile),
    Cancelled,
    /// The folder cannot be written to.
    Impossible,
}

/// Waits until no other process builds the index.
fn locked(index: &Path, hits: &mut Hits<'_>) -> Locked {
    loop {
        match LockFile::try_take(&index.with_extension("lock")) {
            Ok(Some(lock)) => return Locked::Held(lock),
            Ok(None) => std::thread::sleep(LOCK_INTERVAL),
            Err(error) => {
                tracing::warn!(%error, "the index of what was said cannot be locked");
                return Locked::Impossible;
            }
        }
        if !(hits.emit)(None) {
            return Locked::Cancelled;
        }
    }
}

/// Searches the index, and passes on what it finds.
struct Hits<'a> {
    words: Vec<String>,
    expression: String,
    limits: SearchLimits,
    /// The number of hits that may still be passed on.
    left: usize,
    emit: &'a mut dyn FnMut(Option<SessionHit>) -> bool,
}

impl Hits<'_> {
    /// Passes on hits in these sessions, by their numbers in the index; returns whether to continue.
    fn of_known(&mut self, store: &Store, sessions: &HashMap<i64, &Session>) -> io::Result<bool> {
        let mut rows: HashMap<i64, Vec<i64>> = HashMap::new();
        store.rows(&self.expression, None, |row| {
            if sessions.contains_key(&file_of(row)) {
                rows.entry(file_of(row)).or_default().push(row);
            }
            true
        })?;
        let of = |(file, rows): (i64, Vec<i64>)| Some((*sessions.get(&file)?, rows));
        let mut found: Vec<(&Session, Vec<i64>)> = rows.into_iter().filter_map(of).collect();
        found.sort_by_key(|(session, _)| std::cmp::Reverse(session.modified));
        for (session, rows) in found {
            if !self.pass_on(store, session, &rows)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Passes on hits in one session.
    fn of_file(&mut self, store: &Store, file: i64, session: &Session) -> io::Result<bool> {
        let mut rows = Vec::new();
        store.rows(&self.expression, Some(file), |row| {
            rows.push(row);
            true
        })?;
        self.pass_on(store, session, &rows)
    }

    fn pass_on(&mut self, store: &Store, session: &Session, rows: &[i64]) -> io::Result<bool> {
        let mut of_session = 0;
        for row in rows {
            if of_session == self.limits.per_session {
                break;
            }
            if self.left == 0 {
                return Ok(false);
            }
            let Some((entry, text)) = store.text(*row)? else { continue };
            let hit = matching(&text, &self.words).map(|found| SessionHit {
                session: session.row.clone(),
                entry,
                text: found.line,
                passage: found.passage,
            });
            of_session += usize::from(hit.is_some());
            self.left = self.left.saturating_sub(usize::from(hit.is_some()));
            if !(self.emit)(hit) {
                return Ok(false);
            }
        }
        Ok(self.left > 0)
    }
}
