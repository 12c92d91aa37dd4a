//! Row moves by the terminal: finds the one that saves most.

use std::io::Write;
use std::ops::Range;

use super::FramePair;

/// Minimum number of saved rows for a move.
const WORTH: usize = 3;

/// Rows `top..bottom` move up by `by`, or down when it is negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shift {
    pub(super) top: usize,
    pub(super) bottom: usize,
    by: isize,
}

impl Shift {
    /// Line feeds at the last row of a scroll region, or the reverse at its first: unlike SU and SD, every
    /// terminal supports them.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        let (edge, feed) = if self.by > 0 { (self.bottom, "\n") } else { (self.top + 1, "\x1bM") };
        let feeds = feed.repeat(self.by.unsigned_abs());
        // Writing to memory cannot fail.
        let _ = write!(out, "\x1b[{};{}r\x1b[{edge}H{feeds}\x1b[r", self.top + 1, self.bottom);
    }

    /// The row that ends up at `y`; `None` where it is blank.
    pub(super) fn source(self, y: usize) -> Option<usize> {
        let rows = self.top..self.bottom;
        if !rows.contains(&y) {
            return Some(y);
        }
        y.checked_add_signed(self.by).filter(|from| rows.contains(from))
    }
}

/// The move that saves most rows from being written, if it is worthwhile.
pub(super) fn find_shift(frames: &FramePair<'_>, changed: &[bool]) -> Option<Shift> {
    // Not all terminals move pictures with the text.
    if [frames.old, frames.new]
        .iter()
        .any(|frame| frame.pictures.iter().any(|placed| placed.what.strip().is_some()))
    {
        return None;
    }
    if changed.iter().filter(|changed| **changed).count() < WORTH {
        return None;
    }
    let first = changed.iter().position(|changed| *changed)?;
    let last = changed.iter().rposition(|changed| *changed)?;
    let span = last + 1 - first;
    let [old, new] = frames.known.fingerprints();
    let may_be_same = |from: usize, y: usize| match (old.get(from), new.get(y)) {
        (Some(Some(old)), Some(Some(new))) => old == new,
        _ => true,
    };
    let mut best: Option<(usize, Shift)> = None;
    for distance in 1..span {
        // Further moves save fewer rows than this.
        if best.is_some_and(|(saved, _)| saved >= span - distance) {
            break;
        }
        for up in [true, false] {
            // Rows `y` of the new frame are rows `y + distance` (or `y - distance`) of the old one.
            let range = if up { first..last + 1 - distance } else { first + distance..last + 1 };
            let moved = |y: usize| {
                let from = if up { y + distance } else { y - distance };
                may_be_same(from, y) && frames.is_same_row(from, y)
            };
            for (start, end) in runs(range, moved) {
                let (top, bottom) = if up { (start, end + distance) } else { (start - distance, end) };
                let saved = (start..end).filter(|y| changed.get(*y) == Some(&true)).count();
                let freed = if up { end..bottom } else { top..start };
                let spoilt = freed.filter(|y| changed.get(*y) == Some(&false)).count();
                let by = if up { distance as isize } else { -(distance as isize) };
                let gain = saved.saturating_sub(spoilt);
                if gain >= WORTH && best.is_none_or(|(least, _)| gain > least) {
                    best = Some((gain, Shift { top, bottom, by }));
                }
            }
        }
    }
    best.map(|(_, shift)| shift)
}

/// The stretches of `range` for which `holds`.
fn runs(range: Range<usize>, holds: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for y in range {
        if holds(y) {
            match found.last_mut() {
                Some((_, end)) if *end == y => *end = y + 1,
                _ => found.push((y, y + 1)),
            }
        }
    }
    found
}
