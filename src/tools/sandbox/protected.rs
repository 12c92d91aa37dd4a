//! What stays as it is although a directory above it may be changed: the parts of a repository that
//! make git run programs, and tau's own files.

use std::path::{Path, PathBuf};

use super::SandboxPolicy;

/// The names in a repository that say which programs git runs, or that lead to other such files.
/// `modules` holds the repositories of submodules. Those that do not exist are not protected, except
/// the hooks: [`prepare`] makes their directory.
const GIT: [&str; 5] = ["hooks", "config", "config.worktree", "modules", "commondir"];

/// Files that must not appear in a repository, and of which no mount can keep it free: git
/// would read its configuration from the place that they name.
const GIT_APPEARING: [&str; 2] = ["commondir", "config.worktree"];

/// What cannot be changed within these writable `roots`. Every path exists and its directory is
/// without links; the last name may be one.
pub(super) fn protected(policy: &SandboxPolicy, roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = roots.iter().flat_map(|root| of_repository(root)).collect();
    let own = policy.own.iter().map(|path| super::paths::identity(path));
    paths.extend(own.filter(|path| path.symlink_metadata().is_ok() || within(path, roots)));
    paths.sort();
    paths.dedup();
    paths
}

/// Whether a path is in one of these directories.
pub(super) fn within(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

/// The repositories at these roots: the directory of each, without links.
fn repositories(root: &Path) -> Vec<PathBuf> {
    let inner = root.join(".git");
    let folders = [root.to_path_buf(), inner];
    folders.into_iter().filter(|folder| is_repository(folder)).collect()
}

fn is_repository(folder: &Path) -> bool {
    folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
        && folder.join("HEAD").symlink_metadata().is_ok()
        && folder.join("objects").symlink_metadata().is_ok()
}

fn of_repository(root: &Path) -> Vec<PathBuf> {
    let inner = root.join(".git");
    let mut paths: Vec<PathBuf> = repositories(root)
        .iter()
        .flat_map(|folder| GIT.map(|name| folder.join(name)))
        .filter(|path| path.symlink_metadata().is_ok())
        .collect();
    // A file or a link that says where the repository is, or a folder that is not a repository yet.
    if inner.symlink_metadata().is_ok() && !is_repository(&inner) {
        paths.push(inner);
    }
    paths
}

/// Makes the directories that have to exist to be protected: hooks of repositories, and tau's own. One
/// that cannot be made cannot be made by a command either, or is found missing later.
#[cfg(target_os = "linux")]
pub(super) fn prepare(policy: &SandboxPolicy, roots: &[PathBuf]) {
    let hooks = roots.iter().flat_map(|root| repositories(root)).map(|folder| folder.join("hooks"));
    for folder in hooks.filter(|hooks| hooks.symlink_metadata().is_err()) {
        std::fs::create_dir(folder).ok();
    }
    let own = policy.own.iter().map(|path| super::paths::identity(path));
    for folder in own.filter(|path| within(path, roots) && path.symlink_metadata().is_err()) {
        std::fs::create_dir_all(folder).ok();
    }
}

/// The files that must not appear in the repositories at these roots, and do not exist yet.
#[cfg(target_os = "linux")]
pub(super) fn appearing(roots: &[PathBuf]) -> Vec<PathBuf> {
    let folders = roots.iter().flat_map(|root| repositories(root));
    let paths = folders.flat_map(|folder| GIT_APPEARING.map(|name| folder.join(name)));
    paths.filter(|path| path.symlink_metadata().is_err()).collect()
}

#[cfg(not(target_os = "linux"))]
const _: [&str; 2] = GIT_APPEARING;
