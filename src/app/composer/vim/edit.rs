//! The text edits of commands, and the cursor afterwards.

use std::ops::Range;

use super::command::{Operator, Side};
use super::object::Span;
use super::text::{Place, Text};
use crate::composer::register::{Register, SpanKind};

/// Blanks that `>` adds to a line.
const INDENT: &str = "    ";
/// Maximum length of a text that is inserted at once, in bytes.
const MAX_LEN: usize = 1_000_000;

/// A replacement of characters at a place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Edit {
    pub at: Place,
    pub chars: usize,
    pub text: String,
}

/// The cursor after the edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    At(Place),
    /// On the first non-blank character of a line.
    Indent(usize),
}

/// The effect of a command.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    /// Last in the text first.
    pub edits: Vec<Edit>,
    pub rest: Rest,
    /// The deleted or copied text.
    pub register: Option<Register>,
}

fn edit(text: &Text, range: Range<usize>, new: String) -> Edit {
    Edit { at: text.place(range.start), chars: text.chars(range), text: new }
}

/// The effect of an operator on a span; `None` if it has none. The cursor starts at `cursor` and stays there
/// unless the plan says otherwise.
pub(super) fn plan_operator(
    text: &Text,
    operator: Operator,
    span: &Span,
    cursor: usize,
    register: &Register,
) -> Option<Plan> {
    let (range, rows) = (span.range.clone(), text.row(span.range.start)..=text.row(span.range.end));
    let taken = || Some(Register { text: text.slice(range.clone()), kind: span.kind });
    let start = text.place(range.start);
    let stays = Rest::At(text.place(cursor));
    let changed = |edits: Vec<Edit>, rest: Rest| Some(Plan { edits, rest, register: None });
    let mapped = |map: &dyn Fn(&str) -> String| {
        let unit = |at: usize| if text.is_chip(at) { text.str(at).to_owned() } else { map(text.str(at)) };
        vec![edit(text, range.clone(), range.clone().map(unit).collect())]
    };
    match (operator, span.kind) {
        (Operator::Yank, _) => Some(Plan { edits: Vec::new(), rest: stays, register: taken() }),
        (Operator::Delete, SpanKind::Lines) => {
            let whole = match (range.end < text.len(), range.start) {
                (true, start) => start..range.end + 1,
                (false, 0) => 0..range.end,
                (false, start) => start - 1..range.end,
            };
            let edits = vec![edit(text, whole, String::new())];
            Some(Plan { edits, rest: Rest::Indent(start.0), register: taken() })
        }
        (Operator::Delete, SpanKind::Chars) if range.is_empty() => None,
        (Operator::Delete | Operator::Change, _) => {
            let edits = vec![edit(text, range.clone(), String::new())];
            Some(Plan { edits, rest: Rest::At(start), register: taken() })
        }
        (Operator::PutOver { swaps }, kind) => {
            let new = match (kind, register.kind) {
                (SpanKind::Chars, SpanKind::Lines) => format!("\n{}\n", register.text),
                _ => register.text.clone(),
            };
            let rest = match (kind, register.kind) {
                (SpanKind::Chars, SpanKind::Chars) => after_put(start, &new),
                (SpanKind::Chars, SpanKind::Lines) => Rest::Indent(start.0 + 1),
                (SpanKind::Lines, _) => Rest::Indent(start.0),
            };
            let edits = vec![edit(text, range.clone(), new)];
            Some(Plan { edits, rest, register: taken().filter(|_| swaps) })
        }
        (Operator::Indent | Operator::Outdent, _) => {
            let shifted = rows.rev().filter_map(|row| shift(text, row, operator));
            changed(shifted.collect(), Rest::Indent(start.0))
        }
        (Operator::Join, _) => join(text, *rows.start(), (*rows.end()).max(rows.start() + 1)),
        (Operator::Lower, _) => changed(mapped(&str::to_lowercase), stays),
        (Operator::Upper, _) => changed(mapped(&str::to_uppercase), stays),
        (Operator::SwapCase, _) => changed(mapped(&swap_case), stays),
        (Operator::Replace(c), _) => {
            let new = |old: &str| if old == "\n" { old.to_owned() } else { c.to_string() };
            let edits = vec![edit(text, range.clone(), range.map(|at| new(text.str(at))).collect())];
            changed(edits, stays)
        }
    }
}

