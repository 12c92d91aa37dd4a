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
use std::time::{Duration, Instant, UNIX_EPOCH};

use super::all::list_files;
use super::foreign::places::ForeignPlaces;
use super::index::SessionIndex;
use super::row::ListedFile;
use super::words::{matching, words_in};
use crate::secrets::redact::Redactor;
use crate::settings::private_files::LockFile;
use gather::{Stale, gather};
use store::{FileRow, Store, decompress, file_of};
use tau_protocol::session_row::SessionRow;
use tokens::Expressions;

/// The interval at which the lock of another process that builds the index is tried.
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

/// The number of rows from which a word is frequent: then the newest sessions are searched one by one.
const FREQUENT: usize = 10_000;
/// The minimum time between two searches of files that are being read.
const SEARCH_INTERVAL: Duration = Duration::from_millis(100);
/// How many times longer than a search files are read before the next one.
const SEARCH_SHARE: u32 = 10;

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

/// Whether a query has a word that can be searched for.
pub fn has_words(query: &str) -> bool {
    tokens::expressions(&words_in(query)).is_some()
}

/// Finds the entries of sessions that contain all words of `query`, each from the beginning of a word; case and accents
/// are ignored, and words in double quotes are found together. Hits in sessions that are in the index come first: whole words, newest session first, then beginnings
/// of words. `emit` returns whether to continue; it gets `None` from time to time, so that a search that is no longer needed can end.
pub fn search(
    scope: &SearchScope<'_>,
    query: &str,
    limits: SearchLimits,
    emit: &mut dyn FnMut(Option<SessionHit>) -> bool,
) -> io::Result<()> {
    let mut passed_on = HashSet::new();
    let mut first = |hit: Option<SessionHit>| match hit {
        Some(hit) if !passed_on.insert((hit.session.path.clone(), hit.entry.clone())) => true,
        hit => emit(hit),
    };
    match search_once(scope, query, limits, &mut first) {
        Err(error) if store::is_damage(&error) => {
            tracing::warn!(%error, "the index of what was said is damaged, and is made again");
            match lock_index(scope.index, &mut first) {
                LockOutcome::Held(_lock) => Store::remove(scope.index)?,
                LockOutcome::Cancelled => return Ok(()),
                LockOutcome::Impossible => return Err(error),
            }
            search_once(scope, query, limits, &mut first)
        }
        result => result,
    }
}

fn search_once(
    scope: &SearchScope<'_>,
    query: &str,
    limits: SearchLimits,
    emit: &mut dyn FnMut(Option<SessionHit>) -> bool,
) -> io::Result<()> {
    let words = words_in(query);
    let Some(expressions) = tokens::expressions(&words) else { return Ok(()) };
    let sessions = list_sessions(scope);
    let redactor = Redactor::new(scope.secrets);
    let (left, frequent) = (limits.total, FREQUENT);
    let mut hits = Hits { words, expressions, limits, left, frequent, redactor, emit };
    let mut searched = HashSet::new();
    if let Some(store) = Store::open(scope.index) {
        let known = store.files()?;
        let fresh = sessions.iter().filter_map(|session| {
            let known = known.get(&session.row.path).filter(|known| is_fresh(known, session))?;
            Some((known.id, session))
        });
        let fresh: HashMap<i64, &Session> = fresh.collect();
        if !hits.search_sessions(&store, &fresh)? {
            return Ok(());
        }
        searched.extend(fresh.into_values().map(|session| session.row.path.clone()));
    }
    if sessions.iter().all(|session| searched.contains(&session.row.path)) {
        return Ok(());
    }
    let lock = match lock_index(scope.index, hits.emit) {
        LockOutcome::Held(lock) => Some(lock),
        LockOutcome::Cancelled => return Ok(()),
        LockOutcome::Impossible => None,
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
            if !hits.of_files(store, &[(known.id, session)])? {
                return Ok(());
            }
            continue;
        }
        let (size, modified) = (session.size, session.modified);
        let file = Stale { path: &session.row.path, origin: session.row.source, size, modified, known };
        stale.push((session, file));
    }
    let (sessions, files): (Vec<&Session>, Vec<Stale<'_>>) = stale.into_iter().unzip();
    let mut result = Ok(true);
    let mut read = Batch::default();
    gather(store, &files, &Redactor::new(scope.secrets), &mut |stored| match stored {
        None => (hits.emit)(None),
        Some((at, id)) => {
            read.files.extend(sessions.get(at).map(|session| (id, *session)));
            if read.is_due() {
                result = read.search(store, hits);
            }
            matches!(result, Ok(true))
        }
    })?;
    if result? {
        read.search(store, hits)?;
    }
    Ok(())
}

