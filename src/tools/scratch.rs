//! tau's own temporary folder for output too large to keep in memory.

/// The folder of one process: 0700, bounded in all, old ones removed after some days.
#[derive(Debug, Default)]
pub struct Scratch;
