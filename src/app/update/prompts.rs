//! The list of earlier prompts.

use super::pickers;
use crate::model::Model;
use crate::overlays::picker::{Picker, PickerKind, PickerRow};
use crate::printable::Printable;

/// Opens the list of earlier prompts.
pub(super) fn open(model: &mut Model) {
    let picker = Picker::new(PickerKind::Prompts, "Earlier prompts", "no earlier prompts");
    let rows = model.composer.history().iter().map(|text| prompt_row(text)).collect();
    pickers::open(model, picker, rows);
}

/// A note marks commands; `!` in the query finds all of them.
fn prompt_row(text: &str) -> PickerRow {
    let note = if text.starts_with('!') { "command" } else { "" };
    PickerRow { note: Printable::line(note), ..pickers::named_row(text, false) }
}
