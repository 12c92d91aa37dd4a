//! Questions of the agent: where they appear, and what remains when they go.

use super::place;
use crate::approval::QUIET;
use crate::model::Model;
use crate::overlays::overlay::Overlay;
use crate::overlays::quiet::Quiet;

/// The name of the question on top.
pub(super) fn on_top(model: &Model) -> Option<String> {
    model.overlays.last().and_then(Overlay::question_name).map(str::to_owned)
}

/// Begins the quiet time of the question on top, unless it was on top `before`.
pub(super) fn appears(model: &mut Model, before: Option<&str>) {
    let now = model.now;
    if let Some(top) = model.overlays.last_mut()
        && top.question_name().is_some_and(|name| Some(name) != before)
        && let Some(quiet) = top.quiet()
    {
        *quiet = Quiet::new(now);
    }
}

/// Shows a question: below the one being answered, and below a secret that is being typed.
pub(super) fn ask(model: &mut Model, dialog: Overlay) {
    let first = model.overlays.iter().position(|overlay| overlay.question().is_some());
    let secret = model.overlays.iter().position(Overlay::is_secret);
    model.overlays.insert(first.or(secret).unwrap_or(model.overlays.len()), dialog);
    place::resume_answers(model);
}

/// Removes the questions with these ids, which were answered on another screen or withdrawn. A text that was typed
/// as an answer goes to the draft, and the Enter that was meant for it sends nothing.
pub(super) fn withdraw(model: &mut Model, is_gone: impl Fn(&str) -> bool) {
    let is_it = |overlay: &Overlay| overlay.question().is_some_and(&is_gone);
    let (asked, until) = (on_top(model), model.now + QUIET);
    let (gone, left) = std::mem::take(&mut model.overlays).into_iter().partition(is_it);
    model.overlays = left;
    let is_stopping = model.status.run.as_ref().is_none_or(|run| run.stopping);
    for overlay in Vec::<Overlay>::into_iter(gone) {
        overlay.blocks_since().into_iter().for_each(|since| model.subtract_run_wait(since));
        let typed = overlay.typed_text();
        if !typed.is_empty() {
            model.composer.paste(&typed);
            model.remark("the question is gone; what you typed is in the draft");
        }
        if !typed.is_empty() || overlay.takes_words() {
            model.enter_held = Some(until);
        } else if overlay.question() == asked.as_deref() && !is_stopping {
            model.typed_ahead = Some(until);
        }
    }
    appears(model, asked.as_deref());
}
