//! Extracts a window of lines from a stream, in memory bounded by the window.
//!
//! Lines before the window are counted, not kept; lines after it are counted only on request and within a
//! time limit. Only the start of a long line is kept.

use std::io::{self, ErrorKind, Read};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::budget;
use crate::counted::pluralize;
use crate::encoding::{self, Encoding};
use crate::secret_cuts::{REACH, SecretFinder, of_same_length};

/// The maximum number of characters shown of one line.
const LINE_CHARACTERS: usize = 2_000;
/// The maximum number of characters shown of a line that is read from a column on.
const PAGED_CHARACTERS: usize = 20_000;
/// The weight of a line number with its spaces.
const NUMBER: usize = 15;
/// The size of one read.
const PIECE: usize = 256 * 1024;

#[derive(Clone, Debug)]
pub(crate) struct WindowRequest {
    /// The first line, from 1.
    pub first: u64,
    /// The maximum number of lines.
    pub lines: usize,
    /// The maximum weight of the lines with their numbers, see [`budget::token_weight`].
    pub weight: usize,
    /// The number of bytes of each line to skip; if there are any, more of a line is shown.
    pub passed: u64,
    /// The byte that ends a line.
    pub line_end: u8,
    /// How long to count the lines after the window; `None` to skip counting.
    pub count: Option<Duration>,
    /// Finds secrets, through which no line is cut.
    pub secrets: SecretFinder,
}

#[derive(Debug, Default)]
pub(crate) struct LineWindow {
    /// The lines, without their line ends.
    pub lines: Vec<WindowLine>,
    /// The number of lines in the part of the stream that was read.
    pub counted: u64,
    /// True if the stream was read to its end, so that `counted` is the total.
    pub complete: bool,
    /// True if more lines follow the window.
    pub more: bool,
}

#[derive(Debug, Default)]
pub(crate) struct WindowLine {
    /// The start of the line, or of the part after the skipped bytes.
    pub bytes: Vec<u8>,
    /// The number of bytes that were not kept.
    pub dropped: u64,
    /// The number of bytes that were skipped.
    pub passed: u64,
    /// The last of them.
    before: Vec<u8>,
    /// Whether all of `bytes` is shown, however much it is.
    is_all: bool,
    /// The length in the file of the shown part, in bytes, if the line was decoded.
    shown: Option<usize>,
}

impl WindowRequest {
    /// The maximum number of characters shown of this line.
    fn characters(&self) -> usize {
        if self.passed == 0 { LINE_CHARACTERS } else { PAGED_CHARACTERS }
    }
}

impl WindowLine {
    /// The line as text; a very long one is cut, with a mark. NUL is made visible, because it would break
    /// the request.
    pub fn text(&self) -> String {
        let bytes = self.bytes.strip_suffix(b"\r").filter(|_| self.dropped == 0).unwrap_or(&self.bytes);
        let text = String::from_utf8_lossy(bytes);
        let most = self.characters();
        let shown: String = text.chars().take(most).map(|c| if c == '\0' { '\u{2400}' } else { c }).collect();
        let rest = text.chars().skip(most).map(|c| c.len_utf8() as u64).sum::<u64>() + self.dropped;
        if rest == 0 {
            shown
        } else {
            format!("{shown} [… {} in this line, cut …]", pluralize(rest, "more byte"))
        }
    }

    fn characters(&self) -> usize {
        match (self.is_all, self.passed) {
            (true, _) => usize::MAX,
            (false, 0) => LINE_CHARACTERS,
            (false, _) => PAGED_CHARACTERS,
        }
    }

    /// Moves the ends of the shown part out of secrets.
    fn keep_secrets_whole(&mut self, secrets: &SecretFinder) {
        let before = std::mem::take(&mut self.before);
        let cut = self.next().map(|next| usize::try_from(next - self.passed).unwrap_or(usize::MAX));
        let Some(shown) = cut.or_else(|| (!before.is_empty()).then_some(self.bytes.len())) else { return };
        let (from, to) = (before.len(), before.len() + shown);
        let all = [before.as_slice(), &self.bytes].concat();
        let text = of_same_length(&all);
        let (start, mut end) = (secrets.start_before(&text, from), secrets.end(&text, to));
        if (start, end) == (from, to) {
            return;
        }
        // The rest of the line would begin with this secret again.
        if end <= from {
            end = secrets.secret_cut_at(&text, to).map_or(to, |secret| secret.end);
        }
        self.passed -= (from - start) as u64;
        self.dropped += (all.len() - end) as u64;
        self.bytes = all.get(start..end).unwrap_or_default().to_vec();
        self.is_all = true;
    }

    /// The offset of the rest of the line after the shown part, in bytes from its start; `None` if nothing
    /// follows.
    pub(crate) fn next(&self) -> Option<u64> {
        let shown = self.shown_len();
        let all = if self.shown.is_some() { usize::MAX } else { self.bytes.len() };
        (self.dropped > 0 || shown < all).then_some(self.passed + shown as u64)
    }

