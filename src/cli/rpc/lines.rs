//! Reads records: one line each, independent of how the input is split (section 1.1 of the RPC page).
//!
//! Memory is bounded: a line beyond the limit is skipped. `request` interprets the lines.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use tau_agent::session::surrogates::repair_json;

/// Maximum length of a record in bytes, without its line end.
pub const MAX_LEN: usize = 64 << 20;

/// A line of input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputLine {
    /// A record, not yet parsed; never blank.
    Record(String),
    /// A record longer than the limit, which was not kept.
    TooLong,
}

/// Lines of a byte stream.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    limit: usize,
    /// True while the rest of an overlong line is skipped.
    skipping: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// The lines of `input`, of at most `limit` bytes.
    pub fn new(input: R, limit: usize) -> Self {
        LineReader {
            reader: BufReader::with_capacity(64 << 10, input),
            line: Vec::new(),
            limit,
            skipping: false,
        }
    }

    /// The next line that is not blank; `None` at the end of input. Cancel safe.
    pub async fn next(&mut self) -> io::Result<Option<InputLine>> {
        loop {
            let bytes = self.reader.fill_buf().await?;
            let ended = bytes.is_empty();
            let end = memchr::memchr(b'\n', bytes);
            let piece = end.and_then(|end| bytes.get(..end)).unwrap_or(bytes);
            let used = end.map_or(bytes.len(), |end| end + 1);
            if !self.skipping {
                // One more, for a CR at the end.
                self.skipping = self.line.len() + piece.len() > self.limit + 1;
                if self.skipping {
                    self.line = Vec::new();
                } else {
                    self.line.extend_from_slice(piece);
                }
            }
            self.reader.consume(used);
            if end.is_none() && !ended {
                continue;
            }
            if let Some(line) = self.take() {
                return Ok(Some(line));
            }
            if ended {
                return Ok(None);
            }
        }
    }

    /// The complete line; `None` if it is blank.
    fn take(&mut self) -> Option<InputLine> {
        if std::mem::take(&mut self.skipping) {
            return Some(InputLine::TooLong);
        }
        let bytes = std::mem::take(&mut self.line);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(&bytes);
        if bytes.len() > self.limit {
            return Some(InputLine::TooLong);
        }
        let blank = bytes.iter().all(|byte| matches!(byte, b' ' | b'\t'));
        (!blank).then(|| InputLine::Record(repair_json(&String::from_utf8_lossy(bytes)).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8], piece: usize) -> Vec<InputLine> {
        let (mut near, far) = tokio::io::duplex(7);
        let bytes = bytes.to_vec();
        let writing = tokio::spawn(async move {
            for piece in bytes.chunks(piece) {
                tokio::io::AsyncWriteExt::write_all(&mut near, piece).await.unwrap();
            }
        });
        let mut lines = LineReader::new(far, 10);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        writing.await.unwrap();
        all
    }

    #[tokio::test]
    async fn lines_come_whole_however_they_are_cut() {
        let record = |text: &str| InputLine::Record(text.to_owned());
        let cases: [(&[u8], Vec<InputLine>); 7] = [
            (b"a\nb\r\n\n \t\nc", vec![record("a"), record("b"), record("c")]),
            (b"0123456789\n0123456789\r\n", vec![record("0123456789"); 2]),
            (
                b"0123456789a\nb\n01234567890123456789",
                vec![InputLine::TooLong, record("b"), InputLine::TooLong],
            ),
            (b"a\xffb\n", vec![record("a\u{fffd}b")]),
            (b"\"\\ude00\"\n", vec![record("\"\\ufffd\"")]),
            ("a\u{2028}b\n".as_bytes(), vec![record("a\u{2028}b")]),
            (b"", vec![]),
        ];
        for (bytes, expected) in cases {
            for piece in [1, 2, 3, 100] {
                assert_eq!(read(bytes, piece).await, expected, "{bytes:?} by {piece}");
            }
        }
    }
}
