//! Putting paths back to what they were.
//!
//! In an order in which everything fits: files that go, then directories that go, then directories
//! that come, then files. A file is replaced atomically, and only if it is still what was expected;
//! a directory goes only if nothing is left in it. What was there is kept before, so that all of it
//! can be taken back.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::state::{FileState, observe};
use crate::tools::file_versions::Stamp;
use crate::tools::replace_file::{Expected, MAX_FILE, replace_file};
use crate::tools::{ToolError, paths};

/// A path, what must be there, and what is to be there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) path: PathBuf,
    pub(crate) from: FileState,
    pub(crate) to: FileState,
    /// The content of a file that is to be there.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Step {
    /// When its turn is: removals from the inside out, then the rest from the outside in.
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

/// Carries out the steps; how each ended, in the order in which they were given.
pub(crate) fn carry_out(steps: &[Step]) -> Vec<Result<(), String>> {
    let mut order: Vec<usize> = (0..steps.len()).collect();
    order.sort_by_key(|at| steps.get(*at).map(Step::turn));
    let mut ends: Vec<Result<(), String>> = steps.iter().map(|_| Ok(())).collect();
    for at in order {
        if let (Some(step), Some(end)) = (steps.get(at), ends.get_mut(at)) {
            *end = one(step);
        }
    }
    ends
}

fn one(step: &Step) -> Result<(), String> {
    let words = |error: io::Error| paths::reason(&error);
    let now = observe(&step.path, MAX_FILE).map_err(words)?.state;
    if now.is_same(&step.to) {
        return Ok(());
    }
    let still = match (&now, &step.from) {
        // Its mode may differ: a file in it could not have been restored otherwise.
        (FileState::Directory { .. }, FileState::Directory { .. }) => true,
        _ => now.is_same(&step.from),
    };
    if !still {
        return Err("it has just been changed by another program".to_owned());
    }
    match &step.to {
        FileState::Absent => remove(&step.path, &now).map_err(words),
        FileState::Directory { mode } => directory(&step.path, &now, *mode).map_err(words),
        FileState::Link { target } => link(&step.path, &now, &target.0).map_err(words),
        FileState::File { mode, .. } => file(step, &now, *mode),
        FileState::Other => Err("it was no regular file".to_owned()),
    }
}

fn remove(path: &Path, now: &FileState) -> io::Result<()> {
    match now {
        FileState::Absent => Ok(()),
        FileState::Directory { .. } => fs::remove_dir(path),
        _ => fs::remove_file(path),
    }
}

fn directory(path: &Path, now: &FileState, mode: u32) -> io::Result<()> {
    if !matches!(now, FileState::Directory { .. }) {
        remove(path, now)?;
        fs::create_dir_all(path)?;
    }
    fs::set_permissions(path, Permissions::from_mode(mode))
}

fn link(path: &Path, now: &FileState, target: &Path) -> io::Result<()> {
    if matches!(now, FileState::Directory { .. }) {
        fs::remove_dir(path)?;
    }
    let folder = parent(path)?;
    // A link cannot be changed, but another one can be put in its place.
    let temporary = tempfile::Builder::new().prefix(".tau-").make_in(folder, |path| symlink(target, path))?;
    temporary.persist(path).map_err(|failed| failed.error)?;
    Ok(())
}

fn parent(path: &Path) -> io::Result<&Path> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    fs::create_dir_all(folder)?;
    Ok(folder)
}

fn file(step: &Step, now: &FileState, mode: u32) -> Result<(), String> {
    let words = |error: io::Error| paths::reason(&error);
    let bytes = step.bytes.as_deref().ok_or("its content was not kept")?;
    let path = &step.path;
    parent(path).map_err(words)?;
    let same_content = now.hash().is_some() && now.hash() == step.to.hash();
    if !same_content {
        let expected = match now {
            FileState::File { mode, .. } => {
                if mode & 0o200 == 0 {
                    fs::set_permissions(path, Permissions::from_mode(mode | 0o200)).map_err(words)?;
                }
                let metadata = fs::symlink_metadata(path).map_err(words)?;
                Expected::Version(Stamp::from(&metadata))
            }
            other => {
                remove(path, other).map_err(words)?;
                Expected::Nothing
            }
        };
        let given = path.display().to_string();
        replace_file(path, &given, bytes, expected, &CancellationToken::new()).map_err(
            |error| match error {
                ToolError::Refused { message, .. } | ToolError::Aborted { message, .. } => message,
            },
        )?;
    }
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(words)
}
