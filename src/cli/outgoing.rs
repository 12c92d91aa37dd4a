//! Bytes on their way to a slow reader.

/// Bytes that are not written yet.
#[derive(Debug, Default)]
pub(crate) struct OutputBuffer {
    bytes: Vec<u8>,
    written: usize,
}

impl OutputBuffer {
    /// What is to be written next.
    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.get(self.written..).unwrap_or_default()
    }

    /// Adds a line.
    pub(crate) fn push(&mut self, line: &str) {
        self.bytes.extend_from_slice(line.as_bytes());
    }

    /// Forgets what was written, moving the rest down seldom enough to cost nothing.
    pub(crate) fn advance(&mut self, count: usize) {
        self.written += count;
        if self.written * 2 >= self.bytes.len() {
            self.bytes.drain(..self.written.min(self.bytes.len()));
            self.written = 0;
            self.bytes.shrink_to(1 << 20);
        }
    }
}
