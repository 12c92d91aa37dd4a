//! Keys and pastes for the questions of another session on the board: they go to the model that shows them.

use super::{actions, approval, board, find, overlay_paste, overlays};
use crate::action::Action;
use crate::approval::Approvals;
use crate::effect::Effect;
use crate::key::{Key, KeyCode};
use crate::model::{Answering, Model};
use crate::overlays::overlay::Overlay;
use tau_protocol::command::AgentCommand;

/// Whether the board is on top and shows questions.
fn is_open(model: &Model) -> bool {
    model.answering.is_some() && matches!(model.overlays.last(), Some(Overlay::Board(_)))
}

/// Handles a key; false if no questions are shown.
pub(super) fn press(model: &mut Model, key: Key, effects: &mut Vec<Effect>) -> bool {
    if !is_open(model) {
        return false;
    }
    let Some(mut answering) = model.answering.take() else { return false };
    let inner = &mut *answering.model;
    let before = (inner.overlays.clone(), inner.approvals.clone());
    let (action, has_dialog) = (inner.keymap.action(key), !inner.overlays.is_empty());
    // Esc declines nothing in a session that is not on this screen.
    let goes_back = match inner.overlays.last() {
        Some(Overlay::Plan(view)) => view.comment.is_none(),
        Some(dialog) => dialog.question().is_some(),
        None => !inner.shows_prompt(),
    };
    if action == Some(Action::Answer) || goes_back && key.code == KeyCode::Esc {
        model.answering = Some(answering);
        board::leave(model, None, effects);
        return true;
    }
    let mut asked = Vec::new();
    if has_dialog {
        if !overlays::is_for_draft(inner, key) {
            overlays::key(inner, key, &mut asked);
        }
    } else if let Some(action) = approval::press(inner, key, &mut asked) {
        let scrolls =
            |action: &Action| find::looks_only(*action) && !matches!(action, Action::Find | Action::Help);
        let from = inner.transcript.position;
        action.filter(scrolls).into_iter().for_each(|action| actions::run(inner, action, &mut asked));
        approval::note_scroll(inner, from);
    }
    keep_given(&mut answering, before, &asked);
    model.answering = Some(answering);
    board::pass_on(model, asked, effects);
    true
}

/// Keeps the prompts as they were before an answer was sent: it may not arrive.
fn keep_given(answering: &mut Answering, before: (Vec<Overlay>, Approvals), asked: &[Effect]) {
    if asked.iter().any(|effect| matches!(effect, Effect::Agent(AgentCommand::Questions(_)))) {
        answering.given = Some(before);
    }
}

/// Carries out a digit that has waited long enough for what follows.
pub(super) fn end_wait(model: &mut Model, effects: &mut Vec<Effect>) {
    let Some(answering) = &mut model.answering else { return };
    let before = (answering.model.overlays.clone(), answering.model.approvals.clone());
    let mut asked = Vec::new();
    overlays::end_wait(&mut answering.model, &mut asked);
    keep_given(answering, before, &asked);
    board::pass_on(model, asked, effects);
}

/// Handles a paste; false if no questions are shown.
pub(super) fn paste(model: &mut Model, text: &str, effects: &mut Vec<Effect>) -> bool {
    if !is_open(model) {
        return false;
    }
    let Some(answering) = &mut model.answering else { return false };
    let inner = &mut *answering.model;
    let mut asked = Vec::new();
    match inner.overlays.is_empty() {
        true => drop(approval::paste(inner, text)),
        false => drop(overlay_paste::paste(inner, text, &mut asked)),
    }
    board::pass_on(model, asked, effects);
    true
}
