//! Judges commands that write where only the shell knows, as in `sed -i s/a/b/ $(ls ~/.b*)`.

use super::{Finding, Judge, JudgedPart};
use crate::permissions::Verdict;
use crate::permissions::operands::is_left_out;
use crate::permissions::path_pattern::JudgedPath;
use crate::permissions::protected::{
    ProtectedKind, Use, encloses, form_in, may_be_protected, protected_kind,
};
use crate::permissions::shell::{Direction, Part, Piece, Word};
use crate::permissions::words_as_paths::{NamedPath, Naming, Scene};

impl Judge<'_> {
    /// Judges a command that writes to an unknown place and contains a form of a protected name, a pattern that one
    /// matches, or runs in a folder that holds one.
    pub(super) fn judge_unknown_targets(
        &self,
        command: &str,
        parts: &[JudgedPart<'_>],
        scene: &Scene<'_>,
        findings: &mut Vec<Finding>,
        from: usize,
    ) {
        let is_unknown = |word: &Word| {
            word.pieces.iter().any(|piece| matches!(piece, Piece::Variable(_) | Piece::Unknown))
        };
        let has_unknown = |part: &Part| {
            let targets = part.redirects.iter().map(|redirect| &redirect.target);
            part.more_arguments || part.elsewhere || part.words.iter().chain(targets).any(is_unknown)
        };
        // Most commands are fully known, and most others already need approval.
        let is_asked = findings.iter().skip(from).any(|finding| finding.verdict > Verdict::Allow);
        if is_asked || !parts.iter().any(|judged| has_unknown(judged.part)) {
            return;
        }
        let mut targets = parts.iter().flat_map(|judged| self.open_targets(judged, scene)).peekable();
        if targets.peek().is_none() {
            return;
        }
        // A program's name is not a file: `pyenv init` does not name `~/.pyenv`. What is left out is not touched.
        let mut text = command.to_owned();
        for part in parts.iter().map(|judged| judged.part) {
            for (index, word) in part.words.iter().enumerate() {
                let is_name = || word.literal().is_some_and(|name| !name.contains(['/', '.']));
                let is_other = if index == 0 { is_name() } else { is_left_out(part, index) };
                if is_other && text.get(word.span.clone()).is_some() {
                    text.replace_range(word.span.clone(), &" ".repeat(word.span.len()));
                }
            }
        }
        let own = &self.options.own;
        let listed = |folder: &JudgedPath| {
            let is_other = folder.plain != self.places.workspace.plain;
            encloses(folder, &self.places, own, Use::Write).filter(|_| is_other)
        };
        let is_bare = targets.any(|path| matches!(path, NamedPath::Partly(text) if text.is_unknown()));
        let in_folder = || scene.working_directories().iter().filter(|_| is_bare).find_map(listed);
        let kind = form_in(&text, &self.places, own)
            .or_else(|| parts.iter().find_map(|judged| self.kind_of_names(judged.part, scene)))
            .or_else(in_folder)
            .or_else(|| {
                let mut listing = parts.iter().filter(|_| is_bare);
                listing.find_map(|judged| self.kind_of_listed(judged.part, command, scene))
            });
        findings.extend(kind.and_then(|kind| self.may_touch(kind)));
    }

    /// The targets of a part that only the shell knows.
    fn open_targets(&self, judged: &JudgedPart<'_>, scene: &Scene<'_>) -> Vec<NamedPath> {
        let part = judged.part;
        let is_open = |path: &NamedPath| matches!(path, NamedPath::Partly(text) if text.is_open());
        let written = part.redirects.iter().filter(|redirect| redirect.direction == Direction::Write);
        let mut found: Vec<NamedPath> =
            written.flat_map(|redirect| scene.target(&redirect.target, part).0).filter(is_open).collect();
        if found.is_empty() && judged.objection.is_some() {
            let named = judged.mentions.iter().filter(|it| it.how == Naming::Word).map(|it| &it.path);
            found.extend(named.filter(|path| is_open(path)).cloned());
        }
        found
    }

    /// The kind of a protected path among those that a part names, also by a pattern.
    fn kind_of_names(&self, part: &Part, scene: &Scene<'_>) -> Option<ProtectedKind> {
        let own = &self.options.own;
        scene.path_mentions(part, false).iter().find_map(|it| match &it.path {
            NamedPath::Known(path) => protected_kind(path, &self.places, own, Use::Write),
            NamedPath::Partly(text) if text.is_open() => None,
            NamedPath::Partly(text) => may_be_protected(text, &self.places, own, Use::Write),
        })
    }
}
