//! Paths that stay protected in a writable directory: what makes git run programs, and tau's own files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::nested_git::git_links;
use super::{SandboxPolicy, other_systems};
use crate::paths;
use crate::regular_files::read_text;

/// The names in a repository that decide which programs git runs, or that lead to other such files.
/// `modules` holds the repositories of submodules. Missing ones are not protected, except the hooks:
/// [`prepare`] creates their directory. See `repository_watch` for the others.
const GIT: [&str; 7] =
    *crate::words!("hooks config config.worktree modules commondir info/attributes objects/info/alternates");
/// The corresponding names in the folder of a working tree.
const WORKING_TREE: [&str; 4] = ["config.worktree", "commondir", "gitdir", "modules"];
/// The size limit of a file that names a folder, in bytes.
const MAX_LINK: u64 = 64 * 1024;

/// The paths that cannot be changed within these writable `roots`. Every path exists and its directory is
/// without links; the last name may be one.
pub(super) fn protected_paths(policy: &SandboxPolicy, roots: &[PathBuf]) -> Vec<PathBuf> {
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
    let mut found = BTreeSet::new();
    let mut tops = vec![root.to_path_buf()];
    while let Some(top) = tops.pop() {
        let folders = [top.join(".git"), top.clone()];
        for folder in folders.into_iter().filter(|folder| is_repository(folder)) {
            if found.insert(folder.clone()) {
                tops.extend(submodules(&folder, root).into_iter().filter(|top| exists(&top.join(".git"))));
            }
        }
    }
    found.into_iter().collect()
}

/// The folders of the submodules of a repository that are really at this root.
fn submodules(repository: &Path, root: &Path) -> Vec<PathBuf> {
    let of_tree = |dir: PathBuf| {
        let top = top_of_tree(&dir);
        let links = git_links(repository, &dir).unwrap_or_default();
        links.iter().map(|link| top.join(link)).collect::<Vec<_>>()
    };
    trees(repository).flat_map(of_tree).filter(|top| is_real(top, root)).collect()
}

/// The folders with the indexes of a repository: its own, and those of its additional working trees.
pub(super) fn trees(dir: &Path) -> impl Iterator<Item = PathBuf> {
    std::iter::once(dir.to_path_buf()).chain(working_trees(dir))
}

/// The top of the working tree whose index is in a folder.
pub(super) fn top_of_tree(dir: &Path) -> PathBuf {
    let is_additional = dir.parent().is_some_and(|parent| parent.ends_with("worktrees"));
    let git = is_additional.then(|| read_text(&dir.join("gitdir"), MAX_LINK).ok()).flatten();
    match git.as_deref().and_then(|git| Path::new(git.trim_end()).parent()) {
        Some(top) => paths::identity(&dir.join(top)),
        None => dir.parent().filter(|_| dir.ends_with(".git")).unwrap_or(dir).to_path_buf(),
    }
}

/// True if a path is at this root, without a link on the way.
pub(super) fn is_real(path: &Path, root: &Path) -> bool {
    path.starts_with(root)
        && path.ancestors().take_while(|above| *above != root).all(|above| !above.is_symlink())
}

/// The folders of a repository's additional working trees.
pub(super) fn working_trees(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(dir.join("worktrees")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn is_repository(folder: &Path) -> bool {
    folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
        && folder.join("HEAD").symlink_metadata().is_ok()
        && folder.join("objects").symlink_metadata().is_ok()
}

fn of_repository(root: &Path) -> Vec<PathBuf> {
    let repositories = repositories(root);
    let mut paths: Vec<PathBuf> = Vec::new();
    for dir in &repositories {
        let of_trees = working_trees(dir).flat_map(|tree| WORKING_TREE.map(|name| tree.join(name)));
        paths.extend(GIT.map(|name| dir.join(name)).into_iter().chain(of_trees).filter(|path| exists(path)));
        // Working trees, and submodules whose repository is elsewhere.
        let tops = working_trees(dir).map(|tree| top_of_tree(&tree)).filter(|top| is_real(top, root));
        let files = tops.chain(submodules(dir, root)).map(|top| top.join(".git"));
        paths.extend(files.filter(|git| exists(git) && !is_repository(git)));
    }
    paths.extend(other_systems::files_at(root));
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
