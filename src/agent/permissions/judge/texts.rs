//! Judges the files in texts that a program may run as commands: `script -c 'cat .e*'`.

use super::{Finding, links, of_rule, strict};
use super::{Judge, JudgedPart};
use crate::permissions::file_rules::governs;
use crate::permissions::folders::Search;
use crate::permissions::path_pattern::{JudgedPath, Match, PathPattern};
use crate::permissions::path_text::{Mark, PathText};
use crate::permissions::protected::{ProtectedKind, Use, holds_protected, protected_kind};
use crate::permissions::rule::Pattern;
use crate::permissions::shell::{self, Part, Piece, Word};
use crate::permissions::subcommands::has;
use crate::permissions::words_as_paths::{NamedPath, Scene};
use crate::permissions::{Verdict, folders, operands, programs};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The maximum nesting of such texts.
const MAX_DEPTH: usize = 3;

impl Judge<'_> {
    /// Applies rules on files and protected paths to texts among the words of a part. The text may be something else
    /// than a command, so no rule denies it.
    pub(super) fn commands_in_texts(
        &self,
        part: &Part,
        scene: &Scene<'_>,
        depth: usize,
        findings: &mut Vec<Finding>,
    ) {
        let texts = texts(part);
        if depth == MAX_DEPTH || texts.is_empty() {
            return;
        }
        for text in texts {
            self.judge_command_in_text(&text, is_command, part.elsewhere, scene, depth, findings);
        }
    }

    /// Applies rules on files and protected paths to the parts of a text that are commands.
    pub(super) fn judge_command_in_text(
        &self,
        text: &str,
        is_command: fn(&Part) -> bool,
        elsewhere: bool,
        scene: &Scene<'_>,
        depth: usize,
        findings: &mut Vec<Finding>,
    ) {
        let before = findings.len();
        let analysis = links::analysis(text);
        let scene = scene.inside(&analysis);
        for inner in &analysis.parts {
            let mut inner = Part { elsewhere: inner.elsewhere || elsewhere, ..inner.clone() };
            // `.shell cat x`, `shell cat x`.
            if !is_command(&inner) && inner.words.len() > 1 {
                inner.words.remove(0);
            }
            if !is_command(&inner) {
                continue;
            }
            let JudgedPart { objection, mentions, .. } = self.judged_part(&inner, &scene);
            self.judge_named_files(&inner, &mentions, objection.is_none(), &scene, findings);
            for redirect in &inner.redirects {
                self.judge_redirect(redirect, &inner, &scene, findings);
            }
            self.commands_in_texts(&inner, &scene, depth + 1, findings);
        }
        for finding in findings.iter_mut().skip(before) {
            finding.verdict = finding.verdict.min(Verdict::Ask);
            finding.reason.span = None;
        }
    }
}

impl Judge<'_> {
    /// Checks protected paths for a name that a text may put behind the home directory. A bare name that is protected
    /// wherever it is may be that in the workspace.
    pub(super) fn at_home(&self, path: &JudgedPath, findings: &mut Vec<Finding>) {
        let is_bare = |home: &JudgedPath| path.plain.parent() == Some(&*home.plain);
        let here = path.plain.file_name().map(|name| self.places.workspace.plain.join(name));
        let here = here.filter(|_| self.places.home.as_ref().is_some_and(is_bare));
        let is_here = |plain: PathBuf| {
            let here = JudgedPath { real: plain.clone(), plain };
            let kind = protected_kind(&here, &self.places, &self.options.own, Use::Write);
            kind.is_some_and(|kind| !matches!(kind, ProtectedKind::Ssh | ProtectedKind::Keys))
        };
        if !here.is_some_and(is_here) {
            self.check_protected_path(path, Use::Write, findings);
        }
    }
}

impl Judge<'_> {
    /// Applies rules and protected paths to patterns that a program may expand: `git checkout HEAD -- 'mig*'`. They may
    /// also be something else, so no rule denies them, and files count that are there.
    pub(super) fn judge_quoted_patterns(&self, part: &Part, scene: &Scene<'_>, findings: &mut Vec<Finding>) {
        let (words, texts) = scene.quoted_patterns(part);
        if words.is_empty() && texts.is_empty() {
            return;
        }
        for word in &words {
            let named: Vec<Mark> =
                word.marks().iter().filter(|mark| **mark != Mark::Folders).copied().collect();
            let named = PathText::of(&named);
            self.check_protected_text(&named, Use::Write, findings);
            findings.extend(holds_protected(&named).and_then(|kind| self.may_touch(kind)));
        }
        for (rules, _, what) in self.strict() {
            for rule in rules {
                let is_about = [Use::Read, Use::Write].iter().any(|is_used| governs(rule, *is_used, None));
                let Pattern::Path(pattern) = rule.pattern() else { continue };
                if !is_about {
                    continue;
                }
                let all = words.iter().chain(&texts);
                findings.extend(self.find_match(pattern, all).map(|path| {
                    let shown = self.display_path(&path);
                    of_rule(Verdict::Ask, &format!("it may touch what a rule {what}: {shown}"), rule)
                }));
            }
        }
    }

    /// A file that a rule is about, and one of these patterns; the folder that holds too many to look at all.
    pub(super) fn find_match<'t>(
        &self,
        pattern: &PathPattern,
        texts: impl Iterator<Item = &'t PathText>,
    ) -> Option<PathBuf> {
        let folder = pattern.known_folder(&self.places);
        let mut starts: BTreeMap<PathBuf, Vec<(&PathText, PathText)>> = BTreeMap::new();
        for text in texts {
            let below = text.below();
            let may_be = |text: &PathText| pattern.may_concern(text, &self.places) != Match::No;
            // A folder that a pattern matches may hold what the rule is about.
            if may_be(text) || folder.is_some() && may_be(&below) {
                let known = text.known_start();
                let start = Path::new(known.rsplit_once('/').map_or("", |(folder, _)| folder));
                let start = if known.is_empty() { self.places.workspace.plain.as_path() } else { start };
                let deeper = folder.as_deref().filter(|folder| folder.starts_with(start));
                starts.entry(deeper.unwrap_or(start).to_owned()).or_default().push((text, below));
            }
        }
        starts.into_iter().find_map(|(start, texts)| {
            let is_it = |path: &JudgedPath| {
                let text = PathText::from(path.plain.as_path());
                pattern.concerns(path, &self.places)
                    && texts.iter().any(|(pattern, below)| text.meets(pattern) || text.meets(below))
            };
            folders::find(&start, &Search::default(), &self.entries_seen, is_it).unwrap_or(Some(start))
        })
    }
}