/// Files that were read and are searched together: each search makes the index write what it has in memory, and
/// takes longer the more there is.
struct Batch<'a> {
    files: Vec<(i64, &'a Session)>,
    due: Instant,
}

impl Default for Batch<'_> {
    fn default() -> Self {
        Batch { files: Vec::new(), due: Instant::now() }
    }
}

impl Batch<'_> {
    /// Whether enough has been read since the last search.
    fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    /// Searches the files and forgets them; false if no more hits are wanted.
    fn search(&mut self, store: &Store, hits: &mut Hits<'_>) -> io::Result<bool> {
        let started = Instant::now();
        let continues = hits.of_files(store, &self.files)?;
        self.files.clear();
        self.due = Instant::now() + (started.elapsed() * SEARCH_SHARE).max(SEARCH_INTERVAL);
        Ok(continues)
    }
}

/// The sessions, last changed first.
fn list_sessions(scope: &SearchScope<'_>) -> Vec<Session> {
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

fn is_fresh(known: &FileRow, session: &Session) -> bool {
    known.size == session.size && known.modified == session.modified
}

enum LockOutcome {
    Held(LockFile),
    Cancelled,
    /// The folder cannot be written to.
    Impossible,
}

/// Waits until no other process builds the index.
fn lock_index(index: &Path, emit: &mut dyn FnMut(Option<SessionHit>) -> bool) -> LockOutcome {
    loop {
        match LockFile::try_take(&index.with_extension("lock")) {
            Ok(Some(lock)) => return LockOutcome::Held(lock),
            Ok(None) => std::thread::sleep(LOCK_INTERVAL),
            Err(error) => {
                tracing::warn!(%error, "the index of what was said cannot be locked");
                return LockOutcome::Impossible;
            }
        }
        if !emit(None) {
            return LockOutcome::Cancelled;
        }
    }
}

/// Searches the index, and passes on what it finds.
struct Hits<'a> {
    words: Vec<String>,
    expressions: Expressions,
    limits: SearchLimits,
    /// The number of hits that may still be passed on.
    left: usize,
    /// See [`FREQUENT`].
    frequent: usize,
    /// Masks secrets that were not known when a text was stored.
    redactor: Redactor,
    emit: &'a mut dyn FnMut(Option<SessionHit>) -> bool,
}

/// The rows of a session that were passed on or looked at.
#[derive(Default)]
struct SearchedRows {
    rows: HashSet<i64>,
    /// The entries that were passed on.
    hits: HashSet<String>,
}

