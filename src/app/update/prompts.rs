//! Earlier prompts in a list.

use super::pickers;
use crate::app::model::Model;
use crate::app::picker::{Picker, PickerKind};

/// Opens the list of earlier prompts.
pub(super) fn open(model: &mut Model) {
    let picker = Picker::new(PickerKind::Prompts, "Earlier prompts", "no earlier prompts");
    let rows = model.composer.history().iter().map(|text| pickers::named_row(text, false)).collect();
    pickers::open(model, picker, rows);
}
