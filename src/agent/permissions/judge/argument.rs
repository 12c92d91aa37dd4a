//! Judges the texts of a call whose tool cannot say what it touches, such as one of an MCP server.

use std::path::Path;
use std::rc::Rc;

use percent_encoding::percent_decode_str;

use super::{Finding, Judge, of_rule};
use crate::permissions::folders::Search;
use crate::permissions::path_pattern::JudgedPath;
use crate::permissions::path_text::{Mark, PathText, of_glob};
use crate::permissions::protected::{Use, encloses};
use crate::permissions::rule::Pattern;
use crate::permissions::shell::Analysis;
use crate::permissions::words_as_paths::{NamedPath, Naming, Scene};
use crate::permissions::{CallFacts, Verdict, links};
use tau_tools::paths;

/// Texts with more bytes name no file.
const MAX_NAME: usize = 4096;
/// The start of the address of a file.
const SCHEME: &str = "file:";

impl Judge<'_> {
    /// Judges a text as the name of a file, as if it were a word of a command: what a rule says of the file holds, and a
    /// protected one is asked about. A plain word is more likely something else, so it is never denied.
    pub(super) fn argument(&self, text: &str, call: &CallFacts<'_>, findings: &mut Vec<Finding>) {
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
