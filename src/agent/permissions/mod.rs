//! Whether a call may run: allowed, asked or denied, and why.
//!
//! [`Permissions::judge`] is given what a call would touch and answers at once: it waits for nothing
//! and runs nothing. The only thing it reads is where symbolic links lead.

mod command_pattern;
mod judge;
mod path_pattern;
mod protected;
mod read_only;
mod rule;
mod shell;
mod suggest;
mod words_as_paths;

use std::path::{Path, PathBuf};

use crate::agent::protocol::approval::{ApprovalReason, PermissionMode};
use crate::tools::access::Access;
pub use judge::Finding;
pub use protected::Protected;
pub use rule::{InvalidRule, Rule};

use judge::Judge;
use path_pattern::Places;

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

impl Verdict {
    /// The name of the list of rules that leads to it, as in `config.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        }
    }
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

/// A rule in force, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleInForce {
    pub rule: Rule,
    /// The list it is in.
    pub list: Verdict,
    /// A file and a line, or `session`.
    pub source: String,
}

/// What is set besides the rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Protected paths that are not asked.
    pub unprotected: Vec<Protected>,
    /// The folders of tau's settings and sessions. Absolute.
    pub own: Vec<PathBuf>,
}

/// The rules in force.
#[derive(Clone, Debug, Default)]
pub struct Permissions {
    rules: Vec<RuleInForce>,
    options: Options,
}

impl Permissions {
    /// The rules of all files.
    pub fn new(rules: Vec<RuleInForce>, options: Options) -> Self {
        // Folders are compared as they are named and as they are found.
        let real = options.own.iter().map(|folder| crate::tools::paths::identity(folder));
        let own: Vec<PathBuf> = real.chain(options.own.iter().cloned()).collect();
        Permissions { rules, options: Options { own, ..options } }
    }

    /// The rules in force, in the order of their sources.
    pub fn rules(&self) -> &[RuleInForce] {
        &self.rules
    }

    /// What is set besides the rules.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What is done about a call.
    pub fn judge(&self, call: &CallFacts<'_>) -> Judgement {
        let findings = self.explain(call);
        let verdict = findings.iter().map(|finding| finding.verdict).max().unwrap_or_default();
        if verdict == Verdict::Allow {
            return Judgement::default();
        }
        let counting: Vec<&Finding> = findings.iter().filter(|finding| finding.verdict == verdict).collect();
        let mut reasons: Vec<ApprovalReason> = Vec::new();
        for finding in &counting {
            if !reasons.contains(&finding.reason) {
                reasons.push(finding.reason.clone());
            }
        }
        let first = counting.first().and_then(|finding| finding.suggestion.clone());
        let suggested = first.filter(|rule| {
            verdict == Verdict::Ask
                && counting.iter().all(|finding| finding.suggestion.as_ref() == Some(rule))
                && covers(rule, call.tool, call.access, call.cwd, call.home)
        });
        Judgement { verdict, reasons, suggested_rule: suggested.map(|rule| rule.to_string()) }
    }

    /// Every part of a call with its verdict, and the rule or the reason for it; at least one.
    pub fn explain(&self, call: &CallFacts<'_>) -> Vec<Finding> {
        let list = |list: Verdict| {
            let rules = self.rules.iter().filter(move |rule| rule.list == list);
            rules.map(|rule| &rule.rule).collect()
        };
        let judge = Judge {
            allow: list(Verdict::Allow),
            ask: list(Verdict::Ask),
            deny: list(Verdict::Deny),
            options: &self.options,
            places: Places::new(call.cwd, call.home),
            mode: call.mode,
        };
        judge.findings(call)
    }

    /// Lets what `rule` covers run until tau ends.
    pub fn allow_for_session(&mut self, rule: Rule) {
        self.add(RuleInForce { rule, list: Verdict::Allow, source: "session".to_owned() });
    }

    /// Adds a rule, as from a file that has been written.
    pub fn add(&mut self, rule: RuleInForce) {
        if !self.rules.contains(&rule) {
            self.rules.push(rule);
        }
    }

    /// Puts the rules and options of files in the place of those there were; those of the session stay.
    pub fn replace_files(&mut self, files: Permissions) {
        let session = self.rules.drain(..).filter(|rule| rule.source == "session").collect::<Vec<_>>();
        *self = files;
        session.into_iter().for_each(|rule| self.add(rule));
    }
}

/// Whether this rule alone would have let the call run, were it a rule that allows.
pub fn covers(rule: &Rule, tool: &str, access: &Access, cwd: &Path, home: Option<&Path>) -> bool {
    let mut alone = Permissions::default();
    alone.allow_for_session(rule.clone());
    let (mode, read_only, sandboxed) = (PermissionMode::Ask, false, false);
    let call = CallFacts { mode, tool, access, read_only, cwd, home, sandboxed };
    alone.explain(&call).iter().all(|finding| finding.verdict == Verdict::Allow)
}

#[cfg(test)]
mod tests;
