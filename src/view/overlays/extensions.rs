//! The list of extensions by kind, with the problems of the selected one below.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, inner_width};
use super::list::{Below, FilterRow, ListBox, figures_beside, report, wrap_text};
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
    let listed = rows_with_headings(&view.visible_rows(), width, theme);
    let list = ListBox {
        title: "Extensions",
        hint: "space on/off · e editor · / filters · esc closes",
        filter: view.typed_filter().map_or(FilterRow::None, FilterRow::Typed),
        count: listed.len(),
        selected: listed.iter().position(|(index, _)| *index == Some(view.selected)),
        empty: view.nothing("no extensions"),
        below: Below::exactly(below(view, theme, width)),
        ..ListBox::default()
    };
    let mut row = |index: usize| listed.get(index).map(|(_, line)| line.clone()).unwrap_or_default();
    list.draw(theme, area, buffer, &mut row).0
}

/// The rows with headings between them, and which extension each is of.
fn rows_with_headings(
    rows: &[&ExtensionRow],
    width: u16,
    theme: &Theme,
) -> Vec<(Option<usize>, Line<'static>)> {
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
    let tokens = row.tokens.map(|tokens| match tokens {
        1 => "1 token · ".to_owned(),
        tokens => format!("{} tokens · ", token_count::tokens(tokens)),
    });
    let right = format!("{}{}", tokens.unwrap_or_default(), row.source.name());
    let right = figures_beside(&right, STATES + 1, wrap::cells(&name), width);
    let mut left = vec![Span::styled(format!("{state}{pad}"), theme.style(token)), Span::raw(name)];
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
    let mut say = |text: &str, token: ThemeToken| lines.extend(wrap_text(text, theme.style(token), width));
    if let Some((text, token)) = view.said.as_ref().map(report) {
        say(&text, token);
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
