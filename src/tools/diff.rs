//! A change of one file as hunks: for people, and for the refusal that shows what changed.
//!
//! Pure. Bounded in time and size, whatever the texts are. The shape is `details::FileDiff`.

use std::time::Duration;

use similar::{Algorithm, DiffOp, TextDiff};

use super::{FileDiff, Hunk};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// Most lines kept in hunks.
const MAX_LINES: usize = 2_000;
/// Most bytes kept in hunks.
const MAX_BYTES: usize = 256 * 1024;
/// Most characters kept of one line.
const MAX_LINE: usize = 2_000;
/// After this the diff is finished coarsely.
const PATIENCE: Duration = Duration::from_millis(500);

/// The change from `old` to `new`. Bytes that are not UTF-8 are replaced in the hunks.
pub fn between(path: &str, old: &[u8], new: &[u8]) -> FileDiff {
    let same = Same::of(old, new);
    let old_text = String::from_utf8_lossy(same.middle(old));
    let new_text = String::from_utf8_lossy(same.middle(new));
    let old_lines: Vec<&str> = old_text.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new_text.split_inclusive('\n').collect();
    // Lines that occur once anchor the rest, so many small changes all over a large file do not
    // take the time of one large change.
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Patience)
        .timeout(PATIENCE)
        .diff_slices(&old_lines, &new_lines);
    let mut change = FileDiff { path: path.into(), ..FileDiff::default() };
    let mut room = Room { lines: MAX_LINES, bytes: MAX_BYTES };
    for group in diff.grouped_ops(CONTEXT) {
        let hunk = hunk(&group, &old_lines, &new_lines, same.lines_before, &mut room, &mut change);
        if !hunk.lines.is_empty() {
            change.hunks.push(hunk);
        }
    }
    change
}

/// The start and the end that both texts share, in whole lines, less the context. Without this
/// a small edit of a large file would cost the time of the whole file.
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
        // The shared end begins in the middle of a line; skip to its first whole line, then
        // leave the context to the middle part.
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

struct Room {
    lines: usize,
    bytes: usize,
}

fn hunk(
    group: &[DiffOp],
    old: &[&str],
    new: &[&str],
    before: usize,
    room: &mut Room,
    change: &mut FileDiff,
) -> Hunk {
    let first = group.first();
    let start = |index: Option<usize>| u32::try_from(index.unwrap_or(0) + before + 1).unwrap_or(u32::MAX);
    let mut hunk = Hunk {
        old_start: start(first.map(|op| op.old_range().start)),
        new_start: start(first.map(|op| op.new_range().start)),
        lines: Vec::new(),
    };
    for op in group {
        let unchanged = matches!(op, DiffOp::Equal { .. });
        let olds = old.get(op.old_range()).unwrap_or_default();
        let news = if unchanged { &[] } else { new.get(op.new_range()).unwrap_or_default() };
        if !unchanged {
            change.removed += u32::try_from(olds.len()).unwrap_or(u32::MAX);
            change.added += u32::try_from(news.len()).unwrap_or(u32::MAX);
        }
        let sign = if unchanged { ' ' } else { '-' };
        let lines = olds.iter().map(|line| (sign, line)).chain(news.iter().map(|line| ('+', line)));
        for (sign, line) in lines {
            let line = keep(sign, line);
            if room.lines == 0 || room.bytes < line.len() {
                change.cut = true;
                room.lines = 0;
                continue;
            }
            room.lines -= 1;
            room.bytes -= line.len();
            hunk.lines.push(line);
        }
    }
    hunk
}

fn keep(sign: char, line: &str) -> String {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    let mut kept = String::from(sign);
    kept.extend(line.chars().take(MAX_LINE));
    if kept.len() <= line.len() {
        kept.push('…');
    }
    kept
}

/// The hunks as text, `@@` lines included. For the model.
pub fn unified(change: &FileDiff) -> String {
    let mut text = String::new();
    for hunk in &change.hunks {
        let count = |other: char| hunk.lines.iter().filter(|line| !line.starts_with(other)).count();
        let (old, new) = (count('+'), count('-'));
        text.push_str(&format!("@@ -{},{old} +{},{new} @@\n", hunk.old_start, hunk.new_start));
        for line in &hunk.lines {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, added: u32, removed: u32, text: &str) {
        let change = between("f", old.as_bytes(), new.as_bytes());
        assert_eq!(
            (change.added, change.removed, unified(&change).as_str()),
            (added, removed, text),
            "{old:?} {new:?}"
        );
    }

    #[test]
    fn a_change_is_shown_with_its_context_and_line_numbers() {
        check("", "a\n", 1, 0, "@@ -1,0 +1,1 @@\n+a\n");
        check("a\n", "", 0, 1, "@@ -1,1 +1,0 @@\n-a\n");
        check("a\n", "a\n", 0, 0, "");
        check(
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
            "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
            1,
            1,
            "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n",
        );
        check("a\na\na\n", "a\na\na\na\n", 1, 0, "@@ -1,3 +1,4 @@\n a\n a\n a\n+a\n");
        check("end", "end\n", 1, 1, "@@ -1,1 +1,1 @@\n-end\n+end\n");
        check("a\r\nb\r\n", "a\r\nc\r\n", 1, 1, "@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
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
    fn a_very_large_change_is_cut_and_says_so() {
        let new: String = (0..10_000).map(|n| format!("{n}\n")).collect();
        let change = between("f", b"", new.as_bytes());
        assert!(change.cut);
        assert_eq!(change.added, 10_000);
        assert_eq!(change.hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>(), MAX_LINES);
        let long = between("f", b"", "x".repeat(1_000_000).as_bytes());
        assert!(unified(&long).len() < 3_000);
    }
}
