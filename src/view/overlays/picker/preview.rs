//! The preview of the selected session: the matching line and the last exchange.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::mark_chars;
use crate::highlight::Highlighter;
use crate::row::Row;
use crate::theme::{Theme, ThemeToken};
use crate::{markdown, wrap};
use tau_app::blocks::MarkdownBlocks;
use tau_app::fuzzy;
use tau_app::overlays::picker::{Picker, TextMatch};

/// The maximum number of rows of the matching line.
const FOUND_ROWS: usize = 3;

/// The rows, as many as there is room for.
pub(super) fn rows(
    picker: &Picker,
    place: Rect,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Line<'static>> {
    let mut rows = match_lines(picker, place.width, theme);
    let room = usize::from(place.height).saturating_sub(rows.len());
    let Some(words) = &picker.preview else { return rows };
    let user = message_lines("you: ", &words.user, place.width, theme, highlighter);
    let source = picker.selected_key().map(|key| picker.source(key)).unwrap_or_default();
    let model = message_lines(&format!("{}: ", source.name()), &words.model, place.width, theme, highlighter);
    // Each may use the rows that the other does not need.
    let most = room.saturating_sub(model.len()).max(room / 2);
    rows.extend(user.into_iter().take(most));
    rows.extend(model);
    rows.truncate(usize::from(place.height));
    rows
}

/// The line that contains the words of the query, with these marked.
fn match_lines(picker: &Picker, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let found = picker.selected_key().and_then(|key| picker.text_match(key));
    let Some(TextMatch { line, .. }) = found else { return Vec::new() };
    let marks = |word| fuzzy::rank_words(word, &[line.as_str()]).into_iter().flat_map(|found| found.marks);
    let marks: Vec<usize> = picker.query().split_whitespace().flat_map(marks).collect();
    let mut spans = vec![Span::styled("match: ", theme.style(ThemeToken::Accent))];
    spans.extend(mark_chars(line, &marks, theme.style(ThemeToken::Text), theme));
    wrap::wrap(&Line::from(spans), width, 0).into_iter().take(FOUND_ROWS).collect()
}

/// A message after its speaker.
fn message_lines(
    who: &str,
    text: &str,
    width: u16,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Line<'static>> {
    let indent = wrap::cells(who);
    let room = width.saturating_sub(u16::try_from(indent).unwrap_or(width)).max(1);
    let blocks = MarkdownBlocks::of(text);
    let rows =
        blocks.closed_blocks().iter().flat_map(|block| markdown::render(block, room, theme, highlighter));
    let mark = |at: usize| match at {
        0 => Span::styled(who.to_owned(), theme.style(ThemeToken::Accent)),
        _ => Span::styled(" ".repeat(indent), Style::new()),
    };
    rows.enumerate().map(|(at, row): (usize, Row)| row.behind(mark(at)).into_line()).collect()
}
