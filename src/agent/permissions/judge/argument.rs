//! Judges the texts of a call whose tool cannot say what it touches, such as one of an MCP server.

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::{Finding, Judge, of_rule};
use crate::permissions::folders::Search;
use crate::permissions::path_pattern::JudgedPath;
use crate::permissions::path_text::{Mark, PathText, of_glob};
use crate::permissions::protected::{Use, encloses};
use crate::permissions::rule::{Pattern, Rule};
use crate::permissions::shell::Analysis;
use crate::permissions::words_as_paths::{NamedPath, Naming, Scene};
use crate::permissions::{CallFacts, Verdict, links};
use tau_tools::access::Access;
use tau_tools::invisible::is_invisible;
use tau_tools::paths;

/// Texts with more bytes name no file.
const MAX_NAME: usize = 4096;
/// The number of characters of a text whose parts are looked at.
const MAX_TEXT: usize = 64 * 1024;
/// The largest number of words of a text that is no sentence.
const MAX_WORDS: usize = 4;
/// The number of its parts.
const MAX_PIECES: usize = 2_000;
/// How often a text may be decoded.
const MAX_DECODED: usize = 4;
/// The signs between the names in a text.
const SIGNS: &str = "\"'`,;|&()<>[]{}=?#!$*\\";
/// The start of the address of a file.
const SCHEME: &str = "file:";

impl Judge<'_> {
    /// Judges a text as the name of a file, as if it were a word of a command: what a rule says of the file holds, and a
    /// protected one is asked about. A plain word is more likely something else, so it is never denied.
    pub(super) fn argument(&self, text: &str, call: &CallFacts<'_>, findings: &mut Vec<Finding>) {
        let before = findings.len();
        self.argument_name(text, call, findings);
        if findings.len() == before {
            findings.extend(self.argument_pieces(text, call));
        }
    }

    /// Judges the whole text.
    fn argument_name(&self, text: &str, call: &CallFacts<'_>, findings: &mut Vec<Finding>) {
        for name in names(text.trim()) {
            if name.is_empty() || name.len() > MAX_NAME || name.contains(['\n', '\0']) {
                continue;
            }
            let path = paths::resolve(call.cwd, &name);
            // A sentence ends with the name of a file, but names no folder.
            if name.contains(char::is_whitespace) && !path.parent().is_some_and(Path::is_dir) {
                continue;
            }
            let before = findings.len();
            let uses: &[Use] = if call.read_only { &[Use::Read] } else { &[Use::Read, Use::Write] };
            for is_used in uses {
                self.argument_path(&name, &path, *is_used, call, findings);
                if is_pattern(&name) {
                    self.argument_pattern(&path, !name.contains('/'), *is_used, call, findings);
                }
            }
            for finding in findings.iter_mut().skip(before) {
                name.clone_into(&mut finding.part);
            }
        }
    }

    /// The first part of a text that names a file which a rule is about. The text may be something else, so no rule
    /// denies it.
    fn argument_pieces(&self, text: &str, call: &CallFacts<'_>) -> Option<Finding> {
        let uses: &[Use] = if call.read_only { &[Use::Read] } else { &[Use::Read, Use::Write] };
        let is_about = |rule: &Rule| {
            uses.iter()
                .any(|is_used| crate::permissions::file_rules::governs(rule, *is_used, Some(call.tool)))
        };
        let rules = self
            .strict()
            .into_iter()
            .flat_map(|(rules, _, what)| rules.iter().map(move |rule| (*rule, what)));
        let rules =
            rules.filter(|(rule, _)| is_about(rule)).filter_map(|(rule, what)| match rule.pattern() {
                Pattern::Path(pattern) => Some((rule, pattern, what)),
                Pattern::All | Pattern::Command(_) | Pattern::Host(_) => None,
            });
        let rules: Vec<_> = rules.collect();
        if rules.is_empty() {
            return None;
        }
        pieces(text).iter().find_map(|piece| {
            let path = JudgedPath::of(paths::resolve(call.cwd, piece));
            let (rule, _, what) =
                rules.iter().find(|(_, pattern, _)| pattern.concerns(&path, &self.places))?;
            let shown = self.display_path(&path.plain);
            let finding = of_rule(Verdict::Ask, &format!("it may touch what a rule {what}: {shown}"), rule);
            Some(Finding { part: piece.clone(), ..finding })
        })
    }

    /// Judges a file or a folder that an argument names.
    fn argument_path(
        &self,
        name: &str,
        path: &Path,
        is_used: Use,
        call: &CallFacts<'_>,
        findings: &mut Vec<Finding>,
    ) {
        let path = JudgedPath::of(path.to_owned());
        let named = NamedPath::Known(Rc::new(path.clone()));
        let how = if name.contains(['/', '.']) { Naming::Word } else { Naming::Through };
        self.check_path_rules(&named, is_used, Some(call.tool), how, findings);
        self.check_protected_path(&path, is_used, findings);
        if !links::is_folder(&path.real) {
            return;
        }
        let before = findings.len();
        self.inside(&path, is_used, &Search::default(), false, Some(call.tool), findings);
        if is_used == Use::Read {
            let kind = encloses(&path, &self.places, &self.options.own, is_used);
            findings.extend(kind.and_then(|kind| self.may_touch(kind)));
        }
        for finding in findings.iter_mut().skip(before).filter(|_| how == Naming::Through) {
            finding.verdict = finding.verdict.min(Verdict::Ask);
        }
    }

    /// Judges a pattern of file names. It may also be something else, so no rule denies it.
    fn argument_pattern(
        &self,
        path: &Path,
        is_anywhere: bool,
        is_used: Use,
        call: &CallFacts<'_>,
        findings: &mut Vec<Finding>,
    ) {
        let Some(text) = path.to_str() else { return };
        let mut texts = of_glob(text);
        if is_anywhere && let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
            let below = format!("{}/**/{}", folder.display(), name.to_string_lossy());
            texts.extend(of_glob(&below));
        }
        let (rules, tool) = (self.strict(), Some(call.tool));
        let all = rules.iter().flat_map(|(rules, _, what)| rules.iter().map(move |rule| (*rule, *what)));
        for (rule, what) in
            all.filter(|(rule, _)| crate::permissions::file_rules::governs(rule, is_used, tool))
        {
            let Pattern::Path(pattern) = rule.pattern() else { continue };
            findings.extend(self.find_match(pattern, texts.iter()).map(|path| {
                let shown = self.display_path(&path);
                of_rule(Verdict::Ask, &format!("it may touch what a rule {what}: {shown}"), rule)
            }));
        }
        if is_used == Use::Read {
            texts.iter().for_each(|text| self.argument_of_keys(text, findings));
        }
    }

    /// Checks the keys that a pattern matches: those of the project that are there, and any elsewhere.
    fn argument_of_keys(&self, text: &PathText, findings: &mut Vec<Finding>) {
        let analysis = Analysis::default();
        if text.clone_below(&PathText::from(self.places.workspace.plain.as_path())).is_some() {
            if let Some(path) = self.find_key(text, &Scene::of(&analysis, &self.places)) {
                self.check_protected_path(&JudgedPath::new(&path), Use::Read, findings);
            }
            return;
        }
        let named: Vec<Mark> = text.marks().iter().filter(|mark| **mark != Mark::Folders).copied().collect();
        self.check_protected_text(&PathText::of(&named), Use::Read, findings);
    }
}

