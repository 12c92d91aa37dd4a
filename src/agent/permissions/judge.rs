//! Judges a call part by part by rules, built-in lists and the mode.

mod argument;
mod devices;
mod fed;
pub(super) mod files;
mod found;
mod home_files;
mod listings;
mod texts;
mod unknown;
mod unnamed;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::command_pattern::Match;
use super::folders::EntriesSeen;
use super::links;
use super::path_pattern::Places;
use super::path_text::PathText;
use super::protected::{ProtectedKind, Use, kind_in_text};
use super::rule::{Pattern, Rule};
use super::shell::{self, Analysis, Doubt, Part};
use super::words_as_paths::{PathMention, Scene};
use super::{CallFacts, Options, Verdict, arguments, read_only, strict, suggest};
use tau_protocol::approval::{ApprovalReason, PermissionMode};
use tau_tools::ToolKind;
use tau_tools::access::Access;

/// The maximum number of substitutions that are judged one by one.
const MAX_SUBSTITUTED: usize = 20;
/// The maximum number of pieces of a command without a structure.
const MAX_PIECES: usize = 100;
/// The maximum nesting of such texts.
const MAX_DEPTH: usize = 2;

/// The rules with their sources by kind, and the options.
pub(super) struct Judge<'a> {
    pub allow: Vec<&'a Rule>,
    /// The user's own among them: only they allow what cannot be undone.
    pub allow_of_user: Vec<&'a Rule>,
    pub ask: Vec<&'a Rule>,
    pub deny: Vec<&'a Rule>,
    pub options: &'a Options,
    pub places: Places,
    pub mode: PermissionMode,
    pub suggest: SuggestFor,
    /// The protected places that texts may be, which several parts of a command often have in common.
    pub protected_texts: RefCell<BTreeMap<(PathText, Use), Option<ProtectedKind>>>,
    pub entries_seen: EntriesSeen,
    /// How deeply texts are nested of which one is judged, see [`Judge::judge_loosely`].
    pub depth: Cell<usize>,
}

/// The parts of a command for which rules are suggested, which costs as much as judging them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SuggestFor {
    /// The parts that are asked about, as far as needed to rank them.
    Ranking,
    /// The parts that are asked about.
    Asked,
    /// Also the parts that are allowed because they only read.
    All,
}

/// A simple command, and what several checks ask about it.
struct JudgedPart<'a> {
    part: &'a Part,
    /// The reason it may not be read-only.
    objection: Option<String>,
    /// The paths that it names.
    mentions: Vec<PathMention>,
}

/// The judgement on one part of a call.
#[derive(Clone, Debug, Default)]
pub struct Finding {
    /// The decision.
    pub verdict: Verdict,
    /// The reason: a rule, a protected path, a possible effect; or why it is allowed.
    pub reason: ApprovalReason,
    /// The part itself, verbatim.
    pub part: String,
    /// The rule that would allow it.
    pub(super) suggestion: Option<Rule>,
    /// The rule that would allow exactly this, for a part of a call of which other parts have a suggestion.
    pub(super) exact: Option<Rule>,
    /// Whether it is a part of a command that is allowed because it is known to be read-only, and not by a
    /// rule.
    pub(super) unasked: bool,
    /// Whether it is irreversible.
    pub is_dangerous: bool,
}

