//! A call waiting for the user's decision, in its panel, with the prompt below it.
//!
//! The panel shows the whole command with the parts that are the reason, or the change hunk by hunk. The
//! hunks and the prompt are parts of the entry, after those of every call.

mod prompt;
pub(crate) mod typed;

use std::ops::Range;

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

pub(crate) use self::prompt::{Prompt, coverage_words, lines as spoken};
use super::diff;
use super::highlight::Highlighter;
use super::markdown::code;
use super::memo::RowsVersion;
use super::panel::{behind, text_rows};
use super::row::Row;
use super::theme::{Theme, ThemeToken};
use super::wrap::{self, Break};
use tau_app::Model;
use tau_app::approval::{Approval, MarkedText};
use tau_app::transcript::panel::ToolPanel;
use tau_app::transcript::{EntryBody, TranscriptEntry};
use tau_tools::details::FileDiff;

/// The bar beside a call that needs approval.
const BAR: &str = "┃ ";
/// The width of the bar.
pub(crate) const BAR_CELLS: u16 = 2;
/// Cells that the head needs besides the name and title of a call.
const HEAD: usize = 18;

/// The content of a call's part while its prompt is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskedPart {
    /// The head of the call.
    Head,
    /// The command, or the arguments.
    Body,
    /// The hunk with this index.
    Hunk(usize),
    Prompt,
}

/// The request whose prompt is open, if it belongs to this call.
pub(crate) fn open_of<'a>(model: &'a Model, tool: &ToolPanel) -> Option<&'a Approval> {
    model.approvals.open().filter(|open| open.request.tool_call_id == tool.call_id && !open.is_answered)
}

/// The number of parts that the prompt adds to those of a call.
pub(crate) fn extra_parts(model: &Model, tool: &ToolPanel) -> usize {
    open_of(model, tool).map_or(0, |open| hunk_count(open) + 1)
}

fn hunk_count(approval: &Approval) -> usize {
    approval.change.as_ref().map_or(0, |change| change.hunks.len())
}

/// The content of an entry's part, for the request whose prompt is open at it.
pub(crate) fn part<'a>(
    model: &'a Model,
    entry: &TranscriptEntry,
    part: u32,
) -> Option<(&'a Approval, AskedPart)> {
    let EntryBody::Tool(tool) = &entry.body else { return None };
    let open = open_of(model, tool)?;
    let hunks = hunk_count(open);
    let shown = match (part as usize).checked_sub(2 + tool.pictures.len()) {
        None if part == 0 => AskedPart::Head,
        None if part == 1 => AskedPart::Body,
        None => return None,
        Some(at) if at < hunks => AskedPart::Hunk(at),
        Some(_) => AskedPart::Prompt,
    };
    Some((open, shown))
}

/// The parts of the selected hunk and of the prompt.
pub(crate) fn places(tool: &ToolPanel, approval: &Approval) -> (Option<u32>, u32) {
    let first = 2 + tool.pictures.len();
    let number = |part: usize| u32::try_from(part).unwrap_or(u32::MAX);
    let hunk = (approval.hunks() > 0).then(|| number(first + approval.hunk));
    (hunk, number(first + hunk_count(approval)))
}

/// The version of a part's rows, for the cache.
pub(crate) fn version(model: &Model, revision: u32, approval: &Approval, part: AskedPart) -> RowsVersion {
    let (selected, rejected) = match part {
        AskedPart::Prompt => return RowsVersion::Transient,
        AskedPart::Head | AskedPart::Body => (false, false),
        AskedPart::Hunk(at) => (approval.hunk == at, approval.rejected.contains(&at)),
    };
    RowsVersion::Asked { revision, request: model.approvals.revision(), selected, rejected }
}

