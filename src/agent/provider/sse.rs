//! Server-sent events: bytes in, frames out.

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseFrame {
    /// Value of the last `event:` line; empty when there was none.
    pub event: String,
    /// The `data:` lines, joined by line feeds.
    pub data: String,
}
