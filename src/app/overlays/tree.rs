//! The session's tree on the screen: folding, filtering, searching, and choosing a row.
//!
//! The rows come from the agent; `update/tree.rs` carries out a choice. Layout never recurses, as a
//! conversation is a tree thousands of rows deep.

mod filter;
mod layout;

use std::collections::BTreeSet;

use super::list_keys::{ListFilter, ListKey, answer_key, step_clamped};
use crate::key::{Key, KeyCode, Mods};
use crate::line_edit::LineEdit;
use crate::outcome::KeyOutcome;
use crate::time_format::Times;
pub use filter::TreeFilter;
use tau_protocol::command::BranchSummaryOptions;
use tau_protocol::outline::{Outline, OutlineRow, RowKind};

/// A laid out row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeRow {
    /// Its index in the outline.
    pub row: usize,
    /// The lines that lead to it from the branching point.
    pub lead: String,
    /// Whether the rows below it are hidden.
    pub folded: bool,
    /// On the path to the current point of the conversation.
    pub active: bool,
    /// The current point of the conversation.
    pub current: bool,
}

/// The current use of the keys.
#[derive(Clone, Debug, PartialEq)]
pub enum TreeStep {
    Browse,
    /// A label for the selected row is being typed.
    Label(LineEdit),
    /// The way to leave the branch is being chosen; an index in [`WAYS`].
    Leave(usize),
    /// The focus of the summary is being typed.
    Focus(LineEdit),
}

/// Ways to leave a branch.
pub const WAYS: [&str; 3] = [
    "go there",
    "go there and summarize this branch",
    "go there and summarize this branch with a focus you type",
];

/// The user's decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeChoice {
    /// Continue from this entry.
    Go { entry_id: String, summary: Option<BranchSummaryOptions> },
    /// Start a session from before this message.
    Fork { entry_id: String },
    /// Label the entry; the tree stays open.
    Label { entry_id: String, label: Option<String> },
    /// The conversation is already there.
    Here,
    /// A fork at an entry that is not a user message; the tree stays open.
    NotYours,
}

/// The tree.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeView {
    outline: Outline,
    /// Whether rows are still loading.
    pub loading: bool,
    shown: Vec<TreeRow>,
    selected: usize,
    /// The row that was selected before all rows disappeared.
    lost: Option<usize>,
    pub filter: TreeFilter,
    folded: BTreeSet<String>,
    pub(super) query: ListFilter,
    /// When rows were written is shown so.
    pub times: Times,
    pub step: TreeStep,
}

impl Default for TreeView {
    fn default() -> Self {
        TreeView {
            outline: Outline::default(),
            loading: true,
            shown: Vec::new(),
            selected: 0,
            lost: None,
            filter: TreeFilter::default(),
            folded: BTreeSet::new(),
            query: ListFilter::default(),
            times: Times::default(),
            step: TreeStep::Browse,
        }
    }
}

impl TreeView {
    /// Fills in the rows. The selection stays on its entry, or starts at the current point.
    pub fn fill(&mut self, outline: Outline) {
        let kept = self.selected_row().map(|row| row.id.clone());
        self.outline = outline;
        self.lost = None;
        self.lay_out();
        let place = kept.and_then(|id| self.place(|row| row.id == id));
        self.selected = place.or_else(|| self.shown.iter().position(|shown| shown.current)).unwrap_or(0);
        self.loading = false;
    }

    /// The laid out rows.
    pub fn visible_rows(&self) -> &[TreeRow] {
        &self.shown
    }

    /// The row at an index of the outline.
    pub fn row(&self, place: usize) -> Option<&OutlineRow> {
        self.outline.rows.get(place)
    }

    /// The total number of rows.
    pub fn count(&self) -> usize {
        self.outline.rows.len()
    }

    /// Index of the selected row among the displayed ones.
    pub fn selected_index(&self) -> usize {
        self.selected
    }

    /// The search query.
    pub fn query(&self) -> &str {
        self.query.text()
    }

