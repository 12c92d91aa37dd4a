//! Panels of tool calls and of the user's commands: a head, and a body after a bar.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::highlight::Highlighter;
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
pub(crate) fn tool_head(tool: &ToolPanel, now: Millis, theme: &Theme, width: u16) -> Line<'static> {
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
        Span::styled(mark, theme.style(token)),
        Span::styled(tool.name.as_str().to_owned(), theme.style(ThemeToken::ToolTitle)),
        Span::raw("  "),
        Span::styled(tool.title.as_str().to_owned(), theme.style(ThemeToken::Text)),
    ];
    both_ends(left, right, width)
}

/// The head of a command of the user, one row for each line of it. `hint` says what keys do while
/// it runs.
pub(crate) fn command_head(
    command: &CommandPanel,
    hint: &str,
    now: Millis,
    theme: &Theme,
    width: u16,
) -> Vec<Line<'static>> {
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
        let left = vec![
            Span::styled(prompt, mark),
            Span::styled(line.to_owned(), theme.style(ThemeToken::ToolTitle)),
        ];
        rows.push(both_ends(left, if index == 0 { right.clone() } else { Vec::new() }, width));
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
) -> Vec<Line<'static>> {
    let mut rows = body(&command.output, open, expand, width, theme, highlighter);
    if let Some(path) = command.full_output.as_ref().filter(|_| open) {
        let note = Line::styled(format!("full output: {}", path.as_str()), theme.style(ThemeToken::Muted));
        let note = wrap::wrap(&note, width.saturating_sub(3).max(1), 0);
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
) -> Vec<Line<'static>> {
    let mut rows = body(&tool.output, open, expand, width, theme, highlighter);
    let token = if tool.state == CallState::Failed { ThemeToken::ToolError } else { ThemeToken::Muted };
    for note in tool.notes.iter() {
        let note = Line::styled(note.as_str().to_owned(), theme.style(token));
        let note = wrap::wrap(&note, width.saturating_sub(3).max(1), 0);
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
) -> Vec<Line<'static>> {
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
            let rows: Vec<Line<'static>> = shown.into_iter().skip(cut).collect();
            (rows, *hidden as usize + skip + cut)
        }
        PanelOutput::Picture(note) => {
            (vec![Line::styled(note.as_str().to_owned(), theme.style(ThemeToken::Muted))], 0)
        }
    };
    barred(rows, hidden, expand.filter(|_| !open), theme, inner)
}

fn text(lines: &[Printable], open: bool, width: u16, theme: &Theme) -> (Vec<Line<'static>>, usize) {
    let shown = if open { lines.len() } else { lines.len().min(TEXT_ROWS) };
    let style = theme.style(ThemeToken::Muted);
    let rows = lines
        .iter()
        .take(shown)
        .flat_map(|line| {
            wrap::wrap_at(&[Span::styled(line.as_str(), style)], width, 0, wrap::Break::Anywhere)
        })
        .collect();
    let (rows, cut) = front(rows, open, 2 * TEXT_ROWS);
    (rows, cut + lines.len() - shown)
}

fn front(mut rows: Vec<Line<'static>>, open: bool, most: usize) -> (Vec<Line<'static>>, usize) {
    let cut = if open { 0 } else { rows.len().saturating_sub(most) };
    rows.truncate(rows.len() - cut);
    (rows, cut)
}

fn barred(
    rows: Vec<Line<'static>>,
    hidden: usize,
    expand: Option<String>,
    theme: &Theme,
    width: u16,
) -> Vec<Line<'static>> {
    let style = theme.style(ThemeToken::ToolBorder);
    let mut barred: Vec<Line<'static>> = rows.into_iter().map(|row| behind(row, "│ ", style)).collect();
    if hidden > 0 {
        let lines = if hidden == 1 { "line" } else { "lines" };
        let hint = expand.map(|key| format!(" · {key} to expand")).unwrap_or_default();
        let note = wrap::truncate(&format!("{hidden} more {lines}{hint}"), width).into_owned();
        barred.push(behind(Line::styled(note, theme.style(ThemeToken::Muted)), "└ ", style));
    }
    barred
}

fn behind(mut row: Line<'static>, bar: &'static str, style: Style) -> Line<'static> {
    let own = row.style;
    for span in &mut row.spans {
        span.style = own.patch(span.style);
    }
    row.spans.insert(0, Span::styled(bar, style));
    row.style = Style::default();
    row
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
