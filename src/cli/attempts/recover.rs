//! Attempts whose tau was killed: what they have is found in their sessions and copies, and what their commands have
//! left running is stopped with the copies.

use std::path::{Path, PathBuf};

use super::{Attempt, Attempts, DiffSize, KEPT};
use crate::worktrees::git::{self, Git, Repository};
use crate::worktrees::snapshot;
use tau_agent::session::list;
use tau_agent::session::unreported::usage_of_file;
use tau_agent::settings::{Paths, Settings};
use tau_tools::paths::identity;
use tau_tools::process::left::{self, LeftProcess};
use tau_tools::user_error::UserError;

/// Keeps what attempts have that did not run to their end, and what could not be kept at their end. Nothing is done
/// while they are at work, nor again, unless the commands of those that were cut still run.
pub(super) fn recover(paths: &Paths, attempts: &mut Attempts) {
    let is_cut = |attempt: &Attempt| attempt.exit_code.is_none();
    let has_files = attempts.attempts.iter().all(|attempt| attempt.files.is_some());
    if has_files && (!attempts.attempts.iter().any(is_cut) || processes(attempts).is_empty()) {
        return;
    }
    let Ok(Some(_lock)) = attempts.try_lock(paths) else { return };
    let root = Settings::load_leniently(paths).0.session_root(paths);
    let (id, base, started) = (attempts.id.clone(), attempts.base.clone(), attempts.started);
    let repository = attempts.repository.clone();
    for attempt in attempts.attempts.iter_mut().filter(|attempt| attempt.files.is_none() || is_cut(attempt)) {
        if is_cut(attempt)
            && let Some(file) = list::of_id(&root, &attempt.session)
        {
            if let Some(usage) = usage_of_file(&file)
                && let Some(dollars) = usage.dollars()
            {
                (attempt.cost, attempt.estimated) = (Some(dollars), usage.estimated);
            }
            attempt.seconds = seconds_until(&file, started).unwrap_or(attempt.seconds);
        }
        attempt.unkept = keep(attempt, &repository, &id, &base).err().map(String::from);
    }
    if let Err(error) = attempts.save(paths) {
        tracing::warn!(%error, "what attempts have could not be kept");
    }
}

/// The time from the start to the last change of the file.
fn seconds_until(file: &Path, started: i64) -> Option<f64> {
    let changed = jiff::Timestamp::try_from(file.metadata().ok()?.modified().ok()?).ok()?;
    Some(((changed.as_millisecond() - started).max(0) as f64 / 100.0).round() / 10.0)
}

/// The processes that commands of the attempts, and of their helpers, have left running.
fn processes(attempts: &Attempts) -> Vec<LeftProcess> {
    let folder = |process: &LeftProcess| std::fs::read_link(format!("/proc/{}/cwd", process.pid));
    let is_within =
        |folder: PathBuf| attempts.attempts.iter().any(|attempt| folder.starts_with(&attempt.path));
    let is_theirs = |process: &LeftProcess| {
        attempts.attempts.iter().any(|attempt| process.is_of(&attempt.session))
            || folder(process).is_ok_and(is_within)
    };
    left::all().into_iter().filter(is_theirs).collect()
}

/// Stops these processes, and returns how many there were.
pub(super) fn stop_processes(attempts: &Attempts) -> Result<usize, UserError> {
    let left = processes(attempts);
    match left::stop(&left) {
        true => Ok(left.len()),
        false => Err(UserError::new("not every process of the attempts has ended")
            .remedy("`tau jobs` lists what is left")),
    }
}

/// Keeps the files of an attempt as a commit.
pub(super) fn keep(attempt: &mut Attempt, repository: &Path, id: &str, base: &str) -> Result<(), UserError> {
    let found = Repository::around(&attempt.path)?;
    // Without its `.git`, git finds one around it, which may be that of the home directory.
    if identity(repository) != found.common || identity(&attempt.path) != identity(&found.top) {
        let (path, other) = (attempt.path.display(), found.common.display());
        return Err(format!("{path} belongs to another repository now: {other}").into());
    }
    git::check_safe(&attempt.path)?;
    snapshot::refuse_repositories(&attempt.path)?;
    let git = Git::within(&attempt.path);
    let files = snapshot::commit_files(git, Some(base), &format!("Attempt {}", attempt.number))?;
    git.text(&["update-ref", &format!("{KEPT}/{id}/{}", attempt.number), &files])?;
    attempt.changed = diff_size(git, base, &files)?;
    attempt.files = Some(files);
    Ok(())
}

/// The size of the difference between two commits.
pub(super) fn diff_size(git: Git<'_>, base: &str, files: &str) -> Result<DiffSize, UserError> {
    let lines =
        git.text(&["diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--numstat", base, files])?;
    let mut changed = DiffSize::default();
    for line in lines.lines() {
        let mut numbers = line.split('\t').map(|number| number.parse::<u64>().unwrap_or(0));
        changed.files += 1;
        changed.added += numbers.next().unwrap_or(0);
        changed.removed += numbers.next().unwrap_or(0);
    }
    Ok(changed)
}
