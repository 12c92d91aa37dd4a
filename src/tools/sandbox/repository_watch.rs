//! Undoes changes to repositories that would make git run something and that no mount could prevent.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::Access;

use super::git_names::{BLOCKED, unknown_entries};
use super::nested_git::{self, GitLinks, IndexVersion, KnownDoubts, NestedGit};
use super::other_systems::KnownSettings;
use super::unfinished::{Check, FILES};
use super::{git_search, protected};
use crate::file_at::FileAt;
use crate::ids;
use crate::paths;
use crate::process::{ChildEnv, git};

/// Folders in which no links must appear: git would read from their targets, or write to them.
const WITHOUT_LINKS: [&str; 8] =
    ["", "info", "objects", "objects/info", "rebase-apply", "rebase-merge", "sequencer", "worktrees"];
/// Such folders with everything in them.
const WITHOUT_LINKS_BELOW: [&str; 2] = ["logs", "rr-cache"];
/// The remaining steps of a rebase, a cherry-pick or a revert.
const TO_DO: [&str; 2] = ["rebase-merge/git-rebase-todo", "sequencer/todo"];
/// The words that such steps begin with, apart from commands to run.
const STEPS: [&str; 24] = [
    "b", "break", "d", "drop", "e", "edit", "f", "fixup", "l", "label", "m", "merge", "noop", "p", "pick",
    "r", "reset", "revert", "reword", "s", "squash", "t", "u", "update-ref",
];
/// The largest file that is read, in bytes.
const MAX_READ: u64 = 16 * 1024 * 1024;

/// The repositories that a command can change, in their state before it.
#[derive(Debug, Default)]
pub(super) struct RepositoryWatch {
    repositories: Vec<Repository>,
    /// The doubts about the repositories within them.
    nested: KnownDoubts,
    /// The folders that hold the repositories of submodules, which are protected.
    modules: Vec<PathBuf>,
    /// The workspace, which is searched also if it is not a repository.
    workspace: Option<PathBuf>,
    /// Whether it had no `.git`.
    is_without_git: bool,
    /// The writable roots.
    roots: Vec<PathBuf>,
    /// The settings of other version control systems.
    others: KnownSettings,
}

#[derive(Debug)]
struct Repository {
    /// Its `.git`.
    dir: PathBuf,
    /// The files that must not appear, but existed before the command.
    there: BTreeSet<PathBuf>,
    /// The commands in the steps of unfinished operations.
    commands: BTreeSet<String>,
    /// The files of unfinished operations.
    unfinished: BTreeMap<PathBuf, Vec<u8>>,
    /// Its own working tree, and the additional ones.
    trees: Vec<Tree>,
    /// The writable root that it is in.
    root: PathBuf,
    /// Its `HEAD`, if git takes it for a repository.
    head: Option<Vec<u8>>,
}

/// A forbidden change that was undone.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UndoneChange {
    pub path: PathBuf,
    /// The new name of what was there, if it was kept.
    pub renamed: Option<String>,
}

impl From<PathBuf> for UndoneChange {
    fn from(path: PathBuf) -> Self {
        UndoneChange { path, renamed: None }
    }
}

/// A working tree.
#[derive(Debug, Default)]
struct Tree {
    /// The folder with its index.
    dir: PathBuf,
    version: IndexVersion,
    links: GitLinks,
}

impl Tree {
    fn new(repository: &Path, dir: PathBuf) -> Self {
        let version = nested_git::index_version(&dir);
        Tree { links: nested_git::git_links(repository, &dir).unwrap_or_default(), version, dir }
    }
}

impl RepositoryWatch {
    /// Records the state of the repositories at these writable roots, and in the workspace if it is one of them.
    pub(super) fn new(roots: &[PathBuf], workspace: &Path) -> Self {
        let of = |root: &PathBuf| {
            let found = protected::repositories(root).into_iter();
            found.map(|dir| Repository::new(dir, root.clone())).collect::<Vec<_>>()
        };
        let repositories: Vec<Repository> = roots.iter().flat_map(of).collect();
        let trees = repositories.iter().flat_map(|repository| &repository.trees);
        let modules = trees.map(|tree| tree.dir.join("modules")).filter(|modules| exists(modules)).collect();
        let workspace = Some(paths::identity(workspace)).filter(|workspace| roots.contains(workspace));
        let is_without_git = workspace.as_ref().is_some_and(|workspace| !exists(&workspace.join(".git")));
        let mut watch = RepositoryWatch {
            repositories,
            modules,
            workspace,
            is_without_git,
            roots: roots.to_vec(),
            ..RepositoryWatch::default()
        };
        let indexes = watch.indexes();
        let found = watch.search(&indexes);
        let nested = watch.nested_repositories(&indexes, &found);
        let others = KnownSettings::new(&found.of_others);
        watch.nested = nested.into_values().collect();
        watch.others = others;
        watch
    }

