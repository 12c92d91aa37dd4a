//! The mouse: the wheel scrolls, a click on a head folds, dragging selects.

use super::terminal_focus;
use crate::app::effect::Effect;
use crate::app::geometry::{Hit, Point};
use crate::app::key::{Mouse, MouseButton, MouseKind};
use crate::app::model::Model;

/// Rows a turn of the wheel scrolls.
const WHEEL: i32 = 3;

pub(super) fn take(model: &mut Model, event: Mouse, effects: &mut Vec<Effect>) {
    if terminal_focus::mouse(model, event, effects) {
        return;
    }
    match event.kind {
        MouseKind::ScrollUp => model.transcript.scroll(-WHEEL),
        MouseKind::ScrollDown => model.transcript.scroll(WHEEL),
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

fn press(model: &mut Model, event: Mouse) {
    model.transcript.selection = point(model, event).map(|point| (point, point));
}

fn drag(model: &mut Model, event: Mouse) {
    let Some(to) = point(model, event) else { return };
    if let Some(selection) = &mut model.transcript.selection {
        selection.1 = to;
    }
}

/// A click without a drag acts on what is there; a drag copies.
fn release(model: &mut Model, event: Mouse) {
    match model.transcript.selection {
        Some((from, to)) if from != to => model.copying = true,
        _ => {
            model.transcript.selection = None;
            click(model, event);
        }
    }
}

fn click(model: &mut Model, event: Mouse) {
    let hit = model.laid.hits.iter().find(|(row, _)| *row == event.row).map(|(_, hit)| *hit);
    match hit {
        Some(Hit::Fold(entry)) => model.transcript.toggle(entry),
        Some(Hit::Tail) => model.transcript.show_tail(),
        None => {}
    }
}

fn point(model: &Model, event: Mouse) -> Option<Point> {
    if !model.overlays.is_empty() {
        return None;
    }
    let row = event.row.checked_sub(model.laid.top)?;
    let anchor = (*model.laid.rows.get(usize::from(row))?)?;
    Some(Point { anchor, column: event.column })
}
