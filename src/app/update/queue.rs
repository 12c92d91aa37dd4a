//! Queued messages: listing, changing, editing in the composer, and getting them back from the agent.

use super::misdirected;
use crate::action::Action;
use crate::approval::QUIET;
use crate::composer::Draft;
use crate::effect::Effect;
use crate::key::Key;
use crate::model::{Model, QueueEdit};
use crate::outcome::KeyOutcome;
use crate::overlays::overlay::Overlay;
use crate::overlays::queue_list::{self, QueueChoice, QueueView};
use tau_protocol::command::{QueueChange, QueueCommand, QueuedMessage};
use tau_protocol::message::Block;

/// Opens the list of queued messages.
pub(super) fn open(model: &mut Model) {
    match QueueView::new(&model.status) {
        Some(view) => model.overlays.push(Overlay::Queue(view)),
        None => model.remark("no messages are queued"),
    }
}

/// Carries out the action on the selected message. Unless it is edited or sent, the list stays open.
pub(super) fn apply_choice(
    model: &mut Model,
    mut view: QueueView,
    choice: QueueChoice,
    effects: &mut Vec<Effect>,
) {
    if view.is_early(model.now) {
        model.overlays.push(Overlay::Queue(view));
        return model.remark("the message that you had selected is no longer queued; this is another one");
    }
    let message = view.selected.clone();
    match choice {
        QueueChoice::Edit => edit(model, message),
        QueueChoice::Change(change) => {
            match &change {
                QueueChange::Remove => {
                    view.remove();
                    model.composer.keep(message.text.clone());
                    let key = model.keymap.hint(Action::HistorySearch);
                    model.remark(&match key {
                        Some(key) => format!("deleted; {key} finds its text"),
                        None => "deleted".to_owned(),
                    });
                }
                QueueChange::SendNow => model.transcript.show_tail(),
                QueueChange::Replace { .. } | QueueChange::Move { .. } | QueueChange::Requeue { .. } => {}
            }
            if change != QueueChange::SendNow {
                model.overlays.push(Overlay::Queue(view));
            }
            effects.push(QueueCommand::ChangeQueued { message, change }.into());
        }
    }
}

/// Copies a queued message into the composer. It stays queued until the edit is saved.
fn edit(model: &mut Model, message: QueuedMessage) {
    leave_edit(model);
    let draft = model.composer.take_draft();
    model.composer.set_text(&message.text);
    model.completion = None;
    model.editing = Some(QueueEdit { message, draft });
}

/// The queued message that is being edited.
pub(super) fn edited_message(model: &Model) -> Option<QueuedMessage> {
    model.editing.as_ref().map(|edit| edit.message.clone())
}

/// Whether a key has begun an edit; `before` is what was edited then. What is typed next is meant for the message, not
/// for the list that closed.
pub(super) fn begins_edit(model: &Model, before: Option<&QueuedMessage>) -> bool {
    model.editing.as_ref().is_some_and(|edit| Some(&edit.message) != before)
}

/// Saves the edit of a queued message; false when none is being edited.
pub(super) fn save_edit(model: &mut Model, effects: &mut Vec<Effect>) -> bool {
    let Some(edit) = model.editing.take() else { return false };
    let (text, images) = model.composer.expanded_content();
    let text = text.trim_end().to_owned();
    if text.is_empty() && images.is_empty() {
        model.remark("an empty message cannot be queued");
        model.editing = Some(edit);
        return true;
    }
    model.completion = None;
    model.composer.reset(Some(text.clone()));
    model.composer.put_draft(edit.draft);
    let change = QueueChange::Replace { text, images };
    effects.push(QueueCommand::ChangeQueued { message: edit.message, change }.into());
    true
}

/// Discards the edit of a queued message; false when none is being edited.
pub(super) fn leave_edit(model: &mut Model) -> bool {
    let Some(edit) = model.editing.take() else { return false };
    let text = model.composer.expanded_content().0;
    model.composer.reset((text != edit.message.text).then_some(text));
    model.composer.put_draft(edit.draft);
    model.completion = None;
    model.remark("the queued message stays as it was");
    true
}

