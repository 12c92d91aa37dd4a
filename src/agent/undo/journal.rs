//! The journal file of a session's changes, one line per event.
//!
//! A call has two lines: one before it starts, with the state of the files it declares to change, and one
//! after it with its changes. Contents are stored before the line that refers to them is written, each line
//! is one `write`, and unreadable lines are skipped; so whenever tau ends, the journal is true. A call
//! without its second line was cut off; its results are examined when the journal is opened again.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::content::Hash;
use super::ignore_rules::OuterRules;
use super::state::{FileState, StoredPath};
use crate::settings::private_files::{open_for_lines, private_dir, read_capped};

/// The version of the format.
const VERSION: u32 = 1;
/// The name of the file in the folder of a session.
pub(crate) const FILE: &str = "journal.jsonl";

/// A path that changed from one state to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Change {
    pub(crate) path: StoredPath,
    pub(crate) before: FileState,
    pub(crate) after: FileState,
    /// Whether tau ended while it restored the path, so that this is not the intended state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) halfway: bool,
}

/// A path that changed and cannot be restored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LostPath {
    pub(crate) path: StoredPath,
    pub(crate) why: LostReason,
}

/// The reason why a change cannot be restored, stored in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub(crate) enum LostReason {
    /// The path is ignored.
    Ignored,
    Other(String),
}

impl LostReason {
    const IGNORED: &str = "ignored by .gitignore";

    /// It in words.
    pub(super) fn as_str(&self) -> &str {
        match self {
            LostReason::Ignored => Self::IGNORED,
            LostReason::Other(why) => why,
        }
    }
}

impl From<String> for LostReason {
    fn from(why: String) -> Self {
        if why == Self::IGNORED { LostReason::Ignored } else { LostReason::Other(why) }
    }
}

impl From<LostReason> for String {
    fn from(why: LostReason) -> String {
        why.as_str().to_owned()
    }
}

/// The cause of changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub(crate) enum Cause {
    /// A tool call.
    Call {
        id: String,
        tool: String,
        /// The entry of the prompt that led to it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkpoint: Option<String>,
        /// Whether it may change more than the files it names.
        #[serde(default)]
        any: bool,
    },
    /// The user went back to a checkpoint, or reverted a hunk.
    Undo {
        /// The entry of the prompt; absent for a hunk.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkpoint: Option<String>,
        /// The first of the records that were undone; absent for a hunk.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<usize>,
        /// The position of the conversation, if it went back as well.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        leaf: Option<String>,
    },
    /// The user reversed the last undo.
    Redo,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line {
    Head {
        version: u32,
        session: String,
        cwd: StoredPath,
        /// The outer rules of the directory when the session began.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rules: Option<OuterRules>,
    },
    Begin {
        cause: Cause,
        /// Milliseconds since 1970.
        at: i64,
        files: Vec<(StoredPath, FileState)>,
        /// The intended state of each file, if known.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        to: Vec<FileState>,
    },
    End {
        changes: Vec<Change>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lost: Vec<LostPath>,
        /// Whether a user command ran in the meantime.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        shared: bool,
        /// Whether it was cut off by the end of tau.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
    /// The contents of the records before this one were removed to stay within the quota.
    Dropped { records: usize },
    /// Git has ceased to track these ignored files. Relative to the directory.
    Untracked { files: Vec<StoredPath> },
}

/// A change of files, from its start to its end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) cause: Cause,
    /// The start time, in milliseconds since 1970.
    pub(crate) at: i64,
    /// The files it named, in their state before it; empty once it has ended.
    pub(crate) named: Vec<(StoredPath, FileState)>,
    /// The intended state of each of them, for an undo that has not ended.
    pub(crate) to: Vec<FileState>,
    pub(crate) changes: Vec<Change>,
    pub(crate) lost: Vec<LostPath>,
    /// Whether a user command ran in the meantime, so that some of the changes may be the user's.
    pub(crate) shared: bool,
    /// Whether it was cut off by the end of tau, so that it may be incomplete.
    pub(crate) cut: bool,
    pub(crate) ended: bool,
}

