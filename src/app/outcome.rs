//! The result of a key in an overlay.

/// The result of a key in an overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyOutcome<T> {
    /// The overlay has no use for the key.
    Ignored,
    /// The key was used.
    Handled,
    /// The overlay closes.
    Closed,
    /// The user has decided.
    Done(T),
}