    /// Converts a line in another encoding to UTF-8.
    pub(crate) fn decode(&mut self, encoding: Encoding) {
        let text = encoding::decode(&self.bytes, encoding).0;
        let shown = budget::start_within_characters(&text, self.characters());
        if self.dropped > 0 || shown.len() < text.len() {
            self.shown = encoding::encode(shown, encoding).map(|bytes| bytes.len());
        }
        self.bytes = text.into_bytes();
    }

    fn shown_len(&self) -> usize {
        if let Some(shown) = self.shown {
            return shown;
        }
        let mut left = self.characters();
        let mut shown = 0;
        for chunk in self.bytes.utf8_chunks() {
            for character in chunk.valid().chars().take(left) {
                shown += character.len_utf8();
                left -= 1;
            }
            if left > 0 && !chunk.invalid().is_empty() {
                shown += chunk.invalid().len();
                left -= 1;
            }
        }
        shown
    }

    /// True if it contains bytes that are not UTF-8, apart from the end of a cut line.
    pub(crate) fn is_broken(&self) -> bool {
        match std::str::from_utf8(&self.bytes) {
            Ok(_) => false,
            Err(error) => error.error_len().is_some() || self.dropped == 0,
        }
    }
}

impl LineWindow {
    /// Extracts the window. Fails with [`ErrorKind::Interrupted`] if cancelled.
    pub fn cut(
        mut stream: impl Read,
        request: &WindowRequest,
        wanted: &CancellationToken,
    ) -> io::Result<LineWindow> {
        let mut cutter = Cutter {
            request,
            window: LineWindow::default(),
            line: WindowLine::default(),
            open: false,
            weight: 0,
            full: None,
        };
        let mut piece = vec![0; PIECE];
        loop {
            if wanted.is_cancelled() {
                return Err(ErrorKind::Interrupted.into());
            }
            let length = match stream.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            cutter.take(piece.get(..length).unwrap_or_default());
            if cutter.is_done() {
                return Ok(cutter.window);
            }
        }
        cutter.end();
        Ok(cutter.window)
    }
}

struct Cutter<'a> {
    request: &'a WindowRequest,
    window: LineWindow,
    /// The line being read, if it is in the window.
    line: WindowLine,
    /// True if the last byte did not end a line.
    open: bool,
    weight: usize,
    /// The time since which the window has been full.
    full: Option<Instant>,
}

