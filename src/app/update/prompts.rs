//! Prompts: earlier ones in a list, queued ones that come back to the composer.

use super::pickers;
use crate::agent::protocol::message::Block;
use crate::app::model::Model;
use crate::app::picker::{Picker, PickerKind};

/// Opens the list of earlier prompts.
pub(super) fn open(model: &mut Model) {
    let picker = Picker::new(PickerKind::Prompts, "Earlier prompts", "no earlier prompts");
    let rows = model.composer.history().iter().map(|text| pickers::named_row(text, false)).collect();
    pickers::open(model, picker, rows);
}

/// Puts queued messages in front of what is being written, and all pictures after the texts.
pub(super) fn give_back(model: &mut Model, texts: &[String], images: &[Block]) {
    if texts.is_empty() {
        return;
    }
    let (written, pictures) = model.composer.expanded();
    let written = Some(&written).filter(|written| !written.is_empty());
    let parts: Vec<&str> = texts.iter().chain(written).map(String::as_str).collect();
    model.composer.set_text(&parts.join("\n\n"));
    for picture in images.iter().chain(&pictures) {
        if let Block::Image { data, mime_type } = picture {
            model.composer.insert_picture(data.clone(), mime_type.clone(), None);
        }
    }
}
