//! The connection of an attached screen to its server.

use serde::{Deserialize, Serialize};

/// The state of the connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connection {
    /// Connected; or the agent is in this process.
    #[default]
    Up,
    /// Lost, and being restored.
    Lost { why: String },
    /// Lost, and not retried until the user sends something.
    Down {
        why: String,
        /// Whether attaching again leads to the session, because it was only closed.
        #[serde(default)]
        returns: bool,
    },
}
