//! Calls that only read files, in one row: `● read  a.rs, b.rs:1-80 · ls  src`.

use ratatui::text::Span;

use super::head_row;
use crate::row::Row;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::msg::Millis;
use tau_app::time_format::noticeable;
use tau_app::transcript::panel::{CallState, ToolPanel};
use tau_tools::ToolKind;

/// Cells reserved for "and 3 more".
const MORE: usize = 10;

/// The row that shows these calls.
pub(crate) fn group_row(calls: &[&ToolPanel], now: Millis, theme: &Theme, width: u16) -> Row {
    let any = |state| calls.iter().any(|call| call.state == state);
    let all_over = calls.iter().all(|call| call.state.is_over());
    let (mark, token) = match (all_over, any(CallState::Running) || any(CallState::Done)) {
        (true, _) => ("● ", ThemeToken::ToolOk),
        (false, true) => ("● ", ThemeToken::ToolRunning),
        (false, false) => ("○ ", ThemeToken::ToolRunning),
    };
    let took = calls.iter().filter_map(|call| match call.state {
        CallState::Running => call.since.map(|since| now - since),
        CallState::Arriving
        | CallState::Waiting
        | CallState::Asked
        | CallState::Done
        | CallState::Failed
        | CallState::Stopped
        | CallState::Skipped => call.duration.and_then(|took| Millis::try_from(took).ok()),
    });
    let right = if any(CallState::Waiting) && !any(CallState::Running) && !any(CallState::Done) {
        "queued".to_owned()
    } else {
        took.max().and_then(noticeable).unwrap_or_default()
    };
    let room = usize::from(width.saturating_sub(1)).saturating_sub(2 + wrap::cells(&right) + 2);
    let full = names(calls, room, theme, |call| call.title.as_str());
    let left = full.unwrap_or_else(|| {
        names(calls, room, theme, file_name).unwrap_or_else(|| names_that_fit(calls, room, theme))
    });
    let right = vec![Span::styled(right, theme.style(ThemeToken::Muted))];
    head_row(Span::styled(mark, theme.style(token)), left, right, width)
}

/// All calls, each with a title; `None` if they do not fit.
fn names<'a>(
    calls: &[&'a ToolPanel],
    room: usize,
    theme: &Theme,
    title: fn(&'a ToolPanel) -> &'a str,
) -> Option<Vec<Span<'static>>> {
    let spans: Vec<Span<'static>> =
        calls.iter().enumerate().flat_map(|(at, call)| name(calls, at, title(call), theme)).collect();
    (wrap::spans_cells(&spans) <= room).then_some(spans)
}

/// As many calls as fit, and the number of the others.
fn names_that_fit(calls: &[&ToolPanel], room: usize, theme: &Theme) -> Vec<Span<'static>> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut used = 0;
    for (at, call) in calls.iter().enumerate() {
        let more = name(calls, at, file_name(call), theme);
        let cells = wrap::spans_cells(&more);
        if at > 0 && used + cells + MORE > room {
            let left = format!(", +{} more", calls.len() - at);
            spans.push(Span::styled(left, theme.style(ThemeToken::Muted)));
            break;
        }
        used += cells;
        spans.extend(more);
    }
    spans
}

/// A call in the row: after others of its tool only its title, otherwise also the tool's name.
fn name(calls: &[&ToolPanel], at: usize, title: &str, theme: &Theme) -> Vec<Span<'static>> {
    let Some(call) = calls.get(at) else { return Vec::new() };
    let before = at.checked_sub(1).and_then(|at| calls.get(at));
    let text = Span::styled(title.to_owned(), theme.style(ThemeToken::Text));
    let muted = |text| Span::styled(text, theme.style(ThemeToken::Muted));
    let tool = Span::styled(call.name.as_str().to_owned(), theme.style(ThemeToken::ToolTitle));
    match before {
        Some(before) if before.name == call.name => vec![muted(", "), text],
        Some(_) => vec![muted(" · "), tool, Span::raw("  "), text],
        None => vec![tool, Span::raw("  "), text],
    }
}

/// The title of a call on one file without the directories before its name.
fn file_name(call: &ToolPanel) -> &str {
    let title = call.title.as_str();
    let name = title.rsplit('/').next().filter(|name| !name.is_empty());
    name.filter(|_| ToolKind::of(call.name.as_str()) == ToolKind::Read).unwrap_or(title)
}
