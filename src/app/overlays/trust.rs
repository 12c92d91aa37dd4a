//! The question whether to use a folder's project settings, with their contents.

use super::list_keys::answer_key;
use crate::key::{Key, KeyCode};
use crate::outcome::KeyOutcome;
use crate::printable::Printable;
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
    /// Index of the selected answer.
    pub selected: usize,
    /// The first displayed row of the files' contents.
    pub scroll: usize,
    /// The number of rows that the last key scrolled.
    step: usize,
}

impl TrustView {
    /// A question; the cautious answer is selected.
    pub fn new(folder: Folder) -> Self {
        TrustView { folder, selected: 1, scroll: 0, step: 0 }
    }

    /// The question.
    pub fn title(&self) -> Printable {
        let place = self.folder.place.as_deref().unwrap_or("This folder");
        let files = self.folder.files.join(", ");
        let files = if files.is_empty() { "no files".to_owned() } else { files };
        Printable::line(&match self.folder.trust {
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

    /// The lines of the files, or the differing lines.
    pub fn lines(&self) -> Vec<(TrustLine, Printable)> {
        let mut lines = Vec::new();
        for change in &self.folder.changes {
            let kind = match change.kind {
                ChangeKind::New if self.folder.trust == Trust::Changed => " (new)",
                ChangeKind::New => "",
                ChangeKind::Changed => " (changed)",
                ChangeKind::Gone => " (deleted)",
            };
            lines.push((TrustLine::File, Printable::line(&format!("{}{kind}", change.file))));
            lines.extend(change.lines.iter().map(|line| {
                let part = match line.chars().next() {
                    Some('+') => TrustLine::Added,
                    Some('-') => TrustLine::Removed,
                    _ => TrustLine::Same,
                };
                (part, Printable::line(line))
            }));
        }
        lines
    }

    /// Handles a key; `page` is the number of rows by which the contents scroll.
    pub fn key(&mut self, key: Key, page: usize) -> KeyOutcome<TrustAnswer> {
        match key.code {
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(self.step.max(page).max(1)),
            KeyCode::PageDown => {
                self.step = self.step.max(page);
                self.scroll = self.scroll.saturating_add(page);
            }
            KeyCode::Enter => {
                let answer = ANSWERS.get(self.selected).map_or(TrustAnswer::Later, |(answer, _)| *answer);
                return KeyOutcome::Done(answer);
            }
            _ => match answer_key(key, &mut self.selected, ANSWERS.len()) {
                KeyOutcome::Closed => return KeyOutcome::Done(TrustAnswer::Later),
                outcome => return outcome,
            },
        }
        KeyOutcome::Handled
    }
}
