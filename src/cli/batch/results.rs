//! The shared folder of a batch: a result for each task, written once.
//!
//! `results/ID.json` are the results, `runs/ID.jsonl` the events of the last attempt, `work/ID` the clones, and
//! `patches/ID.patch` what changed in them.

use std::collections::HashMap;
use std::fmt::Display;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::tasks::BatchTask;
use crate::process::exit::Refusal;
use crate::process::plain;
use tau_agent::settings::private_files::{LockFile, read_capped, sync_folder};
use tau_tools::file_at::{self, FileAt};
use tau_tools::regular_files::read_text;

/// Maximum size of a result, in bytes.
const MAX_SIZE: u64 = 4 << 20;
/// Bytes that are kept of a check's output and of an answer.
const KEPT: usize = 4 * 1024;
/// Maximum size of what tau writes to standard error, in bytes.
const MAX_ERRORS: u64 = 4 << 20;
/// Maximum number of times that a result is written again because its file was removed.
const TRIES: u32 = 3;
/// The folders in it.
const PARTS: [&str; 5] = ["results", "runs", "work", "patches", "locks"];

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TaskResult {
    pub id: String,
    /// The hash of the task.
    pub task: String,
    pub passed: bool,
    /// The end of the run: its exit code, and that in words.
    pub exit_code: u8,
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckResult>,
    /// US dollars; absent if the price of the model is not known.
    pub cost: Option<f64>,
    /// Whether any of the cost and the tokens is estimated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    pub tokens: u64,
    pub seconds: f64,
    /// The last answer.
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The file of the changes in a clone, from the batch's folder.
    #[serde(with = "tau_tools::path_text", skip_serializing_if = "Option::is_none")]
    pub patch: Option<PathBuf>,
    /// Why the changes, or some of them, are not in that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncollected: Option<String>,
    pub machine: String,
    /// The end, as ISO 8601.
    pub ended: String,
}

/// The end of the command that decides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CheckResult {
    /// Absent if a signal or the time limit ended it.
    pub exit_code: Option<i32>,
    /// The number of the signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    pub seconds: f64,
    /// The end of its output.
    pub output: String,
}

#[derive(Clone, Debug)]
pub(crate) struct BatchFolder(PathBuf);

impl BatchFolder {
    /// Makes the folder. Fails if it cannot be written to.
    pub fn make(path: &Path) -> Result<Self, Refusal> {
        for folder in PARTS.map(|part| path.join(part)) {
            let made = fs::create_dir_all(&folder).and_then(|()| tempfile::tempfile_in(&folder));
            made.map_err(|error| refusal(&folder, &error))?;
        }
        let folder = path.canonicalize().map(BatchFolder).map_err(|error| refusal(path, &error))?;
        // Results that a killed process has begun to write. A living one holds the lock of its file; where locks do not
        // reach across machines, it begins again.
        file_at::sweep(&folder.results_folder().map_err(|error| refusal(path, &error))?);
        Ok(folder)
    }

