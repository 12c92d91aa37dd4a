//! The rows of session lists: plain data for [`super::list`] and [`super::index`].

use std::path::PathBuf;
use std::time::SystemTime;

/// A session file before it is opened.
#[derive(Debug)]
pub(super) struct ListedFile {
    pub(super) path: PathBuf,
    pub(super) modified: SystemTime,
    pub(super) size: u64,
}
