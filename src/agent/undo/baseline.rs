//! Records the contents of workspace files before a command, to detect its changes.
//!
//! The changes of a command are not known in advance, and copying everything each time takes too long. So a
//! file that is in git is left to git: its index says which object the file is. Every other file is copied
//! once, and again only when it has changed; the smallest first, within limits of size and time. The
//! remaining files are not covered, and their changes are reported as such.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::content::{ContentStore, Hash};
use super::cover::{Cover, Covering};
use super::entry::{Entry, Kind};
use super::git_index::{GitIndex, converts};
use super::git_objects::GitObjects;
use super::ignore_rules::{OuterRules, as_path, outer_rules};
use super::scan::Scanner;
use super::snapshot::Snapshot;
use super::state::{self, FileState, Stamp, StoredPath};
use tau_tools::git_place::GitPlace;
use tau_tools::user_error::UserError;

/// The size limit of a copied file, in bytes.
pub(crate) const MAX_COPY_SIZE: u64 = 10 * 1024 * 1024;

/// The known contents of files.
#[derive(Debug, Default)]
pub(crate) struct Baseline {
    root: PathBuf,
    /// Directories within it that are left out.
    own: Vec<Box<[u8]>>,
    git: Option<GitPlace>,
    index: Option<GitIndex>,
    /// Files whose objects differ from the files, because git converts them.
    converted: HashSet<Box<[u8]>>,
    scanner: Option<Scanner>,
    /// The paths that are covered although current rules ignore them.
    pub(super) cover: Cover,
    /// The last snapshot of the workspace.
    pub(crate) snapshot: Snapshot,
    copies: HashMap<Box<[u8]>, (Stamp, Hash)>,
    /// Files that are still to be copied, the next at the end.
    waiting: Vec<usize>,
    /// The size of all copies in bytes, and its limit.
    copied: u64,
    most: u64,
    /// Whether files were left out because of the limit.
    full: bool,
}

impl Baseline {
    /// The baseline of the workspace `root` without its directories `own`, with copies of at most `most` bytes.
    pub(crate) fn new(root: &Path, most: u64, own: Vec<Box<[u8]>>) -> Self {
        Baseline { root: root.to_owned(), most, own, ..Baseline::default() }
    }

    /// Scans the workspace. A copy is kept as long as it matches the file. Fails when the workspace cannot be
    /// read.
    pub(crate) fn scan(&mut self) -> io::Result<()> {
        if self.scanner.is_none() || self.git.is_none() {
            // There may be a repository by now.
            let git = GitPlace::find(&self.root);
            if self.scanner.is_none() || git.is_some() {
                let outer = outer_of(&self.root, git.as_ref());
                self.scanner = Some(Scanner::within(&self.root, &outer, self.own.clone()));
            }
            self.git = git;
        }
        if !self.index_is_current() {
            self.read_index();
        }
        self.snapshot = self.scan_with(None)?;
        self.cover.look(&self.snapshot);
        Ok(())
    }

    /// The outer rules that currently apply to the workspace.
    pub(super) fn outer_rules(&self) -> OuterRules {
        outer_of(&self.root, GitPlace::find(&self.root).as_ref())
    }

    /// Scans the workspace again for comparison; the index and known contents are unchanged. Fails when the
    /// workspace cannot be read.
    pub(crate) fn scan_again(&self) -> io::Result<Snapshot> {
        self.scan_with(Some(&self.snapshot))
    }

    fn scan_with(&self, earlier: Option<&Snapshot>) -> io::Result<Snapshot> {
        let scanner = self.scanner.as_ref().ok_or(io::ErrorKind::NotFound)?;
        scanner.scan_covering(self.index.as_ref(), Some(Covering { cover: &self.cover, earlier }))
    }

