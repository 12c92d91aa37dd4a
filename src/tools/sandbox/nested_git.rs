//! Nested repositories: the ones that an index names, and what they would make git run.
//!
//! `git status` enters every submodule that the index names and obeys its configuration there. An index names what a
//! checkout, a merge or a reset puts there, from any commit. Every repository that a command has made or changed in the
//! working tree of another one is therefore checked.

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
use crate::hashes::{FNV_START, fnv1a};
use crate::process::{ChildEnv, git};
use crate::regular_files::read_capped;
use crate::{git_index, paths};
use parking_lot::Mutex;

/// The largest index that is read, in bytes.
const MAX_INDEX: u64 = 512 * 1024 * 1024;
/// The largest configuration file that is read, in bytes.
pub(super) const MAX_CONFIG: u64 = 256 * 1024;
/// The maximum time for git to read or change an index.
pub(super) const LONGEST: Duration = Duration::from_secs(10);
/// The maximum depth of nested submodules.
const MAX_DEPTH: usize = 5;
/// Repository settings that make git run nothing, read nothing elsewhere and convert nothing. `*` means
/// everything in the section.
const PLAIN: [(&str, &[&str]); 13] = [
    (
        "core",
        crate::words!(
            "bare filemode ignorecase logallrefupdates precomposeunicode repositoryformatversion \
             symlinks"
        ),
    ),
    ("extensions", &["objectformat"]),
    ("remote", crate::words!("fetch mirror prune pushurl tagopt url")),
    ("branch", crate::words!("description merge pushremote rebase remote")),
    ("user", &["*"]),
    ("advice", &["*"]),
    ("init", &["*"]),
    ("color", &["*"]),
    ("submodule", crate::words!("active branch url")),
    ("lfs", crate::words!("access locksverify repositoryformatversion")),
    ("pull", crate::words!("ff rebase")),
    ("push", crate::words!("autosetupremote default followtags")),
    ("fetch", crate::words!("prune prunetags")),
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

/// The repository of a folder that is the top of a working tree.
#[derive(Debug)]
pub(super) struct NestedGit {
    /// The device and inode numbers of its `.git` and of the repository it points to. A move keeps them.
    numbers: Vec<(u64, u64)>,
    /// Settings, hooks and other files that may make git run something, as texts.
    doubts: BTreeSet<String>,
}

impl NestedGit {
    /// Looks at the repository of a folder, if there is one. `watched` are the repositories around it, which are looked
    /// at themselves, and the protected folders of their submodules.
    pub(super) fn find(top: &Path, watched: &[PathBuf]) -> Option<Self> {
        let git = top.join(".git");
        let found = git.symlink_metadata().ok()?;
        let number = (found.dev(), found.ino());
        let of_file = |doubts: String| NestedGit { numbers: vec![number], doubts: BTreeSet::from([doubts]) };
        if found.is_dir() {
            return Some(NestedGit { numbers: vec![number], doubts: doubts_of(&git, 0) });
        }
        if !found.is_file() {
            return Some(of_file(format!("link {:?}", std::fs::read_link(&git).ok())));
        }
        let text = read(&git, MAX_CONFIG).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let Some(dir) = target_of(&text).map(|dir| common_folder(&paths::identity(&top.join(dir)))) else {
            return Some(of_file(text.into_owned()));
        };
        let is_in =
            |folder: &PathBuf| dir == *folder || folder.ends_with("modules") && dir.starts_with(folder);
        let doubts = if watched.iter().any(is_in) { BTreeSet::new() } else { doubts_of(&dir, 0) };
        let of_target = dir.metadata().map(|found| (found.dev(), found.ino()));
        Some(NestedGit { numbers: [number].into_iter().chain(of_target).collect(), doubts })
    }
}

impl NestedGit {
    /// Looks at a folder that is a repository itself.
    pub(super) fn of_folder(dir: &Path) -> Option<Self> {
        let found = dir.symlink_metadata().ok()?;
        Some(NestedGit { numbers: vec![(found.dev(), found.ino())], doubts: doubts_of(dir, 0) })
    }
}

/// The doubts about repositories, by the numbers of these.
#[derive(Debug, Default)]
pub(super) struct KnownDoubts(HashMap<(u64, u64), BTreeSet<String>>);

impl FromIterator<NestedGit> for KnownDoubts {
    fn from_iter<T: IntoIterator<Item = NestedGit>>(all: T) -> Self {
        let mut known: HashMap<_, BTreeSet<String>> = HashMap::new();
        for nested in all {
            for number in nested.numbers {
                known.entry(number).or_default().extend(nested.doubts.iter().cloned());
            }
        }
        KnownDoubts(known)
    }
}

impl KnownDoubts {
    /// Whether git may run something in a repository that it did not before.
    pub(super) fn is_new(&self, nested: &NestedGit) -> bool {
        let is_known =
            |number: &(u64, u64)| self.0.get(number).is_some_and(|known| nested.doubts.is_subset(known));
        !nested.doubts.is_empty() && !nested.numbers.iter().any(is_known)
    }
}

/// The repository that an additional working tree with this folder belongs to.
fn common_folder(dir: &Path) -> PathBuf {
    let is_additional = dir.parent().is_some_and(|parent| parent.ends_with("worktrees"));
    let named = is_additional.then(|| read(&dir.join("commondir"), MAX_CONFIG)).flatten();
    let of_tree =
        named.is_some_and(|named| named.trim_ascii() == b"../..") && !dir.join("config.worktree").exists();
    let common = dir.parent().and_then(Path::parent).filter(|_| of_tree);
    common.unwrap_or(dir).to_path_buf()
}

/// The doubts about a repository: everything in it but what `git init`, `git clone` and ordinary work create.
fn doubts_of(git: &Path, depth: usize) -> BTreeSet<String> {
    let name = |path: &Path| path.strip_prefix(git).unwrap_or(path).display().to_string();
    let with_content = |path: &Path| {
        let hash = read(path, MAX_CONFIG).map(|bytes| fnv1a(FNV_START, &bytes));
        format!("{} {hash:?}", name(path))
    };
    let (hooks, config) = (git.join("hooks"), git.join("config"));
    let in_hooks = std::fs::read_dir(&hooks).into_iter().flatten().flatten().map(|entry| entry.path());
    let in_hooks = in_hooks.filter(|path| path.extension().is_none_or(|end| end != "sample"));
    let others = unknown_entries(git, git).into_iter().filter(|path| !OF_PLAIN.contains(&&*name(path)));
    let mut doubts = BTreeSet::new();
    for path in in_hooks.chain(others) {
        match name(&path) == "modules" && depth < MAX_DEPTH {
            true => doubts.extend(doubts_of_modules(&path, depth)),
            false => drop(doubts.insert(with_content(&path))),
        }
    }
    if hooks.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
        doubts.insert(format!("hooks {:?}", std::fs::read_link(&hooks).ok()));
    }
    if let Ok(found) = config.symlink_metadata() {
        let text = read(&config, MAX_CONFIG).filter(|_| found.is_file());
        doubts.extend(text.map_or_else(|| vec!["config".to_owned()], |text| other_settings(&text, &PLAIN)));
    }
    // The repository of a submodule says where its files are.
    if git.ancestors().any(|above| above.ends_with(".git/modules")) {
        doubts.retain(|doubt| !doubt.starts_with("[core] worktree = ../"));
    }
    doubts
}

