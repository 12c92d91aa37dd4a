//! Judges the files that tools touch and that commands name.

mod named;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::{Finding, Judge, allowed_finding, of_rule};
use crate::permissions::dangerous::folders_of;
use crate::permissions::denied_files::recent_denied_files;
use crate::permissions::file_rules::governs;
use crate::permissions::folders::Search;
use crate::permissions::path_pattern::{JudgedPath, Match, PathPattern};
use crate::permissions::path_text::PathText;
use crate::permissions::protected::{
    ProtectedKind, Use, encloses, holds_protected, may_be_protected, protected_kind,
};
use crate::permissions::rule::{Pattern, Rule};
use crate::permissions::shell::{Direction, Part, Redirect};
use crate::permissions::words_as_paths::{NamedPath, Naming, PathMention, Scene};
use crate::permissions::{CallFacts, Verdict, folders, links, suggest, writers};
use tau_protocol::approval::{ApprovalReason, PermissionMode};
use tau_tools::access::{Access, DeniedUse};
use tau_tools::invisible::unseen_characters;

/// The finding for a path with characters that cannot be seen: it is another file than it seems.
fn unseen_in(path: &Path) -> Option<Finding> {
    let (_, unseen) = unseen_characters(path.to_str()?).next()?;
    let text = format!("a character that cannot be seen: U+{:04X}", u32::from(unseen));
    let reason = ApprovalReason { text, path: Some(path.to_owned()), ..ApprovalReason::default() };
    Some(Finding { verdict: Verdict::Ask, reason, ..Finding::default() })
}

/// Tools of tau that check every file they find with [`tau_tools::access::FileFilter`].
pub(super) const SEARCHING_TOOLS: [&str; 3] = ["grep", "find", "ls"];

