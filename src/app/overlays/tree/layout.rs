//! Lays out the outline of a session as rows of the tree.

use std::collections::BTreeSet;

use super::{TreeRow, TreeView};
use tau_protocol::outline::OutlineRow;

impl TreeView {
    /// Lays out the rows that pass the filter and the search.
    pub(super) fn lay_out(&mut self) {
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

    fn matches(&self, row: &OutlineRow, words: &[String]) -> bool {
        if !self.filter.takes(row) {
            return false;
        }
        let text = row.text.to_lowercase();
        let label = row.label.as_deref().unwrap_or_default().to_lowercase();
        words.iter().all(|word| text.contains(word) || label.contains(word))
    }
}

/// Sibling rows, last first, each with its lead and the lead of its children. Only a branching point indents.
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
