//! Calls that the user has allowed for the session exactly as they are, and nothing else.
//!
//! Such a call runs without a question as long as no reason to ask is new: what it would touch may have
//! changed since.

use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

use tau_protocol::approval::{ApprovalReason, RuleScope};
use tau_protocol::rules::{ListedRule, Verdict};
use tau_tools::Access;
use tau_tools::paths::identity;

/// What makes a call the same one: its tool and what it touches, files as they are found; its arguments
/// where these say more.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExactCall {
    tool: String,
    access: Access,
    files: Vec<PathBuf>,
    arguments: Option<Value>,
}

impl ExactCall {
    pub(crate) fn new(tool: &str, access: &Access, arguments: &Value) -> Self {
        let files = access.writes.iter().chain(&access.reads).map(|path| identity(path)).collect::<Vec<_>>();
        let is_named = !access.commands.is_empty() || !files.is_empty();
        let says_all = is_named && !access.unknown && !access.program && access.network.is_empty();
        let arguments = (!says_all).then(|| arguments.clone());
        ExactCall { tool: tool.to_owned(), access: access.clone(), files, arguments }
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

/// The calls that were allowed, each with the reasons for which it was asked.
#[derive(Debug, Default)]
pub(crate) struct ExactCalls(Vec<(ExactCall, Vec<ApprovalReason>)>);

impl ExactCalls {
    /// Allows a call that was asked for these reasons.
    pub(crate) fn allow(&mut self, call: ExactCall, reasons: &[ApprovalReason]) {
        match self.0.iter_mut().find(|(known, _)| *known == call) {
            Some((_, known)) => known.extend(reasons.iter().cloned()),
            None => self.0.push((call, reasons.to_vec())),
        }
    }

    /// Whether a call is one of them, and is asked for no other reason.
    pub(crate) fn covers(&self, call: &ExactCall, reasons: &[ApprovalReason]) -> bool {
        let known = self.0.iter().find(|(known, _)| known == call);
        known.is_some_and(|(_, known)| reasons.iter().all(|reason| known.contains(reason)))
    }

    /// All of them, as the list of rules shows them.
    pub(crate) fn listed(&self) -> impl Iterator<Item = ListedRule> {
        self.0.iter().map(|(call, _)| ListedRule {
            list: Verdict::Allow,
            rule: call.to_string(),
            scope: RuleScope::Session,
            place: None,
            granted_by: None,
            in_force: true,
        })
    }

    /// Asks about a call again, as it was listed; whether there was one.
    pub(crate) fn forget(&mut self, listed: &ListedRule) -> bool {
        let before = self.0.len();
        self.0.retain(|(call, _)| call.to_string() != listed.rule);
        self.0.len() < before
    }
}