    /// Handles a key; `page` is the number of rows on the screen.
    pub fn key(&mut self, key: Key, page: usize) -> KeyOutcome<TreeChoice> {
        match std::mem::replace(&mut self.step, TreeStep::Browse) {
            TreeStep::Browse => self.browse(key, page),
            TreeStep::Label(line) => self.label(line, key),
            TreeStep::Leave(way) => self.leave(way, key),
            TreeStep::Focus(line) => self.focus(line, key),
        }
    }

    /// Adds pasted text to the current input.
    pub fn paste(&mut self, text: &str) {
        match &mut self.step {
            TreeStep::Browse => {
                self.query.paste(text);
                self.relay();
            }
            TreeStep::Label(line) | TreeStep::Focus(line) => line.paste(text),
            TreeStep::Leave(_) => {}
        }
    }

    fn browse(&mut self, key: Key, page: usize) -> KeyOutcome<TreeChoice> {
        match (key.code, key.mods) {
            (KeyCode::Esc, _) if !self.query.text().is_empty() => {
                self.query = ListFilter::default();
                self.relay();
            }
            (KeyCode::Enter, _) => return self.enter(),
            (KeyCode::Left, _) => self.fold(),
            (KeyCode::Right, _) => self.unfold(),
            (KeyCode::Tab, Mods::SHIFT) => self.refilter(-1),
            (KeyCode::Tab, _) => self.refilter(1),
            (KeyCode::Char('t'), Mods::CTRL) => self.times = self.times.next(),
            (KeyCode::Char('l'), Mods::CTRL) => {
                let label = self.selected_row().map(|row| row.label.clone().unwrap_or_default());
                self.step = label.map_or(TreeStep::Browse, |label| TreeStep::Label(LineEdit::new(label)));
            }
            (KeyCode::Char('f'), Mods::CTRL) => {
                return match self.selected_row() {
                    Some(row) if row.kind == RowKind::User => {
                        KeyOutcome::Done(TreeChoice::Fork { entry_id: row.id.clone() })
                    }
                    Some(_) => KeyOutcome::Done(TreeChoice::NotYours),
                    None => KeyOutcome::Handled,
                };
            }
            _ => match self.query.list_key(key, page) {
                Some(ListKey::Close) => return KeyOutcome::Closed,
                Some(ListKey::Move(by)) => self.step_by(by),
                Some(ListKey::Row(row)) => self.selected = row.min(self.shown.len().saturating_sub(1)),
                Some(ListKey::Filter) => self.query.begin(),
                None if self.query.key(key) => self.relay(),
                None => return KeyOutcome::Ignored,
            },
        }
        KeyOutcome::Handled
    }

    fn enter(&mut self) -> KeyOutcome<TreeChoice> {
        let Some(shown) = self.shown.get(self.selected) else { return KeyOutcome::Handled };
        let user = self.row(shown.row).is_some_and(|row| row.kind == RowKind::User);
        if !user && self.is_current(shown.row) {
            return KeyOutcome::Done(TreeChoice::Here);
        }
        self.step = TreeStep::Leave(0);
        KeyOutcome::Handled
    }

    /// Whether only settings follow that row. The row marked as current may be further up, where a filter or
    /// a search hides what follows it.
    fn is_current(&self, row: usize) -> bool {
        let mut next = self.outline.leaf;
        while let Some(at) = next {
            if at == row {
                return true;
            }
            next = self.row(at).filter(|row| row.kind == RowKind::Setting).and_then(|row| row.parent);
        }
        false
    }

