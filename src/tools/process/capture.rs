//! The output of a command in bounded memory: its head, its tail, and the size of the gap.
//!
//! Raw bytes; `line_output.rs` turns them into text. Costs one copy and one count of newlines per byte for
//! any output.

use super::watched::OutputSince;
use crate::line_output::Colours;
use crate::{encoding, line_output};

/// The number of bytes kept from the start.
const HEAD: usize = 64 * 1024;
/// The minimum number of bytes kept from the end.
const TAIL: usize = 384 * 1024;
/// The tail may grow to this size before it is trimmed, so that trimming is rare.
const TAIL_ROOM: usize = 2 * TAIL;

/// The output so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capture {
    head: Vec<u8>,
    tail: Vec<u8>,
    /// The number of bytes dropped between head and tail.
    dropped: u64,
    newlines: u64,
    total: u64,
    last: u8,
}

impl Capture {
    /// True if `more` bytes can be added without dropping any.
    pub(crate) fn has_room(&self, more: usize) -> bool {
        self.dropped == 0 && self.head.len() + self.tail.len() + more <= HEAD + TAIL_ROOM
    }

    /// Adds the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        let Some(last) = piece.last() else { return };
        self.last = *last;
        self.total += piece.len() as u64;
        self.newlines += memchr::memchr_iter(b'\n', piece).count() as u64;
        let (head, rest) = piece.split_at(piece.len().min(HEAD.saturating_sub(self.head.len())));
        self.head.extend_from_slice(head);
        if self.tail.len() + rest.len() > TAIL_ROOM {
            let keep = TAIL.saturating_sub(rest.len()).min(self.tail.len());
            let forget = self.tail.len() - keep;
            self.tail.drain(..forget);
            self.dropped += forget as u64;
        }
        let skip = rest.len().saturating_sub(TAIL_ROOM);
        self.dropped += skip as u64;
        self.tail.extend_from_slice(rest.get(skip..).unwrap_or_default());
    }

    /// The number of bytes of the whole output so far.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.total
    }

    /// The number of lines of the whole output so far; an unfinished line counts.
    pub fn total_lines(&self) -> u64 {
        self.newlines + u64::from(self.total > 0 && self.last != b'\n')
    }

    /// The whole output, if nothing was dropped.
    pub fn whole(&self) -> Option<[&[u8]; 2]> {
        (self.dropped == 0).then_some([&self.head, &self.tail])
    }

    /// The output from a position on, as far as it is in memory.
    pub(crate) fn since(&self, position: u64) -> OutputSince {
        let (head, tail) = (self.head.len() as u64, self.tail.len() as u64);
        let tail_start = self.total - tail;
        let from = |bytes: &[u8], skip: u64| {
            let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(bytes.len());
            bytes.get(skip..).unwrap_or_default().to_vec()
        };
        // After a gap, the start of the output is no part of what is new.
        let mut bytes = if self.dropped == 0 { from(&self.head, position) } else { Vec::new() };
        bytes.extend(from(&self.tail, position.saturating_sub(tail_start)));
        let known = if self.dropped == 0 { tail_start - head } else { tail_start };
        OutputSince { bytes, omitted: known.saturating_sub(position), end: self.total }
    }

    /// The start and the end as text for the model; the end is empty if the start is everything.
    pub fn plain(&self) -> (String, String) {
        let text = |bytes: &[u8]| line_output::plain(&encoding::output(bytes));
        if self.dropped == 0 {
            return (text(&[self.head.as_slice(), &self.tail].concat()), String::new());
        }
        (text(&self.head), text(&self.tail))
    }

    /// The last lines for the user, from at most `most` bytes of output, and whether output is missing.
    pub(crate) fn tail_text(&self, most: usize) -> (String, bool) {
        let mut bytes = Vec::with_capacity(most.min(self.head.len() + self.tail.len()));
        let from_head = most.saturating_sub(self.tail.len()).min(self.head.len());
        if self.dropped == 0 {
            bytes.extend_from_slice(self.head.get(self.head.len() - from_head..).unwrap_or_default());
        }
        let from_tail = self.tail.len().min(most);
        bytes.extend_from_slice(self.tail.get(self.tail.len() - from_tail..).unwrap_or_default());
        let cut = (bytes.len() as u64) < self.total;
        let whole_lines = match memchr::memchr(b'\n', &bytes) {
            Some(at) if cut && at + 1 < bytes.len() => bytes.get(at + 1..).unwrap_or_default(),
            _ => &bytes,
        };
        (line_output::render(&encoding::output(whole_lines), Colours::Keep), cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_nothing_is_lost_unsaid() {
        for piece in [1, 7, 1_000, 65_536, 3_000_000] {
            let all: Vec<u8> =
                (0..3_000_000u32).map(|n| if n % 50 == 49 { b'\n' } else { b'a' + (n % 26) as u8 }).collect();
            let mut capture = Capture::default();
            for part in all.chunks(piece) {
                capture.push(part);
                assert!(capture.head.len() + capture.tail.len() <= HEAD + TAIL_ROOM);
            }
            assert_eq!(capture.total_lines(), 60_000, "{piece}");
            assert_eq!(capture.dropped as usize, all.len() - capture.head.len() - capture.tail.len());
            assert!(
                all.starts_with(&capture.head) && all.ends_with(&capture.tail) && capture.tail.len() >= TAIL
            );
        }
    }

    #[test]
    fn output_since_a_position_is_what_was_added() {
        let mut capture = Capture::default();
        capture.push(b"first\n");
        assert_eq!(capture.since(0), OutputSince { bytes: b"first\n".to_vec(), omitted: 0, end: 6 });
        capture.push(b"second\n");
        assert_eq!(capture.since(6), OutputSince { bytes: b"second\n".to_vec(), omitted: 0, end: 13 });
        assert_eq!(capture.since(13), OutputSince { bytes: Vec::new(), omitted: 0, end: 13 });
        assert_eq!(capture.since(99).bytes, b"");
        capture.push(&vec![b'x'; HEAD]);
        let all = capture.since(0);
        assert_eq!((all.bytes.len(), all.omitted), (13 + HEAD, 0), "across head and tail");
        capture.push(&vec![b'y'; 3 * TAIL_ROOM]);
        let late = capture.since(13);
        assert_eq!(late.bytes.len() as u64 + late.omitted, late.end - 13, "nothing is lost unsaid");
        assert!(late.omitted > 0 && late.bytes.iter().all(|byte| *byte == b'y'));
        assert_eq!(
            capture.since(late.end - 5),
            OutputSince { bytes: b"yyyyy".to_vec(), ..capture.since(late.end - 5) }
        );
    }

    #[test]
    fn the_tail_for_users_begins_with_a_whole_line() {
        let mut capture = Capture::default();
        capture.push(b"first\nsecond\nthird");
        assert_eq!(capture.tail_text(100), ("first\nsecond\nthird".into(), false));
        assert_eq!(capture.tail_text(9), ("third".into(), true));
        assert_eq!(capture.total_lines(), 3);
        assert_eq!(capture.plain(), ("first\nsecond\nthird".into(), String::new()));
    }
}
