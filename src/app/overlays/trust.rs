//! The question whether to use a folder's project settings, with their contents.

use super::list_keys::answer_key;
use crate::geometry::FrameLayout;
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
    /// The first displayed row of the files' contents.
    pub scroll: usize,
    /// The number of rows that the last key scrolled.
    step: usize,
    /// The furthest row that a frame can start at without skipping rows that were never shown.
    reached: usize,
    /// Whether all rows were on the screen.
    is_seen: bool,
    /// Whether Enter must be pressed again to use files that were not seen as a whole.
    pub insists: bool,
}

impl TrustView {
    /// A question; the cautious answer is selected.
    pub fn new(folder: Folder) -> Self {
        let lines = lines(&folder);
        TrustView {
            folder,
            lines,
            selected: 1,
            scroll: 0,
            step: 0,
            reached: 0,
            is_seen: false,
            insists: false,
        }
    }

    /// Records what a frame has shown of it.
    pub(crate) fn note_shown(&mut self, laid: &FrameLayout) {
        (self.reached, self.is_seen) = self.seen_with(laid);
    }

    /// Whether a frame has shown more of it than those before.
    pub(crate) fn learns_from(&self, laid: &FrameLayout) -> bool {
        (self.reached, self.is_seen) != self.seen_with(laid)
    }

    /// The state after this frame. One that begins further down than those before has left out rows.
    fn seen_with(&self, laid: &FrameLayout) -> (usize, bool) {
        if !laid.has_overlay || self.scroll > self.reached {
            return (self.reached, self.is_seen);
        }
        let below = usize::from(laid.list_page);
        (self.reached.max(self.scroll.saturating_add(below)), self.is_seen || below == 0)
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
        let insists = std::mem::take(&mut self.insists);
        match key.code {
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(self.step.max(page).max(1)),
            KeyCode::PageDown => {
                self.step = self.step.max(page);
                self.scroll = self.scroll.saturating_add(page);
            }
            KeyCode::Enter => {
                let answer = ANSWERS.get(self.selected).map_or(TrustAnswer::Later, |(answer, _)| *answer);
                self.insists = answer == TrustAnswer::Use && !self.is_seen && !insists;
                return if self.insists { KeyOutcome::Handled } else { KeyOutcome::Done(answer) };
            }
            _ => match answer_key(key, &mut self.selected, ANSWERS.len()) {
                KeyOutcome::Closed => return KeyOutcome::Done(TrustAnswer::Later),
                outcome => return outcome,
            },
        }
        KeyOutcome::Handled
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
