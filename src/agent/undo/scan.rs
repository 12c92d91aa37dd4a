//! Scans the workspace: every file with its metadata.
//!
//! Reads no content. A few threads share the directories; each file is queried relative to its open
//! directory, which is most of what makes it fast, and nearly all that is left is the kernel's work. Two
//! scans are compared to find the changes of a command. Ignored directories are listed, not entered; other
//! file systems mounted within the workspace are not entered either.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Condvar, Mutex};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, readlinkat, statat};
use rustix::io::Errno;

use super::cover::Covering;
use super::entry::{Entry, Kind};
use super::git_index::GitIndex;
use super::ignore_rules::{self, OuterRules, RuleBook, Rules, as_path};
use super::names::Names;
use super::scan_order::{Block, in_order};
use super::snapshot::{Snapshot, is_at_or_below};
use super::state::Stamp;

/// The maximum number of files.
const MAX_FILES: usize = 500_000;
/// The time limit of a scan.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of threads.
const THREADS: usize = 8;
/// The number of directories that are scanned before other threads are started: starting one takes longer
/// than scanning a small tree.
const ALONE: usize = 32;

/// Scans one workspace repeatedly.
#[derive(Debug)]
pub struct Scanner {
    root: PathBuf,
    book: RuleBook,
    /// Directories that are left out, relative to the root.
    own: Vec<Box<[u8]>>,
}

/// A directory to be scanned.
struct Task {
    /// Relative to the root, with a slash at its end unless it is the root.
    path: Vec<u8>,
    rules: RulesHere,
}

/// The rules in a directory.
#[derive(Clone, Default)]
struct RulesHere {
    /// The current rules of the files.
    live: Option<Arc<Rules>>,
    /// The rules before the session changed them.
    held: Option<Arc<Rules>>,
    /// Whether the current rules ignore the directory.
    spared: bool,
}

/// The findings of one thread of a scan.
#[derive(Default)]
struct ThreadResult {
    entries: Vec<Block>,
    ignored: Vec<Block>,
    tracked: Vec<Box<[u8]>>,
    skipped: Vec<Box<[u8]>>,
    rules: u64,
}

#[derive(Default)]
struct WorkQueue {
    open: Vec<Task>,
    /// Directories that are being scanned or are still open.
    left: usize,
    stop: Option<String>,
    count: usize,
}

struct Walk<'a> {
    root: OwnedFd,
    device: u64,
    scanner: &'a Scanner,
    tracked: Option<&'a GitIndex>,
    covering: Option<Covering<'a>>,
    shared: Mutex<WorkQueue>,
    more: Condvar,
    until: Instant,
}

impl Scanner {
    /// A scanner of the directory `root`, which is in the repository `git`: the top of its working tree, and
    /// its `.git`.
    pub fn new(root: &Path, git: Option<(&Path, &Path)>) -> Self {
        Self::within(root, &ignore_rules::outer_rules(root, git), Vec::new())
    }

    /// A scanner of the directory `root` without its directories `own`, with these outer rules.
    pub(super) fn within(root: &Path, outer: &OuterRules, own: Vec<Box<[u8]>>) -> Self {
        Scanner { root: root.to_owned(), book: RuleBook::new(outer), own }
    }

    /// Scans the workspace. `tracked` files are included regardless of the rules. Fails when the workspace
    /// itself exists and cannot be read.
    pub fn scan(&self, tracked: Option<&GitIndex>) -> io::Result<Snapshot> {
        self.scan_covering(tracked, None)
    }

