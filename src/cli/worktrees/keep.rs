//! The end of a worktree: merged back, or removed with what it had kept in the repository, from which it can be restored.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::git::{Git, Repository};
use super::snapshot::{Snapshot, refuse_pipes};
use super::{EnteredWorktree, Worktree, check_name, enter, is_name, lock, record_file, remove_tree};
use crate::compose::environment;
use crate::process::plain;
use tau_agent::settings::{Paths, Settings};
use tau_tools::user_error::UserError;

/// The references that keep removed worktrees: for each name the commit that was checked out (`head`), one
/// with all files (`files`), and one with what was staged (`staged`), if anything was.
const KEPT: &str = "refs/tau/worktrees";
/// Number of paths that are named.
const NAMED: usize = 3;

pub(crate) struct MergeOutcome {
    /// The branch that has its work now.
    pub into: String,
    /// The files with a staged version that was not merged, and the name under which it is kept.
    pub kept: Option<(String, String)>,
    /// The ignored files that were removed.
    pub lost: Option<String>,
}

impl MergeOutcome {
    /// It in words.
    pub fn words(&self, name: &str) -> String {
        let lost = lost_files_note(self.lost.as_deref());
        let kept = self.kept.as_ref().map(|(files, kept)| {
            let files = plain::line(files);
            format!("; not merged, but kept: the staged version of {files} (`tau worktree restore {kept}`)")
        });
        let kept = kept.unwrap_or_default();
        format!("merged {name} into {}, and removed it{kept}{lost}", plain::line(&self.into))
    }
}

/// The ignored files that were removed, in words.
fn lost_files_note(paths: Option<&str>) -> String {
    paths.map(|paths| format!("; ignored files went with it: {}", plain::line(paths))).unwrap_or_default()
}

#[derive(Default)]
pub(crate) struct RemovalOutcome {
    /// The name under which its work is kept; `None` if it had none.
    pub kept: Option<String>,
    /// The branch that stays, if it had no folder.
    pub branch: Option<String>,
    /// The ignored files that were removed.
    pub lost: Option<String>,
    /// The folder that has its files, if its repository is gone.
    pub files: Option<PathBuf>,
}

impl RemovalOutcome {
    /// It in words.
    pub fn words(&self, name: &str) -> String {
        let lost = lost_files_note(self.lost.as_deref());
        if let Some(folder) = &self.files {
            let folder = plain::line(&folder.display().to_string());
            return format!(
                "removed {name}, whose repository is gone; its files are in {folder}: delete them there"
            );
        }
        match (&self.kept, &self.branch) {
            (Some(kept), _) => format!("removed {name}; `tau worktree restore {kept}` brings it back{lost}"),
            (None, Some(branch)) => {
                format!("removed {name}; its branch {branch} stays: `tau worktree add {name}` checks it out")
            }
            (None, None) => format!("removed {name}, which had no work of its own{lost}"),
        }
    }
}

impl Worktree {
    /// Merges it into the branch of the working tree that it was made from, and removes it. If it cannot be merged,
    /// nothing is changed.
    pub fn merge(&self, paths: &Paths) -> Result<MergeOutcome, UserError> {
        if !self.exists() {
            let remedy = format!("`tau worktree add {}` checks it out", self.name);
            return Err(UserError::new(self.missing_folder()).remedy(remedy));
        }
        self.check_unlocked()?;
        let into = self.origin()?;
        super::git::check_safe(&into)?;
        let here = Git::within(&into);
        let branch = here
            .text(&["symbolic-ref", "--quiet", "--short", "HEAD"])
            .map_err(|_| format!("no branch is checked out in {}; check one out first", into.display()))?;
        let cannot = |why: &str| format!("cannot merge {} into {branch}: {why}", self.name);
        if in_progress(&into) {
            return Err(cannot(&format!("a merge or rebase in {} has not ended", into.display())).into());
        }
        if in_progress(&self.path) {
            return Err(cannot("a merge or rebase in the worktree has not ended").into());
        }
        let snapshot = self.snapshot(&format!("Work in the worktree {}", self.name))?;
        let (files, staged) = (&snapshot.files, self.staged_only()?);
        let tree = match merged_tree(&into, files) {
            MergedTree::Conflicts(conflicts) => {
                let remedy = format!("merge {branch} into the worktree first");
                return Err(cannot(&format!("both changed {conflicts}; {remedy}")).into());
            }
            MergedTree::Clean(tree) => tree,
            MergedTree::Unknown => files.clone(),
        };
        if let Some(path) = overwritten(&into, &tree)? {
            let path = plain::line(&path.to_string_lossy());
            let remedy = "move it away first, or remove what the worktree has there";
            let why = format!("it would replace your own {path}, which is not committed; {remedy}");
            return Err(cannot(&why).into());
        }
        let message = format!("Merge the worktree {}", self.name);
        let options =
            ["merge", "--quiet", "--no-edit", "--no-stat", "--no-verify", "--commit", "--no-squash"];
        let merge = [&options[..], &["--ff", "-m", &message, files]].concat();
        let undo = environment::undo_options(&Settings::load_leniently(paths).0, paths);
        if let Err(why) = undo.change_beside_calls(|| here.with_identity().text(&merge)) {
            if in_progress(&into) {
                let _ = here.text(&["merge", "--abort"]);
            }
            return Err(cannot(&format!("{why}; nothing was changed")).into());
        }
        let remove = || {
            let kept = words(&staged).map(|files| Ok::<_, UserError>((files, self.keep(&snapshot)?)));
            let (kept, lost) = (kept.transpose()?, self.ignored_paths());
            self.discard(paths)?;
            Ok((kept, lost))
        };
        let (kept, lost) = remove().map_err(|why: UserError| {
            UserError::new(format!("merged {} into {branch}, but could not remove it", self.name))
                .because(why)
        })?;
        Ok(MergeOutcome { into: branch, kept, lost })
    }

