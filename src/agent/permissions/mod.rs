//! Whether a call may run: allowed, asked or denied, and why.
//!
//! [`Permissions::judge`] is given what a call would touch and answers at once: it waits for nothing
//! and runs nothing. The only thing it reads is where symbolic links lead.

mod rule;

use std::path::Path;

use crate::agent::protocol::approval::{ApprovalReason, PermissionMode};
use crate::tools::access::Access;
pub use rule::{InvalidRule, Rule};

/// What is done about a call, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It runs.
    #[default]
    Allow,
    /// The user decides.
    Ask,
    /// It does not run.
    Deny,
}

/// What is known of a call before it runs.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    pub mode: PermissionMode,
    /// The name of its tool.
    pub tool: &'a str,
    pub access: &'a Access,
    /// Whether calls of the tool never change anything.
    pub read_only: bool,
    /// Relative paths begin here. Absolute.
    pub cwd: &'a Path,
    /// What `~` means.
    pub home: Option<&'a Path>,
    /// Whether a sandbox confines the call to the workspace.
    pub sandboxed: bool,
}

/// What is done about a call, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// Why it is not allowed: at least one reason then, none otherwise.
    pub reasons: Vec<ApprovalReason>,
    /// The rule that would allow calls like this one; `None` if there is no sound one.
    pub suggested_rule: Option<String>,
}

/// The rules in force.
#[derive(Clone, Debug, Default)]
pub struct Permissions {
    session: Vec<Rule>,
}

impl Permissions {
    /// What is done about a call.
    pub fn judge(&self, call: &CallFacts<'_>) -> Judgement {
        let free = call.mode == PermissionMode::Auto
            || call.read_only && call.access.only_reads()
            || self.session.iter().any(|rule| covers(rule, call.tool, call.access, call.cwd, call.home));
        if free {
            return Judgement::default();
        }
        let (verdict, text) = match call.mode {
            PermissionMode::Plan => (Verdict::Deny, "plan mode: nothing is changed"),
            PermissionMode::Auto | PermissionMode::Ask => (Verdict::Ask, "it may change something"),
        };
        let reason = ApprovalReason { text: text.to_owned(), ..ApprovalReason::default() };
        Judgement { verdict, reasons: vec![reason], suggested_rule: None }
    }

    /// Lets what `rule` covers run until tau ends.
    pub fn allow_for_session(&mut self, rule: Rule) {
        if !self.session.contains(&rule) {
            self.session.push(rule);
        }
    }
}

/// Whether this rule alone would have let the call run, were it a rule that allows.
pub fn covers(rule: &Rule, tool: &str, _access: &Access, _cwd: &Path, _home: Option<&Path>) -> bool {
    rule.is_bare() && rule.tool() == tool
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_says_what_is_asked() {
        let (read, write) = (Access::read("/w/a"), Access::change("/w/a"));
        let judged = |mode, access: &Access, read_only| {
            let (cwd, home) = (Path::new("/w"), None);
            let call = CallFacts { mode, tool: "edit", access, read_only, cwd, home, sandboxed: false };
            Permissions::default().judge(&call).verdict
        };
        assert_eq!(judged(PermissionMode::Auto, &write, false), Verdict::Allow);
        assert_eq!(judged(PermissionMode::Ask, &write, false), Verdict::Ask);
        assert_eq!(judged(PermissionMode::Plan, &write, false), Verdict::Deny);
        assert_eq!(judged(PermissionMode::Ask, &read, true), Verdict::Allow);
        assert_eq!(judged(PermissionMode::Plan, &read, true), Verdict::Allow);
    }
}
