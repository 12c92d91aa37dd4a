//! Paths that stay protected in a writable directory: what makes git run programs, and tau's own files.

use std::path::{Path, PathBuf};

use super::SandboxPolicy;
use super::nested_git::git_links;

/// The names in a repository that decide which programs git runs, or that lead to other such files.
/// `modules` holds the repositories of submodules. Missing ones are not protected, except the hooks:
/// [`prepare`] creates their directory. See `repository_watch` for the others.
const GIT: [&str; 6] = ["hooks", "config", "config.worktree", "modules", "commondir", "info/attributes"];
/// The corresponding names in the folder of a working tree.
const WORKING_TREE: [&str; 3] = ["config.worktree", "commondir", "gitdir"];
/// The maximum number of repositories and submodules that are protected at a root.
const MAX_REPOSITORIES: usize = 1_000;

/// The paths that cannot be changed within these writable `roots`. Every path exists and its directory is
/// without links; the last name may be one.
pub(super) fn protected(policy: &SandboxPolicy, roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = roots.iter().flat_map(|root| of_repository(root)).collect();
    let own = policy.own.iter().map(|path| super::paths::identity(path));
    paths.extend(own.filter(|path| path.symlink_metadata().is_ok() || within(path, roots)));
    paths.sort();
    paths.dedup();
    paths
}

/// True if a path is in one of these directories.
pub(super) fn within(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

/// The directories of the repositories at a root and of the submodules in it, without links.
pub(super) fn repositories(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut tops = vec![root.to_path_buf()];
    while let Some(top) = tops.pop().filter(|_| found.len() < MAX_REPOSITORIES) {
        let folders = [top.join(".git"), top.clone()];
        for folder in folders.into_iter().filter(|folder| is_repository(folder)) {
            let inner = git_links(&folder);
            let has_git = |top: &PathBuf| is_real(top, root) && top.join(".git").symlink_metadata().is_ok();
            tops.extend(inner.iter().map(|link| top.join(link)).filter(has_git));
            found.push(folder);
        }
    }
    found
}

/// The top of the working tree of a repository.
pub(super) fn top_of(dir: &Path) -> &Path {
    dir.parent().filter(|_| dir.ends_with(".git")).unwrap_or(dir)
}

/// True if there is no link on the way from the root to a path.
fn is_real(path: &Path, root: &Path) -> bool {
    path.ancestors().take_while(|above| *above != root).all(|above| !above.is_symlink())
}

/// The folders of a repository's additional working trees.
pub(super) fn working_trees(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir.join("worktrees")).into_iter().flatten().flatten();
    entries.take(MAX_REPOSITORIES).map(|entry| entry.path()).collect()
}

fn is_repository(folder: &Path) -> bool {
    folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
        && folder.join("HEAD").symlink_metadata().is_ok()
        && folder.join("objects").symlink_metadata().is_ok()
}

fn of_repository(root: &Path) -> Vec<PathBuf> {
    let exists = |path: &PathBuf| path.symlink_metadata().is_ok();
    let repositories = repositories(root);
    let mut paths: Vec<PathBuf> = Vec::new();
    for dir in &repositories {
        let trees = working_trees(dir);
        let of_trees = trees.iter().flat_map(|tree| WORKING_TREE.map(|name| tree.join(name)));
        paths.extend(GIT.map(|name| dir.join(name)).into_iter().chain(of_trees).filter(exists));
        // Submodules whose repository is elsewhere.
        let top = top_of(dir);
        let inner = git_links(dir);
        let files = inner.iter().map(|link| top.join(link)).filter(|top| is_real(top, root));
        paths.extend(files.map(|top| top.join(".git")).filter(|git| exists(git) && !is_repository(git)));
    }
    // A file or link that points to the repository, or a folder that is not a repository yet.
    let own = root.join(".git");
    if exists(&own) && !is_repository(&own) {
        paths.push(own);
    }
    paths
}

/// Creates the directories that must exist to be protected: hooks of repositories, and tau's own. One that
/// cannot be created here cannot be created by a command either, or is found missing later.
#[cfg(target_os = "linux")]
pub(super) fn prepare(policy: &SandboxPolicy, roots: &[PathBuf]) {
    let hooks = roots.iter().flat_map(|root| repositories(root)).map(|folder| folder.join("hooks"));
    for folder in hooks.filter(|hooks| hooks.symlink_metadata().is_err()) {
        std::fs::create_dir(folder).ok();
    }
    let own = policy.own.iter().map(|path| super::paths::identity(path));
    // A workspace that is gone is not recreated.
    let there: Vec<PathBuf> = roots.iter().filter(|root| root.is_dir()).cloned().collect();
    for folder in own.filter(|path| within(path, &there) && path.symlink_metadata().is_err()) {
        std::fs::create_dir_all(folder).ok();
    }
}
