//! Facts from outside, in the past tense, each with the time it became known.
//!
//! Everything that changes the model is one of these. They are plain data and serialise, so
//! `tau --record FILE` is a line for each and a replay is a fold over the file.

use serde::{Deserialize, Serialize};

use super::connection::Connection;
use super::geometry::{FrameLayout, Size};
use super::key::{Key, Mouse};
use super::request::{ScreenReply, SettingsUpdate, Ticket};
use super::terminal_facts::TerminalAnswer;
use tau_protocol::event::AgentEvent;
use tau_protocol::message::Block;
use tau_protocol::trust::Folder;

/// Milliseconds since 1970, never going backwards within a run.
pub type Millis = i64;

/// A fact with the time at which it became known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StampedMsg {
    pub at: Millis,
    pub msg: Msg,
}

/// A fact from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Msg {
    /// A key was pressed.
    Key(Key),
    /// A mouse event occurred.
    Mouse(Mouse),
    /// Text was pasted; line ends are line feeds.
    Paste(String),
    /// The terminal was resized.
    Resized(Size),
    /// The terminal window gained or lost the focus.
    Focused(bool),
    /// The terminal answered a question about itself.
    TerminalAnswered(TerminalAnswer),
    /// The list of themes changed: a theme file was made or removed.
    ThemesListed(Vec<String>),
    /// The requested tick has elapsed.
    Ticked,
    /// The agent sent an event.
    Agent(AgentEvent),
    /// A request was answered; see [`super::request::ScreenRequest`].
    Finished(Ticket, ScreenReply),
    /// The open session moved to another directory: the changes from its project settings, the folders to ask
    /// about, and its place for the status line.
    DirectoryChanged {
        applied: SettingsUpdate,
        folders: Vec<Folder>,
        #[serde(default)]
        place: String,
    },
    /// The connection to the session's server was lost or restored.
    Connection(Connection),
    /// A frame was laid out.
    Laid(FrameLayout),
    /// The program was started with a prompt.
    Started { text: String, images: Vec<Block> },
    /// The program was continued after a stop; the screen is drawn again.
    Continued,
    /// The session could not be saved when the user quit.
    QuitUnsaved,
}
