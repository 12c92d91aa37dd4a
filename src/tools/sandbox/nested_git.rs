//! Nested repositories: the ones that an index names, and what they would make git run.
//!
//! `git status` enters every submodule that the index names and obeys its configuration there. Folders that
//! a command has turned into submodules are therefore checked.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use super::git_names::unknown_entries;
use crate::git_place::target_of;
use crate::process::{ChildEnv, git};
use crate::regular_files::read_capped;
use crate::{git_index, paths};
use parking_lot::Mutex;

/// The largest index that is read, in bytes.
const MAX_INDEX: u64 = 512 * 1024 * 1024;
/// The largest configuration file that is read, in bytes.
const MAX_CONFIG: u64 = 256 * 1024;
/// The maximum time for git to read or change an index.
pub(super) const LONGEST: Duration = Duration::from_secs(10);
/// The maximum depth of nested submodules.
const MAX_DEPTH: usize = 5;
/// Repository settings that make git run nothing, read nothing elsewhere and convert nothing. `*` means
/// everything in the section.
const PLAIN: [(&str, &[&str]); 7] = [
    (
        "core",
        crate::words!(
            "bare filemode ignorecase logallrefupdates precomposeunicode repositoryformatversion \
             symlinks"
        ),
    ),
    ("extensions", &["objectformat"]),
    ("remote", &["fetch", "url"]),
    ("branch", &["merge", "rebase", "remote"]),
    ("user", &["*"]),
    ("advice", &["*"]),
    ("init", &["*"]),
];
/// Entries of a plain repository besides those that commands may create, which are checked or do nothing.
const OF_PLAIN: [&str; 3] = ["branches", "config", "hooks"];

/// The submodules that an index names, as paths relative to the top of the working tree.
pub(super) type GitLinks = Arc<BTreeSet<PathBuf>>;

/// The metadata that distinguishes versions of a file.
type Version = (u64, u64, i64, i64, i64, i64);

/// The state of an index: the versions of its files.
pub(super) type IndexVersion = Vec<(PathBuf, Version)>;

/// The submodules in a version of an index.
#[derive(Debug)]
struct CachedLinks {
    version: IndexVersion,
    links: GitLinks,
}

/// The versions of the index files in a folder; empty if there is no index.
pub(super) fn index_version(dir: &Path) -> IndexVersion {
    let version = |path: PathBuf| {
        let file = path.metadata().ok()?;
        let (modified, changed) = ((file.mtime(), file.mtime_nsec()), (file.ctime(), file.ctime_nsec()));
        Some((path, (file.ino(), file.len(), modified.0, modified.1, changed.0, changed.1)))
    };
    let is_shared = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"sharedindex."))
    };
    let others = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut shared: Vec<_> = others.filter(is_shared).filter_map(version).collect();
    shared.sort();
    version(dir.join("index")).into_iter().chain(shared).collect()
}

/// The submodules in the index in a folder of a repository: its own, or that of a working tree. `None` if they are
/// unknown.
pub(super) fn git_links(repository: &Path, dir: &Path) -> Option<GitLinks> {
    static KNOWN: Mutex<Option<HashMap<PathBuf, CachedLinks>>> = Mutex::new(None);

    let path = dir.join("index");
    if path.symlink_metadata().is_err() {
        return Some(GitLinks::default());
    }
    let version = index_version(dir);
    let mut all = KNOWN.lock();
    let all = all.get_or_insert_default();
    if let Some(known) = all.get(&path).filter(|known| known.version == version) {
        return Some(Arc::clone(&known.links));
    }
    // Git knows best what it makes of an index that it would not have written like this.
    let links = read_links(&path).or_else(|| ask_git(repository, dir))?;
    let links: GitLinks = links.iter().all(|link| is_ordinary(link)).then_some(links)?.into();
    all.insert(path, CachedLinks { version, links: Arc::clone(&links) });
    Some(links)
}

/// The submodules in an index that has everything in it, in order.
fn read_links(path: &Path) -> Option<BTreeSet<PathBuf>> {
    let bytes = read(path, MAX_INDEX)?;
    // Object names have 20 bytes, or 32.
    [20, 32].iter().find_map(|object| {
        let mut links = BTreeSet::new();
        let end = git_index::read(&bytes, *object, |entry| {
            if entry.is_gitlink() {
                links.insert(PathBuf::from(OsStr::from_bytes(entry.path)));
            }
        });
        end.filter(|end| end.shared.is_none() && !end.has_offsets).map(|_| links)
    })
}

/// The submodules that git finds in an index. It gets the folder of the repository, whose settings are protected.
fn ask_git(repository: &Path, dir: &Path) -> Option<BTreeSet<PathBuf>> {
    let mut command = Command::new("git");
    ChildEnv::of_helpers().apply(&mut command);
    command.envs(git::hardening_variables(&[])).env("GIT_DIR", dir).env("GIT_COMMON_DIR", repository);
    command.args(["ls-files", "--stage", "-z"]).current_dir(repository).stdin(Stdio::null());
    let output = git::output_within(&mut command, LONGEST).ok().filter(|output| output.status.success())?;
    let links = output.stdout.split(|byte| *byte == 0).filter(|line| line.starts_with(b"160000 "));
    let path = |line: &[u8]| {
        let at = memchr::memchr(b'\t', line)?;
        Some(PathBuf::from(OsStr::from_bytes(line.get(at.saturating_add(1)..)?)))
    };
    links.map(path).collect()
}