    fn read_index(&mut self) {
        self.converted.clear();
        let old = self.index.take();
        self.index = self.git.as_ref().and_then(|git| GitIndex::read(git, &self.root));
        let (Some(git), Some(index)) = (&self.git, &mut self.index) else { return };
        if let Some(old) = old {
            index.distrust(&old);
        }
        if !converts(git, index, &self.root) {
            return;
        }
        match converted_files(git, index, &self.root) {
            Ok(files) => self.converted = files,
            Err(_) => self.index = None,
        }
    }

    /// The git object with the content of a file.
    fn object(&self, entry: &Entry) -> Option<&[u8]> {
        if self.converted.contains(&entry.path) {
            return None;
        }
        self.index.as_ref()?.object(entry)
    }

    fn copy(&self, entry: &Entry) -> Option<Hash> {
        self.copies.get(&entry.path).filter(|(stamp, _)| *stamp == entry.stamp).map(|(_, hash)| *hash)
    }

    /// Finds the files to be copied.
    pub(crate) fn find_waiting(&mut self) {
        let mut waiting: Vec<usize> = Vec::new();
        let mut kept = HashMap::new();
        let mut bytes = 0_u64;
        for (at, entry) in self.snapshot.entries.iter().enumerate() {
            if entry.kind != Kind::File {
                continue;
            }
            match self.copy(entry) {
                // A file that changed within a tick of the clock looks unchanged.
                Some(hash) if !self.snapshot.is_fresh(entry) => {
                    bytes = bytes.saturating_add(entry.stamp.size);
                    kept.insert(entry.path.clone(), (entry.stamp, hash));
                }
                _ if self.object(entry).is_none() && entry.stamp.size <= MAX_COPY_SIZE => waiting.push(at),
                _ => {}
            }
        }
        // Files that current rules ignore come last, as they may be build output.
        let order = |at: &usize| self.snapshot.entries.get(*at).map(|entry| (entry.spared, entry.stamp.size));
        waiting.sort_by_key(|at| std::cmp::Reverse(order(at)));
        (self.copies, self.copied, self.waiting, self.full) = (kept, bytes, waiting, false);
    }

    /// Copies files until `deadline`; returns whether any are left. Fails when the store cannot save them.
    pub(crate) fn copy_some(&mut self, store: &mut ContentStore, deadline: Instant) -> io::Result<bool> {
        while let Some(at) = self.waiting.pop() {
            let Some(entry) = self.snapshot.entries.get_mut(at) else { continue };
            if self.copied.saturating_add(entry.stamp.size) > self.most {
                // The rest is not smaller.
                self.waiting.clear();
                self.full = true;
                return Ok(false);
            }
            let path = self.root.join(as_path(&entry.path));
            // Files that cannot be read, or have just changed, are later found to have no copy.
            let Ok(file) = state::open(&path) else { continue };
            let Ok(metadata) = file.metadata() else { continue };
            entry.stamp = Stamp::from(&metadata);
            if entry.stamp.size > MAX_COPY_SIZE {
                continue;
            }
            let Ok(Some(bytes)) = state::read_if_unchanged(&file, entry.stamp) else { continue };
            let hash = store.put(&bytes, Some(&file))?;
            self.copied = self.copied.saturating_add(entry.stamp.size);
            self.copies.insert(entry.path.clone(), (entry.stamp, hash));
            if Instant::now() >= deadline {
                return Ok(!self.waiting.is_empty());
            }
        }
        Ok(false)
    }

    /// The state of an entry of the snapshot, with its content in the store; or the reason it is unknown.
    pub(crate) fn state(
        &self,
        entry: &Entry,
        store: &mut ContentStore,
        git: &mut Option<GitObjects>,
    ) -> Result<FileState, UserError> {
        let mode = entry.mode;
        match entry.kind {
            Kind::Directory => Ok(FileState::Directory { mode }),
            Kind::Other => Ok(FileState::Other),
            Kind::Link => {
                let target = entry.target.as_deref().ok_or("a link that could not be read")?;
                Ok(FileState::Link { target: StoredPath(as_path(target).to_owned()) })
            }
            Kind::File => {
                let hash = match self.copy(entry) {
                    Some(hash) => hash,
                    None => self.git_content(entry, store, git)?,
                };
                Ok(FileState::File { hash: Some(hash), size: entry.stamp.size, mode, stamp: None })
            }
        }
    }

