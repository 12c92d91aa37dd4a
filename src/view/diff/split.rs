//! A side-by-side diff: old lines on the left, new lines on the right.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{DiffLine, Sign, with_gaps};
use crate::highlight::Highlighter;
use crate::row::Row;
use crate::theme::{Theme, ThemeToken};
use crate::wrap::{self, Break};
use tau_tools::details::{FileDiff, Hunk};

/// The minimum width for two columns.
pub(crate) const MIN_SPLIT: u16 = 60;
/// The separator of the columns.
const BETWEEN: &str = " │ ";

/// The rows of a change, each at most `width` cells wide; `width` is at least [`MIN_SPLIT`].
pub(crate) fn render_split(
    diff: &FileDiff,
    width: u16,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Row> {
    let last = |hunk: &Hunk| hunk.old_start.max(hunk.new_start).saturating_add(hunk.lines.len() as u32);
    let digits = diff.hunks.iter().map(last).max().unwrap_or(1).to_string().len();
    let columns = width.max(MIN_SPLIT) - wrap::cells(BETWEEN) as u16;
    let sides = Sides { digits, left: columns / 2, right: columns - columns / 2 };
    with_gaps(diff, width, theme, highlighter, |lines, rows| {
        pairs(lines).into_iter().for_each(|(old, new)| sides.draw(old, new, theme, rows));
    })
}

/// Pairs the lines: context with itself, removed lines with the lines added in their place.
fn pairs(mut lines: &[DiffLine]) -> Vec<(Option<&DiffLine>, Option<&DiffLine>)> {
    let mut pairs = Vec::with_capacity(lines.len());
    while let Some((first, rest)) = lines.split_first() {
        if first.sign == Sign::Context {
            pairs.push((Some(first), Some(first)));
            lines = rest;
            continue;
        }
        let run = |lines: &[DiffLine], sign| lines.iter().take_while(|line| line.sign == sign).count();
        let removed = run(lines, Sign::Removed);
        let added = run(lines.get(removed..).unwrap_or_default(), Sign::Added);
        let new = lines.get(removed..removed + added).unwrap_or_default();
        for at in 0..removed.max(added) {
            pairs.push((lines.get(at).filter(|_| at < removed), new.get(at)));
        }
        lines = lines.get(removed + added..).unwrap_or_default();
    }
    pairs
}

/// The two columns.
struct Sides {
    digits: usize,
    left: u16,
    right: u16,
}

/// A row of one column: the number with the sign, and the text.
type Half = (Vec<Span<'static>>, Row);

impl Sides {
    fn draw(&self, old: Option<&DiffLine>, new: Option<&DiffLine>, theme: &Theme, rows: &mut Vec<Row>) {
        let between = || Span::styled(BETWEEN, theme.style(ThemeToken::ToolBorder));
        let left = old.map(|line| self.half(line, line.old, self.left, theme)).unwrap_or_default();
        let right = new.map(|line| self.half(line, line.new, self.right, theme)).unwrap_or_default();
        let (old, new) = (old.map(|line| line.base(theme)), new.map(|line| line.base(theme)));
        let height = left.len().max(right.len());
        let mut right = right.into_iter();
        let mut left = left.into_iter();
        for _ in 0..height {
            let mut before = Line::default();
            let only_old = right.len() == 0 && new.is_none();
            let old_half = left.next();
            let row = match (old_half, right.next()) {
                (Some((gutter, text)), None) if only_old => {
                    let mut row = text.end_text().with_indent(gutter, u16::MAX);
                    row.restyle(|line| {
                        fill(line, self.left, old);
                        line.spans.push(between());
                    });
                    row
                }
                (old_half, new_half) => {
                    if let Some((gutter, text)) = old_half {
                        before.spans.extend(gutter);
                        before.spans.extend(text.into_line().spans);
                    }
                    fill(&mut before, self.left, old);
                    before.spans.push(between());
                    match new_half {
                        Some((gutter, text)) => {
                            let row = text.end_text().with_indent(gutter, u16::MAX);
                            row.with_indent(before.spans, u16::MAX)
                        }
                        None => Row::mark(before),
                    }
                }
            };
            let mut row = row;
            row.restyle(|line| fill(line, self.left + self.right + wrap::cells(BETWEEN) as u16, new));
            rows.push(row);
        }
    }

    fn half(&self, line: &DiffLine, number: Option<u32>, width: u16, theme: &Theme) -> Vec<Half> {
        let base = line.base(theme);
        let digits = self.digits;
        let sign = match line.sign {
            Sign::Context => "  ",
            Sign::Removed => "- ",
            Sign::Added => "+ ",
        };
        let room = width.saturating_sub(digits as u16 + 3).max(1);
        let wrapped = wrap::rows(&line.spans(base, theme), room, 0, Break::Verbatim).into_iter().enumerate();
        let half = |(index, row): (usize, Row)| {
            let number = number.filter(|_| index == 0).map(|number| number.to_string()).unwrap_or_default();
            let numbers =
                Span::styled(format!("{number:>digits$} "), theme.style(ThemeToken::DiffLineNumber));
            (vec![numbers, Span::styled(if index == 0 { sign } else { "  " }, base)], row)
        };
        wrapped.map(half).collect()
    }
}

/// Pads to `width` with the background of the line, if there is a line.
fn fill(line: &mut Line<'static>, width: u16, base: Option<Style>) {
    wrap::fill(line, width, base.filter(|base| base.bg.is_some()).unwrap_or_default());
}
