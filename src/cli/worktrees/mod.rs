//! Worktrees: checkouts of a repository, each on a branch of its own, in a folder beside tau's.
//!
//! A record in tau's data folder, which the tools of a session cannot change, says where a worktree came from. Nothing
//! is thrown away: what a removed worktree had stays in the repository ([`keep`]).

pub(crate) mod copies;
pub(crate) mod git;
pub(crate) mod keep;
pub(crate) mod patch;
pub(crate) mod session;
pub(crate) mod snapshot;

use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use git::{Git, Repository};
use tau_agent::session::is_session_id;
use tau_agent::settings::Paths;
use tau_agent::settings::private_files::{LockFile, read_capped, write_private};
use tau_tools::paths::identity;
use tau_tools::user_error::UserError;

/// Maximum length of a name.
const MAX_NAME: usize = 64;
/// Maximum size of a record, in bytes.
const MAX_RECORD: u64 = 64 * 1024;
/// The reason with which git locks a worktree while it makes it.
const INITIALIZING: &str = "initializing";
/// The lock of the worktrees of a repository, held while one is made.
const LOCK: &str = "making.lock";
/// The commit from which the default branch of the repository is meant.
const DEFAULT: &str = "default";

/// A worktree of tau.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Worktree {
    pub name: String,
    #[serde(with = "tau_tools::path_text")]
    pub path: PathBuf,
    /// The working tree that it was made from, to which it is merged back.
    #[serde(with = "tau_tools::path_text")]
    pub from: PathBuf,
    /// The git folder of the repository.
    #[serde(with = "tau_tools::path_text")]
    repository: PathBuf,
    /// Whether it is the copy of an attempt, which lists leave out.
    #[serde(default)]
    attempt: bool,
}

/// A worktree that was made or found.
pub(crate) struct EnteredWorktree {
    pub worktree: Worktree,
    /// The remarks for the user.
    pub notes: Vec<String>,
}

impl Worktree {
    /// The branch of its own.
    pub fn branch(&self) -> String {
        format!("tau/{}", self.name)
    }

    /// Whether its folder is there.
    pub fn exists(&self) -> bool {
        self.path.join(".git").symlink_metadata().is_ok()
    }

    /// The sentence about one without its folder.
    pub fn missing_folder(&self) -> String {
        format!("its folder is missing; the branch {} stays", self.branch())
    }

    /// Git's own folder for it, if git has it in its list.
    fn git_folder(&self) -> Option<PathBuf> {
        let folders = std::fs::read_dir(self.repository.join("worktrees")).into_iter().flatten().flatten();
        let git = identity(&self.path.join(".git"));
        let names_it = |folder: &PathBuf| {
            let text = read_capped(&folder.join("gitdir"), MAX_RECORD).unwrap_or_default();
            identity(&folder.join(OsStr::from_bytes(text.trim_ascii_end()))) == git
        };
        folders.map(|entry| entry.path()).find(names_it)
    }

    /// The reason for which it is locked: empty if none is given.
    fn lock(&self) -> Option<String> {
        let text = read_capped(&self.git_folder()?.join("locked"), MAX_RECORD).ok()?;
        Some(String::from_utf8_lossy(&text).trim().to_owned())
    }

    /// Whether git was stopped while it made it.
    fn is_unfinished(&self) -> bool {
        let has_index = |folder: PathBuf| folder.join("index").symlink_metadata().is_ok();
        self.lock().is_some_and(|why| why == INITIALIZING)
            || self.git_folder().is_some_and(|folder| !has_index(folder))
    }

    /// Whether its repository was replaced by another one at the same path, as by a new clone: git knows nothing of the
    /// folder.
    fn is_orphan(&self) -> bool {
        self.exists() && self.git_folder().is_none() && Repository::around(&self.path).is_err()
    }

