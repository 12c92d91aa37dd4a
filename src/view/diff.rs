//! A change to one file as rows: line numbers, signs, changed words, syntax colours.
//!
//! The text of the diff is sanitized here. Changed words are marked only if an old and a new run of lines
//! are similar; otherwise the marks would say less than the lines themselves.

mod split;

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use similar::{ChangeTag, InlineChangeOptions, TextDiff};

pub(crate) use self::split::{MIN_SPLIT, render_split};
use super::highlight::{self, Highlighter, LineTokens};
use super::row::Row;
use super::theme::{Theme, ThemeToken};
use super::wrap::{self, Break};
use tau_app::printable::printable_line;
use tau_tools::details::{FileDiff, Hunk};

/// The size in bytes of an old and a new run above which words are not compared.
const WORDS_LIMIT: usize = 20_000;
/// The similarity of two runs, from 0 to 1, from which their words are marked.
const ALIKE: f32 = 0.5;
/// The minimum number of cells of text beside the gutter.
const TEXT: u16 = 20;

/// The rows of a change, each at most `width` cells wide.
pub fn render(diff: &FileDiff, width: u16, theme: &Theme, highlighter: &mut Highlighter) -> Vec<Row> {
    let width = width.max(1);
    let gutter = Gutter::for_diff(diff, width);
    with_gaps(diff, width, theme, highlighter, |lines, rows| {
        lines.iter().for_each(|line| line.draw(&gutter, width, theme, rows));
    })
}

/// The rows of all hunks, with a mark between them.
fn with_gaps(
    diff: &FileDiff,
    width: u16,
    theme: &Theme,
    highlighter: &mut Highlighter,
    draw: impl Fn(&[DiffLine], &mut Vec<Row>),
) -> Vec<Row> {
    let lang = highlight::language_of(&diff.path);
    let style = theme.style(ThemeToken::DiffLineNumber);
    let gap = |text| Row::mark(Line::from(Span::styled(wrap::truncate(text, width).into_owned(), style)));
    let mut rows = Vec::new();
    for (index, hunk) in diff.hunks.iter().enumerate() {
        if index > 0 {
            rows.push(gap("⋯"));
        }
        draw(&lines(hunk, lang, highlighter), &mut rows);
    }
    if diff.cut {
        rows.push(gap("⋯ more changes are not shown"));
    }
    rows
}

