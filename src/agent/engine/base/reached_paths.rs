//! The paths that tools have reached, whose instructions the model may not know.

use std::collections::HashSet;
use std::path::PathBuf;

/// The paths that the work has reached.
#[derive(Debug, Default)]
pub(crate) struct ReachedPaths {
    /// Paths reached since the last answer.
    new: Vec<PathBuf>,
    all: HashSet<PathBuf>,
    /// The notices that the user was given about their instruction files.
    noticed: HashSet<String>,
}

impl ReachedPaths {
    pub(crate) fn add(&mut self, path: PathBuf) {
        if self.all.insert(path.clone()) {
            self.new.push(path);
        }
    }

    /// Returns the paths reached for the first time since the last call.
    pub(crate) fn take_new(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.new)
    }

    /// Whether the user is given this notice for the first time.
    pub(crate) fn is_news(&mut self, notice: &str) -> bool {
        self.noticed.insert(notice.to_owned())
    }
}
