//! The live sessions of the user on this machine, each described in a private file.
//!
//! The process that has the session open writes the file and holds a lock beside it, so a file whose lock is
//! free was left by a process that ended: by itself, if the session had come to rest, else by a crash, a kill
//! or a reboot.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use crate::attach::reach::Address;
use crate::process::exit::Exit;
use crate::process::socket_folder;
use tau_agent::session::list;
use tau_agent::settings::Paths;
use tau_agent::settings::private_files::{LockFile, read_capped};
use tau_protocol::live_session::{LiveRow, LiveState};
use tau_protocol::session_row::SessionRow;
use tau_tools::process::is_suspended;
use tau_tools::regular_files::open_regular;
use tau_tools::user_error::UserError;

/// Maximum size of a file, in bytes.
const MAX_SIZE: u64 = 64 * 1024;
/// The time for which another process may have a lock because it looks whether it is free, and how often that is
/// waited for.
const LOOK: Duration = Duration::from_millis(2);
const LOOKS: u32 = 10;
/// Time for which a session may be in use by a process that does not serve it yet, or no longer.
pub(super) const CHANGING_HANDS: Duration = Duration::from_secs(10);
/// The longest wait until a session that was opened is registered, and the interval at which that is looked at.
const REGISTERED: Duration = Duration::from_secs(3);
const UNREGISTERED: Duration = Duration::from_millis(5);
/// Time for which the record of an ended session is kept, before the newest one.
const KEPT: Duration = Duration::from_secs(14 * 24 * 3600);

/// A session that is or was live.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LiveRecord {
    pub id: String,
    /// The process that has the session open.
    pub pid: u32,
    /// Its address: `unix:PATH`.
    pub address: String,
    /// The token of its clients.
    pub token: String,
    #[serde(with = "tau_tools::path_text")]
    pub directory: PathBuf,
    pub title: String,
    pub state: LiveState,
    /// Whether nothing runs: a question that waits, as whether to open a session elsewhere, is no part of a run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_rest: bool,
    /// The exit code of the last run; absent before its end.
    pub exit: Option<u8>,
    /// Whether the process of the last run ended during it, and nothing has run since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Whether the end of the last run could not be saved, which the process tries again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unsaved: bool,
    /// Provider and id of the model.
    pub model: Option<String>,
    /// US dollars of the session and its helpers.
    pub cost: f64,
    /// Whether any of it is estimated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// The last line of the last answer, or the last error.
    pub last_line: String,
    /// The time of the next request, in milliseconds since 1970, while the provider accepts none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<i64>,
    /// The time of the last change, in milliseconds since 1970.
    pub changed: i64,
    /// Whether no front end has it open: its process ends with its work.
    pub background: bool,
    /// The number of calls and questions that wait for the user.
    pub waiting: usize,
    /// Whether a screen shows it.
    pub watched: bool,
    /// Whether the user was told that it was interrupted.
    pub told: bool,
    /// Whether the user has put it away.
    pub archived: bool,
    /// The file of a session that was put away, which is so as long as there is this file.
    #[serde(with = "tau_tools::path_text", skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The id of the session whose helper it is.
    pub parent: Option<String>,
    /// The command of the goal that is pursued.
    pub goal: Option<String>,
}

/// A record, and whether its process still runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FoundRecord {
    pub record: LiveRecord,
    pub is_live: bool,
}

impl LiveRecord {
    /// The record of a session that no process has open.
    fn of_saved(row: SessionRow) -> Self {
        LiveRecord {
            title: row.title(),
            id: row.id,
            directory: row.cwd,
            changed: row.modified,
            ..LiveRecord::default()
        }
    }

    /// Whether it stays whatever its age: the user has put its session away.
    fn is_put_away(&self) -> bool {
        self.archived && self.file.as_ref().is_some_and(|file| file.exists())
    }

    /// Whether it is the result of a run in the background, or of one that was interrupted.
    pub fn is_result(&self) -> bool {
        self.interrupted || self.background && self.exit.is_some()
    }

