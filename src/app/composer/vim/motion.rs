//! The targets of motions.

use super::command::{Direction, Find, FindStop, Motion, WordKind};
use super::text::Text;

/// The reach of an operator between two positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Not the last position.
    Exclusive,
    /// Like `Exclusive`; when the last position is the start of a line, nothing of that line.
    AcrossLines,
    /// The last position, too.
    Inclusive,
    /// Whole lines.
    Lines,
}

impl Motion {
    pub(super) fn reach(&self) -> Reach {
        match self {
            Motion::Left | Motion::Right | Motion::LineStart | Motion::FirstNonBlank | Motion::LineEnd => {
                Reach::Exclusive
            }
            Motion::Word(_) | Motion::WordBack(_) | Motion::ParagraphBack | Motion::Paragraph => {
                Reach::AcrossLines
            }
            Motion::WordEnd(_) | Motion::WordEndBack(_) | Motion::Matching => Reach::Inclusive,
            Motion::Find(find) if find.direction == Direction::Forward => Reach::Inclusive,
            Motion::Find(_) | Motion::FindAgain | Motion::FindBack => Reach::Exclusive,
            Motion::Up | Motion::Down | Motion::FirstLine | Motion::LastLine => Reach::Lines,
        }
    }
}

/// The motion, with a repeated search replaced by the last one.
pub(super) fn resolve_find(motion: &Motion, last: Option<Find>) -> Option<(Motion, bool)> {
    let turned = |direction| match direction {
        Direction::Forward => Direction::Back,
        Direction::Back => Direction::Forward,
    };
    match motion {
        Motion::FindAgain => last.map(|find| (Motion::Find(find), true)),
        Motion::FindBack => {
            last.map(|find| (Motion::Find(Find { direction: turned(find.direction), ..find }), true))
        }
        other => Some((other.clone(), false)),
    }
}

/// The target of a motion; `None` when it is impossible. `again` repeats a search, which then does not stay
/// before the same character.
pub(super) fn target(
    text: &Text,
    from: usize,
    motion: &Motion,
    count: Option<usize>,
    again: bool,
) -> Option<usize> {
    let times = count.unwrap_or(1);
    let row = text.row(from);
    let last_row = text.rows() - 1;
    let line = |row: usize| Some(text.indent_end(row.min(last_row)));
    match motion {
        Motion::Left => Some(from.saturating_sub(times).max(text.line_start(from))),
        Motion::Right => Some((from + times).min(text.line_end(from))),
        Motion::Up => (row > 0).then(|| below(text, from, row.saturating_sub(times))),
        Motion::Down => (row < last_row).then(|| below(text, from, (row + times).min(last_row))),
        Motion::Word(kind) => repeat_step(times, from, |at| word(text, at, *kind)),
        Motion::WordBack(kind) => repeat_step(times, from, |at| word_back(text, at, *kind)),
        Motion::WordEnd(kind) => repeat_step(times, from, |at| word_end(text, at, *kind)),
        Motion::WordEndBack(kind) => repeat_step(times, from, |at| word_end_back(text, at, *kind)),
        Motion::LineStart => Some(text.line_start(from)),
        Motion::FirstNonBlank => line(row),
        Motion::LineEnd => Some(text.end_of((row + times - 1).min(last_row))),
        Motion::FirstLine => line(count.map_or(0, |number| number - 1)),
        Motion::LastLine => line(count.map_or(last_row, |number| number - 1)),
        Motion::Find(find) => find_char(text, from, *find, times, again),
        Motion::FindAgain | Motion::FindBack => None,
        Motion::Matching => matching(text, from),
        Motion::ParagraphBack => repeat_step(times, from, |at| paragraph_back(text, at)),
        Motion::Paragraph => repeat_step(times, from, |at| paragraph(text, at)),
    }
}

/// Takes up to `times` steps; `None` when not even one is possible.
fn repeat_step(times: usize, from: usize, step: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    let mut at = step(from)?;
    for _ in 1..times {
        let Some(next) = step(at) else { break };
        at = next;
    }
    Some(at)
}

/// The position in another line with the same column.
fn below(text: &Text, from: usize, row: usize) -> usize {
    (text.start_of(row) + from - text.line_start(from)).min(text.end_of(row))
}

fn is_same(text: &Text, one: usize, other: usize, kind: WordKind) -> bool {
    match kind {
        WordKind::Word => text.is_same_word(one, other),
        WordKind::Blanks => other < text.len() && text.is_blank(one) == text.is_blank(other),
    }
}

/// The last position of the run of equal characters that `at` is in.
pub(super) fn run_end(text: &Text, at: usize, kind: WordKind) -> usize {
    (at..).find(|at| !is_same(text, *at, at + 1, kind)).unwrap_or(at)
}

/// The first position of the run of equal characters that `at` is in.
pub(super) fn run_start(text: &Text, at: usize, kind: WordKind) -> usize {
    (1..=at).rev().find(|at| !is_same(text, *at, at - 1, kind)).unwrap_or(0)
}

