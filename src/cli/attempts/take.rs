//! Taking the result of an attempt, or hunks of several, and sweeping the copies.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::hunks::{self, Choice};
use super::{Attempts, KEPT, recover, uncounted};
use crate::compose::environment;
use crate::worktrees::{self, git};
use tau_agent::session::Session;
use tau_agent::settings::{Paths, Settings};
use tau_agent::undo::{CallStart, SessionUndo, UndoOptions, prompts};
use tau_protocol::message::{Message, UserContent, UserMessage};
use tau_tools::access::Access;
use tau_tools::user_error::UserError;

/// Applies attempts, or parts of them, to the directory. `/undo` in the session whose id is returned takes it back.
pub(crate) fn take(
    paths: &Paths,
    attempts: &Attempts,
    choices: &[Choice<'_>],
) -> Result<(String, Vec<String>), UserError> {
    let names = names(choices);
    if choices.iter().any(Choice::is_whole) && attempts.is_running(paths) {
        return Err(at_work());
    }
    if !attempts.private {
        git::check_safe(&attempts.top)?;
    }
    let (patch, changes) = hunks::patch(attempts, choices, &|_| false)?;
    if patch.is_empty() {
        return Err(format!("{names} has changed nothing").into());
    }
    let (file, changes) = match PatchFile::new(attempts, &patch)? {
        file if file.apply(&["--check"]).is_ok() => (file, changes),
        whole => what_is_left(attempts, choices, &whole)?,
    };
    let (settings, _) = Settings::load_leniently(paths);
    let folder = settings.session_dir_for(paths, &attempts.top);
    let options = environment::undo_options(&settings, paths);
    let session = options.change_beside_calls(|| -> Result<String, UserError> {
        let (session, mut undo) = begin_undo_session((&folder, &options), attempts, &names, &changes)?;
        let places = changes.iter().map(|path| attempts.top.join(path));
        let modes: Vec<(PathBuf, u32)> =
            places.filter_map(|path| mode_of(&path).map(|mode| (path, mode))).collect();
        let applied = file.apply(&[]);
        modes.into_iter().for_each(|(path, before)| keep_private(&path, before));
        undo.end(false);
        applied.map(|()| session)
    })?;
    let changes = changes.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    Ok((session, changes))
}

/// A patch for the directory of attempts, in a file for git.
struct PatchFile<'a> {
    attempts: &'a Attempts,
    dir: TempDir,
}

impl<'a> PatchFile<'a> {
    fn new(attempts: &'a Attempts, patch: &[u8]) -> Result<Self, UserError> {
        let dir = tempfile::tempdir().map_err(|error| format!("cannot make a folder: {error}"))?;
        let file = PatchFile { attempts, dir };
        let path = file.path();
        fs::write(&path, patch).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(file)
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("patch")
    }

    fn apply(&self, options: &[&str]) -> Result<(), UserError> {
        let path = self.path();
        let mut arguments: Vec<&OsStr> = ["apply", "--whitespace=nowarn"].map(OsStr::new).to_vec();
        arguments.extend(options.iter().map(OsStr::new));
        arguments.extend([OsStr::new("--"), path.as_os_str()]);
        self.attempts.git().bytes(&arguments).map(drop)
    }
}

/// The rest of a patch that does not fit, without the parts that were taken before, and the files that it changes.
fn what_is_left<'a>(
    attempts: &'a Attempts,
    choices: &[Choice<'_>],
    whole: &PatchFile<'_>,
) -> Result<(PatchFile<'a>, Vec<OsString>), UserError> {
    let names = names(choices);
    let is_there = |part: &[u8]| {
        PatchFile::new(attempts, part).is_ok_and(|part| {
            part.apply(&["--check"]).is_err() && part.apply(&["--check", "--reverse"]).is_ok()
        })
    };
    let (patch, changes) = hunks::patch(attempts, choices, &is_there)?;
    if patch.is_empty() {
        return Err(UserError::new(format!("the directory has all of {names} already"))
            .remedy("`tau attempts drop` removes the copies"));
    }
    let left = PatchFile::new(attempts, &patch)?;
    left.apply(&["--check"]).or_else(|_| whole.apply(&["--check"])).map_err(|why| {
        format!(
            "{names} cannot be applied: {why}; the files have changed since {} began",
            if choices.len() == 1 { "it" } else { "they" }
        )
    })?;
    Ok((left, changes))
}

/// The permission bits of a regular file.
fn mode_of(path: &Path) -> Option<u32> {
    let metadata = path.symlink_metadata().ok().filter(Metadata::is_file)?;
    Some(metadata.permissions().mode() & 0o777)
}

