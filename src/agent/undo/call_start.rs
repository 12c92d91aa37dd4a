//! A call whose changes are to be recorded.

/// A call that is about to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallStart {
    /// The id of the call.
    pub id: String,
    /// The name of its tool.
    pub tool: String,
    /// The entry of the prompt that led to it.
    pub checkpoint: Option<String>,
}
