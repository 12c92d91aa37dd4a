//! Going back, step by step: to which prompt, with what, and what becomes of files that the user
//! changed as well.

use std::collections::VecDeque;

use super::request::Ticket;
use tau_protocol::undo::{Checkpoint, UndoConflict, UndoOrder};

/// What was decided so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UndoDialog {
    /// The list of prompts, or the plan, that is awaited.
    pub(crate) waiting: Option<Ticket>,
    /// The prompts, in order.
    pub(crate) checkpoints: Vec<Checkpoint>,
    /// What is to be done.
    pub(crate) order: UndoOrder,
    /// True if the last undo is to be taken back.
    pub(crate) redo: bool,
    /// What nobody decided on yet, the next first.
    pub(crate) conflicts: VecDeque<UndoConflict>,
    /// True if the text of a prompt is to come back to the composer.
    pub(crate) returns: bool,
    /// The text that came back.
    pub(crate) returned: Option<String>,
}

impl UndoDialog {
    /// Whether this is the answer that is awaited, which then no longer is.
    pub(crate) fn takes(&mut self, ticket: Ticket) -> bool {
        self.waiting.take_if(|waiting| *waiting == ticket).is_some()
    }
}