impl Cutter<'_> {
    fn take(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            if self.full.is_some() {
                self.window.more = true;
                self.count(piece);
                return;
            }
            if self.window.counted + 1 < self.request.first {
                piece = self.skip(piece);
                continue;
            }
            match memchr::memchr(self.request.line_end, piece) {
                Some(at) => {
                    let (line, rest) = piece.split_at(at);
                    self.grow(line);
                    self.close();
                    piece = rest.get(1..).unwrap_or_default();
                }
                None => {
                    self.grow(piece);
                    self.open = true;
                    return;
                }
            }
        }
    }

    /// Skips lines before the window and returns the rest of the piece.
    fn skip<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        let wanted = self.request.first - 1 - self.window.counted;
        let inside = memchr::memchr_iter(self.request.line_end, piece).count() as u64;
        if inside < wanted {
            self.count(piece);
            return &[];
        }
        let nth = usize::try_from(wanted - 1).unwrap_or(usize::MAX);
        let end = memchr::memchr_iter(self.request.line_end, piece).nth(nth).map_or(piece.len(), |at| at + 1);
        let (before, rest) = piece.split_at(end);
        self.count(before);
        rest
    }

    fn count(&mut self, piece: &[u8]) {
        self.window.counted += memchr::memchr_iter(self.request.line_end, piece).count() as u64;
        self.open = piece.last() != Some(&self.request.line_end);
    }

    fn grow(&mut self, part: &[u8]) {
        let pass =
            usize::try_from(self.request.passed - self.line.passed).unwrap_or(usize::MAX).min(part.len());
        self.line.passed += pass as u64;
        self.line.before.extend_from_slice(part.get(pass.saturating_sub(REACH)..pass).unwrap_or_default());
        self.line.before.drain(..self.line.before.len().saturating_sub(REACH));
        let part = part.get(pass..).unwrap_or_default();
        let most = 4 * self.request.characters() + REACH;
        let room = most.saturating_sub(self.line.bytes.len());
        let (kept, dropped) = part.split_at(room.min(part.len()));
        self.line.bytes.extend_from_slice(kept);
        self.line.dropped += dropped.len() as u64;
    }

    fn close(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        line.keep_secrets_whole(&self.request.secrets);
        self.window.counted += 1;
        self.open = false;
        let most = self.request.characters();
        let cut = usize::from(line.dropped > 0 || line.bytes.len() > most) * 48;
        let text = String::from_utf8_lossy(&line.bytes);
        let shown = if line.is_all { &*text } else { budget::start_within_characters(&text, most) };
        let cost = budget::token_weight(shown) + NUMBER + cut;
        if self.weight + cost > self.request.weight && !self.window.lines.is_empty() {
            self.window.more = true;
            self.full = Some(Instant::now());
            return;
        }
        self.weight += cost;
        self.window.lines.push(line);
        if self.window.lines.len() >= self.request.lines {
            self.full = Some(Instant::now());
        }
    }

    /// True if nothing more needs to be read.
    fn is_done(&self) -> bool {
        match (self.full, self.request.count) {
            // One more byte shows whether anything follows.
            (Some(_), None) => self.window.more,
            (Some(since), Some(patience)) => self.window.more && since.elapsed() > patience,
            (None, _) => false,
        }
    }

    fn end(&mut self) {
        if self.open && self.full.is_none() && self.window.counted + 1 >= self.request.first {
            self.close();
        } else if self.open {
            self.window.counted += 1;
        }
        self.window.complete = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(first: u64, lines: usize) -> WindowRequest {
        WindowRequest {
            first,
            lines,
            weight: 10_000,
            passed: 0,
            line_end: b'\n',
            count: Some(Duration::from_secs(9)),
            secrets: SecretFinder::default(),
        }
    }

    /// A stream that delivers its bytes in pieces of one size.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let size = self.1.min(buffer.len());
            self.0.read(&mut buffer[..size])
        }
    }

    #[test]
    fn the_window_is_the_same_however_the_bytes_come() {
        let check = |text: &str, first, lines, expected: &[&str], counted, more| {
            for piece in [1, 2, 3, 100] {
                let stream = Pieces(text.as_bytes(), piece);
                let window =
                    LineWindow::cut(stream, &request(first, lines), &CancellationToken::new()).unwrap();
                let shown: Vec<String> = window.lines.iter().map(WindowLine::text).collect();
                assert_eq!(shown, expected, "{text:?} {first} {lines} {piece}");
                assert_eq!(
                    (window.counted, window.more),
                    (counted, more),
                    "{text:?} {first} {lines} {piece}"
                );
            }
        };
        check("", 1, 9, &[], 0, false);
        check("a", 1, 9, &["a"], 1, false);
        check("a\n", 1, 9, &["a"], 1, false);
        check("a\nb\nc", 2, 1, &["b"], 3, true);
        check("a\nb\nc", 3, 1, &["c"], 3, false);
        check("a\nb\nc\n", 3, 1, &["c"], 3, false);
        check("a\nb\nc\n", 4, 1, &[], 3, false);
        check("a\nb\nc", 5, 1, &[], 3, false);
        check("\n\n\n", 1, 2, &["", ""], 3, true);
    }

    #[test]
    fn no_page_of_a_line_has_a_part_of_a_secret() {
        let secret = "API_TOKEN=zx81-Q7rr-99aB-77cc-Kd83";
        let secrets = crate::secret_cuts::tests::finder();
        let key =
            format!("-----BEGIN PRIVATE KEY-----\\n{}", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\\n".repeat(80));
        let key = format!("{key}-----END PRIVATE KEY-----");
        let filled = |length: usize| "é ".repeat(length);
        for long in [
            format!("{}{secret} {}", filled(985), filled(30_000)),
            format!("{}{secret} {secret} {}", filled(11_985), filled(10_000)),
            format!("{key} {secret}"),
            format!("{} {key} {secret}", filled(500)),
        ] {
            for from in [0, 1, 10, 2_000, 2_960, 35_960, 35_990] {
                let mut passed = from;
                for page in 0.. {
                    assert!(page < 10, "no progress from {from} on");
                    let request = WindowRequest { passed, secrets: secrets.clone(), ..request(1, 1) };
                    let window =
                        LineWindow::cut(long.as_bytes(), &request, &CancellationToken::new()).unwrap();
                    let masked = crate::secret_cuts::tests::mask(&window.lines[0].text());
                    let part = ["zx81", "Kd83", "MIIE"].into_iter().find(|part| masked.contains(part));
                    assert_eq!(part, None, "from {from}, page {page}");
                    let Some(next) = window.lines[0].next() else { break };
                    passed = next;
                }
            }
        }
    }

    #[test]
    fn long_lines_and_many_bytes_are_cut() {
        let text = format!("{}\nshort\n", "x".repeat(100_000));
        let window = LineWindow::cut(text.as_bytes(), &request(1, 9), &CancellationToken::new()).unwrap();
        assert!(window.lines[0].text().ends_with("[… 98000 more bytes in this line, cut …]"));
        let text = "twenty bytes a line\n".repeat(10_000);
        let window = LineWindow::cut(text.as_bytes(), &request(1, 9_000), &CancellationToken::new()).unwrap();
        assert!(
            window.lines.len() < 400 && window.more && window.counted == 10_000,
            "{}",
            window.lines.len()
        );
    }
}
