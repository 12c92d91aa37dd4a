//! Panels of tool calls and of the user's commands: a head, and a body after a bar.

mod arguments;
mod failure;
mod group;
mod output;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

pub(crate) use self::arguments::text_rows;
pub(crate) use self::group::group_row;
use self::output::OutputEnd;
use super::highlight::Highlighter;
use super::row::Row;
use super::theme::{Theme, ThemeToken};
use super::wrap;
use tau_app::geometry::TextLayout;
use tau_app::msg::Millis;
use tau_app::printable::Printable;
use tau_app::time_format::{noticeable, seconds};
use tau_app::transcript::call_end;
use tau_app::transcript::command_panel::{CommandEnd, CommandPanel};
use tau_app::transcript::hidden_secrets::HiddenSecrets;
use tau_app::transcript::panel::{CallState, PanelOutput, ToolPanel};

/// The number of output lines of a folded call.
const CALL_LINES: usize = 7;
/// The number of output lines of a folded user command: more, as it was run to be read.
const COMMAND_LINES: usize = 20;

/// The head of a call: state, name, title, and its result on the right. `asked` means that the command is
/// below it in full, as part of a request for approval.
pub(crate) fn tool_head(
    tool: &ToolPanel,
    asked: bool,
    now: Millis,
    theme: &Theme,
    highlighter: &mut Highlighter,
    width: u16,
) -> Row {
    let (mark, token) = match tool.state {
        CallState::Arriving | CallState::Waiting => ("○ ", ThemeToken::ToolRunning),
        CallState::Asked => ("? ", ThemeToken::Warning),
        CallState::Running => ("● ", ThemeToken::ToolRunning),
        CallState::Done => ("● ", ThemeToken::ToolOk),
        CallState::Failed => ("✗ ", ThemeToken::ToolError),
        CallState::Stopped => ("■ ", ThemeToken::Muted),
        CallState::Skipped => ("– ", ThemeToken::Muted),
    };
    let mut left = vec![
        Span::styled(tool.name.as_str().to_owned(), theme.style(ThemeToken::ToolTitle)),
        Span::raw("  "),
    ];
    if !arguments::says_title(tool) {
        left.push(Span::styled(tool.title.as_str().to_owned(), theme.style(ThemeToken::Text)));
    } else if !asked && arguments::stands_in_head(tool, width) {
        left.extend(arguments::command_line(&tool.arguments.command, theme, highlighter));
    }
    head_row(Span::styled(mark, theme.style(token)), left, outcome_spans(tool, now, theme), width)
}

/// A row of a head: a mark, text, and a note on the right, which is not copied.
fn head_row(mark: Span<'static>, left: Vec<Span<'static>>, right: Vec<Span<'static>>, width: u16) -> Row {
    let marked = u16::try_from(wrap::cells(&mark.content)).unwrap_or(width);
    let inner = width.saturating_sub(marked);
    let text = left.iter().map(|span| wrap::cells(&span.content)).sum::<usize>();
    let row = Row::from(both_ends(left, right, inner));
    row.text_until(u16::try_from(text).unwrap_or(inner)).behind(mark)
}

/// The result of a call, for the right end of its head.
pub(crate) fn outcome_spans(tool: &ToolPanel, now: Millis, theme: &Theme) -> Vec<Span<'static>> {
    let muted = |text: String| Span::styled(text, theme.style(ThemeToken::Muted));
    let took = tool.duration.and_then(|took| noticeable(Millis::try_from(took).unwrap_or(Millis::MAX)));
    if let PanelOutput::Helper { used, .. } = &tool.output
        && !matches!(tool.state, CallState::Asked)
    {
        let running = || noticeable(now - tool.since.filter(|_| tool.state == CallState::Running)?);
        let time = took.or_else(running);
        let outcome = tool.outcome.as_ref().map(ToString::to_string);
        let parts: Vec<String> = outcome.into_iter().chain([used.to_string()]).chain(time).collect();
        return vec![muted(parts.join(" · "))];
    }
    match (tool.state, &tool.output) {
        (CallState::Arriving, _) => Vec::new(),
        (CallState::Waiting, _) => {
            vec![muted(tool.outcome.as_ref().map_or_else(|| "queued".to_owned(), ToString::to_string))]
        }
        (CallState::Asked, _) => {
            vec![Span::styled("waiting for you", theme.style(ThemeToken::Warning))]
        }
        (CallState::Running, _) => {
            vec![muted(tool.since.and_then(|since| noticeable(now - since)).unwrap_or_default())]
        }
        (CallState::Stopped | CallState::Skipped, _) => {
            vec![muted(tool.outcome.as_ref().map(ToString::to_string).unwrap_or_default())]
        }
        (CallState::Done | CallState::Failed, PanelOutput::Diff(diff)) => vec![
            Span::styled(format!("+{}", diff.added), theme.style(ThemeToken::Success)),
            Span::raw(" "),
            Span::styled(format!("−{}", diff.removed), theme.style(ThemeToken::Error)),
        ],
        (CallState::Done | CallState::Failed, PanelOutput::Terminal { status: Some(status), .. }) => vec![
            muted(took.map(|took| format!("{took} ")).unwrap_or_default()),
            Span::styled(format!("✗ {}", status.as_str()), theme.style(ThemeToken::ToolError)),
        ],
        (CallState::Done | CallState::Failed, _) => vec![muted(took.unwrap_or_default())],
    }
}