/// The rows of a part below the head.
pub(crate) fn rows(
    model: &Model,
    tool: &ToolPanel,
    approval: &Approval,
    part: AskedPart,
    width: u16,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Row> {
    let room = inner(width);
    let rows = match part {
        AskedPart::Head => Vec::new(),
        AskedPart::Body => match &approval.command {
            Some(command) => command_rows(command, room, theme, highlighter),
            None => match &approval.change {
                Some(change) => path_rows(tool, change, room, theme),
                None => text_rows(&approval.arguments, theme, room),
            },
        },
        AskedPart::Hunk(at) => hunk_rows(approval, at, room, theme, highlighter),
        AskedPart::Prompt => Prompt::of(model, approval, room, theme).rows,
    };
    let bar = theme.style(ThemeToken::Warning);
    rows.into_iter().map(|row| behind(row, BAR, bar)).collect()
}

/// The width beside the bar.
pub(crate) fn inner(width: u16) -> u16 {
    width.saturating_sub(3).max(1)
}

/// The number of rows of the request without the head of its call; counts at most `most`.
fn subject_rows(approval: &Approval, width: u16, theme: &Theme, most: usize) -> usize {
    let room = width.saturating_sub(2).max(1);
    let cells = most.saturating_mul(usize::from(width)).saturating_mul(4);
    if let Some(command) = &approval.command {
        let rows = |line: &str| match line.len() {
            length if length > cells => most,
            _ => wrap::rows(&[Span::raw(line)], room, 0, Break::Words).len(),
        };
        let mut count = 0;
        for line in command.text.split('\n') {
            count += rows(line);
            if count >= most {
                break;
            }
        }
        return count.min(most);
    }
    match &approval.change {
        Some(change) => {
            let hunks = change.hunks.iter().map(|hunk| hunk.lines.len() + 1).sum::<usize>();
            (hunks + usize::from(change.hunks.len() > 1)).min(most)
        }
        None => text_rows(&approval.arguments, theme, width).len().min(most),
    }
}

/// The path of a change, if the head omits it or has no room for all of it.
fn path_rows(tool: &ToolPanel, change: &FileDiff, width: u16, theme: &Theme) -> Vec<Row> {
    let taken = wrap::cells(tool.name.as_str()) + wrap::cells(tool.title.as_str()) + HEAD;
    if tool.title.as_str() == change.path && taken <= usize::from(width) {
        return Vec::new();
    }
    wrap::rows(
        &[Span::styled(change.path.as_str(), theme.style(ThemeToken::Text))],
        width,
        0,
        Break::Verbatim,
    )
}

/// The whole command, with the parts that are the reason marked.
fn command_rows(command: &MarkedText, width: u16, theme: &Theme, highlighter: &mut Highlighter) -> Vec<Row> {
    let text = command.text.as_str();
    let room = width.saturating_sub(2).max(1);
    let prompt = theme.style(ThemeToken::ComposerShell);
    let mark = theme.style(ThemeToken::MatchMark);
    let mut rows = Vec::new();
    let mut start = 0;
    for (line, tokens) in text.split('\n').zip(highlighter.highlight("sh", text)) {
        let marks: Vec<Range<usize>> = command
            .marks
            .iter()
            .map(|range| range.start.saturating_sub(start)..range.end.saturating_sub(start).min(line.len()))
            .filter(|range| range.start < range.end)
            .collect();
        let spans = mark_ranges(code::spans(line, &tokens, theme), &marks, mark);
        for row in wrap::rows(&spans, room, 0, Break::Words) {
            let sign = if rows.is_empty() { "$ " } else { "  " };
            rows.push(row.behind(Span::styled(if width > 2 { sign } else { "" }, prompt)));
        }
        start += line.len() + 1;
    }
    rows
}

/// The rows of the command with the parts that are the reason, in the order of the reasons; of at most `most` parts.
pub(crate) fn reason_rows(command: &MarkedText, width: u16, most: usize) -> Vec<u32> {
    let room = inner(width).saturating_sub(2).max(1);
    let mark = Style::new().add_modifier(Modifier::REVERSED);
    let mut found: Vec<(usize, usize)> = Vec::new();
    let (mut start, mut first) = (0, 0);
    for line in command.text.split('\n') {
        let end = start + line.len();
        let ranked = command.ranked.iter().take(most).enumerate();
        for (rank, range) in ranked.filter(|(_, range)| range.start < end && start < range.end) {
            let range = range.start.saturating_sub(start)..range.end.min(end) - start;
            let spans = mark_ranges(vec![Span::raw(line)], &[range], mark);
            let rows = wrap::rows(&spans, room, 0, Break::Words);
            let is_marked = |row: &Row| row.spans.iter().any(|span| span.style == mark);
            let places = rows.iter().enumerate().filter(|(_, row)| is_marked(row));
            found.extend(places.map(|(at, _)| (rank, first + at)));
        }
        first += wrap::rows(&[Span::raw(line)], room, 0, Break::Words).len();
        start = end + 1;
    }
    found.sort_unstable();
    found.into_iter().filter_map(|(_, row)| u32::try_from(row).ok()).collect()
}

/// Gives these bytes of the spans' text another style.
fn mark_ranges<'a>(spans: Vec<Span<'a>>, marks: &[Range<usize>], style: Style) -> Vec<Span<'a>> {
    let mut cut = Vec::with_capacity(spans.len() + 2 * marks.len());
    let mut start = 0;
    for span in spans {
        let end = start + span.content.len();
        let mut edges: Vec<usize> = marks.iter().flat_map(|mark| [mark.start, mark.end]).collect();
        edges.retain(|edge| (start + 1..end).contains(edge));
        edges.extend([start, end]);
        edges.sort_unstable();
        for (from, to) in edges.iter().zip(edges.iter().skip(1)) {
            let is_marked = marks.iter().any(|mark| mark.contains(from));
            let text = span.content.get(from - start..to - start).unwrap_or_default().to_owned();
            let look = if is_marked { span.style.patch(style) } else { span.style };
            cut.push(Span::styled(text, look));
        }
        start = end;
    }
    cut
}

/// A hunk; if hunks can be chosen, below a row that says whether it is applied.
fn hunk_rows(
    approval: &Approval,
    at: usize,
    width: u16,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Row> {
    let Some(change) = &approval.change else { return Vec::new() };
    let rejected = approval.rejected.contains(&at);
    let mut rows = diff::render_hunk(change, at, width, theme, highlighter);
    if rejected {
        let style = theme.style(ThemeToken::Faint).add_modifier(Modifier::CROSSED_OUT);
        rows.iter_mut().for_each(|row| {
            row.restyle(|line| {
                line.style = Style::default();
                line.spans.iter_mut().for_each(|span| span.style = style);
            });
        });
    }
    let count = approval.hunks();
    if count > 0 {
        let (cursor, token) =
            if approval.hunk == at { ("● ", ThemeToken::Accent) } else { ("  ", ThemeToken::Muted) };
        let state = if rejected { "[ ] " } else { "[x] " };
        let note = if rejected { " · not applied" } else { "" };
        let text = format!("{cursor}{state}hunk {} of {count}{note}", at + 1);
        let head = Line::styled(wrap::truncate(&text, width).into_owned(), theme.style(token));
        rows.insert(0, Row::mark(head));
    } else if at > 0 {
        let gap = Line::styled("⋯", theme.style(ThemeToken::DiffLineNumber));
        rows.insert(0, Row::mark(gap));
    }
    rows
}
