//! Decides which files of a directory are ignored by `.gitignore` and similar files.
//!
//! The rules are those of git, whether or not there is a repository: `.gitignore` of the directory and those
//! above it, `.git/info/exclude`, and the user's own file. Files that git tracks are always included; the
//! scan checks that first.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::Gitignore;
use parking_lot::Mutex;

use super::state::{Stamp, StoredPath};
use tau_tools::ignore_files;

/// The name of the ignore file.
pub(super) const FILE: &str = ".gitignore";

/// The rules that apply in a directory.
#[derive(Debug)]
pub(super) struct Rules {
    own: Gitignore,
    above: Option<Arc<Rules>>,
}

impl Rules {
    /// Whether a path is ignored. It is absolute.
    pub(super) fn ignore(&self, path: &Path, directory: bool) -> bool {
        let mut rules = self;
        loop {
            match rules.own.matched(path, directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
            match &rules.above {
                Some(above) => rules = above,
                None => return false,
            }
        }
    }
}

/// The outer rules that apply to a workspace: the directory that they are relative to, and their text; later
/// ones take precedence.
pub(crate) type OuterRules = Vec<(StoredPath, String)>;

/// The rules of the user, of the repository, and of the directories above the workspace. `git` is its
/// repository: the top of the working tree, and its `.git`.
pub(super) fn outer_rules(root: &Path, git: Option<(&Path, &Path)>) -> OuterRules {
    let top = git.map_or(root, |(top, _)| top);
    let mut files: Vec<(&Path, PathBuf)> =
        ignore_files::own_file().map(|file| (top, file)).into_iter().collect();
    files.extend(git.map(|(top, dir)| (top, dir.join("info/exclude"))));
    let between: Vec<&Path> = root.ancestors().skip(1).take_while(|dir| dir.starts_with(top)).collect();
    files.extend(between.into_iter().rev().map(|dir| (dir, dir.join(FILE))));
    let read = |(dir, file): (&Path, PathBuf)| (StoredPath(dir.to_owned()), ignore_files::text(&file));
    files.into_iter().map(read).filter(|(_, text)| !text.is_empty()).collect()
}

/// The rules at the root of a workspace.
#[allow(clippy::ptr_arg, reason = "the type has a name")]
pub(super) fn at_root(outer: &OuterRules) -> Option<Arc<Rules>> {
    outer.iter().fold(None, |above, (dir, text)| inside(Some(ignore_files::rules(&dir.0, text)), above))
}

/// The rules in a directory, which may have its own.
pub(super) fn inside(own: Option<Gitignore>, above: Option<Arc<Rules>>) -> Option<Arc<Rules>> {
    match own.filter(|own| !own.is_empty()) {
        Some(own) => Some(Arc::new(Rules { own, above })),
        None => above,
    }
}

/// Parsed rules, valid until their file changes.
type RulesCache = HashMap<PathBuf, (Stamp, Gitignore)>;

/// Reads rules, and caches them.
#[derive(Debug)]
pub(super) struct RuleBook {
    /// The rules at the root.
    pub(super) outer: Option<Arc<Rules>>,
    known: Mutex<RulesCache>,
}

impl RuleBook {
    /// The rules for scanning a directory with these outer rules.
    pub(super) fn new(outer: &OuterRules) -> Self {
        RuleBook { outer: at_root(outer), known: Mutex::default() }
    }

    /// The rules of `dir` itself, whose ignore file has this stamp.
    pub(super) fn of(&self, dir: &Path, stamp: Stamp) -> Gitignore {
        let known = {
            let known = self.known.lock();
            known.get(dir).filter(|(of, _)| *of == stamp).map(|(_, own)| own.clone())
        };
        known.unwrap_or_else(|| {
            let own = ignore_files::rules(dir, &ignore_files::text(&dir.join(FILE)));
            let mut known = self.known.lock();
            known.insert(dir.to_owned(), (stamp, own.clone()));
            own
        })
    }
}

/// Whether it is an ignore file, by its name.
pub(super) fn is_rules(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == FILE)
}

/// A number that changes when an ignore file does.
pub(super) fn fingerprint(dir: &Path, stamp: Stamp) -> u64 {
    let mut hasher = DefaultHasher::new();
    (dir, stamp.inode, stamp.size, stamp.mtime).hash(&mut hasher);
    hasher.finish()
}

/// Whether a directory with this name is internal to a version control system.
pub(super) fn is_internal(name: &[u8]) -> bool {
    matches!(name, b".git" | b".hg" | b".jj" | b".svn")
}

pub(super) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