    /// Refuses a folder that git would take for another repository than the one that it was made from, or in which
    /// git would run programs.
    fn check(&self) -> Result<(), UserError> {
        if self.is_unfinished() {
            let name = &self.name;
            return Err(UserError::new(format!("{name} is not checked out completely"))
                .remedy(format!("`tau worktree add {name}` makes it again")));
        }
        if self.is_orphan() {
            let (name, repository) = (&self.name, self.repository.display());
            return Err(UserError::new(format!(
                "the repository of the worktree {name} is gone: {repository} is another one, as after a new clone"
            ))
            .remedy(format!("`tau worktree remove {name}` takes it off the list and keeps its files")));
        }
        let found = Repository::around(&self.path)?;
        if found.common != self.repository || found.top != self.path.canonicalize().unwrap_or_default() {
            let (path, other) = (self.path.display(), found.common.display());
            return Err(format!("{path} belongs to another repository now: {other}").into());
        }
        git::check_safe(&self.path)
    }
}

fn record_file(paths: &Paths, repository: &Repository, name: &str) -> PathBuf {
    paths.worktree_records_of(repository.folder()).join(format!("{name}.json"))
}

/// The record in a file; `None` if it is missing or damaged.
fn read(file: &Path) -> Option<Worktree> {
    let bytes = read_capped(file, MAX_RECORD).ok()?;
    serde_json::from_slice(&bytes).ok().filter(|worktree: &Worktree| is_name(&worktree.name))
}

fn is_name(name: &str) -> bool {
    is_session_id(name) && name.len() <= MAX_NAME && !name.contains("..") && !name.ends_with(".lock")
}

/// The name of a worktree of which none is known: short, and not used.
pub(crate) fn new_name() -> String {
    let id = tau_tools::ids::id().simple().to_string();
    id.get(id.len().saturating_sub(6)..).unwrap_or(&id).to_owned()
}

fn check_name(name: &str) -> Result<(), UserError> {
    let rules = "use letters, digits, `.`, `_` and `-`, with a letter or digit at both ends, and neither `..` \
                 nor `.lock` at the end";
    if is_name(name) { Ok(()) } else { Err(format!("{name:?} cannot name a worktree; {rules}").into()) }
}

/// Makes the worktree with this name, or finds it. It starts at the commit `start`, or at the one that is checked out
/// in `cwd`.
pub(crate) fn enter(
    paths: &Paths,
    cwd: &Path,
    name: &str,
    start: Option<&str>,
) -> Result<EnteredWorktree, UserError> {
    let cannot = |why: UserError| UserError::new("cannot make a worktree").because(why);
    check_name(name)?;
    let repository = Repository::around(cwd).map_err(cannot)?;
    adopt_moved(paths, &repository);
    let file = record_file(paths, &repository, name);
    // Of two who make the same one, the second enters what the first has made.
    let lock = lock(&file).map_err(cannot)?;
    let known = read(&file).filter(|known| known.repository == repository.common);
    if let Some(worktree) = known.clone().filter(|known| known.exists() && !known.is_unfinished()) {
        if start.is_some() {
            return Err(format!("there is a worktree {name} already; choose another name").into());
        }
        worktree.check()?;
        return Ok(EnteredWorktree { worktree, notes: Vec::new() });
    }
    git::check_safe(&repository.top).map_err(cannot)?;
    let commit = commit_of(&repository, start).map_err(cannot)?;
    let path = paths.worktrees_of(repository.folder()).join(name);
    let parent = path.parent().unwrap_or(&path);
    let made = DirBuilder::new().recursive(true).mode(0o700).create(parent);
    made.map_err(|error| format!("cannot make {}: {error}", parent.display()))?;
    // Git has the real path.
    let path = parent.canonicalize().unwrap_or_else(|_| parent.to_owned()).join(name);
    let from = match known {
        Some(known) => known.from,
        None => repository.top.clone(),
    };
    let worktree =
        Worktree { name: name.to_owned(), path, from, repository: repository.common.clone(), attempt: false };
    // The record comes first: of a worktree that was not finished, git knows.
    let record = serde_json::to_vec(&worktree).map_err(|error| error.to_string());
    let written = record.and_then(|record| write_private(&file, &record).map_err(|error| error.to_string()));
    written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    if worktree.is_unfinished() {
        remove_tree(&Git::within(&repository.top), &worktree.path).map_err(cannot)?;
    }
    if let Err(why) = check_out(&repository, &worktree, &commit, &lock) {
        if worktree.path.symlink_metadata().is_err() {
            let _ = std::fs::remove_file(&file);
        }
        return Err(cannot(UserError::new(why)));
    }
    let notes = copies::copy_into_worktree(&repository.top, &worktree.path, cwd);
    Ok(EnteredWorktree { worktree, notes })
}

