//! The files with ignore rules that a walk reads: `.gitignore` and the like.
//!
//! The walking library opens these files itself and would block forever on a pipe. Files that are not
//! regular are therefore detected beforehand: their folder is left out, and such rules of the user or of
//! folders above are not used.

use std::fs;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};

use super::regular_files::read_capped;

/// The largest rule file that is read, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// The largest file read to locate a repository, in bytes.
const MAX_LINK: u64 = 64 * 1024;
/// The names of rule files in any folder.
const NAMES: [&str; 3] = [".gitignore", ".ignore", ".rgignore"];

/// True if reading a file does not block: it is regular and not too large, or cannot be opened at all.
fn is_plain(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |about| about.is_dir() || (about.is_file() && about.len() <= MAX_BYTES))
}

/// True if all rule files in a folder can be read.
pub(crate) fn are_plain(folder: &Path) -> bool {
    NAMES.iter().all(|name| is_plain(&folder.join(name))) && is_plain_repository(folder)
}

/// True if the rules of a repository at this folder can be read.
fn is_plain_repository(folder: &Path) -> bool {
    let git = folder.join(".git");
    let Ok(about) = fs::metadata(&git) else { return true };
    if !about.is_file() {
        return is_plain(&git.join("info/exclude"));
    }
    let line = |path: &Path| {
        let text = String::from_utf8(read_capped(path, MAX_LINK).ok()?).ok()?;
        text.lines().next().map(str::to_owned)
    };
    // Not a link to a repository: nothing more is read.
    let Some(target) = line(&git).and_then(|line| line.strip_prefix("gitdir: ").map(PathBuf::from)) else {
        return about.len() <= MAX_LINK;
    };
    let common = target.join("commondir");
    if !is_plain(&common) {
        return false;
    }
    let place = line(&common).map_or_else(|| target.clone(), |common| target.join(common));
    is_plain(&place.join("info/exclude"))
}

/// True if the user's own rules, and the git settings that name them, can be read.
fn are_own_plain() -> bool {
    let home = std::env::home_dir();
    let config = std::env::var_os("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let config = config.or_else(|| home.as_ref().map(|home| home.join(".config")));
    let of_config = config.iter().flat_map(|dir| [dir.join("git/config"), dir.join("git/ignore")]);
    let mut files =
        of_config.chain(home.map(|home| home.join(".gitconfig"))).chain([PathBuf::from("/etc/gitconfig")]);
    files.all(|path| is_plain(&path)) && gitconfig_excludes_path().is_none_or(|path| is_plain(&path))
}

/// A walk that never blocks on a rule file.
pub fn walk(root: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    if !are_plain(root) {
        walk.git_ignore(false).git_exclude(false).ignore(false);
    }
    let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    if !root.ancestors().skip(1).chain(real.ancestors().skip(1)).all(are_plain) {
        walk.parents(false);
    }
    walk.git_global(are_own_plain());
    walk.filter_entry(enters);
    walk
}

/// True if a walk that reads rules enters this entry.
pub fn enters(entry: &ignore::DirEntry) -> bool {
    entry.depth() == 0 || entry.file_type().is_none_or(|kind| !kind.is_dir()) || are_plain(entry.path())
}

/// The file with the user's own rules.
pub fn own_file() -> Option<PathBuf> {
    // Finding its name reads git's settings, which may be a pipe.
    are_own_plain().then(gitconfig_excludes_path).flatten()
}

/// The text of a rule file; empty if it cannot be read.
pub fn text(file: &Path) -> String {
    let bytes = read_capped(file, MAX_BYTES).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned()
}

/// The rules of a text, applied to `folder`.
pub fn rules(folder: &Path, text: &str) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.lines() {
        // An invalid rule ignores nothing.
        builder.add_line(None, line).ok();
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
