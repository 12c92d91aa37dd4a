//! Stopping, in order: running work, the draft, tau itself.

use super::{job_list, models, queue, tree};
use crate::action::Action;
use crate::effect::Effect;
use crate::model::{Model, REMARK};
use crate::msg::Millis;
use tau_protocol::command::{QueueCommand, RunCommand, ShellCommand};

/// Milliseconds within which two presses count as a double press.
const TWICE: Millis = 1_000;

/// Stops the innermost running operation. Queued messages return to the composer, so that no typed text is
/// lost.
pub(super) fn cancel(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.transcript.selection.take().is_some() {
        return;
    }
    if queue::leave_edit(model) {
        return;
    }
    if model.jobs.count() > 0 {
        effects.push(ShellCommand::AbortBash.into());
    } else if let Some(run) = model.status.run.as_mut() {
        run.stopping = true;
        effects.push(QueueCommand::TakeQueue.into());
        effects.push(RunCommand::Abort.into());
    } else if let Some(asked) = models::pending_name_request(model) {
        model.forget(Some(asked), effects);
    } else if model.composer.is_empty() && model.completion.is_none() {
        let armed = model.tree_armed.take().is_some_and(|until| model.now < until);
        if armed {
            return tree::open(model, effects);
        }
        model.tree_armed = Some(model.now + TWICE);
    }
}

/// Clears the composer (its text can be recalled), else stops what works, else arms quitting, else quits. A press that
/// stops arms nothing: hands press twice to stop.
pub(super) fn clear(model: &mut Model, effects: &mut Vec<Effect>) {
    if queue::leave_edit(model) {
        return;
    }
    if !model.composer.is_empty() {
        let text = model.composer.expanded_content().0;
        model.composer.reset(Some(text));
        model.completion = None;
        model.quit_armed = None;
        let text = match model.keymap.hint(Action::HistoryPrevious) {
            Some(key) => format!("cleared; {key} brings it back"),
            None => "cleared".to_owned(),
        };
        return model.remark(&text);
    }
    if model.quit_armed.is_some() {
        return job_list::quit(model, effects);
    }
    let works = model.jobs.count() > 0 || model.status.run.as_ref().is_some_and(|run| !run.stopping);
    cancel(model, effects);
    model.tree_armed = None;
    if works {
        return;
    }
    model.quit_armed = Some(model.now + REMARK);
    let key = model.keymap.hint(Action::Clear).map(|key| format!("{key} ")).unwrap_or_default();
    model.remark(&format!("press {key}again to quit"));
}

/// Quits if the composer is empty, else deletes forward.
pub(super) fn exit(model: &mut Model, effects: &mut Vec<Effect>) {
    match model.composer.is_empty() {
        true => job_list::quit(model, effects),
        false => model.composer.delete_forward(),
    }
}
