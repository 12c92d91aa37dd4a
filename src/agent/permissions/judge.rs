//! The judge: what the rules, the built-in lists and the mode say of a call, part by part.

use std::path::{Path, PathBuf};

use super::path_pattern::{JudgedPath, Places};
use super::protected::{Protected, Use, named_in, perhaps_protected, protected};
use super::rule::{Pattern, Rule};
use super::shell::{self, Analysis, Direction, Doubt, Part};
use super::words_as_paths::{Directories, Named, named_paths};
use super::{CallFacts, Options, Verdict, command_pattern, read_only, suggest};
use crate::agent::protocol::approval::{ApprovalReason, PermissionMode};
use crate::tools::access::Access;

/// Rules of one kind with their sources, and what is switched off.
pub(super) struct Judge<'a> {
    pub allow: Vec<&'a Rule>,
    pub ask: Vec<&'a Rule>,
    pub deny: Vec<&'a Rule>,
    pub options: &'a Options,
    pub places: Places,
    pub mode: PermissionMode,
}

/// What was found of one part of a call.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What is done about it.
    pub verdict: Verdict,
    /// Why: a rule, a protected path, what it may do; or why it is allowed.
    pub reason: ApprovalReason,
    /// The part itself, as it is written.
    pub part: String,
    /// The rule that would allow it.
    pub(super) suggestion: Option<Rule>,
}