/// Like [`enter`], to work there; returns the folder that corresponds to `cwd`, too.
pub(crate) fn enter_to_work(
    paths: &Paths,
    cwd: &Path,
    name: &str,
) -> Result<(EnteredWorktree, PathBuf), UserError> {
    let place = Repository::around(cwd).ok().and_then(|repository| {
        let below = cwd.canonicalize().ok()?.strip_prefix(&repository.top).ok()?.to_owned();
        Some((repository, below))
    });
    if let Some((repository, below)) = place.as_ref().filter(|_| is_name(name)) {
        let known = read(&record_file(paths, repository, name));
        if !known.is_some_and(|known| folder_below(&known.path, below).is_dir()) {
            refuse_ignored(&repository.top, below)?;
        }
    }
    let entered = enter(paths, cwd, name, None)?;
    let path = &entered.worktree.path;
    let folder = match &place {
        Some((repository, below)) => make_folder(&repository.top, path, below)?,
        None => path.clone(),
    };
    Ok((entered, folder))
}

/// Refuses a folder of which a copy of this working tree has nothing, as git ignores it.
pub(crate) fn refuse_ignored(top: &Path, below: &Path) -> Result<(), UserError> {
    let git = Git::within(top);
    let of_folder = |words: &[&str]| {
        let words = words.iter().map(OsStr::new).chain([OsStr::new("--"), below.as_os_str()]);
        git.bytes(&words.collect::<Vec<_>>())
    };
    let is_ignored = !below.as_os_str().is_empty() && of_folder(&["check-ignore", "--quiet"]).is_ok();
    let has_files = || of_folder(&["ls-files"]).is_ok_and(|files| !files.is_empty());
    let has_copies =
        || copies::listed_files(top).is_ok_and(|files| files.iter().any(|file| file.starts_with(below)));
    if !is_ignored || has_files() || has_copies() {
        return Ok(());
    }
    let why = format!("git ignores {}, so a copy of the repository does not have it", below.display());
    let remedy = format!("list its files in {}, or start in another folder", copies::INCLUDE);
    Err(UserError::new(why).remedy(remedy))
}

/// The folder in a copy of a working tree that is `below` the top. It is made if it is missing, as one is that has
/// no files yet.
pub(crate) fn make_folder(top: &Path, copy: &Path, below: &Path) -> Result<PathBuf, UserError> {
    let folder = folder_below(copy, below);
    if !folder.is_dir() {
        copies::make_folders(top, copy, below).map_err(|error| UserError::of_file(&folder, error))?;
    }
    Ok(folder)
}

/// Waits until nobody makes a worktree of the repository of this record.
fn lock(record: &Path) -> Result<LockFile, UserError> {
    let lock = record.with_file_name(LOCK);
    LockFile::take(&lock).map_err(|error| UserError::of_file(&lock, error))
}

