//! A path in the workspace, with what the file system says of it.

use super::state::Stamp;

/// What a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Link,
    Directory,
    /// A pipe, a socket or a device.
    Other,
}

/// A path in the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the workspace, as bytes.
    pub path: Box<[u8]>,
    pub kind: Kind,
    /// The permission bits.
    pub mode: u32,
    pub(crate) stamp: Stamp,
    /// Where a link leads.
    pub(crate) target: Option<Box<[u8]>>,
    /// True if it is covered although rules leave it out by now, or the directory that it is in.
    pub(crate) spared: bool,
}

impl Entry {
    /// Whether nothing says that it changed. A directory changes with what is in it, which does not count.
    pub(super) fn is_same(&self, other: &Entry) -> bool {
        let stamps = self.kind == Kind::Directory || self.stamp == other.stamp;
        self.kind == other.kind && self.mode == other.mode && stamps
    }
}