impl Record {
    /// The prompt that led to it, if it is a call.
    pub(crate) fn checkpoint(&self) -> Option<&str> {
        match &self.cause {
            Cause::Call { checkpoint, .. } => checkpoint.as_deref(),
            Cause::Undo { .. } | Cause::Redo => None,
        }
    }

    /// The contents needed to undo or redo it.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = Hash> {
        let named = self.named.iter().map(|(_, state)| state);
        let changed = self.changes.iter().flat_map(|change| [&change.before, &change.after]);
        named.chain(changed).filter_map(FileState::hash)
    }
}

/// The journal of a session.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PathBuf,
    session: String,
    cwd: PathBuf,
    file: Option<File>,
    pub(crate) records: Vec<Record>,
    /// The number of records that have lost their contents to the quota.
    pub(crate) dropped: usize,
    /// The outer rules of the directory when the session began.
    pub(crate) rules: Option<OuterRules>,
    /// Ignored files that git tracked.
    pub(crate) untracked: Vec<StoredPath>,
}

impl Journal {
    /// The journal in `folder`; if missing, an empty one that is created with its first line.
    pub(crate) fn open(folder: PathBuf, session: &str, cwd: &Path) -> Self {
        let mut journal = Journal {
            folder,
            session: session.to_owned(),
            cwd: cwd.to_owned(),
            file: None,
            records: Vec::new(),
            dropped: 0,
            rules: None,
            untracked: Vec::new(),
        };
        let text = read_capped(&journal.folder.join(FILE), u64::MAX).unwrap_or_default();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if let Ok(line) = serde_json::from_slice::<Line>(line) {
                journal.take(line);
            }
        }
        journal
    }

    /// Reads the file again.
    pub(crate) fn read_again(&mut self) {
        *self = Self::open(std::mem::take(&mut self.folder), &self.session, &self.cwd);
    }

    /// The directory that the session runs in.
    pub(crate) fn cwd(&self) -> &Path {
        &self.cwd
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Head { cwd, rules, .. } => (self.cwd, self.rules) = (cwd.0, rules),
            Line::Untracked { files } => self.untracked.extend(files),
            Line::Begin { cause, at, files, to } => self.records.push(Record {
                cause,
                at,
                named: files,
                to,
                changes: Vec::new(),
                lost: Vec::new(),
                shared: false,
                cut: false,
                ended: false,
            }),
            Line::End { changes, lost, shared, cut } => {
                if let Some(record) = self.records.last_mut().filter(|record| !record.ended) {
                    record.named.clear();
                    record.to.clear();
                    (record.changes, record.lost) = (changes, lost);
                    (record.shared, record.cut, record.ended) = (shared, cut, true);
                }
            }
            Line::Dropped { records } => self.dropped = records.min(self.records.len()),
        }
    }

    /// Records that something is about to change files.
    pub(crate) fn begin(
        &mut self,
        cause: Cause,
        at: i64,
        files: Vec<(StoredPath, FileState)>,
    ) -> io::Result<()> {
        self.write(Line::Begin { cause, at, files, to: Vec::new() })
    }

    /// Records that files are about to be restored: each with its current and its intended state.
    pub(crate) fn begin_restoring(
        &mut self,
        cause: Cause,
        at: i64,
        files: Vec<(StoredPath, FileState)>,
        to: Vec<FileState>,
    ) -> io::Result<()> {
        self.write(Line::Begin { cause, at, files, to })
    }

    /// Records the changes of the last record.
    pub(crate) fn end(&mut self, changes: Vec<Change>, lost: Vec<LostPath>, shared: bool) -> io::Result<()> {
        self.write(Line::End { changes, lost, shared, cut: false })
    }

    /// Records the changes of a record that was cut off.
    pub(crate) fn end_cut_off(&mut self, changes: Vec<Change>, lost: Vec<LostPath>) -> io::Result<()> {
        self.write(Line::End { changes, lost, shared: false, cut: true })
    }

    /// Records that the contents of the first records are gone.
    pub(crate) fn drop_first(&mut self, records: usize) -> io::Result<()> {
        self.write(Line::Dropped { records })
    }

    /// Records the files that git has ceased to track.
    pub(crate) fn untrack(&mut self, files: Vec<StoredPath>) -> io::Result<()> {
        self.write(Line::Untracked { files })
    }

    fn write(&mut self, line: Line) -> io::Result<()> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => self.create()?,
        };
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.push(b'\n');
        // After a failure a part of the line may be there, so the file is opened again.
        file.write_all(&bytes)?;
        self.file = Some(file);
        self.take(line);
        Ok(())
    }

    /// Opens the file for appending, and writes its head if it is empty.
    fn create(&self) -> io::Result<File> {
        private_dir(&self.folder)?;
        let path = self.folder.join(FILE);
        let mut file = open_for_lines(&path)?;
        if file.metadata()?.len() == 0 {
            let (session, cwd) = (self.session.clone(), StoredPath(self.cwd.clone()));
            let rules = self.rules.clone();
            let mut head = serde_json::to_vec(&Line::Head { version: VERSION, session, cwd, rules })?;
            head.push(b'\n');
            file.write_all(&head)?;
        }
        Ok(file)
    }
}