    /// Like [`Scanner::scan`], but includes covered paths. Fails like [`Scanner::scan`].
    pub(super) fn scan_covering(
        &self,
        tracked: Option<&GitIndex>,
        covering: Option<Covering<'_>>,
    ) -> io::Result<Snapshot> {
        let at = Instant::now();
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = match rustix::fs::open(&self.root, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(Snapshot { is_gone: true, ..Snapshot::default() }),
            root => root?,
        };
        let device = device(&rustix::fs::fstat(&root)?);
        let held = covering.and_then(|covering| covering.cover.outer.clone());
        let rules = RulesHere { live: self.book.outer.clone(), held, spared: false };
        let first = Task { path: Vec::new(), rules };
        let shared = WorkQueue { open: vec![first], left: 1, ..WorkQueue::default() };
        let (shared, until) = (Mutex::new(shared), Instant::now() + TIMEOUT);
        let more = Condvar::new();
        let walk = Walk { root, device, scanner: self, tracked, covering, shared, more, until };
        let mut parts = vec![walk.work(ALONE)];
        if walk.has_more() {
            parts.extend(std::thread::scope(|scope| {
                let others: Vec<_> = (1..threads()).map(|_| scope.spawn(|| walk.work(usize::MAX))).collect();
                let own = walk.work(usize::MAX);
                others.into_iter().filter_map(|other| other.join().ok()).chain([own]).collect::<Vec<_>>()
            }));
        }
        let started = i64::try_from(started).unwrap_or(i64::MAX);
        let mut all = Snapshot { started, at: Some(at), ..Snapshot::default() };
        let (mut entries, mut ignored) = (Vec::new(), Vec::new());
        for part in parts {
            entries.extend(part.entries);
            ignored.extend(part.ignored);
            all.tracked.extend(part.tracked);
            all.skipped.extend(part.skipped);
            all.rules ^= part.rules;
        }
        (all.entries, all.ignored) = (in_order(entries), in_order(ignored));
        all.incomplete = walk.shared.into_inner().stop;
        self.add_tracked(&mut all, tracked, covering);
        Ok(all)
    }

    /// Adds the files in ignored directories that git tracks, or tracked.
    fn add_tracked(&self, all: &mut Snapshot, tracked: Option<&GitIndex>, covering: Option<Covering<'_>>) {
        let mut missing = Vec::new();
        for ignored in all.ignored.iter().filter(|ignored| ignored.kind == Kind::Directory) {
            let dir = [&*ignored.path, b"/"].concat();
            let files = tracked.into_iter().flat_map(|tracked| tracked.from(&dir));
            let now = files.map(|file| &*file.path).take_while(|path| path.starts_with(&dir));
            let before = covering.into_iter().flat_map(|covering| covering.cover.tracked_files(&dir));
            missing.extend(now.chain(before).filter_map(|path| entry_at(&self.root, path)));
        }
        if !missing.is_empty() {
            all.tracked.extend(missing.iter().map(|entry| entry.path.clone()));
            all.entries.extend(missing);
            all.entries.sort_unstable_by(|one, other| one.path.cmp(&other.path));
            all.entries.dedup_by(|one, other| one.path == other.path);
        }
    }
}

/// The current entry at a path below `root`; `None` if it cannot be read.
pub(crate) fn entry_at(root: &Path, path: &[u8]) -> Option<Entry> {
    let full = root.join(as_path(path));
    let stat = rustix::fs::lstat(&full).ok()?;
    let mut entry = entry(path.into(), &stat);
    if entry.kind == Kind::Link {
        entry.target = full.read_link().ok().map(|target| target.as_os_str().as_bytes().into());
    }
    Some(entry)
}

/// The number of threads, determined once because that reads system files.
fn threads() -> usize {
    static THREADS_HERE: OnceLock<usize> = OnceLock::new();
    *THREADS_HERE
        .get_or_init(|| std::thread::available_parallelism().map_or(2, usize::from).clamp(1, THREADS))
}

#[allow(clippy::unnecessary_cast, reason = "the type of devices differs between systems")]
fn device(stat: &rustix::fs::Stat) -> u64 {
    stat.st_dev as u64
}

fn entry(path: Box<[u8]>, stat: &rustix::fs::Stat) -> Entry {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Symlink => Kind::Link,
        FileType::Directory => Kind::Directory,
        _ => Kind::Other,
    };
    let stamp = Stamp {
        inode: stat.st_ino,
        size: u64::try_from(stat.st_size).unwrap_or_default(),
        mtime: (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or_default()),
        ctime: (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or_default()),
    };
    #[allow(clippy::useless_conversion, reason = "the type of modes differs between systems")]
    let mode = u32::from(stat.st_mode) & 0o7777;
    Entry { path, kind, mode, stamp, target: None, spared: false }
}

