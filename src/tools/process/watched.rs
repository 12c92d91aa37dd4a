//! A running command as others see it: its output so far, its processes, and the order to keep all output.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::param::{clock_ticks_per_second, page_size};
use tokio::sync::watch;

use super::capture::Capture;
use super::process_tree::{ProcessTree, TreeMember, name};
use super::report::snapshot;
use crate::TerminalOutput;
use crate::user_error::UserError;

/// A running command, shared by the task that reads its output and those that look at it.
#[derive(Debug)]
pub struct WatchedCommand {
    pub(super) capture: Mutex<Capture>,
    pub(super) tree: OnceLock<ProcessTree>,
    /// The file with the whole output, once it exists, or the reason why it cannot be written.
    pub(super) file: watch::Sender<Option<Result<PathBuf, UserError>>>,
    /// Whether all output is kept, in a file from now on.
    pub(super) kept: watch::Sender<bool>,
    /// The size of the output, in bytes.
    pub(super) size: watch::Sender<u64>,
    /// Whether it has time to end by itself when it is cancelled.
    pub(super) has_time: AtomicBool,
}

/// The use of the machine by a command and everything it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeUsage {
    /// Its living processes.
    pub processes: Vec<TreeMember>,
    /// Their processor time, and that of children that have ended.
    pub cpu: Duration,
    /// Their memory, in bytes.
    pub memory: u64,
}

/// Output from a position on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputSince {
    /// The bytes that are still in memory.
    pub bytes: Vec<u8>,
    /// The number of bytes before them that are not.
    pub omitted: u64,
    /// The size of the whole output so far.
    pub end: u64,
}

impl Default for WatchedCommand {
    fn default() -> Self {
        WatchedCommand {
            capture: Mutex::default(),
            tree: OnceLock::new(),
            file: watch::Sender::new(None),
            kept: watch::Sender::new(false),
            size: watch::Sender::new(0),
            has_time: AtomicBool::new(false),
        }
    }
}

impl WatchedCommand {
    /// Has the whole output written to a file, and kept in memory as far as it fits after the end.
    pub fn keep_output(&self) {
        self.kept.send_replace(true);
    }

    /// Has a cancelled command end by itself, for a second: not the user stops the work, but one who can wait.
    pub(crate) fn give_time(&self) {
        self.has_time.store(true, Ordering::Relaxed);
    }

    /// Waits until all output is to be kept.
    pub(super) async fn wants_file(&self) {
        // The sender is alive.
        let _ = self.kept.subscribe().wait_for(|kept| *kept).await;
    }

    pub(super) fn is_kept(&self) -> bool {
        *self.kept.borrow()
    }

    /// The size of the output, which changes with it.
    pub fn size(&self) -> watch::Receiver<u64> {
        self.size.subscribe()
    }

    /// The output from a position on.
    pub fn since(&self, position: u64) -> OutputSince {
        self.capture.lock().since(position)
    }

    /// The end of the output, for people.
    pub fn tail(&self, most: usize) -> TerminalOutput {
        snapshot(&self.capture.lock(), most)
    }

    /// Waits until there is a file with the whole output, or there cannot be one.
    pub(crate) async fn wait_for_file(&self) {
        // The sender is alive.
        let _ = self.file.subscribe().wait_for(Option::is_some).await;
    }

    /// The file with the whole output.
    pub fn file(&self) -> Option<PathBuf> {
        self.file.borrow().as_ref()?.as_ref().ok().cloned()
    }

    /// The reason why the whole output is not in a file.
    pub fn file_trouble(&self) -> Option<UserError> {
        self.file.borrow().as_ref()?.as_ref().err().cloned()
    }

    /// The use of the machine by its processes. Blocks.
    pub fn usage(&self) -> TreeUsage {
        let Some(tree) = self.tree.get() else { return TreeUsage::default() };
        let members = tree.now();
        let ticks: u64 = members.iter().map(|member| member.ticks.saturating_add(member.reaped)).sum();
        let pages: u64 = members.iter().map(|member| member.pages).sum();
        let member = |pid| TreeMember { pid, name: name(pid) };
        TreeUsage {
            processes: members.iter().map(|entry| member(entry.pid)).collect(),
            cpu: Duration::from_millis(ticks.saturating_mul(1_000) / clock_ticks_per_second().max(1)),
            memory: pages.saturating_mul(page_size() as u64),
        }
    }

    /// The mark of its processes, once it has started.
    pub(crate) fn mark(&self) -> Option<u64> {
        self.tree.get().map(ProcessTree::mark)
    }

    /// Kills all its processes at once. Blocks for a moment.
    pub fn kill(&self) {
        if let Some(tree) = self.tree.get() {
            tree.kill_now();
        }
    }
}
