//! Undoes changes to repositories that would make git run something and that no mount could prevent.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::nested_git::{self, GitLinks};
use super::protected;
use crate::file_at::FileAt;
use crate::ids;
use crate::process::ChildEnv;

/// Files that must not appear in a repository or the folder of a working tree: git would read its
/// configuration or that of others from there, or run programs they name.
const MUST_NOT_APPEAR: [&str; 4] = ["commondir", "config.worktree", "info/attributes", "modules"];
/// The remaining steps of a rebase. Lines with `exec` are commands.
const TO_DO: &str = "rebase-merge/git-rebase-todo";
/// The largest such list that is read, in bytes.
const MAX_TO_DO: u64 = 16 * 1024 * 1024;

/// The repositories that a command can change, in their state before it.
#[derive(Debug, Default)]
pub(super) struct RepositoryWatch {
    repositories: Vec<Repository>,
}

#[derive(Debug)]
struct Repository {
    /// The top of the working tree.
    top: PathBuf,
    /// Its `.git`.
    dir: PathBuf,
    /// The forbidden files that already existed.
    there: BTreeSet<PathBuf>,
    /// The commands of unfinished rebases.
    commands: BTreeSet<String>,
    links: GitLinks,
    /// The submodules that have a repository.
    with_git: BTreeSet<PathBuf>,
}

impl RepositoryWatch {
    /// Records the state of the repositories at these writable roots.
    pub(super) fn new(roots: &[PathBuf]) -> Self {
        let all = roots.iter().flat_map(|root| protected::repositories(root));
        RepositoryWatch { repositories: all.map(Repository::new).collect() }
    }

    /// Undoes forbidden changes and returns the paths concerned.
    pub(super) fn settle(&self) -> Vec<PathBuf> {
        self.repositories.iter().flat_map(Repository::settle).collect()
    }
}

impl Repository {
    fn new(dir: PathBuf) -> Self {
        let top = protected::top_of(&dir).to_path_buf();
        let links = nested_git::git_links(&dir);
        let has_git = |link: &&PathBuf| exists(&top.join(link).join(".git"));
        Repository {
            there: candidates(&dir).filter(|path| exists(path)).collect(),
            commands: to_do_lists(&dir).flat_map(|list| commands(&read(&list))).collect(),
            with_git: links.iter().filter(has_git).cloned().collect(),
            links,
            top,
            dir,
        }
    }

    fn settle(&self) -> Vec<PathBuf> {
        let appeared = candidates(&self.dir).filter(|path| !self.there.contains(path) && remove(path));
        let mut undone: Vec<PathBuf> = appeared.collect();
        undone.extend(to_do_lists(&self.dir).filter(|list| self.without_new_commands(list)));
        undone.extend(self.settle_links());
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

    /// Keeps git from entering submodules that the command has made, if it would run something in there.
    fn settle_links(&self) -> Vec<PathBuf> {
        let modules = self.dir.join("modules");
        let modules = if self.there.contains(&modules) { modules } else { PathBuf::from("/dev/null") };
        let is_planted = |link: &&PathBuf| {
            !self.with_git.contains(*link) && !nested_git::is_plain(&self.top.join(link), &modules, 0)
        };
        let links = nested_git::git_links(&self.dir);
        let planted: Vec<&PathBuf> = links.iter().filter(is_planted).collect();
        if planted.is_empty() {
            return Vec::new();
        }
        for link in &planted {
            let git = self.top.join(link).join(".git");
            let other = format!(".git.blocked-{}", ids::id().simple());
            FileAt::find(&git).and_then(|at| at.rename(&other)).ok();
        }
        let added: Vec<&PathBuf> =
            planted.iter().filter(|link| !self.links.contains(**link)).copied().collect();
        self.forget(&added);
        planted.into_iter().map(|link| self.top.join(link).join(".git")).collect()
    }

    /// Removes submodules from the index. If git fails to do so, they stay there without a repository.
    fn forget(&self, links: &[&PathBuf]) {
        use std::os::unix::ffi::OsStrExt;

        remove(&self.dir.join("index.lock"));
        let mut git = Command::new("git");
        ChildEnv::of_helpers().apply(&mut git);
        let started = git
            .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--git-dir"])
            .arg(&self.dir)
            .arg("--work-tree")
            .arg(&self.top)
            .args(["update-index", "-z", "--force-remove", "--stdin"])
            .current_dir(&self.top)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = started else { return };
        if let Some(mut stdin) = child.stdin.take() {
            for link in links {
                let name = [link.as_os_str().as_bytes(), b"\0"].concat();
                stdin.write_all(&name).ok();
            }
        }
        child.wait().ok();
    }
}

/// The forbidden files of a repository and its working trees.
fn candidates(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let names = MUST_NOT_APPEAR.map(|name| dir.join(name)).into_iter();
    names.chain(protected::working_trees(dir).into_iter().map(|tree| tree.join("config.worktree")))
}

/// The lists of remaining rebase steps, of a repository and its working trees.
fn to_do_lists(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let trees = protected::working_trees(dir).into_iter();
    trees.chain([dir.to_path_buf()]).map(|dir| dir.join(TO_DO)).filter(|list| exists(list))
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
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path).is_ok(),
        Ok(_) => FileAt::find(path).and_then(|at| at.remove(false)).is_ok(),
    }
}
