//! Undoing a session's changes in a real directory: restored files, questions, and changes reported as not
//! covered. The engine's and the screen's parts are in other files.

mod astray;
mod covered;
mod going_back;
mod ignored;
mod kills;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tau::agent::protocol::undo::{ConflictChoice, RestoreReport, UndoOrder, UndoScope};
use tau::agent::undo::{CallStart, Prompt, SessionUndo, UndoOptions};
use tau::tools::access::Access;

use crate::time_limit::RunInTime;

/// A session that changes files in a directory of its own.
pub(crate) struct Work {
    folder: tempfile::TempDir,
    quota: u64,
    pub(crate) undo: SessionUndo,
    prompts: Vec<Prompt>,
}

impl Work {
    pub(crate) fn new() -> Self {
        Self::with_quota(1 << 30)
    }

    pub(crate) fn with_quota(quota: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        let undo = open(folder.path(), quota, "session");
        let mut work = Work { folder, quota, undo, prompts: Vec::new() };
        work.prompt("one");
        work
    }

    /// tau ends.
    pub(crate) fn close(&mut self) {
        self.undo = open(self.folder.path(), self.quota, "other");
    }

    pub(crate) fn reopen(&mut self) {
        self.close();
        self.undo = open(self.folder.path(), self.quota, "session");
    }

    pub(crate) fn options(&self) -> UndoOptions {
        options(self.folder.path(), self.quota)
    }

    pub(crate) fn kept(&self) -> PathBuf {
        self.folder.path().join("undo")
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("work").join(path)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        crate::support::write(&self.at(path), &text);
    }

    pub(crate) fn text(&self, path: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.at(path)).unwrap()).into_owned()
    }

    /// Every path with its mode, and its content or link target.
    pub(crate) fn state(&self) -> BTreeMap<String, String> {
        let mut state = BTreeMap::new();
        let root = self.at("");
        let mut open = vec![root.clone()];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(dir).unwrap().flatten() {
                let path = entry.path();
                let metadata = path.symlink_metadata().unwrap();
                let content = if metadata.is_dir() {
                    if entry.file_name() == ".git" {
                        continue;
                    }
                    open.push(path.clone());
                    String::new()
                } else if metadata.is_symlink() {
                    format!("-> {}", fs::read_link(&path).unwrap().display())
                } else {
                    format!("{:?}", String::from_utf8_lossy(&fs::read(&path).unwrap()))
                };
                let name = path.strip_prefix(&root).unwrap().display().to_string();
                state.insert(name, format!("{:o} {content}", metadata.permissions().mode() & 0o7777));
            }
        }
        state
    }

    /// The user sends another prompt.
    pub(crate) fn prompt(&mut self, name: &str) {
        let prompt = Prompt { entry_id: name.into(), text: name.into(), timestamp: 0 };
        self.prompts.push(prompt);
    }

    pub(crate) fn begin(&mut self, access: &Access) {
        let checkpoint = self.prompts.last().map(|prompt| prompt.entry_id.clone());
        self.undo.begin(CallStart { id: "1".into(), tool: "tool".into(), checkpoint }, access);
    }

    /// The agent runs a command.
    pub(crate) fn run(&mut self, command: &str) {
        self.begin(&Access::command(command));
        self.user(command);
        self.undo.end(false);
    }

    /// The user runs a command.
    pub(crate) fn user(&self, command: &str) {
        // Hooks and filters of the user running the tests must not interfere.
        let git =
            "git() { command git -c user.name=x -c user.email=x@x -c core.hooksPath=/dev/null \"$@\"; }";
        let script = format!("set -e; {git}\n{command}");
        let mut bash = Command::new("bash");
        bash.args(["-c", &script]).current_dir(self.at("")).env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(bash.status_in_time().success(), "{command}");
    }

    /// The agent writes a file.
    pub(crate) fn edit(&mut self, path: &str, text: &str) {
        self.begin(&Access::change(self.at(path)));
        self.write(path, text);
        self.undo.end(false);
    }

    /// Goes back to a prompt, with this choice for every conflict.
    pub(crate) fn back(&mut self, to: &str, otherwise: ConflictChoice) -> RestoreReport {
        let order =
            UndoOrder { entry_id: to.into(), scope: UndoScope::Files, otherwise, ..UndoOrder::default() };
        self.undo.undo(&self.prompts, &order, None).unwrap()
    }

    pub(crate) fn redo(&mut self) -> RestoreReport {
        self.undo.redo(&UndoOrder::default()).unwrap().0
    }

    pub(crate) fn plan(&mut self, to: &str) -> tau::agent::protocol::undo::UndoPlan {
        self.undo.plan(&self.prompts, to).unwrap()
    }

    pub(crate) fn lost(&mut self) -> Vec<(String, String)> {
        self.undo.changes().not_covered.into_iter().map(|lost| (lost.path, lost.reason)).collect()
    }
}

fn options(folder: &Path, quota: u64) -> UndoOptions {
    UndoOptions { dir: folder.join("undo"), quota, own: "".into() }
}

pub(crate) fn open(folder: &Path, quota: u64, session: &str) -> SessionUndo {
    SessionUndo::open(&options(folder, quota), session, &folder.join("work"), false)
}
