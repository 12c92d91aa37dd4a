//! Judges the files that the words of a command name.

use std::path::PathBuf;

use crate::permissions::judge::{Finding, Judge};
use crate::permissions::operands::names_no_file;
use crate::permissions::path_pattern::JudgedPath;
use crate::permissions::path_text::PathText;
use crate::permissions::protected::{Use, holds_protected};
use crate::permissions::shell::{Part, Word};
use crate::permissions::words_as_paths::{NamedPath, Naming, PathMention, Scene};
use crate::permissions::{folders, links, writers};

/// A file that a word names, and its use.
struct NamedFile<'a> {
    path: &'a JudgedPath,
    mention: &'a PathMention,
    is_used: Use,
}

impl Judge<'_> {
    /// Judges the files that the words of a command name. A command that is not read-only may do anything
    /// with them.
    pub(in crate::permissions::judge) fn judge_named_files(
        &self,
        part: &Part,
        mentions: &[PathMention],
        only_reads: bool,
        scene: &Scene<'_>,
        findings: &mut Vec<Finding>,
    ) {
        // Sourcing a file reads it; its commands are not judged.
        let is_read = only_reads || folders::sources(part) || folders::stages(part);
        let is_used = if is_read { Use::Read } else { Use::Write };
        let names_only = folders::reads_names_only(part);
        // A pattern in a command that prints names shows that there is a file with keys, and nothing of it.
        let lists = only_reads && names_only && part.words.iter().any(Word::has_glob);
        for mention in mentions {
            let &PathMention { ref path, how, is_copied, .. } = mention;
            let is_used = if is_copied { Use::Read } else { is_used };
            if matches!(path, NamedPath::Partly(text) if text.is_open()) && names_no_file(part) {
                continue;
            }
            let is_unknown = matches!(path, NamedPath::Partly(text) if text.is_unknown());
            if !(is_unknown && names_only || folders::asks_about_files(part)) {
                self.check_path_rules(path, Use::Read, None, how, findings);
            }
            if !only_reads {
                self.check_path_rules(path, Use::Write, None, how, findings);
            }
            match path {
                NamedPath::Known(known) if how == Naming::AtHome => self.at_home(known, findings),
                NamedPath::Partly(_) if how == Naming::AtHome => {}
                NamedPath::Known(known) => {
                    let named = NamedFile { path: known, mention, is_used };
                    self.judge_named_file(part, &named, (only_reads, lists), scene, findings);
                }
                NamedPath::Partly(text) if how != Naming::InText => {
                    self.check_protected_text(text, is_used, findings);
                    if !text.is_open()
                        && !only_reads
                        && folders::makes_folders(part, false)
                        && let Some(kind) = holds_protected(text)
                    {
                        findings.extend(self.protected_finding(kind, PathBuf::from(text.display())));
                    }
                    let holds = |folder: &PathBuf| self.secret_kind_in(folder);
                    if is_unknown
                        && !names_only
                        && let Some(kind) = scene.folders().iter().find_map(holds)
                    {
                        findings.extend(self.may_touch(kind));
                    }
                }
                NamedPath::Partly(text) if self.is_far_text(text) => {
                    self.check_protected_text(text, is_used, findings);
                }
                NamedPath::Partly(_) => {}
            }
        }
        self.judge_input_files(part, scene, findings);
        if folders::searches_here(part, |word| scene.is_there(word)) {
            for folder in scene.working_directories() {
                let is_touched = if only_reads { Use::Read } else { Use::Write };
                self.folder(part, &folder, is_touched, only_reads, scene, findings);
            }
        }
        self.judge_unnamed_files(part, scene, findings);
        if !only_reads {
            self.judge_quoted_patterns(part, scene, findings);
            self.judge_written_files(part, scene, findings);
        }
        findings.extend(writers::prints_protected(part).and_then(|kind| self.may_touch(kind)));
        for text in scene.written_out(part).iter().filter(|text| writers::may_concern(text)) {
            let analysis = links::analysis(text);
            let scene = scene.inside(&analysis);
            let writes =
                |part: &Part| writers::writes(part).filter(|_| !self.clones_temporarily(part, &scene));
            let kinds = analysis
                .parts
                .iter()
                .filter_map(|part| writes(part).or_else(|| writers::prints_protected(part)));
            findings.extend(kinds.filter_map(|kind| self.may_touch(kind)));
        }
    }

    /// Judges a file that a word names. `only_reads` and `lists` are about the command.
    fn judge_named_file(
        &self,
        part: &Part,
        named: &NamedFile<'_>,
        (only_reads, lists): (bool, bool),
        scene: &Scene<'_>,
        findings: &mut Vec<Finding>,
    ) {
        let &NamedFile { path, is_used, mention: &PathMention { how, counts, is_copied, .. } } = named;
        let is_folder = links::is_folder(&path.real);
        if counts && (how != Naming::InText || self.is_far(path)) && (is_folder || !lists) {
            self.check_protected_path(path, is_used, findings);
            if how == Naming::Word && is_used == Use::Write {
                self.check_placed_file(part, path, findings);
            }
        }
        if how == Naming::Word && counts && is_folder {
            let is_touched = if only_reads || is_copied { Use::Read } else { Use::Write };
            self.folder(part, path, is_touched, only_reads, scene, findings);
        }
        // In another folder a copy has the same name.
        let keeps_name = || part.words.last().is_some_and(|word| !scene.folder(word).is_empty());
        let is_made = !only_reads
            && folders::makes_folders(part, is_folder)
            && (!is_copied || is_folder && keeps_name());
        if how == Naming::Word
            && is_made
            && let Some(kind) = holds_protected(&PathText::from(path.plain.as_path()))
        {
            findings.extend(self.protected_finding(kind, path.plain.clone()));
        }
    }
}
