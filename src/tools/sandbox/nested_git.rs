//! Nested repositories: the ones that an index names, and what they would make git run.
//!
//! `git status` enters every submodule that the index names and obeys its configuration there. Folders that
//! a command has turned into submodules are therefore checked.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::hashes::hexadecimal;
use crate::regular_files::read_capped;
use crate::{git_index, paths};
use parking_lot::Mutex;

/// The largest index that is read, in bytes.
const MAX_INDEX: u64 = 512 * 1024 * 1024;
/// The largest configuration file that is read, in bytes.
const MAX_CONFIG: u64 = 256 * 1024;
/// The maximum depth of nested submodules.
const MAX_DEPTH: usize = 5;
/// Repository settings that make git run nothing, read nothing elsewhere and convert nothing. `*` means
/// everything in the section.
const PLAIN: [(&str, &[&str]); 7] = [
    (
        "core",
        &[
            "bare",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "precomposeunicode",
            "repositoryformatversion",
            "symlinks",
        ],
    ),
    ("extensions", &["objectformat"]),
    ("remote", &["fetch", "url"]),
    ("branch", &["merge", "rebase", "remote"]),
    ("user", &["*"]),
    ("advice", &["*"]),
    ("init", &["*"]),
];
/// Files that a plain repository does not have in its folder.
const NOT_PLAIN: [&str; 4] = ["commondir", "config.worktree", "info/attributes", "modules"];

/// The submodules that an index names, as paths relative to the top of the working tree.
pub(super) type GitLinks = Arc<BTreeSet<PathBuf>>;

/// The metadata that distinguishes versions of a file.
type Version = (u64, u64, i64, i64, i64, i64);

/// The submodules that the index of the repository in `dir` names.
pub(super) fn git_links(dir: &Path) -> GitLinks {
    static KNOWN: Mutex<Option<HashMap<PathBuf, (Version, GitLinks)>>> = Mutex::new(None);

    let path = dir.join("index");
    let Ok(metadata) = path.metadata() else { return GitLinks::default() };
    let version = (
        metadata.ino(),
        metadata.len(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    );
    let mut known = KNOWN.lock();
    let known = known.get_or_insert_default();
    if let Some((_, links)) = known.get(&path).filter(|(of, _)| *of == version) {
        return Arc::clone(links);
    }
    let links: GitLinks = read_links(dir, &path).into();
    known.insert(path, (version, Arc::clone(&links)));
    links
}

fn read_links(dir: &Path, path: &Path) -> BTreeSet<PathBuf> {
    // An additional working tree has the configuration of its repository.
    let own = dir.join("config");
    let config = if dir.join("commondir").exists() { dir.join("../../config") } else { own };
    let config = read(&config, MAX_CONFIG).unwrap_or_default();
    let long = String::from_utf8_lossy(&config).to_lowercase().contains("sha256");
    let object = if long { 32 } else { 20 };
    let mut links = BTreeSet::new();
    let mut take = |bytes: &[u8]| {
        let end = git_index::read(bytes, object, |entry| {
            if entry.is_gitlink() {
                links.insert(PathBuf::from(OsStr::from_bytes(entry.path)));
            }
        });
        end.and_then(|end| end.shared.map(<[u8]>::to_vec))
    };
    let shared = read(path, MAX_INDEX).and_then(|bytes| take(&bytes));
    let name = shared.map(|shared| format!("sharedindex.{}", hexadecimal(shared)));
    if let Some(bytes) = name.and_then(|name| read(&dir.join(name), MAX_INDEX)) {
        take(&bytes);
    }
    links
}

/// True if the contents of the folder `top` make git run nothing: it is no repository, or one as created by
/// `git init` and `git clone`. `modules` is where the repositories of submodules may be kept.
pub(super) fn is_plain(top: &Path, modules: &Path, depth: usize) -> bool {
    let git = top.join(".git");
    let Ok(metadata) = git.symlink_metadata() else { return true };
    if metadata.is_file() {
        let text = String::from_utf8(read(&git, MAX_CONFIG).unwrap_or_default()).unwrap_or_default();
        let Some(dir) = text.strip_prefix("gitdir:") else { return false };
        return paths::identity(&top.join(dir.trim())).starts_with(modules);
    }
    metadata.is_dir() && depth < MAX_DEPTH && is_plain_folder(&git) && {
        let inner = git_links(&git);
        inner.iter().all(|link| is_plain(&top.join(link), modules, depth + 1))
    }
}

fn is_plain_folder(git: &Path) -> bool {
    let has = |name: &str| git.join(name).symlink_metadata().is_ok();
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
    no_hooks && plain_config && !NOT_PLAIN.iter().any(|name| has(name))
}

/// True if a configuration file has only plain settings. Anything not understood is not plain.
fn is_plain_config(text: &[u8]) -> bool {
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
        let allowed = PLAIN.iter().find(|(name, _)| *name == section).map(|(_, keys)| *keys);
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
