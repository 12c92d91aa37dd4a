//! What is in the workspace: every file with what the file system says of it.
//!
//! Reads no content. A few threads share the directories; each file is asked for relative to its
//! open directory, which is most of what makes it fast, and nearly all that is left is the kernel's
//! work. Two scans are compared to find out what a command has changed. Directories that rules leave out are named, not entered; other file systems
//! that are mounted within the workspace are not entered either.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, readlinkat, statat};

use super::entry::{Entry, Kind};
use super::git_index::GitIndex;
use super::ignore_rules::{self, RuleBook, Rules, as_path};
use super::names::Names;
use super::scan_order::{Block, in_order};
use super::state::Stamp;

/// Most files that are looked at.
const MOST: usize = 500_000;
/// How long a scan may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most threads.
const THREADS: usize = 8;
/// A file that was changed so shortly before the scan may change again without a new time.
const CLOCK_STEP: i64 = 20_000_000;

/// The workspace at one time.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// In the order of the bytes of their paths.
    pub entries: Vec<Entry>,
    /// Files and directories that rules leave out; of what is in these directories nothing is known.
    pub ignored: Vec<Entry>,
    /// Directories that could not be read, or are on another file system.
    pub skipped: Vec<Box<[u8]>>,
    /// Differs when the rules do.
    pub(crate) rules: u64,
    /// When the scan began, in nanoseconds since 1970.
    pub(crate) started: i64,
    /// Why it is not complete, if it is not.
    pub incomplete: Option<String>,
}

impl Snapshot {
    /// The entry at a path.
    pub fn get(&self, path: &[u8]) -> Option<&Entry> {
        self.entries
            .binary_search_by(|entry| (*entry.path).cmp(path))
            .ok()
            .and_then(|at| self.entries.get(at))
    }

    /// Whether an entry may have changed again after it was looked at, without a sign of it.
    pub(crate) fn is_fresh(&self, entry: &Entry) -> bool {
        entry.kind == Kind::File && nanoseconds(entry.stamp.ctime).saturating_add(CLOCK_STEP) >= self.started
    }
}

pub(crate) fn nanoseconds((seconds, nanoseconds): (i64, i64)) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

/// Scans one workspace, again and again.
#[derive(Debug)]
pub struct Scanner {
    root: PathBuf,
    book: RuleBook,
}

/// A directory that is to be looked at.
struct Task {
    /// Relative to the root, with a slash at its end unless it is the root.
    path: Vec<u8>,
    rules: Option<Arc<Rules>>,
}

/// What a thread has found.
#[derive(Default)]
struct Found {
    entries: Vec<Block>,
    ignored: Vec<Block>,
    skipped: Vec<Box<[u8]>>,
    rules: u64,
}

#[derive(Default)]
struct Shared {
    open: Vec<Task>,
    /// Directories that somebody looks at or that are still open.
    left: usize,
    stop: Option<String>,
    count: usize,
}

struct Walk<'a> {
    root: OwnedFd,
    device: u64,
    scanner: &'a Scanner,
    tracked: Option<&'a GitIndex>,
    shared: Mutex<Shared>,
    more: Condvar,
    until: Instant,
}

impl Scanner {
    /// For the directory `root`, which is in the repository `git`: the top of its working tree, and
    /// its `.git`.
    pub fn new(root: &Path, git: Option<(&Path, &Path)>) -> Self {
        Scanner { root: root.to_owned(), book: RuleBook::new(root, git) }
    }