/// The rows of one hunk of a change, each at most `width` cells wide.
pub(crate) fn render_hunk(
    diff: &FileDiff,
    index: usize,
    width: u16,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Row> {
    let width = width.max(1);
    let gutter = Gutter::for_diff(diff, width);
    let lang = highlight::language_of(&diff.path);
    let mut rows = Vec::new();
    for line in diff.hunks.get(index).into_iter().flat_map(|hunk| lines(hunk, lang, highlighter)) {
        line.draw(&gutter, width, theme, &mut rows);
    }
    rows
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Context,
    Removed,
    Added,
}

/// A line of a hunk.
struct DiffLine {
    sign: Sign,
    old: Option<u32>,
    new: Option<u32>,
    text: String,
    tokens: LineTokens,
    /// The byte ranges that differ from the counterpart.
    marks: Vec<Range<usize>>,
}

/// The kind of gutter.
enum Gutter {
    /// Both line numbers, padded to this many digits.
    Both(usize),
    /// The number in the current file, or in the old one for removed lines.
    One(usize),
    /// Only the sign.
    Sign,
    Nothing,
}

impl Gutter {
    fn for_diff(diff: &FileDiff, width: u16) -> Self {
        let last = |hunk: &Hunk| hunk.old_start.max(hunk.new_start).saturating_add(hunk.lines.len() as u32);
        let digits = diff.hunks.iter().map(last).max().unwrap_or(1).to_string().len();
        let room = usize::from(width.saturating_sub(TEXT));
        let fitting = [Gutter::Both(digits), Gutter::One(digits)].into_iter().find(|it| it.cells() <= room);
        fitting.unwrap_or(if width > 6 { Gutter::Sign } else { Gutter::Nothing })
    }

    fn cells(&self) -> usize {
        match self {
            Gutter::Both(digits) => 2 * digits + 6,
            Gutter::One(digits) => digits + 5,
            Gutter::Sign => 2,
            Gutter::Nothing => 0,
        }
    }

    /// The numbers of a line; blanks on its later rows.
    fn numbers(&self, line: &DiffLine, first: bool) -> String {
        let number = |number: Option<u32>| number.filter(|_| first).map(|number| number.to_string());
        let (old, new) = (number(line.old).unwrap_or_default(), number(line.new).unwrap_or_default());
        match self {
            Gutter::Both(digits) => format!("{old:>digits$} {new:>digits$} │ "),
            Gutter::One(digits) => {
                let one = if new.is_empty() { old } else { new };
                format!("{one:>digits$} │ ")
            }
            Gutter::Sign | Gutter::Nothing => String::new(),
        }
    }
}

impl DiffLine {
    fn draw(&self, gutter: &Gutter, width: u16, theme: &Theme, rows: &mut Vec<Row>) {
        let base = self.base(theme);
        let sign = match self.sign {
            Sign::Context => "  ",
            Sign::Removed => "- ",
            Sign::Added => "+ ",
        };
        let room = width - gutter.cells() as u16;
        let wrapped = wrap::rows(&self.spans(base, theme), room, 0, Break::Verbatim);
        for (index, row) in wrapped.into_iter().enumerate() {
            let mut marks = Vec::with_capacity(2);
            let numbers = gutter.numbers(self, index == 0);
            if !numbers.is_empty() {
                marks.push(Span::styled(numbers, theme.style(ThemeToken::DiffLineNumber)));
            }
            if !matches!(gutter, Gutter::Nothing) {
                marks.push(Span::styled(if index == 0 { sign } else { "  " }, base));
            }
            let mut row = row.end_text().with_indent(marks, u16::MAX);
            if base.bg.is_some() {
                row.restyle(|line| wrap::fill(line, width, base));
            }
            rows.push(row);
        }
    }

    /// The style of the whole line.
    fn base(&self, theme: &Theme) -> Style {
        theme.style(match self.sign {
            Sign::Context => ThemeToken::DiffContext,
            Sign::Removed => ThemeToken::DiffRemoved,
            Sign::Added => ThemeToken::DiffAdded,
        })
    }

    /// The text, split at the boundaries of tokens and marks.
    fn spans(&self, base: Style, theme: &Theme) -> Vec<Span<'_>> {
        let mut cuts: Vec<usize> = vec![0, self.text.len()];
        cuts.extend(self.tokens.iter().flat_map(|(range, _)| [range.start, range.end]));
        cuts.extend(self.marks.iter().flat_map(|range| [range.start, range.end]));
        cuts.sort_unstable();
        cuts.dedup();
        let mut tokens = self.tokens.iter().peekable();
        let mut marks = self.marks.iter().peekable();
        let mut spans = Vec::with_capacity(cuts.len());
        for (from, to) in cuts.iter().zip(cuts.iter().skip(1)) {
            while tokens.next_if(|(range, _)| range.end <= *from).is_some() {}
            while marks.next_if(|range| range.end <= *from).is_some() {}
            let token = tokens.peek().filter(|(range, _)| range.start <= *from).map(|(_, token)| *token);
            let marked = marks.peek().is_some_and(|range| range.start <= *from);
            let text = self.text.get(*from..*to).unwrap_or_default();
            spans.push(Span::styled(text, self.style(base, token, marked, theme)));
        }
        spans
    }

    fn style(&self, base: Style, token: Option<ThemeToken>, marked: bool, theme: &Theme) -> Style {
        let syntax = token.unwrap_or(ThemeToken::Code);
        let mark = match self.sign {
            Sign::Removed => theme.style(ThemeToken::DiffRemovedWord),
            Sign::Added | Sign::Context => theme.style(ThemeToken::DiffAddedWord),
        };
        let colour = theme.style(syntax);
        match (self.sign, base.bg.is_some()) {
            (Sign::Context, _) => base.patch(colour),
            // Without a background, the text colour shows that the line was added.
            (_, false) => base.patch(if marked { mark } else { Style::new() }),
            (_, true) => {
                // Code colours are chosen for the background of the line, not of a mark.
                let plain = token.map_or(base, |token| theme.style_within(base, token));
                if marked { base.patch(mark) } else { plain }
            }
        }
    }
}