/// Gives a file that git has replaced its permission bits again; whether it is executable is git's.
fn keep_private(path: &Path, before: u32) {
    let Some(now) = mode_of(path) else { return };
    let executable = if now & 0o111 == 0 { 0 } else { (before & 0o444) >> 2 };
    let mode = before & !0o111 | executable;
    if mode != now {
        fs::set_permissions(path, Permissions::from_mode(mode)).ok();
    }
}

/// The attempts in words: `attempt 1`, `attempts 1, 3`.
pub(crate) fn names(choices: &[Choice<'_>]) -> String {
    let numbers: Vec<String> = choices.iter().map(|choice| choice.attempt.number.to_string()).collect();
    format!("attempt{} {}", if numbers.len() == 1 { "" } else { "s" }, numbers.join(", "))
}

/// A session that covers the change, and its undo, which has the old files.
fn begin_undo_session(
    (folder, options): (&Path, &UndoOptions),
    attempts: &Attempts,
    names: &str,
    changes: &[OsString],
) -> Result<(String, SessionUndo), UserError> {
    let mut session = Session::begin(Some(folder), &attempts.top, None);
    let text = format!("Take {names} of {}: {}", attempts.attempts.len(), attempts.task);
    let mut message = UserMessage::new(UserContent::Text(text));
    message.timestamp = jiff::Timestamp::now().as_millisecond();
    let appended = session.append(Arc::new(Message::User(message))).and_then(|()| session.flush());
    appended.map_err(|error| error.to_string())?;
    let id = session.info().id.clone();
    let mut undo = SessionUndo::open(options, &id, &attempts.top, false);
    let writes: Vec<PathBuf> = changes.iter().map(|path| attempts.top.join(path)).collect();
    let call = CallStart {
        id: names.replace(' ', "-"),
        tool: "attempts".to_owned(),
        checkpoint: prompts(session.tree()).last().map(|prompt| prompt.entry_id.clone()),
    };
    undo.begin(call, &Access { reads: writes.clone(), writes, ..Access::default() });
    Ok((id, undo))
}

/// Removes the copies, the results and the record, unless they are at work; returns the number of processes that were
/// stopped in them.
pub(crate) fn sweep(paths: &Paths, attempts: &Attempts) -> Result<usize, UserError> {
    let Some(_lock) = attempts.try_lock(paths)? else { return Err(at_work()) };
    let stopped = recover::stop_processes(attempts)?;
    sweep_own(paths, attempts).map(|()| stopped)
}

/// Removes copies in which nothing has begun, as tau was killed while it made them; returns whether these were such.
pub(super) fn sweep_unbegun(paths: &Paths, attempts: &Attempts) -> bool {
    attempts.attempts.iter().all(|attempt| attempt.session.is_empty())
        && matches!(attempts.try_lock(paths), Ok(Some(_lock)) if sweep_own(paths, attempts).is_ok())
}

/// The refusal to remove copies in which attempts are at work.
fn at_work() -> UserError {
    UserError::new("the attempts are still running").remedy("wait, or stop them first")
}

/// Removes the copies, the results and the record; the caller has the lock.
pub(super) fn sweep_own(paths: &Paths, attempts: &Attempts) -> Result<(), UserError> {
    let mut failed = Vec::new();
    for attempt in &attempts.attempts {
        match worktrees::remove_tree(&attempts.git(), &attempt.path) {
            Ok(()) => worktrees::forget_attempt(paths, &attempt.path),
            Err(why) => failed.push(why),
        }
    }
    if attempts.private {
        let removed = std::fs::remove_dir_all(&attempts.repository);
        failed.extend(
            removed.err().filter(|error| error.kind() != std::io::ErrorKind::NotFound).map(UserError::of),
        );
    } else {
        let git = attempts.git();
        let references =
            git.text(&["for-each-ref", "--format=%(refname)", &format!("{KEPT}/{}", attempts.id)])?;
        for reference in references.lines() {
            git.text(&["update-ref", "-d", reference])?;
        }
    }
    if let Some(why) = failed.first() {
        return Err(format!("not everything could be removed: {why}").into());
    }
    uncounted::keep(paths, attempts);
    for file in [Attempts::file(paths, &attempts.id), Attempts::lock(paths, &attempts.id)] {
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(UserError::of_file(&file, error));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_file_stays_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "").unwrap();
        for (before, by_git, after) in
            [(0o600, 0o644, 0o600), (0o600, 0o755, 0o700), (0o700, 0o644, 0o600), (0o640, 0o755, 0o750)]
        {
            fs::set_permissions(&path, Permissions::from_mode(by_git)).unwrap();
            keep_private(&path, before);
            assert_eq!(mode_of(&path), Some(after), "{before:o} {by_git:o}");
        }
    }
}