    /// Undoes forbidden changes and returns them.
    pub(super) fn settle(&self) -> Vec<UndoneChange> {
        let mut undone: Vec<UndoneChange> = self.repositories.iter().flat_map(Repository::settle).collect();
        let indexes = self.indexes();
        let found = self.search(&indexes);
        let planted = self.others.find_planted(&found.of_others).into_iter();
        undone.extend(self.settle_nested_repositories(indexes, &found));
        undone.extend(planted.map(put_away));
        undone
    }

    /// The repositories in the working trees and the workspace, and the roots that may have settings.
    fn search(&self, indexes: &[Index<'_>]) -> git_search::Repositories {
        let mut outer: Vec<&PathBuf> =
            indexes.iter().map(|index| &index.top).chain(&self.workspace).collect();
        outer.sort();
        // In order, what is within a folder comes after it.
        outer.dedup_by(|later, earlier| later.starts_with(&**earlier));
        let mut all = git_search::Repositories::default();
        for top in outer {
            let found = git_search::repositories_in(top);
            let may_be = |nested: &PathBuf| nested != top || self.is_without_git;
            all.with_git.extend(found.with_git.into_iter().filter(may_be));
            let is_watched = |dir: &PathBuf| self.repositories.iter().any(|watched| watched.dir == *dir);
            all.bare.extend(found.bare.into_iter().filter(|dir| !is_watched(dir)));
            all.of_others.extend(found.of_others);
        }
        let others = self.roots.iter().filter(|root| !all.of_others.contains(root)).cloned();
        let others: Vec<PathBuf> = others.collect();
        all.of_others.extend(others);
        all
    }

    /// Keeps git from entering repositories that the command has made or changed, if it would run something in there.
    fn settle_nested_repositories(
        &self,
        indexes: Vec<Index<'_>>,
        found: &git_search::Repositories,
    ) -> Vec<UndoneChange> {
        let nested = self.nested_repositories(&indexes, found).into_iter();
        // Without its `HEAD`, git takes no folder for a repository.
        let planted: BTreeSet<PathBuf> =
            nested.filter(|(_, nested)| self.nested.is_new(nested)).map(|(key, _)| key).collect();
        let undone = planted.iter().cloned().map(put_away).collect();
        for Index { repository, dir, top, links } in indexes {
            let before = repository.trees.iter().find(|tree| tree.dir == dir).map(|tree| &tree.links);
            let is_added = |link: &&PathBuf| {
                planted.contains(&top.join(link).join(".git"))
                    && !before.is_some_and(|before| before.contains(*link))
            };
            let added: Vec<&PathBuf> = links.iter().filter(is_added).collect();
            if !added.is_empty() {
                repository.forget(&dir, &top, &added);
            }
        }
        undone
    }

    /// The repositories within the working trees of those that are watched, and in the workspace: those that an index
    /// names, and others, which a commit may name or the user enter. They have the files by which git finds them.
    fn nested_repositories(
        &self,
        indexes: &[Index<'_>],
        found: &git_search::Repositories,
    ) -> BTreeMap<PathBuf, NestedGit> {
        let watched = self.repositories.iter().map(|repository| repository.dir.clone());
        let watched: Vec<PathBuf> = watched.chain(self.modules.iter().cloned()).collect();
        let in_index = indexes.iter().flat_map(|Index { top, links, .. }| {
            // The command may have written both the index and the place of the tree.
            let tops = links.iter().map(move |link| top.join(link));
            tops.filter(move |nested| paths::identity(nested).starts_with(top))
        });
        let tops: BTreeSet<PathBuf> = found.with_git.iter().cloned().chain(in_index).collect();
        let with_git = tops
            .into_iter()
            .filter_map(|top| NestedGit::find(&top, &watched).map(|nested| (top.join(".git"), nested)));
        let bare = found.bare.iter().filter_map(|dir| Some((dir.join(HEAD), NestedGit::of_folder(dir)?)));
        with_git.chain(bare).collect()
    }

    /// The indexes of the repositories, as they are now.
    fn indexes(&self) -> Vec<Index<'_>> {
        let all = self.repositories.iter().flat_map(|repository| {
            protected::trees(&repository.dir).filter_map(move |dir| Index::find(repository, dir))
        });
        all.collect()
    }
}

/// The index of a working tree at the writable root of its repository.
struct Index<'a> {
    repository: &'a Repository,
    /// The folder that it is in.
    dir: PathBuf,
    top: PathBuf,
    /// The submodules that it names, as far as they are known.
    links: GitLinks,
}