    /// Removes it. What it had stays in the repository.
    pub fn remove(&self, paths: &Paths) -> Result<RemovalOutcome, UserError> {
        let _lock = lock(&self.record(paths))?;
        if self.is_orphan() {
            let files = self.move_away()?;
            self.forget_record(paths)?;
            return Ok(RemovalOutcome { files: Some(files), ..RemovalOutcome::default() });
        }
        if !self.exists() || self.is_unfinished() {
            let origin = self.origin()?;
            let (git, branch) = (Git::within(&origin), self.branch());
            let has_branch =
                git.succeeds(&["show-ref", "--verify", "--quiet", &format!("refs/heads/{branch}")]);
            if self.is_unfinished() {
                remove_tree(&git, &self.path)?;
            } else {
                let _ = self.forget_folder(&origin);
            }
            self.forget_record(paths)?;
            let branch = has_branch.then_some(branch);
            return Ok(RemovalOutcome { branch, ..RemovalOutcome::default() });
        }
        self.check_unlocked()?;
        refuse_pipes(&self.path)?;
        let ahead = self.ahead()?;
        let mut kept = None;
        if !ahead.is_nothing() {
            let snapshot = self.snapshot(&format!("Uncommitted files of the worktree {}", self.name))?;
            kept = Some(self.keep(&snapshot)?);
        }
        let lost = self.ignored_paths();
        self.discard(paths)?;
        Ok(RemovalOutcome { kept, lost, ..RemovalOutcome::default() })
    }

    /// Keeps its files and what is staged in the repository; returns the name under which [`restore`] finds them.
    fn keep(&self, snapshot: &Snapshot) -> Result<String, UserError> {
        let git = Git::within(&self.path);
        let name = free_name(&self.name, &kept_commits(&git)?);
        let staged =
            self.commit_staged(&snapshot.head, &format!("Staged files of the worktree {}", self.name))?;
        let (head, files) = (snapshot.head.clone(), snapshot.files.clone());
        for (kind, commit) in [("files", Some(files)), ("staged", staged), ("head", Some(head))] {
            if let Some(commit) = commit {
                git.text(&["update-ref", &format!("{KEPT}/{name}/{kind}"), &commit])?;
            }
        }
        Ok(name)
    }

    /// Fails if the user has locked it: git would not remove it.
    fn check_unlocked(&self) -> Result<(), UserError> {
        let Some(why) = self.lock().filter(|_| !self.is_unfinished()) else { return Ok(()) };
        let why = if why.is_empty() { "without a reason" } else { &why };
        Err(UserError::new(format!("{} is locked: {}", self.name, plain::line(why)))
            .remedy(format!("`git worktree unlock {}` unlocks it", self.path.display())))
    }

    /// The paths that git ignores, in words.
    fn ignored_paths(&self) -> Option<String> {
        let list = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        words(&Git::within(&self.path).names(&list).unwrap_or_default())
    }

