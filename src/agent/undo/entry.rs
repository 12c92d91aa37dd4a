//! A path in the workspace, with its file system metadata.

use super::state::Stamp;

/// The type of a path.
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
    /// The target of a link.
    pub(crate) target: Option<Box<[u8]>>,
    /// Whether it is covered although current rules ignore it or its directory.
    pub(crate) spared: bool,
}

impl Entry {
    /// Whether it shows no change. A directory changes with its content, which does not count.
    pub(super) fn is_same(&self, other: &Entry) -> bool {
        let stamps = self.kind == Kind::Directory || self.stamp == other.stamp;
        self.kind == other.kind && self.mode == other.mode && stamps
    }
}
