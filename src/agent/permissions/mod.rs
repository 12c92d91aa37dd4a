//! Decides whether a call may run: allowed, asked or denied, and why.
//!
//! [`Permissions::judge`] is given the access of a call and answers immediately: it waits for nothing and
//! runs nothing. From the disk it reads only targets of symbolic links, and names in folders that a pattern
//! or a rule is about; never the content of a file.

mod arguments;
mod command_pattern;
mod dangerous;
mod denied_files;
mod escapes;
mod file_filter;
mod file_rules;
mod folders;
pub(crate) mod grant;
mod host_pattern;
mod judge;
mod links;
mod operands;
mod options;
mod path_faults;
pub(crate) mod path_pattern;
mod path_text;
mod pattern_steps;
mod programs;
mod protected;
mod read_only;
mod rows_by_name;
mod rule;
mod shell;
mod strict;
mod subcommands;
mod suggest;
mod word_texts;
mod words_as_paths;
mod writers;

use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};

pub(crate) use file_filter::refusal;
pub use judge::Finding;
pub use protected::ProtectedKind;
pub use rule::Rule;
use tau_protocol::approval::{ApprovalReason, PermissionMode, RuleScope};
pub use tau_protocol::rules::Verdict;
use tau_protocol::rules::{BuiltInRule, ListedRule, PermissionRules};
use tau_tools::ToolKind;
use tau_tools::access::Access;

use judge::{Judge, SuggestFor};
use links::Moment;
use path_pattern::Places;

/// The reason why git, run by tau itself in this folder with a hardened environment
/// ([`tau_tools::process::git`]), may still run a program that the repository names: a filter, a merge driver. Git must
/// not look into submodules.
pub fn git_runs_programs(directory: &Path, home: Option<&Path>) -> Option<String> {
    read_only::objection_when_hardened(directory, home)
}

/// The maximum number of rules that are suggested for one call: more cannot be reviewed.
const MAX_SUGGESTED: usize = 6;

/// The facts about a call before it runs.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    pub mode: PermissionMode,
    /// The name of its tool.
    pub tool: &'a str,
    pub access: &'a Access,
    /// Whether calls of the tool never change anything.
    pub read_only: bool,
    /// The base of relative paths. Absolute.
    pub cwd: &'a Path,
    /// The value of `~`.
    pub home: Option<&'a Path>,
}

/// The decision on a call, and the reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// The reasons it is not allowed: at least one then, none otherwise.
    pub reasons: Vec<ApprovalReason>,
    /// Whether its commands are allowed only because they are known to be read-only: no rule allows them, and
    /// the user is not asked. They run confined.
    pub unasked: bool,
    /// Whether it would do something irreversible: then it does not run if no user can be asked.
    pub is_dangerous: bool,
}

/// A rule in force, and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleInForce {
    pub rule: Rule,
    pub list: Verdict,
    pub source: RuleSource,
}

/// The project settings of a single user.
pub const LOCAL: &str = "config.local.toml";

/// The source of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleSource {
    /// It was added in this session, and holds until the session ends.
    Session,
    /// It belongs to the prompt template or skill with this name, and holds until the end of the run.
    Granted(String),
    /// A line of a `config.toml`, from 1: the user's, or that of a project.
    File { path: PathBuf, line: usize, is_project: bool },
}

impl RuleSource {
    /// The scope of the rule.
    pub fn scope(&self) -> RuleScope {
        match self {
            RuleSource::Session | RuleSource::Granted(_) => RuleScope::Session,
            RuleSource::File { path, is_project: true, .. } if path.ends_with(LOCAL) => RuleScope::Local,
            RuleSource::File { is_project: true, .. } => RuleScope::Project,
            RuleSource::File { is_project: false, .. } => RuleScope::User,
        }
    }

    /// Whether the user made it: not a project, nor a skill or a prompt template.
    fn is_of_user(&self) -> bool {
        match self {
            RuleSource::Session => true,
            RuleSource::Granted(_) => false,
            RuleSource::File { is_project, .. } => !is_project,
        }
    }
}

impl fmt::Display for RuleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleSource::Session => f.write_str("session"),
            RuleSource::Granted(of) => write!(f, "granted by {of}"),
            RuleSource::File { path, line, .. } => write!(f, "{}:{line}", path.display()),
        }
    }
}

/// Options besides the rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Protected paths that need no approval.
    pub unprotected: Vec<ProtectedKind>,
    /// The folders of tau's settings and sessions. Absolute.
    pub own: Vec<PathBuf>,
    /// The folder of undo, with copies of files. Absolute.
    pub undo: Option<PathBuf>,
    /// Whether this machine cannot confine commands that run without approval.
    pub unconfined: bool,
}

