//! Copying: the last answer, the selection, and which clipboard received it.
//!
//! A text goes to the terminal, which may set the clipboard of the user's machine (also over ssh), and to the
//! clipboard of this machine if there is one. The reply of the latter brings the remark.

use crate::effect::{Effect, TERMINAL_COPY};
use crate::model::Model;
use crate::request::ScreenRequest;
use tau_tools::counted::pluralize;
use tau_tools::user_error::UserError;

/// Copies the markdown source of the last answer.
pub(super) fn answer(model: &mut Model, effects: &mut Vec<Effect>) {
    match model.transcript.last_answer() {
        Some(text) => put(model, text, effects),
        None => model.remark("no answer to copy yet"),
    }
}

/// Copies the selection, once a frame has found its text.
pub(super) fn selection(model: &mut Model, text: Option<String>, effects: &mut Vec<Effect>) {
    if !std::mem::take(&mut model.copying) {
        return;
    }
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        put(model, text, effects);
    }
}

pub(super) fn put(model: &mut Model, text: String, effects: &mut Vec<Effect>) {
    if text.len() <= TERMINAL_COPY {
        effects.push(Effect::Copy(text.clone()));
    }
    model.ask(ScreenRequest::Clipboard { text }, effects);
}

/// Confirms a copy in the footer. `local` names the clipboard of this machine that received the text.
pub(super) fn report_result(model: &mut Model, text: &str, local: Result<Option<String>, UserError>) {
    let lines = pluralize(text.lines().count(), "line");
    let too_large = format!("too large for the terminal (OSC 52 takes {} KB)", TERMINAL_COPY / 1_000);
    let remark = match (local, text.len() <= TERMINAL_COPY) {
        (Ok(Some(name)), _) => format!("copied {lines} · {name}"),
        (Ok(None), true) => format!("copied {lines} · terminal (OSC 52)"),
        (Ok(None), false) => format!("not copied: {lines}, {too_large}"),
        (Err(why), true) => format!("copied {lines} · terminal (OSC 52); {why}"),
        (Err(why), false) => format!("not copied: {why}; {lines}, {too_large}"),
    };
    model.remark(&remark);
}