/// The start of the next word; an empty line is one.
fn word(text: &Text, from: usize, kind: WordKind) -> Option<usize> {
    if from >= text.len() {
        return None;
    }
    let mut at = if text.is_blank(from) { from } else { run_end(text, from, kind) + 1 };
    while text.is_blank(at) && (at == from || !text.is_empty_line(at)) {
        at += 1;
    }
    Some(at)
}

/// The start of the word before.
fn word_back(text: &Text, from: usize, kind: WordKind) -> Option<usize> {
    let mut at = from.checked_sub(1)?;
    while text.is_blank(at) && !text.is_empty_line(at) && at > 0 {
        at -= 1;
    }
    Some(if text.is_blank(at) { at } else { run_start(text, at, kind) })
}

/// The end of the word after.
fn word_end(text: &Text, from: usize, kind: WordKind) -> Option<usize> {
    let at = (from + 1..text.len()).find(|at| !text.is_blank(*at));
    match at {
        Some(at) => Some(run_end(text, at, kind)),
        None => text.len().checked_sub(1).filter(|last| *last > from),
    }
}

/// The end of the word before.
fn word_end_back(text: &Text, from: usize, kind: WordKind) -> Option<usize> {
    let start = if text.is_blank(from) { from } else { run_start(text, from.min(text.len()), kind) };
    let mut at = start.checked_sub(1)?;
    while text.is_blank(at) && !text.is_empty_line(at) && at > 0 {
        at -= 1;
    }
    Some(at)
}

/// The last position that `cw` changes: the end of the word that `from` is in, or of a later one.
pub(super) fn change_end(text: &Text, from: usize, kind: WordKind, times: usize) -> usize {
    let end = run_end(text, from, kind);
    repeat_step(times - 1, end, |at| word_end(text, at, kind)).filter(|_| times > 1).unwrap_or(end)
}

/// The position to which `w` takes an operator: it does not cross the end of the line after the last
/// word.
pub(super) fn operator_word_end(text: &Text, from: usize, kind: WordKind, times: usize) -> Option<usize> {
    let last = if times > 1 { repeat_step(times - 1, from, |at| word(text, at, kind))? } else { from };
    let (to, end) = (word(text, last, kind)?, text.line_end(last));
    Some(if last < end { to.min(end) } else { to })
}

fn find_char(text: &Text, from: usize, find: Find, times: usize, again: bool) -> Option<usize> {
    let is_wanted = |at: &usize| text.char(*at) == Some(find.what);
    let is_near = |at: usize| find.stop == FindStop::Before && again && times == 1 && is_wanted(&at);
    match find.direction {
        Direction::Forward => {
            let skipped = usize::from(is_near(from + 1));
            let at = (from + 1 + skipped..text.line_end(from)).filter(is_wanted).nth(times - 1)?;
            Some(if find.stop == FindStop::Before { at - 1 } else { at })
        }
        Direction::Back => {
            let skipped = usize::from(from > 0 && is_near(from - 1));
            let before = text.line_start(from)..from.saturating_sub(skipped);
            let at = before.rev().filter(is_wanted).nth(times - 1)?;
            Some(if find.stop == FindStop::Before { at + 1 } else { at })
        }
    }
}

/// Brackets that belong together.
const BRACKETS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];

/// The counterpart of the next bracket of the line.
fn matching(text: &Text, from: usize) -> Option<usize> {
    (from..text.line_end(from)).find_map(|at| {
        let c = text.char(at)?;
        let (open, close) = BRACKETS.iter().find(|(open, close)| *open == c || *close == c)?;
        Some(match c == *open {
            true => closing(text, at + 1, *open, *close),
            false => opening(text, at, *open, *close),
        })
    })?
}

/// The closing bracket of the pair that is open at `from`.
pub(super) fn closing(text: &Text, from: usize, open: char, close: char) -> Option<usize> {
    outer(text, from..text.len(), close, open)
}

/// The opening bracket of the pair that is open at `from`.
pub(super) fn opening(text: &Text, from: usize, open: char, close: char) -> Option<usize> {
    outer(text, (0..from).rev(), open, close)
}

/// The first `wanted` on the way that is not paired with an `other` before it.
fn outer(text: &Text, way: impl Iterator<Item = usize>, wanted: char, other: char) -> Option<usize> {
    let mut depth = 0_usize;
    for at in way {
        match text.char(at) {
            Some(c) if c == other => depth += 1,
            Some(c) if c == wanted && depth == 0 => return Some(at),
            Some(c) if c == wanted => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The empty line after the paragraph, else the end of the text.
fn paragraph(text: &Text, from: usize) -> Option<usize> {
    let first = (text.row(from)..text.rows()).find(|row| !text.is_empty_row(*row));
    let next = first.and_then(|first| (first..text.rows()).find(|row| text.is_empty_row(*row)));
    Some(next.map_or(text.len(), |row| text.start_of(row))).filter(|to| *to > from)
}

/// The empty line before the paragraph, else the start of the text.
fn paragraph_back(text: &Text, from: usize) -> Option<usize> {
    let last = (0..=text.row(from)).rev().find(|row| !text.is_empty_row(*row));
    let next = last.and_then(|last| (0..last).rev().find(|row| text.is_empty_row(*row)));
    Some(next.map_or(0, |row| text.start_of(row))).filter(|to| *to < from)
}