impl Judge<'_> {
    /// Judges a file that a tool touches.
    pub(super) fn file(&self, path: &Path, is_used: Use, call: &CallFacts<'_>, findings: &mut Vec<Finding>) {
        let judged = JudgedPath::new(path);
        let before = findings.len();
        let named = NamedPath::Known(Rc::new(judged.clone()));
        self.check_path_rules(&named, is_used, Some(call.tool), Naming::Word, findings);
        let is_edited =
            is_used == Use::Write && call.tool == "edit" && call.access.reads.contains(&path.to_owned());
        if is_edited {
            // An edit that fails shows the content of the file.
            self.check_path_rules(&named, Use::Read, Some(call.tool), Naming::Word, findings);
        }
        for is_used in [Some(is_used), is_edited.then_some(Use::Read)].into_iter().flatten() {
            if !findings.iter().skip(before).any(|finding| finding.verdict == Verdict::Deny) {
                self.check_other_names(&judged, is_used, call.tool, findings);
            }
        }
        self.check_protected_path(&judged, is_used, findings);
        if is_used == Use::Write {
            findings.extend(unseen_in(path));
            self.check_home_file(&judged, findings);
        }
        if is_used == Use::Read && !SEARCHING_TOOLS.contains(&call.tool) && links::is_folder(&judged.real) {
            self.inside(&judged, Use::Read, &Search::default(), false, Some(call.tool), findings);
        }
        let shown = self.display_path(path);
        for finding in findings.iter_mut().skip(before) {
            finding.part.clone_from(&shown);
        }
        if is_used == Use::Read {
            if before == findings.len() {
                findings.push(Finding { part: shown, ..allowed_finding("reading is free", "") });
            }
            return;
        }
        if let Some(rule) = self.allowing_all(call).or_else(|| self.allows_write(&judged, Some(call.tool))) {
            let finding = of_rule(Verdict::Allow, "a rule allows it", rule);
            findings.push(Finding { part: shown, ..finding });
            return;
        }
        if self.mode == PermissionMode::Edits && only_edits(call.access) && self.is_in_workspace(&judged) {
            findings.push(Finding { part: shown, ..allowed_finding("the mode edits allows it", "") });
            return;
        }
        let leads = self.display_path(&judged.real);
        let text = match self.is_in_workspace(&judged) || judged.real == judged.plain {
            true => format!("changes {shown}"),
            false => format!("changes {shown}, which leads to {leads}"),
        };
        let mut finding = self.by_mode(text, &shown);
        finding.reason.path = Some(path.to_owned());
        if finding.verdict == Verdict::Ask {
            finding.suggestion = suggest::for_file(&judged, &self.places);
        }
        findings.push(finding);
    }

    /// Denies a file that rules keep from commands, by whatever name: what a link that a rule is about leads to.
    fn check_other_names(&self, path: &JudgedPath, is_used: Use, tool: &str, findings: &mut Vec<Finding>) {
        let needed = match is_used {
            Use::Read => DeniedUse::Read,
            Use::Write => DeniedUse::Change,
        };
        let files = recent_denied_files(self.deny.iter().copied(), &self.places);
        let files = files.iter().filter(|file| file.denied >= needed && path.real.starts_with(&file.path));
        let rules = self.deny.iter().filter(|rule| governs(rule, is_used, Some(tool)));
        let Some(rule) =
            files.flat_map(|file| rules.clone().filter(|rule| rule.to_string() == file.rule)).next()
        else {
            return;
        };
        let shown = self.display_path(&path.plain);
        let mut finding = of_rule(Verdict::Deny, &format!("a rule denies {shown} by another name"), rule);
        finding.reason.path = Some(path.plain.clone());
        findings.push(finding);
    }

    /// Whether a file is in the workspace, by its given and its real path.
    pub(super) fn is_in_workspace(&self, path: &JudgedPath) -> bool {
        let workspace = &self.places.workspace;
        path.plain.starts_with(&workspace.plain) && path.real.starts_with(&workspace.real)
    }

    /// Whether a part is known to run in the workspace, also by options such as `make -C`.
    pub(super) fn is_here(&self, part: &Part, scene: &Scene<'_>) -> bool {
        let Some(directories) = scene.directories_of(part) else { return false };
        let is_inside = |path: &Path| self.is_in_workspace(&JudgedPath::new(path));
        let is_folder_inside = |folder: Option<String>| {
            folder.is_some_and(|folder| directories.iter().all(|path| is_inside(&path.join(&folder))))
        };
        directories.iter().all(|path| is_inside(path))
            && folders_of(&part.words).into_iter().all(is_folder_inside)
    }

    /// A path for display.
    pub(super) fn display_path(&self, path: &Path) -> String {
        let rest = path.strip_prefix(&self.places.workspace.plain).unwrap_or(path);
        let shown = rest.display().to_string();
        match shown.as_str() {
            "" => ".".to_owned(),
            name if name.trim() != name => format!("'{name}'"),
            _ => shown,
        }
    }

    /// The path of a partly known name.
    pub(super) fn path_of(path: &NamedPath) -> PathBuf {
        match path {
            NamedPath::Known(path) => path.plain.clone(),
            NamedPath::Partly(text) => PathBuf::from(text.display()),
        }
    }

    /// The rules that ask or deny, and their effect.
    pub(super) fn strict(&self) -> [(&[&Rule], Verdict, &'static str); 2] {
        [(&self.deny, Verdict::Deny, "denies"), (&self.ask, Verdict::Ask, "asks for")]
    }

    /// Applies the deny and ask rules about a path. A path that a command only may touch needs approval.
    pub(super) fn check_path_rules(
        &self,
        path: &NamedPath,
        is_used: Use,
        tool: Option<&str>,
        how: Naming,
        findings: &mut Vec<Finding>,
    ) {
        for (rules, verdict, what) in self.strict() {
            let found = rules.iter().filter(|rule| governs(rule, is_used, tool)).map(|rule| {
                let matched = match (rule.pattern(), path) {
                    (Pattern::Path(pattern), NamedPath::Known(path)) => {
                        let is_it = pattern.concerns(path, &self.places)
                            || is_used == Use::Write && pattern.is_of_folder(path, &self.places);
                        if is_it { Match::Yes } else { Match::No }
                    }
                    (Pattern::Path(pattern), NamedPath::Partly(text)) => {
                        self.match_partial_path(pattern, text)
                    }
                    (Pattern::All, _) if tool.is_none() && how == Naming::Word => Match::Yes,
                    (Pattern::All | Pattern::Command(_) | Pattern::Host(_), _) => Match::No,
                };
                (matched, rule)
            });
            let found =
                found.max_by_key(|(matched, _)| *matched).filter(|(matched, _)| *matched != Match::No);
            let Some((matched, rule)) = found else { continue };
            let shown = Self::path_of(path);
            match matched {
                Match::Yes if how == Naming::Word => {
                    let mut finding =
                        of_rule(verdict, &format!("a rule {what} {}", self.display_path(&shown)), rule);
                    finding.reason.path = Some(shown);
                    findings.push(finding);
                }
                _ => {
                    let text = format!("it may touch what a rule {what}: {}", self.display_path(&shown));
                    findings.push(of_rule(Verdict::Ask, &text, rule));
                }
            }
        }
    }

    /// How a pattern matches a path that is not fully known. The results of `find` already exist.
    fn match_partial_path(&self, pattern: &PathPattern, text: &PathText) -> Match {
        let matched = pattern.may_concern(text, &self.places);
        if matched == Match::No || !text.is_of_folders() {
            return matched;
        }
        let start = PathBuf::from(text.known_start());
        let is_it = |path: &JudgedPath| {
            text.meets(&PathText::from(path.plain.as_path())) && pattern.concerns(path, &self.places)
        };
        match folders::find(&start, &Search::default(), &self.entries_seen, is_it) {
            Ok(None) => Match::No,
            Ok(Some(_)) => Match::Yes,
            Err(folders::TooMuch) => Match::May,
        }
    }

    pub(super) fn check_protected_path(&self, path: &JudgedPath, is_used: Use, findings: &mut Vec<Finding>) {
        if let Some(kind) = protected_kind(path, &self.places, &self.options.own, is_used) {
            findings.extend(self.protected_finding(kind, path.plain.clone()));
        }
    }

    /// Checks protected paths for a path that is not fully known.
    pub(super) fn check_protected_text(&self, text: &PathText, is_used: Use, findings: &mut Vec<Finding>) {
        let find = || may_be_protected(text, &self.places, &self.options.own, is_used);
        let kind = *self.protected_texts.borrow_mut().entry((text.clone(), is_used)).or_insert_with(find);
        if let Some(kind) = kind {
            findings.extend(self.protected_finding(kind, PathBuf::from(text.display())));
        }
    }

    fn protected_finding(&self, kind: ProtectedKind, path: PathBuf) -> Option<Finding> {
        if self.options.unprotected.contains(&kind) {
            return None;
        }
        let text = format!("{} is protected: {}", self.display_path(&path), kind.what());
        let reason = ApprovalReason { text, path: Some(path), ..ApprovalReason::default() };
        let part = reason.path.as_ref().map(|path| self.display_path(path)).unwrap_or_default();
        Some(Finding { verdict: Verdict::Ask, reason, part, ..Finding::default() })
    }

    /// The finding for a command that may touch protected paths without naming them.
    pub(super) fn may_touch(&self, kind: ProtectedKind) -> Option<Finding> {
        self.protected_finding(kind, PathBuf::new()).map(|mut finding| {
            finding.reason.text = format!("it may touch {}", kind.what());
            finding.reason.path = None;
            finding
        })
    }

    fn allows_write(&self, path: &JudgedPath, tool: Option<&str>) -> Option<&Rule> {
        let allows = |rule: &&&Rule| match rule.pattern() {
            Pattern::Path(pattern) => governs(rule, Use::Write, tool) && pattern.allows(path, &self.places),
            Pattern::All => tool.is_none() && governs(rule, Use::Write, None),
            Pattern::Command(_) | Pattern::Host(_) => false,
        };
        let rules = if self.mode == PermissionMode::Plan { &[] } else { self.allow.as_slice() };
        rules.iter().find(allows).copied()
    }

    /// Judges the files that a command may change without naming them as one.
    fn judge_written_files(&self, part: &Part, scene: &Scene<'_>, findings: &mut Vec<Finding>) {
        if folders::unpacks_here(part) {
            for folder in &scene.directories_with_outer(part) {
                self.judge_unpack_folder(folder, findings);
            }
        }
        self.judge_bare_names(part, scene, findings);
        self.judge_listed_home(part, scene, findings);
        self.judge_served_folder(part, scene, findings);
        if !self.clones_temporarily(part, scene) {
            findings.extend(writers::writes(part).and_then(|kind| self.may_touch(kind)));
        }
    }

    /// Whether a part only clones a repository into a folder for temporary files.
    pub(super) fn clones_temporarily(&self, part: &Part, scene: &Scene<'_>) -> bool {
        let Some(target) = writers::plain_clone_target(part) else { return false };
        let (temporary, mut texts) = (std::env::temp_dir(), scene.texts(target).into_iter());
        let homes = [Some(&self.places.workspace), self.places.home.as_ref()];
        let is_other = |text: &PathText| {
            let known = PathBuf::from(text.known_start());
            known.starts_with(&temporary)
                && known != temporary
                && !homes.iter().flatten().any(|home| known.starts_with(&home.plain))
        };
        texts.len() > 0
            && texts.all(|text| text.is_absolute() && !text.is_open() && is_other(&text.normalise()))
    }

    /// Judges a folder that a command unpacks files into without naming it.
    fn judge_unpack_folder(&self, folder: &JudgedPath, findings: &mut Vec<Finding>) {
        let path = NamedPath::Known(Rc::new(folder.clone()));
        self.check_path_rules(&path, Use::Write, None, Naming::Through, findings);
        self.check_protected_path(folder, Use::Write, findings);
        if let Some(kind) = holds_protected(&PathText::from(folder.plain.as_path())) {
            findings.extend(self.protected_finding(kind, folder.plain.clone()));
        }
        if let Some(kind) = encloses(folder, &self.places, &self.options.own, Use::Write) {
            findings.extend(self.may_touch(kind));
        }
    }

    /// Judges the files that texts name, given as the arguments of a part: programs may be among them.
    pub(super) fn judge_names_in_texts(&self, read: &Part, scene: &Scene<'_>, findings: &mut Vec<Finding>) {
        for PathMention { path, how, .. } in
            scene.path_mentions(read, true).iter().filter(|it| it.how != Naming::Through)
        {
            self.check_path_rules(path, Use::Read, None, Naming::InText, findings);
            self.check_path_rules(path, Use::Write, None, Naming::InText, findings);
            match path {
                NamedPath::Known(known) if *how == Naming::AtHome => self.at_home(known, findings),
                NamedPath::Known(known) if self.is_far(known) => {
                    self.check_protected_path(known, Use::Write, findings);
                }
                NamedPath::Partly(text) if self.is_far_text(text) => {
                    self.check_protected_text(text, Use::Write, findings);
                }
                NamedPath::Known(_) | NamedPath::Partly(_) => {}
            }
        }
    }

    /// Whether a path is not directly in the workspace: a name in a text is more likely a word than a file there.
    fn is_far(&self, path: &JudgedPath) -> bool {
        path.plain.parent() != Some(&*self.places.workspace.plain)
    }

    /// Like [`Judge::is_far`], for a path that is not fully known.
    fn is_far_text(&self, path: &PathText) -> bool {
        let parts = |path: &PathText| path.names().count();
        let workspace = PathText::from(self.places.workspace.plain.as_path());
        path.clone_below(&workspace).is_none_or(|_| parts(path) > parts(&workspace) + 1)
    }

    /// Judges a folder that a command names.
    fn folder(
        &self,
        part: &Part,
        path: &JudgedPath,
        is_used: Use,
        only_reads: bool,
        scene: &Scene<'_>,
        findings: &mut Vec<Finding>,
    ) {
        if !only_reads {
            self.judge_home_operand(part, path, scene, findings);
        }
        let replaces = folders::replaces_folders(part);
        if replaces || !folders::leaves_folders(part) {
            let search = Search::of(part);
            if !folders::reads_names_only(part) && folders::rewritten_files(part).is_none() {
                self.inside(path, Use::Read, &search, false, None, findings);
            }
            // Found files are named on their own.
            if !only_reads && !folders::removes_found_files(part) {
                self.inside(path, Use::Write, &search, replaces, None, findings);
            }
            let is_hidden = only_reads && search.skips_keys();
            let touches = only_reads || replaces || folders::fills_folders(part);
            if touches
                && !is_hidden
                && let Some(kind) = encloses(path, &self.places, &self.options.own, is_used)
            {
                findings.extend(self.may_touch(kind));
            }
        }
    }

    /// Applies rules about the content of a folder: a rule's own verdict if it covers all of it, or if the
    /// folder is `replaced` and may contain a match; the user is asked if it contains a match now.
    pub(super) fn inside(
        &self,
        folder: &JudgedPath,
        is_used: Use,
        search: &Search,
        replaced: bool,
        tool: Option<&str>,
        findings: &mut Vec<Finding>,
    ) {
        let text = PathText::from(folder.real.as_path());
        for (rules, verdict, what) in self.strict() {
            let of_paths = rules.iter().filter_map(|rule| match rule.pattern() {
                Pattern::Path(pattern) if governs(rule, is_used, tool) => Some((*rule, pattern)),
                _ => None,
            });
            let reaching: Vec<_> =
                of_paths.filter(|(_, pattern)| pattern.reaches_into(&text, &self.places)).collect();
            let whole = reaching.iter().find(|(_, pattern)| {
                replaced
                    || pattern.is_of_folder(folder, &self.places)
                    || pattern.concerns(folder, &self.places)
            });
            if let Some((rule, _)) = whole {
                let shown = self.display_path(&folder.plain);
                findings.push(of_rule(verdict, &format!("a rule {what} what is in {shown}"), rule));
                continue;
            }
            if reaching.is_empty() {
                continue;
            }
            let of = |path: &JudgedPath| {
                reaching
                    .iter()
                    .find(|(_, pattern)| pattern.concerns(path, &self.places))
                    .map(|(rule, _)| *rule)
            };
            let found = folders::find(&folder.plain, search, &self.entries_seen, |path| of(path).is_some());
            match found.map(|path| path.map(|path| (of(&JudgedPath::new(&path)), path))) {
                Ok(None) => {}
                Ok(Some((rule, path))) => {
                    let text = format!("it may touch what a rule {what}: {}", self.display_path(&path));
                    let rule = rule.or(reaching.first().map(|(rule, _)| *rule));
                    findings.extend(rule.map(|rule| of_rule(Verdict::Ask, &text, rule)));
                }
                Err(folders::TooMuch) => {
                    let text =
                        format!("it may touch what a rule {what} in {}", self.display_path(&folder.plain));
                    findings.extend(reaching.first().map(|(rule, _)| of_rule(Verdict::Ask, &text, rule)));
                }
            }
        }
    }

    pub(super) fn redirects(
        &self,
        part: &Part,
        bare: Option<&Rule>,
        reopens: bool,
        scene: &Scene<'_>,
        findings: &mut Vec<Finding>,
    ) {
        for redirect in &part.redirects {
            let span = Some((redirect.target.span.start, redirect.target.span.end));
            if redirect.may_connect() {
                let mut finding = match bare {
                    Some(rule) => of_rule(Verdict::Allow, "a rule allows it", rule),
                    None => self.by_mode("a redirection may open a network connection".to_owned(), ""),
                };
                finding.reason.span = span;
                findings.push(finding);
            }
            if is_sink(redirect, reopens) {
                continue;
            }
            let before = findings.len();
            let paths = self.judge_redirect(redirect, part, scene, findings);
            if redirect.direction == Direction::Write {
                let known = |path: &NamedPath| match path {
                    NamedPath::Known(path) => Some(Rc::clone(path)),
                    NamedPath::Partly(_) => None,
                };
                let all_known: Option<Vec<Rc<JudgedPath>>> = paths.iter().map(known).collect();
                findings.push(self.finding_for_write(all_known.as_deref(), bare));
            }
            findings.iter_mut().skip(before).for_each(|finding| finding.reason.span = span);
        }
    }

    /// Applies rules and protected paths to the target of a redirection; returns the paths that it may be.
    pub(super) fn judge_redirect(
        &self,
        redirect: &Redirect,
        part: &Part,
        scene: &Scene<'_>,
        findings: &mut Vec<Finding>,
    ) -> Vec<NamedPath> {
        let is_used = match redirect.direction {
            Direction::Read => Use::Read,
            Direction::Write => Use::Write,
        };
        let (paths, through) = scene.target(&redirect.target, part);
        let named = paths.iter().map(|path| (path, Naming::Word));
        for (path, how) in named.chain(through.iter().map(|path| (path, Naming::Through))) {
            self.check_path_rules(path, is_used, None, how, findings);
            match path {
                NamedPath::Known(path) => {
                    self.check_protected_path(path, is_used, findings);
                    if is_used == Use::Write {
                        self.check_home_file(path, findings);
                    }
                }
                NamedPath::Partly(text) => self.check_protected_text(text, is_used, findings),
            }
        }
        paths
    }

    /// The finding for writing one of these files; `None` if they are unknown.
    fn finding_for_write(&self, paths: Option<&[Rc<JudgedPath>]>, bare: Option<&Rule>) -> Finding {
        let Some(paths) = paths else {
            let strict = self.deny.iter().chain(&self.ask).any(|rule| governs(rule, Use::Write, None));
            let mut finding =
                self.by_mode("it writes a file whose name is only known when it runs".to_owned(), "");
            if strict && finding.verdict == Verdict::Allow {
                finding.verdict = Verdict::Ask;
                finding.reason.text = "it writes a file whose name is only known when it runs".to_owned();
            }
            return finding;
        };
        let rules: Option<Vec<&Rule>> = paths.iter().map(|path| self.allows_write(path, None)).collect();
        let allowing = bare.or_else(|| rules.and_then(|rules| rules.first().copied()));
        let path = paths.first().map(|path| path.plain.clone()).unwrap_or_default();
        let mut finding = match allowing {
            Some(rule) => of_rule(Verdict::Allow, "a rule allows writing there", rule),
            None => self.by_mode(format!("it writes {}", self.display_path(&path)), ""),
        };
        if finding.verdict == Verdict::Ask && paths.len() == 1 {
            finding.suggestion = paths.first().and_then(|path| suggest::for_file(path, &self.places));
        }
        finding.reason.path = Some(path);
        finding
    }
}

/// Whether a call only changes the files that it names.
fn only_edits(access: &Access) -> bool {
    access.commands.is_empty() && access.network.is_empty() && !access.program && !access.unknown
}

/// Whether output there is discarded or shown, and input is only the command's own. For `reopens` see
/// [`Analysis::reopens`]: opening `/dev/stdout` opens the file behind it again.
fn is_sink(redirect: &Redirect, reopens: bool) -> bool {
    let Some(path) = redirect.target.literal() else { return false };
    match (path.as_ref(), redirect.direction) {
        ("/dev/null" | "/dev/tty" | "/dev/zero", _) => true,
        ("/dev/stdout" | "/dev/stderr", Direction::Write) => !reopens,
        ("/dev/stdin" | "/dev/stdout" | "/dev/stderr", Direction::Read) => true,
        (path, Direction::Read) => path
            .strip_prefix("/dev/fd/")
            .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())),
        (_, Direction::Write) => false,
    }
}

pub(super) fn reads(rule: &Rule) -> Option<&PathPattern> {
    match rule.pattern() {
        Pattern::Path(pattern) if governs(rule, Use::Read, None) => Some(pattern),
        Pattern::Path(_) | Pattern::All | Pattern::Command(_) | Pattern::Host(_) => None,
    }
}
