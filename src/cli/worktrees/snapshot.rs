//! All files of a worktree as a commit, without a change to its index or its branch.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Worktree;
use super::git::{Git, Repository};
use tau_tools::user_error::UserError;

/// The mode of a submodule in the index.
const GIT_LINK: &[u8] = b"160000 ";

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
}

/// The files of a working tree that are changed or new, and not committed. Fails if there is a repository among them,
/// whose files git does not keep.
fn changes(top: &Path) -> Result<Vec<PathBuf>, UserError> {
    refuse_submodules(top)?;
    let status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"];
    let names = Git::within(top).names(&[status.as_slice(), &["--ignore-submodules=all"]].concat())?;
    let path = |name: &OsStr| PathBuf::from(OsStr::from_bytes(name.as_bytes().get(3..).unwrap_or_default()));
    let paths: Vec<PathBuf> = names.iter().map(|name| path(name)).collect();
    match paths.iter().find(|path| path.as_os_str().as_bytes().ends_with(b"/")) {
        Some(nested) => Err(has_repository(top, nested).into()),
        None => Ok(paths),
    }
}

/// Fails if there is another repository in a working tree, whose files git does not keep.
pub(crate) fn refuse_repositories(top: &Path) -> Result<(), UserError> {
    changes(top).map(drop)
}

fn has_repository(top: &Path, nested: &Path) -> String {
    format!(
        "{} is a repository of its own, whose files would be lost; move it elsewhere first",
        top.join(nested).display()
    )
}

/// Fails if a submodule is checked out: git would look at it with another git, whose environment is not hardened.
fn refuse_submodules(top: &Path) -> Result<(), UserError> {
    let entries = Git::within(top).names(&["ls-files", "--stage", "-z"])?;
    let links = entries.iter().filter_map(|entry| {
        let entry = entry.as_bytes().strip_prefix(GIT_LINK)?;
        let name = entry.split(|byte| *byte == b'\t').nth(1)?;
        Some(PathBuf::from(OsStr::from_bytes(name)))
    });
    let is_checked_out = |link: &PathBuf| top.join(link).join(".git").symlink_metadata().is_ok();
    links.into_iter().find(is_checked_out).map_or(Ok(()), |link| Err(has_repository(top, &link).into()))
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
    let index = git.path(&["rev-parse", "--path-format=absolute", "--git-path", "index"])?;
    let dir = tempfile::tempdir().map_err(|error| format!("cannot make a folder: {error}"))?;
    let copy = dir.path().join("index");
    if index.exists() {
        copy_index(&index, &copy).map_err(|error| format!("cannot read {}: {error}", index.display()))?;
    }
    let git = git.with_index(&copy);
    git.text(&["add", "--all", "--", ":/"])?;
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
