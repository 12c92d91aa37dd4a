//! The board: a row for each session, and more about the selected one below.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::dialog::{OverlayLayout, inner_width};
use super::list::{self, Below, FilterRow, ListBox, state_row};
use crate::approval::typed;
use crate::status_line::{Short, cost};
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::overlays::board::BoardView;
use tau_app::printable::printable_line;
use tau_app::{Model, time_format};
use tau_protocol::live_session::{LiveRow, LiveState, MissingServer};
use tau_protocol::worktree;
use tau_tools::counted::pluralize;

/// Maximum number of servers that are named because they are not connected.
const MISSING: usize = 3;
/// Rows of the screen that the box leaves free, with its borders.
const AROUND: u16 = 4;
/// Windows with fewer cells show what commands need before the place.
const NARROW: u16 = 60;
/// The digits of an ID that tell sessions apart.
const SHORT_ID: usize = 8;
/// Cells for the state.
const STATES: usize = 11;

/// Draws the board and returns how many of its rows fit.
pub(crate) fn draw(
    model: &Model,
    view: &BoardView,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    let width = inner_width(area);
    let rows = view.list.visible_rows();
    let archived = view.archived_count();
    let nothing = match view.is_archive {
        true => "nothing was put away",
        false => "no session is open; tau -b PROMPT starts one in the background",
    };
    let (lines, typed_at) = below(view, theme, width, area.height);
    let list = ListBox {
        title: &title(view),
        hint: &hint(view, archived, width),
        below: Below::exactly(lines),
        ..ListBox::of(&view.list, rows.len(), nothing)
    };
    let list = match view.list.typed_filter() {
        Some(typed) if view.takes_letters() => {
            ListBox { filter: FilterRow::Always(typed, String::new()), ..list }
        }
        _ => list,
    };
    let mut row = |index: usize| {
        let row = rows.get(index).copied();
        let is_here = |row: &LiveRow| row.id == model.status.mirror.session.id;
        row.map(|row| line(row, is_here(row), model.now, width, theme)).unwrap_or_default()
    };
    let ((cursor, page), below) = list.draw(theme, area, buffer, &mut row);
    let typed_at = typed_at.and_then(|(column, row)| {
        let row = u16::try_from(row).ok().filter(|row| *row < below.height)?;
        Some((below.x + column.min(below.width.saturating_sub(1)), below.y + row))
    });
    (typed_at.or(cursor), page)
}

/// The keys, the more important ones first; the last ones without words where the width asks for it.
fn hint(view: &BoardView, archived: usize, width: u16) -> String {
    if view.message.is_some() {
        return "enter sends · esc goes back".to_owned();
    }
    let row = view.list.row();
    if view.stops.is_some() && view.stops.as_ref() == row.map(|row| &row.id) {
        return "x again stops the run · esc closes".to_owned();
    }
    let waits = row.is_some_and(|row| row.state == LiveState::Waiting);
    let can_archive = row.is_some_and(|row| !row.is_live);
    let other = match (view.is_archive, archived) {
        (true, _) => "tab goes back".to_owned(),
        (false, 0) => String::new(),
        (false, count) => format!("tab: {count} archived"),
    };
    let parts = [
        if waits { "a answers" } else { "" },
        if row.is_some() { "enter opens" } else { "" },
        if row.is_some() { "m sends" } else { "" },
        if row.is_some_and(|row| row.state.is_at_work()) { "x stops" } else { "" },
        match (can_archive, view.is_archive) {
            (true, false) => "h archives",
            (true, true) => "h brings back",
            (false, _) => "",
        },
        &other,
        "esc closes",
    ];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let key = |part: &&str| part.split([' ', ':']).next().unwrap_or_default().to_owned();
    let with_words = |count: usize| {
        let (first, rest) = parts.split_at_checked(count).unwrap_or((&parts, &[]));
        let all: Vec<String> =
            first.iter().map(|part| (*part).to_owned()).chain(rest.iter().map(key)).collect();
        all.join(" · ")
    };
    // Two cells are blank.
    let room = usize::from(width.saturating_sub(2));
    let fits = (0..=parts.len()).rev().map(with_words).find(|text| wrap::cells(text) <= room);
    fits.unwrap_or_else(|| with_words(0))
}

fn title(view: &BoardView) -> String {
    let count =
        |state: LiveState| view.list.rows().into_iter().flatten().filter(|row| row.state == state).count();
    let parts = [
        (count(LiveState::Waiting), "waiting for you"),
        (count(LiveState::Running), "running"),
        (count(LiveState::Suspended), "suspended"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, state)| format!("{count} {state}"));
    let name = if view.is_archive { "Archived sessions" } else { "Sessions" };
    let parts: Vec<String> = std::iter::once(name.to_owned()).chain(parts).collect();
    parts.join(" · ")
}

