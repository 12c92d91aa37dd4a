//! Keys while the transcript is searched. They edit the query until Enter confirms it; then `n`, `N` and `/` are
//! commands, and other text ends the search and goes to the draft. Keys that scroll or fold work as always.

use super::misdirected;
use crate::action::Action;
use crate::key::{Key, KeyCode, Mods};
use crate::model::Model;
use crate::overlays::list_keys::PendingLetters;
use crate::transcript::find::FindStep;

/// Starts a search, including the undrawn lines of running commands.
pub(super) fn open(model: &mut Model) {
    model.transcript.open_find(&model.laid);
    model.jobs.show_kept_lines(&mut model.transcript);
}

/// `None` when no search is open; otherwise the key's additional action, if any.
pub(super) fn press(model: &mut Model, key: Key) -> Option<Option<Action>> {
    let typing = model.transcript.find.as_ref()?.typing;
    if !typing && key.typed_char().is_some_and(|letter| !"nN/".contains(letter)) {
        write_on(model);
        return None;
    }
    if !typing {
        model.begun = PendingLetters::by_move(key, "nN", model.now);
    }
    let transcript = &mut model.transcript;
    match (key.code, key.mods) {
        (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => transcript.close_find(typing),
        (KeyCode::Up, Mods::NONE) => transcript.step_find(FindStep::Older),
        (KeyCode::Down, Mods::NONE) => transcript.step_find(FindStep::Newer),
        (KeyCode::Enter, Mods::NONE) if typing => transcript.keep_find(),
        (KeyCode::Enter, Mods::NONE) | (KeyCode::Char('n'), Mods::NONE) if !typing => {
            transcript.step_find(FindStep::Older);
        }
        (KeyCode::Enter, Mods::SHIFT) => {
            transcript.keep_find();
            transcript.step_find(FindStep::Newer);
        }
        (KeyCode::Char('N'), _) if !typing => transcript.step_find(FindStep::Newer),
        (KeyCode::Char('/'), Mods::NONE) if !typing => transcript.open_find(&model.laid),
        _ => return Some(other(model, key, typing)),
    }
    Some(None)
}

fn other(model: &mut Model, key: Key, typing: bool) -> Option<Action> {
    let action = model.keymap.action(key).filter(|action| looks_only(*action));
    if action.is_none() && typing {
        model.transcript.edit_find(|line| line.key(key));
    }
    action
}

/// Whether an action only changes the view of the transcript.
pub(super) fn looks_only(action: Action) -> bool {
    [
        Action::Find,
        Action::PageUp,
        Action::PageDown,
        Action::RowUp,
        Action::RowDown,
        Action::Top,
        Action::Tail,
        Action::PreviousPrompt,
        Action::NextPrompt,
        Action::ToggleTools,
        Action::ToggleThinking,
        Action::ToggleDiff,
        Action::Help,
    ]
    .contains(&action)
}

/// Ends a confirmed search for text that is for the draft.
fn write_on(model: &mut Model) {
    model.transcript.close_find(false);
    misdirected::write_pending_letters(model);
}

/// Adds pasted text to the query; false when none is being typed.
pub(super) fn paste(model: &mut Model, text: &str) -> bool {
    match model.transcript.find.as_ref().map(|find| find.typing) {
        Some(true) => {
            model.transcript.edit_find(|line| {
                line.paste(text);
                true
            });
            true
        }
        Some(false) => {
            write_on(model);
            false
        }
        None => false,
    }
}
