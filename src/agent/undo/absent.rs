//! Replaces undo in builds without it: nothing is recorded, and commands say why.
//!
//! [`UndoOptions`] has no values, so no session has an undo.

mod call_start;
mod prompts;

use std::path::Path;
use std::time::Instant;

use tau_protocol::undo::{Checkpoint, RestoreReport, RevertOrder, SessionChanges, UndoOrder, UndoPlan};
use tau_tools::access::Access;
use tau_tools::user_error::UserError;

pub use call_start::CallStart;
pub(crate) use prompts::last_prompt;
pub use prompts::{Prompt, prompts};

/// The answer to commands about changes.
pub(crate) const NOT_RECORDED: &str =
    "this program was built without undo; build it with the feature `undo` of the crate taucode-agent";

/// A type without values, for those that cannot exist in such a build.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Never {}

/// The options of undo. No value exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoOptions(Never);

impl UndoOptions {
    /// Whether changes are recorded.
    pub fn is_on(&self) -> bool {
        match self.0 {}
    }

    /// Makes a change of files for the user.
    pub fn change_beside_calls<T>(&self, _: impl FnOnce() -> T) -> T {
        match self.0 {}
    }
}

/// The undo of a session. No value exists.
#[derive(Debug)]
pub struct SessionUndo(Never);

impl SessionUndo {
    pub(crate) fn open(options: &UndoOptions, _: &str, _: &Path, _: bool) -> Self {
        match options.0 {}
    }

    pub(crate) fn take_notices(&mut self) -> Vec<String> {
        match self.0 {}
    }

    pub(crate) fn precopy(&mut self, _: bool, _: Instant) -> bool {
        match self.0 {}
    }

    pub(crate) fn begin(&mut self, _: CallStart, _: &Access) {
        match self.0 {}
    }

    pub(crate) fn begin_concurrent(&mut self, _: CallStart, _: &Access, _: bool) {
        match self.0 {}
    }

    pub(crate) fn end(&mut self, _: bool) {
        match self.0 {}
    }

    pub(crate) fn checkpoints(&mut self, _: &[Prompt]) -> Vec<Checkpoint> {
        match self.0 {}
    }

    pub(crate) fn changes(&mut self) -> SessionChanges {
        match self.0 {}
    }

    pub(crate) fn plan(&mut self, _: &[Prompt], _: &str) -> Option<UndoPlan> {
        match self.0 {}
    }

    pub(crate) fn redo_plan(&mut self) -> Option<UndoPlan> {
        match self.0 {}
    }

    pub(crate) fn undo(
        &mut self,
        _: &[Prompt],
        _: &UndoOrder,
        _: Option<String>,
    ) -> Result<RestoreReport, UserError> {
        match self.0 {}
    }

    pub(crate) fn redo(&mut self, _: &UndoOrder) -> Result<(RestoreReport, Option<String>), UserError> {
        match self.0 {}
    }

    pub(crate) fn revert(&mut self, _: &RevertOrder) -> Result<RestoreReport, UserError> {
        match self.0 {}
    }
}
