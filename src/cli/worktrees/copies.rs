//! The files that git ignores, copied into a new worktree: those that `.worktreeinclude` lists, and the user's own
//! settings of the project.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::git::Git;
use tau_tools::counted::{byte_size, pluralize};
use tau_tools::user_error::UserError;

/// The file that lists files to copy, with the patterns of `.gitignore`.
pub(super) const INCLUDE: &str = ".worktreeinclude";
/// The settings that belong to the user: trust in the project counts for them as well.
const OWN_SETTINGS: [&str; 2] = [".tau/config.local.toml", ".claude/settings.local.json"];
/// Maximum number of files that are copied.
const MAX_FILES: u64 = 20_000;
/// Maximum size of all files that are copied, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// Copies the user's own settings, and the files listed in `.worktreeinclude`, from one working tree to another; returns
/// remarks for the user. `dir` is the directory in which the user works.
pub(crate) fn copy_into_worktree(from: &Path, to: &Path, dir: &Path) -> Vec<String> {
    let below = dir.canonicalize().ok().and_then(|dir| dir.strip_prefix(from).ok().map(Path::to_owned));
    let folders = [PathBuf::new()].into_iter().chain(below.filter(|below| !below.as_os_str().is_empty()));
    for name in folders.flat_map(|folder| OWN_SETTINGS.map(|name| folder.join(name))) {
        if from.join(&name).symlink_metadata().is_ok_and(|found| found.is_file()) {
            let _ = copy(from, to, &name);
        }
    }
    copy_listed_files(from, to).err().map(String::from).into_iter().collect()
}

/// The ignored files that `.worktreeinclude` lists.
pub(super) fn listed_files(from: &Path) -> Result<Vec<PathBuf>, UserError> {
    // Git would wait for a pipe of this name.
    if !from.join(INCLUDE).symlink_metadata().is_ok_and(|found| found.is_file()) {
        return Ok(Vec::new());
    }
    let list =
        |patterns: &str| Git::within(from).names(&["ls-files", "-z", "--others", "--ignored", patterns]);
    let ignored: HashSet<OsString> = list("--exclude-standard")?.into_iter().collect();
    let wanted = list(&format!("--exclude-from={INCLUDE}"))?;
    Ok(wanted.into_iter().filter(|name| ignored.contains(name)).map(PathBuf::from).collect())
}

fn copy_listed_files(from: &Path, to: &Path) -> Result<(), UserError> {
    let wanted = listed_files(from)?;
    let (count, sizes) = (wanted.len() as u64, wanted.iter().map(|name| from.join(name).symlink_metadata()));
    let bytes = sizes.flatten().fold(0_u64, |sum, found| sum.saturating_add(found.len()));
    if count > MAX_FILES || bytes > MAX_BYTES {
        return Err(format!(
            "{INCLUDE} lists {} of {}, so none was copied; at most {MAX_FILES} files of {} are",
            pluralize(count, "file"),
            byte_size(bytes),
            byte_size(MAX_BYTES)
        )
        .into());
    }
    let failed = wanted.iter().filter(|name| copy(from, to, name).is_err()).count();
    match failed {
        0 => Ok(()),
        failed => {
            Err(format!("{} of {INCLUDE} could not be copied", pluralize(failed as u64, "file")).into())
        }
    }
}

/// Makes the folders of a path that are missing, through no symbolic link.
pub(super) fn make_folders(from: &Path, to: &Path, name: &Path) -> std::io::Result<()> {
    let (mut source, mut dir) = (from.to_owned(), to.to_owned());
    for part in name.components() {
        let Component::Normal(part) = part else { return Err(std::io::ErrorKind::InvalidInput.into()) };
        source.push(part);
        dir.push(part);
        if !source.symlink_metadata()?.is_dir() {
            return Err(std::io::ErrorKind::NotADirectory.into());
        }
        match dir.symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(std::io::ErrorKind::NotADirectory.into()),
            Err(_) => std::fs::create_dir(&dir)?,
        }
    }
    Ok(())
}

/// Copies one file or symbolic link, through no symbolic link. What is there already stays.
pub(super) fn copy(from: &Path, to: &Path, name: &Path) -> std::io::Result<()> {
    make_folders(from, to, name.parent().unwrap_or(Path::new("")))?;
    let (from, to) = (from.join(name), to.join(name));
    if to.symlink_metadata().is_ok() {
        return Ok(());
    }
    match from.symlink_metadata()?.file_type() {
        kind if kind.is_symlink() => std::os::unix::fs::symlink(std::fs::read_link(from)?, to),
        kind if kind.is_file() => std::fs::copy(from, to).map(drop),
        _ => Ok(()),
    }
}
