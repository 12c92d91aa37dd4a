//! Requests to the outside, as plain comparable data. Only the shell carries them out.

use std::collections::VecDeque;

use tau_protocol::command::AgentCommand;

use super::geometry::TerminalUse;
use super::request::{ScreenRequest, Ticket};

/// Maximum length of a text for the terminal's clipboard, in bytes. Encoded for the terminal it is a third
/// longer, and tmux drops a sequence of more than 1 MiB.
pub const TERMINAL_COPY: usize = 750_000;

/// A request to the outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send the agent a command.
    Agent(AgentCommand),
    /// Send a request that has an answer.
    Ask(Ticket, ScreenRequest),
    /// The answer is no longer wanted; stop working on it.
    Forget(Ticket),
    /// Pass text to the terminal for its clipboard; at most [`TERMINAL_COPY`] bytes.
    Copy(String),
    /// Add a prompt to the history file.
    Remember(String),
    /// Store a setting for later runs.
    Save(SavedSetting),
    /// Notify the user, who is looking at another window. The text is short and not sanitised yet.
    Notify(String),
    /// Configure the terminal like this from now on.
    UseTerminal(TerminalUse),
    /// Stop the program (job control).
    Suspend,
    /// Give the shell its prompt back, while the session continues.
    Background,
    /// Leave this session, running if it is at work, and open the live session of this id.
    OpenLive(String),
    /// Quit, unless the end of the session cannot be saved; see [`super::Msg::QuitUnsaved`].
    Quit,
    /// Quit, and lose what cannot be saved.
    Abandon,
}

impl Effect {
    /// Whether keys behind the one that led to it need not wait until it is carried out: a list looks something up, and
    /// the next letter changes what.
    pub fn lets_letters_pass(&self) -> bool {
        match self {
            Effect::Agent(_) | Effect::Forget(_) => true,
            Effect::Ask(_, request) => {
                matches!(request, ScreenRequest::SearchSessions { .. } | ScreenRequest::Preview { .. })
            }
            Effect::Copy(_)
            | Effect::Remember(_)
            | Effect::Save(_)
            | Effect::Notify(_)
            | Effect::UseTerminal(_)
            | Effect::Suspend
            | Effect::Background
            | Effect::OpenLive(_)
            | Effect::Quit
            | Effect::Abandon => false,
        }
    }
}

/// Adds effects to those that wait. A request that is forgotten before it was sent is not sent.
pub fn enqueue(waiting: &mut VecDeque<Effect>, effects: impl IntoIterator<Item = Effect>) {
    for effect in effects {
        let unsent = match &effect {
            Effect::Forget(ticket) => {
                waiting.iter().position(|asked| matches!(asked, Effect::Ask(known, _) if known == ticket))
            }
            _ => None,
        };
        match unsent {
            Some(at) => drop(waiting.remove(at)),
            None => waiting.push_back(effect),
        }
    }
}

impl<C: Into<AgentCommand>> From<C> for Effect {
    fn from(command: C) -> Self {
        Effect::Agent(command.into())
    }
}

/// A setting that is stored when it is changed on the screen.
#[derive(Clone, Debug, PartialEq)]
pub enum SavedSetting {
    /// `provider/id` of the model.
    Model(String),
    /// Whether the model of this `provider/id` is a favourite.
    Favourite(String, bool),
    /// Name of the theme.
    Theme(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_requests_of_a_burst_of_letters_the_last_is_sent() {
        let search = |number: u64, query: &str| {
            let request = ScreenRequest::SearchSessions { query: query.to_owned(), all: false };
            Effect::Ask(Ticket(number), request)
        };
        let mut waiting = VecDeque::from([Effect::Suspend]);
        enqueue(&mut waiting, [Effect::Forget(Ticket(1)), search(2, "fix")]);
        assert!(waiting.iter().skip(1).all(Effect::lets_letters_pass) && !waiting[0].lets_letters_pass());
        enqueue(&mut waiting, [Effect::Forget(Ticket(2)), search(3, "fixe")]);
        enqueue(&mut waiting, [Effect::Forget(Ticket(3)), search(4, "fixed")]);
        assert_eq!(waiting, [Effect::Suspend, Effect::Forget(Ticket(1)), search(4, "fixed")]);
    }
}