impl Judge<'_> {
    /// Every part of a call with its verdict; at least one.
    pub(super) fn findings(&self, call: &CallFacts<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        let Access { reads, writes, commands, network, unknown, texts, program: _ } = call.access;
        for (rules, verdict, what) in
            [(&self.deny, Verdict::Deny, "denies"), (&self.ask, Verdict::Ask, "asks for")]
        {
            let is_about = |rule: &Rule| self.is_about(rule, call) || reads_all(rule, verdict, call.tool);
            let found = rules.iter().find(|rule| rule.is_bare() && is_about(rule));
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
        texts.iter().for_each(|text| self.argument(text, call, &mut findings));
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
            findings.push(allowed_finding("it only reads", call.tool));
        }
        findings
    }

    /// Whether a rule without a pattern is about this call.
    fn is_about(&self, rule: &Rule, call: &CallFacts<'_>) -> bool {
        rule.names_tool(call.tool) || rule.tool() == "edit" && ToolKind::of(call.tool) == ToolKind::Write
    }

    /// The rule that allows every call of this tool. None does in plan mode.
    fn allowing_all(&self, call: &CallFacts<'_>) -> Option<&Rule> {
        let rules = if self.mode == PermissionMode::Plan { &[] } else { self.allow.as_slice() };
        rules.iter().find(|rule| rule.is_bare() && self.is_about(rule, call)).copied()
    }

    /// The finding for a call of which only the tool is known.
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

    /// Judges a host that a call contacts without doing anything else.
    fn host(&self, host: &str, call: &CallFacts<'_>, findings: &mut Vec<Finding>) {
        let is_about = |rule: &&&Rule| {
            rule.names_tool(call.tool)
                && matches!(rule.pattern(), Pattern::Host(pattern) if pattern.matches(host))
        };
        let concerns = |rule: &&&Rule| {
            rule.names_tool(call.tool)
                && matches!(rule.pattern(), Pattern::Host(pattern) if pattern.concerns(host))
        };
        for (rules, verdict, what) in
            [(&self.deny, Verdict::Deny, "denies"), (&self.ask, Verdict::Ask, "asks for")]
        {
            let found = rules
                .iter()
                .find(concerns)
                .map(|rule| of_rule(verdict, &format!("a rule {what} {host}"), rule));
            findings.extend(found.map(|finding| Finding { part: host.to_owned(), ..finding }));
        }
        // In plan mode a rule may allow calls that change nothing.
        let allows = |rule: &&&Rule| is_about(rule) || rule.is_bare() && rule.names_tool(call.tool);
        let may_allow = call.read_only || self.mode != PermissionMode::Plan;
        if let Some(rule) = self.allow.iter().find(|rule| may_allow && allows(rule)) {
            let finding = of_rule(Verdict::Allow, "a rule allows it", rule);
            findings.push(Finding { part: host.to_owned(), ..finding });
            return;
        }
        let mut finding = match (call.read_only, self.mode) {
            // It changes nothing, so it needs approval in plan mode, too.
            (true, PermissionMode::Plan | PermissionMode::Ask | PermissionMode::Edits) => {
                by_mode(PermissionMode::Ask, format!("no rule allows {host}"), host)
            }
            (true, PermissionMode::Auto) | (false, _) => self.by_mode(format!("it contacts {host}"), host),
        };
        if finding.verdict == Verdict::Ask {
            finding.suggestion = suggest::for_host(call.tool, host);
        }
        findings.push(finding);
    }

    /// The decision of the mode on a possible change.
    fn by_mode(&self, text: String, part: &str) -> Finding {
        by_mode(self.mode, text, part)
    }

    /// Judges a shell command.
    fn command(&self, command: &str, call: &CallFacts<'_>, findings: &mut Vec<Finding>) {
        let analysis = links::analysis(command);
        let scene = Scene::of(&analysis, &self.places);
        let bare = self.allowing_all(call);
        let start = findings.len();
        let mut free = Vec::new();
        let parts: Vec<JudgedPart<'_>> =
            analysis.parts.iter().map(|part| self.judged_part(part, &scene)).collect();
        for judged in &parts {
            let (part, before) = (judged.part, findings.len());
            let is_doubted = analysis.doubts.iter().any(|doubt| overlap(doubt, part));
            self.part(judged, bare, is_doubted, &analysis, &scene, findings);
            self.commands_in_texts(part, &scene, 0, findings);
            self.judge_given_names(judged, command, &analysis, &scene, findings);
            self.judge_found_files(part, command, &analysis, &scene, findings);
            let text = command.get(part.span.clone()).unwrap_or_default();
            for finding in findings.iter_mut().skip(before) {
                finding.part = text.to_owned();
                finding.reason.span.get_or_insert((part.span.start, part.span.end));
            }
            free.extend((before..findings.len()).map(|at| (at, part)));
        }
        self.doubts(command, &analysis, bare, findings);
        self.wider_patterns(command, &scene, findings);
        let loose = shell::loosen(command);
        if let Some(loose) = &loose {
            self.judge_command_in_text(loose, |_| true, false, &scene, 0, findings);
        }
        self.judge_unknown_targets(command, &parts, &scene, findings, start);
        self.dangers(command, &analysis, &scene, findings);
        let is_free = findings.iter().skip(start).all(|finding| finding.verdict == Verdict::Allow);
        if is_free && !analysis.doubts.is_empty() {
            let within = shell::substituted_commands(command).into_iter().take(MAX_SUBSTITUTED);
            let all = shell::loosen_all(command);
            let read = |text: &&str| !links::analysis(text).parts.is_empty();
            let is_read = read(&all.as_deref().unwrap_or(command));
            let mut pieces: Vec<&str> = shell::pieces(loose.as_deref().unwrap_or(command))
                .take(if is_read { 0 } else { MAX_PIECES })
                .collect();
            pieces.dedup();
            // One after the other, as a folder that one of them enters is that of the next.
            let pieces = pieces.into_iter().filter(read).collect::<Vec<_>>().join("\n");
            let texts = all.into_iter().chain(within).chain([pieces]);
            texts.for_each(|text| self.judge_loosely(&text, call, findings));
        }
        if findings.len() == start {
            findings.push(Finding { unasked: true, ..allowed_finding("it runs nothing", command) });
        }
        self.judge_unconfined(&free, &scene, start, findings);
    }

    /// Judges a text that may be run by a command that is not understood. It may be wrong, so no rule denies it.
    fn judge_loosely(&self, loose: &str, call: &CallFacts<'_>, findings: &mut Vec<Finding>) {
        if self.depth.get() == MAX_DEPTH {
            return;
        }
        let mut found = Vec::new();
        self.depth.update(|depth| depth + 1);
        self.command(loose, call, &mut found);
        self.depth.update(|depth| depth - 1);
        let asked = found.into_iter().filter(|finding| finding.verdict > Verdict::Allow);
        findings.extend(asked.map(|finding| {
            let reason = ApprovalReason { span: None, ..finding.reason };
            Finding {
                verdict: Verdict::Ask,
                reason,
                part: String::new(),
                suggestion: None,
                exact: None,
                ..finding
            }
        }));
    }

    /// The whole command runs in one process. If a rule allows a part of it, none of it is confined, so
    /// read-only parts need approval then, unless they cannot run anything else.
    fn judge_unconfined(
        &self,
        free: &[(usize, &Part)],
        scene: &Scene<'_>,
        start: usize,
        findings: &mut [Finding],
    ) {
        let by_rule = |finding: &Finding| finding.verdict == Verdict::Allow && !finding.unasked;
        let is_confined = !self.options.unconfined && !findings.iter().skip(start).any(by_rule);
        if is_confined || self.mode == PermissionMode::Auto {
            return;
        }
        for (at, part) in free {
            let Some(finding) = findings.get_mut(*at).filter(|finding| finding.unasked) else { continue };
            if read_only::runs_nothing_else(part) {
                continue;
            }
            (finding.verdict, finding.unasked) = (Verdict::Ask, false);
            finding.reason.text = match self.options.unconfined {
                true => "it only reads, but this machine cannot confine it".to_owned(),
                false => "it only reads, but runs unconfined beside what a rule allows".to_owned(),
            };
            self.suggest_rules(finding, part, scene);
        }
    }

    fn doubts(&self, command: &str, analysis: &Analysis, bare: Option<&Rule>, findings: &mut Vec<Finding>) {
        if analysis.doubts.is_empty() {
            return;
        }
        // Text that was not parsed may name a protected path, unless it only sources a file that is known.
        let only_sources = |doubt: &Doubt| {
            let mut parts = analysis.parts.iter().filter(|part| overlap(doubt, part)).peekable();
            parts.peek().is_some() && parts.all(texts::sources_known_file)
        };
        if !analysis.doubts.iter().all(only_sources)
            && let Some(kind) = kind_in_text(command, &self.places, &self.options.own)
            && !findings.iter().any(|finding| finding.verdict > Verdict::Allow)
        {
            findings.extend(self.may_touch(kind));
        }
        for Doubt { span, text } in analysis.doubts.iter().take(8) {
            let finding = self.judge_uncertain(text, bare);
            let part = command.get(span.clone()).unwrap_or_default().to_owned();
            let reason = ApprovalReason { span: Some((span.start, span.end)), ..finding.reason };
            findings.push(Finding { part, reason, ..finding });
        }
    }

    /// The finding for a part that may run anything: it needs approval if any rule may be about it.
    fn judge_uncertain(&self, text: &str, bare: Option<&Rule>) -> Finding {
        let strict = self.deny.iter().chain(&self.ask).any(|rule| !rule.tool().starts_with("mcp__"));
        match (self.mode, bare) {
            (PermissionMode::Plan, _) => self.by_mode(text.to_owned(), ""),
            (_, Some(rule)) if !strict => of_rule(Verdict::Allow, "a rule allows all commands", rule),
            (PermissionMode::Auto, None) if !strict => self.by_mode(String::new(), ""),
            _ => Finding {
                verdict: Verdict::Ask,
                reason: ApprovalReason { text: text.to_owned(), ..ApprovalReason::default() },
                part: String::new(),
                ..Finding::default()
            },
        }
    }

    /// Looks at a part once for all checks.
    fn judged_part<'p>(&self, part: &'p Part, scene: &Scene<'_>) -> JudgedPart<'p> {
        let objection = self.objection(part, scene);
        let mentions = scene.path_mentions(part, objection.is_some());
        JudgedPart { part, objection, mentions }
    }

    /// The reason a part may not be read-only, if any.
    fn objection(&self, part: &Part, scene: &Scene<'_>) -> Option<String> {
        let directories = scene.directories_of(part);
        let surroundings = read_only::Surroundings {
            directories: directories.as_deref(),
            workspace: &self.places.workspace,
            home: self.places.home.as_ref().map(|home| home.plain.as_path()),
        };
        read_only::objection(part, &surroundings)
    }

    /// Judges a simple command.
    fn part(
        &self,
        judged: &JudgedPart<'_>,
        bare: Option<&Rule>,
        is_doubted: bool,
        analysis: &Analysis,
        scene: &Scene<'_>,
        findings: &mut Vec<Finding>,
    ) {
        let before = findings.len();
        let JudgedPart { part, objection, mentions } = judged;
        self.strict_about_words(part, findings);
        self.judge_named_files(part, mentions, objection.is_none(), scene, findings);
        self.redirects(part, bare, analysis.reopens, scene, findings);
        let name = part.words.first().and_then(crate::permissions::shell::Word::literal).unwrap_or_default();
        let Some(why) = objection.clone().or_else(|| self.objection_to_devices(part, mentions, scene)) else {
            if findings.iter().skip(before).all(|finding| finding.verdict == Verdict::Allow) {
                findings.push(match bare.or_else(|| self.allowing(part, scene)) {
                    Some(rule) => of_rule(Verdict::Allow, "a rule allows it", rule),
                    None => {
                        let mut finding = Finding { unasked: true, ..allowed_finding("it only reads", "") };
                        if self.suggest == SuggestFor::All {
                            self.suggest_rules(&mut finding, part, scene);
                        }
                        finding
                    }
                });
            }
            return;
        };
        if is_doubted {
            // The doubt is more specific.
            return;
        }
        let is_free = self.mode == PermissionMode::Auto || bare.is_some();
        if read_only::evaluates(part) && !(is_free && read_only::only_sets(part)) {
            findings.push(self.judge_uncertain(&why, bare));
            return;
        }
        let allowing = if self.mode == PermissionMode::Plan {
            None
        } else {
            bare.or_else(|| self.allowing(part, scene))
        };
        if let Some(rule) = allowing {
            findings.push(of_rule(Verdict::Allow, "a rule allows it", rule));
            return;
        }
        let mut finding = self.by_mode(why, &name);
        if finding.verdict == Verdict::Ask {
            self.suggest_rules(&mut finding, part, scene);
        }
        findings.push(finding);
    }

    /// Adds the rules to offer for a part; none where they would not allow it.
    fn suggest_rules(&self, finding: &mut Finding, part: &Part, scene: &Scene<'_>) {
        if self.is_here(part, scene) {
            finding.suggestion = suggest::for_command(part);
            if self.suggest != SuggestFor::Ranking {
                finding.exact = suggest::for_exactly(part);
            }
        }
    }

    /// Applies command rules that deny or ask about a part.
    fn strict_about_words(&self, part: &Part, findings: &mut Vec<Finding>) {
        if part.words.is_empty() && part.outer.is_empty() && part.shell.is_empty() {
            return;
        }
        for (rules, verdict, what) in
            [(&self.deny, Verdict::Deny, "denies"), (&self.ask, Verdict::Ask, "asks for")]
        {
            for rule in rules {
                let Pattern::Command(pattern) = rule.pattern() else { continue };
                match strict::concerns(pattern, part) {
                    Match::Yes => findings.push(of_rule(verdict, &format!("a rule {what} it"), rule)),
                    Match::Perhaps => {
                        findings.push(of_rule(
                            Verdict::Ask,
                            &format!("it might match what a rule {what}"),
                            rule,
                        ));
                    }
                    Match::No => {}
                }
            }
        }
    }

    /// The rule that allows a part, or everything that runs it. What a command does depends on the directory that
    /// it runs in, and rules are about this one.
    fn allowing(&self, part: &Part, scene: &Scene<'_>) -> Option<&Rule> {
        if part.assigned.iter().any(|name| !read_only::is_harmless_variable(name))
            || part.words.is_empty()
            || !arguments::covers_input(part)
        {
            return None;
        }
        let workspace = &self.places.workspace.plain;
        let allows = |rule: &&&Rule| {
            let Pattern::Command(pattern) = rule.pattern() else { return false };
            let of_outer = |(words, start): &(Vec<shell::Word>, usize)| {
                pattern.named_word_count() > *start
                    && pattern.matches(words)
                    && arguments::covers(pattern, words.get(*start..).unwrap_or_default(), *start, workspace)
            };
            pattern.matches(&part.words) && arguments::covers(pattern, &part.words, 0, workspace)
                || part.outer.iter().any(of_outer)
        };
        self.allow.iter().find(allows).copied().filter(|_| self.is_here(part, scene))
    }
}

