//! Panels of tool calls and of the user's commands: a head, and a body after a bar.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::highlight::Highlighter;
use super::row::Row;
use super::theme::{Theme, ThemeToken};
use super::{diff, terminal_text, wrap};
use crate::app::msg::Millis;
use crate::app::printable::Printable;
use crate::app::transcript::command_panel::{CommandEnd, CommandPanel};
use crate::app::transcript::panel::{CallState, PanelOutput, ToolPanel};

/// Rows of shell output shown while folded.
const TERMINAL_ROWS: usize = 20;
/// Rows of other text shown while folded.
const TEXT_ROWS: usize = 8;
/// Rows of a diff shown while folded.
const DIFF_ROWS: usize = 40;

/// A time span in milliseconds, for people.
pub fn seconds(span: Millis) -> String {
    let span = span.max(0);
    match span {
        0..10_000 => format!("{}.{}s", span / 1_000, span % 1_000 / 100),
        10_000..60_000 => format!("{}s", span / 1_000),
        60_000..3_600_000 => format!("{}m{:02}s", span / 60_000, span % 60_000 / 1_000),
        _ => format!("{}h{:02}m", span / 3_600_000, span % 3_600_000 / 60_000),
    }
}

/// The head of a call: state, name, title, and at the right what came of it.
pub(crate) fn tool_head(tool: &ToolPanel, now: Millis, theme: &Theme, width: u16) -> Row {
    let (mark, token) = match tool.state {
        CallState::Arriving | CallState::Waiting => ("○ ", ThemeToken::ToolRunning),
        CallState::Running => ("● ", ThemeToken::ToolRunning),
        CallState::Done => ("● ", ThemeToken::ToolOk),
        CallState::Failed => ("✗ ", ThemeToken::ToolError),
    };
    let time = match (tool.state, tool.since, tool.duration) {
        (CallState::Running, Some(since), _) => seconds(now - since),
        (_, _, Some(duration)) => seconds(Millis::try_from(duration).unwrap_or(Millis::MAX)),
        _ => String::new(),
    };
    let right = match &tool.output {
        PanelOutput::Diff(diff) => vec![
            Span::styled(format!("+{}", diff.added), theme.style(ThemeToken::Success)),
            Span::raw(" "),
            Span::styled(format!("−{}", diff.removed), theme.style(ThemeToken::Error)),
        ],
        PanelOutput::Terminal { status: Some(status), .. } => vec![
            Span::styled(time, theme.style(ThemeToken::Muted)),
            Span::styled(format!(" ✗ {}", status.as_str()), theme.style(ThemeToken::ToolError)),
        ],
        _ => vec![Span::styled(time, theme.style(ThemeToken::Muted))],
    };
    let left = vec![
        Span::styled(tool.name.as_str().to_owned(), theme.style(ThemeToken::ToolTitle)),
        Span::raw("  "),
        Span::styled(tool.title.as_str().to_owned(), theme.style(ThemeToken::Text)),
    ];
    head_row(Span::styled(mark, theme.style(token)), left, right, width)
}

/// A row of a head: a mark, text, and at the right what is known about it, which is not text.
fn head_row(mark: Span<'static>, left: Vec<Span<'static>>, right: Vec<Span<'static>>, width: u16) -> Row {
    let marked = u16::try_from(wrap::cells(&mark.content)).unwrap_or(width);
    let inner = width.saturating_sub(marked);
    let text = left.iter().map(|span| wrap::cells(&span.content)).sum::<usize>();
    let row = Row::from(both_ends(left, right, inner));
    row.text_until(u16::try_from(text).unwrap_or(inner)).behind(mark)
}

/// The head of a command of the user, one row for each line of it. `hint` says what keys do while
/// it runs.
pub(crate) fn command_head(
    command: &CommandPanel,
    hint: &str,
    now: Millis,
    theme: &Theme,
    width: u16,
) -> Vec<Row> {
    let (note, token) = match command.end {
        None => {
            let separator = if hint.is_empty() { "" } else { " · " };
            (format!("{}{separator}{hint}", seconds(now - command.since)), ThemeToken::Muted)
        }
        Some(CommandEnd::Exit(0)) => (String::new(), ThemeToken::Muted),
        Some(CommandEnd::Exit(code)) => (format!("✗ exit {code}"), ThemeToken::ToolError),
        Some(CommandEnd::Cancelled) => ("stopped".to_owned(), ThemeToken::Warning),
        Some(CommandEnd::Killed) => ("killed".to_owned(), ThemeToken::ToolError),
    };
    let private = if command.private { " · hidden from the model" } else { "" };
    let mark = theme.style(ThemeToken::ComposerShell);
    let right = vec![Span::styled(format!("{note}{private}"), theme.style(token))];
    let mut rows = Vec::new();
    for (index, line) in command.command.lines().enumerate() {
        let prompt = if index == 0 { "$ " } else { "  " };
        let left = vec![Span::styled(line.to_owned(), theme.style(ThemeToken::ToolTitle))];
        let right = if index == 0 { right.clone() } else { Vec::new() };
        rows.push(head_row(Span::styled(prompt, mark), left, right, width));
    }
    rows
}