impl Walk<'_> {
    /// Scans directories until none are left, or `most` were scanned.
    fn work(&self, most: usize) -> ThreadResult {
        let mut found = ThreadResult::default();
        let mut names = Names::default();
        for _ in 0..most {
            let Some(task) = self.next() else { break };
            let (inner, count) = self.look(task, &mut names, &mut found);
            let mut shared = self.shared.lock();
            shared.count = shared.count.saturating_add(count);
            if shared.count > MAX_FILES {
                shared.stop = Some(format!("it has more than {MAX_FILES} files"));
            } else if Instant::now() > self.until {
                shared.stop = Some(format!("looking at it takes more than {} s", TIMEOUT.as_secs()));
            }
            shared.left = shared.left.saturating_add(inner.len()).saturating_sub(1);
            shared.open.extend(inner);
            self.more.notify_all();
        }
        found
    }

    fn has_more(&self) -> bool {
        let shared = self.shared.lock();
        shared.left > 0 && shared.stop.is_none()
    }

    fn next(&self) -> Option<Task> {
        let mut shared = self.shared.lock();
        loop {
            if shared.left == 0 || shared.stop.is_some() {
                return None;
            }
            if let Some(task) = shared.open.pop() {
                return Some(task);
            }
            self.more.wait(&mut shared);
        }
    }

    /// Scans a directory; returns its subdirectories and the number of its entries.
    fn look(&self, task: Task, names: &mut Names, found: &mut ThreadResult) -> (Vec<Task>, usize) {
        let name: &[u8] = if task.path.is_empty() { b"." } else { &task.path };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&self.root, name, flags, Mode::empty()).and_then(Dir::new);
        let Ok(mut dir) = opened else {
            found.skipped.push(task.path.into());
            return (Vec::new(), 0);
        };
        let (has_rules, read) = names.read(&mut dir);
        let (Ok(fd), Ok(())) = (dir.fd(), read) else {
            found.skipped.push(task.path.into());
            return (Vec::new(), 0);
        };
        let full = self.scanner.root.join(as_path(&task.path));
        let rules = self.rules_in(fd, has_rules, &full, task.rules, found);
        let mut full = full.into_os_string().into_encoded_bytes();
        if full.last() != Some(&b'/') {
            full.push(b'/');
        }
        let mut directory = Directory {
            path: task.path,
            full,
            rules,
            entries: Vec::with_capacity(names.len()),
            ..Directory::default()
        };
        for name in names.iter() {
            self.take(fd, name, &mut directory, found);
        }
        let count = directory.entries.len();
        found.entries.push((directory.path.clone(), directory.entries));
        found.ignored.push((directory.path, directory.ignored));
        (directory.inner, count)
    }

    /// The rules in the directory `dir`, which may have an ignore file.
    fn rules_in(
        &self,
        fd: impl AsFd,
        has_rules: bool,
        dir: &Path,
        above: RulesHere,
        found: &mut ThreadResult,
    ) -> RulesHere {
        let RulesHere { live, held, spared } = above;
        let stat =
            has_rules.then(|| statat(fd, ignore_rules::FILE, AtFlags::SYMLINK_NOFOLLOW).ok()).flatten();
        let file = stat.map(|stat| entry(Box::default(), &stat)).filter(|file| file.kind == Kind::File);
        let own = file.map(|file| {
            found.rules ^= ignore_rules::fingerprint(dir, file.stamp);
            self.scanner.book.of(dir, file.stamp)
        });
        let held = self.covering.and_then(|covering| covering.cover.inside(dir, own.as_ref(), held));
        let live = ignore_rules::inside(own, live);
        RulesHere { live, held, spared }
    }

    fn take(&self, fd: impl AsFd, name: &CStr, within: &mut Directory, found: &mut ThreadResult) {
        let path: Box<[u8]> = [&*within.path, name.to_bytes()].concat().into();
        let stat = match statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            // It has been removed since its name was read.
            Err(Errno::NOENT) => return,
            Err(_) => return found.skipped.push(path),
        };
        let mut entry = entry(path, &stat);
        entry.spared = within.rules.spared;
        let directory = entry.kind == Kind::Directory;
        // Most files are not ignored, and checking the rules takes less time than checking the index.
        if within.leaves_out(name, directory) {
            if !directory && self.is_tracked(&entry.path) {
                found.tracked.push(entry.path.clone());
            } else if self.spares(&entry, name, within) {
                entry.spared = true;
            } else {
                within.ignored.push(entry);
                return;
            }
        }
        if directory && (device(&stat) != self.device || self.scanner.own.contains(&entry.path)) {
            found.skipped.push(entry.path);
            return;
        }
        if entry.kind == Kind::Link {
            entry.target = readlinkat(&fd, name, Vec::new()).ok().map(|target| target.into_bytes().into());
        }
        if directory {
            let path = [&*entry.path, b"/"].concat();
            let rules = RulesHere { spared: entry.spared, ..within.rules.clone() };
            within.inner.push(Task { path, rules });
        }
        within.entries.push(entry);
    }

    /// Whether git tracks a file, or tracked it before it was ignored.
    fn is_tracked(&self, path: &[u8]) -> bool {
        self.tracked.is_some_and(|tracked| tracked.get(path).is_some())
            || self.covering.is_some_and(|covering| covering.cover.was_tracked(path))
    }

    /// Whether an ignored path stays covered.
    fn spares(&self, entry: &Entry, name: &CStr, within: &mut Directory) -> bool {
        let Some(covering) = self.covering else { return false };
        let held = within.rules.held.as_deref();
        with_name(&mut within.full, name, |full| covering.spares(entry, held, full))
    }
}