/// The commit that is meant by a text of the user.
fn commit_of(repository: &Repository, start: Option<&str>) -> Result<String, UserError> {
    let git = Git::within(&repository.top);
    let commit = |name: &str| {
        let name = format!("{name}^{{commit}}");
        git.text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name]).ok()
    };
    match start {
        None => {
            commit("HEAD").ok_or_else(|| "the repository has no commit yet; commit something first".into())
        }
        Some(DEFAULT) => ["refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"]
            .into_iter()
            .find_map(commit)
            .ok_or_else(|| "the repository has no default branch; name a branch".to_owned().into()),
        Some(name) => commit(name).ok_or_else(|| format!("there is no commit {name:?}").into()),
    }
}

fn check_out(
    repository: &Repository,
    worktree: &Worktree,
    commit: &str,
    lock: &LockFile,
) -> Result<(), UserError> {
    let git = Git::within(&repository.top).holding(lock);
    let branch = worktree.branch();
    let exists = git.succeeds(&["show-ref", "--verify", "--quiet", &format!("refs/heads/{branch}")]);
    let mut arguments: Vec<&OsStr> = ["worktree", "add", "--quiet"].map(OsStr::new).to_vec();
    if git.path(&["rev-parse", "--git-common-dir"]).is_ok() && is_registered(&git, worktree) {
        // Its folder was removed, and git still has it in its list.
        arguments.push(OsStr::new("--force"));
    }
    if !exists {
        arguments.extend(["--no-track", "-b", &branch].map(OsStr::new));
    }
    arguments.extend([OsStr::new("--"), worktree.path.as_os_str()]);
    arguments.push(OsStr::new(if exists { branch.as_str() } else { commit }));
    git.bytes(&arguments).map(drop)
}

/// Removes a working tree with all it has, also one that git was stopped while making, or that has lost its `.git`.
pub(crate) fn remove_tree(git: &Git<'_>, path: &Path) -> Result<(), UserError> {
    let remove = ["worktree", "remove", "--force", "--force", "--"].map(OsStr::new);
    let remove = || git.bytes(&remove.into_iter().chain([path.as_os_str()]).collect::<Vec<_>>());
    if remove().is_err() && path.symlink_metadata().is_ok() {
        std::fs::remove_dir_all(path).map_err(|error| UserError::of_file(path, error))?;
        // Git may not have it in its list.
        let _ = remove();
    }
    Ok(())
}

/// Whether git has a worktree at this path in its list.
fn is_registered(git: &Git<'_>, worktree: &Worktree) -> bool {
    let line = [b"worktree ".as_slice(), worktree.path.as_os_str().as_bytes()].concat();
    let names = git.names(&["worktree", "list", "--porcelain", "-z"]).unwrap_or_default();
    names.iter().any(|name| name.as_bytes() == line)
}

/// Takes over the records of a repository that was moved here: those of a repository that is gone, whose worktrees
/// git has in its list, and which lead back here.
fn adopt_moved(paths: &Paths, repository: &Repository) {
    let git = Git::within(&repository.top);
    for (old, worktree) in recorded_worktrees(paths) {
        let is_moved = !worktree.attempt
            && !worktree.repository.exists()
            && is_registered(&git, &worktree)
            && Repository::around(&worktree.path).is_ok_and(|found| found.common == repository.common);
        let file = record_file(paths, repository, &worktree.name);
        if !is_moved || file.exists() {
            continue;
        }
        let before = Repository { top: PathBuf::new(), common: worktree.repository };
        let below = worktree.from.strip_prefix(before.folder());
        let from = below.map_or(worktree.from.clone(), |below| folder_below(repository.folder(), below));
        let record = Worktree { from, repository: repository.common.clone(), ..worktree };
        let written = serde_json::to_vec(&record).map_err(std::io::Error::from);
        match written.and_then(|record| write_private(&file, &record)) {
            Ok(()) => drop(std::fs::remove_file(&old)),
            Err(error) => tracing::warn!(%error, "the record of a worktree could not be moved"),
        }
    }
}