fn line(row: &LiveRow, is_here: bool, now: i64, width: u16, theme: &Theme) -> Line<'static> {
    let (mark, token) = match row.state {
        LiveState::Waiting => ("? ", ThemeToken::Warning),
        LiveState::Running => ("● ", ThemeToken::Accent),
        LiveState::Suspended => ("‖ ", ThemeToken::Warning),
        LiveState::Failed => ("× ", ThemeToken::Error),
        LiveState::Done => ("✓ ", ThemeToken::Success),
        LiveState::Idle => ("○ ", ThemeToken::Muted),
    };
    let state = format!("{mark}{}", row.state.name());
    let title = match row.title.is_empty() {
        true => "(no messages yet)".to_owned(),
        false => printable_line(&row.title).into_owned(),
    };
    let title = if row.parent.is_some() { format!("↳ {title}") } else { title };
    let server = row.server.as_ref().map(|server| format!("{server}:")).unwrap_or_default();
    let folder = match worktree::of(&row.directory) {
        Some(here) => here.to_string(),
        None => row.directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    };
    let here = if is_here { " · here" } else { "" };
    let age = time_format::age(now.saturating_sub(row.changed));
    let place = format!("{}{here}", printable_line(&format!("{server}{folder}")));
    // The first of these stays where there is little room.
    let right = if width < NARROW { format!("{age} · {place}") } else { format!("{place} · {age}") };
    state_row(&state, token, STATES, &title, &right, width, theme)
}

/// The lines about servers that are not connected.
fn missing(servers: &[MissingServer]) -> Vec<(String, ThemeToken)> {
    let text = |server: &MissingServer| match &server.why {
        Some(why) => (format!("× {} cannot be reached: {why}", server.name), ThemeToken::Warning),
        None => (format!("… connecting to {}", server.name), ThemeToken::Muted),
    };
    let mut lines: Vec<(String, ThemeToken)> = servers.iter().take(MISSING).map(text).collect();
    if let Some(more) = servers.len().checked_sub(MISSING).filter(|more| *more > 0) {
        lines.push((format!("… and {}", pluralize(more as u64, "more server")), ThemeToken::Muted));
    }
    lines
}

/// The servers that are not connected, the details of the selected session, the message to it, and what an action led to; and the column and row of
/// the cursor in the message.
fn below(
    view: &BoardView,
    theme: &Theme,
    width: u16,
    height: u16,
) -> (Vec<Line<'static>>, Option<(u16, usize)>) {
    let line = |text: &str, token: ThemeToken| {
        let text = printable_line(text);
        Line::styled(wrap::truncate(&text, width).into_owned(), theme.style(token))
    };
    let mut lines = missing(&view.servers).iter().map(|(text, token)| line(text, *token)).collect::<Vec<_>>();
    let Some(row) = view.list.row() else {
        let said = view.list.said.as_ref().map(list::report);
        lines.extend(said.map(|(text, token)| line(&text, token)));
        return (lines, None);
    };
    lines.insert(0, Line::raw(""));
    if !row.last_line.is_empty() {
        lines.push(line(&row.last_line, ThemeToken::Text));
    }
    let about = if row.estimated { "~" } else { "" };
    let cost = (row.cost > 0.0).then(|| format!("{about}{}", cost(row.cost, Short::Nothing)));
    let (place, id) = (Some(row.directory.display().to_string()), Some(row.id.clone()));
    // The ID on a server is what commands take.
    let short = row.id.get(row.id.len().saturating_sub(SHORT_ID)..).map(|end| format!("…{end}"));
    let parts = match row.server {
        _ if width < NARROW => [short, cost, row.model.clone(), place],
        Some(_) => [id, place, row.model.clone(), cost],
        None => [place, row.model.clone(), cost, id],
    };
    lines.push(line(&parts.into_iter().flatten().collect::<Vec<_>>().join(" · "), ThemeToken::Muted));
    let mut cursor = None;
    if let Some(message) = &view.message {
        let (rows, (row, column)) = typed::rows("> ", &message.line, width);
        // A low box has room for nothing else.
        if lines.len() + rows.len() > usize::from(height.saturating_sub(AROUND)) / 2 {
            lines.clear();
        }
        cursor = Some((column, lines.len() + row));
        lines.extend(rows.into_iter().map(Line::raw));
    }
    match &view.list.said {
        Some(Ok(text)) => lines.push(line(text.as_str(), ThemeToken::Success)),
        Some(Err(text)) => lines.push(line(text.as_str(), ThemeToken::Error)),
        None => {}
    }
    (lines, cursor)
}