impl<'a> Index<'a> {
    fn find(repository: &'a Repository, dir: PathBuf) -> Option<Self> {
        let top = paths::identity(&protected::top_of_tree(&dir));
        if !top.starts_with(&repository.root) {
            return None;
        }
        let links = nested_git::git_links(&repository.dir, &dir).unwrap_or_default();
        Some(Index { repository, dir, top, links })
    }
}

impl Repository {
    fn new(dir: PathBuf, root: PathBuf) -> Self {
        let files = unfinished_files(&dir).filter_map(|(path, _)| Some((read(&path)?, path)));
        Repository {
            there: not_of_git(&dir)
                .chain(links(&dir))
                .chain(strangers(&dir))
                .filter(|path| exists(path))
                .collect(),
            commands: to_do_lists(&dir).flat_map(|list| commands(&read_text(&list))).collect(),
            unfinished: files.map(|(bytes, path)| (path, bytes)).collect(),
            trees: protected::trees(&dir).map(|tree| Tree::new(&dir, tree)).collect(),
            root,
            head: head(&dir).filter(|_| PARTS.iter().all(|part| is_open(&dir.join(part)))),
            dir,
        }
    }

    fn settle(&self) -> Vec<UndoneChange> {
        let is_removed = |path: &PathBuf| !self.there.contains(path) && remove(path);
        let mut undone: Vec<UndoneChange> =
            links(&self.dir).filter(is_removed).map(UndoneChange::from).collect();
        undone.extend(self.restore().into_iter().map(UndoneChange::from));
        let new = not_of_git(&self.dir).filter(|path| !self.there.contains(path));
        undone.extend(new.filter_map(|path| block(&path).or_else(|| remove(&path).then(|| path.into()))));
        let lists = to_do_lists(&self.dir).filter(|list| self.without_new_commands(list));
        undone.extend(lists.map(UndoneChange::from));
        undone.extend(self.settle_unfinished_files().into_iter().map(UndoneChange::from));
        undone.extend(protected::trees(&self.dir).filter_map(|tree| self.settle_index(&tree)));
        undone.extend(strangers(&self.dir).filter(is_removed).map(UndoneChange::from));
        undone.dedup();
        undone
    }

    /// Puts back the files of unfinished operations with which git would run something or write elsewhere.
    fn settle_unfinished_files(&self) -> Vec<PathBuf> {
        let put_back = |(path, is_harmless): (PathBuf, Check)| {
            let (now, before) = (read(&path), self.unfinished.get(&path));
            let is_fine = now.is_some_and(|now| before == Some(&now) || is_harmless(&now));
            if is_fine || !exists(&path) {
                return None;
            }
            let is_back = before.is_some_and(|before| replace(&path, before).is_ok());
            (is_back || remove(&path)).then_some(path)
        };
        unfinished_files(&self.dir).filter_map(put_back).collect()
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
        let Some(bytes) = read(list) else { return remove(list) };
        let text = String::from_utf8_lossy(&bytes);
        let is_new = |line: &str| command(line).is_some_and(|command| !self.commands.contains(command));
        if !text.lines().any(is_new) {
            return false;
        }
        let kept: String = text.split_inclusive('\n').filter(|line| !is_new(line.trim_end())).collect();
        replace(list, kept.as_bytes()).is_ok() || remove(list)
    }

    /// Puts away an index that the command has written and git cannot list. `dir` is the folder with it.
    fn settle_index(&self, dir: &Path) -> Option<UndoneChange> {
        let before = self.trees.iter().find(|tree| tree.dir == dir);
        let is_changed = || before.is_none_or(|tree| tree.version != nested_git::index_version(dir));
        let is_here = || paths::identity(&protected::top_of_tree(dir)).starts_with(&self.root);
        let is_unknown = nested_git::git_links(&self.dir, dir).is_none();
        (is_unknown && is_changed() && is_here()).then(|| block(&dir.join("index"))).flatten()
    }

    /// Removes submodules from the index in a folder of the repository, whose working tree is `top`. If git fails to do
    /// so, they stay there without a repository. Git gets the repository's own folder, which is protected: the command
    /// may have written the folder of an additional working tree, and with it the name of another repository.
    fn forget(&self, dir: &Path, top: &Path, links: &[&PathBuf]) {
        use std::os::unix::ffi::OsStrExt;

        let index = dir.join("index");
        // Git would write to the target of a link.
        let is_file = FileAt::find(&index).and_then(|at| at.open_file(false)).is_ok();
        let Ok(mut names) = tempfile::tempfile() else { return };
        let list: Vec<u8> =
            links.iter().flat_map(|link| [link.as_os_str().as_bytes(), b"\0"].concat()).collect();
        if !is_file || names.write_all(&list).and_then(|()| names.rewind()).is_err() {
            return;
        }
        remove(&dir.join("index.lock"));
        let mut command = Command::new("git");
        ChildEnv::of_helpers().apply(&mut command);
        command.envs(git::hardening_variables(&[])).env("GIT_INDEX_FILE", &index);
        command.arg("--git-dir").arg(&self.dir).arg("--work-tree").arg(top);
        command.args(["update-index", "-z", "--force-remove", "--stdin"]).current_dir(top).stdin(names);
        git::output_within(&mut command, nested_git::LONGEST).ok();
    }
}