/// Closes the list on top if a letter begins or continues a word, which is then for the draft: the letter is no key
/// of the list, or another one is still waiting for what follows it.
pub(super) fn is_written_over(model: &mut Model, key: Key) -> bool {
    let Some(Overlay::Queue(view)) = model.overlays.last() else { return false };
    let continues = model.begun.as_ref().is_some_and(|begun| begun.is_continued(key, model.now));
    let is_written = continues || view.clone().key(key, &model.status, 1) == KeyOutcome::Ignored;
    if is_written {
        write_over(model);
    }
    is_written
}

/// Closes the list on top; what was typed there and has had no effect yet is the beginning of a word in the draft.
pub(super) fn write_over(model: &mut Model) {
    model.overlays.pop();
    misdirected::write_pending_letters(model);
}

/// Follows the agent's report of its queues.
pub(super) fn follow(model: &mut Model) {
    let now = model.now;
    let is_empty = |overlay: &mut Overlay| {
        if let Overlay::Queue(view) = overlay { !view.follow(&model.status, now) } else { false }
    };
    if model.overlays.iter_mut().any(is_empty) {
        // An Enter that was meant for the list sends no draft.
        if matches!(model.overlays.last(), Some(Overlay::Queue(_))) {
            model.enter_held = Some(model.now + QUIET);
        }
        model.overlays.retain(|overlay| !matches!(overlay, Overlay::Queue(_)));
        model.remark("the queue is empty");
    }
    let Some(edit) = model.editing.as_mut() else { return };
    match queue_list::find(&model.status, &edit.message) {
        Some(message) => edit.message = message,
        None => {
            let draft = model.editing.take().map(|edit| edit.draft);
            model.drafts.extend(draft.filter(|draft| !draft.is_empty()));
            too_late(model);
        }
    }
}

/// Handles a change that came too late. The text of an edit stays in the composer.
pub(super) fn on_change_failure(model: &mut Model, change: &QueueChange) {
    if let QueueChange::Replace { text, images } = change {
        let draft = model.composer.take_draft();
        if !draft.is_empty() {
            model.drafts.push(draft);
        }
        give_back(model, std::slice::from_ref(text), images);
        return too_late(model);
    }
    model.remark("too late: the message is no longer queued");
}

fn too_late(model: &mut Model) {
    let send = model.keymap.hint(Action::Send).map(|key| format!("; {key} sends your text as a new one"));
    let stash = model.keymap.hint(Action::Stash).filter(|_| !model.drafts.is_empty());
    let stash = stash.map(|key| format!(", {key} restores your draft"));
    let rest = [send, stash].into_iter().flatten().collect::<String>();
    model.remark(&format!("the message is no longer queued{rest}"));
}

/// Sets the draft aside; with an empty composer, restores the one set aside last.
pub(super) fn stash(model: &mut Model) {
    if model.editing.is_some() {
        return model.remark("save or leave the queued message first");
    }
    if !model.composer.is_empty() {
        let draft = model.composer.take_draft();
        model.completion = None;
        return set_aside(model, draft);
    }
    match model.drafts.pop() {
        Some(draft) => {
            model.composer.put_draft(draft);
            // It may still explain how to do this.
            model.remark = None;
        }
        None => model.remark("no draft was set aside"),
    }
}

/// Keeps a draft for later, and says so.
pub(super) fn set_aside(model: &mut Model, draft: Draft) {
    model.drafts.push(draft);
    tell_of_drafts(model);
}

/// Says how to come back to a draft that was set aside.
pub(super) fn tell_of_drafts(model: &mut Model) {
    let text = match model.keymap.hint(Action::Stash) {
        Some(key) => format!("draft set aside; {key} on an empty composer restores it"),
        None => "draft set aside".to_owned(),
    };
    model.remark(&text);
}

/// Inserts messages that the agent returned before the draft, and all pictures after the texts.
pub(super) fn give_back(model: &mut Model, texts: &[String], images: &[Block]) {
    if texts.is_empty() {
        return;
    }
    let written = model.composer.text();
    let mut images = images.iter();
    let mut parts: Vec<String> = texts.iter().map(|text| model.composer.adopt(text, &mut images)).collect();
    parts.extend(Some(written).filter(|written| !written.is_empty()));
    model.composer.set_text(&parts.join("\n\n"));
    for picture in images {
        if let Block::Image { data, mime_type } = picture {
            model.composer.insert_picture(data.clone(), mime_type.clone(), None);
        }
    }
}
