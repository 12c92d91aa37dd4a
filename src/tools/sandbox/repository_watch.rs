//! Undoes changes to repositories that would make git run something and that no mount could prevent.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::fs::Access;

use super::nested_git::{self, GitLinks};
use super::protected;
use crate::file_at::FileAt;
use crate::ids;
use crate::paths;
use crate::process::{ChildEnv, git};

/// Files that must not appear in a repository or the folder of a working tree: git would read its
/// configuration or that of others from there, or run programs they name.
const MUST_NOT_APPEAR: [&str; 4] = ["commondir", "config.worktree", "info/attributes", "modules"];
/// Folders of a repository that must not become links: what must not appear would lie elsewhere.
const MUST_STAY_FOLDERS: [&str; 2] = ["info", "rebase-merge"];
/// The remaining steps of a rebase. Lines with `exec` are commands.
const TO_DO: &str = "rebase-merge/git-rebase-todo";
/// The largest such list that is read, in bytes.
const MAX_TO_DO: u64 = 16 * 1024 * 1024;
/// Maximum time for git to change an index.
const LONGEST: Duration = Duration::from_secs(10);

/// The repositories that a command can change, in their state before it.
#[derive(Debug, Default)]
pub(super) struct RepositoryWatch {
    repositories: Vec<Repository>,
}

#[derive(Debug)]
struct Repository {
    /// Its `.git`.
    dir: PathBuf,
    /// The forbidden files that already existed.
    there: BTreeSet<PathBuf>,
    /// The commands of unfinished rebases.
    commands: BTreeSet<String>,
    /// Its own working tree, and the additional ones.
    trees: Vec<Tree>,
    /// The writable root that it is in.
    root: PathBuf,
    /// Its `HEAD`, if git takes it for a repository.
    head: Option<Vec<u8>>,
}

/// A working tree.
#[derive(Debug, Default)]
struct Tree {
    /// The folder with its index.
    dir: PathBuf,
    links: GitLinks,
    /// The submodules that have a repository.
    with_git: BTreeSet<PathBuf>,
    /// Whether it may have repositories of submodules beside its index.
    has_modules: bool,
}

impl Tree {
    fn new(dir: PathBuf) -> Self {
        let (links, top) = (nested_git::git_links(&dir), top_of_tree(&dir));
        let has_git = |link: &&PathBuf| exists(&top.join(link).join(".git"));
        let with_git = links.iter().filter(has_git).cloned().collect();
        Tree { has_modules: exists(&dir.join("modules")), with_git, links, dir }
    }
}

/// The top of the working tree whose index is in a folder.
fn top_of_tree(dir: &Path) -> PathBuf {
    let git = read(&dir.join("gitdir"));
    let git = Path::new(git.trim_end());
    let is_additional = dir.parent().is_some_and(|parent| parent.ends_with("worktrees"));
    match git.parent().filter(|_| is_additional) {
        Some(top) => dir.join(top),
        None => protected::top_of(dir).to_path_buf(),
    }
}

impl RepositoryWatch {
    /// Records the state of the repositories at these writable roots.
    pub(super) fn new(roots: &[PathBuf]) -> Self {
        let of = |root: &PathBuf| {
            let found = protected::repositories(root).into_iter();
            found.map(|dir| Repository::new(dir, root.clone())).collect::<Vec<_>>()
        };
        RepositoryWatch { repositories: roots.iter().flat_map(of).collect() }
    }

    /// Undoes forbidden changes and returns the paths concerned.
    pub(super) fn settle(&self) -> Vec<PathBuf> {
        self.repositories.iter().flat_map(Repository::settle).collect()
    }
}

impl Repository {
    fn new(dir: PathBuf, root: PathBuf) -> Self {
        Repository {
            there: candidates(&dir).chain(linked(&dir)).filter(|path| exists(path)).collect(),
            commands: to_do_lists(&dir).flat_map(|list| commands(&read(&list))).collect(),
            trees: trees(&dir).map(Tree::new).collect(),
            root,
            head: head(&dir).filter(|_| PARTS.iter().all(|part| is_open(&dir.join(part)))),
            dir,
        }
    }

    fn settle(&self) -> Vec<PathBuf> {
        let mut undone = self.restore();
        let is_new = |path: &PathBuf| !self.there.contains(path);
        undone.extend(linked(&self.dir).filter(|path| is_new(path) && remove(path)));
        undone.extend(candidates(&self.dir).filter(|path| is_new(path) && remove(path)));
        undone.extend(to_do_lists(&self.dir).filter(|list| self.without_new_commands(list)));
        undone.extend(trees(&self.dir).flat_map(|tree| self.settle_links(&tree)));
        undone
    }

