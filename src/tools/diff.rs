//! A change to one file as hunks, for the user and for refusals that show what changed.
//!
//! Pure. Bounded in time and size for any texts. The shape is `details::FileDiff`.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::compare::{DiffOp, by_anchors, group_diff_ops};
use super::counted::many;
use super::edit::splice::{self, Splice};
use super::{FileDiff, Hunk};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// The maximum number of lines kept in hunks.
const MAX_LINES: usize = 2_000;
/// The maximum number of bytes kept in hunks.
const MAX_BYTES: usize = 256 * 1024;
/// The maximum number of characters kept of one line. A long run of blanks counts for little, so that the
/// text behind it is kept.
const MAX_LINE: usize = 2_000;
const MAX_BLANKS: usize = 40;
/// Parts of a text larger than this many bytes are split where possible.
const MAX_PART: usize = 16 * 1024;
/// The time after which the diff is finished coarsely. Tests compare what is found, however busy the machine is.
const TIMEOUT: Duration = Duration::from_millis(if cfg!(test) { 60_000 } else { 500 });

/// The change from `old` to `new`. In hunks, bytes that are not UTF-8 are escaped (`\xff`), as a change of them must be seen.
pub fn between(path: &str, old: &[u8], new: &[u8]) -> FileDiff {
    let same = Same::of(old, new);
    let mut hunks = Hunks::new(path);
    (hunks.old_lines, hunks.new_lines) = (same.lines_before, same.lines_before);
    hunks.add(same.middle(old), same.middle(new), Lines::Anyhow);
    if same.end == 0 {
        hunks.note_ends(old, new);
    }
    hunks.change
}

/// The change that the splices make in `old`; they are in order and do not overlap. Only the lines around
/// them are compared, so a small change to a large text is fast.
pub(crate) fn from_splices(path: &str, old: &[u8], splices: &[Splice]) -> FileDiff {
    let mut hunks = Hunks::new(path);
    let mut at = 0;
    for (part, of) in parts(old, splices) {
        let splices = splices.get(of).unwrap_or_default();
        hunks.skip(old.get(at..part.start).unwrap_or_default());
        let before = old.get(part.clone()).unwrap_or_default();
        let inside = |splice: &Splice| {
            let was = old.get(splice.place.clone()).unwrap_or_default();
            memchr::memchr(b'\n', was).is_none() && memchr::memchr(b'\n', &splice.bytes).is_none()
        };
        let lines = if splices.iter().all(inside) { Lines::InStep } else { Lines::Anyhow };
        at = part.end;
        let after = splice::join(old, part, splices);
        hunks.add(before, &after, lines);
        if at == old.len() {
            hunks.note_ends(before, &after);
        }
    }
    hunks.change
}

/// The ranges of lines around the splices, as far apart as their contexts, each with its splices.
fn parts(old: &[u8], splices: &[Splice]) -> Vec<(Range<usize>, Range<usize>)> {
    let mut parts: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    let mut behind = 0;
    for (index, splice) in splices.iter().enumerate() {
        let (before, rest) = old.split_at_checked(splice.place.start).unwrap_or((old, &[]));
        let mut starts = memchr::memrchr_iter(b'\n', before).map(|end| end + 1);
        let line = starts.next().unwrap_or(0);
        let start = starts.nth(CONTEXT - 1).unwrap_or(0);
        let rest = rest.get(splice.place.len()..).unwrap_or_default();
        let end = memchr::memchr_iter(b'\n', rest).nth(CONTEXT);
        let end = end.map_or(old.len(), |end| splice.place.end + end + 1);
        match parts.last_mut() {
            // Too large: split where there is a line between the two splices.
            Some((part, _)) if part.end >= start && part.len() > MAX_PART && behind < line => {
                part.end = line;
                parts.push((line..end, index..index + 1));
            }
            Some((part, of)) if part.end >= start => (part.end, of.end) = (end, index + 1),
            _ => parts.push((start..end, index..index + 1)),
        }
        behind = splice.place.end;
    }
    parts
}

/// The prefix and suffix that both texts share, in whole lines, less the context. Without this, a small edit
/// of a large file would cost the time of the whole file.
struct Same {
    start: usize,
    end: usize,
    lines_before: usize,
}

