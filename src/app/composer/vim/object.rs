//! The ranges of text objects.

use std::ops::Range;

use super::command::{Object, ObjectKind, WordKind};
use super::motion::{closing, opening, run_end, run_start};
use super::text::Text;
use crate::composer::register::SpanKind;

/// A part of the text, and its kind. Lines are without the last line break.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    pub range: Range<usize>,
    pub kind: SpanKind,
}

impl Span {
    pub(super) fn chars(range: Range<usize>) -> Self {
        Span { range, kind: SpanKind::Chars }
    }

    /// The lines from `first` to `last`.
    pub(super) fn rows(text: &Text, first: usize, last: usize) -> Self {
        Span { range: text.start_of(first)..text.end_of(last), kind: SpanKind::Lines }
    }
}

/// The object at the cursor; `count` brackets further out.
pub(super) fn span(text: &Text, from: usize, object: Object, count: usize) -> Option<Span> {
    match object.kind {
        ObjectKind::Word(kind) => word(text, from, kind, object.around).map(Span::chars),
        ObjectKind::Paragraph => Some(paragraph(text, from, object.around)),
        ObjectKind::Quotes(quote) => quotes(text, from, quote, object.around).map(Span::chars),
        ObjectKind::Brackets(open, close) => brackets(text, from, (open, close), count, object.around),
    }
}

fn word(text: &Text, from: usize, kind: WordKind, around: bool) -> Option<Range<usize>> {
    let (first, end) = (text.line_start(from), text.line_end(from));
    if from >= end {
        return None;
    }
    let run = |at: usize| run_start(text, at, kind).max(first)..(run_end(text, at, kind) + 1).min(end);
    let own = run(from);
    let after = (own.end < end).then(|| run(own.end));
    let before = (own.start > first).then(|| run(own.start - 1)).filter(|before| before.start > first);
    let is_blank = |run: &Range<usize>| text.is_blank(run.start);
    Some(match (around, after, before) {
        (true, Some(after), _) if is_blank(&own) || is_blank(&after) => own.start..after.end,
        (true, _, Some(before)) if !is_blank(&own) && is_blank(&before) => before.start..own.end,
        _ => own,
    })
}

/// The lines up to the next empty one or, on empty ones, the empty lines; with `around` also the next lines
/// of the other kind or, at the end, the previous ones.
fn paragraph(text: &Text, from: usize, around: bool) -> Span {
    let row = text.row(from);
    let last_like = |row: usize| {
        let differs = |next: &usize| text.is_empty_row(*next) != text.is_empty_row(row);
        (row..text.rows()).find(differs).unwrap_or(text.rows()) - 1
    };
    let first_like = |row: usize| {
        let differs = |next: &usize| text.is_empty_row(*next) != text.is_empty_row(row);
        (0..row).rev().find(differs).map_or(0, |before| before + 1)
    };
    let (mut first, mut last) = (first_like(row), last_like(row));
    if around && last + 1 < text.rows() {
        last = last_like(last + 1);
    } else if around && first > 0 && !text.is_empty_row(row) {
        first = first_like(first - 1);
    }
    Span::rows(text, first, last)
}

/// A quoted text: the one at the cursor, else the next one of the line.
fn quotes(text: &Text, from: usize, quote: char, around: bool) -> Option<Range<usize>> {
    let (first, end) = (text.line_start(from), text.line_end(from));
    let mut marks = Vec::new();
    let mut escaped = false;
    for at in first..end {
        let c = text.char(at);
        if c == Some(quote) && !escaped {
            marks.push(at);
        }
        escaped = c == Some('\\') && !escaped;
    }
    let pair = |pair: &[usize]| pair.first().copied().zip(pair.get(1).copied());
    let on_mark = marks.contains(&from);
    // A cursor on a quote is in the pair of that quote; a cursor between quotes is in that pair.
    let own = match on_mark {
        true => marks.chunks(2).filter_map(pair).find(|(open, close)| *open == from || *close == from),
        false => marks.windows(2).filter_map(pair).find(|(open, close)| *open < from && from < *close),
    };
    let (open, close) =
        own.or_else(|| marks.windows(2).filter_map(pair).find(|(open, _)| *open > from && !on_mark))?;
    if !around {
        return Some(open + 1..close);
    }
    let blank = |at: &usize| text.is_blank(*at);
    let after = (close + 1..end).take_while(blank).count();
    let before = (first..open).rev().take_while(blank).count();
    Some(if after > 0 { open..close + 1 + after } else { open - before..close + 1 })
}

fn brackets(
    text: &Text,
    from: usize,
    (open, close): (char, char),
    count: usize,
    around: bool,
) -> Option<Span> {
    let mut start = if text.char(from) == Some(open) { from } else { opening(text, from, open, close)? };
    for _ in 1..count {
        start = opening(text, start, open, close)?;
    }
    let end = closing(text, start + 1, open, close)?;
    if around {
        return Some(Span::chars(start..end + 1));
    }
    let (first, last) = (text.row(start) + 1, text.row(end));
    // Brackets at the ends of lines hold whole lines.
    let opens_at_end = text.line_end(start) == start + 1;
    let closes_at_start = (text.line_start(end)..end).all(|at| text.is_blank(at));
    Some(match opens_at_end && closes_at_start && first < last {
        true => Span::rows(text, first, last - 1),
        false => Span::chars(start + 1..end),
    })
}
