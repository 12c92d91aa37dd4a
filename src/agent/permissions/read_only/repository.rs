//! Checks the repository that git finds from a folder for settings that run programs.
//!
//! Git obeys the settings of the repository it finds: programs that watch files, show changes or convert
//! contents. So it is judged by the repository: found like git finds it, including its settings and those of
//! its submodules.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::git_config::{Setting, settings};
use crate::permissions::links;
use crate::permissions::path_pattern::normalise;
use parking_lot::Mutex;
use tau_tools::git_index::{self, IndexEntry};
use tau_tools::regular_files::read_capped;
use tau_tools::user_error::UserError;

/// The size limit of a settings file, and of the small files beside it, in bytes.
const MAX_CONFIG: u64 = 256 * 1024;
/// The size limit of an index, in bytes: about a million files.
const MAX_INDEX: u64 = 128 * 1024 * 1024;
/// The maximum number of submodules that are checked.
const MAX_SUBMODULES: usize = 64;
/// The minimum age of an index version before it is cached.
const MIN_AGE: Duration = Duration::from_secs(1);
/// The maximum number of cached indexes.
const MAX_REMEMBERED: usize = 16;

/// The way in which git is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GitRun {
    /// By a command.
    Plain,
    /// By tau itself, with a hardened environment ([`tau_tools::process::git`]), and without looking into submodules.
    Hardened,
}

impl GitRun {
    fn objects_to(self, setting: &Setting) -> bool {
        match self {
            GitRun::Plain => setting.may_run(),
            GitRun::Hardened => setting.may_run_when_hardened(),
        }
    }
}

/// The reason git may run something in this folder.
pub(super) fn objection(directory: &Path, home: Option<&Path>) -> Option<String> {
    objection_to(directory, home, GitRun::Plain)
}

/// The reason git may run something in this folder although its environment is hardened: a filter, a merge driver.
/// It must not look into submodules.
pub(in crate::permissions) fn objection_when_hardened(
    directory: &Path,
    home: Option<&Path>,
) -> Option<String> {
    objection_to(directory, home, GitRun::Hardened)
}

fn objection_to(directory: &Path, home: Option<&Path>, run: GitRun) -> Option<String> {
    // `cd` follows names, everything else follows links.
    let starts = [links::canonical(directory), links::canonical(&normalise(directory))];
    let mut left = MAX_SUBMODULES;
    let mut seen: Option<PathBuf> = None;
    for start in starts.into_iter().flatten() {
        if seen.as_ref() == Some(&start) {
            continue;
        }
        if let Some(why) = objection_at_or_above(&start, &mut left, run) {
            return Some(why);
        }
        seen = Some(start);
    }
    if let Some(why) =
        std::env::var_os("GIT_DIR").and_then(|dir| of_repository(&directory.join(dir), None, &mut left, run))
    {
        return Some(why);
    }
    let home = home?;
    [home.join(".gitconfig"), home.join(".config/git/config")].iter().find_map(|path| {
        let found = read_settings(path)?;
        let setting =
            found.ok()?.into_iter().find(|setting| run.objects_to(setting) && setting.is_relative())?;
        Some(format!("git runs what {setting} in {} names", path.display()))
    })
}

/// The objection to the repository that git finds from here upwards.
fn objection_at_or_above(start: &Path, left: &mut usize, run: GitRun) -> Option<String> {
    for folder in start.ancestors() {
        let git = folder.join(".git");
        if let Some(found) = git_folder(&git) {
            return match found {
                Ok(found) => of_repository(&found, Some(folder), left, run),
                Err(why) => Some(why.into()),
            };
        }
        let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
        if has("HEAD") && (has("objects") || has("refs") || has("commondir") || has("config")) {
            return Some(format!("{} looks like a repository without a work tree", folder.display()));
        }
    }
    None
}

/// The repository folder that `.git` is or names; `None` if git searches further up.
fn git_folder(git: &Path) -> Option<Result<PathBuf, UserError>> {
    links::repository(git, || find_git_folder(git))
}

fn find_git_folder(git: &Path) -> Option<Result<PathBuf, UserError>> {
    let facts = git.metadata().ok()?;
    if facts.is_dir() {
        return is_git_folder(git).then(|| Ok(git.to_owned()));
    }
    let unknown = || Err(UserError::new(format!("it is not known where {} leads", git.display())));
    let Some(text) = read_small(git) else { return Some(unknown()) };
    let target =
        text.strip_prefix("gitdir:").map(|path| path.trim_start_matches(' ').trim_end_matches(['\n', '\r']));
    let Some(target) = target.filter(|target| !target.is_empty()) else {
        return Some(unknown());
    };
    Some(Ok(git.parent().unwrap_or(git).join(target)))
}

/// Whether git recognizes a folder as a repository: otherwise it continues its search.
fn is_git_folder(git: &Path) -> bool {
    let head = read_small(&git.join("HEAD")).is_some_and(|head| {
        let reference = head.strip_prefix("ref:").map(str::trim_start);
        let digits = head.bytes().take_while(u8::is_ascii_hexdigit).count();
        reference.is_some_and(|name| name.starts_with("refs/")) || digits >= 40
    });
    let has = |common: &Path| common.join("objects").is_dir() && common.join("refs").is_dir();
    head && has(&common_folder(git))
}

/// The location of a repository's settings: those of the main work tree if it is a linked one.
fn common_folder(git: &Path) -> PathBuf {
    let common = read_small(&git.join("commondir"));
    common.map_or_else(|| git.to_owned(), |common| git.join(common.trim_end_matches(['\n', '\r'])))
}

