//! Worktrees: their directories, recognised by the path, and their rows in lists.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The end of the name of the folder that holds all worktrees.
pub const FOLDER_END: &str = "-worktrees";
/// The number of hexadecimal digits at the end of a repository's folder.
const DIGITS: usize = 16;

/// A worktree, as its path names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeName<'a> {
    /// The name of the repository's folder.
    pub repository: Cow<'a, str>,
    pub name: Cow<'a, str>,
}

impl std::fmt::Display for WorktreeName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} [{}]", self.repository, self.name)
    }
}

/// The worktree that contains a directory: `…/tau-worktrees/REPOSITORY-0123456789abcdef/NAME/…`.
pub fn of(directory: &Path) -> Option<WorktreeName<'_>> {
    let mut parts = directory.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    while let Some(part) = parts.next() {
        if !part.ends_with(FOLDER_END) {
            continue;
        }
        let repository = parts.next().and_then(repository)?;
        return parts.next().map(|name| WorktreeName { repository, name });
    }
    None
}

/// The name without the digits behind it.
fn repository(folder: Cow<'_, str>) -> Option<Cow<'_, str>> {
    let (name, digits) = folder.rsplit_once('-')?;
    let is_hash = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let length = name.len();
    is_hash.then_some(())?;
    match folder {
        Cow::Borrowed(text) => text.get(..length).map(Cow::Borrowed),
        Cow::Owned(text) => text.get(..length).map(|text| Cow::Owned(text.to_owned())),
    }
}

/// A worktree of the session's repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeRow {
    pub name: String,
    /// Its commits and changes, in words.
    pub has: String,
    /// Its folder; of a removed one the command that restores it.
    pub place: String,
    /// Whether the session is in it.
    pub is_here: bool,
    /// Whether it was removed, and its work is kept.
    pub is_removed: bool,
}

/// The way in which a worktree ends, or comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeEnd {
    Merge,
    Remove,
    Restore,
}

/// The result of an action on a worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeDone {
    /// As text for the user.
    pub said: String,
    /// The file of the session to continue in.
    #[serde(with = "tau_tools::path_text", default)]
    pub session: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_is_recognised_by_its_path() {
        let name = |path: &str| of(Path::new(path)).map(|found| found.to_string());
        let named = |text: &str| Some(text.to_owned());
        assert_eq!(
            name("/h/.local/share/tau-worktrees/web-app-0123456789abcdef/fix"),
            named("web-app [fix]")
        );
        assert_eq!(name("/h/tau-worktrees/a-0123456789abcdef/fix/src/x"), named("a [fix]"));
        for other in [
            "/h/tau-worktrees",
            "/h/tau-worktrees/a-0123456789abcdef",
            "/h/tau-worktrees/a-0123456789abcdeX/fix",
            "/h/tau-worktrees/a/fix",
            "/h/src/fix",
        ] {
            assert_eq!(name(other), None, "{other}");
        }
    }
}