/// Whether git would accept a path of the index: no empty one, and none that leads elsewhere.
fn is_ordinary(path: &Path) -> bool {
    path.as_os_str().as_bytes().split(|byte| *byte == b'/').all(|part| {
        !matches!(part, b"" | b"." | b"..") && !part.eq_ignore_ascii_case(b".git") && !part.contains(&0)
    })
}

/// True if the contents of the folder `top` make git run nothing: it is no repository, or one as created by
/// `git init` and `git clone`. `modules` is where the repositories of submodules may be kept.
pub(super) fn is_plain(top: &Path, modules: &Path, depth: usize) -> bool {
    let git = top.join(".git");
    let Ok(metadata) = git.symlink_metadata() else { return true };
    if metadata.is_file() {
        let text = String::from_utf8(read(&git, MAX_CONFIG).unwrap_or_default()).unwrap_or_default();
        return target_of(&text).is_some_and(|dir| paths::identity(&top.join(dir)).starts_with(modules));
    }
    metadata.is_dir() && depth < MAX_DEPTH && is_plain_folder(&git) && {
        let inner = git_links(&git, &git);
        inner.is_some_and(|inner| inner.iter().all(|link| is_plain(&top.join(link), modules, depth + 1)))
    }
}

fn is_plain_folder(git: &Path) -> bool {
    let hooks = git.join("hooks");
    let no_hooks = match hooks.symlink_metadata() {
        Err(_) => true,
        Ok(metadata) if !metadata.is_dir() => false,
        Ok(_) => std::fs::read_dir(&hooks).is_ok_and(|entries| {
            entries.flatten().all(|entry| entry.file_name().as_encoded_bytes().ends_with(b".sample"))
        }),
    };
    let config = git.join("config");
    let plain_config = match config.symlink_metadata() {
        Err(_) => true,
        Ok(metadata) => {
            metadata.is_file() && read(&config, MAX_CONFIG).is_some_and(|text| is_plain_config(&text))
        }
    };
    let is_plain = |path: &PathBuf| OF_PLAIN.iter().any(|name| *path == git.join(name));
    no_hooks && plain_config && unknown_entries(git, git).iter().all(is_plain)
}

/// True if a configuration file has only plain settings.
fn is_plain_config(text: &[u8]) -> bool {
    has_only(text, &PLAIN)
}

/// True if a configuration file has only these settings, of sections. Anything not understood is another.
pub(super) fn has_only(text: &[u8], settings: &[(&str, &[&str])]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            // Nothing may follow on the same line: git would treat it as a setting.
            let Some(name) = rest.strip_suffix(']') else { return false };
            if name.contains(']') {
                return false;
            }
            section = name.split([' ', '.', '"']).next().unwrap_or_default().to_ascii_lowercase();
            continue;
        }
        let key = line.split(['=', ' ', '\t']).next().unwrap_or_default().to_ascii_lowercase();
        let allowed = settings.iter().find(|(name, _)| *name == section).map(|(_, keys)| *keys);
        let is_allowed = |keys: &[&str]| keys.iter().any(|allowed| *allowed == "*" || *allowed == key);
        // Lines that continue on the next one are not followed.
        if line.ends_with('\\') || !allowed.is_some_and(is_allowed) {
            return false;
        }
    }
    true
}

/// The content of a regular file that is not too large; never blocks.
fn read(path: &Path, limit: u64) -> Option<Vec<u8>> {
    read_capped(path, limit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_that_run_nothing_are_plain() {
        let plain = [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
            "[remote \"origin\"]\n\turl = https://x/y\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[branch \"main\"]\n remote = origin\n merge = refs/heads/main\n# x\n[user]\nname=x\n",
        ];
        for text in plain {
            assert!(is_plain_config(text.as_bytes()), "{text}");
        }
        let others = [
            "[core]\nfsmonitor = evil",
            "[CORE]\nFsMonitor=evil",
            "[core] fsmonitor = evil",
            "[core]\nbare = false \\\nfsmonitor = evil",
            "[core]\nhooksPath = h",
            "[core]\nworktree = /",
            "[diff]\nexternal = evil",
            "[filter \"x\"]\nclean = evil",
            "[include]\npath = x",
            "[includeIf \"gitdir:/\"]\npath = x",
            "[extensions]\nworktreeConfig = true",
            "[remote \"x\"]\nuploadpack = evil",
            "[remote \"x\"]\npromisor = true",
            "[alias]\nst = !evil",
            "fsmonitor = evil",
            "[core",
            "[a]b]\n",
            "\u{feff}[core]\nfsmonitor = evil",
        ];
        for text in others {
            assert!(!is_plain_config(text.as_bytes()), "{text}");
        }
        assert!(!is_plain_config(b"[user]\nname = \xff"));
    }
}
