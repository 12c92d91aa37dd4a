//! Keys and pastes, routed to the first target that takes them. The order is: the command with the keyboard,
//! the overlay on top, the search or the selected panel, vim's modes, the completion list, the key map; other
//! keys are typed.

use super::{
    actions, answering, approval, completion, find, leader, misdirected, overlay_paste, overlays, panels,
    pictures, queue, terminal_focus, vim,
};
use crate::action::Action;
use crate::completion::CompletionKind;
use crate::effect::Effect;
use crate::focus::Focus;
use crate::key::{Key, KeyCode};
use crate::model::Model;
use crate::overlays::overlay::Overlay;

pub(super) fn press(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    let Some(key) = leader::resolve_key(model, key) else { return };
    let (open, edited, remark) =
        (misdirected::open(model), queue::edited_message(model), model.remark.clone());
    route(model, key, effects);
    let has_closed = misdirected::open(model) < open;
    // It was about what has closed.
    if has_closed && model.remark == remark {
        model.remark = None;
    }
    let left = has_closed && !queue::begins_edit(model, edited.as_ref());
    model.misdirected.follow(key, left, model.now);
}

fn route(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    if terminal_focus::press(model, key, effects) {
        return;
    }
    if answering::press(model, key, effects) {
        return;
    }
    let quits = model.keymap.action(key) == Some(Action::Exit);
    if quits && model.composer.is_empty() && model.overlays.last().is_some_and(Overlay::can_quit) {
        return actions::run(model, Action::Exit, effects);
    }
    if model.focus() == Focus::Overlay && !key.is_led() && !overlays::is_for_draft(model, key) {
        return overlays::key(model, key, effects);
    }
    if key.is_led() {
        return leader::press(model, key, effects);
    }
    if let Some(action) = find::press(model, key) {
        return action.into_iter().for_each(|action| actions::run(model, action, effects));
    }
    if let Some(action) = panels::press(model, key) {
        return actions::run(model, action, effects);
    }
    if let Some(action) = approval::press(model, key, effects) {
        let from = model.transcript.position;
        action.into_iter().for_each(|action| actions::run(model, action, effects));
        return approval::note_scroll(model, from);
    }
    if key.typed_char() == Some('?') && model.composer.is_empty() {
        return actions::run(model, Action::Help, effects);
    }
    if vim::press(model, key, effects) {
        return;
    }
    let action = model.keymap.action(key);
    if action != Some(Action::Clear) {
        model.quit_armed = None;
    }
    if action != Some(Action::Cancel) {
        model.tree_armed = None;
    }
    if matches!(action, Some(Action::Send | Action::FollowUp)) && misdirected::holds(model) {
        return;
    }
    if completion::key(model, key, action, effects) {
        return;
    }
    match (action, key.typed_char()) {
        (Some(action), _) => actions::run(model, action, effects),
        (None, Some(c)) => {
            let now = model.now;
            model.composer.type_char(c, now);
        }
        (None, None) => move_cursor(model, key),
    }
    model.composer.settle();
    completion::refresh(model, effects);
}

/// Moves the cursor for keys without an action of their own.
fn move_cursor(model: &mut Model, key: Key) {
    if key.code == KeyCode::Left {
        model.composer.left();
    } else if key.code == KeyCode::Right {
        model.composer.right();
    }
}

/// Inserts pasted text; nothing in it is a key, and it never sends anything.
pub(super) fn paste(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    model.led = false;
    if terminal_focus::paste(model, text, effects) {
        return;
    }
    model.quit_armed = None;
    if answering::paste(model, text, effects) {
        return;
    }
    let is_covered =
        model.focus() == Focus::Overlay && !matches!(model.overlays.last(), Some(Overlay::SideQuestion(_)));
    if is_covered && overlay_paste::paste(model, text, effects) {
        return;
    }
    if find::paste(model, text) {
        return;
    }
    if approval::paste(model, text) {
        return;
    }
    model.transcript.leave_panel();
    if !pictures::paste(model, text, effects) {
        model.composer.paste(text);
    }
    if model.completion.as_ref().is_some_and(|list| list.kind == CompletionKind::Command) {
        model.completion = None;
    }
    completion::refresh(model, effects);
}
