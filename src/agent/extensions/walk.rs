//! Walks through a folder of extensions, bounded in depth and number.
//!
//! Links are followed where they may lead, and no directory is visited twice.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use super::MAX_EXTENSIONS;
use super::places::Place;
use crate::permissions::refusal;
use tau_tools::paths;

/// The maximum depth of folders below the place.
const MAX_DEPTH: usize = 5;
/// The maximum number of directories that are read.
const MAX_FOLDERS: usize = 2 * MAX_EXTENSIONS;
/// The maximum number of names in a directory that are checked.
const MAX_NAMES: usize = 4 * MAX_EXTENSIONS;

/// An entry of a directory, after following links.
pub(super) enum Entry {
    Folder(PathBuf),
    File(PathBuf),
}

/// A walk through one place.
pub(super) struct Walk<'a> {
    place: &'a Place,
    /// The real path of the place.
    start: PathBuf,
    /// Real paths of directories that links led to.
    linked: HashSet<PathBuf>,
    folders: usize,
    pub(super) problems: Vec<String>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(place: &'a Place) -> Self {
        Walk { place, start: PathBuf::new(), linked: HashSet::new(), folders: 0, problems: Vec::new() }
    }

    /// The folder of the place, if it may be searched.
    pub(super) fn start(&mut self) -> Option<PathBuf> {
        self.start = paths::real(&self.place.folder).ok()?;
        if self.place.within.as_ref().is_some_and(|root| !self.start.starts_with(root)) {
            self.problems.push(format!("{} leads out of the project", self.place.folder.display()));
            return None;
        }
        Some(self.place.folder.clone())
    }

    /// The entries of `folder`, which is `depth` folders below the place, by name. Hidden files, and entries
    /// that are inaccessible or not allowed, are left out.
    pub(super) fn entries(&mut self, folder: &Path, depth: usize) -> Vec<Entry> {
        self.folders += 1;
        if depth > MAX_DEPTH || self.folders > MAX_FOLDERS {
            if self.folders <= MAX_FOLDERS + 1 {
                self.problems.push(format!("{} is too deep or too large to look through", folder.display()));
            }
            return Vec::new();
        }
        if depth == 0 && folder.is_file() {
            // A package can name single files.
            return vec![Entry::File(folder.to_owned())];
        }
        let found = match std::fs::read_dir(folder) {
            Ok(found) => found,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    self.problems.push(format!("{}: {error}", folder.display()));
                }
                return Vec::new();
            }
        };
        let mut names: Vec<(PathBuf, std::fs::FileType)> = found
            .take(MAX_NAMES)
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
                if is_hidden || entry.file_name() == "node_modules" {
                    return None;
                }
                Some((entry.path(), entry.file_type().ok()?))
            })
            .collect();
        names.sort_by(|(one, _), (other, _)| one.cmp(other));
        names.into_iter().filter_map(|(path, kind)| self.entry(path, kind)).collect()
    }

    fn entry(&mut self, path: PathBuf, kind: std::fs::FileType) -> Option<Entry> {
        if kind.is_dir() {
            return Some(Entry::Folder(path));
        }
        if !kind.is_symlink() {
            let is_read = !self.has_followed_links() || self.may_read(&path);
            return is_read.then_some(Entry::File(path));
        }
        let target = self.target(&path)?;
        if !target.is_dir() {
            return Some(Entry::File(path));
        }
        let leads_back = self.start.starts_with(&target);
        (!leads_back && self.linked.insert(target)).then_some(Entry::Folder(path))
    }

    /// The target of a link, if it is allowed.
    fn target(&mut self, link: &Path) -> Option<PathBuf> {
        let target = link.canonicalize().ok()?;
        if self.place.within.as_ref().is_some_and(|root| !target.starts_with(root)) {
            self.problems.push(format!("{} leads out of the project", link.display()));
            return None;
        }
        let refused = self.place.within.as_ref().filter(|_| !target.is_dir());
        let refused = refused.and_then(|root| refusal(&target, Some(root), self.place.rules.0.as_deref()));
        if let Some(why) = refused {
            self.problems.push(format!("{} leads to {}: {why}", link.display(), target.display()));
            return None;
        }
        Some(target)
    }

    /// Whether the walk may have followed a link to get here.
    fn has_followed_links(&self) -> bool {
        self.start != self.place.folder || !self.linked.is_empty()
    }

    /// Whether a file may be read: a regular file, or a link to an allowed target. One that is missing can be looked for.
    pub(super) fn may_read(&mut self, file: &Path) -> bool {
        if self.place.within.is_none() {
            return true;
        }
        let found = file.symlink_metadata();
        let is_read_as_it_is = match &found {
            Ok(found) => !found.is_symlink() && !self.has_followed_links(),
            Err(_) => true,
        };
        is_read_as_it_is || self.target(file).is_some()
    }
}
