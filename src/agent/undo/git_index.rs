//! Reads the index of a git repository: the unchanged files and their objects.
//!
//! Unsupported parts (a split index, unmerged files) are skipped; those files are copied instead.

use std::fs;
use std::path::Path;

use super::entry::{Entry, Kind};
use super::ignore_rules::as_path;
use super::state::Stamp;
use crate::settings::private_files::read_capped;
use tau_tools::git_index::{self, IndexEntry};
use tau_tools::git_place::GitPlace;

/// The size limit of an index, in bytes.
const MAX_SIZE: u64 = 512 * 1024 * 1024;
/// The size limit of a configuration file, in bytes.
const SMALL: u64 = 256 * 1024;

fn config(place: &GitPlace) -> String {
    let config = read_capped(&place.common().join("config"), SMALL).unwrap_or_default();
    String::from_utf8_lossy(&config).to_lowercase()
}

/// Whether files below `root` may differ from their objects although git considers them unchanged.
pub(crate) fn converts(place: &GitPlace, index: &GitIndex, root: &Path) -> bool {
    const WORDS: [&str; 5] = ["filter", "eol", "text", "ident", "working-tree-encoding"];
    const NAME: &str = ".gitattributes";
    let above = root.ancestors().take_while(|folder| folder.starts_with(&place.top));
    let below = index.from(b"").filter(|file| file.path.ends_with(NAME.as_bytes()));
    let mut attributes = above
        .map(|folder| folder.join(NAME))
        .chain(below.map(|file| root.join(as_path(&file.path))))
        .chain([place.common().join("info/attributes")]);
    let named = attributes.any(|path| {
        let text = read_capped(&path, SMALL).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        text.lines().any(|line| WORDS.iter().any(|word| line.contains(word)))
    });
    named || config(place).contains("autocrlf")
}

/// A file in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackedFile {
    /// Relative to the workspace.
    pub path: Box<[u8]>,
    size: u32,
    mtime: (u32, u32),
    ctime: u32,
    inode: u32,
    /// The name of its object; empty if it cannot be trusted.
    pub(crate) object: Box<[u8]>,
}

impl TrackedFile {
    fn is_same_version(&self, other: &TrackedFile) -> bool {
        let version = |file: &TrackedFile| (file.size, file.mtime, file.ctime, file.inode);
        version(self) == version(other)
    }

    /// The size of the file, as far as the index can store it.
    pub(crate) fn size(&self) -> u64 {
        u64::from(self.size)
    }
}

/// The index when it was read.
#[derive(Clone, Debug, Default)]
pub struct GitIndex {
    files: Vec<TrackedFile>,
    stamp: Stamp,
}

impl GitIndex {
    /// Reads the part of the index for files below `root`. `None` without a usable index.
    pub fn read(place: &GitPlace, root: &Path) -> Option<Self> {
        let path = place.dir.join("index");
        let stamp = Stamp::from(&fs::metadata(&path).ok()?);
        let bytes = read_capped(&path, MAX_SIZE).ok()?;
        let below = root.strip_prefix(&place.top).ok()?.as_os_str().as_encoded_bytes();
        let mut prefix = below.to_vec();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        let long = config(place).contains("objectformat = sha256");
        let mut files = parse(&bytes, if long { 32 } else { 20 }, &prefix)?;
        if !files.is_sorted_by(|one, other| one.path < other.path) {
            files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        }
        Some(GitIndex { files, stamp })
    }

    /// Whether the index file is unchanged since.
    pub(crate) fn is_current(&self, place: &GitPlace) -> bool {
        fs::metadata(place.dir.join("index")).is_ok_and(|metadata| Stamp::from(&metadata) == self.stamp)
    }

    /// Ignores the objects of files that have not changed since an older index named other objects for them:
    /// one of the two is wrong.
    pub(crate) fn distrust(&mut self, older: &GitIndex) {
        for file in &mut self.files {
            let old = older.get(&file.path).filter(|old| old.is_same_version(file));
            if old.is_some_and(|old| old.object != file.object) {
                file.object = Box::default();
            }
        }
    }

    /// The file at a path.
    pub fn get(&self, path: &[u8]) -> Option<&TrackedFile> {
        let at = self.files.binary_search_by(|file| (*file.path).cmp(path)).ok()?;
        self.files.get(at)
    }

    /// The files from a path on, in order.
    pub fn from(&self, path: &[u8]) -> impl Iterator<Item = &TrackedFile> {
        let at = self.files.partition_point(|file| &*file.path < path);
        self.files.get(at..).unwrap_or_default().iter()
    }

    /// The object with the content of the file, if the file is the version that git compared it with.
    pub(crate) fn object(&self, entry: &Entry) -> Option<&[u8]> {
        let file =
            self.get(&entry.path).filter(|file| entry.kind == Kind::File && !file.object.is_empty())?;
        let Stamp { inode, size, mtime, ctime } = entry.stamp;
        let cut = |number: i64| u32::try_from(number & 0xffff_ffff).unwrap_or_default();
        let low = |number: u64| u32::try_from(number & 0xffff_ffff).unwrap_or_default();
        let seconds = file.mtime.0 == cut(mtime.0) && file.ctime == cut(ctime.0);
        // Programs other than git itself omit the nanoseconds.
        let parts = file.mtime.1 == cut(mtime.1) || file.mtime.1 == 0;
        // As in git: a file that changed when the index was written may have changed again.
        let settled = mtime < self.stamp.mtime;
        let same = seconds && parts && settled && file.size == low(size) && file.inode == low(inode);
        same.then_some(&*file.object)
    }
}

/// The files of an index whose paths begin with `prefix`, which is removed.
fn parse(bytes: &[u8], object: usize, prefix: &[u8]) -> Option<Vec<TrackedFile>> {
    let mut files = Vec::new();
    let end = git_index::read(bytes, object, |entry| {
        if let Some(path) = entry.path.strip_prefix(prefix).filter(|_| entry.is_merged && entry.is_file()) {
            let IndexEntry { ctime, mtime, inode, size, object, .. } = entry;
            files.push(TrackedFile { path: path.into(), size, mtime, ctime, inode, object: object.into() });
        }
    })?;
    end.shared.is_none().then_some(files)
}
