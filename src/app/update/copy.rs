//! Copying to the clipboard: the last answer, the selection.

use crate::app::effect::Effect;
use crate::app::model::Model;

/// Copies the last answer as the markdown it was written in.
pub(super) fn answer(model: &mut Model, effects: &mut Vec<Effect>) {
    match model.transcript.last_answer() {
        Some(text) => {
            effects.push(Effect::Copy(text));
            model.remark("last answer sent to the terminal's clipboard");
        }
        None => model.remark("no answer to copy yet"),
    }
}

/// Copies the selection, once a frame has found its text.
pub(super) fn selection(model: &mut Model, text: Option<&str>, effects: &mut Vec<Effect>) {
    if !std::mem::take(&mut model.copying) {
        return;
    }
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        effects.push(Effect::Copy(text.to_owned()));
        model.remark("selection sent to the terminal's clipboard");
    }
}
