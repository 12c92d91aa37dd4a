//! The search of the transcript, in the composer's place: the query, the matches, the keys.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::panel::both_ends;
use super::theme::{Theme, ThemeToken};
use super::wrap;
use tau_app::Model;
use tau_app::printable::printable_line;
use tau_app::transcript::find::Find;

/// The row of the search between two rules, with the cursor's column and row.
pub(crate) fn lines(
    model: &Model,
    find: &Find,
    theme: &Theme,
    area: Rect,
) -> (Vec<Line<'static>>, Option<(u16, u16)>) {
    let framed = area.height >= 3;
    let style = theme.style(ThemeToken::Accent);
    let query = printable_line(find.query()).into_owned();
    let status = status(model, find);
    let keys =
        if find.typing { "↑↓ · enter · esc goes back" } else { "n older · N newer · / · esc" };
    let room = usize::from(area.width).saturating_sub(wrap::cells(&query) + 4);
    let right = match (status.is_empty(), wrap::cells(&status) + wrap::cells(keys) + 3 <= room) {
        (true, _) => keys.to_owned(),
        (false, true) => format!("{status} · {keys}"),
        (false, false) => status,
    };
    let column = 2 + wrap::cells(&query) as u16;
    let left = vec![Span::styled("/ ", style), Span::raw(query)];
    let right = vec![Span::styled(right, theme.style(ThemeToken::Muted))];
    let row = both_ends(left, right, area.width);
    let rule = |text: &str| {
        let rest = usize::from(area.width).saturating_sub(wrap::cells(text));
        Line::styled(format!("{text}{}", "─".repeat(rest)), style)
    };
    let y = if framed { area.y + 1 } else { area.y };
    let cursor = (area.x + column.min(area.width.saturating_sub(1)), y);
    let lines = if framed { vec![rule("── find "), row, rule("")] } else { vec![row] };
    (lines, (area.height > 0).then_some(cursor))
}

/// The number of matches, or the state of the search.
fn status(model: &Model, find: &Find) -> String {
    let (at, count) = find.count();
    if find.query().is_empty() {
        return String::new();
    }
    if find.is_seeking() {
        return "searching earlier messages…".to_owned();
    }
    // There may be more in parts that are not loaded.
    let more = if model.transcript.has_earlier() { "+" } else { "" };
    match (at, count) {
        (_, 0) if find.is_elsewhere() => "not in this branch: /tree has the others".to_owned(),
        (_, 0) => "no matches".to_owned(),
        (0, 1) if more.is_empty() => "1 match".to_owned(),
        (0, count) => format!("{count}{more} matches"),
        (at, count) => format!("{at} of {count}{more}"),
    }
}
