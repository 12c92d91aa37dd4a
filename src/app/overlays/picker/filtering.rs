//! The rows of a list that fit what was typed.

use std::collections::BTreeSet;

use super::super::list::below_parents;
use super::{Picker, PickerKind, PickerRow};
use crate::fuzzy::{self, FuzzyMatch};

impl Picker {
    /// Shows the rows that fit a query that has just become this one, and selects the first.
    pub(super) fn refilter(&mut self, before: &str) {
        self.browsing = false;
        self.found.clear();
        let is_longer = !before.trim().is_empty() && self.query().starts_with(before);
        if is_longer {
            // No other row can fit.
            let mut shown: Vec<usize> = self.shown.iter().map(|found| found.index).collect();
            shown.sort_unstable();
            self.filter_among(shown);
        } else {
            self.filter();
        }
        self.selected = 0;
    }

    /// Shows the rows that fit the query.
    pub(super) fn filter(&mut self) {
        self.filter_among(0..self.rows.len());
    }

    fn filter_among(&mut self, indices: impl IntoIterator<Item = usize>) {
        // What a column shows is found, too.
        let has_source = self.shows_source();
        let text = |row: &PickerRow| match has_source {
            true => format!("{} {}", row.title.as_str(), row.source.name()),
            false => row.title.to_string(),
        };
        let texts = indices.into_iter().filter_map(|index| Some((index, text(self.rows.get(index)?))));
        self.shown = fuzzy::rank_words_of(self.query.text(), texts);
        for found in &mut self.shown {
            let end = self.rows.get(found.index).map_or(0, |row| row.title.len());
            found.marks.retain(|at| *at < end);
        }
        let (rows, shows_hidden) = (&self.rows, self.shows_hidden);
        let is_hidden = |index: usize| !shows_hidden && rows.get(index).is_some_and(PickerRow::is_hidden);
        self.shown.retain(|found| !is_hidden(found.index));
        if self.kind == PickerKind::Models {
            self.shown.sort_by_key(|found| rows.get(found.index).is_some_and(|row| row.dimmed));
        }
        if shows_hidden && self.query.text().is_empty() && rows.iter().any(|row| row.parent.is_some()) {
            let row = |found: &FuzzyMatch| rows.get(found.index);
            self.shown = below_parents(
                std::mem::take(&mut self.shown),
                |found| row(found).map(|row| row.key.clone()).unwrap_or_default(),
                |found| row(found).and_then(|row| row.parent.clone()),
            );
        }
        if self.found.is_empty() {
            return;
        }
        let by_title: BTreeSet<usize> = self.shown.iter().map(|found| found.index).collect();
        let said = |(index, row): (usize, &PickerRow)| {
            let also = self.found.contains_key(&row.key) && !by_title.contains(&index) && !is_hidden(index);
            also.then(|| FuzzyMatch { index, marks: Vec::new() })
        };
        self.shown.extend(self.rows.iter().enumerate().filter_map(said));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::printable::Printable;

    #[test]
    fn a_list_that_narrows_shows_what_a_new_one_would() {
        let row = |title: &&str| PickerRow { title: Printable::line(title), ..PickerRow::default() };
        let titles = ["fix it", "Fix its tests", "a prefix", "it", "its fix", "tests"];
        for typed in
            ["f i x", "i t space f", "I backspace i t s", "e f backspace s", "t e s t s backspace backspace"]
        {
            let mut picker = Picker::new(PickerKind::Sessions { all: false }, "Sessions", "none");
            picker.add(titles.iter().map(row).collect());
            for key in ["/"].into_iter().chain(typed.split(' ')) {
                picker.key(key.parse().unwrap(), 10);
                let mut fresh = picker.clone();
                fresh.filter();
                assert_eq!(picker.shown, fresh.shown, "{typed}: {}", picker.query());
            }
            assert!(!picker.query().is_empty() && !picker.shown.is_empty(), "{typed}");
        }
    }
}