/// The rules in force.
#[derive(Clone, Debug, Default)]
pub struct Permissions {
    rules: Vec<RuleInForce>,
    /// Rules of untrusted directories, which are not in force.
    untrusted: Vec<RuleInForce>,
    options: Options,
}

impl Permissions {
    /// Takes the rules of all files.
    pub fn new(rules: Vec<RuleInForce>, options: Options) -> Self {
        let (folders, options) = (options.own, Options { own: Vec::new(), ..options });
        let all = Permissions { rules, untrusted: Vec::new(), options };
        folders.into_iter().fold(all, Self::with_own_folder)
    }

    /// Adds a folder of tau's own files.
    pub fn with_own_folder(mut self, folder: PathBuf) -> Self {
        // Folders are compared by their given and their real path.
        self.options.own.extend([tau_tools::paths::identity(&folder), folder]);
        self
    }

    /// Adds the rules of untrusted directories: they are listed, but not in force.
    #[must_use]
    pub fn with_untrusted(mut self, rules: Vec<RuleInForce>) -> Self {
        self.untrusted = rules;
        self
    }

    /// The rules in force, in the order of their sources.
    pub fn rules(&self) -> &[RuleInForce] {
        &self.rules
    }

    /// Options besides the rules.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Files and directories with keys in the home directory, which commands that run without approval cannot
    /// read.
    pub(crate) fn secret_places(&self) -> Vec<PathBuf> {
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        home.map_or_else(Vec::new, |home| protected::secret_places(&home, &self.options.unprotected))
    }

    /// All rules for display, and the decisions without any rule.
    pub fn rules_for_display(&self) -> PermissionRules {
        let listed = |rule: &RuleInForce, in_force: bool| ListedRule {
            list: rule.list,
            rule: rule.rule.to_string(),
            scope: rule.source.scope(),
            place: match &rule.source {
                RuleSource::Session | RuleSource::Granted(_) => None,
                RuleSource::File { path, line, .. } => Some((path.clone(), *line)),
            },
            granted_by: match &rule.source {
                RuleSource::Granted(of) => Some(of.clone()),
                RuleSource::Session | RuleSource::File { .. } => None,
            },
            in_force,
        };
        let rules = self.rules.iter().map(|rule| listed(rule, true));
        let untrusted = self.untrusted.iter().map(|rule| listed(rule, false));
        PermissionRules { rules: rules.chain(untrusted).collect(), built_in: self.built_in_rules() }
    }

    fn built_in_rules(&self) -> Vec<BuiltInRule> {
        let protected = ProtectedKind::TABLE.iter().map(|(kind, name, what)| {
            let in_force = !self.options.unprotected.contains(kind);
            let help = match in_force {
                true => format!("asked in every mode; `unprotected = [\"{name}\"]` in config.toml ends that"),
                false => format!("not asked: `unprotected` in config.toml names \"{name}\""),
            };
            BuiltInRule { verdict: Verdict::Ask, about: (*what).to_owned(), help, in_force }
        });
        let reading = [
            BuiltInRule {
                verdict: Verdict::Allow,
                about: "tools that only read".to_owned(),
                help: "read, grep, find and ls run without a question".to_owned(),
                in_force: true,
            },
            BuiltInRule {
                verdict: Verdict::Allow,
                about: "commands known to only read".to_owned(),
                help: "such as ls, cat, grep and git status, without the options with which they write"
                    .to_owned(),
                in_force: true,
            },
        ];
        protected.chain(reading).collect()
    }

    /// Judges a call.
    pub fn judge(&self, call: &CallFacts<'_>) -> Judgement {
        let _moment = Moment::begin();
        let findings = self.explain_and(SuggestFor::Ranking, call);
        let verdict = findings.iter().map(|finding| finding.verdict).max().unwrap_or_default();
        let unasked = verdict == Verdict::Allow && findings.iter().all(|finding| finding.unasked);
        if verdict == Verdict::Allow && !unasked {
            return Judgement::default();
        }
        let mut ranked: Vec<&Finding> =
            findings.iter().filter(|finding| finding.verdict == verdict).collect();
        // There may be room for one reason: first what cannot be taken back, then rules and paths, then what no rule
        // for many commands is sound for, such as a removal.
        ranked.sort_by_key(|finding| {
            let is_special = finding.reason.rule.is_some() || finding.reason.path.is_some();
            (!finding.is_dangerous, !is_special, finding.suggestion.is_some())
        });
        let mut reasons: Vec<ApprovalReason> = Vec::new();
        for finding in ranked.iter().filter(|_| verdict != Verdict::Allow) {
            if !reasons.contains(&finding.reason) {
                reasons.push(finding.reason.clone());
            }
        }
        let is_dangerous = findings.iter().any(|finding| finding.is_dangerous);
        Judgement { verdict, reasons, unasked, is_dangerous }
    }

