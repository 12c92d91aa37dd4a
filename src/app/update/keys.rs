//! Keys and pastes: a command that has the keyboard first, then overlays, then completion, then the key map, then typing.

use super::{actions, completion, overlays, submit, terminal_focus};
use crate::app::action::Action;
use crate::app::completion::CompletionKind;
use crate::app::effect::{Effect, ShellRequest};
use crate::app::key::{Key, KeyCode};
use crate::app::model::{Model, Purpose};

pub(super) fn press(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    if terminal_focus::press(model, key, effects) {
        return;
    }
    if !model.overlays.is_empty() {
        return overlays::key(model, key, effects);
    }
    let action = model.keymap.action(key);
    if action != Some(Action::Clear) {
        model.quit_armed = None;
    }
    if action != Some(Action::Cancel) {
        model.tree_armed = None;
    }
    if completion::key(model, key, action, effects) {
        return;
    }
    match (action, key.typed()) {
        (Some(action), _) => actions::run(model, action, effects),
        (None, Some(c)) => {
            let now = model.now;
            model.composer.type_char(c, now);
        }
        (None, None) => move_cursor(model, key),
    }
    completion::refresh(model, effects);
}

/// Keys that only move the cursor have no names of their own.
fn move_cursor(model: &mut Model, key: Key) {
    match key.code {
        KeyCode::Left => model.composer.left(),
        KeyCode::Right => model.composer.right(),
        _ => {}
    }
}

/// Pasted text is inserted and shown; nothing in it is a key, and it never sends anything.
pub(super) fn paste(model: &mut Model, text: &str, effects: &mut Vec<Effect>) {
    if terminal_focus::paste(model, text, effects) {
        return;
    }
    model.quit_armed = None;
    if !model.overlays.is_empty() {
        return overlays::paste(model, text, effects);
    }
    match picture_path(text) {
        Some(path) => {
            model.ask(Purpose::Picture, ShellRequest::Picture { path: path.into() }, effects);
        }
        None => model.composer.paste(text),
    }
    if model.completion.as_ref().is_some_and(|list| list.kind == CompletionKind::Command) {
        model.completion = None;
    }
    completion::refresh(model, effects);
}

/// A paste that is nothing but the path of a picture, as terminals give for a dropped file.
fn picture_path(text: &str) -> Option<&str> {
    let path = text.trim().trim_matches(['\'', '"']);
    let path = path.strip_prefix("file://").unwrap_or(path);
    let (_, extension) = path.rsplit_once('.')?;
    let known = ["png", "jpg", "jpeg", "gif", "webp"];
    let is_picture = known.iter().any(|known| known.eq_ignore_ascii_case(extension));
    (is_picture && !path.contains('\n') && path.starts_with(['/', '~', '.'])).then_some(path)
}

/// A line that ends in a backslash goes on; everything else is sent.
pub(super) fn enter(
    model: &mut Model,
    queue: crate::agent::protocol::command::Queue,
    effects: &mut Vec<Effect>,
) {
    if model.composer.before_cursor().ends_with('\\') {
        model.composer.replace_before(1, "\n");
    } else {
        submit::send(model, queue, effects);
    }
}