    /// The result of the last run, if no process has the session open and it tells one.
    fn into_result(self) -> Option<Self> {
        // The parent of a helper tells what came of it.
        if self.is_at_work() && self.parent.is_none() {
            let exit = self.exit.or(Some(Exit::Crash.code()));
            return Some(LiveRecord { state: LiveState::Failed, exit, interrupted: true, ..self });
        }
        self.is_result().then_some(self)
    }

    /// The sentence about the interruption of the last run.
    pub fn interruption(&self) -> &'static str {
        match self.unsaved {
            true => "the end of this session could not be saved and is lost",
            false => "this session was interrupted during a run",
        }
    }

    /// Whether a run has not ended.
    pub fn is_at_work(&self) -> bool {
        self.state.is_at_work() && !self.at_rest
    }
}

impl FoundRecord {
    /// The state; that of a session whose process was interrupted at work is `Failed`, and `Suspended` if it is
    /// suspended at work.
    pub fn state(&self) -> LiveState {
        match self.record.state {
            state if self.is_live && state.is_at_work() && is_suspended(self.record.pid) => {
                LiveState::Suspended
            }
            state if self.is_live => state,
            _ if self.record.is_at_work() => LiveState::Failed,
            state if state.is_at_work() => LiveState::Idle,
            state => state,
        }
    }

    /// Whether another process has it open.
    pub fn is_elsewhere(&self) -> bool {
        let own = format!("{}.sock", socket_folder::own_name());
        let is_own = |address| matches!(address, Address::Socket(path) if path.ends_with(&own));
        self.is_live && !Address::read(&self.record.address).is_some_and(is_own)
    }

    /// Whether it was interrupted at work, and nothing has run since.
    pub fn is_interrupted(&self) -> bool {
        self.record.interrupted || !self.is_live && self.record.is_at_work()
    }

    /// Whether it has a row of its own in lists. The notice about the parent covers an interrupted helper.
    pub fn has_row(&self) -> bool {
        self.is_live || self.record.parent.is_none()
    }

    /// As a row of the board.
    pub fn row(self) -> LiveRow {
        let (state, is_live) = (self.state(), self.is_live);
        let LiveRecord { id, directory, title, model, cost, estimated, .. } = self.record;
        let LiveRecord { last_line, changed, archived, parent, .. } = self.record;
        let server = None;
        LiveRow {
            id,
            state,
            title,
            directory,
            model,
            cost,
            estimated,
            last_line,
            changed,
            is_live,
            archived,
            parent,
            server,
        }
    }

    /// The address of its process.
    pub fn address(&self) -> Option<Address> {
        Address::read(&self.record.address).filter(|_| self.is_live)
    }
}

/// The record of a session that this process has open. Its file is removed on drop, unless it was kept.
#[derive(Debug)]
pub(crate) struct Registration {
    file: PathBuf,
    lock: PathBuf,
    written: LiveRecord,
    /// The result of the last run, which counts until there is another.
    earlier: Option<LiveRecord>,
    is_kept: bool,
    _held: LockFile,
}

impl Drop for Registration {
    fn drop(&mut self) {
        if !self.is_kept {
            // One at rest that had no run has not failed either.
            let at_rest = (!self.written.is_at_work()).then_some(Exit::Ok.code());
            if let Some(exit) = self.written.exit.or(at_rest) {
                // Whoever waits for the end has the lock open.
                let _ = std::fs::write(&self.lock, exit.to_string());
            }
            // A remaining file counts as left behind, as its lock is free.
            let _ = std::fs::remove_file(&self.file);
        }
        let _ = std::fs::remove_file(&self.lock);
    }
}

pub(super) fn folder(paths: &Paths) -> PathBuf {
    paths.state.join("live")
}

impl Registration {
    /// Writes the record of a session that this process has open. Fails with errors of the file system;
    /// another process has registered it.
    pub fn new(paths: &Paths, record: LiveRecord) -> io::Result<Self> {
        let lock = folder(paths).join(format!("{}.lock", record.id));
        let file = folder(paths).join(format!("{}.json", record.id));
        let held = take(&lock)?.ok_or(io::ErrorKind::ResourceBusy)?;
        std::fs::write(&lock, "")?;
        let earlier = read_record(&file).and_then(LiveRecord::into_result);
        let record = with_result(record, earlier.as_ref());
        write(&file, &record).inspect_err(|_| drop(std::fs::remove_file(&lock)))?;
        Ok(Registration { file, lock, written: record, earlier, is_kept: false, _held: held })
    }