    /// Looks at the workspace. Files that are `tracked` count whatever the rules say.
    ///
    /// # Errors
    /// When the workspace itself cannot be read.
    pub fn scan(&self, tracked: Option<&GitIndex>) -> io::Result<Snapshot> {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(&self.root, flags, Mode::empty())?;
        let device = device(&rustix::fs::fstat(&root)?);
        let first = Task { path: Vec::new(), rules: self.book.outer.clone() };
        let shared = Shared { open: vec![first], left: 1, ..Shared::default() };
        let (shared, until) = (Mutex::new(shared), Instant::now() + PATIENCE);
        let walk = Walk { root, device, scanner: self, tracked, shared, more: Condvar::new(), until };
        let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(1, THREADS);
        let parts: Vec<Found> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| walk.work())).collect();
            let own = walk.work();
            others.into_iter().filter_map(|other| other.join().ok()).chain([own]).collect()
        });
        let mut all = Snapshot { started: i64::try_from(started).unwrap_or(i64::MAX), ..Snapshot::default() };
        let (mut entries, mut ignored) = (Vec::new(), Vec::new());
        for part in parts {
            entries.extend(part.entries);
            ignored.extend(part.ignored);
            all.skipped.extend(part.skipped);
            all.rules ^= part.rules;
        }
        (all.entries, all.ignored) = (in_order(entries), in_order(ignored));
        all.incomplete = walk.shared.into_inner().unwrap_or_else(PoisonError::into_inner).stop;
        self.add_tracked(&mut all, tracked);
        Ok(all)
    }

    /// Adds the files that git tracks although rules leave them out.
    fn add_tracked(&self, all: &mut Snapshot, tracked: Option<&GitIndex>) {
        let Some(tracked) = tracked.filter(|_| !all.ignored.is_empty()) else { return };
        let inside = |ignored: &Entry, path: &[u8]| {
            path.strip_prefix(&*ignored.path).is_some_and(|rest| rest.first() == Some(&b'/'))
        };
        let mut missing = Vec::new();
        for ignored in all.ignored.iter().filter(|ignored| ignored.kind == Kind::Directory) {
            for file in tracked.from(&ignored.path).take_while(|file| file.path.starts_with(&ignored.path)) {
                if inside(ignored, &file.path) {
                    missing.extend(entry_at(&self.root, &file.path));
                }
            }
        }
        if !missing.is_empty() {
            all.entries.extend(missing);
            all.entries.sort_unstable_by(|one, other| one.path.cmp(&other.path));
            all.entries.dedup_by(|one, other| one.path == other.path);
        }
    }
}

/// What is at a path below `root` now; nothing if it cannot be looked at.
pub(crate) fn entry_at(root: &Path, path: &[u8]) -> Option<Entry> {
    let full = root.join(as_path(path));
    let stat = rustix::fs::lstat(&full).ok()?;
    let mut entry = entry(path.into(), &stat);
    if entry.kind == Kind::Link {
        entry.target = full.read_link().ok().map(|target| target.as_os_str().as_bytes().into());
    }
    Some(entry)
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
    Entry { path, kind, mode, stamp, target: None }
}

