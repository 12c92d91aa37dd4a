//! The arguments of a call, and the user's commands, as rows. Commands have shell highlighting; other long
//! texts are shown while they arrive.

use ratatui::text::Span;

use super::hidden_lines_row;
use super::output::SLACK;
use crate::highlight::Highlighter;
use crate::markdown::code;
use crate::row::Row;
use crate::theme::{Theme, ThemeToken};
use crate::wrap::{self, Break};
use tau_app::printable::Printable;
use tau_app::transcript::arguments::{ArgumentText, CallArguments};
use tau_app::transcript::panel::ToolPanel;

/// The number of rows shown of a folded command.
const COMMAND_ROWS: usize = 8;
/// The number of rows shown of a text that is still arriving.
const GROWING_ROWS: usize = 8;
/// Cells that a command leaves in the head for the tool's name and the call's result.
const HEAD: usize = 25;

/// True if a call's command is short enough for the head of its panel.
pub(super) fn stands_in_head(tool: &ToolPanel, width: u16) -> bool {
    let command = tool.arguments.command.trim();
    !command.contains('\n') && wrap::cells(command) + wrap::cells(&tool.name) + HEAD <= usize::from(width)
}

/// True if the title of a call repeats its command.
pub(super) fn says_title(tool: &ToolPanel) -> bool {
    let command = tool.arguments.command.trim();
    !command.is_empty() && command.starts_with(tool.title.trim_end_matches('…').trim_end())
}

/// A one-line command with shell highlighting.
pub(super) fn command_line(
    command: &str,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Span<'static>> {
    let command = command.trim();
    let tokens = highlighter.highlight("sh", command).pop().unwrap_or_default();
    code::spans(command, &tokens, theme).into_iter().map(into_owned_span).collect()
}

/// A command after its prompt, each row at most `width` cells wide; if folded, its first rows and how many
/// more there are. `expand` is the key that unfolds it.
pub(super) fn command_rows(
    command: &str,
    open: bool,
    expand: Option<String>,
    width: u16,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Row> {
    let inner = width.saturating_sub(2).max(1);
    let command = command.trim_end();
    let all = command.lines().count();
    // When folded, lay out only what is shown.
    let most = if open { usize::MAX } else { COMMAND_ROWS + SLACK };
    let room = if open { usize::MAX } else { most * usize::from(inner) };
    let text: String = command.lines().take(most).flat_map(|line| [start(line, room), "\n"]).collect();
    let prompt = theme.style(ThemeToken::ComposerShell);
    let (mut rows, mut ends) = (Vec::new(), Vec::new());
    for (index, (line, tokens)) in text.lines().zip(highlighter.highlight("sh", &text)).enumerate() {
        let wrapped = wrap::rows(&code::spans(line, &tokens, theme), inner, 0, Break::Words);
        for (at, row) in wrapped.into_iter().enumerate() {
            let mark = if index == 0 && at == 0 { "$ " } else { "  " };
            rows.push(row.behind(Span::styled(if width > 2 { mark } else { "" }, prompt)));
        }
        ends.push(rows.len());
    }
    if rows.len() >= COMMAND_ROWS + SLACK && !open {
        rows.truncate(COMMAND_ROWS - 1);
        let whole = ends.iter().filter(|end| **end <= rows.len()).count();
        let hidden = hidden_lines_row(all.saturating_sub(whole) as u64, expand, theme, inner);
        rows.push(hidden.behind(Span::raw(if width > 2 { "  " } else { "" })));
    }
    rows
}

/// The last rows of the text arriving in a call, if any.
pub(super) fn growing_rows(arguments: &CallArguments, theme: &Theme, width: u16) -> Vec<Row> {
    let Some(ArgumentText { text, .. }) = arguments.growing() else { return Vec::new() };
    let style = theme.style(ThemeToken::Muted);
    let room = GROWING_ROWS * usize::from(width);
    let mut last: Vec<&str> = text.lines().rev().take(GROWING_ROWS).collect();
    last.reverse();
    let mut rows: Vec<Row> = last
        .iter()
        .flat_map(|line| wrap::rows(&[Span::styled(start(line, room), style)], width, 0, Break::Verbatim))
        .collect();
    rows.drain(..rows.len().saturating_sub(GROWING_ROWS));
    let above = text.lines().count().saturating_sub(last.len());
    if above > 0 {
        rows.insert(0, hidden_lines_row(above as u64, None, theme, width));
    }
    rows
}

/// The arguments in full, each after its name.
pub(crate) fn text_rows(arguments: &[ArgumentText], theme: &Theme, width: u16) -> Vec<Row> {
    let mut rows = Vec::new();
    for ArgumentText { name, text } in arguments {
        if !text.contains('\n') {
            let name = Span::styled(format!("{name}: "), theme.style(ThemeToken::ToolTitle));
            let text = Span::styled(text.as_str(), theme.style(ThemeToken::Muted));
            rows.extend(wrap::rows(&[name, text], width, 2, Break::Verbatim));
            continue;
        }
        let name = Span::styled(format!("{}:", Printable::as_str(name)), theme.style(ThemeToken::ToolTitle));
        rows.extend(wrap::rows(&[name], width, 0, Break::Verbatim));
        // Indented, or a line could pass for another argument.
        for line in text.lines() {
            let line = Span::styled(line, theme.style(ThemeToken::Muted));
            let wrapped = wrap::rows(&[line], width.saturating_sub(2).max(1), 0, Break::Verbatim);
            rows.extend(
                wrapped.into_iter().map(|row| row.behind(Span::raw(if width > 2 { "  " } else { "" }))),
            );
        }
    }
    rows
}

/// The first characters of a line.
fn start(line: &str, most: usize) -> &str {
    let end = line.char_indices().nth(most).map_or(line.len(), |(at, _)| at);
    line.get(..end).unwrap_or(line)
}

fn into_owned_span(span: Span<'_>) -> Span<'static> {
    Span::styled(span.content.into_owned(), span.style)
}
