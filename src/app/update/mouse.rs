//! The mouse: the wheel scrolls, a click on a head folds, dragging selects. A double click selects by words,
//! a triple click by lines. The selection is copied when the button is released.

use super::{keys, terminal_focus};
use crate::effect::Effect;
use crate::focus::Focus;
use crate::geometry::{Hit, Point, Selection, SelectionUnit};
use crate::key::{Key, KeyCode, Mouse, MouseButton, MouseKind};
use crate::model::{Click, Model};
use crate::msg::Millis;
use crate::overlays::overlay::Overlay;

/// Rows a turn of the wheel scrolls.
const WHEEL: i32 = 3;
/// Milliseconds within which clicks in one place count as a double or triple click.
const AGAIN: Millis = 400;

pub(super) fn take(model: &mut Model, event: Mouse, effects: &mut Vec<Effect>) {
    if terminal_focus::mouse(model, event, effects) {
        return;
    }
    match event.kind {
        MouseKind::ScrollUp => wheel(model, KeyCode::Up, -WHEEL, effects),
        MouseKind::ScrollDown => wheel(model, KeyCode::Down, WHEEL, effects),
        MouseKind::Down(MouseButton::Left) => press(model, event),
        MouseKind::Drag(MouseButton::Left) => drag(model, event),
        MouseKind::Up(MouseButton::Left) => release(model, event),
        MouseKind::Down(MouseButton::Middle | MouseButton::Right)
        | MouseKind::Drag(MouseButton::Middle | MouseButton::Right)
        | MouseKind::Up(MouseButton::Middle | MouseButton::Right)
        | MouseKind::ScrollLeft
        | MouseKind::ScrollRight => {}
    }
}

/// Scrolls a list, or the transcript, which one may read while a question is open.
fn wheel(model: &mut Model, key: KeyCode, rows: i32, effects: &mut Vec<Effect>) {
    if model.focus() != Focus::Overlay || !model.overlays.last().is_some_and(Overlay::is_list) {
        return model.transcript.scroll(rows);
    }
    // Where text scrolls, the length of the page is what is left of it below.
    let times = if rows > 0 { rows.min(i32::from(model.laid.list_page)).max(1) } else { -rows };
    (0..times).for_each(|_| keys::press(model, Key::plain(key), effects));
}

fn press(model: &mut Model, event: Mouse) {
    let before = model.click.filter(|click| {
        click.row == event.row && click.column.abs_diff(event.column) <= 1 && model.now - click.at < AGAIN
    });
    let unit = match before.map(|click| click.unit) {
        None | Some(SelectionUnit::Line) => SelectionUnit::Cell,
        Some(SelectionUnit::Cell) => SelectionUnit::Word,
        Some(SelectionUnit::Word) => SelectionUnit::Line,
    };
    model.click = Some(Click { at: model.now, column: event.column, row: event.row, unit });
    model.transcript.selection =
        point(model, event, event.row).map(|point| Selection { from: point, to: point, unit });
}

/// Extends the selection. Above the transcript or below it, the nearest row counts.
fn drag(model: &mut Model, event: Mouse) {
    let last = model.laid.rows.iter().rposition(Option::is_some).unwrap_or(0);
    let bottom = model.laid.top.saturating_add(u16::try_from(last).unwrap_or(u16::MAX));
    let Some(to) = point(model, event, event.row.clamp(model.laid.top, bottom)) else { return };
    if let Some(selection) = &mut model.transcript.selection {
        selection.to = to;
    }
}

/// Acts on a mere click; copies a selection, once a frame has found its text.
fn release(model: &mut Model, event: Mouse) {
    match model.transcript.selection {
        Some(selection) if !selection.is_empty() => model.copying = true,
        _ => {
            model.transcript.selection = None;
            click(model, event);
        }
    }
}

fn click(model: &mut Model, event: Mouse) {
    if !model.overlays.is_empty() {
        return;
    }
    let hit = model.laid.hits.iter().find(|(row, _)| *row == event.row).map(|(_, hit)| *hit);
    match hit {
        Some(Hit::Fold(entry)) => model.transcript.toggle(entry),
        Some(Hit::Tail) => model.transcript.show_tail(),
        Some(Hit::Prompt(entry)) => model.transcript.show_prompt(entry),
        None => {}
    }
}

/// The point of the transcript at a row of the screen and the column of the event.
fn point(model: &Model, event: Mouse, row: u16) -> Option<Point> {
    if !model.overlays.is_empty() {
        return None;
    }
    let row = row.checked_sub(model.laid.top)?;
    let anchor = (*model.laid.rows.get(usize::from(row))?)?;
    Some(Point { anchor, column: event.column })
}
