//! Which files of a directory `.gitignore` and its like leave out.
//!
//! The rules are those of git, whether or not there is a repository: `.gitignore` of the directory
//! and those above it, `.git/info/exclude`, and the user's own file. Files that git tracks are
//! looked at whatever the rules say; the scan asks for that first.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::state::Stamp;

/// The name of the file with rules.
pub(super) const FILE: &str = ".gitignore";

/// The rules that hold in a directory.
#[derive(Debug)]
pub(super) struct Rules {
    own: Gitignore,
    above: Option<Arc<Rules>>,
}

impl Rules {
    /// Whether a path is left out. It is absolute.
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

/// Rules that were read, until their file changes.
type Known = HashMap<PathBuf, (Stamp, Gitignore)>;

/// Reads rules, and remembers them.
#[derive(Debug)]
pub(super) struct RuleBook {
    /// What holds at the root.
    pub(super) outer: Option<Arc<Rules>>,
    known: Mutex<Known>,
}

impl RuleBook {
    /// The rules for a directory that is scanned. `git` is the repository it is in: the top of its
    /// working tree, and its `.git`.
    pub(super) fn new(root: &Path, git: Option<(&Path, &Path)>) -> Self {
        let mut files = vec![Gitignore::global().0];
        let top = git.map_or(root, |(top, _)| top);
        if let Some((top, dir)) = git {
            let mut builder = GitignoreBuilder::new(top);
            builder.add(dir.join("info/exclude"));
            files.extend(builder.build().ok());
        }
        let between: Vec<&Path> = root.ancestors().skip(1).take_while(|dir| dir.starts_with(top)).collect();
        files.extend(between.into_iter().rev().map(read));
        let outer = files
            .into_iter()
            .filter(|own| !own.is_empty())
            .fold(None, |above, own| Some(Arc::new(Rules { own, above })));
        RuleBook { outer, known: Mutex::default() }
    }

    /// The rules in `dir`, whose file with rules has this stamp.
    pub(super) fn inside(&self, dir: &Path, stamp: Stamp, above: Option<Arc<Rules>>) -> Option<Arc<Rules>> {
        let known = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(dir).filter(|(of, _)| *of == stamp).map(|(_, own)| own.clone())
        };
        let own = known.unwrap_or_else(|| {
            let own = read(dir);
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(dir.to_owned(), (stamp, own.clone()));
            own
        });
        if own.is_empty() { above } else { Some(Arc::new(Rules { own, above })) }
    }
}

fn read(dir: &Path) -> Gitignore {
    let mut builder = GitignoreBuilder::new(dir);
    builder.add(dir.join(FILE));
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// A number that differs when a file with rules does.
pub(super) fn fingerprint(dir: &Path, stamp: Stamp) -> u64 {
    let mut hasher = DefaultHasher::new();
    (dir, stamp.inode, stamp.size, stamp.mtime).hash(&mut hasher);
    hasher.finish()
}

/// Whether a directory of this name holds what a version control system keeps for itself.
pub(super) fn is_internal(name: &[u8]) -> bool {
    matches!(name, b".git" | b".hg" | b".jj" | b".svn")
}

/// Bytes as a path.
pub(super) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
