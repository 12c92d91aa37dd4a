//! The composer: editing, moving, recalling earlier prompts, the external editor.

use super::queue;
use crate::effect::Effect;
use crate::model::Model;
use crate::request::{EditorUse, ScreenRequest};

/// Opens the text in an editor.
pub(super) fn open_editor(model: &mut Model, effects: &mut Vec<Effect>) {
    let text = model.composer.expanded_content().0;
    model
        .ask(ScreenRequest::Editor { text, ending: ".md".to_owned(), purpose: EditorUse::Composer }, effects);
}

/// Takes the text from the editor. What came to the composer meanwhile is set aside.
pub(super) fn take_editor_text(model: &mut Model, before: &str, edited: Option<String>) {
    let Some(text) = edited else { return };
    if !model.composer.is_empty() && model.composer.expanded_content().0 != before {
        let draft = model.composer.take_draft();
        model.drafts.push(draft);
        model.remark("set aside a text that came while the editor was open");
    }
    model.composer.set_text(text.trim_end_matches('\n'));
}

/// Requests the clipboard and pastes it once it arrives.
pub(super) fn paste(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.requests.values().any(|request| *request == ScreenRequest::ReadClipboard {}) {
        return;
    }
    model.remark("reading the clipboard…");
    model.ask(ScreenRequest::ReadClipboard {}, effects);
}

/// Moves a row up; on the first row to the earlier prompt, or to the start of the line. In an empty composer,
/// opens the queued messages if there are any.
pub(super) fn up(model: &mut Model) {
    if model.composer.is_empty() && model.status.queued_count() > 0 {
        return queue::open(model);
    }
    let width = model.laid.composer_width;
    if !model.composer.up(width) && !model.composer.recall_earlier() {
        model.composer.line_start();
    }
}

/// Moves a row down; on the last row to the later prompt, or to the end of the line.
pub(super) fn down(model: &mut Model) {
    let width = model.laid.composer_width;
    if !model.composer.down(width) && !model.composer.recall_later() {
        model.composer.line_end();
    }
}
