//! The copies of a directory in which attempts run.

use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Attempt, Attempts, folder};
use crate::worktrees::git::{self, Git, Repository};
use crate::worktrees::{self, copies, new_name, snapshot};
use tau_agent::settings::Paths;
use tau_agent::settings::private_files::LockFile;
use tau_tools::counted::byte_size;
use tau_tools::user_error::UserError;

/// Maximum number of files of a directory without a repository.
const MAX_FILES: u64 = 100_000;
/// Maximum size of all files of a directory without a repository, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024 * 1024;

pub(super) struct NewAttempts {
    pub attempts: Attempts,
    /// Held while they are at work.
    pub lock: LockFile,
    /// Remarks for the user.
    pub notes: Vec<String>,
}

/// Makes the copies, and the record about them, for a check and a task. Fails when `stop` is set meanwhile; then nothing
/// of them is left.
pub(super) fn make(
    paths: &Paths,
    dir: &Path,
    count: u32,
    (check, task): (&str, &str),
    stop: &AtomicBool,
) -> Result<NewAttempts, UserError> {
    let cannot = |why: UserError| UserError::new(format!("cannot copy {}", dir.display())).because(why);
    let dir = dir.canonicalize().map_err(|error| cannot(UserError::of(error)))?;
    let id = new_name();
    let repository = match Repository::around(&dir) {
        Ok(repository) => Some(repository),
        Err(_) if !has_repository(&dir) => None,
        Err(why) => return Err(cannot(why)),
    };
    let private = repository.is_none();
    let (top, common) = match repository {
        Some(repository) => {
            git::check_safe(&repository.top).map_err(cannot)?;
            (repository.top.clone(), repository.common)
        }
        None => (dir.clone(), begin_repository(paths, &dir, &id).map_err(cannot)?),
    };
    let mut attempts = Attempts {
        id,
        dir,
        top,
        repository: common,
        private,
        base: String::new(),
        check: check.to_owned(),
        task: task.to_owned(),
        started: jiff::Timestamp::now().as_millisecond(),
        session: None,
        attempts: Vec::new(),
    };
    let begun = begin_work(paths, &attempts);
    match begun.and_then(|lock| Ok((lock, fill(paths, &mut attempts, count, stop)?))) {
        Ok((lock, notes)) => Ok(NewAttempts { attempts, lock, notes }),
        Err(why) => {
            // Nothing has run in them.
            let _ = super::take::sweep_own(paths, &attempts);
            Err(cannot(why))
        }
    }
}

fn has_repository(dir: &Path) -> bool {
    dir.ancestors().any(|dir| dir.join(".git").symlink_metadata().is_ok())
}

fn begin_work(paths: &Paths, attempts: &Attempts) -> Result<LockFile, UserError> {
    let folder = folder(paths);
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|error| UserError::of_file(&folder, error))?;
    attempts.try_lock(paths)?.ok_or_else(|| "their lock is held".into())
}

/// A private repository for a directory that has none.
fn begin_repository(paths: &Paths, dir: &Path, id: &str) -> Result<PathBuf, UserError> {
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    if home.is_some_and(|home| home.starts_with(dir)) {
        return Err("it is your home directory, or above it; start in the folder of a project".into());
    }
    check_size(dir)?;
    let folder = folder(paths);
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let repository = folder.join(format!("{id}.git"));
    let init = ["init", "--quiet", "--bare", "--template=", "--"].map(OsStr::new);
    let arguments: Vec<&OsStr> = init.into_iter().chain([repository.as_os_str()]).collect();
    Git::within(&folder).bytes(&arguments)?;
    Ok(repository)
}

/// Refuses a directory that is too large to be copied several times.
fn check_size(dir: &Path) -> Result<(), UserError> {
    let (mut files, mut bytes, mut folders) = (0_u64, 0_u64, vec![dir.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(found) = entry.path().symlink_metadata() else { continue };
            if found.is_dir() {
                folders.push(entry.path());
                continue;
            }
            (files, bytes) = (files + 1, bytes.saturating_add(found.len()));
            if files > MAX_FILES || bytes > MAX_BYTES {
                return Err(format!(
                    "it has more than {MAX_FILES} files or {}; make it a git repository that ignores what is not needed",
                    byte_size(MAX_BYTES)
                ).into());
            }
        }
    }
    Ok(())
}

fn fill(
    paths: &Paths,
    attempts: &mut Attempts,
    count: u32,
    stop: &AtomicBool,
) -> Result<Vec<String>, UserError> {
    let git = attempts.git();
    let head = git.text(&["rev-parse", "--verify", "--quiet", "HEAD"]).ok();
    if attempts.private {
        snapshot::refuse_pipes(&attempts.top)?;
    } else {
        snapshot::refuse_repositories(&attempts.top)?;
        worktrees::refuse_ignored(&attempts.top, attempts.below())?;
    }
    let files = snapshot::commit_files(git, head.as_deref(), "The files before the attempts")?;
    if attempts.private {
        snapshot::refuse_links(git, &files)?;
    }
    git.text(&["update-ref", &attempts.reference("base"), &files])?;
    attempts.base = files;
    let named = attempts.folder();
    let folder = paths.worktrees_of(&named);
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let folder = folder.canonicalize().map_err(|error| error.to_string())?;
    let mut notes = Vec::new();
    for number in 1..=count {
        if stop.load(Ordering::Relaxed) {
            return Err("it was stopped".into());
        }
        let path = folder.join(format!("attempt-{}-{number}", attempts.id));
        attempts.attempts.push(Attempt { number, path: path.clone(), ..Attempt::default() });
        // The record comes first: what it names can be swept.
        attempts.save(paths)?;
        worktrees::record_attempt(paths, &named, &path, &attempts.top)?;
        let add = ["worktree", "add", "--quiet", "--detach", "--"].map(OsStr::new);
        let base = OsStr::new(&attempts.base);
        let arguments: Vec<&OsStr> = add.into_iter().chain([path.as_os_str(), base]).collect();
        attempts.git().bytes(&arguments)?;
        if !attempts.private {
            let remarks = copies::copy_into_worktree(&attempts.top, &path, &attempts.dir);
            if notes.is_empty() {
                notes = remarks;
            }
            worktrees::make_folder(&attempts.top, &path, attempts.below())?;
        }
    }
    Ok(notes)
}
