//! Output to a slow reader, which may close.

use std::io::{self, ErrorKind};

use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::exit::report_output_failure;

/// The output of a front end, with its unwritten bytes.
#[derive(Debug)]
pub(crate) struct Outgoing<W> {
    output: W,
    bytes: Vec<u8>,
    written: usize,
    /// False once the output is closed.
    listening: bool,
    /// True once the output could not be written although a reader may want it.
    unwritable: bool,
}

impl<W: AsyncWrite + Unpin> Outgoing<W> {
    /// An output without unwritten bytes.
    pub(crate) fn new(output: W) -> Self {
        Outgoing { output, bytes: Vec::new(), written: 0, listening: true, unwritable: false }
    }

    /// Adds a line, while there is a reader.
    pub(crate) fn push(&mut self, line: &str) {
        if self.listening {
            self.bytes.extend_from_slice(line.as_bytes());
        }
    }

    /// The number of unwritten bytes.
    pub(crate) fn waiting(&self) -> usize {
        self.bytes.len().saturating_sub(self.written)
    }

    /// Whether the output could not be written although a reader may want it.
    pub(crate) fn is_unwritable(&self) -> bool {
        self.unwritable
    }

    /// Writes some of it; the result is for [`Self::take`]. Cancel safe.
    pub(crate) async fn write(&mut self) -> io::Result<usize> {
        let rest = self.bytes.get(self.written..).unwrap_or_default();
        self.output.write(rest).await
    }

    /// Handles the result of a write. False when there is no reader any more.
    pub(crate) fn take(&mut self, written: io::Result<usize>) -> bool {
        match written {
            Ok(count) if count > 0 => self.advance(count),
            written => {
                written.err().into_iter().for_each(|error| self.note_failure(&error));
                self.listening = false;
                self.bytes = Vec::new();
                self.written = 0;
            }
        }
        self.listening
    }

    /// Ensures that everything written arrives.
    pub(crate) async fn flush(&mut self) {
        if let Err(error) = self.output.flush().await {
            self.note_failure(&error);
        }
    }

    /// Drops written bytes, moving the rest down rarely enough to cost nothing.
    fn advance(&mut self, count: usize) {
        self.written += count;
        if self.written * 2 >= self.bytes.len() {
            self.bytes.drain(..self.written.min(self.bytes.len()));
            self.written = 0;
            self.bytes.shrink_to(1 << 20);
        }
    }

    /// Reports that the output cannot be written. A closed reader is no failure.
    fn note_failure(&mut self, error: &io::Error) {
        if error.kind() != ErrorKind::BrokenPipe && !std::mem::replace(&mut self.unwritable, true) {
            report_output_failure(error);
        }
    }
}
