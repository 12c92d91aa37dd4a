//! All files of a worktree as a commit, without a change to its index or its branch.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::Worktree;
use super::git::{Git, Repository};
use tau_tools::user_error::UserError;

/// The mode of a submodule in the index.
const GIT_LINK: &[u8] = b"160000 ";
/// The files from which git reads rules.
const RULES: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];

/// The state of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ahead {
    /// The number of commits that the working tree it was made from has not.
    pub commits: u64,
    /// The number of files that are changed or new, and not committed.
    pub changes: usize,
}

impl Ahead {
    /// Whether there is nothing to lose.
    pub fn is_nothing(&self) -> bool {
        self.commits == 0 && self.changes == 0
    }
}

impl Worktree {
    /// Compares it with the working tree that it was made from.
    pub fn ahead(&self) -> Result<Ahead, UserError> {
        self.check()?;
        let base = Git::within(&self.origin()?).text(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
        let range = format!("{base}..HEAD");
        let commits = Git::within(&self.path).text(&["rev-list", "--count", &range])?;
        Ok(Ahead { commits: commits.parse().unwrap_or(0), changes: changes(&self.path)?.len() })
    }

    /// The working tree that it was made from, or that of the repository's own if that is gone.
    pub fn origin(&self) -> Result<PathBuf, UserError> {
        let is_of_repository = |dir: &Path| {
            Repository::around(dir).is_ok_and(|found| found.common == self.repository && found.top == dir)
        };
        let own = self.repository.parent().map(Path::to_owned);
        let found = [Some(self.from.clone()), own].into_iter().flatten().find(|dir| is_of_repository(dir));
        found.ok_or_else(|| {
            UserError::new(format!(
                "{} is not a working tree of its repository any more",
                self.from.display()
            ))
        })
    }

    /// The commit with all its files, whether or not they are committed; the same as the one that is checked out if
    /// nothing is changed. Only files that git ignores are missing.
    pub fn snapshot(&self, message: &str) -> Result<Snapshot, UserError> {
        self.check()?;
        refuse_repositories(&self.path)?;
        let git = Git::within(&self.path);
        let head = git.text(&["rev-parse", "--verify", "HEAD"])?;
        let files = commit_files(git, Some(&head), message)?;
        Ok(Snapshot { head, files })
    }

    /// The files whose staged version is neither the committed one nor the one in the folder.
    pub fn staged_only(&self) -> Result<Vec<OsString>, UserError> {
        let git = Git::within(&self.path);
        let index = IndexCopy::of(git)?;
        let git = git.with_index(&index.file);
        let diff = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=all"];
        let changed = git.names(&diff)?;
        let staged = git.names(&[&diff[..], &["--cached"]].concat())?;
        Ok(staged.into_iter().filter(|name| changed.contains(name)).collect())
    }

    /// The commit of what is staged, upon `head`; `None` if nothing is, or if conflicts are not resolved, for which git
    /// has no tree.
    pub fn commit_staged(&self, head: &str, message: &str) -> Result<Option<String>, UserError> {
        let git = Git::within(&self.path);
        let index = IndexCopy::of(git)?;
        let git = git.with_index(&index.file);
        if !git.text(&["ls-files", "--unmerged"])?.is_empty() {
            return Ok(None);
        }
        let staged = commit_index(git, Some(head), message)?;
        Ok((staged != head).then_some(staged))
    }
}

/// The files of a working tree that are changed or new, and not committed. Fails if there is a repository among them,
/// whose files git does not keep.
fn changes(top: &Path) -> Result<Vec<PathBuf>, UserError> {
    let index = IndexCopy::of(Git::within(top))?;
    index.refuse_submodules(top)?;
    let status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"];
    let git = Git::within(top).with_index(&index.file);
    let names = git.names(&[status.as_slice(), &["--ignore-submodules=all"]].concat())?;
    let path = |name: &OsStr| PathBuf::from(OsStr::from_bytes(name.as_bytes().get(3..).unwrap_or_default()));
    let paths: Vec<PathBuf> = names.iter().map(|name| path(name)).collect();
    match paths.iter().find(|path| path.as_os_str().as_bytes().ends_with(b"/")) {
        Some(nested) => Err(has_repository(top, nested)),
        None => Ok(paths),
    }
}

/// Fails if there is another repository in a working tree, whose files git does not keep.
pub(crate) fn refuse_repositories(top: &Path) -> Result<(), UserError> {
    refuse_pipes(top)?;
    changes(top).map(drop)
}

fn has_repository(top: &Path, nested: &Path) -> UserError {
    is_apart(top, nested, "move it elsewhere first")
}

fn is_apart(top: &Path, nested: &Path, remedy: &str) -> UserError {
    let nested = top.join(nested);
    format!("{} is a repository of its own, whose files would be lost; {remedy}", nested.display()).into()
}

/// Fails if a commit names another repository, whose files it does not have.
pub(crate) fn refuse_links(git: Git<'_>, commit: &str) -> Result<(), UserError> {
    let entries = git.names(&["ls-tree", "-r", "-z", commit])?;
    let link = entries.iter().find(|entry| entry.as_bytes().starts_with(GIT_LINK));
    let name = link.and_then(|entry| name_of(entry)).map(Path::new);
    name.map_or(Ok(()), |name| Err(has_repository(git.dir, name)))
}

/// Fails if a file from which git reads rules is a pipe or the like: git would wait for it.
pub(crate) fn refuse_pipes(top: &Path) -> Result<(), UserError> {
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            if kind.is_dir() {
                folders.extend((name != ".git").then(|| entry.path()));
            } else if RULES.iter().any(|rules| name == *rules) && !(kind.is_file() || kind.is_symlink()) {
                return Err(
                    format!("{} is not a regular file; remove it first", entry.path().display()).into()
                );
            }
        }
    }
    Ok(())
}