    /// Removes the folder, the record, and the branch if its commits are elsewhere.
    fn discard(&self, paths: &Paths) -> Result<(), UserError> {
        let origin = self.origin()?;
        let tip = Git::within(&self.path).text(&["rev-parse", "--verify", "HEAD"])?;
        self.forget_folder(&origin)?;
        let git = Git::within(&origin);
        let branch = self.branch();
        let is_kept = |commit: &str| git.succeeds(&["merge-base", "--is-ancestor", &branch, commit]);
        if is_kept(&tip) || is_kept("HEAD") {
            git.text(&["branch", "--quiet", "-D", "--", &branch])?;
        }
        self.forget_record(paths)
    }

    pub(super) fn forget_folder(&self, origin: &Path) -> Result<(), UserError> {
        let remove = ["worktree", "remove", "--force", "--"].map(OsStr::new);
        let arguments: Vec<&OsStr> = remove.into_iter().chain([self.path.as_os_str()]).collect();
        Git::within(origin).bytes(&arguments).map(drop)
    }

    /// Moves the folder beside itself, to a name that no worktree can have; returns its new place.
    fn move_away(&self) -> Result<PathBuf, UserError> {
        let numbered = |number: u32| match number {
            1 => format!("{}~", self.name),
            number => format!("{}~{number}", self.name),
        };
        let mut places = (1..).map(|number| self.path.with_file_name(numbered(number)));
        let is_free = |place: &PathBuf| place.symlink_metadata().is_err();
        let place = places.find(is_free).unwrap_or_else(|| self.path.with_extension("~"));
        std::fs::rename(&self.path, &place).map_err(|error| UserError::of_file(&self.path, error))?;
        Ok(place)
    }

    fn record(&self, paths: &Paths) -> PathBuf {
        let repository = Repository { top: self.from.clone(), common: self.repository.clone() };
        record_file(paths, &repository, &self.name)
    }

    fn forget_record(&self, paths: &Paths) -> Result<(), UserError> {
        let file = self.record(paths);
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(format!("cannot remove {}: {error}", file.display()).into())
            }
            _ => Ok(()),
        }
    }
}

/// The first of these paths in words; `None` if there are none.
fn words(paths: &[OsString]) -> Option<String> {
    let mut shown: Vec<String> =
        paths.iter().take(NAMED).map(|name| name.to_string_lossy().into_owned()).collect();
    if paths.len() > NAMED {
        shown.push(format!("{} more", paths.len() - NAMED));
    }
    (!shown.is_empty()).then(|| shown.join(", "))
}

/// Whether a merge, a rebase or the like has not ended in a working tree.
fn in_progress(dir: &Path) -> bool {
    let git = Git::within(dir);
    let names = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];
    names.iter().any(|name| {
        let path = git.path(&["rev-parse", "--path-format=absolute", "--git-path", name]);
        path.is_ok_and(|path| path.symlink_metadata().is_ok())
    }) || git.text(&["ls-files", "--unmerged"]).is_ok_and(|files| !files.is_empty())
}

/// The tree that a merge would make.
enum MergedTree {
    Clean(String),
    /// The files with conflicts, in words.
    Conflicts(String),
    /// Git is too old to tell.
    Unknown,
}

/// The tree of a merge of a commit into what is checked out in `dir`.
fn merged_tree(dir: &Path, commit: &str) -> MergedTree {
    let merge =
        ["merge-tree", "--write-tree", "--name-only", "--no-messages", "HEAD", commit].map(OsStr::new);
    let Ok((code, output, _)) = Git::within(dir).run_to_end(&merge) else { return MergedTree::Unknown };
    let output = String::from_utf8_lossy(&output);
    let mut lines = output.lines().filter(|line| !line.is_empty());
    let (tree, files) = (lines.next(), lines.collect::<Vec<_>>());
    match (code, tree) {
        (0, Some(tree)) => MergedTree::Clean(tree.to_owned()),
        (1, Some(_)) if !files.is_empty() => MergedTree::Conflicts(files.join(", ")),
        _ => MergedTree::Unknown,
    }
}

/// The first file in `dir` that is not in the repository, and that checking out this tree would replace: git spares
/// only those that it does not ignore. One with the same content is not meant.
fn overwritten(dir: &Path, tree: &str) -> Result<Option<OsString>, UserError> {
    let git = Git::within(dir);
    let added = git.names(&["diff", "--name-only", "--no-renames", "-z", "--diff-filter=A", "HEAD", tree])?;
    let top = Repository::around(dir)?.top;
    for name in added {
        let Some(place) = obstacle(&top, Path::new(&name)) else { continue };
        let mut list = ["--literal-pathspecs", "ls-files", "-z", "--full-name", "--others", "--"]
            .map(OsStr::new)
            .to_vec();
        let place = top.join(place);
        list.push(place.as_os_str());
        let untracked = Git::within(&top).bytes(&list)?;
        let Some(first) = untracked.split(|byte| *byte == 0).find(|path| !path.is_empty()) else { continue };
        let first = OsStr::from_bytes(first);
        if first != name || !has_content(&Git::within(&top), first, tree) {
            return Ok(Some(first.to_owned()));
        }
    }
    Ok(None)
}

