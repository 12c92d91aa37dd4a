//! Handing the keyboard to a running command of the person, and taking it back.
//!
//! While a command has it, every key but the one that takes it back is the command's: esc and
//! ctrl+c too. A program that asks for the whole screen gets the keyboard with it, unless the
//! person is writing; it comes back with the screen, or when the command ends.

use crate::agent::AgentCommand;
use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::geometry::Size;
use crate::app::key::{Key, KeyCode, Mouse};
use crate::app::model::Model;
use crate::app::msg::Millis;
use crate::app::pty_input;
use crate::app::transcript::command_panel::{FocusCause, KeyboardOwner};
use crate::tools::vt::TerminalScreen;

/// What is typed so soon after a command has ended was meant for the command, and may be secret.
const TYPED_AHEAD: Millis = 400;
/// Cells that a panel takes at the sides of a command's output.
const MARGIN: u16 = 3;

/// The size of a command's terminal: what its panel shows without wrapping.
pub(super) fn panel_size(window: Size) -> (u16, u16) {
    (window.width.saturating_sub(MARGIN).max(1), window.height.max(1))
}

/// The size of a full-screen program's terminal: all but the row that says how to get out of it.
fn full_size(window: Size) -> (u16, u16) {
    (window.width.max(1), window.height.saturating_sub(1).max(1))
}

/// Gives the keyboard to the newest command.
pub(super) fn give(model: &mut Model) {
    match model.transcript.newest_shell() {
        Some(entry) => hand(model, KeyboardOwner { entry, by: FocusCause::Person }),
        None => model.remark("no command runs that could take the keyboard"),
    }
}

/// The key that takes the keyboard back, while it is ours already: gives it, so that one key is
/// enough for both.
pub(super) fn take_or_give(model: &mut Model) {
    if model.transcript.holder().is_some() { take_back(model) } else { give(model) }
}

fn hand(model: &mut Model, holder: KeyboardOwner) {
    model.transcript.give_keyboard(Some(holder));
    model.transcript.to_tail();
    model.completion = None;
    model.quit_armed = None;
}

fn take_back(model: &mut Model) {
    model.transcript.give_keyboard(None);
}

/// A key while a command has the keyboard, or has just lost it. True when it was used up.
pub(super) fn press(model: &mut Model, key: Key, effects: &mut Vec<Effect>) -> bool {
    let Some(holder) = model.transcript.holder() else { return is_typed_ahead(model, key) };
    if model.keymap.action(key) == Some(Action::TakeKeyboard) {
        take_back(model);
    } else {
        let data = pty_input::typed(key, model.transcript.keyboard_modes());
        send(model, holder, data, effects);
    }
    true
}

fn is_typed_ahead(model: &mut Model, key: Key) -> bool {
    let types = key.typed().is_some() || key.code == KeyCode::Enter;
    types && model.typed_ahead.is_some_and(|until| model.now < until)
}

/// A paste while a command has the keyboard. True when it was used up.
pub(super) fn paste(model: &mut Model, text: &str, effects: &mut Vec<Effect>) -> bool {
    let Some(holder) = model.transcript.holder() else {
        return model.typed_ahead.is_some_and(|until| model.now < until);
    };
    let data = pty_input::pasted(text, model.transcript.keyboard_modes());
    send(model, holder, data, effects);
    true
}

/// The mouse over a full-screen program. True when it was used up.
pub(super) fn mouse(model: &mut Model, event: Mouse, effects: &mut Vec<Effect>) -> bool {
    let Some(holder) = model.transcript.holder() else { return false };
    let Some((_, screen)) = model.transcript.held().filter(|(_, screen)| screen.is_full()) else {
        return false;
    };
    if event.row < screen.size().1 {
        let data = pty_input::moused(event, screen.modes());
        send(model, holder, data, effects);
    }
    true
}

fn send(model: &Model, holder: KeyboardOwner, data: String, effects: &mut Vec<Effect>) {
    if let Some(id) = model.transcript.shell_id(holder.entry).filter(|_| !data.is_empty()) {
        effects.push(Effect::Agent(AgentCommand::BashInput { id, data }));
    }
}

/// After something became known: the keyboard follows the commands, and their terminals follow
/// the window.
pub(super) fn follow(model: &mut Model, effects: &mut Vec<Effect>) {
    for (id, data) in model.transcript.take_answers() {
        effects.push(Effect::Agent(AgentCommand::BashInput { id, data }));
    }
    let asks = model.transcript.wants_screen();
    match (model.transcript.holder(), asks) {
        (Some(holder), _) => keep_or_end(model, holder),
        (None, Some(entry)) if model.composer.is_empty() && model.overlays.is_empty() => {
            hand(model, KeyboardOwner { entry, by: FocusCause::Program });
        }
        (None, Some(_)) => {
            let key = model.keymap.first_key(Action::GiveKeyboard);
            model.remark(&format!("a program wants the whole screen; {key} shows it"));
        }
        (None, None) => {}
    }
    let window = model.size;
    let wanted =
        |screen: &TerminalScreen| if screen.is_full() { full_size(window) } else { panel_size(window) };
    for (id, size) in model.transcript.fit_shells(wanted) {
        effects.push(Effect::Agent(AgentCommand::BashResize { id, size }));
    }
}

/// The keyboard comes back when the command has ended, or when its program gives back the screen
/// with which it got the keyboard.
fn keep_or_end(model: &mut Model, holder: KeyboardOwner) {
    let ended = model.transcript.shell_id(holder.entry).is_none();
    let is_full = model.transcript.held().is_some_and(|(_, screen)| screen.is_full());
    if ended {
        model.typed_ahead = Some(model.now + TYPED_AHEAD);
    }
    if ended || (holder.by == FocusCause::Program && !is_full) {
        take_back(model);
    }
    if ended && holder.by == FocusCause::Person {
        model.remark("the command has ended; the keyboard is tau's again");
    }
}