/// Renames a file, or if a link leads to it the folder that it is in, so that no program finds it, if that can be done.
fn put_away(path: PathBuf) -> UndoneChange {
    let above = || path.ancestors().skip(1).find(|above| above.is_symlink()).and_then(block);
    block(&path).or_else(above).unwrap_or_else(|| path.into())
}

/// Renames a file or folder so that git does not find it, if that can be done.
fn block(path: &Path) -> Option<UndoneChange> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let other = format!("{name}{BLOCKED}{}", ids::id().simple());
    FileAt::find(path).and_then(|at| at.rename(&other)).ok()?;
    Some(UndoneChange { path: path.to_owned(), renamed: Some(other) })
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
        Err(_) => read_text(&path),
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

/// The links in the folders of a repository, except `HEAD` in its own, which git may make a link.
fn links(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let of_tree = |tree: PathBuf| {
        let flat = WITHOUT_LINKS.map(|name| (tree.join(name), false));
        flat.into_iter().chain(WITHOUT_LINKS_BELOW.map(|name| (tree.join(name), true))).collect::<Vec<_>>()
    };
    let mut folders: Vec<(PathBuf, bool)> = protected::trees(dir).flat_map(of_tree).collect();
    let mut links = Vec::new();
    while let Some((folder, is_deep)) = folders.pop() {
        if folder.is_symlink() {
            continue;
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_symlink() && (is_deep || entry.file_name() != HEAD) {
                links.push(entry.path());
            } else if kind.is_dir() && is_deep {
                folders.push((entry.path(), true));
            }
        }
    }
    links.into_iter()
}

/// The files that must not appear in a repository and its working trees.
fn not_of_git(dir: &Path) -> impl Iterator<Item = PathBuf> {
    protected::trees(dir).flat_map(|tree| unknown_entries(dir, &tree))
}

/// The files that make working trees of a repository those of another one.
fn strangers(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let is_stranger = |common: &PathBuf| {
        let named = common.parent().map(|tree| tree.join(read_text(common).trim_end()));
        exists(common) && named.is_none_or(|named| paths::identity(&named) != paths::identity(dir))
    };
    let trees = protected::working_trees(dir).map(|tree| tree.join("commondir"));
    trees.filter(is_stranger).collect::<Vec<_>>().into_iter()
}

/// The possible files of unfinished operations.
fn unfinished_files(dir: &Path) -> impl Iterator<Item = (PathBuf, Check)> {
    protected::trees(dir).flat_map(|tree| FILES.map(|(name, check)| (tree.join(name), check)))
}

/// The lists of remaining steps, of a repository and its working trees.
fn to_do_lists(dir: &Path) -> impl Iterator<Item = PathBuf> {
    protected::trees(dir).flat_map(|dir| TO_DO.map(|name| dir.join(name))).filter(|list| exists(list))
}

fn commands(text: &str) -> Vec<String> {
    text.lines().filter_map(command).map(str::to_owned).collect()
}

/// A line of such a list, if it is neither a comment nor a step that runs nothing.
fn command(line: &str) -> Option<&str> {
    let line = line.trim();
    let word = line.split(|c: char| c.is_whitespace()).next().unwrap_or_default();
    (word.starts_with(|c: char| c.is_ascii_alphanumeric()) && !STEPS.contains(&word)).then_some(line)
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The content of a regular file that is not too large.
fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = FileAt::find(path).and_then(|at| at.open_file(false)).ok()?;
    file.take(MAX_READ).read_to_end(&mut bytes).ok()?;
    u64::try_from(bytes.len()).is_ok_and(|length| length < MAX_READ).then_some(bytes)
}

/// The text of such a file; empty for any other.
fn read_text(path: &Path) -> String {
    String::from_utf8_lossy(&read(path).unwrap_or_default()).into_owned()
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
        let watch = RepositoryWatch::new(&[folder.path().to_path_buf()], folder.path());
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
            ("objects", &|| fs::rename(git.join("objects"), folder.path().join("ob")).unwrap()),
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
            assert_eq!(watch.settle(), [UndoneChange::from(git.join(name))]);
            assert!(head(&git).is_some() && PARTS.iter().all(|part| is_open(&git.join(part))), "{name}");
            assert!(links(&git).next().is_none() && watch.settle().is_empty(), "{name}");
        }
    }
}
