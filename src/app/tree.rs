//! The session's tree on the screen: rows to go to, folded, filtered and searched.
//!
//! The rows come from the agent; where the person goes from here is for `update/tree.rs`. Laying
//! out never recurses, as a conversation is a tree of thousands of generations.

mod filter;

use std::collections::BTreeSet;

use super::key::{Key, KeyCode, Mods};
use super::line_edit::LineEdit;
use super::overlay::KeyOutcome;
use super::time_format::Times;
use crate::agent::protocol::command::BranchSummaryOptions;
use crate::agent::session::outline::{Outline, OutlineRow, RowKind};
pub use filter::TreeFilter;

/// A row as it is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeRow {
    /// Its place in the outline.
    pub row: usize,
    /// The lines that lead to it from where the tree parts.
    pub lead: String,
    /// Rows below it are hidden.
    pub folded: bool,
    /// On the path to where the conversation stands.
    pub active: bool,
    /// The conversation stands here.
    pub current: bool,
}

/// What the keys are for at the moment.
#[derive(Clone, Debug, PartialEq)]
pub enum TreeStep {
    Browse,
    /// A label for the selected row is being typed.
    Label(LineEdit),
    /// How to leave the branch is being chosen; the place of the choice in [`WAYS`].
    Leave(usize),
    /// What the summary is to look at is being typed.
    Wish(LineEdit),
}

/// Ways to leave a branch.
pub const WAYS: [&str; 3] = [
    "go there",
    "go there with a summary of the branch that is left",
    "go there with a summary of what you name",
];

/// What the person decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeChoice {
    /// Go on from this entry.
    Go { entry_id: String, summary: Option<BranchSummaryOptions> },
    /// Begin a session with what stands before this message.
    Fork { entry_id: String },
    /// Label the entry; the tree stays open.
    Label { entry_id: String, label: Option<String> },
    /// The conversation stands there already.
    Here,
    /// A fork of what is no message of the person's; the tree stays open.
    NotYours,
}

/// The tree.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeView {
    outline: Outline,
    /// Rows are on their way.
    pub loading: bool,
    shown: Vec<TreeRow>,
    selected: usize,
    /// The row that was selected before nothing was left to select.
    lost: Option<usize>,
    pub filter: TreeFilter,
    folded: BTreeSet<String>,
    query: LineEdit,
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
            query: LineEdit::default(),
            times: Times::default(),
            step: TreeStep::Browse,
        }
    }
}

impl TreeView {
    /// Takes the rows. The selection stays on its entry, or begins where the conversation stands.
    pub fn fill(&mut self, outline: Outline) {
        let kept = self.selected_row().map(|row| row.id.clone());
        self.outline = outline;
        self.lost = None;
        self.lay_out();
        let place = kept.and_then(|id| self.place(|row| row.id == id));
        self.selected = place.or_else(|| self.shown.iter().position(|shown| shown.current)).unwrap_or(0);
        self.loading = false;
    }

    /// The rows as laid out.
    pub fn shown(&self) -> &[TreeRow] {
        &self.shown
    }

    /// The row at a place of the outline.
    pub fn row(&self, place: usize) -> Option<&OutlineRow> {
        self.outline.rows.get(place)
    }

    /// How many rows there are in all.
    pub fn count(&self) -> usize {
        self.outline.rows.len()
    }

    /// Index of the selected row among those shown.
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// What is searched for.
    pub fn query(&self) -> &str {
        self.query.text()
    }

    /// Takes a key; `page` is the number of rows on the screen.
    pub fn key(&mut self, key: Key, page: usize) -> KeyOutcome<TreeChoice> {
        match std::mem::replace(&mut self.step, TreeStep::Browse) {
            TreeStep::Browse => self.browse(key, page),
            TreeStep::Label(line) => self.label(line, key),
            TreeStep::Leave(way) => self.leave(way, key),
            TreeStep::Wish(line) => self.wish(line, key),
        }
    }