    /// Replaces the record if it changed. Fails with errors of the file system.
    pub fn update(&mut self, record: LiveRecord) -> io::Result<()> {
        self.earlier = self.earlier.take().filter(|_| record.exit.is_none() && !record.is_at_work());
        let record = with_result(record, self.earlier.as_ref());
        let is_same = LiveRecord { changed: self.written.changed, ..record.clone() } == self.written;
        if !is_same {
            write(&self.file, &record)?;
            self.written = record;
        }
        Ok(())
    }

    /// Ends the registration of a session whose last run has ended so.
    pub fn end(mut self, exit: Option<u8>) {
        match self.earlier.as_ref().filter(|_| exit.is_none()).and_then(|earlier| earlier.exit) {
            Some(earlier) => self.keep(Some(earlier)),
            None => self.written.exit = exit,
        }
    }

    /// The last record.
    pub fn record(&self) -> &LiveRecord {
        &self.written
    }

    /// Ends the registration, but keeps the file, without the way to the process, with this end.
    pub fn keep(mut self, exit: Option<u8>) {
        self.is_kept = true;
        let record =
            LiveRecord { address: String::new(), token: String::new(), exit, ..self.written.clone() };
        if let Err(error) = self.update(record) {
            tracing::warn!(%error, "the record of a session could not be written");
        }
    }
}

/// The record of a session in which nothing has run since it was opened, with the result of its last run.
fn with_result(record: LiveRecord, earlier: Option<&LiveRecord>) -> LiveRecord {
    let Some(earlier) = earlier.filter(|_| record.exit.is_none() && !record.is_at_work()) else {
        return record;
    };
    let LiveRecord { state, exit, last_line, background, interrupted, unsaved, told, .. } = earlier.clone();
    let is_pursued = |goal: &String| !interrupted || earlier.goal.as_ref() == Some(goal);
    let goal = record.goal.clone().filter(is_pursued);
    LiveRecord { state, exit, last_line, background, interrupted, unsaved, told, goal, ..record }
}

/// Takes the lock, unless another process has it for longer than a look takes.
fn take(lock: &Path) -> io::Result<Option<LockFile>> {
    for _ in 0..LOOKS {
        if let Some(held) = LockFile::try_take(lock)? {
            return Ok(Some(held));
        }
        std::thread::sleep(LOOK);
    }
    LockFile::try_take(lock)
}

/// Replaces the file atomically. It is not synced: after a power failure an older record is as good.
fn write(file: &Path, record: &LiveRecord) -> io::Result<()> {
    let text = serde_json::to_vec(record)?;
    match replace(file, &text) {
        // On a full disk, the place that it has is enough.
        Err(error) => overwrite(file, text).map_err(|_| error),
        Ok(()) => Ok(()),
    }
}

fn replace(file: &Path, text: &[u8]) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut new = tempfile::Builder::new().prefix(".tau-").tempfile_in(folder)?;
    new.write_all(text)?;
    new.persist(file).map(drop).map_err(|failed| failed.error)
}

/// Writes over an existing file, at once: whoever reads it meanwhile finds one record.
fn overwrite(file: &Path, mut text: Vec<u8>) -> io::Result<()> {
    let mut open = std::fs::OpenOptions::new().write(true).open(file)?;
    let length = usize::try_from(open.metadata()?.len()).unwrap_or_default();
    text.resize(text.len().max(length), b' ');
    open.write_all(&text)
}

/// All records, by id.
pub(crate) fn all(paths: &Paths) -> HashMap<String, FoundRecord> {
    let files = std::fs::read_dir(folder(paths)).into_iter().flatten().flatten().map(|entry| entry.path());
    let is = |path: &PathBuf, end: &str| path.extension().is_some_and(|found| found == end);
    let (records, others): (HashSet<PathBuf>, HashSet<PathBuf>) = files.partition(|path| is(path, "json"));
    let is_alone = |path: &&PathBuf| is(path, "lock") && !records.contains(&path.with_extension("json"));
    others.iter().filter(is_alone).for_each(|lock| remove_if_free(lock));
    records.iter().filter_map(|path| read(path)).collect()
}