    fn label(&mut self, mut line: LineEdit, key: Key) -> KeyOutcome<TreeChoice> {
        match (key.code, key.mods) {
            (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => return KeyOutcome::Handled,
            (KeyCode::Enter, _) => {
                let Some(row) = self.selected_row() else { return KeyOutcome::Handled };
                let label = Some(line.text().trim().to_owned()).filter(|label| !label.is_empty());
                return KeyOutcome::Done(TreeChoice::Label { entry_id: row.id.clone(), label });
            }
            _ => drop(line.key(key)),
        }
        self.step = TreeStep::Label(line);
        KeyOutcome::Handled
    }

    fn leave(&mut self, mut way: usize, key: Key) -> KeyOutcome<TreeChoice> {
        match key.row().filter(|at| *at < WAYS.len()).or((key.code == KeyCode::Enter).then_some(way)) {
            Some(0) => return self.go(None),
            Some(1) => return self.go(Some(BranchSummaryOptions::default())),
            Some(_) => {
                self.step = TreeStep::Focus(LineEdit::default());
                return KeyOutcome::Handled;
            }
            None => {}
        }
        if answer_key::<()>(key, &mut way, WAYS.len()) == KeyOutcome::Closed {
            return KeyOutcome::Handled;
        }
        self.step = TreeStep::Leave(way);
        KeyOutcome::Handled
    }

    fn focus(&mut self, mut line: LineEdit, key: Key) -> KeyOutcome<TreeChoice> {
        match (key.code, key.mods) {
            (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => {
                self.step = TreeStep::Leave(2);
                return KeyOutcome::Handled;
            }
            (KeyCode::Enter, _) => {
                let wish = Some(line.text().trim().to_owned()).filter(|wish| !wish.is_empty());
                return self.go(Some(BranchSummaryOptions { instructions: wish }));
            }
            _ => drop(line.key(key)),
        }
        self.step = TreeStep::Focus(line);
        KeyOutcome::Handled
    }

    fn go(&self, summary: Option<BranchSummaryOptions>) -> KeyOutcome<TreeChoice> {
        match self.selected_row() {
            Some(row) => KeyOutcome::Done(TreeChoice::Go { entry_id: row.id.clone(), summary }),
            None => KeyOutcome::Handled,
        }
    }

    fn selected_row(&self) -> Option<&OutlineRow> {
        self.row(self.shown.get(self.selected)?.row)
    }

    fn step_by(&mut self, by: isize) {
        self.selected = step_clamped(self.selected, by, self.shown.len());
    }

    /// Hides the rows below the selected one; without any, goes to the row above it.
    fn fold(&mut self) {
        let Some(shown) = self.shown.get(self.selected) else { return };
        let below = self.shown.get(self.selected + 1).is_some_and(|next| self.is_below(next.row, shown.row));
        if below && !shown.folded {
            let id = self.selected_row().map(|row| row.id.clone());
            self.folded.extend(id);
            self.relay();
        } else if let Some(parent) = self.visible_parent(shown.row) {
            self.selected = self.shown.iter().position(|shown| shown.row == parent).unwrap_or(self.selected);
        }
    }

    fn unfold(&mut self) {
        let id = self.selected_row().map(|row| row.id.clone());
        if id.is_some_and(|id| self.folded.remove(&id)) {
            self.relay();
        } else {
            self.step_by(1);
        }
    }

    fn refilter(&mut self, by: isize) {
        self.filter = self.filter.step(by);
        self.relay();
    }

    /// Repeats the layout; the selection stays on its row, or goes to the nearest above it.
    fn relay(&mut self) {
        let row = self.shown.get(self.selected).map(|shown| shown.row).or(self.lost);
        self.lay_out();
        self.lost = row.filter(|_| self.shown.is_empty());
        let mut next = row;
        while let Some(row) = next {
            if let Some(place) = self.shown.iter().position(|shown| shown.row == row) {
                self.selected = place;
                return;
            }
            next = self.row(row).and_then(|row| row.parent);
        }
        self.selected = self.selected.min(self.shown.len().saturating_sub(1));
    }

    fn place(&self, is_it: impl Fn(&OutlineRow) -> bool) -> Option<usize> {
        self.shown.iter().position(|shown| self.row(shown.row).is_some_and(&is_it))
    }

    fn is_below(&self, row: usize, above: usize) -> bool {
        let mut next = Some(row);
        while let Some(at) = next {
            if at == above {
                return true;
            }
            next = self.row(at).and_then(|row| row.parent);
        }
        false
    }

    fn visible_parent(&self, row: usize) -> Option<usize> {
        let mut next = self.row(row)?.parent;
        while let Some(at) = next {
            if self.shown.iter().any(|shown| shown.row == at) {
                return Some(at);
            }
            next = self.row(at)?.parent;
        }
        None
    }
}

#[cfg(test)]
mod tests;