/// The head of a user command: the command and its result. `hint` describes the keys while it runs, `expand`
/// is the key that unfolds a long command.
#[expect(clippy::too_many_arguments, reason = "what a frame knows, handed down")]
pub(crate) fn command_head(
    command: &CommandPanel,
    hint: &str,
    open: bool,
    expand: Option<String>,
    now: Millis,
    theme: &Theme,
    highlighter: &mut Highlighter,
    width: u16,
) -> Vec<Row> {
    let took = command.took.and_then(noticeable).unwrap_or_default();
    let after = |word: &str| if took.is_empty() { word.to_owned() } else { format!("{took} {word}") };
    let (mut note, token) = match command.end {
        None => {
            let separator = if hint.is_empty() { "" } else { " · " };
            (format!("{}{separator}{hint}", seconds(now - command.since)), ThemeToken::Muted)
        }
        Some(CommandEnd::Exit(0)) => (after("✓"), ThemeToken::Muted),
        Some(CommandEnd::Exit(code)) => (after(&format!("✗ exit {code}")), ThemeToken::ToolError),
        Some(CommandEnd::Cancelled) if took.is_empty() => ("■ stopped".to_owned(), ThemeToken::Muted),
        Some(CommandEnd::Cancelled) => (format!("■ stopped after {took}"), ThemeToken::Muted),
        Some(CommandEnd::Killed) => (after("✗ killed"), ThemeToken::ToolError),
        Some(CommandEnd::Unknown) => (took, ThemeToken::Muted),
    };
    let remarks =
        [(command.private, "hidden from the model"), (command.without_sandbox, "without the sandbox")];
    for (_, remark) in remarks.iter().filter(|(holds, _)| *holds) {
        note.push_str(if note.is_empty() { "" } else { " · " });
        note.push_str(remark);
    }
    let room = width.saturating_sub(1).max(1);
    let mut rows = arguments::command_rows(&command.command, open, expand, room, theme, highlighter);
    let note_cells = wrap::cells(&note);
    let first = rows.first().map_or(0, |row| wrap::spans_cells(&row.spans));
    let note = Span::styled(note, theme.style(token));
    if note_cells == 0 {
        return rows;
    }
    if first + 2 + note_cells > usize::from(room) {
        rows.push(Row::mark(wrap::truncate_line(Line::from(vec![Span::raw("  "), note]), room)));
    } else if !rows.is_empty() {
        let mut row = rows.remove(0).end_text();
        row.restyle(|line| {
            line.spans.push(Span::raw(" ".repeat(usize::from(room) - first - note_cells)));
            line.spans.push(note);
        });
        rows.insert(0, row);
    }
    rows
}

