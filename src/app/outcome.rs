//! What an overlay answers to a key.

/// What an overlay answers to a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyOutcome<T> {
    /// The key means nothing here.
    Ignored,
    /// The key was used.
    Handled,
    /// The overlay closes.
    Closed,
    /// The user has decided.
    Done(T),
}