    /// The rules that together would allow calls like this one, which needs approval or is allowed because it is
    /// read-only; empty if there are no safe ones. Takes as long as judging the call.
    pub fn suggested_rules(&self, call: &CallFacts<'_>) -> Vec<String> {
        let _moment = Moment::begin();
        let findings = self.explain_and(SuggestFor::All, call);
        let verdict = findings.iter().map(|finding| finding.verdict).max().unwrap_or_default();
        let counts = |finding: &&Finding| finding.verdict == verdict;
        let counting: Vec<&Finding> = findings.iter().filter(counts).collect();
        match verdict {
            Verdict::Deny => Vec::new(),
            Verdict::Ask | Verdict::Allow => self.suggestions(&counting, call),
        }
    }

    /// The rules suggested by these parts of a call, each once, if with the rules in force they cover the call. Beside
    /// parts that suggest one, others are allowed exactly: also those that only read, where they are asked about beside
    /// what a rule allows.
    fn suggestions(&self, findings: &[&Finding], call: &CallFacts<'_>) -> Vec<String> {
        if findings.iter().all(|finding| finding.suggestion.is_none()) {
            return Vec::new();
        }
        let of = |finding: &Finding| finding.suggestion.clone().or_else(|| finding.exact.clone());
        let mut rules: Vec<Rule> = Vec::new();
        for rule in findings.iter().map(|finding| of(finding)) {
            match rule {
                Some(rule) if rules.contains(&rule) => {}
                Some(rule) => rules.push(rule),
                None => return Vec::new(),
            }
        }
        let allowed = self.rules.iter().filter(|known| known.list == Verdict::Allow);
        let known: Vec<&Rule> = allowed.map(|known| &known.rule).collect();
        let left = |rules: &[Rule]| {
            let all = known.iter().copied().chain(rules);
            remaining_findings(all, call.tool, call.access, call.cwd, call.home)
        };
        let first = left(&rules);
        let beside: Option<Vec<Rule>> = first.iter().map(of).collect();
        for rule in beside.unwrap_or_default() {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        let is_sound = rules.len() <= MAX_SUGGESTED && (first.is_empty() || left(&rules).is_empty());
        rules.iter().filter(|_| is_sound).map(Rule::to_string).collect()
    }

    /// Every part of a call with its verdict, and the rule or the reason for it; at least one.
    pub fn explain(&self, call: &CallFacts<'_>) -> Vec<Finding> {
        self.explain_and(SuggestFor::Asked, call)
    }

    fn explain_and(&self, suggest: SuggestFor, call: &CallFacts<'_>) -> Vec<Finding> {
        let _moment = Moment::begin();
        let list = |list: Verdict| {
            let rules = self.rules.iter().filter(move |rule| rule.list == list);
            rules.map(|rule| &rule.rule).collect()
        };
        let of_user =
            self.rules.iter().filter(|rule| rule.list == Verdict::Allow && rule.source.is_of_user());
        let judge = Judge {
            allow: list(Verdict::Allow),
            allow_of_user: of_user.map(|rule| &rule.rule).collect(),
            ask: list(Verdict::Ask),
            deny: list(Verdict::Deny),
            options: &self.options,
            places: Places::new(call.cwd, call.home),
            mode: call.mode,
            suggest,
            protected_texts: RefCell::default(),
            entries_seen: folders::EntriesSeen::default(),
            depth: std::cell::Cell::default(),
        };
        judge.findings(call)
    }

    /// Allows calls that `rule` covers until the session ends.
    pub fn allow_for_session(&mut self, rule: Rule) {
        self.add(RuleInForce { rule, list: Verdict::Allow, source: RuleSource::Session });
    }

    /// Adds a rule, for example from a file that was written.
    pub fn add(&mut self, rule: RuleInForce) {
        if !self.rules.contains(&rule) {
            self.rules.push(rule);
        }
    }

    /// Removes a rule, for example after its file was written.
    pub fn remove(&mut self, rule: &RuleInForce) {
        self.rules.retain(|known| known != rule);
    }

    /// Removes the rules that were added in the session; returns whether there were any.
    pub(crate) fn end_session(&mut self) -> bool {
        let before = self.rules.len();
        self.rules.retain(|rule| rule.source != RuleSource::Session);
        self.rules.len() < before
    }

    /// Adds a rule that holds until [`Permissions::end_grants`]; `of` is the prompt or skill it comes from.
    pub(crate) fn grant(&mut self, rule: Rule, list: Verdict, of: &str) {
        self.add(RuleInForce { rule, list, source: RuleSource::Granted(of.to_owned()) });
    }

    /// Removes the rules granted by prompts and skills; returns whether there were any.
    pub(crate) fn end_grants(&mut self) -> bool {
        let before = self.rules.len();
        self.rules.retain(|rule| !matches!(rule.source, RuleSource::Granted(_)));
        self.rules.len() < before
    }

    /// Replaces the rules and options of files; those of the session stay.
    pub fn replace_files(&mut self, files: Permissions) {
        let stays = |rule: &RuleInForce| match rule.source {
            RuleSource::Session | RuleSource::Granted(_) => true,
            RuleSource::File { .. } => false,
        };
        let session = self.rules.drain(..).filter(stays).collect::<Vec<_>>();
        *self = files;
        session.into_iter().for_each(|rule| self.add(rule));
    }
}

/// Whether a command is known to change nothing, independent of the rules.
pub(crate) fn only_reads(command: &str, cwd: &Path) -> bool {
    let (home, access) = (std::env::home_dir(), Access::command(command));
    let (mode, tool, read_only) = (PermissionMode::Plan, "bash", false);
    let facts = CallFacts { mode, tool, access: &access, read_only, cwd, home: home.as_deref() };
    Permissions::default().judge(&facts).unasked
}

/// Whether this rule alone would have allowed the call, if it were an allow rule.
pub fn covers(rule: &Rule, tool: &str, access: &Access, cwd: &Path, home: Option<&Path>) -> bool {
    remaining_findings(std::iter::once(rule), tool, access, cwd, home).is_empty()
}

/// Whether this rule, if it were an allow rule, would have allowed a part of the call.
pub(crate) fn covers_part(rule: &Rule, tool: &str, access: &Access, cwd: &Path, home: Option<&Path>) -> bool {
    let left = |rules: &[&Rule]| remaining_findings(rules.iter().copied(), tool, access, cwd, home).len();
    left(&[rule]) < left(&[])
}

/// Whether a rule may be about a part of the call; also where that cannot be told, as with a command that is not known
/// before it runs. A rule of files is not about commands here.
pub(crate) fn can_concern(
    rule: &Rule,
    tool: &str,
    access: Option<&Access>,
    cwd: &Path,
    home: Option<&Path>,
) -> bool {
    let Some(access) = access.filter(|_| ToolKind::of(tool) != ToolKind::Command || rule.names_tool(tool))
    else {
        return rule.names_tool(tool);
    };
    let (mode, read_only) = (PermissionMode::Auto, false);
    let call = CallFacts { mode, tool, access, read_only, cwd, home };
    let limits = |rules: Vec<RuleInForce>| {
        let findings = Permissions::new(rules, Options::default()).explain(&call);
        findings.iter().filter(|finding| finding.verdict != Verdict::Allow).count()
    };
    let alone = RuleInForce { rule: rule.clone(), list: Verdict::Deny, source: RuleSource::Session };
    decides(Verdict::Deny, rule, tool, access, cwd, home) || limits(vec![alone]) > limits(Vec::new())
}

/// The parts of the call that these rules alone would not have allowed.
fn remaining_findings<'a>(
    rules: impl Iterator<Item = &'a Rule>,
    tool: &str,
    access: &Access,
    cwd: &Path,
    home: Option<&Path>,
) -> Vec<Finding> {
    let mut alone = Permissions::default();
    rules.for_each(|rule| alone.allow_for_session(rule.clone()));
    let (mode, read_only) = (PermissionMode::Ask, false);
    let call = CallFacts { mode, tool, access, read_only, cwd, home };
    let mut findings = alone.explain(&call);
    findings.retain(|finding| finding.verdict != Verdict::Allow);
    findings
}

/// Whether a rule in this list decides on the call: it allows a call that would otherwise need approval, or
/// it is the reason the call is asked about or denied.
pub fn decides(
    list: Verdict,
    rule: &Rule,
    tool: &str,
    access: &Access,
    cwd: &Path,
    home: Option<&Path>,
) -> bool {
    let (mode, read_only) = (PermissionMode::Ask, false);
    let call = CallFacts { mode, tool, access, read_only, cwd, home };
    if list == Verdict::Allow {
        let is_asked = Permissions::default().judge(&call).verdict != Verdict::Allow;
        return is_asked && covers(rule, tool, access, cwd, home);
    }
    let alone = RuleInForce { rule: rule.clone(), list, source: RuleSource::Session };
    let findings = Permissions::new(vec![alone], Options::default()).explain(&call);
    let text = rule.to_string();
    findings.iter().any(|finding| finding.verdict == list && finding.reason.rule.as_deref() == Some(&*text))
}

#[cfg(test)]
mod path_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod unasked_tests;
