//! Keys before the screen is connected to an agent: text is shown at once. Other keys wait, and so do those after
//! them: they may be about what the agent does then.

use std::collections::VecDeque;
use std::pin::pin;

use super::event::TerminalEvent;
use super::input::TerminalInput;
use super::live_screen::LiveScreen;
use tau_app::key::{KeyCode, Mods};

/// Takes keys and draws until `connecting` is done; returns its result, and the events that are left to
/// the shell.
pub(super) async fn take_keys<T>(
    screen: &mut LiveScreen,
    input: &mut TerminalInput,
    connecting: impl Future<Output = T>,
) -> (T, VecDeque<TerminalEvent>) {
    let mut connecting = pin!(connecting);
    let mut held = VecDeque::new();
    let before = screen.effects.len();
    let mut works = true;
    loop {
        let takes = works && screen.effects.len() == before;
        let event = tokio::select! {
            biased;
            connected = &mut connecting => return (connected, held),
            event = input.next(), if takes => event,
        };
        if !is_text(&event) {
            held.push_back(event);
            works = false;
            continue;
        }
        // What fails here fails again in the shell, which then ends.
        works = screen.take(event).is_ok() && (!screen.dirty || screen.draw().is_ok());
    }
}

/// Whether it is text for a draft, or no input of the user.
fn is_text(event: &TerminalEvent) -> bool {
    match event {
        TerminalEvent::Key(key) => {
            matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace) && key.mods == Mods::NONE
        }
        TerminalEvent::Paste(_)
        | TerminalEvent::FocusGained
        | TerminalEvent::FocusLost
        | TerminalEvent::Answer(_)
        | TerminalEvent::Clipboard(_) => true,
        TerminalEvent::Mouse(_) | TerminalEvent::Taken | TerminalEvent::Ended => false,
    }
}