/// Whether a rule on reading all files applies to a tool that finds files: where it asks, names may be shown.
fn reads_all(rule: &Rule, verdict: Verdict, tool: &str) -> bool {
    let shows = tool == "grep" || verdict == Verdict::Deny && files::SEARCHING_TOOLS.contains(&tool);
    shows && rule.tool() == "read"
}

/// The decision of a mode on a part that is not allowed otherwise.
fn by_mode(mode: PermissionMode, text: String, part: &str) -> Finding {
    let (verdict, text) = match mode {
        PermissionMode::Auto => (Verdict::Allow, "the mode auto allows it".to_owned()),
        PermissionMode::Ask | PermissionMode::Edits => (Verdict::Ask, text),
        PermissionMode::Plan => (Verdict::Deny, format!("plan mode: {text}")),
    };
    let reason = ApprovalReason { text, ..ApprovalReason::default() };
    Finding { verdict, reason, part: part.to_owned(), ..Finding::default() }
}

fn of_rule(verdict: Verdict, text: &str, rule: &Rule) -> Finding {
    let reason =
        ApprovalReason { text: text.to_owned(), rule: Some(rule.to_string()), ..ApprovalReason::default() };
    Finding { verdict, reason, part: String::new(), ..Finding::default() }
}

fn allowed_finding(text: &str, part: &str) -> Finding {
    let reason = ApprovalReason { text: text.to_owned(), ..ApprovalReason::default() };
    Finding { verdict: Verdict::Allow, reason, part: part.to_owned(), ..Finding::default() }
}

/// Whether a doubt is about some of a part.
fn overlap(doubt: &Doubt, part: &Part) -> bool {
    doubt.span.start < part.span.end && part.span.start < doubt.span.end
}