/// The lines of a hunk with all their details.
fn lines(hunk: &Hunk, lang: &str, highlighter: &mut Highlighter) -> Vec<DiffLine> {
    let (mut old, mut new) = (hunk.old_start, hunk.new_start);
    let next = |counter: &mut u32| {
        let number = *counter;
        *counter = counter.saturating_add(1);
        Some(number)
    };
    let mut lines = Vec::with_capacity(hunk.lines.len());
    for line in &hunk.lines {
        let (sign, text) = match line.chars().next() {
            Some('-') => (Sign::Removed, line.get(1..)),
            Some('+') => (Sign::Added, line.get(1..)),
            Some(' ') => (Sign::Context, line.get(1..)),
            _ => (Sign::Context, Some(line.as_str())),
        };
        let old = if sign == Sign::Added { None } else { next(&mut old) };
        let new = if sign == Sign::Removed { None } else { next(&mut new) };
        let text = printable_line(text.unwrap_or_default()).into_owned();
        lines.push(DiffLine { sign, old, new, text, tokens: Vec::new(), marks: Vec::new() });
    }
    colour(&mut lines, Sign::Added, lang, highlighter);
    colour(&mut lines, Sign::Removed, lang, highlighter);
    mark_words(&mut lines);
    lines
}

/// Finds the tokens of one side of the change: of all lines except the `hidden` ones.
fn colour(lines: &mut [DiffLine], hidden: Sign, lang: &str, highlighter: &mut Highlighter) {
    let mut side: Vec<&mut DiffLine> = lines.iter_mut().filter(|line| line.sign != hidden).collect();
    let text: String = side.iter().flat_map(|line| [line.text.as_str(), "\n"]).collect();
    for (line, tokens) in side.iter_mut().zip(highlighter.highlight(lang, &text)) {
        line.tokens = tokens;
    }
}

/// Marks the differences between each run of removed lines and the run of added lines after it.
fn mark_words(lines: &mut [DiffLine]) {
    let mut rest = lines;
    while !rest.is_empty() {
        let run = |lines: &[DiffLine], sign| lines.iter().take_while(|line| line.sign == sign).count();
        let removed = run(rest, Sign::Removed);
        let added = run(rest.get(removed..).unwrap_or_default(), Sign::Added);
        let Some((both, after)) = rest.split_at_mut_checked((removed + added).max(1)) else { return };
        if let Some((old, new)) = both.split_at_mut_checked(removed).filter(|_| removed > 0 && added > 0) {
            mark_pair(old, new);
        }
        rest = after;
    }
}

fn mark_pair(old: &mut [DiffLine], new: &mut [DiffLine]) {
    let size = |lines: &[DiffLine]| lines.iter().map(|line| line.text.len()).sum::<usize>();
    if size(old) + size(new) > WORDS_LIMIT {
        return;
    }
    let mut marks: Vec<(ChangeTag, usize, Vec<Range<usize>>)> = Vec::new();
    {
        let texts = |lines: &[DiffLine]| lines.iter().map(|line| line.text.clone()).collect::<Vec<_>>();
        let (before, after) = (texts(old), texts(new));
        let before: Vec<&str> = before.iter().map(String::as_str).collect();
        let after: Vec<&str> = after.iter().map(String::as_str).collect();
        let diff = TextDiff::from_slices(&before, &after);
        let mut options = InlineChangeOptions::new();
        options.min_ratio(ALIKE).semantic_cleanup(true);
        for op in diff.ops() {
            for change in diff.iter_inline_changes_with_options_deadline(op, options, None) {
                let index = match change.tag() {
                    ChangeTag::Delete => change.old_index(),
                    ChangeTag::Insert => change.new_index(),
                    ChangeTag::Equal => None,
                };
                if let Some(index) = index {
                    marks.push((change.tag(), index, emphasis_ranges(change.values())));
                }
            }
        }
    }
    for (tag, index, ranges) in marks {
        let side = if tag == ChangeTag::Delete { &mut *old } else { &mut *new };
        if let Some(line) = side.get_mut(index) {
            line.marks = ranges;
        }
    }
}

fn emphasis_ranges(values: &[(bool, &str)]) -> Vec<Range<usize>> {
    let mut at = 0;
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (marked, text) in values {
        let range = at..at + text.len();
        at = range.end;
        match ranges.last_mut() {
            _ if !marked || text.is_empty() => {}
            Some(last) if last.end == range.start => last.end = range.end,
            _ => ranges.push(range),
        }
    }
    ranges
}
