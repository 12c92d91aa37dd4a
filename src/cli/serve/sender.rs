//! The sender of a command.

use std::sync::Arc;

/// The sender of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sender {
    /// The screen in this process.
    #[default]
    Here,
    /// An attached screen.
    Screen(Arc<str>),
    /// Another program, which has no composer.
    Program,
}
