//! Finds the git repository of a directory by its files, as asking git would take too long.

use std::path::{Path, PathBuf};

use super::regular_files::read_text;

/// The size limit of a file that names a folder, in bytes.
const MAX_LINK: u64 = 64 * 1024;

/// The repository of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitPlace {
    /// The top of the working tree.
    pub top: PathBuf,
    /// The repository: its `.git`, or in linked working trees and submodules the folder that a file of this name leads to.
    pub dir: PathBuf,
}

impl GitPlace {
    /// The repository of a directory, if any.
    pub fn find(of: &Path) -> Option<Self> {
        of.ancestors().find_map(|top| {
            let git = top.join(".git");
            if git.is_dir() {
                return Some(GitPlace { top: top.to_owned(), dir: git });
            }
            let dir = top.join(target_of(&read_text(&git, MAX_LINK).ok()?)?);
            dir.is_dir().then(|| GitPlace { top: top.to_owned(), dir })
        })
    }

    /// The folder shared by all working trees.
    pub fn common(&self) -> PathBuf {
        let text = read_text(&self.dir.join("commondir"), MAX_LINK);
        text.map_or_else(|_| self.dir.clone(), |text| self.dir.join(text.trim()))
    }
}

/// The folder that the text of a file `.git` names, as git reads it.
pub(crate) fn target_of(text: &str) -> Option<&str> {
    let dir = text.strip_prefix("gitdir: ")?.trim_end_matches(['\r', '\n']);
    (!dir.is_empty() && !dir.contains('\0')).then_some(dir)
}