/// The files named by the last record of the journal in `folder`, if it has not ended.
pub(super) fn unfinished_files(folder: &Path) -> Vec<PathBuf> {
    let text = read_capped(&folder.join(FILE), u64::MAX).unwrap_or_default();
    let last = text.rsplit(|byte| *byte == b'\n').find(|line| !line.is_empty()).unwrap_or_default();
    match serde_json::from_slice(last) {
        Ok(Line::Begin { files, .. }) => files.into_iter().map(|(path, _)| path.0).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> Cause {
        Cause::Call { id: id.into(), tool: "edit".into(), checkpoint: Some("c1".into()), any: false }
    }

    #[test]
    fn what_was_written_is_read_again_whatever_was_torn() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("s");
        let open = || Journal::open(dir.clone(), "s", Path::new("/work"));
        let path = StoredPath("/work/a".into());
        let mut journal = open();
        assert!(!dir.exists(), "nothing is made before the first line");
        journal.begin(call("1"), 5, vec![(path.clone(), FileState::Absent)]).unwrap();
        let change = Change {
            path: path.clone(),
            before: FileState::Absent,
            after: FileState::Directory { mode: 0o755 },
            halfway: false,
        };
        journal.end(vec![change.clone()], Vec::new(), true).unwrap();
        journal.begin(call("2"), 6, vec![(path, FileState::Other)]).unwrap();
        assert_eq!(open().records, journal.records);
        assert!(!open().records[1].ended);

        // Cut off in the middle of a line.
        let file = dir.join(FILE);
        let text = std::fs::read(&file).unwrap();
        std::fs::write(&file, &text[..text.len() - 10]).unwrap();
        let mut torn = open();
        assert_eq!(torn.records.len(), 1);
        assert_eq!(torn.records[0].changes, [change]);
        torn.begin(call("3"), 7, Vec::new()).unwrap();
        torn.end(Vec::new(), Vec::new(), false).unwrap();
        let again = open();
        assert_eq!(again.records, torn.records);
        assert_eq!(again.cwd(), Path::new("/work"));

        // Cut off by a failure, after which tau still runs.
        let text = [std::fs::read(&file).unwrap(), b"{\"line\":\"beg".to_vec()].concat();
        std::fs::write(&file, text).unwrap();
        torn.file = Some(File::open(&file).unwrap());
        assert!(torn.begin(call("4"), 8, Vec::new()).is_err());
        torn.begin(call("5"), 9, Vec::new()).unwrap();
        assert_eq!(open().records, torn.records);
    }
}
