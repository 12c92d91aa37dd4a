//! Removes a change from a later version of a text: three-way merges and single hunks.
//!
//! Works on complete lines of bytes, so line ends and encodings are preserved. Pure.

use std::ops::Range;
use std::time::{Duration, Instant};

use tau_tools::Hunk;
use tau_tools::compare::{DiffTag, by_anchors};

/// The time after which the lines are compared coarsely.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Replaces the lines `place` of the base with these.
#[derive(Debug, PartialEq, Eq)]
struct LineEdit<'a> {
    place: Range<usize>,
    lines: &'a [&'a [u8]],
}

/// Applies the change from `base` to `theirs` to `ours`, which is also derived from `base`. `None` if both
/// changed the same or adjacent lines, or if one of them is not text.
pub(crate) fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    if [base, ours, theirs].iter().any(|bytes| is_binary(bytes)) {
        return None;
    }
    let (base, ours, theirs) = (lines(base), lines(ours), lines(theirs));
    let mut edits = edits(&base, &ours);
    for edit in self::edits(&base, &theirs) {
        let meets =
            |other: &LineEdit<'_>| other.place.start <= edit.place.end && edit.place.start <= other.place.end;
        if edits.contains(&edit) {
            continue;
        }
        if edits.iter().any(meets) {
            return None;
        }
        let at = edits.partition_point(|other| other.place.start < edit.place.start);
        edits.insert(at, edit);
    }
    let mut merged: Vec<&[u8]> = Vec::new();
    let mut at = 0;
    for edit in edits {
        merged.extend(base.get(at..edit.place.start).unwrap_or_default());
        merged.extend(edit.lines);
        at = edit.place.end;
    }
    merged.extend(base.get(at..).unwrap_or_default());
    Some(merged.concat())
}

/// `new` with one of the hunks between `old` and `new` reverted. `None` if the hunk is not one of them.
pub(crate) fn without_hunk(old: &[u8], new: &[u8], hunk: &Hunk) -> Option<Vec<u8>> {
    let count = |other: char| hunk.lines.iter().filter(|line| !line.starts_with(other)).count();
    let (old, new) = (lines(old), lines(new));
    let range = |start: u32, count: usize| {
        let start = usize::try_from(start).ok()?.checked_sub(1)?;
        Some(start..start.checked_add(count)?)
    };
    let was = old.get(range(hunk.old_start, count('+'))?)?;
    let place = range(hunk.new_start, count('-'))?;
    new.get(place.clone())?;
    let after = new.get(place.end..)?;
    Some([new.get(..place.start)?, was, after].concat().concat())
}

/// Whether the content is not text.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes.get(..8192).unwrap_or(bytes)).is_some()
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

fn edits<'a>(base: &[&[u8]], other: &'a [&'a [u8]]) -> Vec<LineEdit<'a>> {
    let deadline = Some(Instant::now() + TIMEOUT);
    let ops = by_anchors(base, other, deadline);
    let mut edits: Vec<LineEdit<'a>> = Vec::new();
    for op in ops.iter().filter(|op| op.tag() != DiffTag::Equal) {
        let (place, new) = (op.old_range(), op.new_range());
        edits.push(LineEdit { place, lines: other.get(new).unwrap_or_default() });
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_tools::diff;

    fn merge_text(base: &str, ours: &str, theirs: &str) -> Option<String> {
        merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes())
            .map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn changes_of_different_lines_are_both_made() {
        let base = "1\n2\n3\n4\n5\n6\n";
        let ours = "1\n2\n3\n4\n5 ours\n6\nmore\n";
        assert_eq!(
            merge_text(base, ours, "one\n2\n3\n4\n5\n6\n").unwrap(),
            "one\n2\n3\n4\n5 ours\n6\nmore\n"
        );
        assert_eq!(merge_text(base, ours, "2\n3\n4\n5\n6\n").unwrap(), "2\n3\n4\n5 ours\n6\nmore\n");
        assert_eq!(merge_text(base, base, "x\n").unwrap(), "x\n");
        assert_eq!(merge_text(base, ours, ours).unwrap(), ours, "the same change twice is one");
        assert_eq!(merge_text("a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC").unwrap(), "A\r\nb\r\nC");
    }

    #[test]
    fn changes_of_the_same_lines_are_refused() {
        let base = "1\n2\n3\n4\n";
        assert_eq!(merge_text(base, "1\nx\n3\n4\n", "1\ny\n3\n4\n"), None);
        assert_eq!(merge_text(base, "1\nx\n3\n4\n", "1\n2\ny\n4\n"), None, "next to each other");
        assert_eq!(merge_text(base, "1\n2\n3\n4\na\n", "1\n2\n3\n4\nb\n"), None);
        assert_eq!(merge_text("\0a\n", "\0a\nb\n", "c\n\0a\n"), None);
    }

    #[test]
    fn every_hunk_of_a_change_can_be_taken_back() {
        let old: String = (0..60).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 5\n", "").replace("line 30\n", "line 30\r\nand more\n") + "the end";
        let change = diff::between("f", old.as_bytes(), new.as_bytes());
        assert_eq!(change.hunks.len(), 3);
        for (at, hunk) in change.hunks.iter().enumerate() {
            let less = without_hunk(old.as_bytes(), new.as_bytes(), hunk).unwrap();
            let left = diff::between("f", old.as_bytes(), &less);
            assert_eq!(left.hunks.len(), 2, "{at}");
        }
        let mut all = new.into_bytes();
        for hunk in change.hunks.iter().rev() {
            all = without_hunk(old.as_bytes(), &all, hunk).unwrap();
        }
        assert_eq!(all, old.as_bytes());
        for (old, new) in [("", "a\n"), ("a\n", ""), ("a", "a\n")] {
            let change = diff::between("f", old.as_bytes(), new.as_bytes());
            let back = without_hunk(old.as_bytes(), new.as_bytes(), &change.hunks[0]).unwrap();
            assert_eq!(back, old.as_bytes());
        }
    }
}