/// The parts of a text that may be the names of files: between blanks, signs and quotes, within JSON, of addresses but
/// for those of the web, without what programs put before and behind a name, and decoded. Texts of many words are
/// sentences, or the content of files.
fn pieces(text: &str) -> BTreeSet<String> {
    let is_of_json = text.trim_start().starts_with(['{', '[']);
    if let Some(value) = is_of_json.then(|| serde_json::from_str::<Value>(text).ok()).flatten() {
        let inner = Access::unknown().with_texts_of(&value).texts;
        return inner.iter().flat_map(|text| pieces(text)).take(MAX_PIECES).collect();
    }
    if text.split_whitespace().nth(MAX_WORDS).is_some() {
        return BTreeSet::new();
    }
    let seen: String = text.chars().filter(|c| !is_invisible(*c)).take(MAX_TEXT).collect();
    let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let texts =
        std::iter::successors(Some(seen), |text| Some(decode(text)).filter(|decoded| decoded != text));
    let mut all = BTreeSet::new();
    for text in texts.take(MAX_DECODED).flat_map(|text| [unescape(&text), Some(text)]).flatten() {
        for token in text.split(|c: char| c.is_whitespace() || c.is_control() || SIGNS.contains(c)) {
            let is_of_web = ["http://", "https://"].iter().any(|start| token.starts_with(start));
            let at_root =
                token.split_once("://").and_then(|(_, rest)| rest.find('/').and_then(|at| rest.get(at..)));
            let without_side = ["a/", "b/"].iter().find_map(|side| token.strip_prefix(side));
            let parts = token.split([':', '@']).chain(at_root).chain(without_side).filter(|_| !is_of_web);
            let parts =
                parts.map(|part| part.trim_start_matches(['@', '+', '-']).trim_end_matches(['.', '!']));
            let is_name =
                |part: &&str| part.contains(['/', '.']) && part.contains(|c: char| !"/.".contains(c));
            all.extend(parts.filter(is_name).map(str::to_owned));
        }
        if all.len() > MAX_PIECES {
            break;
        }
    }
    all
}

/// A text without the escapes of JSON, if it has any.
fn unescape(text: &str) -> Option<String> {
    let mut rest = text;
    let mut out = String::new();
    while let Some((before, behind)) = rest.split_once("\\u") {
        let code =
            behind.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32);
        out.push_str(before);
        match code {
            Some(c) => out.push(c),
            None => out.push_str("\\u"),
        }
        rest = if code.is_some() { behind.get(4..).unwrap_or_default() } else { behind };
    }
    (!out.is_empty()).then(|| out + rest)
}

/// Whether a name is a pattern that says more than that it is one.
fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '[', '{']) && !name.chars().all(|c| "*?".contains(c))
}

/// The files that a text may name: that of an address, or the text itself, also as programs decode it.
fn names(text: &str) -> Vec<String> {
    let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    if let Some((scheme, rest)) = text.split_at_checked(SCHEME.len())
        && scheme.eq_ignore_ascii_case(SCHEME)
    {
        let path = rest.split(['?', '#']).next().unwrap_or_default();
        // A host may come before the path.
        let path =
            match path.strip_prefix("//").and_then(|place| place.find('/').and_then(|at| place.get(at..))) {
                Some(path) => path,
                None => path.trim_start_matches("//"),
            };
        return vec![decode(path)];
    }
    if text.contains("://") {
        return Vec::new();
    }
    let home = ["$HOME", "${HOME}"].iter().find_map(|home| text.strip_prefix(home));
    let text = home.map_or_else(|| text.to_owned(), |rest| format!("~{rest}"));
    let decoded = Some(decode(&text)).filter(|decoded| *decoded != text);
    std::iter::once(text).chain(decoded).collect()
}
