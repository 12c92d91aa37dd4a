//! Notifications for a user who is looking at another window.

use crate::effect::Effect;
use crate::model::Model;
use crate::msg::Millis;

/// During a shorter run than this the user has hardly gone elsewhere.
const SHORT_RUN: Millis = 3_000;

/// A run has ended that began at `since`.
pub(super) fn finished(model: &Model, since: Option<Millis>, effects: &mut Vec<Effect>) {
    if since.is_some_and(|since| model.now - since >= SHORT_RUN) {
        notify(model, "finished", effects);
    }
}

/// tau waits for an answer.
pub(super) fn waits(model: &Model, effects: &mut Vec<Effect>) {
    notify(model, "waiting for your answer", effects);
}

fn notify(model: &Model, event: &str, effects: &mut Vec<Effect>) {
    if !model.focused {
        effects.push(Effect::Notify(format!("{event} · {}", model.title())));
    }
}