/// The processes that have sessions open.
pub(crate) fn hosts(paths: &Paths) -> Vec<i32> {
    let live = all(paths).into_values().filter(|found| found.is_live);
    live.filter_map(|found| i32::try_from(found.record.pid).ok()).collect()
}

/// Removes a lock that a killed process has left.
fn remove_if_free(lock: &Path) {
    if let Ok(Some(_held)) = LockFile::try_take(lock) {
        let _ = std::fs::remove_file(lock);
    }
}

/// The record of a session.
pub(crate) fn of(paths: &Paths, id: &str) -> Option<FoundRecord> {
    tau_agent::session::is_session_id(id)
        .then(|| read(&folder(paths).join(format!("{id}.json"))))?
        .map(|(_, found)| found)
}

/// The sentence about a process that does not answer: it may be suspended, or stuck on a disk.
pub(crate) fn silence(process: u32) -> String {
    let which = format!("process {process}, which has this session open,");
    match is_suspended(process) {
        true => format!("{which} is suspended; `fg` in its terminal or `kill -CONT {process}` continues it"),
        false => {
            format!("{which} does not answer; `kill -9 {process}` ends it, and the session is kept")
        }
    }
}

/// Waits until a session that a process has just opened can be found: else it would be opened twice.
pub(crate) async fn wait_for_registration(paths: &Paths, id: &str) {
    let end = Instant::now() + REGISTERED;
    while !of(paths, id).is_some_and(|found| found.is_live) && Instant::now() < end {
        tokio::time::sleep(UNREGISTERED).await;
    }
}

/// The lock of a session that is live, from which [`end_in`] reads later.
pub(crate) fn open_lock(paths: &Paths, id: &str) -> Option<File> {
    open_regular(&folder(paths).join(format!("{id}.lock"))).ok()
}

/// How the last run of a session has ended whose process has ended and removed its record.
pub(crate) fn end_in(lock: &mut File) -> Option<u8> {
    let mut end = Vec::new();
    lock.take(4).read_to_end(&mut end).ok()?;
    std::str::from_utf8(&end).ok()?.parse().ok()
}

/// The session of this file, if another process has it open.
pub(crate) fn open_elsewhere(paths: &Paths, file: &Path) -> Option<LiveRecord> {
    let name = file.file_stem()?.to_str()?;
    let is_it =
        |found: &FoundRecord| found.is_elsewhere() && name.ends_with(&format!("_{}", found.record.id));
    all(paths).into_values().find(is_it).map(|found| found.record)
}

/// The sessions of a directory that were interrupted at work, of which the user was not told yet. They count as
/// told from now on.
pub(crate) fn take_interrupted(paths: &Paths, directory: &Path) -> Vec<LiveRecord> {
    let is_news = |found: &FoundRecord| {
        let is_own = found.record.parent.is_none() && found.record.directory == directory;
        found.is_interrupted() && !found.record.told && is_own
    };
    let told = |found: FoundRecord| {
        let record = LiveRecord { told: true, ..found.record };
        match rewrite(paths, &record) {
            Ok(()) => {}
            // A process has just opened it.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => return None,
            Err(error) => tracing::warn!(%error, "the record of a session could not be written"),
        }
        Some(record)
    };
    let mut news: Vec<LiveRecord> = all(paths).into_values().filter(is_news).filter_map(told).collect();
    news.sort_by_key(|record| std::cmp::Reverse(record.changed));
    news
}

/// The time of the last change of any record; `None` if there are none.
pub(crate) fn last_change(paths: &Paths) -> Option<SystemTime> {
    std::fs::metadata(folder(paths)).and_then(|found| found.modified()).ok()
}

/// Like [`archive`], with an error in words for the user.
pub(crate) fn put_away(
    paths: &Paths,
    file: Option<PathBuf>,
    id: &str,
    archived: bool,
) -> Result<(), UserError> {
    archive(paths, file, id, archived).map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy => STILL_OPEN.into(),
        io::ErrorKind::NotFound => "this machine has no such session: archive it where it is".into(),
        _ => UserError::new("cannot archive the session").because(error),
    })
}

