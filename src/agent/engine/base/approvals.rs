//! Calls that wait for the user's decision.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;

use crate::engine::calls::exact_calls::{ExactCall, ExactCalls};
use crate::extensions::hooks::HookPermission;
use tau_protocol::approval::ApprovalRequest;
use tau_tools::sandbox::SandboxDenial;
use tau_tools::{Access, ApprovedPart, Preview, ToolError};

/// The maximum number of earlier calls that are remembered.
const MAX_EARLIER: usize = 1_000;

/// The decision on a call: the approved part, or the reason it was refused.
pub(crate) type Decision = Result<ApprovedPart, ToolError>;

/// A prepared call to be judged.
#[derive(Debug)]
pub(crate) struct Review {
    pub(crate) access: Access,
    pub(crate) preview: Preview,
    pub(crate) proposed_text: Option<Arc<Vec<u8>>>,
    /// The access that the sandbox refuses, or refused when the call ran.
    pub(crate) blocked: Option<SandboxDenial>,
    /// Whether it has already run and is to run again.
    pub(crate) again: bool,
    /// Its arguments, if a hook changed them.
    pub(crate) changed: Option<Value>,
    /// The permission that hooks gave it.
    pub(crate) permission: HookPermission,
    pub(crate) decide: oneshot::Sender<Decision>,
}

#[derive(Debug)]
pub(crate) struct WaitingCall {
    pub(crate) request: ApprovalRequest,
    /// The key that identical calls share.
    pub(crate) exact: ExactCall,
    /// Whether calls of its tool never change anything.
    pub(crate) read_only: bool,
    /// The complete new text of the file that it writes.
    pub(crate) proposed_text: Option<Arc<Vec<u8>>>,
    /// The permission that hooks gave it.
    pub(crate) permission: HookPermission,
    pub(crate) decide: oneshot::Sender<Decision>,
}

/// The waiting calls, in the order of their requests.
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    asked: u64,
    waiting: Vec<WaitingCall>,
    earlier: VecDeque<EarlierCall>,
    /// The exact calls that are allowed.
    pub(crate) exact: ExactCalls,
}

/// A call that has been judged.
#[derive(Debug)]
pub(crate) struct EarlierCall {
    /// The id of the call.
    pub(crate) id: String,
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

    pub(crate) fn iter(&self) -> impl Iterator<Item = &WaitingCall> {
        self.waiting.iter()
    }

    /// Remembers a judged call.
    pub(crate) fn note(&mut self, call: EarlierCall) {
        if self.earlier.len() == MAX_EARLIER {
            self.earlier.pop_front();
        }
        self.earlier.push_back(call);
    }

    /// The judged calls, oldest first.
    pub(crate) fn earlier(&self) -> impl Iterator<Item = &EarlierCall> {
        self.earlier.iter()
    }

    /// Forgets the earlier calls of the session, and the exact calls that it allows; returns whether there were any
    /// of the latter.
    pub(crate) fn end_session(&mut self) -> bool {
        self.earlier.clear();
        std::mem::take(&mut self.exact).rules_for_display().next().is_some()
    }

    pub(crate) fn take_all(&mut self) -> Vec<WaitingCall> {
        std::mem::take(&mut self.waiting)
    }
}
