//! Systems on which changes of directories are not reported.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::agent::extensions::watched::Interest;

/// Never made.
#[derive(Debug)]
pub(super) enum DirectoryWatch {}

impl DirectoryWatch {
    pub(super) fn new(_: &BTreeMap<PathBuf, Interest>) -> Option<Self> {
        None
    }

    /// Never ends.
    pub(super) async fn changed(_: &mut Option<Self>) {
        std::future::pending().await
    }
}
