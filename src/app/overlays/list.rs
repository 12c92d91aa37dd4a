//! A list: its rows, the filter, the selected row, and the report on the last action.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::list_keys::ListFilter;
use crate::key::Key;
use crate::outcome::KeyOutcome;
use crate::printable::Printable;
use crate::request::Ticket;
use tau_tools::user_error::UserError;

/// A row of a list.
pub trait ListRow: Clone {
    /// The texts in which the words of the filter are looked for.
    fn texts(&self) -> Vec<Cow<'_, str>>;

    /// Whether another row, which may be newer, shows the same thing.
    fn is_same(&self, other: &Self) -> bool;

    /// Its rank among those that match this filter; the lowest is the first.
    fn rank(&self, _filter: &str) -> u8 {
        0
    }
}

/// The result of the last action, or the reason why it failed.
pub type Report = Result<Printable, Printable>;

/// The report on an action, as one line.
pub(crate) fn report<T: AsRef<str>, E: AsRef<str>>(answer: &Result<T, E>) -> Report {
    match answer {
        Ok(text) => Ok(Printable::line(text.as_ref())),
        Err(error) => Err(Printable::line(error.as_ref())),
    }
}

/// The list.
#[derive(Clone, Debug, PartialEq)]
pub struct List<R> {
    /// `None` until they are known.
    rows: Option<Vec<R>>,
    /// Index among those that match the filter.
    pub selected: usize,
    pub(super) query: ListFilter,
    /// The report below the list.
    pub said: Option<Report>,
    /// The request that fills it.
    pub(crate) ticket: Option<Ticket>,
    /// The pending action.
    pub(crate) change: Option<Ticket>,
}

impl<R> Default for List<R> {
    fn default() -> Self {
        let (rows, query) = (None, ListFilter::default());
        List { rows, selected: 0, query, said: None, ticket: None, change: None }
    }
}

impl<R> List<R> {
    /// An empty list, before the answer.
    pub(crate) fn waiting(ticket: Ticket) -> Self {
        List { ticket: Some(ticket), ..List::default() }
    }

    /// All rows; `None` until they are known.
    pub fn rows(&self) -> Option<&[R]> {
        self.rows.as_deref()
    }

    /// The typed filter.
    pub fn query(&self) -> &str {
        self.query.text()
    }

    /// The filter while it is typed.
    pub fn typed_filter(&self) -> Option<&str> {
        self.query.is_typed().then(|| self.query.text())
    }

    /// The text in place of rows if there are none; `empty` if there are none without the filter either.
    pub fn nothing<'a>(&self, empty: &'a str) -> &'a str {
        match self.rows.as_ref().map(Vec::is_empty) {
            // The reason is shown below.
            None if matches!(self.said, Some(Err(_))) => "",
            None => "loading…",
            Some(true) => empty,
            Some(false) => "no matches",
        }
    }

    /// Adds pasted text to the filter.
    pub(crate) fn paste(&mut self, text: &str) {
        self.query.paste(text);
        self.selected = 0;
    }
}

impl<R: ListRow> List<R> {
    /// The rows that match the filter.
    pub fn visible_rows(&self) -> Vec<&R> {
        let matches = |row: &&R| {
            let texts = row.texts();
            self.query.matches(&texts.iter().map(AsRef::as_ref).collect::<Vec<_>>())
        };
        let mut shown: Vec<&R> = self.rows.iter().flatten().filter(matches).collect();
        let typed = self.query().trim().to_lowercase();
        shown.sort_by_key(|row| row.rank(&typed));
        shown
    }

    /// The selected row.
    pub fn row(&self) -> Option<&R> {
        self.visible_rows().get(self.selected).copied()
    }

    /// Fills in the current rows; the selection stays on its row.
    pub(crate) fn fill(&mut self, rows: Vec<R>) {
        let kept = self.row().cloned();
        self.rows = Some(rows);
        let shown = self.visible_rows();
        let same = kept.and_then(|kept| shown.iter().position(|row| row.is_same(&kept)));
        self.selected = same.unwrap_or(self.selected).min(shown.len().saturating_sub(1));
        self.ticket = None;
    }

    /// Shows why the rows could not be loaded.
    pub(crate) fn fail(&mut self, why: &str) {
        (self.ticket, self.said) = (None, Some(Err(Printable::line(why))));
    }

    /// Fills in the current rows, or shows in their place why there are none.
    pub(crate) fn take(&mut self, answer: Result<Vec<R>, UserError>) {
        match answer {
            Ok(rows) => self.fill(rows),
            Err(error) => {
                self.fill(Vec::new());
                self.fail(&error);
            }
        }
    }

    /// Handles a key that means the same in every list; `page` is the number of rows on the screen.
    pub(crate) fn key<T>(&mut self, key: Key, page: usize) -> KeyOutcome<T> {
        let count = self.visible_rows().len();
        match self.query.select(key, page, &mut self.selected, count) {
            KeyOutcome::Handled => {}
            KeyOutcome::Ignored if self.query.key(key) => self.selected = 0,
            outcome => return outcome,
        }
        self.said = None;
        KeyOutcome::Handled
    }
}
/// The rows with each helper below its parent; one whose parent is not among them stays in its place.
pub(crate) fn below_parents<T>(
    rows: Vec<T>,
    id: impl Fn(&T) -> String,
    parent: impl Fn(&T) -> Option<String>,
) -> Vec<T> {
    let ids: BTreeSet<String> = rows.iter().map(&id).collect();
    let mut helpers: BTreeMap<String, Vec<T>> = BTreeMap::new();
    let mut rest = Vec::with_capacity(rows.len());
    for row in rows {
        match parent(&row).filter(|parent| ids.contains(parent) && *parent != id(&row)) {
            Some(parent) => helpers.entry(parent).or_default().push(row),
            None => rest.push(row),
        }
    }
    rest.reverse();
    let mut sorted = Vec::with_capacity(ids.len());
    while let Some(row) = rest.pop() {
        rest.extend(helpers.remove(&id(&row)).into_iter().flatten().rev());
        sorted.push(row);
    }
    // Rows that are each other's parents are below nothing.
    sorted.extend(helpers.into_values().flatten());
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_are_below_their_parents() {
        let sorted = |rows: &[(&'static str, Option<&'static str>)]| {
            let sorted = below_parents(rows.to_vec(), |row| row.0.to_owned(), |row| row.1.map(str::to_owned));
            sorted.into_iter().map(|row| row.0).collect::<String>()
        };
        assert_eq!(sorted(&[("a", None), ("b", None), ("c", Some("a"))]), "acb");
        let deep = [("d", Some("c")), ("c", Some("a")), ("e", Some("gone")), ("a", None), ("f", Some("a"))];
        assert_eq!(sorted(&deep), "eacdf");
        assert_eq!(sorted(&[("a", Some("b")), ("b", Some("a")), ("c", Some("c"))]), "cba", "nothing is lost");
    }
}
