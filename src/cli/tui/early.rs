//! Keys before the screen is connected to an agent: they are shown at once, and their effects wait.

use std::collections::VecDeque;
use std::pin::pin;

use super::event::TerminalEvent;
use super::input::TerminalInput;
use super::live_screen::LiveScreen;
use tau_app::Effect;

/// Takes keys and draws until `connecting` is done; returns its result, and the events that are left to
/// the shell.
pub(super) async fn take_keys<T>(
    screen: &mut LiveScreen,
    input: &mut TerminalInput,
    connecting: impl Future<Output = T>,
) -> (T, VecDeque<TerminalEvent>) {
    let mut connecting = pin!(connecting);
    let mut held = VecDeque::new();
    let before = requests(screen);
    let mut works = true;
    loop {
        let takes = works && requests(screen) == before;
        let event = tokio::select! {
            biased;
            connected = &mut connecting => return (connected, held),
            event = input.next(), if takes => event,
        };
        if event == TerminalEvent::Ended {
            held.push_back(event);
            works = false;
            continue;
        }
        // What fails here fails again in the shell, which then ends.
        works = screen.take(event).is_ok() && (!screen.dirty || screen.draw().is_ok());
    }
}

/// The number of effects that are for the shell.
fn requests(screen: &LiveScreen) -> usize {
    screen.effects.iter().filter(|effect| !matches!(effect, Effect::Agent(_))).count()
}