    /// Adds pasted text to what is typed.
    pub fn paste(&mut self, text: &str) {
        match &mut self.step {
            TreeStep::Browse => {
                self.query.paste(text);
                self.relay();
            }
            TreeStep::Label(line) | TreeStep::Wish(line) => line.paste(text),
            TreeStep::Leave(_) => {}
        }
    }

    fn browse(&mut self, key: Key, page: usize) -> KeyOutcome<TreeChoice> {
        match (key.code, key.mods) {
            (KeyCode::Esc, _) if !self.query.text().is_empty() => {
                self.query = LineEdit::default();
                self.relay();
            }
            (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => return KeyOutcome::Closed,
            (KeyCode::Enter, _) => return self.enter(),
            (KeyCode::Up, _) | (KeyCode::Char('p'), Mods::CTRL) => self.step_by(-1),
            (KeyCode::Down, _) | (KeyCode::Char('n'), Mods::CTRL) => self.step_by(1),
            (KeyCode::PageUp, _) => self.step_by(-(page.max(1) as isize)),
            (KeyCode::PageDown, _) => self.step_by(page.max(1) as isize),
            (KeyCode::Home, _) => self.selected = 0,
            (KeyCode::End, _) => self.selected = self.shown.len().saturating_sub(1),
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
            _ if self.query.key(key) => self.relay(),
            _ => return KeyOutcome::Ignored,
        }
        KeyOutcome::Handled
    }

    fn enter(&mut self) -> KeyOutcome<TreeChoice> {
        let Some(shown) = self.shown.get(self.selected) else { return KeyOutcome::Handled };
        let user = self.row(shown.row).is_some_and(|row| row.kind == RowKind::User);
        if !user && self.stands_at(shown.row) {
            return KeyOutcome::Done(TreeChoice::Here);
        }
        self.step = TreeStep::Leave(0);
        KeyOutcome::Handled
    }

    /// Whether nothing but settings came after that row. The row that is marked as current may
    /// stand further up, where a filter or a search hides what came after it.
    fn stands_at(&self, row: usize) -> bool {
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

    fn leave(&mut self, way: usize, key: Key) -> KeyOutcome<TreeChoice> {
        let way = match (key.code, key.mods) {
            (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => return KeyOutcome::Handled,
            (KeyCode::Up, _) => way.saturating_sub(1),
            (KeyCode::Down, _) => (way + 1).min(WAYS.len() - 1),
            (KeyCode::Enter, _) if way == 0 => return self.go(None),
            (KeyCode::Enter, _) if way == 1 => return self.go(Some(BranchSummaryOptions::default())),
            (KeyCode::Enter, _) => {
                self.step = TreeStep::Wish(LineEdit::default());
                return KeyOutcome::Handled;
            }
            _ => way,
        };
        self.step = TreeStep::Leave(way);
        KeyOutcome::Handled
    }

    fn wish(&mut self, mut line: LineEdit, key: Key) -> KeyOutcome<TreeChoice> {
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
        self.step = TreeStep::Wish(line);
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
        let last = self.shown.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    /// Hides what is below the selected row; with nothing below it, goes to the row above it.
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

    /// Lays out anew; the selection stays on its row, or goes to the nearest above it.
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

    fn matches(&self, row: &OutlineRow, words: &[String]) -> bool {
        if !self.filter.takes(row) {
            return false;
        }
        let text = row.text.to_lowercase();
        let label = row.label.as_deref().unwrap_or_default().to_lowercase();
        words.iter().all(|word| text.contains(word) || label.contains(word))
    }

    fn lay_out(&mut self) {
        let rows = &self.outline.rows;
        let words: Vec<String> = self.query.text().split_whitespace().map(str::to_lowercase).collect();
        let visible: Vec<bool> = rows.iter().map(|row| self.matches(row, &words)).collect();
        let is_visible = |at: usize| visible.get(at).copied().unwrap_or_default();
        // The nearest visible row at or above each; parents come first, so one pass is enough.
        let mut nearest: Vec<Option<usize>> = Vec::with_capacity(rows.len());
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
        let mut roots = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let above = row.parent.and_then(|parent| nearest.get(parent).copied().flatten());
            nearest.push(if is_visible(at) { Some(at) } else { above });
            if is_visible(at) {
                match above.and_then(|above| children.get_mut(above)) {
                    Some(siblings) => siblings.push(at),
                    None => roots.push(at),
                }
            }
        }
        let current = self.outline.leaf.and_then(|leaf| nearest.get(leaf).copied().flatten());
        let mut active = BTreeSet::new();
        let mut next = self.outline.leaf;
        while let Some(at) = next.filter(|at| active.insert(*at)) {
            next = rows.get(at).and_then(|row| row.parent);
        }
        let mut shown = Vec::new();
        let mut open: Vec<(usize, String, String)> = siblings(&roots, "");
        while let Some((at, lead, below)) = open.pop() {
            let id = rows.get(at).map(|row| row.id.as_str()).unwrap_or_default();
            let under = children.get(at).map(Vec::as_slice).unwrap_or_default();
            let folded = words.is_empty() && !under.is_empty() && self.folded.contains(id);
            shown.push(TreeRow {
                row: at,
                lead,
                folded,
                active: active.contains(&at),
                current: current == Some(at),
            });
            if !folded {
                open.extend(siblings(under, &below));
            }
        }
        self.shown = shown;
    }
}

/// Rows below one another, last first, each with what leads to it and to what is below it. Only
/// where the tree parts does it go to the right.
fn siblings(rows: &[usize], lead: &str) -> Vec<(usize, String, String)> {
    let one = rows.len() < 2;
    let last = rows.last().copied();
    let row = |at: &usize| match (one, Some(*at) == last) {
        (true, _) => (*at, lead.to_owned(), lead.to_owned()),
        (false, true) => (*at, format!("{lead}└ "), format!("{lead}  ")),
        (false, false) => (*at, format!("{lead}├ "), format!("{lead}│ ")),
    };
    rows.iter().rev().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `id<parent:text`, a row each.
    fn view(rows: &[(&str, &str, RowKind)], leaf: usize) -> TreeView {
        let ids: Vec<&str> = rows.iter().map(|(id, ..)| *id).collect();
        let row = |(id, parent, kind): &(&str, &str, RowKind)| OutlineRow {
            id: (*id).to_owned(),
            parent: ids.iter().position(|known| known == parent),
            kind: *kind,
            text: format!("text {id}"),
            ..OutlineRow::default()
        };
        let mut view = TreeView::default();
        view.fill(Outline { rows: rows.iter().map(row).collect(), leaf: Some(leaf) });
        view
    }

    fn forked() -> TreeView {
        use RowKind::{Assistant, Setting, Tool, User};
        let rows = [
            ("a", "", User),
            ("s", "a", Setting),
            ("b", "s", Assistant),
            ("c", "b", User),
            ("d", "b", User),
            ("t", "d", Tool),
            ("e", "t", Assistant),
        ];
        view(&rows, 6)
    }

    fn drawn(view: &TreeView) -> Vec<String> {
        let row = |shown: &TreeRow| {
            let id = &view.row(shown.row).unwrap().id;
            let mark = if shown.current { "*" } else { "" };
            let fold = if shown.folded { "+" } else { "" };
            format!("{}{id}{mark}{fold}", shown.lead)
        };
        view.shown().iter().map(row).collect()
    }

    fn press(view: &mut TreeView, keys: &str) -> KeyOutcome<TreeChoice> {
        let mut last = KeyOutcome::Ignored;
        for key in keys.split(' ') {
            last = view.key(key.parse().expect(key), 10);
        }
        last
    }

    #[test]
    fn rows_go_right_only_where_the_tree_parts() {
        let mut view = forked();
        assert_eq!(drawn(&view), ["a", "b", "├ c", "└ d", "  t", "  e*"]);
        press(&mut view, "tab");
        assert_eq!(drawn(&view), ["a", "b", "├ c", "└ d", "  e*"]);
        press(&mut view, "tab");
        assert_eq!(drawn(&view), ["a", "├ c", "└ d*"]);
        press(&mut view, "shift+tab shift+tab shift+tab");
        assert_eq!(drawn(&view), ["a", "s", "b", "├ c", "└ d", "  t", "  e*"]);
    }

    #[test]
    fn rows_are_folded_and_searched() {
        let mut view = forked();
        press(&mut view, "up up left");
        assert_eq!(drawn(&view), ["a", "b", "├ c", "└ d+"]);
        press(&mut view, "left left");
        assert_eq!(drawn(&view), ["a", "b+"], "from a folded row up, and that folded");
        press(&mut view, "right");
        assert_eq!(drawn(&view).len(), 4);
        press(&mut view, "t e x t space e");
        assert_eq!(drawn(&view), ["a", "b", "├ c", "└ d", "  t", "  e*"], "a search looks into folds");
        press(&mut view, "backspace backspace backspace backspace backspace backspace e");
        assert_eq!(press(&mut view, "esc"), KeyOutcome::Handled);
        let selected = view.selected();
        press(&mut view, "n o t h e r e esc");
        assert_eq!(view.selected(), selected, "the place is kept where nothing matches");
        assert_eq!(press(&mut view, "esc"), KeyOutcome::Closed);
    }

    #[test]
    fn a_choice_says_where_to_go_and_how() {
        let go = |summary| KeyOutcome::Done(TreeChoice::Go { entry_id: "c".into(), summary });
        let wish = Some(BranchSummaryOptions { instructions: Some("xy".into()) });
        let cases = [
            ("enter", KeyOutcome::Done(TreeChoice::Here)),
            ("up up up enter enter", go(None)),
            ("up up up enter down enter", go(Some(BranchSummaryOptions::default()))),
            ("up up up enter down down enter x y enter", go(wish)),
            ("up up up enter esc enter esc", KeyOutcome::Handled),
            ("up up up ctrl+f", KeyOutcome::Done(TreeChoice::Fork { entry_id: "c".into() })),
            ("ctrl+f", KeyOutcome::Done(TreeChoice::NotYours)),
            ("z ctrl+f", KeyOutcome::Handled),
            (
                "ctrl+l n enter",
                KeyOutcome::Done(TreeChoice::Label { entry_id: "e".into(), label: Some("n".into()) }),
            ),
            ("ctrl+l enter", KeyOutcome::Done(TreeChoice::Label { entry_id: "e".into(), label: None })),
        ];
        for (keys, expected) in cases {
            assert_eq!(press(&mut forked(), keys), expected, "{keys}");
        }
    }

    #[test]
    fn where_the_conversation_stands_is_not_what_a_search_leaves_of_it() {
        let to_b = KeyOutcome::Done(TreeChoice::Go { entry_id: "b".into(), summary: None });
        assert_eq!(press(&mut forked(), "t e x t space b enter enter"), to_b);
        let rows = [("a", "", RowKind::User), ("b", "a", RowKind::Assistant), ("s", "b", RowKind::Setting)];
        assert_eq!(
            press(&mut view(&rows, 2), "enter"),
            KeyOutcome::Done(TreeChoice::Here),
            "a setting is no step"
        );
    }

    #[test]
    fn a_long_conversation_is_laid_out_without_recursion() {
        let ids: Vec<String> = (0..20_000).map(|id| id.to_string()).collect();
        let rows = (0..20_000).map(|at: usize| OutlineRow {
            id: ids[at].clone(),
            parent: at.checked_sub(1),
            text: "x".into(),
            ..OutlineRow::default()
        });
        let mut view = TreeView::default();
        view.fill(Outline { rows: rows.collect(), leaf: Some(19_999) });
        assert_eq!((view.shown().len(), view.selected()), (20_000, 19_999));
    }
}