/// A copy of an index, in which no file is marked as one that git shall not look at, except those that are not there.
pub(super) struct IndexCopy {
    pub file: PathBuf,
    /// The files in it, each with its mode first.
    entries: Vec<OsString>,
    _dir: TempDir,
}

impl IndexCopy {
    /// A copy of a working tree's index; the file does not exist if the working tree has no index.
    pub fn of(git: Git<'_>) -> Result<Self, UserError> {
        let index = git.path(&["rev-parse", "--path-format=absolute", "--git-path", "index"])?;
        let dir = tempfile::tempdir().map_err(|error| format!("cannot make a folder: {error}"))?;
        let mut copy = IndexCopy { file: dir.path().join("index"), entries: Vec::new(), _dir: dir };
        if index.is_file() {
            let copied = copy_index(&index, &copy.file);
            copied.map_err(|error| format!("cannot read {}: {error}", index.display()))?;
            copy.look_at_all(git)?;
        }
        Ok(copy)
    }

    fn look_at_all(&mut self, git: Git<'_>) -> Result<(), UserError> {
        let dir = git.dir;
        let git = git.with_index(&self.file);
        let (mut assumed, mut skipped) = (Vec::new(), Vec::new());
        for line in git.names(&["ls-files", "-v", "--stage", "--full-name", "-z", "--", ":/"])? {
            let Some((mark, entry)) = line.as_bytes().split_first() else { continue };
            let entry = OsStr::from_bytes(entry.trim_ascii_start()).to_owned();
            let name = name_of(&entry).map(OsStr::to_owned).unwrap_or_default();
            if *mark != b'H' && dir.join(&name).symlink_metadata().is_ok() {
                assumed.extend(mark.is_ascii_lowercase().then(|| name.clone()));
                skipped.extend(mark.eq_ignore_ascii_case(&b'S').then_some(name));
            }
            self.entries.push(entry);
        }
        for (flag, names) in [("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped)] {
            if !names.is_empty() {
                git.with_names(&["update-index", flag, "-z", "--stdin"], &names)?;
            }
        }
        Ok(())
    }

    /// Fails if a submodule is checked out: git would look at it with another git, whose environment is not hardened.
    fn refuse_submodules(&self, top: &Path) -> Result<(), UserError> {
        let found = self.submodules(top).next();
        let remedy = "it is a submodule: take it out of this working tree first, with `git submodule deinit`";
        found.map_or(Ok(()), |link| Err(is_apart(top, Path::new(link), remedy)))
    }

    /// The submodules that are checked out.
    pub fn submodules(&self, top: &Path) -> impl Iterator<Item = &OsStr> {
        let links = self.entries.iter().filter(|entry| entry.as_bytes().starts_with(GIT_LINK));
        let is_checked_out = |link: &&OsStr| top.join(link).join(".git").symlink_metadata().is_ok();
        links.filter_map(|entry| name_of(entry)).filter(is_checked_out)
    }
}

/// The name in a line with mode, object, stage and name.
fn name_of(entry: &OsStr) -> Option<&OsStr> {
    entry.as_bytes().splitn(2, |byte| *byte == b'\t').nth(1).map(OsStr::from_bytes)
}

/// Copies an index with its time: git compares the contents of files that are not older than their index, since one
/// that changed in the same second may look the same.
fn copy_index(index: &Path, copy: &Path) -> std::io::Result<()> {
    let modified = index.metadata()?.modified()?;
    std::fs::copy(index, copy)?;
    std::fs::File::options().write(true).open(copy)?.set_modified(modified)
}

/// Makes a commit of all files of a working tree, upon `head`, and changes neither its index nor its branch. It is
/// `head` itself if nothing is changed.
pub(crate) fn commit_files(git: Git<'_>, head: Option<&str>, message: &str) -> Result<String, UserError> {
    let index = IndexCopy::of(git)?;
    if head.is_some() && !index.file.exists() {
        // Without it, all files would count as removed.
        return Err(format!("{} is not checked out completely", git.dir.display()).into());
    }
    let git = git.with_index(&index.file);
    git.text(&[add_all(git), &["--", ":/"]].concat())?;
    commit_index(git, head, message)
}

/// The command that adds all files, also those outside a sparse checkout.
pub(super) fn add_all(git: Git<'_>) -> &'static [&'static str] {
    match git.text(&["config", "--type=bool", "core.sparseCheckout"]).as_deref() {
        Ok("true") => &["add", "--all", "--sparse"],
        _ => &["add", "--all"],
    }
}

/// Makes a commit of an index, upon `head`; it is `head` itself if nothing is changed.
fn commit_index(git: Git<'_>, head: Option<&str>, message: &str) -> Result<String, UserError> {
    let tree = git.text(&["write-tree"])?;
    let mut commit = vec!["commit-tree", "-m", message];
    if let Some(head) = head {
        if git.text(&["rev-parse", &format!("{head}^{{tree}}")])? == tree {
            return Ok(head.to_owned());
        }
        commit.extend(["-p", head]);
    }
    commit.push(&tree);
    git.with_identity().text(&commit)
}

/// The files of a worktree at one point in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// The commit that is checked out.
    pub head: String,
    /// The commit with all files.
    pub files: String,
}