/// The refusal to archive a session that is open.
pub(crate) const STILL_OPEN: &str = "this session is open: only what has ended can be archived";

/// Puts a session away, or brings it back: one with a record, or that of this file. Fails when a process has it open,
/// or with errors of the file system.
pub(crate) fn archive(paths: &Paths, file: Option<PathBuf>, id: &str, archived: bool) -> io::Result<()> {
    let saved = || file.as_deref().and_then(list::row_of).map(LiveRecord::of_saved);
    let record = of(paths, id).map(|found| found.record).or_else(saved).ok_or(io::ErrorKind::NotFound)?;
    rewrite(paths, &LiveRecord { archived, file: file.filter(|_| archived), ..record })
}

/// The ids of the sessions that were put away.
pub(crate) fn archived_ids(paths: &Paths) -> HashSet<String> {
    all(paths).into_iter().filter(|(_, found)| found.record.archived).map(|(id, _)| id).collect()
}

/// Removes what is known of an earlier run of a session that no process serves: there has been a later one.
pub(super) fn forget(paths: &Paths, id: &str) {
    let file = |end: &str| folder(paths).join(format!("{id}.{end}"));
    if file("json").exists()
        && let Ok(Some(_held)) = take(&file("lock"))
    {
        let _ = std::fs::remove_file(file("json"));
        let _ = std::fs::remove_file(file("lock"));
    }
}

/// Writes the record of a session that no process has open. Fails with `ResourceBusy` if one has.
fn rewrite(paths: &Paths, record: &LiveRecord) -> io::Result<()> {
    let file = |end: &str| folder(paths).join(format!("{}.{end}", record.id));
    let lock = file("lock");
    let held = take(&lock)?.ok_or(io::ErrorKind::ResourceBusy)?;
    let written = write(&file("json"), record);
    let _ = std::fs::remove_file(&lock);
    drop(held);
    written
}

fn read_record(path: &Path) -> Option<LiveRecord> {
    let record: LiveRecord = serde_json::from_slice(&read_capped(path, MAX_SIZE).ok()?).ok()?;
    path.file_stem().is_some_and(|stem| stem == record.id.as_str()).then_some(record)
}

fn read(path: &Path) -> Option<(String, FoundRecord)> {
    let record = read_record(path)?;
    let lock = path.with_extension("lock");
    if LockFile::is_held(&lock) {
        return Some((record.id.clone(), FoundRecord { record, is_live: true }));
    }
    if let Some(Address::Socket(socket)) = Address::read(&record.address) {
        socket_folder::remove_if_dead(&socket);
    }
    // Of a session that was killed at rest nothing is left to tell, as if it had ended by itself. The parent of a helper
    // tells what came of it.
    let is_over = !record.is_at_work() && (record.parent.is_some() || !record.is_result());
    if !record.is_put_away() && is_over {
        remove_ended(path);
        return None;
    }
    Some((record.id.clone(), FoundRecord { record, is_live: false }))
}

/// Removes a record, unless a process has its session open.
fn remove_ended(path: &Path) {
    let lock = path.with_extension("lock");
    if let Ok(Some(_held)) = LockFile::try_take(&lock) {
        let _ = std::fs::remove_file(path);
        let _ = std::fs::remove_file(&lock);
    }
}

/// Removes the results that are much older than the newest one: the clock may be wrong, so it does not count.
pub(super) fn sweep(paths: &Paths) {
    let ended = all(paths).into_values().filter(|found| !found.is_live).map(|found| found.record);
    let changed = |record: LiveRecord| {
        let path = folder(paths).join(format!("{}.json", record.id));
        let changed = std::fs::metadata(&path).and_then(|meta| meta.modified()).ok()?;
        Some((path, record.is_put_away(), changed))
    };
    let ended: Vec<(PathBuf, bool, SystemTime)> = ended.filter_map(changed).collect();
    let Some(newest) = ended.iter().map(|(.., changed)| *changed).max() else { return };
    for (path, is_put_away, changed) in ended {
        if !is_put_away && newest.duration_since(changed).is_ok_and(|age| age > KEPT) {
            remove_ended(&path);
        }
    }
}

#[cfg(test)]
mod tests;