impl Judge<'_> {
    /// Every part of a call with its verdict; at least one.
    pub(super) fn findings(&self, call: &CallFacts<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        let Access { reads, writes, commands, network, unknown, program: _ } = call.access;
        for (rules, verdict, what) in
            [(&self.deny, Verdict::Deny, "denies"), (&self.ask, Verdict::Ask, "asks for")]
        {
            let found = rules.iter().find(|rule| rule.is_bare() && self.is_about(rule, call));
            findings
                .extend(found.map(|rule| of_rule(verdict, &format!("a rule {what} {}", call.tool), rule)));
        }
        for command in commands {
            self.command(command, call, &mut findings);
        }
        for path in writes {
            self.file(path, Use::Write, call, &mut findings);
        }
        for path in reads.iter().filter(|path| !writes.contains(path)) {
            self.file(path, Use::Read, call, &mut findings);
        }
        let only_contacts = commands.is_empty() && writes.is_empty() && !unknown;
        if only_contacts {
            network.iter().for_each(|host| self.host(host, call, &mut findings));
        }
        let is_free = call.read_only && commands.is_empty() && writes.is_empty();
        let is_hidden = *unknown && !is_free || !network.is_empty() && !only_contacts;
        if is_hidden || findings.is_empty() && !call.read_only && !call.access.only_reads() {
            findings.push(self.opaque(call));
        }
        if findings.is_empty() {
            findings.push(allowed("it only reads", call.tool));
        }
        findings
    }

    /// Whether a rule without a pattern is about this call.
    fn is_about(&self, rule: &Rule, call: &CallFacts<'_>) -> bool {
        rule.names_tool(call.tool) || rule.tool() == "edit" && call.tool == "write"
    }

    /// The rule that allows every call of this tool. None does in plan mode.
    fn allowing_all(&self, call: &CallFacts<'_>) -> Option<&Rule> {
        let rules = if self.mode == PermissionMode::Plan { &[] } else { self.allow.as_slice() };
        rules.iter().find(|rule| rule.is_bare() && self.is_about(rule, call)).copied()
    }

    /// A call of which nothing is known but its tool.
    fn opaque(&self, call: &CallFacts<'_>) -> Finding {
        if let Some(rule) = self.allowing_all(call) {
            return of_rule(Verdict::Allow, "a rule allows it", rule);
        }
        let text = match call.access.network.first() {
            Some(host) => format!("it contacts {host}"),
            None => format!("{} may change something", call.tool),
        };
        Finding { suggestion: call.tool.parse().ok(), ..self.by_mode(text, call.tool) }
    }

    /// What is said of a host that a call contacts, and does nothing else.
    fn host(&self, host: &str, call: &CallFacts<'_>, findings: &mut Vec<Finding>) {
        let is_about = |rule: &&&Rule| {
            rule.names_tool(call.tool)
                && matches!(rule.pattern(), Pattern::Host(pattern) if pattern.matches(host))
        };
        for (rules, verdict, what) in
            [(&self.deny, Verdict::Deny, "denies"), (&self.ask, Verdict::Ask, "asks for")]
        {
            let found = rules
                .iter()
                .find(is_about)
                .map(|rule| of_rule(verdict, &format!("a rule {what} {host}"), rule));
            findings.extend(found.map(|finding| Finding { part: host.to_owned(), ..finding }));
        }
        // In plan mode a rule may allow what changes nothing.
        let allows = |rule: &&&Rule| is_about(rule) || rule.is_bare() && rule.names_tool(call.tool);
        let may_allow = call.read_only || self.mode != PermissionMode::Plan;
        if let Some(rule) = self.allow.iter().find(|rule| may_allow && allows(rule)) {
            let finding = of_rule(Verdict::Allow, "a rule allows it", rule);
            findings.push(Finding { part: host.to_owned(), ..finding });
            return;
        }
        let mut finding = match (call.read_only, self.mode) {
            // It changes nothing, so plan mode asks as well.
            (true, PermissionMode::Plan | PermissionMode::Ask) => {
                by_mode(PermissionMode::Ask, format!("no rule allows {host}"), host)
            }
            (true, PermissionMode::Auto) | (false, _) => self.by_mode(format!("it contacts {host}"), host),
        };
        if finding.verdict == Verdict::Ask {
            finding.suggestion = suggest::for_host(call.tool, host);
        }
        findings.push(finding);
    }

    /// What the mode says of something that may change something.
    fn by_mode(&self, text: String, part: &str) -> Finding {
        by_mode(self.mode, text, part)
    }

    /// What is said of a file that a tool touches.
    fn file(&self, path: &Path, is_used: Use, call: &CallFacts<'_>, findings: &mut Vec<Finding>) {
        let judged = JudgedPath::new(path);
        let before = findings.len();
        self.strict_about(&judged, is_used, Some(call.tool), findings);
        let shown = self.shown(path);
        for finding in findings.iter_mut().skip(before) {
            finding.part.clone_from(&shown);
        }
        if is_used == Use::Read {
            if before == findings.len() {
                findings.push(Finding { part: shown, ..allowed("reading is free", "") });
            }
            return;
        }
        if let Some(rule) = self.allowing_all(call).or_else(|| self.allows_write(&judged, Some(call.tool))) {
            let finding = of_rule(Verdict::Allow, "a rule allows it", rule);
            findings.push(Finding { part: shown, ..finding });
            return;
        }
        let mut finding = self.by_mode(format!("{} changes {shown}", call.tool), &shown);
        finding.reason.path = Some(path.to_owned());
        if finding.verdict == Verdict::Ask {
            finding.suggestion = suggest::for_file(&judged, &self.places);
        }
        findings.push(finding);
    }

    /// A path as people know it.
    fn shown(&self, path: &Path) -> String {
        let rest = path.strip_prefix(&self.places.workspace.plain).unwrap_or(path);
        rest.display().to_string()
    }

    /// Rules that deny or ask for a path, and protected paths.
    fn strict_about(&self, path: &JudgedPath, is_used: Use, tool: Option<&str>, findings: &mut Vec<Finding>) {
        self.ruled(path, is_used, tool, findings);
        self.kept(path, is_used, findings);
    }

    /// Rules that deny or ask for a path.
    fn ruled(&self, path: &JudgedPath, is_used: Use, tool: Option<&str>, findings: &mut Vec<Finding>) {
        for (rules, verdict, what) in
            [(&self.deny, Verdict::Deny, "denies"), (&self.ask, Verdict::Ask, "asks for")]
        {
            let found = rules.iter().find(|rule| match rule.pattern() {
                Pattern::Path(pattern) => {
                    governs(rule, is_used, tool) && pattern.concerns(path, &self.places)
                }
                Pattern::All => tool.is_none() && governs(rule, is_used, None),
                Pattern::Command(_) | Pattern::Host(_) => false,
            });
            if let Some(rule) = found {
                let mut finding =
                    of_rule(verdict, &format!("a rule {what} {}", self.shown(&path.plain)), rule);
                finding.reason.path = Some(path.plain.clone());
                findings.push(finding);
            }
        }
    }

    /// Protected paths.
    fn kept(&self, path: &JudgedPath, is_used: Use, findings: &mut Vec<Finding>) {
        if let Some(kind) = protected(path, &self.places, &self.options.own, is_used) {
            findings.extend(self.protected(kind, path.plain.clone()));
        }
    }

    fn protected(&self, kind: Protected, path: PathBuf) -> Option<Finding> {
        if self.options.unprotected.contains(&kind) {
            return None;
        }
        let text = format!("{} is protected: {}", self.shown(&path), kind.what());
        let reason = ApprovalReason { text, path: Some(path), ..ApprovalReason::default() };
        let part = reason.path.as_ref().map(|path| self.shown(path)).unwrap_or_default();
        Some(Finding { verdict: Verdict::Ask, reason, part, suggestion: None })
    }

    /// The rule that allows writing a path.
    fn allows_write(&self, path: &JudgedPath, tool: Option<&str>) -> Option<&Rule> {
        let allows = |rule: &&&Rule| match rule.pattern() {
            Pattern::Path(pattern) => governs(rule, Use::Write, tool) && pattern.allows(path, &self.places),
            Pattern::All => tool.is_none() && governs(rule, Use::Write, None),
            Pattern::Command(_) | Pattern::Host(_) => false,
        };
        let rules = if self.mode == PermissionMode::Plan { &[] } else { self.allow.as_slice() };
        rules.iter().find(allows).copied()
    }

    /// What is said of a command of the shell.
    fn command(&self, command: &str, call: &CallFacts<'_>, findings: &mut Vec<Finding>) {
        let analysis = shell::analyse(command);
        let directories = Directories::of(&analysis, &self.places);
        let bare = self.allowing_all(call);
        let start = findings.len();
        for part in &analysis.parts {
            let before = findings.len();
            let within = |doubt: &Doubt| doubt.span.start < part.span.end && part.span.start < doubt.span.end;
            let is_doubted = analysis.doubts.iter().any(within);
            self.part(part, bare, is_doubted, &directories, findings);
            let text = command.get(part.span.clone()).unwrap_or_default();
            for finding in findings.iter_mut().skip(before) {
                finding.part = text.to_owned();
                finding.reason.span.get_or_insert((part.span.start, part.span.end));
            }
        }
        self.doubts(command, &analysis, bare, findings);
        if findings.len() == start {
            findings.push(allowed("it runs nothing", command));
        }
    }

    fn doubts(&self, command: &str, analysis: &Analysis, bare: Option<&Rule>, findings: &mut Vec<Finding>) {
        if analysis.doubts.is_empty() {
            return;
        }
        // What was not understood may name a protected path.
        if let Some(kind) = named_in(command, &self.places, &self.options.own)
            && !findings.iter().any(|finding| finding.verdict > Verdict::Allow)
        {
            let finding = self.protected(kind, PathBuf::new());
            findings.extend(finding.map(|mut finding| {
                finding.reason.text = format!("it may touch {}", kind.what());
                finding.reason.path = None;
                finding
            }));
        }
        for Doubt { span, text } in analysis.doubts.iter().take(8) {
            let finding = self.doubted(text, bare);
            let part = command.get(span.clone()).unwrap_or_default().to_owned();
            let reason = ApprovalReason { span: Some((span.start, span.end)), ..finding.reason };
            findings.push(Finding { part, reason, ..finding });
        }
    }

    /// What is said of something that may run anything: it is asked as soon as there is a rule that it may
    /// be about.
    fn doubted(&self, text: &str, bare: Option<&Rule>) -> Finding {
        let strict = self.deny.iter().chain(&self.ask).any(|rule| !rule.tool().starts_with("mcp__"));
        match (self.mode, bare) {
            (PermissionMode::Plan, _) => self.by_mode(text.to_owned(), ""),
            (_, Some(rule)) if !strict => of_rule(Verdict::Allow, "a rule allows all commands", rule),
            (PermissionMode::Auto, None) if !strict => self.by_mode(String::new(), ""),
            _ => Finding {
                verdict: Verdict::Ask,
                reason: ApprovalReason { text: text.to_owned(), ..ApprovalReason::default() },
                part: String::new(),
                suggestion: None,
            },
        }
    }

    /// What is said of a simple command.
    fn part(
        &self,
        part: &Part,
        bare: Option<&Rule>,
        is_doubted: bool,
        directories: &Directories,
        findings: &mut Vec<Finding>,
    ) {
        let before = findings.len();
        self.strict_about_words(part, findings);
        let objection = read_only::objection(part);
        let is_used = if objection.is_none() { Use::Read } else { Use::Write };
        for named in named_paths(part, is_used, directories, &self.places) {
            match named {
                Named::Path { path, is_used, counts } => {
                    self.ruled(&path, is_used, None, findings);
                    if counts {
                        self.kept(&path, is_used, findings);
                    }
                }
                Named::Half(text, is_used) => {
                    if let Some(kind) = perhaps_protected(&text, is_used) {
                        findings.extend(self.protected(kind, PathBuf::from(text)));
                    }
                }
            }
        }
        self.redirects(part, bare, directories, findings);
        let name =
            part.words.first().and_then(crate::agent::permissions::shell::Word::literal).unwrap_or_default();
        let Some(why) = objection else {
            if before == findings.len() {
                findings.push(allowed("it only reads", ""));
            }
            return;
        };
        if is_doubted {
            // The doubt says it better.
            return;
        }
        if read_only::evaluates(part) {
            findings.push(self.doubted(&why, bare));
            return;
        }
        let allowing =
            if self.mode == PermissionMode::Plan { None } else { bare.or_else(|| self.allowing(part)) };
        if let Some(rule) = allowing {
            findings.push(of_rule(Verdict::Allow, "a rule allows it", rule));
            return;
        }
        let mut finding = self.by_mode(why, &name);
        if finding.verdict == Verdict::Ask {
            finding.suggestion = suggest::for_command(part);
        }
        findings.push(finding);
    }

    /// Rules of commands that deny or ask for a part.
    fn strict_about_words(&self, part: &Part, findings: &mut Vec<Finding>) {
        if part.words.is_empty() {
            return;
        }
        for (rules, verdict, what) in
            [(&self.deny, Verdict::Deny, "denies"), (&self.ask, Verdict::Ask, "asks for")]
        {
            for rule in rules {
                let Pattern::Command(pattern) = rule.pattern() else { continue };
                let found = suggest::forms(part)
                    .iter()
                    .map(|words| pattern.may_match(words, part.more_arguments))
                    .max();
                match found {
                    Some(command_pattern::Match::Yes) => {
                        findings.push(of_rule(verdict, &format!("a rule {what} it"), rule));
                    }
                    Some(command_pattern::Match::Perhaps) => {
                        findings.push(of_rule(Verdict::Ask, &format!("it may be what a rule {what}"), rule));
                    }
                    Some(command_pattern::Match::No) | None => {}
                }
            }
        }
    }

    /// The rule that allows a part, or all of what runs it.
    fn allowing(&self, part: &Part) -> Option<&Rule> {
        if part.assigned.iter().any(|name| !read_only::is_harmless_variable(name)) || part.words.is_empty() {
            return None;
        }
        let allows = |rule: &&&Rule| {
            let Pattern::Command(pattern) = rule.pattern() else { return false };
            let of_outer = |(words, start): &(Vec<shell::Word>, usize)| {
                pattern.named() > *start && pattern.matches(words)
            };
            pattern.matches(&part.words) || part.outer.iter().any(of_outer)
        };
        self.allow.iter().find(allows).copied()
    }

    fn redirects(
        &self,
        part: &Part,
        bare: Option<&Rule>,
        directories: &Directories,
        findings: &mut Vec<Finding>,
    ) {
        for redirect in &part.redirects {
            let is_used = match redirect.direction {
                Direction::Read => Use::Read,
                Direction::Write => Use::Write,
            };
            let span = Some((redirect.target.span.start, redirect.target.span.end));
            let before = findings.len();
            let paths = directories.paths_of(&redirect.target, part.elsewhere, &self.places);
            match paths.as_deref() {
                Some(paths) => {
                    if paths.iter().all(|path| is_sink(&path.plain)) {
                        continue;
                    }
                    paths.iter().for_each(|path| self.strict_about(path, is_used, None, findings));
                    let rules: Option<Vec<&Rule>> =
                        paths.iter().map(|path| self.allows_write(path, None)).collect();
                    if is_used == Use::Write {
                        let allowing = bare.or_else(|| rules.and_then(|rules| rules.first().copied()));
                        let path = paths.first().map(|path| path.plain.clone()).unwrap_or_default();
                        let mut finding = match allowing {
                            Some(rule) => of_rule(Verdict::Allow, "a rule allows writing there", rule),
                            None => self.by_mode(format!("it writes {}", self.shown(&path)), ""),
                        };
                        if finding.verdict == Verdict::Ask && paths.len() == 1 {
                            finding.suggestion =
                                paths.first().and_then(|path| suggest::for_file(path, &self.places));
                        }
                        finding.reason.path = Some(path);
                        findings.push(finding);
                    }
                }
                None => {
                    let half = directories.half(&redirect.target, &self.places);
                    if let Some(kind) = perhaps_protected(&half, is_used) {
                        findings.extend(self.protected(kind, PathBuf::from(half)));
                    }
                    if is_used == Use::Write {
                        let strict =
                            self.deny.iter().chain(&self.ask).any(|rule| governs(rule, Use::Write, None));
                        let mut finding =
                            self.by_mode("it writes a file that is not known beforehand".to_owned(), "");
                        if strict && finding.verdict == Verdict::Allow {
                            finding.verdict = Verdict::Ask;
                            finding.reason.text = "it writes a file that is not known beforehand".to_owned();
                        }
                        findings.push(finding);
                    }
                }
            }
            findings.iter_mut().skip(before).for_each(|finding| finding.reason.span = span);
        }
    }
}