/// The body of a command of the user. Unfolded it also says where the rest of the output is.
pub(crate) fn command_body(
    command: &CommandPanel,
    open: bool,
    expand: Option<String>,
    width: u16,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Row> {
    let mut rows = body(&command.output, open, expand, width, theme, highlighter);
    if let Some(path) = command.full_output.as_ref().filter(|_| open) {
        let note = Line::styled(format!("full output: {}", path.as_str()), theme.style(ThemeToken::Muted));
        let note = wrap::line_rows(&note, width.saturating_sub(3).max(1), 0);
        let style = theme.style(ThemeToken::ToolBorder);
        rows.extend(note.into_iter().map(|row| behind(row, "└ ", style)));
    }
    rows
}

/// The body of a call: its output, and below it the notes on it.
pub(crate) fn tool_body(
    tool: &ToolPanel,
    open: bool,
    expand: Option<String>,
    width: u16,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Row> {
    let mut rows = body(&tool.output, open, expand, width, theme, highlighter);
    let token = if tool.state == CallState::Failed { ThemeToken::ToolError } else { ThemeToken::Muted };
    for note in tool.notes.iter() {
        let note = Line::styled(note.as_str().to_owned(), theme.style(token));
        let note = wrap::line_rows(&note, width.saturating_sub(3).max(1), 0);
        let style = theme.style(ThemeToken::ToolBorder);
        rows.extend(note.into_iter().map(|row| behind(row, "└ ", style)));
    }
    rows
}

/// The body of a panel; folded, a part of it and a row that says how much more there is. `expand`
/// is the key that unfolds it.
fn body(
    output: &PanelOutput,
    open: bool,
    expand: Option<String>,
    width: u16,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Row> {
    let inner = width.saturating_sub(3).max(1);
    let (rows, hidden) = match output {
        PanelOutput::None => return Vec::new(),
        PanelOutput::Text(lines) => text(lines, open, inner, theme),
        PanelOutput::Diff(diff) => front(diff::render(diff, inner, theme, highlighter), open, DIFF_ROWS),
        PanelOutput::Terminal { lines, hidden, .. } => {
            // Folded, no more lines are laid out than can be shown.
            let skip = if open { 0 } else { lines.len().saturating_sub(TERMINAL_ROWS) };
            let shown = terminal_text::render(lines.get(skip..).unwrap_or(&[]), inner, theme);
            let cut = if open { 0 } else { shown.len().saturating_sub(TERMINAL_ROWS) };
            let rows: Vec<Row> = shown.into_iter().skip(cut).collect();
            (rows, *hidden as usize + skip + cut)
        }
        PanelOutput::Picture(note) => {
            (vec![Line::styled(note.as_str().to_owned(), theme.style(ThemeToken::Muted)).into()], 0)
        }
    };
    barred(rows, hidden, expand.filter(|_| !open), theme, inner)
}

fn text(lines: &[Printable], open: bool, width: u16, theme: &Theme) -> (Vec<Row>, usize) {
    let shown = if open { lines.len() } else { lines.len().min(TEXT_ROWS) };
    let style = theme.style(ThemeToken::Muted);
    let rows = lines
        .iter()
        .take(shown)
        .flat_map(|line| wrap::rows(&[Span::styled(line.as_str(), style)], width, 0, wrap::Break::Anywhere))
        .collect();
    let (rows, cut) = front(rows, open, 2 * TEXT_ROWS);
    (rows, cut + lines.len() - shown)
}

fn front(mut rows: Vec<Row>, open: bool, most: usize) -> (Vec<Row>, usize) {
    let cut = if open { 0 } else { rows.len().saturating_sub(most) };
    rows.truncate(rows.len() - cut);
    (rows, cut)
}

fn barred(rows: Vec<Row>, hidden: usize, expand: Option<String>, theme: &Theme, width: u16) -> Vec<Row> {
    let style = theme.style(ThemeToken::ToolBorder);
    let mut barred: Vec<Row> = rows.into_iter().map(|row| behind(row, "│ ", style)).collect();
    if hidden > 0 {
        let lines = if hidden == 1 { "line" } else { "lines" };
        let hint = expand.map(|key| format!(" · {key} to expand")).unwrap_or_default();
        let note = wrap::truncate(&format!("{hidden} more {lines}{hint}"), width).into_owned();
        let note = Line::styled(note, theme.style(ThemeToken::Muted));
        barred.push(behind(Row::mark(note), "└ ", style));
    }
    barred
}

fn behind(mut row: Row, bar: &'static str, style: Style) -> Row {
    row.restyle(|line| {
        let own = std::mem::take(&mut line.style);
        line.spans.iter_mut().for_each(|span| span.style = own.patch(span.style));
    });
    row.behind(Span::styled(bar, style))
}

/// A row with something at either end; the left end is cut when both do not fit.
pub(crate) fn both_ends(left: Vec<Span<'static>>, right: Vec<Span<'static>>, width: u16) -> Line<'static> {
    let width = width.saturating_sub(1);
    let taken = u16::try_from(wrap::spans_cells(&right)).unwrap_or(u16::MAX);
    if taken == 0 || taken + 8 > width {
        return wrap::truncate_line(Line::from(left), width);
    }
    let room = width - taken - 2;
    let mut row = wrap::truncate_line(Line::from(left), room);
    let used = u16::try_from(wrap::spans_cells(&row.spans)).unwrap_or(room);
    row.spans.push(Span::raw(" ".repeat(usize::from(width - taken - used.min(width - taken)))));
    row.spans.extend(right);
    row
}
