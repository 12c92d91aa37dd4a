//! Systems that do not report changes of directories.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tau_agent::extensions::watched::Interest;

/// Never constructed.
#[derive(Debug)]
pub(crate) enum DirectoryWatch {}

impl DirectoryWatch {
    pub(crate) fn new(_: &BTreeMap<PathBuf, Interest>) -> Option<Self> {
        None
    }

    /// Never ends.
    pub(crate) async fn wait_for_change(_: &mut Option<Self>) {
        std::future::pending().await
    }
}