impl Same {
    fn of(old: &[u8], new: &[u8]) -> Self {
        let start = same_start(old, new);
        let shared = old.get(..start).unwrap_or_default();
        let mut cut = memchr::memrchr_iter(b'\n', shared).nth(CONTEXT).map_or(0, |at| at + 1);
        if old.len() == start && new.len() == start {
            cut = start;
        }
        let rest = |bytes: &[u8]| bytes.len() - cut;
        let longest = rest(old).min(rest(new));
        let end = same_end(old, new, longest);
        // The shared suffix begins in the middle of a line; skip to its first whole line, then leave the
        // context to the middle part.
        let tail = old.get(old.len() - end..).unwrap_or_default();
        let end = memchr::memchr_iter(b'\n', tail).nth(CONTEXT + 1).map_or(0, |at| tail.len() - at - 1);
        let before = old.get(..cut).unwrap_or_default();
        Same { start: cut, end, lines_before: memchr::memchr_iter(b'\n', before).count() }
    }

    fn middle<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.start..bytes.len() - self.end).unwrap_or_default()
    }
}

fn same_start(old: &[u8], new: &[u8]) -> usize {
    const STEP: usize = 4096;
    let blocks =
        old.chunks(STEP).zip(new.chunks(STEP)).take_while(|(a, b)| a == b && a.len() == STEP).count();
    let at = blocks * STEP;
    let rest = old.iter().skip(at).zip(new.iter().skip(at)).take_while(|(a, b)| a == b).count();
    at + rest
}

fn same_end(old: &[u8], new: &[u8], longest: usize) -> usize {
    const STEP: usize = 4096;
    let blocks =
        old.rchunks(STEP).zip(new.rchunks(STEP)).take_while(|(a, b)| a == b && a.len() == STEP).count();
    let at = (blocks * STEP).min(longest);
    let rest = old.iter().rev().skip(at).zip(new.iter().rev().skip(at)).take_while(|(a, b)| a == b).count();
    (at + rest).min(longest)
}

/// How the lines of two texts correspond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lines {
    /// One to one, in order.
    InStep,
    /// In a way that the diff must find.
    Anyhow,
}

/// The hunks of a change, collected from top to bottom.
struct Hunks {
    change: FileDiff,
    /// The number of lines above, in the old and in the new text.
    old_lines: usize,
    new_lines: usize,
    /// The remaining budget of lines and bytes.
    lines: usize,
    bytes: usize,
    deadline: Instant,
}

impl Hunks {
    fn new(path: &str) -> Self {
        let change = FileDiff { path: path.into(), ..FileDiff::default() };
        let (lines, bytes, deadline) = (MAX_LINES, MAX_BYTES, Instant::now() + TIMEOUT);
        Hunks { change, old_lines: 0, new_lines: 0, lines, bytes, deadline }
    }

    /// Skips an unchanged part.
    fn skip(&mut self, part: &[u8]) {
        let lines = memchr::memchr_iter(b'\n', part).count();
        self.old_lines += lines;
        self.new_lines += lines;
    }

    /// Adds the next part: whole lines that were replaced.
    fn add(&mut self, old: &[u8], new: &[u8], lines: Lines) {
        let old: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
        let new: Vec<&[u8]> = new.split_inclusive(|byte| *byte == b'\n').collect();
        let ops = match lines {
            Lines::InStep if old.len() == new.len() => in_step(&old, &new),
            // Lines that occur once anchor the rest, so many small changes across a large text do not take
            // as long as one large change.
            _ => by_anchors(&old, &new, Some(self.deadline)),
        };
        for group in group_diff_ops(ops, CONTEXT) {
            let hunk = self.hunk(&group, &old, &new);
            if !hunk.lines.is_empty() {
                self.change.hunks.push(hunk);
            }
        }
        self.old_lines += old.len();
        self.new_lines += new.len();
    }

    /// Notes whether the last hunk ends with a line without a line end. These are the last parts of both texts.
    fn note_ends(&mut self, old: &[u8], new: &[u8]) {
        let Some(last) = self.change.hunks.last() else { return };
        let is_unended = |text: &[u8], start: u32, other: char, lines: usize| {
            let count = last.lines.iter().filter(|line| !line.starts_with(other)).count();
            let is_at_end = start as usize + count == lines + 1;
            is_at_end && text.last().is_some_and(|byte| *byte != b'\n')
        };
        self.change.old_unended = is_unended(old, last.old_start, '+', self.old_lines);
        self.change.new_unended = is_unended(new, last.new_start, '-', self.new_lines);
    }