impl Walk<'_> {
    /// Looks at directories until there are no more.
    fn work(&self) -> Found {
        let mut found = Found::default();
        let mut names = Names::default();
        while let Some(task) = self.next() {
            let (inner, count) = self.look(task, &mut names, &mut found);
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            shared.count = shared.count.saturating_add(count);
            if shared.count > MOST {
                shared.stop = Some(format!("it has more than {MOST} files"));
            } else if Instant::now() > self.until {
                shared.stop = Some(format!("looking at it takes more than {} s", PATIENCE.as_secs()));
            }
            shared.left = shared.left.saturating_add(inner.len()).saturating_sub(1);
            shared.open.extend(inner);
            self.more.notify_all();
        }
        found
    }

    fn next(&self) -> Option<Task> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if shared.left == 0 || shared.stop.is_some() {
                return None;
            }
            if let Some(task) = shared.open.pop() {
                return Some(task);
            }
            shared = self.more.wait(shared).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes what is in a directory; returns the directories in it, and how many entries it has.
    fn look(&self, task: Task, names: &mut Names, found: &mut Found) -> (Vec<Task>, usize) {
        let name: &[u8] = if task.path.is_empty() { b"." } else { &task.path };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&self.root, name, flags, Mode::empty()).and_then(Dir::new);
        let Ok(mut dir) = opened else {
            found.skipped.push(task.path.into());
            return (Vec::new(), 0);
        };
        let has_rules = names.read(&mut dir);
        let Ok(fd) = dir.fd() else { return (Vec::new(), 0) };
        let rules = if has_rules { self.rules_in(fd, &task, found) } else { task.rules.clone() };
        let mut full = self.scanner.root.join(as_path(&task.path)).into_os_string().into_encoded_bytes();
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

    fn rules_in(&self, fd: impl AsFd, task: &Task, found: &mut Found) -> Option<Arc<Rules>> {
        let above = task.rules.clone();
        let Ok(stat) = statat(fd, ignore_rules::FILE, AtFlags::SYMLINK_NOFOLLOW) else { return above };
        let file = entry(Box::default(), &stat);
        if file.kind != Kind::File {
            return above;
        }
        let dir = self.scanner.root.join(as_path(&task.path));
        found.rules ^= ignore_rules::fingerprint(&dir, file.stamp);
        self.scanner.book.inside(&dir, file.stamp, above)
    }

    fn take(&self, fd: impl AsFd, name: &CStr, within: &mut Directory, found: &mut Found) {
        // Something may have been removed since its name was read.
        let Ok(stat) = statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let path: Box<[u8]> = [&*within.path, name.to_bytes()].concat().into();
        let mut entry = entry(path, &stat);
        let directory = entry.kind == Kind::Directory;
        if within.leaves_out(name, directory) {
            // Most files are not left out, and to ask the rules takes less time than to ask the index.
            let tracked =
                !directory && self.tracked.is_some_and(|tracked| tracked.get(&entry.path).is_some());
            if !tracked {
                within.ignored.push(entry);
                return;
            }
        }
        if directory && device(&stat) != self.device {
            found.skipped.push(entry.path);
            return;
        }
        if entry.kind == Kind::Link {
            entry.target = readlinkat(&fd, name, Vec::new()).ok().map(|target| target.into_bytes().into());
        }
        if directory {
            let path = [&*entry.path, b"/"].concat();
            within.inner.push(Task { path, rules: within.rules.clone() });
        }
        within.entries.push(entry);
    }
}

/// A directory that is being looked at.
#[derive(Default)]
struct Directory {
    /// As in [`Task`].
    path: Vec<u8>,
    /// Its path with a slash at its end, absolute; names are put there to be compared with rules.
    full: Vec<u8>,
    rules: Option<Arc<Rules>>,
    entries: Vec<Entry>,
    ignored: Vec<Entry>,
    inner: Vec<Task>,
}

impl Directory {
    /// Whether the rules leave out what has this name.
    fn leaves_out(&mut self, name: &CStr, directory: bool) -> bool {
        let Some(rules) = &self.rules else { return false };
        let length = self.full.len();
        self.full.extend_from_slice(name.to_bytes());
        let ignored = rules.ignore(as_path(&self.full), directory);
        self.full.truncate(length);
        ignored
    }
}

/// A path that may have changed between two scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference<'a> {
    pub before: Option<&'a Entry>,
    pub after: Option<&'a Entry>,
}

/// What may differ between two scans of one workspace.
pub fn differences<'a>(root: &Path, before: &'a Snapshot, after: &'a Snapshot) -> Vec<Difference<'a>> {
    let mut found = Vec::new();
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
            _ => false,
        };
        if !same {
            found.push(Difference { before: one, after: other });
        }
    }
    if before.rules != after.rules {
        found.retain(|difference| !only_other_rules(root, before, *difference));
    }
    found
}

/// Whether a path was there before and after, and only the rules for it have changed.
fn only_other_rules(root: &Path, before: &Snapshot, difference: Difference<'_>) -> bool {
    let changed = |entry: &Entry| nanoseconds(entry.stamp.ctime).saturating_add(CLOCK_STEP) >= before.started;
    match (difference.before, difference.after) {
        (Some(old), None) => entry_at(root, &old.path).is_some_and(|now| now.is_same(old)),
        (None, Some(new)) => {
            let parents = as_path(&new.path).ancestors().skip(1);
            let moved = parents.filter(|path| !path.as_os_str().is_empty()).any(|path| {
                let bytes = path.as_os_str().as_encoded_bytes();
                before.get(bytes).is_none() && entry_at(root, bytes).is_some_and(|dir| changed(&dir))
            });
            !changed(new) && !moved
        }
        _ => false,
    }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
