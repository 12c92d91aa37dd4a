//! Exact calls that the user has allowed for the session.
//!
//! Such a call runs without a question as long as there is no new reason to ask: the state of its targets may
//! have changed since.

use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

use tau_protocol::approval::{ApprovalReason, RuleScope};
use tau_protocol::rules::{ListedRule, Verdict};
use tau_tools::Access;
use tau_tools::paths::identity;

/// The identity of a call: its tool and everything it touches, files by their real path; its arguments where
/// these say more. All calls that only change the same files are one, whichever tool they use.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExactCall {
    tool: String,
    access: Access,
    files: Vec<PathBuf>,
    arguments: Option<Value>,
}

impl ExactCall {
    pub(crate) fn new(tool: &str, access: &Access, arguments: &Value) -> Self {
        let Access { commands, writes, reads, .. } = access;
        let is_named = !commands.is_empty() || !writes.is_empty() || !reads.is_empty();
        let says_all = is_named && !access.unknown && !access.program && access.network.is_empty();
        let changes = says_all && commands.is_empty() && !writes.is_empty();
        let (tool, access) = match changes && reads.iter().all(|path| writes.contains(path)) {
            true => ("edit", Access { writes: writes.clone(), ..Access::default() }),
            false => (tool, access.clone()),
        };
        let files = access.writes.iter().chain(&access.reads).map(|path| identity(path)).collect();
        let arguments = (!says_all).then(|| arguments.clone());
        ExactCall { tool: tool.to_owned(), access, files, arguments }
    }
}

impl fmt::Display for ExactCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Access { commands, writes, reads, .. } = &self.access;
        let of = match &self.arguments {
            Some(arguments) => arguments.to_string(),
            None if commands.is_empty() => {
                let paths = if writes.is_empty() { reads } else { writes };
                paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
            }
            None => commands.join("; "),
        };
        write!(f, "{}, exactly: {of}", self.tool)
    }
}

/// The allowed calls, each with the reasons it was asked for.
#[derive(Debug, Default)]
pub(crate) struct ExactCalls(Vec<(ExactCall, Vec<ApprovalReason>)>);

impl ExactCalls {
    /// Allows a call that was asked about for these reasons.
    pub(crate) fn allow(&mut self, call: ExactCall, reasons: &[ApprovalReason]) {
        match self.0.iter_mut().find(|(known, _)| *known == call) {
            Some((_, known)) => known.extend(reasons.iter().cloned()),
            None => self.0.push((call, reasons.to_vec())),
        }
    }

    /// Whether a call is allowed, and has no new reason to ask.
    pub(crate) fn covers(&self, call: &ExactCall, reasons: &[ApprovalReason]) -> bool {
        let known = self.0.iter().find(|(known, _)| known == call);
        known.is_some_and(|(_, known)| reasons.iter().all(|reason| known.contains(reason)))
    }

    /// All of them, for the list of rules.
    pub(crate) fn rules_for_display(&self) -> impl Iterator<Item = ListedRule> {
        self.0.iter().map(|(call, _)| ListedRule {
            list: Verdict::Allow,
            rule: call.to_string(),
            scope: RuleScope::Session,
            place: None,
            granted_by: None,
            in_force: true,
        })
    }

    /// Forgets a listed call, so that it is asked about again; returns whether there was one.
    pub(crate) fn forget(&mut self, listed: &ListedRule) -> bool {
        let before = self.0.len();
        self.0.retain(|(call, _)| call.to_string() != listed.rule);
        self.0.len() < before
    }
}