impl Hits<'_> {
    /// Passes on hits in these sessions, by their numbers in the index; returns whether to continue. The rows of
    /// all words with a beginning are gathered before the first of them is known, so whole words come first.
    fn search_sessions(&mut self, store: &Store, sessions: &HashMap<i64, &Session>) -> io::Result<bool> {
        let Expressions { whole, begun } = self.expressions.clone();
        let mut searched: HashMap<i64, SearchedRows> = HashMap::new();
        let (rows, is_complete) = rows_of(store, &whole, sessions, self.frequent)?;
        let mut newest: Vec<(i64, &Session)> = sessions.iter().map(|(id, session)| (*id, *session)).collect();
        newest.sort_by_key(|(_, session)| std::cmp::Reverse(session.modified));
        for (id, session) in &newest {
            let found = match is_complete {
                true => rows.get(id).cloned().unwrap_or_default(),
                false => rows_of_file(store, &whole, *id)?,
            };
            if !self.pass_on(store, session, &found, searched.entry(*id).or_default())? {
                return Ok(false);
            }
        }
        let (rows, _) = rows_of(store, &begun, sessions, usize::MAX)?;
        for (id, session) in &newest {
            let Some(found) = rows.get(id) else { continue };
            if !self.pass_on(store, session, found, searched.entry(*id).or_default())? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Passes on hits in some sessions.
    fn of_files(&mut self, store: &Store, files: &[(i64, &Session)]) -> io::Result<bool> {
        let ids = || files.iter().map(|(id, _)| *id);
        let (Some(first), Some(last)) = (ids().min(), ids().max()) else { return Ok(true) };
        let mut rows: HashMap<i64, Vec<i64>> = ids().map(|id| (id, Vec::new())).collect();
        store.rows(&self.expressions.begun, first..=last, |row| {
            rows.entry(file_of(row)).and_modify(|rows| rows.push(row));
            true
        })?;
        for (id, session) in files {
            let found = rows.get(id).map(Vec::as_slice).unwrap_or_default();
            if !self.pass_on(store, session, found, &mut SearchedRows::default())? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn pass_on(
        &mut self,
        store: &Store,
        session: &Session,
        rows: &[i64],
        searched: &mut SearchedRows,
    ) -> io::Result<bool> {
        for row in rows {
            if searched.hits.len() == self.limits.per_session {
                break;
            }
            if self.left == 0 {
                return Ok(false);
            }
            if !searched.rows.insert(*row) {
                continue;
            }
            let Some((entry, text)) = store.text(*row)?.filter(|(entry, _)| !searched.hits.contains(entry))
            else {
                continue;
            };
            let text = decompress(&text)?;
            let hit = matching(&self.redactor.text(&text), &self.words).map(|found| SessionHit {
                session: session.row.clone(),
                entry: entry.clone(),
                text: found.line,
                passage: found.passage,
            });
            searched.hits.extend(hit.is_some().then_some(entry));
            self.left = self.left.saturating_sub(usize::from(hit.is_some()));
            if !(self.emit)(hit) {
                return Ok(false);
            }
        }
        Ok(self.left > 0)
    }
}

/// The rows of these sessions with the words of the expression, and whether these are all; there are at most
/// `limit`.
fn rows_of(
    store: &Store,
    expression: &str,
    sessions: &HashMap<i64, &Session>,
    limit: usize,
) -> io::Result<(HashMap<i64, Vec<i64>>, bool)> {
    let (mut rows, mut count): (HashMap<i64, Vec<i64>>, usize) = (HashMap::new(), 0);
    store.rows(expression, 0..=store::LAST_FILE, |row| {
        if sessions.contains_key(&file_of(row)) {
            rows.entry(file_of(row)).or_default().push(row);
        }
        count += 1;
        count < limit
    })?;
    Ok((rows, count < limit))
}

/// The rows of a file with the words of the expression.
fn rows_of_file(store: &Store, expression: &str, file: i64) -> io::Result<Vec<i64>> {
    let mut rows = Vec::new();
    store.rows(expression, file..=file, |row| {
        rows.push(row);
        true
    })?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::store::{NewText, compress};
    use super::*;

    #[test]
    fn frequent_words_are_found_in_the_same_order() {
        let store = Store::in_memory().unwrap();
        let texts = ["word here", "words there", "another word", "nothing", "a word, and a wordy one"];
        let mut sessions = Vec::new();
        for session in 0..4_i64 {
            let path = PathBuf::from(format!("/{session}"));
            let file = store.add_file(&path).unwrap();
            for (number, text) in texts.iter().enumerate() {
                let text = format!("{text} {session}");
                let new = NewText {
                    number: number as u32,
                    entry: number.to_string(),
                    hash: 0,
                    words: tokens::distinct(&text),
                    text: compress(&text),
                };
                store.put(file.id, &new).unwrap();
            }
            // The third one changed last.
            let row = SessionRow { path, ..SessionRow::default() };
            sessions.push((file.id, Session { row, size: 0, modified: (session + 1) % 4 }));
        }
        let known: HashMap<i64, &Session> = sessions.iter().map(|(id, session)| (*id, session)).collect();
        let find = |frequent: usize, limits: SearchLimits| {
            let words = vec!["word".to_owned()];
            let expressions = tokens::expressions(&words).unwrap();
            let mut found = Vec::new();
            let mut emit = |hit: Option<SessionHit>| {
                found.extend(hit.map(|hit| format!("{}:{}", hit.session.path.display(), hit.entry)));
                true
            };
            let left = limits.total;
            let redactor = Redactor::new(&[]);
            let mut hits = Hits { words, expressions, limits, left, frequent, redactor, emit: &mut emit };
            hits.search_sessions(&store, &known).unwrap();
            found
        };
        let all = SearchLimits { per_session: 100, total: 100 };
        let whole =
            ["/2:0", "/2:2", "/2:4", "/1:0", "/1:2", "/1:4", "/0:0", "/0:2", "/0:4", "/3:0", "/3:2", "/3:4"];
        let begun = ["/2:1", "/1:1", "/0:1", "/3:1"];
        let expected: Vec<&str> = whole.into_iter().chain(begun).collect();
        for frequent in [1, 5, 12, 13, 1_000] {
            assert_eq!(find(frequent, all), expected, "{frequent}");
            let few = SearchLimits { per_session: 2, total: 3 };
            assert_eq!(find(frequent, few), ["/2:0", "/2:2", "/1:0"], "{frequent}");
        }
    }
}
