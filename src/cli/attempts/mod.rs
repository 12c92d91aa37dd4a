//! Attempts: the same task in several copies of the directory, until a command succeeds.
//!
//! The copies are git working trees: of the directory's own repository, with its uncommitted changes, or of a private
//! one outside of git. So the result of each is a commit, and taking one applies a diff.

mod copies;
pub(crate) mod host;
pub(crate) mod hunks;
mod meter;
mod recover;
pub(crate) mod run;
pub(crate) mod take;
pub(crate) mod uncounted;
pub(crate) mod words;

use std::cell::LazyCell;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::process::exit::Exit;
use crate::worktrees::folder_below;
use crate::worktrees::git::{Git, Repository};
use tau_agent::settings::Paths;
use tau_agent::settings::private_files::{LockFile, read_capped, write_private};
use tau_tools::user_error::UserError;

/// Maximum size of a record, in bytes.
const MAX_RECORD: u64 = 1024 * 1024;
/// The references that keep the results.
const KEPT: &str = "refs/tau/attempts";

/// The attempts at one task.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Attempts {
    pub id: String,
    /// The directory in which the task was given.
    #[serde(with = "tau_tools::path_text")]
    pub dir: PathBuf,
    /// The root of what was copied: the working tree, or the directory itself.
    #[serde(with = "tau_tools::path_text")]
    pub top: PathBuf,
    /// The git folder that has the results.
    #[serde(with = "tau_tools::path_text")]
    pub repository: PathBuf,
    /// Whether that is a private one of tau.
    pub private: bool,
    /// The commit with the files that each attempt began with.
    pub base: String,
    /// The command that decides.
    pub check: String,
    pub task: String,
    /// The time of the start, in milliseconds since 1970.
    pub started: i64,
    /// The id of the session in which they were begun.
    pub session: Option<String>,
    pub attempts: Vec<Attempt>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Attempt {
    pub number: u32,
    /// The copy's root.
    #[serde(with = "tau_tools::path_text")]
    pub path: PathBuf,
    pub model: Option<String>,
    /// The id of its session.
    pub session: String,
    /// How it ended, as an exit code; `None` if it did not run to its end.
    pub exit_code: Option<u8>,
    /// Whether the command has succeeded.
    pub reached: bool,
    pub seconds: f64,
    /// US dollars; `None` if a price is not known.
    pub cost: Option<f64>,
    /// Whether any of it is estimated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// The commit with its files.
    pub files: Option<String>,
    /// The reason for which they could not be kept so far.
    pub unkept: Option<String>,
    pub changed: DiffSize,
}

/// The size of a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DiffSize {
    pub files: u64,
    pub added: u64,
    pub removed: u64,
}

impl Attempts {
    fn file(paths: &Paths, id: &str) -> PathBuf {
        folder(paths).join(format!("{id}.json"))
    }

    /// Writes the record.
    fn save(&self, paths: &Paths) -> Result<(), UserError> {
        let bytes = serde_json::to_vec_pretty(self).map_err(|error| error.to_string())?;
        write_private(&Self::file(paths, &self.id), &bytes)
            .map_err(|error| format!("cannot write the record of the attempts: {error}").into())
    }

    /// The lock that is held while they are at work.
    fn lock(paths: &Paths, id: &str) -> PathBuf {
        folder(paths).join(format!("{id}.lock"))
    }

    /// Takes the lock; `None` if they are at work.
    fn try_lock(&self, paths: &Paths) -> Result<Option<LockFile>, UserError> {
        let path = Self::lock(paths, &self.id);
        LockFile::try_take(&path).map_err(|error| UserError::of_file(&path, error))
    }

    /// The directory that they are of, from the top of the working tree.
    fn below(&self) -> &Path {
        self.dir.strip_prefix(&self.top).unwrap_or(Path::new(""))
    }

    /// Whether they are at work, in this process or another one.
    pub fn is_running(&self, paths: &Paths) -> bool {
        Self::lock(paths, &self.id).exists() && self.try_lock(paths).is_ok_and(|lock| lock.is_none())
    }

    /// The attempt with this number.
    pub fn attempt(&self, number: u32) -> Result<&Attempt, UserError> {
        let last = self.attempts.len();
        self.attempts
            .iter()
            .find(|attempt| attempt.number == number)
            .ok_or_else(|| format!("there is no attempt {number}; they are 1 to {last}").into())
    }

    /// Whether what was copied is still there.
    fn has_working_tree(&self) -> bool {
        self.private || self.top.join(".git").symlink_metadata().is_ok()
    }

    /// They as attempts of another working tree: of a repository that was moved, or one of whose worktrees was removed.
    /// `None` if it does not have their results.
    fn moved_to(self, here: &Repository) -> Option<Self> {
        let base =
            Git::within(&here.top).text(&["rev-parse", "--verify", "--quiet", &self.reference("base")]);
        let dir = folder_below(&here.top, self.below());
        let Repository { top, common } = here.clone();
        (base.ok()? == self.base).then_some(Attempts { dir, top, repository: common, ..self })
    }

    /// The reference that keeps the files they began with, or those of an attempt.
    fn reference(&self, name: &str) -> String {
        format!("{KEPT}/{}/{name}", self.id)
    }

