//! Notifications for a user who is looking at another window.

use crate::action::Action;
use crate::effect::Effect;
use crate::model::Model;
use crate::msg::Millis;
use crate::overlays::board::BoardView;
use crate::printable::Printable;
use tau_protocol::event::NoticeLevel;

/// A run shorter than this does not notify, as the user is likely still watching.
const SHORT_RUN: Millis = 3_000;

/// Notifies about the end of a run that began at `since`.
pub(super) fn on_run_end(model: &Model, since: Option<Millis>, effects: &mut Vec<Effect>) {
    if since.is_some_and(|since| model.now - since >= SHORT_RUN) {
        notify(model, "finished", effects);
    }
}

/// Notifies that tau waits for an answer.
pub(super) fn on_wait(model: &mut Model, effects: &mut Vec<Effect>) {
    // The key means something else at a question.
    if model.quit_armed.take().is_some() {
        model.remark = None;
    }
    notify(model, WAITS, effects);
}

/// Notifies about the end of attempts.
pub(super) fn on_attempts_end(model: &Model, effects: &mut Vec<Effect>) {
    notify(model, "the attempts have ended", effects);
}

/// Says that another session waits, which no screen shows.
pub(super) fn other_waits(model: &mut Model, title: &str, effects: &mut Vec<Effect>) {
    let title = Printable::line(title);
    let key = model.keymap.hint(Action::Board).unwrap_or_else(|| "/board".to_owned());
    // The board shows it.
    if model.open::<BoardView>().is_none() {
        let text = format!("another session waits for your answer: {}", title.as_str());
        model.transcript.notice(NoticeLevel::Info, &text, Some(&format!("{key} shows it")));
    }
    notify_of(model, WAITS, title.as_str(), effects);
}

const WAITS: &str = "waiting for your answer";

fn notify(model: &Model, event: &str, effects: &mut Vec<Effect>) {
    notify_of(model, event, model.title(), effects);
}

fn notify_of(model: &Model, event: &str, title: &str, effects: &mut Vec<Effect>) {
    if !model.focused {
        effects.push(Effect::Notify(format!("{event} · {title}")));
    }
}
