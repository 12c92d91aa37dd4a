//! Calls that wait for the user's decision.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;

use crate::engine::calls::exact_calls::{ExactCall, ExactCalls};
use crate::extensions::hooks::HookPermission;
use tau_protocol::approval::ApprovalRequest;
use tau_tools::sandbox::SandboxDenial;
use tau_tools::{Access, Approved, Preview, ToolError};

/// How many earlier calls are remembered.
const MAX_EARLIER: usize = 1_000;

/// What was decided about a call: what of it is applied, or why it is not.
pub(crate) type Decision = Result<Approved, ToolError>;

/// A prepared call that is to be judged.
#[derive(Debug)]
pub(crate) struct Review {
    pub(crate) access: Access,
    pub(crate) preview: Preview,
    pub(crate) proposed_text: Option<Arc<Vec<u8>>>,
    /// What the sandbox refuses of it, or refused when it ran.
    pub(crate) blocked: Option<SandboxDenial>,
    /// Whether it has run, and is to run once more.
    pub(crate) again: bool,
    /// Its arguments, if a hook changed them.
    pub(crate) changed: Option<Value>,
    /// What hooks say of it.
    pub(crate) permission: HookPermission,
    pub(crate) decide: oneshot::Sender<Decision>,
}

/// A call that waits.
#[derive(Debug)]
pub(crate) struct WaitingCall {
    pub(crate) request: ApprovalRequest,
    /// What the same call would be.
    pub(crate) exact: ExactCall,
    /// Whether calls of its tool never change anything.
    pub(crate) read_only: bool,
    /// The whole new text of the file that it writes.
    pub(crate) proposed_text: Option<Arc<Vec<u8>>>,
    /// What hooks say of it.
    pub(crate) permission: HookPermission,
    pub(crate) decide: oneshot::Sender<Decision>,
}

/// The calls that wait, in the order in which they were asked.
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    asked: u64,
    waiting: Vec<WaitingCall>,
    earlier: VecDeque<EarlierCall>,
    /// The calls that are allowed as they are.
    pub(crate) exact: ExactCalls,
}

/// A call that was judged.
#[derive(Debug)]
pub(crate) struct EarlierCall {
    pub(crate) tool: String,
    pub(crate) title: String,
    pub(crate) access: Access,
}

impl Approvals {
    /// The id of the next request.
    pub(crate) fn next_id(&mut self) -> String {
        self.asked += 1;
        format!("a{}", self.asked)
    }

    pub(crate) fn add(&mut self, call: WaitingCall) {
        self.waiting.push(call);
    }

    pub(crate) fn get(&self, id: &str) -> Option<&WaitingCall> {
        self.waiting.iter().find(|call| call.request.id == id)
    }

    pub(crate) fn take(&mut self, id: &str) -> Option<WaitingCall> {
        let at = self.waiting.iter().position(|call| call.request.id == id)?;
        Some(self.waiting.remove(at))
    }

    /// The calls that wait.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &WaitingCall> {
        self.waiting.iter()
    }

    /// Remembers a call that was judged.
    pub(crate) fn note(&mut self, call: EarlierCall) {
        if self.earlier.len() == MAX_EARLIER {
            self.earlier.pop_front();
        }
        self.earlier.push_back(call);
    }

    /// The calls that were judged, oldest first.
    pub(crate) fn earlier(&self) -> impl Iterator<Item = &EarlierCall> {
        self.earlier.iter()
    }

    pub(crate) fn take_all(&mut self) -> Vec<WaitingCall> {
        std::mem::take(&mut self.waiting)
    }
}