    fn git_content(
        &self,
        entry: &Entry,
        store: &mut ContentStore,
        git: &mut Option<GitObjects>,
    ) -> Result<Hash, UserError> {
        let size = entry.stamp.size;
        let (Some(place), Some(object)) = (&self.git, self.object(entry)) else {
            return Err(match size {
                _ if size > MAX_COPY_SIZE => format!("too large ({} MB)", size / (1024 * 1024)).into(),
                _ if self.full => {
                    format!("no copy: the files that git does not have are more than {} MB", self.most >> 20)
                        .into()
                }
                _ => "no copy was made in time".into(),
            });
        };
        if size > MAX_COPY_SIZE {
            return Err(format!("too large ({} MB)", size / (1024 * 1024)).into());
        }
        if git.is_none() {
            *git = GitObjects::open(&place.dir).ok();
        }
        let read = git.as_mut().map(|git| git.read(object, size));
        match read {
            Some(Ok(Some(bytes))) => {
                store.put(&bytes, None).map_err(|error| format!("no space for a copy ({error})").into())
            }
            Some(Ok(None)) => Err("git has no such version of it".into()),
            Some(Err(_)) | None => {
                *git = None;
                Err("could not run git".into())
            }
        }
    }

    /// Advances to a later snapshot of the workspace, with the contents that were read in the meantime.
    /// Returns the ignored files that git has just ceased to track.
    pub(crate) fn advance(
        &mut self,
        earlier: &Snapshot,
        snapshot: Snapshot,
        known: Vec<(Box<[u8]>, Hash)>,
    ) -> Vec<Box<[u8]>> {
        self.cover.note_ignored(earlier, &snapshot);
        for (path, hash) in known {
            if let Some(entry) = snapshot.get(&path) {
                self.copies.insert(path, (entry.stamp, hash));
            }
        }
        self.snapshot = snapshot;
        self.waiting.clear();
        if self.index_is_current() {
            return Vec::new();
        }
        self.read_index();
        let tracked = |path: &[u8]| self.index.as_ref().is_some_and(|index| index.get(path).is_some());
        let mut left = earlier.tracked.clone();
        left.retain(|path| !tracked(path) && self.snapshot.get(path).is_some());
        left.retain(|path| self.cover.keep_tracked(path));
        left
    }

    fn index_is_current(&self) -> bool {
        match (&self.git, &self.index) {
            (Some(git), Some(index)) => index.is_current(git),
            _ => false,
        }
    }
}

/// The files in the index whose objects have another size, or which a filter of any kind may have changed.
fn converted_files(git: &GitPlace, index: &GitIndex, root: &Path) -> io::Result<HashSet<Box<[u8]>>> {
    let files: Vec<_> = index.from(b"").filter(|file| !file.object.is_empty()).collect();
    let objects: Vec<&[u8]> = files.iter().map(|file| &*file.object).collect();
    let sizes = GitObjects::sizes(&git.dir, &objects)?;
    let (same, other): (Vec<_>, Vec<_>) =
        files.into_iter().zip(sizes).partition(|(file, size)| *size == Some(file.size()));
    let paths: Vec<&[u8]> = same.iter().map(|(file, _)| &*file.path).collect();
    let filtered = GitObjects::conversions(&git.dir, &git.top, root, &paths)?;
    let filtered = same.into_iter().zip(filtered).filter(|(_, is_filtered)| *is_filtered);
    Ok(filtered.map(|(found, _)| found).chain(other).map(|(file, _)| file.path.clone()).collect())
}

/// The outer rules that apply to a workspace in this repository.
fn outer_of(root: &Path, git: Option<&GitPlace>) -> OuterRules {
    outer_rules(root, git.map(|git| (&*git.top, &*git.dir)))
}
