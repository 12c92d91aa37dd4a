//! Giving the keyboard to the user's running command, and taking it back.
//!
//! While a command has the keyboard, every key but the one that takes it back goes to the command, even Esc
//! and Ctrl+C. A program that asks for the whole screen gets the keyboard with it, unless the user is
//! writing; the keyboard comes back with the screen, or when the command ends.

use crate::action::Action;
use crate::approval::QUIET;
use crate::effect::Effect;
use crate::geometry::Size;
use crate::jobs::{FocusCause, KeyboardOwner};
use crate::key::{Key, KeyCode, Mouse};
use crate::model::Model;

use crate::pty_input;
use tau_protocol::command::ShellCommand;
use tau_tools::vt::TerminalScreen;

/// Cells of a panel beside the output of a command.
const MARGIN: u16 = 3;

/// The size of a command's terminal: as much as its panel shows without wrapping.
pub(super) fn panel_size(window: Size) -> (u16, u16) {
    (window.width.saturating_sub(MARGIN).max(1), window.height.max(1))
}

/// The size of a full-screen program's terminal: everything but the row that explains how to return.
fn full_size(window: Size) -> (u16, u16) {
    (window.width.max(1), window.height.saturating_sub(1).max(1))
}

/// Gives the keyboard to the newest command.
pub(super) fn give(model: &mut Model) {
    match model.jobs.newest() {
        Some(entry) => hand_over(model, KeyboardOwner { entry, cause: FocusCause::User }),
        None => model.remark("no command is running to take the keyboard"),
    }
}

/// Switches the keyboard between tau and the newest command.
pub(super) fn take_or_give(model: &mut Model) {
    if model.jobs.owner().is_some() { take_back(model) } else { give(model) }
}

fn hand_over(model: &mut Model, owner: KeyboardOwner) {
    model.jobs.set_owner(Some(owner), &mut model.transcript);
    model.transcript.show_tail();
    model.completion = None;
    model.quit_armed = None;
}

fn take_back(model: &mut Model) {
    model.jobs.set_owner(None, &mut model.transcript);
}

/// Handles a key while a command has the keyboard, or has just lost it. True when it was used.
pub(super) fn press(model: &mut Model, key: Key, effects: &mut Vec<Effect>) -> bool {
    let Some(owner) = model.jobs.owner() else { return is_typed_ahead(model, key) };
    if model.keymap.action(key) == Some(Action::TakeKeyboard) {
        take_back(model);
    } else {
        let data = pty_input::key_sequence(key, model.jobs.keyboard_modes());
        send(model, owner, data, effects);
    }
    true
}

fn is_typed_ahead(model: &mut Model, key: Key) -> bool {
    // Whoever types on has not seen yet that the prompt is gone.
    if key.typed_char().is_some() && model.enter_held.is_some_and(|until| model.now < until) {
        model.enter_held = Some(model.now + QUIET);
    }
    let until = if key.code == KeyCode::Enter {
        model.typed_ahead.max(model.enter_held)
    } else {
        model.typed_ahead.filter(|_| key.typed_char().is_some())
    };
    until.is_some_and(|until| model.now < until)
}

/// Handles a paste while a command has the keyboard. True when it was used.
pub(super) fn paste(model: &mut Model, text: &str, effects: &mut Vec<Effect>) -> bool {
    let Some(owner) = model.jobs.owner() else {
        return model.typed_ahead.is_some_and(|until| model.now < until);
    };
    let data = pty_input::paste_sequence(text, model.jobs.keyboard_modes());
    send(model, owner, data, effects);
    true
}

/// Handles the mouse over a full-screen program. True when it was used.
pub(super) fn mouse(model: &mut Model, event: Mouse, effects: &mut Vec<Effect>) -> bool {
    let Some(owner) = model.jobs.owner() else { return false };
    let Some(screen) = model.jobs.keyboard_screen().filter(|screen| screen.is_full()) else { return false };
    if event.row < screen.size().1 {
        let data = pty_input::mouse_sequence(event, screen.modes());
        send(model, owner, data, effects);
    }
    true
}

fn send(model: &Model, owner: KeyboardOwner, data: String, effects: &mut Vec<Effect>) {
    if let Some(id) = model.jobs.id(owner.entry).filter(|_| !data.is_empty()) {
        effects.push(ShellCommand::BashInput { id, data }.into());
    }
}

/// Updates the keyboard's owner and the terminals' sizes after a message was folded.
pub(super) fn follow(model: &mut Model, effects: &mut Vec<Effect>) {
    for (id, data) in model.jobs.take_answers() {
        effects.push(ShellCommand::BashInput { id, data }.into());
    }
    let asks = model.jobs.take_screen_request();
    match (model.jobs.owner(), asks) {
        (Some(owner), _) => keep_or_take_back(model, owner),
        (None, Some(entry)) if model.composer.is_empty() && model.overlays.is_empty() => {
            hand_over(model, KeyboardOwner { entry, cause: FocusCause::Program });
        }
        (None, Some(_)) => {
            let text = "a program wants the whole screen";
            match model.keymap.hint(Action::GiveKeyboard) {
                Some(key) => model.remark(&format!("{text}; {key} shows it")),
                None => model.remark(text),
            }
        }
        (None, None) => {}
    }
    let window = model.size;
    let wanted =
        |screen: &TerminalScreen| if screen.is_full() { full_size(window) } else { panel_size(window) };
    for (id, size) in model.jobs.fit(wanted, &mut model.transcript) {
        effects.push(ShellCommand::BashResize { id, size }.into());
    }
}

/// Returns the keyboard when the command has ended, or when its program leaves the full screen for which it
/// got the keyboard.
fn keep_or_take_back(model: &mut Model, owner: KeyboardOwner) {
    let ended = !model.jobs.is_running(owner.entry);
    let is_full = model.jobs.keyboard_screen().is_some_and(TerminalScreen::is_full);
    if ended {
        model.typed_ahead = Some(model.now + QUIET);
    }
    if ended || (owner.cause == FocusCause::Program && !is_full) {
        take_back(model);
    }
    if ended && owner.cause == FocusCause::User {
        model.remark("command finished; tau has the keyboard again");
    }
}
