//! Notifications for a user who is looking at another window.

use crate::effect::Effect;
use crate::model::Model;
use crate::msg::Millis;

/// A run shorter than this does not notify, as the user is likely still watching.
const SHORT_RUN: Millis = 3_000;

/// Notifies about the end of a run that began at `since`.
pub(super) fn finished(model: &Model, since: Option<Millis>, effects: &mut Vec<Effect>) {
    if since.is_some_and(|since| model.now - since >= SHORT_RUN) {
        notify(model, "finished", effects);
    }
}

/// Notifies that tau waits for an answer.
pub(super) fn waits(model: &Model, effects: &mut Vec<Effect>) {
    notify(model, "waiting for your answer", effects);
}

fn notify(model: &Model, event: &str, effects: &mut Vec<Effect>) {
    if !model.focused {
        effects.push(Effect::Notify(format!("{event} · {}", model.title())));
    }
}
