//! The paths that tools have reached, and those the model may not know the instructions of.

use std::collections::HashSet;
use std::path::PathBuf;

/// Which paths the work has reached.
#[derive(Debug, Default)]
pub(crate) struct ReachedPaths {
    /// Since the last answer.
    new: Vec<PathBuf>,
    /// In all.
    all: HashSet<PathBuf>,
}

impl ReachedPaths {
    /// A path is reached.
    pub(crate) fn add(&mut self, path: PathBuf) {
        if self.all.insert(path.clone()) {
            self.new.push(path);
        }
    }

    /// Those that were reached for the first time since this was asked.
    pub(crate) fn take_new(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.new)
    }
}