/// The objection to the settings and hooks of a repository, and of its submodules.
fn of_repository(git: &Path, work_tree: Option<&Path>, left: &mut usize, run: GitRun) -> Option<String> {
    let common = common_folder(git);
    for path in [common.join("config"), common.join("config.worktree"), git.join("config.worktree")] {
        let found = match read_settings(&path) {
            None => continue,
            Some(Err(())) => return Some(format!("{} cannot be read", path.display())),
            Some(Ok(found)) => found,
        };
        if let Some(setting) = found.iter().find(|setting| run.objects_to(setting)) {
            return Some(format!("git may run what {setting} in {} names", path.display()));
        }
    }
    let hook = common.join("hooks/post-index-change");
    // A hardened git runs no hooks.
    if run == GitRun::Plain && hook.symlink_metadata().is_ok() {
        return Some(format!("git runs {}", hook.display()));
    }
    let work_tree = work_tree.filter(|_| run == GitRun::Plain)?;
    let links = in_index(&git.join("index"), "submodules", |entry, _| entry.is_gitlink());
    let Some(links) = links else {
        return Some(format!("{} cannot be read", git.join("index").display()));
    };
    for link in links {
        let folder = work_tree.join(link);
        let Some(found) = git_folder(&folder.join(".git")) else { continue };
        *left = left.saturating_sub(1);
        let why = match found {
            _ if *left == 0 => Some("there are too many submodules to look at".to_owned()),
            Ok(found) => of_repository(&found, Some(&folder), left, run),
            Err(why) => Some(why.into()),
        };
        if why.is_some() {
            return why;
        }
    }
    None
}

/// The settings in a file; `None` if it is missing.
fn read_settings(path: &Path) -> Option<Result<Vec<Setting>, ()>> {
    path.symlink_metadata().ok()?;
    Some(read_small(path).and_then(|text| settings(&text)).ok_or(()))
}

/// The text of a small regular file.
pub(super) fn read_small(path: &Path) -> Option<String> {
    Some(String::from_utf8_lossy(&read_capped(path, MAX_CONFIG).ok()?).into_owned())
}

/// The identity of an index version: size, inode, modification and change times.
type IndexVersion = (u64, u64, Option<SystemTime>, (i64, i64));

/// A version of an index, and the results of searches in it.
struct CachedSearch {
    path: PathBuf,
    version: IndexVersion,
    sought: String,
    found: Vec<PathBuf>,
}

static REMEMBERED: Mutex<Vec<CachedSearch>> = Mutex::new(Vec::new());

/// The paths in an index that satisfy `is_sought`, relative to the work tree; empty if there is no index,
/// `None` if unknown. The result is cached under the name `sought` until the index changes.
fn in_index(
    index: &Path,
    sought: &str,
    mut is_sought: impl FnMut(&IndexEntry<'_>, &Path) -> bool,
) -> Option<Vec<PathBuf>> {
    let Ok(facts) = index.metadata() else { return Some(Vec::new()) };
    let modified = facts.modified().ok();
    let version = (facts.len(), facts.ino(), modified, (facts.ctime(), facts.ctime_nsec()));
    let mut remembered = REMEMBERED.lock();
    let is_known = |known: &CachedSearch| known.path == index && known.sought == sought;
    if let Some(known) = remembered.iter().find(|known| is_known(known) && known.version == version) {
        return Some(known.found.clone());
    }
    let bytes = read_capped(index, MAX_INDEX).ok()?;
    // Object names have 20 bytes, or 32.
    let mut found = Vec::new();
    let end = [20, 32].iter().find_map(|object| {
        found.clear();
        git_index::read(&bytes, *object, |entry| {
            let path = Path::new(OsStr::from_bytes(entry.path));
            if is_sought(&entry, path) {
                found.push(path.to_owned());
            }
        })
    })?;
    if end.shared.is_some() {
        // More entries are in another file.
        return None;
    }
    remembered.retain(|known| !is_known(known));
    // It may change again before the clock of the file system advances.
    if modified.and_then(|time| time.elapsed().ok()).is_none_or(|age| age < MIN_AGE) {
        return Some(found);
    }
    if remembered.len() >= MAX_REMEMBERED {
        remembered.remove(0);
    }
    let sought = sought.to_owned();
    remembered.push(CachedSearch { path: index.to_owned(), version, sought, found: found.clone() });
    Some(found)
}

/// The first tracked file that satisfies `is_sought`, in the repository that git finds from a folder;
/// `sought` is a name for the search. Fails when the tracked files are unknown.
pub(in crate::permissions) fn find_tracked_file(
    start: &Path,
    sought: &str,
    is_sought: impl Fn(&Path) -> bool,
) -> Result<Option<PathBuf>, NotKnown> {
    for folder in start.ancestors() {
        let Some(git) = git_folder(&folder.join(".git")) else { continue };
        let index = git.map_err(|_| NotKnown)?.join("index");
        // Different folders may be the work tree of the same index.
        let sought = format!("{}\n{sought}", folder.display());
        let found = in_index(&index, &sought, |entry, path| entry.is_file() && is_sought(&folder.join(path)));
        return found.ok_or(NotKnown).map(|found| found.first().map(|path| folder.join(path)));
    }
    Ok(None)
}

/// The tracked files of a repository are unknown.
#[derive(Debug)]
pub(in crate::permissions) struct NotKnown;