    fn hunk(&mut self, group: &[DiffOp], old: &[&[u8]], new: &[&[u8]]) -> Hunk {
        let start = |before: usize, index: Option<usize>| {
            u32::try_from(before + index.unwrap_or(0) + 1).unwrap_or(u32::MAX)
        };
        let first = group.first();
        let mut hunk = Hunk {
            old_start: start(self.old_lines, first.map(|op| op.old_range().start)),
            new_start: start(self.new_lines, first.map(|op| op.new_range().start)),
            lines: Vec::new(),
        };
        for op in group {
            let unchanged = matches!(op, DiffOp::Equal { .. });
            let olds = old.get(op.old_range()).unwrap_or_default();
            let news = if unchanged { &[] } else { new.get(op.new_range()).unwrap_or_default() };
            if !unchanged {
                self.change.removed += u32::try_from(olds.len()).unwrap_or(u32::MAX);
                self.change.added += u32::try_from(news.len()).unwrap_or(u32::MAX);
            }
            let sign = if unchanged { ' ' } else { '-' };
            olds.iter().for_each(|line| self.keep(sign, line, &mut hunk));
            news.iter().for_each(|line| self.keep('+', line, &mut hunk));
        }
        hunk
    }

    /// Adds the line if the budget allows.
    fn keep(&mut self, sign: char, line: &[u8], hunk: &mut Hunk) {
        let line = (self.lines > 0)
            .then(|| keep(sign, &escape_line(line)))
            .filter(|(line, _)| line.len() <= self.bytes);
        let Some((line, is_cut)) = line else {
            self.change.cut = true;
            self.lines = 0;
            return;
        };
        self.change.cut |= is_cut;
        self.lines -= 1;
        self.bytes -= line.len();
        hunk.lines.push(line);
    }
}

/// Compares replaced lines one to one and returns runs of equal and of changed text.
fn in_step(old: &[&[u8]], new: &[&[u8]]) -> Vec<DiffOp> {
    let mut ops = Vec::new();
    let mut index = 0;
    let pairs: Vec<bool> = old.iter().zip(new).map(|(old, new)| old == new).collect();
    for run in pairs.chunk_by(|one, next| one == next) {
        let (at, len) = (index, run.len());
        index += len;
        ops.push(match run.first() {
            Some(true) => DiffOp::Equal { old_index: at, new_index: at, len },
            _ => DiffOp::Replace { old_index: at, old_len: len, new_index: at, new_len: len },
        });
    }
    ops
}

