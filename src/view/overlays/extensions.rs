//! The list of extensions by kind, with the problems of the selected one below.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, frame, inner_width};
use super::list;
use crate::panel::both_ends;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::overlays::extension_list::ExtensionsView;
use tau_app::printable::printable_line;
use tau_app::token_count;
use tau_protocol::extension::{ExtensionRow, ExtensionState};

/// Cells for the state.
const STATES: usize = 9;
/// The maximum number of rows below the list: the description, problems and file of the selected one.
const BELOW: usize = 7;

/// Draws the list and returns how many of its rows fit.
pub(crate) fn draw(view: &ExtensionsView, theme: &Theme, area: Rect, buffer: &mut Buffer) -> OverlayLayout {
    let width = inner_width(area);
    let rows = view.shown();
    let listed = listed(&rows, width, theme);
    let below = below(view, theme, width);
    let filtered = view.query().is_some();
    let count = listed.len().max(1).saturating_add(below.len() + usize::from(filtered));
    let hint = "space on/off · e editor · / filters · esc closes";
    let inner = frame("Extensions", hint, u16::try_from(count).unwrap_or(u16::MAX), theme, area, buffer);
    let (cursor, inner) = list::draw_optional_filter(view.query(), theme, inner, buffer);
    if rows.is_empty() {
        let text = match view.rows.as_ref().map(Vec::is_empty) {
            None => "loading…",
            Some(true) => "no extensions",
            Some(false) => "no matches",
        };
        buffer.set_line(inner.x, inner.y, &Line::styled(text, theme.style(ThemeToken::Muted)), inner.width);
        return (cursor, 0);
    }
    let under = below.len().min(usize::from(inner.height) / 2);
    let height = usize::from(inner.height).saturating_sub(under);
    let at = listed.iter().position(|(index, _)| *index == Some(view.selected)).unwrap_or(0);
    let first = list::first_shown(at, height, listed.len());
    for (y, (index, line)) in (inner.top()..).zip(listed.iter().skip(first).take(height)) {
        if *index == Some(view.selected) {
            list::mark_selected(y, inner, theme, buffer);
        }
        buffer.set_line(inner.x, y, line, inner.width);
    }
    let top = inner.bottom().saturating_sub(u16::try_from(under).unwrap_or(u16::MAX));
    for (y, line) in (top..inner.bottom()).zip(&below) {
        buffer.set_line(inner.x, y, line, inner.width);
    }
    (cursor, u16::try_from(height).unwrap_or(u16::MAX))
}

/// The rows with headings between them, and which extension each is of.
fn listed(rows: &[&ExtensionRow], width: u16, theme: &Theme) -> Vec<(Option<usize>, Line<'static>)> {
    let mut listed = Vec::new();
    let mut last = None;
    for (index, row) in rows.iter().enumerate() {
        if last.replace(row.kind) != Some(row.kind) {
            listed.push((None, Line::styled(row.kind.heading(), theme.style(ThemeToken::OverlayTitle))));
        }
        listed.push((Some(index), line(row, width, theme)));
    }
    listed
}

fn line(row: &ExtensionRow, width: u16, theme: &Theme) -> Line<'static> {
    let muted = theme.style(ThemeToken::Muted);
    let (mark, token) = match row.state {
        ExtensionState::On if row.problems.is_empty() => ("● ", ThemeToken::Success),
        ExtensionState::On => ("● ", ThemeToken::Warning),
        ExtensionState::Off => ("○ ", ThemeToken::Muted),
        ExtensionState::Starting => ("… ", ThemeToken::Muted),
        ExtensionState::Failed => ("× ", ThemeToken::Error),
    };
    let state = format!("{mark}{}", row.state.name());
    let pad = " ".repeat(STATES.saturating_sub(wrap::cells(&state)) + 1);
    let name = printable_line(&row.name).into_owned();
    let mut left = vec![Span::styled(format!("{state}{pad}"), theme.style(token)), Span::raw(name)];
    let tokens = row.tokens.map(|tokens| match tokens {
        1 => "1 token · ".to_owned(),
        tokens => format!("{} tokens · ", token_count::tokens(tokens)),
    });
    let right = format!("{}{}", tokens.unwrap_or_default(), row.source.name());
    let used: usize =
        left.iter().map(|span| wrap::cells(&span.content)).sum::<usize>() + wrap::cells(&right) + 4;
    if let Some(room) = usize::from(width).checked_sub(used).filter(|room| *room > 10) {
        let description = printable_line(&row.description);
        let description = wrap::truncate(&description, u16::try_from(room).unwrap_or(u16::MAX));
        left.push(Span::styled(format!("  {description}"), muted));
    }
    both_ends(left, vec![Span::styled(right, muted)], width)
}

/// The details of the selected extension.
fn below(view: &ExtensionsView, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let Some(row) = view.row() else { return Vec::new() };
    let mut lines = vec![Line::raw("")];
    let mut say = |text: &str, token: ThemeToken| {
        lines.extend(wrap::wrap(
            &Line::styled(printable_line(text).into_owned(), theme.style(token)),
            width,
            0,
        ));
    };
    match &view.said {
        Some(Ok(text)) => say(text.as_str(), ThemeToken::Accent),
        Some(Err(text)) => say(text.as_str(), ThemeToken::Error),
        None => {}
    }
    let token = if row.state == ExtensionState::Failed { ThemeToken::Error } else { ThemeToken::Warning };
    row.problems.iter().for_each(|problem| say(problem, token));
    if let Some(path) = &row.path {
        say(&path.display().to_string(), ThemeToken::Muted);
    }
    if !row.description.is_empty() {
        say(&row.description, ThemeToken::Text);
    }
    lines.truncate(BELOW);
    lines
}