fn swap_case(text: &str) -> String {
    let swap = |c: char| match c.is_lowercase() {
        true => c.to_uppercase().to_string(),
        false => c.to_lowercase().to_string(),
    };
    text.chars().map(swap).collect()
}

fn shift(text: &Text, row: usize, operator: Operator) -> Option<Edit> {
    let start = text.start_of(row);
    if operator == Operator::Indent {
        return (!text.is_empty_row(row)).then(|| edit(text, start..start, INDENT.to_owned()));
    }
    let blanks = (start..text.indent_end(row)).take(INDENT.len());
    let narrow = blanks.take_while(|at| text.char(*at) != Some('\t')).count();
    let tab = usize::from(narrow < INDENT.len() && text.char(start + narrow) == Some('\t'));
    let count = narrow + tab;
    (count > 0).then(|| edit(text, start..start + count, String::new()))
}

/// Joins lines: a blank takes the place of each line break and the blanks after it.
fn join(text: &Text, first: usize, last: usize) -> Option<Plan> {
    let mut edits = Vec::new();
    let mut before = text.slice(text.start_of(first)..text.end_of(first)).chars().next_back();
    let mut column = text.chars(text.start_of(first)..text.end_of(first));
    let mut rest = None;
    for row in first + 1..=last.min(text.rows() - 1) {
        let (indent, end) = (text.indent_end(row), text.end_of(row));
        let parted =
            before.is_none_or(char::is_whitespace) || indent == end || text.char(indent) == Some(')');
        let glue = if parted { "" } else { " " };
        edits.push(edit(text, text.start_of(row) - 1..indent, glue.to_owned()));
        rest = Some(Rest::At((first, column)));
        column += glue.len() + text.chars(indent..end);
        before = text.slice(indent..end).chars().next_back().or(before);
    }
    edits.reverse();
    rest.map(|rest| Plan { edits, rest, register: None })
}

/// The cursor after characters were put at a place.
fn after_put(at: Place, new: &str) -> Rest {
    match new.contains('\n') {
        true => Rest::At(at),
        false => Rest::At((at.0, at.1 + new.chars().count().saturating_sub(1))),
    }
}

/// A text repeated `times` times, up to the length limit.
pub(super) fn repeat_text(text: &str, times: usize) -> String {
    text.repeat(times.min((MAX_LEN / text.len().max(1)).max(1)))
}

/// The effect of `p` and `P`, repeated.
pub(super) fn put(text: &Text, cursor: usize, side: Side, register: &Register, times: usize) -> Option<Plan> {
    if register.text.is_empty() && register.kind == SpanKind::Chars {
        return None;
    }
    let (row, end) = (text.row(cursor), text.line_end(cursor));
    let (at, new, rest) = match (register.kind, side) {
        (SpanKind::Chars, _) => {
            let at = if side == Side::After { (cursor + 1).min(end) } else { cursor };
            let new = repeat_text(&register.text, times);
            let rest = after_put(text.place(at), &new);
            (at, new, rest)
        }
        (SpanKind::Lines, Side::After) => {
            (end, repeat_text(&format!("\n{}", register.text), times), Rest::Indent(row + 1))
        }
        (SpanKind::Lines, Side::Before) => {
            (text.start_of(row), repeat_text(&format!("{}\n", register.text), times), Rest::Indent(row))
        }
    };
    let edits = vec![edit(text, at..at, new)];
    Some(Plan { edits, rest, register: None })
}