/// The path that a new file would replace: its own, or a file that is where it needs a folder.
fn obstacle(top: &Path, name: &Path) -> Option<PathBuf> {
    let mut place = PathBuf::new();
    for part in name.components() {
        place.push(part);
        let is_folder = top.join(&place).symlink_metadata().ok()?.is_dir();
        if !is_folder || place == name {
            return Some(place);
        }
    }
    None
}

/// Whether a file has the content that it has in a tree.
fn has_content(git: &Git<'_>, name: &OsStr, tree: &str) -> bool {
    let is_file = git.dir.join(name).symlink_metadata().is_ok_and(|meta| meta.is_file());
    let hash = |arguments: &[&OsStr]| git.bytes(arguments).ok();
    let object = [OsStr::new(tree), OsStr::new(":"), name].iter().copied().collect::<OsString>();
    let of_file = || hash(&[OsStr::new("hash-object"), OsStr::new("--"), name]);
    is_file && of_file().is_some_and(|own| hash(&[OsStr::new("rev-parse"), &object]) == Some(own))
}

/// The removed worktrees that a repository keeps: the commits by name, `head`, `files` and `staged`.
fn kept_commits(git: &Git<'_>) -> Result<BTreeMap<String, BTreeMap<String, String>>, UserError> {
    let lines = git.text(&["for-each-ref", "--format=%(refname) %(objectname)", KEPT])?;
    let mut all: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for line in lines.lines() {
        let Some((reference, commit)) = line.split_once(' ') else { continue };
        let parts =
            reference.strip_prefix(KEPT).and_then(|rest| rest.trim_start_matches('/').split_once('/'));
        if let Some((name, kind)) = parts.filter(|(name, _)| is_name(name)) {
            all.entry(name.to_owned()).or_default().insert(kind.to_owned(), commit.to_owned());
        }
    }
    Ok(all)
}

/// The name, or the name with a number that is free.
fn free_name<T>(name: &str, known: &BTreeMap<String, T>) -> String {
    let numbered = (2_u32..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !known.contains_key(name)).unwrap_or_else(|| name.to_owned())
}

/// The names of the removed worktrees that the repository around a directory keeps.
pub(crate) fn kept_names(cwd: &Path) -> Result<Vec<String>, UserError> {
    Ok(kept_commits(&Git::within(cwd))?.into_keys().collect())
}

/// Makes a removed worktree again, with its uncommitted and its staged files.
pub(crate) fn restore(paths: &Paths, cwd: &Path, name: &str) -> Result<EnteredWorktree, UserError> {
    check_name(name)?;
    let git = Git::within(cwd);
    let known = kept_commits(&git)?;
    let Some(commits) = known.get(name) else {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        return Err(match names.as_slice() {
            [] => "this repository keeps no removed worktree".into(),
            names => format!("no removed worktree is kept as {name:?}, but {}", names.join(", ")).into(),
        });
    };
    let (Some(head), Some(files)) = (commits.get("head"), commits.get("files")) else {
        return Err(format!("what is kept of {name} is not complete: git for-each-ref {KEPT}/{name}").into());
    };
    let branch = format!("refs/heads/tau/{name}");
    if git.text(&["rev-parse", "--verify", "--quiet", &branch]).is_ok_and(|tip| tip != *head) {
        return Err(format!("there is another branch tau/{name}; rename it first").into());
    }
    let entered = enter(paths, cwd, name, Some(head))?;
    let worktree = Git::within(&entered.worktree.path);
    // The files come back; what was not committed is not committed again, and what was staged is staged again.
    worktree.text(&["read-tree", "-u", "--reset", files])?;
    worktree.text(&["read-tree", commits.get("staged").unwrap_or(head)])?;
    let _ = worktree.text(&["update-index", "-q", "--refresh"]);
    for kind in commits.keys() {
        git.text(&["update-ref", "-d", &format!("{KEPT}/{name}/{kind}")])?;
    }
    Ok(entered)
}
