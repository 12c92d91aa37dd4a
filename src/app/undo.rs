//! Undo, step by step: the prompt, the scope, and files that the user changed as well.

use std::collections::VecDeque;

use super::request::Ticket;
use tau_protocol::undo::{Checkpoint, UndoConflict, UndoOrder};

/// The decisions so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UndoDialog {
    /// The pending list of prompts, or the pending plan.
    pub(crate) waiting: Option<Ticket>,
    /// The prompts, in order.
    pub(crate) checkpoints: Vec<Checkpoint>,
    /// The order being built.
    pub(crate) order: UndoOrder,
    /// Whether to redo the last undo.
    pub(crate) redo: bool,
    /// Undecided conflicts, the next first.
    pub(crate) conflicts: VecDeque<UndoConflict>,
    /// Whether the text of a prompt returns to the composer.
    pub(crate) returns: bool,
    /// The returned text.
    pub(crate) returned: Option<String>,
}

impl UndoDialog {
    /// Whether this answers the pending query, which then ends.
    pub(crate) fn takes(&mut self, ticket: Ticket) -> bool {
        self.waiting.take_if(|waiting| *waiting == ticket).is_some()
    }
}