/// A line as text, with its bytes that are not UTF-8 as `\xff`.
fn escape_line(line: &[u8]) -> String {
    let mut text = String::with_capacity(line.len());
    for part in line.utf8_chunks() {
        text.push_str(part.valid());
        text.extend(part.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
}

/// The line after its sign, and whether it is cut; a cut line says how much is missing.
fn keep(sign: char, line: &str) -> (String, bool) {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    let (mut count, mut blanks) = (0, 0);
    let cut = line.char_indices().find(|(_, c)| {
        blanks = if c.is_whitespace() { blanks + 1 } else { 0 };
        count += usize::from(blanks <= MAX_BLANKS);
        count > MAX_LINE
    });
    let mut kept = String::from(sign);
    let Some((at, _)) = cut else {
        kept.push_str(line);
        return (kept, false);
    };
    let (shown, rest) = line.split_at_checked(at).unwrap_or((line, ""));
    kept.push_str(shown);
    kept.push_str(&format!(" ⋯ {}", many(rest.chars().count(), "more character")));
    (kept, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, added: u32, removed: u32, text: &str) {
        let change = between("f", old.as_bytes(), new.as_bytes());
        assert_eq!(
            (change.added, change.removed, change.to_unified().as_str()),
            (added, removed, text),
            "{old:?} {new:?}"
        );
    }

    #[test]
    fn a_change_is_shown_with_its_context_and_line_numbers() {
        check("", "a\n", 1, 0, "@@ -0,0 +1,1 @@\n+a\n");
        check("a\n", "", 0, 1, "@@ -1,1 +0,0 @@\n-a\n");
        check("a\n", "a\n", 0, 0, "");
        check(
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
            "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
            1,
            1,
            "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n",
        );
        check("a\na\na\n", "a\na\na\na\n", 1, 0, "@@ -1,3 +1,4 @@\n a\n a\n a\n+a\n");
        check("end", "end\n", 1, 1, "@@ -1,1 +1,1 @@\n-end\n\\ No newline at end of file\n+end\n");
        check("a\nend", "b\nend", 1, 1, "@@ -1,2 +1,2 @@\n-a\n+b\n end\n\\ No newline at end of file\n");
        check("a\r\nb\r\n", "a\r\nc\r\n", 1, 1, "@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    }

    #[test]
    fn changed_bytes_that_are_not_utf8_are_seen() {
        let change = between("f", b"a\nx\xffy\nb\n", "a\nx\u{fffd}y\nc\n".as_bytes());
        assert_eq!(change.to_unified(), "@@ -1,3 +1,3 @@\n a\n-x\\xffy\n-b\n+x\u{fffd}y\n+c\n");
        let change = between("f", b"x\xffy\xc3\n1\n", b"x\xffy\xc3\n2\n");
        assert_eq!(change.to_unified(), "@@ -1,2 +1,2 @@\n x\\xffy\\xc3\n-1\n+2\n");
    }

    #[test]
    fn every_single_line_change_of_a_long_text_is_one_line_at_its_place() {
        let lines: Vec<String> = (0..300).map(|n| format!("line {}\n", n % 7)).collect();
        let old = lines.concat();
        for at in [0, 1, 3, 4, 150, 295, 298, 299] {
            let mut new = lines.clone();
            if let Some(line) = new.get_mut(at) {
                *line = "changed\n".into();
            }
            let change = between("f", old.as_bytes(), new.concat().as_bytes());
            assert_eq!((change.added, change.removed), (1, 1), "{at}");
            let hunk = change.hunks.first().unwrap();
            let place = hunk.lines.iter().position(|line| line.starts_with('-')).unwrap();
            assert_eq!(hunk.old_start as usize + place, at + 1);
        }
    }

    #[test]
    fn a_change_made_of_splices_is_the_change_between_the_texts() {
        let lines: Vec<String> = (0..400).map(|n| format!("line {n} of it\n")).collect();
        let old = lines.concat();
        let splice = |place: Range<usize>, new: &str| Splice { place, bytes: new.into() };
        let at = |line: usize| lines.iter().take(line).map(String::len).sum::<usize>();
        let every: Vec<Splice> =
            memchr::memmem::find_iter(old.as_bytes(), b"of").map(|at| splice(at..at + 2, "OF")).collect();
        let cases = [
            vec![splice(at(200) + 5..at(200) + 8, "x")],
            vec![splice(0..0, "first\n"), splice(old.len()..old.len(), "last")],
            vec![splice(at(10)..at(12), ""), splice(at(19)..at(19), "a\nb\n"), splice(at(390)..at(391), "")],
            vec![splice(at(5)..at(6), "x"), splice(at(6) + 4..at(7), "\n"), splice(at(13) - 1..at(14), "\n")],
            vec![splice(0..old.len(), "gone\n")],
            every.iter().step_by(5).cloned().collect(),
            every.iter().step_by(20).cloned().collect(),
        ];
        for splices in cases {
            let new = splice::join(old.as_bytes(), 0..old.len(), &splices);
            let change = from_splices("f", old.as_bytes(), &splices);
            assert_eq!(change.to_unified(), between("f", old.as_bytes(), &new).to_unified(), "{splices:?}");
        }
        // Large enough to be split: different hunks, but the same lines.
        let long = old.repeat(10);
        let splices: Vec<Splice> = memchr::memmem::find_iter(long.as_bytes(), b"of")
            .step_by(3)
            .map(|at| splice(at..at + 2, "a\nb"))
            .collect();
        let change = from_splices("f", long.as_bytes(), &splices);
        let count = u32::try_from(splices.len()).unwrap();
        assert_eq!((change.added, change.removed), (2 * count, count));
        assert!(parts(long.as_bytes(), &splices).len() > 3);
    }

    #[test]
    fn a_very_large_change_is_cut_and_says_so() {
        let new: String = (0..10_000).map(|n| format!("{n}\n")).collect();
        let change = between("f", b"", new.as_bytes());
        assert!(change.cut);
        assert_eq!(change.added, 10_000);
        assert_eq!(change.hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>(), MAX_LINES);
        let long = between("f", b"", "x".repeat(1_000_000).as_bytes());
        assert!(long.cut && long.to_unified().len() < 3_000);
        let end = " ⋯ 998,000 more characters\n\\ No newline at end of file\n";
        assert!(long.to_unified().ends_with(end), "{}", long.to_unified());
    }

    #[test]
    fn what_stands_behind_many_blanks_is_kept() {
        let line = format!("x = 1{}; evil()", " ".repeat(10_000));
        let change = between("f", b"x = 1\n", line.as_bytes());
        assert!(!change.cut && change.to_unified().contains("; evil()"));
        let change = between("f", b"", " ".repeat(1_000_000).as_bytes());
        assert!(change.cut, "or said to be missing");
    }
}
