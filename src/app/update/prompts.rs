//! The list of earlier prompts.

use super::{pickers, queue};
use crate::model::Model;
use crate::overlays::overlay::Overlay;
use crate::overlays::picker::{Picker, PickerKind, PickerRow};
use crate::printable::Printable;

/// Opens the list of earlier prompts.
pub(super) fn open(model: &mut Model) {
    let picker = Picker::new(PickerKind::Prompts, "Earlier prompts", "no earlier prompts");
    pickers::open(model, picker, rows(model));
}

/// Fills the open list once the prompts of earlier sessions are known.
pub(super) fn fill(model: &mut Model) {
    let rows = rows(model);
    let list = model.overlays.iter_mut().find_map(|overlay| {
        let Overlay::Picker { picker, .. } = overlay else { return None };
        (picker.kind == PickerKind::Prompts).then_some(picker)
    });
    if let Some(picker) = list {
        picker.clear();
        picker.add(rows);
        picker.loading = false;
    }
}

fn rows(model: &Model) -> Vec<PickerRow> {
    model.composer.history().iter().map(|text| prompt_row(text)).collect()
}

/// Shows an earlier prompt; a draft that undo could not return to is set aside.
pub(super) fn on_pick(model: &mut Model, prompt: &str) {
    if let Some(draft) = model.composer.recall(prompt) {
        queue::set_aside(model, draft);
    }
}

/// A note marks commands; `!` in the query finds all of them.
fn prompt_row(text: &str) -> PickerRow {
    let note = if text.starts_with('!') { "command" } else { "" };
    PickerRow { note: Printable::line(note), ..pickers::name_only_row(text, false) }
}
