//! Reads records: one line each, independent of how the input is split (section 1.1 of the RPC page).
//!
//! Memory is bounded: a line beyond the limit is skipped. `request` interprets the lines.

use std::borrow::Cow;
use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

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
        (!blank).then(|| InputLine::Record(whole_characters(&String::from_utf8_lossy(bytes)).into_owned()))
    }
}

/// The text with U+FFFD for each half of a surrogate pair that is alone in an escape. JavaScript writes such
/// halves when it cuts a string, and no JSON parser accepts them.
pub fn whole_characters(json: &str) -> Cow<'_, str> {
    if memchr::memmem::find(json.as_bytes(), b"\\u").is_none() {
        return Cow::Borrowed(json);
    }
    let mut repaired = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((before, escape)) = rest.split_once('\\') {
        repaired.push_str(before);
        let unit = surrogate(escape);
        let (kept, after) = match unit {
            // A pair: both escapes stay.
            Some(0xd800..=0xdbff) if matches!(low(escape), Some(0xdc00..=0xdfff)) => cut(escape, 11),
            Some(0xd800..=0xdfff) => ("ufffd", cut(escape, 5).1),
            Some(_) => cut(escape, 5),
            None => cut(escape, escape.chars().next().map_or(0, char::len_utf8)),
        };
        repaired.push('\\');
        repaired.push_str(kept);
        rest = after;
    }
    repaired.push_str(rest);
    Cow::Owned(repaired)
}

/// The code unit of an escape that begins with `u`; `None` for other escapes.
fn surrogate(escape: &str) -> Option<u32> {
    u32::from_str_radix(escape.strip_prefix('u')?.get(..4)?, 16).ok()
}

/// The code unit of the escape that follows an escape with a code unit.
fn low(escape: &str) -> Option<u32> {
    surrogate(escape.get(5..)?.strip_prefix('\\')?)
}

fn cut(text: &str, at: usize) -> (&str, &str) {
    text.split_at_checked(at).unwrap_or((text, ""))
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
        let cases: [(&[u8], Vec<InputLine>); 6] = [
            (b"a\nb\r\n\n \t\nc", vec![record("a"), record("b"), record("c")]),
            (b"0123456789\n0123456789\r\n", vec![record("0123456789"); 2]),
            (
                b"0123456789a\nb\n01234567890123456789",
                vec![InputLine::TooLong, record("b"), InputLine::TooLong],
            ),
            (b"a\xffb\n", vec![record("a\u{fffd}b")]),
            ("a\u{2028}b\n".as_bytes(), vec![record("a\u{2028}b")]),
            (b"", vec![]),
        ];
        for (bytes, expected) in cases {
            for piece in [1, 2, 3, 100] {
                assert_eq!(read(bytes, piece).await, expected, "{bytes:?} by {piece}");
            }
        }
    }

    #[test]
    fn half_pairs_become_whole_characters() {
        let cases = [
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\ud83d\ude00""#, "\u{1f600}"),
            (r#""x\ude00\ud83dy""#, "x\u{fffd}\u{fffd}y"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\\ud83d""#, "\\ud83d"),
            (r#""\\\ud83d""#, "\\\u{fffd}"),
            (r#""\u0041\n\"é""#, "A\n\"é"),
        ];
        for (json, expected) in cases {
            let text: String = serde_json::from_str(&whole_characters(json)).unwrap();
            assert_eq!(text, expected, "{json}");
        }
        for broken in [r#""\"#, r#""\u"#, r#""\ud8"#, r#""\ud83d\u"#, "\\é", "\\u\u{e9}12"] {
            whole_characters(broken);
        }
    }
}
