//! Requests to the outside, as plain comparable data. Only the shell carries them out.

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
