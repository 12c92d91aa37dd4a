//! Systems on which changes of directories are not reported.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tau_agent::extensions::watched::Interest;

/// Never made.
#[derive(Debug)]
pub(crate) enum DirectoryWatch {}

impl DirectoryWatch {
    pub(crate) fn new(_: &BTreeMap<PathBuf, Interest>) -> Option<Self> {
        None
    }

    /// Never ends.
    pub(crate) async fn changed(_: &mut Option<Self>) {
        std::future::pending().await
    }
}
