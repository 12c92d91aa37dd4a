//! The help overlay: its filter, its scroll position, and actions in a few words.

use super::list_keys::{ListFilter, ListKey};
use crate::action::Action;
use crate::key::{Key, KeyCode};
use crate::outcome::KeyOutcome;

/// The state of the help overlay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HelpView {
    pub(super) query: ListFilter,
    /// The first row shown.
    pub scroll: usize,
}

impl HelpView {
    /// The typed filter.
    pub fn query(&self) -> &str {
        self.query.text()
    }

    /// Whether all words of the query occur in these texts, ignoring case.
    pub fn matches(&self, texts: &[&str]) -> bool {
        self.query.matches(texts)
    }

    /// Handles a key; `below` rows are out of sight, and a page is `page` rows.
    pub(crate) fn key(&mut self, key: Key, below: usize, page: usize) -> KeyOutcome<()> {
        let end = self.scroll.saturating_add(below);
        self.scroll = match (key.code, self.query.list_key(key, page)) {
            (KeyCode::Enter | KeyCode::F(1), _) | (_, Some(ListKey::Close)) => return KeyOutcome::Closed,
            (KeyCode::Char('?'), _) if self.query.text().is_empty() => return KeyOutcome::Closed,
            (_, Some(ListKey::Move(by))) => self.scroll.saturating_add_signed(by).min(end),
            (_, Some(ListKey::Row(row))) => row.min(end),
            (_, Some(ListKey::Filter)) => {
                self.query.begin();
                self.scroll
            }
            (_, None) if self.query.key(key) => 0,
            (_, None) => return KeyOutcome::Ignored,
        };
        KeyOutcome::Handled
    }

    /// Adds pasted text to the query.
    pub(crate) fn paste(&mut self, text: &str) {
        self.query.paste(text);
        self.scroll = 0;
    }

    /// The first of `rows` rows to show when `fit` rows fit.
    pub fn first(&self, rows: usize, fit: usize) -> usize {
        self.scroll.min(rows.saturating_sub(fit))
    }
}

/// An action in at most 18 characters. An action and its opposite share their words.
pub fn label(action: Action) -> &'static str {
    match action {
        Action::Send => "send, or steer",
        Action::FollowUp => "send when done",
        Action::NewLine => "new line",
        Action::FoldPlan => "fold the plan",
        Action::EditQueue => "queued messages",
        Action::Complete => "complete a name",
        Action::HistorySearch => "search prompts",
        Action::HistoryPrevious | Action::HistoryNext => "earlier prompts",
        Action::Stash => "set draft aside",
        Action::Paste => "paste",
        Action::Editor => "edit in $EDITOR",
        Action::Undo | Action::Redo => "undo, redo",
        Action::KillToEnd | Action::KillToStart => "delete to an end",
        Action::KillWordBack | Action::KillWordForward => "delete a word",
        Action::Yank => "insert deleted",
        Action::DeleteBack | Action::DeleteForward => "delete",
        Action::WordLeft | Action::WordRight => "move a word",
        Action::LineStart | Action::LineEnd => "line start, end",
        Action::Models => "choose a model",
        Action::NextModel | Action::PreviousModel => "another model",
        Action::Thinking => "thinking level",
        Action::ToggleTools => "expand output",
        Action::ToggleThinking => "show thinking",
        Action::ToggleDiff => "diff layout",
        Action::CopyAnswer => "copy last answer",
        Action::PageUp | Action::PageDown => "scroll a page",
        Action::RowUp | Action::RowDown => "scroll a row",
        Action::Find => "find",
        Action::PreviousPrompt | Action::NextPrompt => "go to a prompt",
        Action::Top | Action::Tail => "start, end",
        Action::SelectPanel => "select a panel",
        Action::PanelUp | Action::PanelDown => "another panel",
        Action::PanelFold => "expand, collapse",
        Action::PanelCopy => "copy it",
        Action::PanelCopyCommand => "copy its command",
        Action::PanelOpen => "open in $EDITOR",
        Action::PanelReveal => "show its secrets",
        Action::PanelRerun => "without sandbox",
        Action::PanelLeave => "leave it",
        Action::Cancel => "stop; twice: tree",
        Action::Clear => "clear; twice: quit",
        Action::Exit => "quit",
        Action::Suspend | Action::Background => "suspend, leave",
        Action::Board => "all sessions",
        Action::Jobs | Action::MoveToBackground => "background jobs",
        Action::Answer => "answer, or write",
        Action::Mode => "permission mode",
        Action::GiveKeyboard | Action::TakeKeyboard => "type into !command",
        Action::Help => "this help",
        Action::Palette => "all actions",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::TABLE;

    #[test]
    fn labels_are_short() {
        for row in TABLE {
            assert!(label(row.action).chars().count() <= 18, "{}", row.name);
        }
    }
}
