//! Restores paths to an earlier state.
//!
//! In an order that always works: removed files, then removed directories, then new directories, then files.
//! A file is replaced atomically, and only if it still has the expected state; a directory is removed only if
//! it is empty. The existing state is recorded before, so that all of it can be reversed. No link is
//! followed, and nothing outside the session's directory is touched.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::state::{FileState, Observation, is_missing, observe_at};
use tau_tools::file_at::{FileAt, sweep};
use tau_tools::file_versions::Stamp;
use tau_tools::replace_file::{ExpectedState, MAX_FILE, replace_at};
use tau_tools::user_error::UserError;
use tau_tools::{ToolError, paths};

/// The reason a path outside the session's directory is not restored.
pub(super) const OUTSIDE: &str = "it is outside the session's directory";

/// Whether a path may be restored: it is in this directory, and in plain form.
pub(super) fn is_inside(root: &Path, path: &Path) -> bool {
    use std::path::Component;

    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    path.strip_prefix(root).is_ok_and(|rest| rest.iter().next().is_some() && rest.components().all(plain))
}

/// Removes temporary files beside these paths that were left when tau was killed.
pub(super) fn sweep_beside(named: &[PathBuf]) {
    let mut folders: Vec<&Path> = named.iter().filter_map(|path| path.parent()).collect();
    folders.sort_unstable();
    folders.dedup();
    folders.into_iter().for_each(sweep);
}

/// A path with its expected and its intended state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) path: PathBuf,
    pub(crate) from: FileState,
    pub(crate) to: FileState,
    /// The intended content of a file.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Step {
    /// The order of steps: removals from the inside out, then the rest from the outside in.
    fn turn(&self) -> (u8, isize) {
        let depth = isize::try_from(self.path.components().count()).unwrap_or(isize::MAX);
        match (&self.from, &self.to) {
            (FileState::Directory { .. }, FileState::Directory { .. }) => (4, -depth),
            (FileState::Directory { .. }, _) => (1, -depth),
            (_, FileState::Absent) => (0, 0),
            (_, FileState::Directory { .. }) => (2, depth),
            _ => (3, depth),
        }
    }
}

/// Carries out the steps within the directory `root`; returns the result of each, in the given order.
pub(crate) fn carry_out(root: &Path, steps: &[Step]) -> Vec<Result<(), UserError>> {
    let mut order: Vec<usize> = (0..steps.len()).collect();
    order.sort_by_key(|at| steps.get(*at).map(Step::turn));
    let mut ends: Vec<Result<(), UserError>> = steps.iter().map(|_| Ok(())).collect();
    for at in order {
        if let (Some(step), Some(end)) = (steps.get(at), ends.get_mut(at)) {
            *end = if is_inside(root, &step.path) { one(step) } else { Err(OUTSIDE.into()) };
        }
    }
    ends
}

fn one(step: &Step) -> Result<(), UserError> {
    let words = |error: io::Error| UserError::new(paths::reason(&error));
    let found = match FileAt::find(&step.path) {
        Ok(at) => Some(at),
        Err(error) if is_missing(&error) => None,
        Err(error) => return Err(words(error)),
    };
    let now = found.as_ref().map_or(Ok(Observation::NOTHING), |at| observe_at(at, MAX_FILE));
    let now = now.map_err(words)?.state;
    if now.is_same(&step.to) {
        return Ok(());
    }
    let still = match (&now, &step.from) {
        // Its mode may differ: a file in it could not have been restored otherwise.
        (FileState::Directory { .. }, FileState::Directory { .. }) => true,
        _ => now.is_same(&step.from),
    };
    if !still {
        return Err("it has just been changed by another program".into());
    }
    let at = found.map_or_else(|| FileAt::find_or_make_folder(&step.path), Ok).map_err(words)?;
    match &step.to {
        FileState::Absent => remove(&at, &now).map_err(words),
        FileState::Directory { mode } => directory(&at, &now, *mode).map_err(words),
        FileState::Link { target } => link(&at, &now, &target.0).map_err(words),
        FileState::File { mode, .. } => file(&at, step, &now, *mode),
        FileState::Other => Err("it was not a regular file".into()),
    }
}

fn remove(at: &FileAt, now: &FileState) -> io::Result<()> {
    match now {
        FileState::Absent => Ok(()),
        now => at.remove(matches!(now, FileState::Directory { .. })),
    }
}

fn directory(at: &FileAt, now: &FileState, mode: u32) -> io::Result<()> {
    if !matches!(now, FileState::Directory { .. }) {
        remove(at, now)?;
        at.make_directory()?;
    }
    at.set_mode(mode)
}

fn link(at: &FileAt, now: &FileState, target: &Path) -> io::Result<()> {
    if matches!(now, FileState::Directory { .. }) {
        at.remove(true)?;
    }
    // A link cannot be changed, but it can be replaced.
    at.put_link(target)
}

/// Writes a new file, which nobody else can read before it has its mode.
fn make_file(at: &FileAt, bytes: &[u8], mode: u32, over_link: bool) -> io::Result<()> {
    let temporary = at.temporary(mode)?;
    (&temporary.file).write_all(bytes)?;
    temporary.file.sync_all()?;
    if over_link {
        temporary.replace()?;
    } else {
        temporary.put()?;
    }
    at.sync_folder();
    Ok(())
}

fn file(at: &FileAt, step: &Step, now: &FileState, mode: u32) -> Result<(), UserError> {
    let words = |error: io::Error| UserError::new(paths::reason(&error));
    let bytes = step.bytes.as_deref().ok_or("its content was not kept")?;
    match now {
        now if now.hash().is_some() && now.hash() == step.to.hash() => {}
        FileState::File { mode: now, .. } => {
            // Neither content may be read by those who must not read the other.
            let narrow = (now & mode) | 0o200;
            if narrow != *now {
                at.set_mode(narrow).map_err(words)?;
            }
            let expected = ExpectedState::Version(Stamp::from(&at.stat().map_err(words)?));
            let given = step.path.display().to_string();
            let replaced = replace_at(at, &given, bytes, expected, &CancellationToken::new());
            replaced.map_err(|error| match error {
                ToolError::Refused { message, .. } | ToolError::Aborted { message, .. } => {
                    at.set_mode(*now).ok();
                    message
                }
            })?;
        }
        FileState::Link { .. } => make_file(at, bytes, mode, true).map_err(words)?,
        FileState::Absent | FileState::Directory { .. } | FileState::Other => {
            remove(at, now).map_err(words)?;
            make_file(at, bytes, mode, false).map_err(words)?;
        }
    }
    at.set_mode(mode).map_err(words)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_private_file_is_never_open_to_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("key");
        let at = FileAt::find(&path).unwrap();
        make_file(&at, b"secret", 0o600, false).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(make_file(&at, b"other", 0o600, false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(path).unwrap(), b"secret");
    }
}
