//! The question whether to use a folder's project settings, with their contents.

use super::list_keys::answer_key;
use super::reading::Reading;
use crate::key::{Key, KeyCode};
use crate::outcome::KeyOutcome;
use crate::printable::{Printable, decision_line};
use tau_protocol::trust::{ChangeKind, Folder, Trust};

/// The answers, in display order.
pub const ANSWERS: [(TrustAnswer, &str); 3] = [
    (TrustAnswer::Use, "use them, as shown here"),
    (TrustAnswer::Later, "not now; ask again next time"),
    (TrustAnswer::Never, "never use them"),
];

/// The user's answer about a folder's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustAnswer {
    Use,
    Later,
    Never,
}

/// The kind of a line in the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustLine {
    File,
    Same,
    Added,
    Removed,
}

/// The question on the screen.
#[derive(Clone, Debug, PartialEq)]
pub struct TrustView {
    pub folder: Folder,
    /// The lines of the files, or the differing lines.
    pub lines: Vec<(TrustLine, Printable)>,
    /// Index of the selected answer.
    pub selected: usize,
    /// The files' contents.
    pub reading: Reading,
}

impl TrustView {
    /// A question; the cautious answer is selected.
    pub fn new(folder: Folder) -> Self {
        let lines = lines(&folder);
        TrustView { folder, lines, selected: 1, reading: Reading::default() }
    }

    /// The question.
    pub fn title(&self) -> Printable {
        let place = self.folder.place.as_deref().unwrap_or("This folder");
        let files = self.folder.files.join(", ");
        let files = if files.is_empty() { "no files".to_owned() } else { files };
        decision_line(&match self.folder.trust {
            Trust::Changed => {
                format!(
                    "{place} has project settings that changed since you trusted them ({files}). Use them as they are now?"
                )
            }
            Trust::Trusted => format!("{place} has project settings ({files}), in use. Keep using them?"),
            Trust::Unknown | Trust::Refused => {
                format!("{place} has project settings ({files}). Use them?")
            }
        })
    }

    /// Handles a key; `page` is the number of rows by which the contents scroll.
    pub fn key(&mut self, key: Key, page: usize) -> KeyOutcome<TrustAnswer> {
        let insisted = std::mem::take(&mut self.reading.insists);
        if self.reading.scroll_by_key(key, page) {
            return KeyOutcome::Handled;
        }
        if key.code == KeyCode::Enter {
            let answer = ANSWERS.get(self.selected).map_or(TrustAnswer::Later, |(answer, _)| *answer);
            let is_given = answer != TrustAnswer::Use || self.reading.accepts(insisted);
            return if is_given { KeyOutcome::Done(answer) } else { KeyOutcome::Handled };
        }
        match answer_key(key, &mut self.selected, ANSWERS.len()) {
            KeyOutcome::Closed => KeyOutcome::Done(TrustAnswer::Later),
            outcome => outcome,
        }
    }
}

/// The lines of the files, or the differing lines, with nothing hidden in them.
fn lines(folder: &Folder) -> Vec<(TrustLine, Printable)> {
    let mut lines = Vec::new();
    for change in &folder.changes {
        let kind = match change.kind {
            ChangeKind::New if folder.trust == Trust::Changed => " (new)",
            ChangeKind::New => "",
            ChangeKind::Changed => " (changed)",
            ChangeKind::Gone => " (deleted)",
        };
        lines.push((TrustLine::File, decision_line(&format!("{}{kind}", change.file))));
        lines.extend(change.lines.iter().map(|line| {
            let part = match line.chars().next() {
                Some('+') => TrustLine::Added,
                Some('-') => TrustLine::Removed,
                _ => TrustLine::Same,
            };
            (part, decision_line(line))
        }));
    }
    lines
}