    /// The folder that names the repository; outside of git, the directory.
    fn folder(&self) -> PathBuf {
        if self.private {
            return self.top.clone();
        }
        let repository = Repository { top: self.top.clone(), common: self.repository.clone() };
        repository.folder().to_owned()
    }

    /// Git on the directory that was copied.
    fn git(&self) -> Git<'_> {
        let git = Git::within(&self.top);
        if self.private { git.with_repository(&self.repository, &self.top) } else { git }
    }

    /// The exit code for all of them: that of success if one has succeeded and can be taken, else that of the first.
    pub fn exit(&self) -> Exit {
        let codes = || self.attempts.iter().filter_map(|attempt| attempt.exit_code);
        let reached = || self.attempts.iter().filter(|attempt| attempt.reached);
        if reached().any(|attempt| attempt.files.is_some()) {
            return Exit::Ok;
        }
        if reached().next().is_some() {
            return Exit::Config;
        }
        let of_code =
            |code: u8| Exit::TABLE.iter().find(|(_, known, _)| *known == code).map(|(exit, ..)| *exit);
        // An attempt that came further says more than one that failed.
        let best = [Exit::GivenUp, Exit::Limit, Exit::Stuck]
            .into_iter()
            .find(|exit| codes().any(|code| code == exit.code()));
        best.or_else(|| codes().find(|code| *code != 0).and_then(of_code)).unwrap_or(Exit::GivenUp)
    }

    /// The number of those that have succeeded and can be taken.
    fn successes(&self) -> usize {
        self.attempts.iter().filter(|attempt| attempt.reached && attempt.files.is_some()).count()
    }

    /// The cost of all so far, in US dollars, as far as prices are known.
    fn known_cost(&self) -> f64 {
        self.attempts.iter().filter_map(|attempt| attempt.cost).sum()
    }

    /// Whether the cost of any is estimated.
    fn has_estimate(&self) -> bool {
        self.attempts.iter().any(|attempt| attempt.estimated)
    }

    /// The cost of all; `None` if a price is not known.
    pub fn cost(&self) -> Option<f64> {
        self.attempts.iter().map(|attempt| attempt.cost).sum()
    }
}

/// The folder of the records, and of private repositories.
fn folder(paths: &Paths) -> PathBuf {
    paths.data.join("attempts")
}

/// The attempts of a record, whose id is the name of its file.
fn read_record(file: &Path) -> Option<Attempts> {
    let read: Option<Attempts> = serde_json::from_slice(&read_capped(file, MAX_RECORD).ok()?).ok();
    read.filter(|attempts| file.file_stem().is_some_and(|stem| stem == attempts.id.as_str()))
}

/// The records that can be read.
fn records(paths: &Paths) -> impl Iterator<Item = Attempts> {
    let files = std::fs::read_dir(folder(paths)).into_iter().flatten().flatten().map(|entry| entry.path());
    files
        .filter(|file| file.extension().is_some_and(|end| end == "json"))
        .filter_map(|file| read_record(&file))
}

/// All attempts at tasks in a directory or around it, the newest first; also those whose working tree is gone, if the
/// repository here has their results.
pub(crate) fn all(paths: &Paths, dir: &Path) -> Vec<Attempts> {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let here = LazyCell::new(|| Repository::around(&dir).ok());
    let place = |attempts: Attempts| match attempts.has_working_tree() {
        true => Some(attempts).filter(|attempts| dir.starts_with(&attempts.top)),
        false => attempts.moved_to(here.as_ref()?),
    };
    let mut all: Vec<Attempts> =
        records(paths).filter_map(place).filter(|attempts| !take::sweep_unbegun(paths, attempts)).collect();
    all.iter_mut().for_each(|attempts| recover::recover(paths, attempts));
    all.sort_by_key(|attempts| std::cmp::Reverse(attempts.started));
    all
}

/// The attempts with this id, or the newest ones of a directory.
pub(crate) fn find(paths: &Paths, dir: &Path, id: Option<&str>) -> Result<Attempts, UserError> {
    let all = all(paths, dir);
    let known: Vec<String> = all.iter().map(|attempts| attempts.id.clone()).collect();
    let found = match id {
        None => all.into_iter().next(),
        Some(id) => all.into_iter().find(|attempts| attempts.id == id),
    };
    found.ok_or_else(|| match (id, known.as_slice()) {
        (Some(id), [_, ..]) => {
            UserError::new(format!("there are no attempts {id:?} here, but {}", known.join(", ")))
        }
        _ => none_here(paths, dir),
    })
}

/// The sentence about a directory without attempts: where the repository has some, or how to make some.
pub(crate) fn none_here(paths: &Paths, dir: &Path) -> UserError {
    let none = UserError::new("there are no attempts in this directory");
    let repository = Repository::around(dir).ok();
    let elsewhere = records(paths)
        .filter(|attempts| repository.as_ref().is_some_and(|here| here.common == attempts.repository))
        .max_by_key(|attempts| attempts.started);
    none.remedy(match elsewhere {
        Some(attempts) => format!("the newest of this repository are in {}", attempts.dir.display()),
        None => "`tau -n 3 --until COMMAND TASK` makes some".to_owned(),
    })
}