/// The worktrees of the repository around a directory, by name.
pub(crate) fn all(paths: &Paths, cwd: &Path) -> Result<Vec<Worktree>, UserError> {
    let repository = Repository::around(cwd)?;
    adopt_moved(paths, &repository);
    let folder = paths.worktree_records_of(repository.folder());
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut all: Vec<Worktree> = files.filter_map(|file| read(&file)).collect();
    all.retain(|worktree| worktree.repository == repository.common && !worktree.attempt);
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

/// The worktree of this name in the repository around a directory.
pub(crate) fn find_by_name(paths: &Paths, cwd: &Path, name: &str) -> Result<Worktree, UserError> {
    let all = all(paths, cwd)?;
    let known: Vec<&str> = all.iter().map(|worktree| worktree.name.as_str()).collect();
    let missing = match known.as_slice() {
        [] => "this repository has no worktrees of tau; `tau -w` makes one".to_owned(),
        known => format!("there is no worktree {name:?}, but {}", known.join(", ")),
    };
    all.into_iter().find(|worktree| worktree.name == name).ok_or(missing.into())
}

/// Records the copy of an attempt, so that trust in the directory that it is a copy of counts there.
pub(crate) fn record_attempt(
    paths: &Paths,
    folder: &Path,
    path: &Path,
    from: &Path,
) -> Result<(), UserError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let file = paths.worktree_records_of(folder).join(format!("{name}.json"));
    let (path, from) = (path.to_owned(), from.to_owned());
    let worktree = Worktree { name, path, from, repository: PathBuf::new(), attempt: true };
    let record = serde_json::to_vec(&worktree).map_err(|error| error.to_string())?;
    write_private(&file, &record).map_err(|error| format!("cannot write {}: {error}", file.display()).into())
}

/// Removes that record, wherever the repository was at the time.
pub(crate) fn forget_attempt(paths: &Paths, path: &Path) {
    let records = recorded_worktrees(paths).filter(|(_, known)| known.attempt && known.path == path);
    // What it names is gone.
    records.for_each(|(file, _)| drop(std::fs::remove_file(file)));
}

/// The worktree that contains a directory, if tau made it. Only tau's records decide.
pub(crate) fn around(paths: &Paths, directory: &Path) -> Option<Worktree> {
    tau_protocol::worktree::of(directory)?;
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let mut worktrees = recorded_worktrees(paths).map(|(_, worktree)| worktree);
    worktrees.find(|worktree| directory.starts_with(&worktree.path))
}

/// The worktrees of all repositories, with the files of their records.
fn recorded_worktrees(paths: &Paths) -> impl Iterator<Item = (PathBuf, Worktree)> {
    let folders = std::fs::read_dir(paths.worktree_records()).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
    files.filter_map(|file| Some((file.path(), read(&file.path())?)))
}

/// Removes the folders of all worktrees from the lists of their repositories, with what is in them. Their branches stay.
pub(crate) fn forget_all(paths: &Paths) {
    let Ok(folder) = paths.worktrees().canonicalize() else { return };
    let all = recorded_worktrees(paths).map(|(_, worktree)| worktree);
    for worktree in all.filter(|worktree| worktree.path.starts_with(&folder)) {
        // A repository that is gone needs nothing.
        let _ = worktree.forget_folder(&worktree.from);
    }
}

/// A folder in another one. Joining an empty path would end the folder in a slash, which makes it another directory for
/// lists of sessions.
pub(crate) fn folder_below(folder: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { folder.to_owned() } else { folder.join(below) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_folders_and_branches() {
        for name in ["fix", "a.b", "a_b-c", "1"] {
            assert!(is_name(name), "{name}");
        }
        let long = "a".repeat(65);
        for name in
            ["", "-f", "a/b", "..", "a..b", "x.lock", "a b", "a\u{1b}", "a\n", "@{-1}", "\u{e9}", &long]
        {
            assert!(!is_name(name), "{name:?}");
        }
        assert!(is_name(&new_name()));
    }
}