/// Names of what changes the meaning of patterns.
const WIDENING: [&str; 5] = ["shopt", "GLOBIGNORE", "BASHOPTS", "extglob", "dotglob"];

impl Judge<'_> {
    /// Checks protected paths for the patterns of a command that changes what patterns match, and so cannot be analysed:
    /// `shopt -s extglob; cp x ~/.@(bashrc)`.
    pub(super) fn wider_patterns(&self, command: &str, scene: &Scene<'_>, findings: &mut Vec<Finding>) {
        if !WIDENING.iter().any(|name| command.contains(name)) {
            return;
        }
        let sees_hidden = ["dotglob", "GLOBIGNORE"].iter().any(|name| command.contains(name));
        for text in wide_words(command, sees_hidden) {
            for path in scene.paths_of(&text).iter() {
                if let NamedPath::Partly(text) = path {
                    self.check_protected_text(text, Use::Write, findings);
                }
            }
        }
    }
}

/// The words of a command that have patterns, including those of `extglob`.
fn wide_words(command: &str, sees_hidden: bool) -> Vec<PathText> {
    let (mut found, mut word, mut evidence, mut is_pattern) =
        (Vec::new(), PathText::default(), 0_usize, false);
    let (mut chars, mut open) = (command.chars().chain([' ']).peekable(), 0_usize);
    while let Some(c) = chars.next() {
        let is_group = "@!?*+".contains(c) && chars.peek() == Some(&'(');
        match c {
            _ if is_group => {
                chars.next();
                open += 1;
                word.push(Mark::Name);
                is_pattern = true;
            }
            ')' if open > 0 => open -= 1,
            '|' if open > 0 => {}
            c if open > 0 => evidence += usize::from(c.is_alphanumeric()),
            '\'' | '"' | '\\' => {}
            '*' | '?' | '[' => {
                let mark = if c == '?' { Mark::One } else { Mark::Name };
                if sees_hidden {
                    word.push(mark);
                } else {
                    word.push_of_pattern(mark);
                }
                is_pattern = true;
            }
            c if c.is_whitespace() || ";|&<>()".contains(c) => {
                if is_pattern && evidence >= 2 {
                    found.push(std::mem::take(&mut word));
                }
                (word, evidence, is_pattern) = (PathText::default(), 0, false);
            }
            c => {
                evidence = if c == '/' { 0 } else { evidence + usize::from(c != '~') };
                word.push(Mark::Char(c));
            }
        }
    }
    found
}

/// Whether the first word of a part is a program or a builtin, so that it may be a command and no sentence.
fn is_command(part: &Part) -> bool {
    let Some(first) = part.words.first() else { return !part.redirects.is_empty() };
    let Some(name) = first.literal() else { return true };
    name.contains('/') || is_builtin(&name) || links::program(&name).is_some()
}

fn is_builtin(name: &str) -> bool {
    has(". source eval exec cd command builtin read mapfile readarray export declare", name)
}

/// The texts in the words of a part, and in the values of its variables, that may be commands.
fn texts(part: &Part) -> Vec<String> {
    let is_text = |word: &Word| {
        let has_marks = |piece: &Piece| piece.text().is_some_and(|text| text.contains(MARKS));
        word.pieces.iter().any(has_marks)
    };
    let sets =
        part.words.first().and_then(Word::literal).is_some_and(|name| has("export declare typeset", &name));
    let is_set = |word: &Word| match word.pieces.first() {
        Some(Piece::Text(text)) => text.split_once('=').is_some_and(|(name, _)| strict::is_run(name)),
        _ => false,
    };
    let mut words = vec![Word::default()];
    let values = strict::values(part);
    words.extend(values.filter(|word| is_text(word)).cloned());
    let (before, named) = (words.len(), part.words.iter().enumerate().skip(1));
    let named = named.filter(|(index, word)| is_text(word) && !operands::is_text(part, *index));
    words.extend(named.map(|(_, word)| word).filter(|word| !sets || is_set(word)).cloned());
    let takes_data = || programs::takes_data(&part.words, part.more_arguments);
    if words.len() > before && !sets && (shell::is_taken_apart(&part.words) || takes_data()) {
        words.truncate(before);
    }
    if words.len() > 1 { strict::texts(&words) } else { Vec::new() }
}

/// Characters of commands with more than one word, or with redirections.
const MARKS: [char; 8] = [' ', '\t', '\n', '<', '>', ';', '|', '!'];

/// Whether a part runs the commands of a file in the shell whose name is known.
pub(super) fn sources_known_file(part: &Part) -> bool {
    let is_known =
        |word: &Word| matches!(word.pieces.as_slice(), [Piece::Home, Piece::Text(_)] | [Piece::Text(_)]);
    folders::sources(part) && part.words.iter().all(is_known)
}