    /// The folder, which may not exist. Fails if something else is in its place.
    pub fn at(path: &Path) -> Result<Self, Refusal> {
        for folder in [path.to_owned()].into_iter().chain(PARTS.map(|part| path.join(part))) {
            match (folder.symlink_metadata(), folder.metadata()) {
                (_, Ok(found)) if found.is_dir() => {}
                (_, Ok(_)) => return Err(refusal(&folder, &"it is not a folder")),
                (Ok(_), Err(_)) => return Err(refusal(&folder, &"it is a link that leads nowhere")),
                (Err(error), _) if error.kind() == ErrorKind::NotFound => {}
                (Err(error), _) => return Err(refusal(&folder, &error)),
            }
        }
        Ok(BatchFolder(path.canonicalize().unwrap_or_else(|_| path.to_owned())))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The folder of the results, links followed.
    fn results_folder(&self) -> io::Result<PathBuf> {
        self.0.join("results").canonicalize()
    }

    fn result_file(&self, id: &str) -> PathBuf {
        self.0.join("results").join(format!("{id}.json"))
    }

    /// The file of the events of a task's last attempt.
    pub fn run_file(&self, id: &str) -> PathBuf {
        self.0.join("runs").join(format!("{id}.jsonl"))
    }

    /// The file of what the last attempt wrote to standard error.
    pub fn error_file(&self, id: &str) -> PathBuf {
        self.0.join("runs").join(format!("{id}.err"))
    }

    /// The clone of a task.
    pub fn work(&self, id: &str) -> PathBuf {
        self.0.join("work").join(id)
    }

    /// The file of the changes in a clone, from this folder.
    pub fn patch(id: &str) -> PathBuf {
        Path::new("patches").join(format!("{id}.patch"))
    }

    /// Claims a task for this process, on this machine and, where the file system has locks across machines, on
    /// others; `None` while another one works on it.
    pub fn claim(&self, id: &str) -> io::Result<Option<LockFile>> {
        LockFile::try_take(&self.lock_file(id))
    }

    /// The lock of a task's claim.
    pub fn lock_file(&self, id: &str) -> PathBuf {
        self.0.join("locks").join(format!("{id}.lock"))
    }

    /// The result of a task; `None` if it has none.
    pub fn result(&self, task: &BatchTask) -> Result<Option<TaskResult>, Refusal> {
        let file = self.result_file(&task.id);
        let bytes = match read_capped(&file, MAX_SIZE) {
            Ok(bytes) => bytes,
            // A link that leads nowhere is in the way of a result.
            Err(error) if error.kind() == ErrorKind::NotFound && file.symlink_metadata().is_err() => {
                return Ok(None);
            }
            Err(error) => return Err(Refusal::config(format!("cannot read {}: {error}", file.display()))),
        };
        let result: TaskResult = serde_json::from_slice(&bytes)
            .map_err(|error| Refusal::config(format!("{} is no result: {error}", file.display())))?;
        if result.task != task.hash {
            return Err(Refusal::config(format!(
                "{} is of another task called {}: give the task another id, or use another --results",
                file.display(),
                task.id
            )));
        }
        Ok(Some(result))
    }

    /// The results of these tasks, by id. Fails like [`Self::result`].
    pub fn results(&self, tasks: &[BatchTask]) -> Result<HashMap<String, TaskResult>, Refusal> {
        let results = tasks.iter().filter_map(|task| self.result(task).transpose());
        results.map(|result| result.map(|result| (result.id.clone(), result))).collect()
    }

    /// Writes the result of a task, unless there is one; returns whether it did. The file appears as a whole, and
    /// is on disk then.
    pub fn write(&self, result: &TaskResult) -> io::Result<bool> {
        let folder = self.results_folder()?;
        let mut bytes = serde_json::to_vec_pretty(result)?;
        bytes.push(b'\n');
        let mut tries = 1..=TRIES;
        loop {
            let at = FileAt::find(&folder.join(format!("{}.json", result.id)))?;
            let new = at.temporary(0o600)?;
            (&new.file).write_all(&bytes)?;
            new.file.sync_all()?;
            match new.put() {
                Ok(()) => {
                    sync_folder(&folder)?;
                    return Ok(true);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
                // Without locks, another batch has taken it for a rest.
                Err(error) if error.kind() == ErrorKind::NotFound && tries.next().is_some() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes the results of these tasks, so that they run again. Fails with errors of the file system.
    pub fn forget(&self, ids: &[String]) -> Result<(), Refusal> {
        for id in ids {
            let file = self.result_file(id);
            let removed = fs::remove_file(&file);
            removed.map_err(|error| Refusal::config(format!("cannot remove {}: {error}", file.display())))?;
        }
        Ok(())
    }
}

fn refusal(folder: &Path, why: &dyn Display) -> Refusal {
    Refusal::config(format!("cannot use {}: {why}; choose another folder with --results", folder.display()))
}

/// The last line of what tau wrote to standard error.
pub(super) fn last_line(file: &Path) -> Option<String> {
    let text = read_text(file, MAX_ERRORS).ok()?;
    let line = text.lines().rev().find_map(|line| line.strip_prefix("tau: "))?;
    Some(plain::line(line))
}

/// The end of a text.
pub(super) fn tail(text: &str) -> String {
    let from = text.len().saturating_sub(KEPT);
    let from = (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    text.get(from..).unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_written_once() {
        let dir = tempfile::tempdir().unwrap();
        let folder = BatchFolder::make(dir.path()).unwrap();
        let task = BatchTask { id: "a".into(), hash: "h".into(), ..BatchTask::default() };
        assert_eq!(folder.result(&task).unwrap(), None);
        let result =
            TaskResult { id: "a".into(), task: task.hash.clone(), passed: true, ..TaskResult::default() };
        assert!(folder.write(&result).unwrap());
        assert!(!folder.write(&TaskResult { passed: false, ..result.clone() }).unwrap());
        assert_eq!(folder.result(&task).unwrap(), Some(result));
        assert!(folder.result(&BatchTask { hash: "other".into(), ..task.clone() }).is_err());
        assert_eq!(fs::read_dir(dir.path().join("results")).unwrap().count(), 1);
        let held = folder.claim("a").unwrap();
        assert!(held.is_some() && folder.claim("a").unwrap().is_none());
        folder.forget(&["a".to_owned()]).unwrap();
        assert_eq!(folder.result(&task).unwrap(), None);
    }
}