/// The doubts about the repositories of submodules, in a folder that has nothing else.
fn doubts_of_modules(folder: &Path, depth: usize) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let in_entry = |path: PathBuf| match path.is_dir() && depth < MAX_DEPTH {
        true if path.join("HEAD").exists() => doubts_of(&path, depth + 1),
        true => doubts_of_modules(&path, depth + 1),
        false => BTreeSet::from([path.display().to_string()]),
    };
    entries.flat_map(|entry| in_entry(entry.path())).collect()
}

/// True if a configuration file has only these settings, of sections. Anything not understood is another.
pub(super) fn has_only(text: &[u8], settings: &[(&str, &[&str])]) -> bool {
    other_settings(text, settings).is_empty()
}

/// The lines of a configuration file with other settings than these, with their sections.
fn other_settings(text: &[u8], settings: &[(&str, &[&str])]) -> Vec<String> {
    let Ok(text) = std::str::from_utf8(text) else { return vec![String::from_utf8_lossy(text).into_owned()] };
    let (mut header, mut section, mut others) = ("", String::new(), Vec::new());
    let mut continues = false;
    for line in text.lines().map(str::trim) {
        // Lines that continue on the next one are not followed.
        if std::mem::replace(&mut continues, line.ends_with('\\')) || line.ends_with('\\') {
            others.push(format!("{header} {line}"));
            continue;
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            // Nothing may follow on the same line: git would treat it as a setting.
            let name = rest.strip_suffix(']').filter(|name| !name.contains(']'));
            others.extend(name.is_none().then(|| line.to_owned()));
            header = line;
            section = rest.split([' ', '.', '"', ']']).next().unwrap_or_default().to_ascii_lowercase();
            continue;
        }
        let key = line.split(['=', ' ', '\t']).next().unwrap_or_default().to_ascii_lowercase();
        let allowed = settings.iter().find(|(name, _)| *name == section).map(|(_, keys)| *keys);
        let is_allowed = |keys: &[&str]| keys.iter().any(|allowed| *allowed == "*" || *allowed == key);
        if !allowed.is_some_and(is_allowed) {
            others.push(format!("{header} {line}"));
        }
    }
    others
}

/// The content of a regular file that is not too large; never blocks.
pub(super) fn read(path: &Path, limit: u64) -> Option<Vec<u8>> {
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
            assert!(has_only(text.as_bytes(), &PLAIN), "{text}");
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
            assert!(!has_only(text.as_bytes(), &PLAIN), "{text}");
        }
        assert!(!has_only(b"[user]\nname = \xff", &PLAIN));
    }
}