    /// Restores what makes git take this for a repository: otherwise it takes the folder around it for one, with
    /// settings that the command may have written.
    fn restore(&self) -> Vec<PathBuf> {
        let Some(before) = &self.head else { return Vec::new() };
        let mut undone = Vec::new();
        for folder in PARTS.map(|part| self.dir.join(part)).into_iter().filter(|folder| !is_open(folder)) {
            if !folder.is_dir() {
                remove(&folder);
                fs::create_dir(&folder).ok();
            }
            fs::set_permissions(&folder, Permissions::from_mode(0o755)).ok();
            undone.push(folder);
        }
        if head(&self.dir).is_none() {
            let path = self.dir.join(HEAD);
            if path.is_dir() {
                remove(&path);
            }
            replace(&path, before).ok();
            undone.push(path);
        }
        undone
    }

    /// Removes the commands that the command added to a list; true if there were any.
    fn without_new_commands(&self, list: &Path) -> bool {
        if list.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return remove(list);
        }
        let text = read(list);
        let is_new = |line: &str| command(line).is_some_and(|command| !self.commands.contains(command));
        if !text.lines().any(is_new) {
            return false;
        }
        let kept: String = text.split_inclusive('\n').filter(|line| !is_new(line.trim_end())).collect();
        replace(list, kept.as_bytes()).is_ok() || remove(list)
    }

    /// Keeps git from entering submodules that the command has made, if it would run something in there. `dir` is the
    /// folder with the index of a working tree.
    fn settle_links(&self, dir: &Path) -> Vec<PathBuf> {
        let new = Tree::default();
        let before = self.trees.iter().find(|tree| tree.dir == dir).unwrap_or(&new);
        let top = paths::identity(&top_of_tree(dir));
        let modules = if before.has_modules { dir.join("modules") } else { PathBuf::from("/dev/null") };
        // The command may have written both the index and the place of the tree.
        let is_inside = |link: &Path| {
            let is_plain = |part| matches!(part, Component::Normal(_));
            link.components().all(is_plain) && paths::identity(&top.join(link)).starts_with(&top)
        };
        let is_planted = |link: &&PathBuf| {
            let is_known = before.with_git.contains(*link);
            !is_known && is_inside(link) && !nested_git::is_plain(&top.join(link), &modules, 0)
        };
        let links = nested_git::git_links(dir);
        let is_watched = top.starts_with(&self.root);
        let planted: Vec<&PathBuf> = links.iter().filter(|_| is_watched).filter(is_planted).collect();
        if planted.is_empty() {
            return Vec::new();
        }
        for link in &planted {
            let git = top.join(link).join(".git");
            let other = format!(".git.blocked-{}", ids::id().simple());
            FileAt::find(&git).and_then(|at| at.rename(&other)).ok();
        }
        let added: Vec<&PathBuf> =
            planted.iter().filter(|link| !before.links.contains(**link)).copied().collect();
        forget(&self.dir, dir, &top, &added);
        planted.into_iter().map(|link| top.join(link).join(".git")).collect()
    }
}

/// The folders with the indexes of a repository: its own, and those of its additional working trees.
fn trees(dir: &Path) -> impl Iterator<Item = PathBuf> {
    std::iter::once(dir.to_path_buf()).chain(protected::working_trees(dir))
}

/// Removes submodules from the index in a folder of a repository. If git fails to do so, they stay there without a
/// repository. Git gets the repository's own folder, which is protected: the command may have written the folder of an
/// additional working tree, and with it the name of another repository.
fn forget(repository: &Path, dir: &Path, top: &Path, links: &[&PathBuf]) {
    use std::os::unix::ffi::OsStrExt;

    let index = dir.join("index");
    // Git would write to the target of a link.
    let is_file = FileAt::find(&index).and_then(|at| at.open_file(false)).is_ok();
    let Ok(mut names) = tempfile::tempfile() else { return };
    let list: Vec<u8> = links.iter().flat_map(|link| [link.as_os_str().as_bytes(), b"\0"].concat()).collect();
    if !is_file || names.write_all(&list).and_then(|()| names.rewind()).is_err() {
        return;
    }
    remove(&dir.join("index.lock"));
    let mut command = Command::new("git");
    ChildEnv::of_helpers().apply(&mut command);
    command.envs(git::hardened(&[])).env("GIT_INDEX_FILE", &index);
    command.arg("--git-dir").arg(repository).arg("--work-tree").arg(top);
    command.args(["update-index", "-z", "--force-remove", "--stdin"]).current_dir(top).stdin(names);
    git::output_within(&mut command, LONGEST).ok();
}

/// The file that says which branch is checked out.
const HEAD: &str = "HEAD";
/// The folders that a repository has: itself, its objects and its branches.
const PARTS: [&str; 3] = ["", "objects", "refs"];