/// A directory that is being scanned.
#[derive(Default)]
struct Directory {
    /// Like in [`Task`].
    path: Vec<u8>,
    /// Its absolute path with a slash at its end; names are appended to match them against rules.
    full: Vec<u8>,
    rules: RulesHere,
    entries: Vec<Entry>,
    ignored: Vec<Entry>,
    inner: Vec<Task>,
}

impl Directory {
    /// Whether the rules ignore the entry with this name.
    fn leaves_out(&mut self, name: &CStr, directory: bool) -> bool {
        let Some(rules) = &self.rules.live else { return false };
        with_name(&mut self.full, name, |full| rules.ignore(full, directory))
    }
}

/// Calls `say` with the path of a name in this directory.
fn with_name(directory: &mut Vec<u8>, name: &CStr, say: impl Fn(&Path) -> bool) -> bool {
    let length = directory.len();
    directory.extend_from_slice(name.to_bytes());
    let said = say(as_path(directory));
    directory.truncate(length);
    said
}

/// A path that may have changed between two scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference<'a> {
    pub before: Option<&'a Entry>,
    pub after: Option<&'a Entry>,
}

/// Possible differences between two scans of a workspace. Nothing is known about paths that were ignored in
/// the first one, or could not be read, so their appearance in the second is not a difference: they may be the user's.
pub fn differences<'a>(root: &Path, before: &'a Snapshot, after: &'a Snapshot) -> Vec<Difference<'a>> {
    let mut found = Vec::new();
    let unread = before.unread();
    let (mut old, mut new) = (before.entries.iter().peekable(), after.entries.iter().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => break,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(old), Some(new)) => old.path.cmp(&new.path),
        };
        let one = if order.is_le() { old.next() } else { None };
        let other = if order.is_ge() { new.next() } else { None };
        let same = match (one, other) {
            (Some(one), Some(other)) => one.is_same(other) && !before.is_fresh(one),
            (None, Some(other)) => {
                before.is_ignored(&other.path) || is_at_or_below(&other.path, |path| unread.contains(path))
            }
            _ => false,
        };
        if !same {
            found.push(Difference { before: one, after: other });
        }
    }
    if before.rules != after.rules {
        found.retain(|difference| !is_only_left_out(root, *difference));
    }
    found
}

/// Whether something that appeared at a path existed before the snapshot, at a path that it does not have: it
/// was moved from there. `false` where the file system does not say when it was created.
pub(super) fn is_moved_in(root: &Path, before: &Snapshot, after: &Snapshot, entry: &Entry) -> bool {
    let created = root.join(as_path(&entry.path)).symlink_metadata().and_then(|now| now.created());
    created.is_ok_and(|created| {
        let since = created.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        before.has_been_created(i64::try_from(since).unwrap_or(i64::MAX), after)
            && !before.has_inode(entry.stamp.inode)
    })
}

/// Whether a path still exists unchanged, and only the rules for it have changed.
fn is_only_left_out(root: &Path, difference: Difference<'_>) -> bool {
    match (difference.before, difference.after) {
        (Some(old), None) => entry_at(root, &old.path).is_some_and(|now| now.is_same(old)),
        _ => false,
    }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