/// The body of a user command. Unfolded, it also gives the location of the rest of the output.
pub(crate) fn command_body(
    command: &CommandPanel,
    open: bool,
    expand: Option<String>,
    width: u16,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Row> {
    let end = match command.end {
        None => OutputEnd::Open,
        Some(CommandEnd::Exit(0) | CommandEnd::Cancelled | CommandEnd::Unknown) => OutputEnd::Done,
        Some(CommandEnd::Exit(_) | CommandEnd::Killed) => OutputEnd::Failed,
    };
    let shown =
        output::OutputView { open, expand, lines: COMMAND_LINES, end, split: false, width: inner(width) };
    let mut rows = add_bar(output::rows(&command.output, &shown, theme, highlighter), theme);
    if let Some(path) = command.full_output.as_ref().filter(|_| open) {
        rows.extend(note(&format!("full output: {}", path.as_str()), ThemeToken::Muted, width, theme));
    }
    if let Some(blocked) = &command.blocked {
        rows.extend(note(blocked.as_str(), ThemeToken::Warning, width, theme));
    }
    rows.extend(secret_rows(&command.secrets, width, theme));
    rows
}

/// The body of a call: its arguments if they do not fit in the head, its output, and notes.
pub(crate) fn tool_body(
    tool: &ToolPanel,
    open: bool,
    expand: Option<String>,
    layout: TextLayout,
    width: u16,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Row> {
    let room = inner(width);
    let mut rows = Vec::new();
    let in_head = arguments::says_title(tool) && arguments::stands_in_head(tool, width);
    if !tool.arguments.command.is_empty() && !in_head {
        let command = tool.arguments.command.as_str();
        rows.extend(arguments::command_rows(command, open, expand.clone(), room, theme, highlighter));
    }
    match tool.state {
        CallState::Arriving | CallState::Waiting | CallState::Asked | CallState::Running => {
            if tool.output == PanelOutput::None {
                rows.extend(arguments::growing_rows(&tool.arguments, theme, room));
            }
        }
        CallState::Failed | CallState::Stopped | CallState::Skipped if open => {
            rows.extend(arguments::text_rows(&tool.arguments.texts, theme, room));
        }
        CallState::Done | CallState::Failed | CallState::Stopped | CallState::Skipped => {}
    }
    // The answer of a call that failed or did not run is meant for the model; users get the short form.
    let is_for_model = tool.reason.is_some() || matches!(tool.state, CallState::Stopped | CallState::Skipped);
    if open || !is_for_model || matches!(tool.output, PanelOutput::Terminal { .. }) {
        let end = if tool.state == CallState::Failed {
            OutputEnd::Failed
        } else if tool.state.is_over() {
            OutputEnd::Done
        } else {
            OutputEnd::Open
        };
        let split = layout.splits_diffs(width);
        let shown = output::OutputView { open, expand, lines: CALL_LINES, end, split, width: room };
        rows.extend(output::rows(&tool.output, &shown, theme, highlighter));
    }
    let mut rows = add_bar(rows, theme);
    let token = if tool.state == CallState::Failed { ThemeToken::ToolError } else { ThemeToken::Muted };
    if let Some(reason) = &tool.reason {
        rows.extend(note(reason, token, width, theme));
    }
    for words in tool.notes.iter() {
        let words = if open { words.as_str() } else { call_end::brief(words) };
        rows.extend(note(words, token, width, theme));
    }
    for remark in tool.remarks.iter() {
        rows.extend(note(remark.as_str(), ThemeToken::Muted, width, theme));
    }
    if let Some(blocked) = &tool.blocked {
        rows.extend(note(blocked.as_str(), ThemeToken::Warning, width, theme));
    }
    for (words, is_warning) in &tool.hooks {
        let token = if *is_warning { ThemeToken::Warning } else { ThemeToken::Muted };
        rows.extend(note(words.as_str(), token, width, theme));
    }
    rows.extend(secret_rows(&tool.secrets, width, theme));
    rows
}

/// The number of hidden secrets, or their values if the user asked for them.
fn secret_rows(secrets: &HiddenSecrets, width: u16, theme: &Theme) -> Vec<Row> {
    match secrets.count() {
        0 => Vec::new(),
        count if secrets.revealed_lines().is_empty() => {
            let words = if count == 1 { "secret" } else { "secrets" };
            note(&format!("{count} {words} hidden"), ThemeToken::Muted, width, theme)
        }
        _ => {
            let row = |line: &Printable| note(line.as_str(), ThemeToken::Warning, width, theme);
            secrets.revealed_lines().iter().flat_map(row).collect()
        }
    }
}

/// The width of a body without its bar and the column on the right.
fn inner(width: u16) -> u16 {
    width.saturating_sub(3).max(1)
}

fn note(text: &str, token: ThemeToken, width: u16, theme: &Theme) -> Vec<Row> {
    let note = Line::styled(text.to_owned(), theme.style(token));
    let border = theme.style(ThemeToken::ToolBorder);
    let rows = wrap::line_rows(&note, inner(width), 0).into_iter().enumerate();
    rows.map(|(index, row)| behind(row, if index == 0 { "└ " } else { "  " }, border)).collect()
}

/// The row in place of hidden lines, with their number.
fn hidden_lines_row(count: u64, expand: Option<String>, theme: &Theme, width: u16) -> Row {
    let lines = if count == 1 { "line" } else { "lines" };
    let hint = expand.map(|key| format!(" · {key} to expand")).unwrap_or_default();
    let note = wrap::truncate(&format!("⋯ {count} hidden {lines}{hint}"), width).into_owned();
    Row::mark(Line::styled(note, theme.style(ThemeToken::Muted)))
}

fn add_bar(rows: Vec<Row>, theme: &Theme) -> Vec<Row> {
    let style = theme.style(ThemeToken::ToolBorder);
    rows.into_iter().map(|row| behind(row, "│ ", style)).collect()
}

pub(crate) fn behind(mut row: Row, bar: &'static str, style: Style) -> Row {
    row.restyle(|line| {
        let own = std::mem::take(&mut line.style);
        line.spans.iter_mut().for_each(|span| span.style = own.patch(span.style));
    });
    row.behind(Span::styled(bar, style))
}

/// A row with text at both ends; the left one is cut if they do not fit.
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