/// The `HEAD` of a repository, if git accepts it: a branch, or the name of a commit.
fn head(dir: &Path) -> Option<Vec<u8>> {
    let path = dir.join(HEAD);
    let bytes = match fs::read_link(&path) {
        Ok(target) => {
            return target.starts_with("refs").then(|| format!("ref: {}\n", target.display()).into());
        }
        Err(_) => read(&path),
    };
    let text = bytes.trim_end();
    let is_branch = text.strip_prefix("ref:").is_some_and(|name| name.trim_start().starts_with("refs/"));
    let is_commit = [40, 64].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_branch || is_commit).then(|| bytes.into_bytes())
}

/// Whether it is a folder that can be entered.
fn is_open(folder: &Path) -> bool {
    folder.is_dir() && rustix::fs::access(folder, Access::EXEC_OK).is_ok()
}

/// The folders of a repository that are links.
fn linked(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let folders = MUST_STAY_FOLDERS.map(|name| dir.join(name)).into_iter();
    folders.filter(|folder| folder.is_symlink())
}

/// The forbidden files of a repository and its working trees.
fn candidates(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let names = MUST_NOT_APPEAR.map(|name| dir.join(name)).into_iter();
    names.chain(protected::working_trees(dir).into_iter().map(|tree| tree.join("config.worktree")))
}

/// The lists of remaining rebase steps, of a repository and its working trees.
fn to_do_lists(dir: &Path) -> impl Iterator<Item = PathBuf> {
    trees(dir).map(|dir| dir.join(TO_DO)).filter(|list| exists(list))
}

fn commands(text: &str) -> Vec<String> {
    text.lines().filter_map(command).map(str::to_owned).collect()
}

/// The command that a line of such a list makes git run.
fn command(line: &str) -> Option<&str> {
    let (word, rest) = line.trim_start().split_once(|c: char| c.is_whitespace())?;
    matches!(word, "exec" | "x").then_some(rest.trim())
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The text of a regular file; empty for any other.
fn read(path: &Path) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = FileAt::find(path).and_then(|at| at.open_file(false)) {
        file.take(MAX_TO_DO).read_to_end(&mut bytes).ok();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let at = FileAt::find(path)?;
    let temporary = at.temporary(0o644)?;
    (&temporary.file).write_all(bytes)?;
    temporary.replace()
}

/// Removes a file, or a directory with everything in it; true if there was something.
fn remove(path: &Path) -> bool {
    match path.symlink_metadata() {
        Err(_) => false,
        // No link is followed on the way.
        Ok(metadata) if metadata.is_dir() => FileAt::find(path).is_ok() && fs::remove_dir_all(path).is_ok(),
        Ok(_) => FileAt::find(path).and_then(|at| at.remove(false)).is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        for part in ["objects", "refs/heads", "info"] {
            fs::create_dir_all(git.join(part)).unwrap();
        }
        fs::write(git.join(HEAD), "ref: refs/heads/main\n").unwrap();
        fs::write(git.join("config"), "[core]\n").unwrap();
        let elsewhere = folder.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("attributes"), "* diff=x\n").unwrap();
        let watch = RepositoryWatch::new(&[folder.path().to_path_buf()]);
        assert!(watch.settle().is_empty(), "nothing was changed");
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, git.join(at)).unwrap();
        let changes: [(&str, &dyn Fn()); 9] = [
            ("HEAD", &|| fs::remove_file(git.join(HEAD)).unwrap()),
            ("HEAD", &|| fs::write(git.join(HEAD), "").unwrap()),
            ("HEAD", &|| {
                fs::remove_file(git.join(HEAD)).unwrap();
                fs::create_dir(git.join(HEAD)).unwrap();
            }),
            ("HEAD", &|| {
                fs::remove_file(git.join(HEAD)).unwrap();
                link("config", HEAD);
            }),
            ("refs", &|| fs::remove_dir_all(git.join("refs")).unwrap()),
            ("objects", &|| fs::rename(git.join("objects"), git.join("ob")).unwrap()),
            ("objects", &|| {
                fs::remove_dir(git.join("objects")).unwrap();
                fs::write(git.join("objects"), "").unwrap();
            }),
            ("info", &|| {
                fs::remove_dir(git.join("info")).unwrap();
                link("../elsewhere", "info");
            }),
            ("rebase-merge", &|| link("../elsewhere", "rebase-merge")),
        ];
        for (name, change) in changes {
            change();
            assert_eq!(watch.settle(), [git.join(name)]);
            assert!(head(&git).is_some() && PARTS.iter().all(|part| is_open(&git.join(part))), "{name}");
            assert!(linked(&git).next().is_none() && watch.settle().is_empty(), "{name}");
        }
    }
}