/// What a mode says of something that is not free.
fn by_mode(mode: PermissionMode, text: String, part: &str) -> Finding {
    let (verdict, text) = match mode {
        PermissionMode::Auto => (Verdict::Allow, "the mode auto allows it".to_owned()),
        PermissionMode::Ask => (Verdict::Ask, text),
        PermissionMode::Plan => (Verdict::Deny, format!("plan mode: {text}")),
    };
    let reason = ApprovalReason { text, ..ApprovalReason::default() };
    Finding { verdict, reason, part: part.to_owned(), suggestion: None }
}

/// Whether what is written there is lost or shown.
fn is_sink(path: &Path) -> bool {
    const SINKS: [&str; 6] =
        ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/stdin", "/dev/zero"];
    SINKS.iter().any(|sink| path == Path::new(sink)) || path.starts_with("/dev/fd")
}

/// Whether a rule of files is about such a use; `tool` is the tool whose call it is.
fn governs(rule: &Rule, is_used: Use, tool: Option<&str>) -> bool {
    let own = tool.is_some_and(|tool| rule.names_tool(tool));
    match is_used {
        Use::Read => own || rule.tool() == "read",
        Use::Write => own || rule.tool() == "edit" || rule.tool() == "write" && tool.is_none(),
    }
}

fn of_rule(verdict: Verdict, text: &str, rule: &Rule) -> Finding {
    let reason =
        ApprovalReason { text: text.to_owned(), rule: Some(rule.to_string()), ..ApprovalReason::default() };
    Finding { verdict, reason, part: String::new(), suggestion: None }
}

fn allowed(text: &str, part: &str) -> Finding {
    let reason = ApprovalReason { text: text.to_owned(), ..ApprovalReason::default() };
    Finding { verdict: Verdict::Allow, reason, part: part.to_owned(), suggestion: None }
}
