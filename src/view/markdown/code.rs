//! Code blocks as rows: a border at the left, the language above, long lines wrapped.
//!
//! A part of a long fence draws the ends of the border only where the fence has them, so that the parts join
//! into one block.

use ratatui::text::{Line, Span};

use super::{blank, span};
use crate::highlight::{Highlighter, LineTokens};
use crate::row::Row;
use crate::theme::{Theme, ThemeToken};
use crate::wrap::{self, Break};
use tau_app::blocks::CodePart;

/// The width below which the border is left out.
const BORDERED: u16 = 12;

/// The rows of printable code, within a margin and a width.
pub(super) fn rows(
    lang: &str,
    text: &str,
    part: CodePart,
    room: (u16, u16),
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Row> {
    let (margin, width) = room;
    let bordered = width >= BORDERED;
    let border = theme.style(ThemeToken::CodeBorder);
    let complete = text.rfind('\n').map_or(0, |at| at + 1);
    let mut known = highlighter.take_growing((lang.to_owned(), room, part.starts()), text);
    if known.text.is_empty() && bordered && part.starts() {
        known.rows.clear();
        let mut top = vec![blank(margin), span("╭─", border)];
        if !lang.is_empty() {
            let label = wrap::truncate(lang, width - 3).into_owned();
            top.push(span(format!(" {label}"), theme.style(ThemeToken::Muted)));
        }
        known.rows.push(Row::mark(Line::from(top)));
    }
    let rest = text.get(known.text.len()..).unwrap_or_default();
    let (lines, partial) =
        rest.split_at_checked(complete.saturating_sub(known.text.len())).unwrap_or((rest, ""));
    for line in lines.lines() {
        let tokens = highlighter.line(&mut known.state, line);
        push_line(&mut known.rows, line, &tokens, room, theme);
    }
    known.text.push_str(lines);
    let mut rows = known.rows.clone();
    if !partial.is_empty() {
        let tokens = highlighter.line(&mut known.state.clone(), partial);
        push_line(&mut rows, partial, &tokens, room, theme);
    }
    highlighter.keep(known);
    if bordered && part.ends() {
        rows.push(Row::mark(Line::from(vec![blank(margin), span("╰─", border)])));
    }
    rows
}

fn push_line(
    rows: &mut Vec<Row>,
    line: &str,
    tokens: &LineTokens,
    (margin, width): (u16, u16),
    theme: &Theme,
) {
    let bordered = width >= BORDERED;
    let border = theme.style(ThemeToken::CodeBorder);
    let inner = if bordered { width - 2 } else { width };
    let wrapped = wrap::rows(&spans(line, tokens, theme), inner, 0, Break::Verbatim);
    for (index, row) in wrapped.into_iter().enumerate() {
        let mark = if index == 0 { "│ " } else { "┊ " };
        let mut before = vec![blank(margin)];
        before.extend(bordered.then(|| span(mark, border)));
        rows.push(row.with_indent(before, u16::MAX));
    }
}

/// A line of code with its colours.
pub(crate) fn spans<'a>(line: &'a str, tokens: &LineTokens, theme: &Theme) -> Vec<Span<'a>> {
    let plain = theme.style(ThemeToken::Code);
    let mut spans = Vec::with_capacity(2 * tokens.len() + 1);
    let mut at = 0;
    for (range, token) in tokens {
        let between = line.get(at..range.start).unwrap_or_default();
        if !between.is_empty() {
            spans.push(Span::styled(between, plain));
        }
        spans.push(Span::styled(line.get(range.clone()).unwrap_or_default(), theme.style(*token)));
        at = range.end;
    }
    let rest = line.get(at..).unwrap_or_default();
    if !rest.is_empty() {
        spans.push(Span::styled(rest, plain));
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_complete_lines_are_made_once() {
        let (theme, mut highlighter) = (Theme::default(), Highlighter::default());
        let mut draw = |text: &str| rows("rust", text, CodePart::Whole, (2, 40), &theme, &mut highlighter);
        let before = draw("fn a() {\n    let");
        let after = draw("fn a() {\n    let b = 1;\n}");
        let texts: Vec<String> = after.iter().map(|row| row.text(0..u16::MAX)).collect();
        assert_eq!(texts, ["", "fn a() {", "    let b = 1;", "}", ""]);
        let shared = |index: usize| before[index].is_shared_with(&after[index]);
        assert_eq!([0, 1, 2].map(shared), [true, true, false]);
    }
    #[test]
    fn the_rows_of_a_complete_part_are_not_made_again() {
        let (theme, mut highlighter) = (Theme::default(), Highlighter::default());
        let mut draw = |text: &str, part| rows("rust", text, part, (2, 40), &theme, &mut highlighter);
        let growing = draw("let a = 1;\nlet b", CodePart::Whole);
        // The screen is filled from its end.
        draw("let c = 3;\n", CodePart::Last);
        let complete = draw("let a = 1;\nlet b = 2;\n", CodePart::First);
        assert!(growing[1].is_shared_with(&complete[1]));
    }
}
