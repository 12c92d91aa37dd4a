//! The connection of an attached screen to its server.

use serde::{Deserialize, Serialize};

/// How things are with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connection {
    /// It works; or the agent is in this process.
    #[default]
    Up,
    /// It was lost, and is made again.
    Lost { why: String },
    /// It was lost, and nothing is tried until the user sends something.
    Down {
        why: String,
        /// Whether attaching again leads to the session: it was only closed.
        #[serde(default)]
        returns: bool,
    },
}
