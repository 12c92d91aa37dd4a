//! A list to choose from: one widget for sessions, models, levels, themes, providers, prompts.
//!
//! Typing filters, rows may stream in while it is open, and it answers with a row's key. `update/overlays.rs`
//! carries out the choice.

mod filtering;

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::list_keys::{ListFilter, ListKey, step_clamped};
use crate::fuzzy::FuzzyMatch;
use crate::key::{Key, KeyCode, Mods};
use crate::line_edit::LineEdit;
use crate::msg::Millis;
use crate::outcome::KeyOutcome;
use crate::printable::Printable;
use crate::request::Ticket;
use tau_protocol::session_row::{LastExchange, SessionOrigin};

/// The kind of the rows, which gives a choice its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PickerKind {
    /// Sessions of this directory, or of all.
    Sessions {
        all: bool,
    },
    Models,
    Thinking,
    Themes,
    Providers,
    /// Providers whose keys are stored.
    StoredKeys,
    Prompts,
    /// Every action and slash command.
    Palette,
    /// Messages of the user; the chosen one starts a session from before it.
    Forks,
    /// Messages of the user; the conversation returns to before the chosen one.
    Checkpoints,
    /// The scope of an undo: files, conversation or both.
    UndoScope,
    /// The treatment of a file that the user changed as well.
    UndoConflict,
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PickerRow {
    /// The answer when it is chosen.
    pub key: String,
    pub title: Printable,
    /// Shown at the right end.
    pub note: Printable,
    /// Whether it is currently in use.
    pub current: bool,
    /// A favourite.
    pub marked: bool,
    /// Not usable; in the list of models below all others, whatever the query.
    pub dimmed: bool,
    /// Shown only on request.
    pub hidden: bool,
    /// Of a session of tau: its id.
    pub id: String,
    /// Of a session: whether the user has put it away. Shown only on request.
    pub archived: bool,
    /// Of a session: when it was last changed. The latest is first; rows without a time stay in their order.
    pub time: Millis,
    /// Of a session: the program that wrote it.
    pub source: SessionOrigin,
    /// Of a helper's session: the key of its parent.
    pub parent: Option<String>,
}

impl PickerRow {
    /// Whether it is shown only on request.
    pub fn is_hidden(&self) -> bool {
        self.hidden || self.archived
    }
}

/// The place in a session in which the query occurs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextMatch {
    pub line: Printable,
    /// The text by which the place is found once the session is open.
    pub passage: String,
}

/// The action on a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PickerChoice {
    Pick(String),
    Delete(String),
    /// Give the row this name.
    Rename(String, String),
    /// Mark the row as a favourite, or unmark it.
    Mark(String),
    /// Put the session away, or bring it back.
    Archive(String),
    /// Show the other set of rows (this directory, or all).
    Scope,
}

/// The list.
#[derive(Clone, Debug, PartialEq)]
pub struct Picker {
    pub kind: PickerKind,
    pub title: Cow<'static, str>,
    /// More rows are still loading.
    pub loading: bool,
    /// Enter was pressed before any row arrived: it chooses the first match.
    pub(crate) entered: bool,
    /// The selection was moved after typing, so Space is not text.
    browsing: bool,
    /// The text for an empty list.
    pub empty: &'static str,
    query: ListFilter,
    rows: Vec<PickerRow>,
    shown: Vec<FuzzyMatch>,
    selected: usize,
    /// Whether hidden rows were requested.
    shows_hidden: bool,
    /// The session that is being put away or brought back.
    pub(crate) archives: Option<(Ticket, String)>,
    /// The row whose deletion waits for a second press.
    to_delete: Option<String>,
    /// A new name for the selected row, while being typed.
    renaming: Option<LineEdit>,
    /// Sessions with the query in what was said, whatever their titles, and the match.
    found: BTreeMap<String, TextMatch>,
    /// The pending search for them.
    pub search: Option<Ticket>,
    /// The last exchange of the selected session, once it is known.
    pub preview: Option<LastExchange>,
    /// The pending request for it.
    pub(crate) looks: Option<Ticket>,
    /// Why the last key did nothing.
    pub refusal: Option<String>,
}

impl Picker {
    /// An empty list, before its rows.
    pub fn new(kind: PickerKind, title: &'static str, empty: &'static str) -> Self {
        Picker {
            kind,
            title: title.into(),
            loading: true,
            entered: false,
            browsing: false,
            empty,
            // These are opened to search.
            query: match kind {
                PickerKind::Palette | PickerKind::Prompts => ListFilter::with_text(""),
                _ => ListFilter::default(),
            },
            rows: Vec::new(),
            shown: Vec::new(),
            selected: 0,
            shows_hidden: false,
            archives: None,
            to_delete: None,
            renaming: None,
            found: BTreeMap::new(),
            search: None,
            preview: None,
            looks: None,
            refusal: None,
        }
    }

    /// Starts with this query.
    pub(crate) fn with_query(mut self, query: &str) -> Self {
        if !query.is_empty() {
            self.query = ListFilter::with_text(query);
        }
        self
    }

    /// The typed query.
    pub fn query(&self) -> &str {
        self.query.text()
    }

    /// Whether letters are keys.
    pub(crate) fn takes_letters(&self) -> bool {
        !self.query.is_typed() && self.renaming.is_none()
    }

    /// All rows.
    pub fn rows(&self) -> &[PickerRow] {
        &self.rows
    }

    /// The matching rows, best first, with their marks.
    pub fn visible_rows(&self) -> impl Iterator<Item = (&PickerRow, &[usize])> + '_ {
        self.shown.iter().filter_map(|found| Some((self.rows.get(found.index)?, found.marks.as_slice())))
    }

    /// The matching row at this index, with its marks.
    pub fn at(&self, index: usize) -> Option<(&PickerRow, &[usize])> {
        let found = self.shown.get(index)?;
        Some((self.rows.get(found.index)?, found.marks.as_slice()))
    }

    /// Whether there are hidden rows, and whether they are shown.
    pub fn hidden_rows_shown(&self) -> Option<bool> {
        self.rows.iter().any(PickerRow::is_hidden).then_some(self.shows_hidden)
    }

    /// Puts the session of this key away, or brings it back.
    pub(crate) fn archive(&mut self, key: &str) {
        for row in self.rows.iter_mut().filter(|row| row.key == key) {
            row.archived = !row.archived;
        }
        self.filter();
        self.selected = self.selected.min(self.shown.len().saturating_sub(1));
    }

    /// The selected row.
    pub fn selected_row(&self) -> Option<&PickerRow> {
        self.at(self.selected).map(|(row, _)| row)
    }

    /// The number of matching rows.
    pub fn count(&self) -> usize {
        self.shown.len()
    }

    /// Index of the selected row among the displayed ones.
    pub fn selected_index(&self) -> usize {
        self.selected
    }

    /// The key of the selected row.
    pub fn selected_key(&self) -> Option<&str> {
        let found = self.shown.get(self.selected)?;
        self.rows.get(found.index).map(|row| row.key.as_str())
    }

    /// The program that wrote the session of this key.
    pub fn source(&self, key: &str) -> SessionOrigin {
        self.rows.iter().find(|row| row.key == key).map(|row| row.source).unwrap_or_default()
    }

    /// The key of the selected row, if it is a session of another program.
    pub fn foreign_key(&self) -> Option<String> {
        self.selected_key().filter(|key| self.source(key).is_foreign()).map(str::to_owned)
    }

    /// The row whose deletion waits for a second press.
    pub fn to_delete(&self) -> Option<&str> {
        self.to_delete.as_deref()
    }

    /// The new name being typed.
    pub fn renaming(&self) -> Option<&str> {
        self.renaming.as_ref().map(LineEdit::text)
    }

    /// The text of this session in which the query occurs.
    pub fn text_match(&self, key: &str) -> Option<&TextMatch> {
        self.found.get(key)
    }

    /// Adds rows with the query in their sessions; the selection stays on its row.
    pub fn find(&mut self, matches: impl IntoIterator<Item = (String, TextMatch)>) {
        let keep = self.selected_key().map(str::to_owned);
        self.found.extend(matches);
        self.filter();
        if let Some(key) = keep {
            self.select(&key);
        }
    }

    /// Changes the title of a row.
    pub(crate) fn retitle(&mut self, key: &str, title: &str) {
        for row in self.rows.iter_mut().filter(|row| row.key == key) {
            row.title = Printable::line(title);
        }
        self.filter();
    }

    /// Marks a row as a favourite, or unmarks it.
    pub(crate) fn mark(&mut self, key: &str, marked: bool) {
        for row in self.rows.iter_mut().filter(|row| row.key == key) {
            row.marked = marked;
        }
    }

    /// Adds rows; the selection stays on its row.
    pub fn add(&mut self, rows: Vec<PickerRow>) {
        let moved = self.selected > 0 || self.renaming.is_some();
        let keep = self.selected_key().filter(|_| moved).map(str::to_owned);
        let first = self.rows.is_empty();
        self.rows.extend(rows);
        self.rows.sort_by_key(|row| std::cmp::Reverse(row.time));
        self.filter();
        let current =
            || self.shown.iter().position(|found| self.rows.get(found.index).is_some_and(|row| row.current));
        if let Some(key) = keep {
            self.select(&key);
        } else if first && self.query.text().is_empty() {
            self.selected = current().unwrap_or(0);
        }
    }

    /// Removes all rows, for refilling.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.filter();
        self.selected = 0;
        self.loading = true;
    }

    /// Removes a row. The selection stays on its row, or goes to the next if that one is removed.
    pub fn remove(&mut self, key: &str) {
        let keep = self.selected_key().filter(|selected| *selected != key).map(str::to_owned);
        self.rows.retain(|row| row.key != key);
        self.filter();
        if let Some(keep) = keep {
            return self.select(&keep);
        }
        self.selected = self.selected.min(self.shown.len().saturating_sub(1));
        // The name being typed was for the removed row.
        self.renaming = None;
    }

    /// Handles a key; `page` is the number of rows on the screen.
    pub fn key(&mut self, key: Key, page: usize) -> KeyOutcome<PickerChoice> {
        if let Some(line) = self.renaming.take() {
            return self.rename(line, key);
        }
        let to_delete = self.to_delete.take();
        (self.entered, self.refusal) = (false, None);
        let chosen = || self.selected_key().map(str::to_owned);
        match (key.code, key.mods) {
            (KeyCode::Enter, _) => {
                let choice = chosen();
                self.entered = choice.is_none() && self.loading;
                return choice.map_or(KeyOutcome::Handled, |key| KeyOutcome::Done(PickerChoice::Pick(key)));
            }
            (KeyCode::Tab, _) if matches!(self.kind, PickerKind::Sessions { .. }) => {
                return KeyOutcome::Done(PickerChoice::Scope);
            }
            (KeyCode::Char(' '), Mods::NONE)
                if self.kind == PickerKind::Models && (self.browsing || self.query().is_empty()) =>
            {
                return chosen().map_or(KeyOutcome::Handled, |key| KeyOutcome::Done(PickerChoice::Mark(key)));
            }
            (KeyCode::Char('d'), Mods::CTRL) if matches!(self.kind, PickerKind::Sessions { .. }) => {
                return match self.foreign_key() {
                    // Refused at once.
                    Some(key) => KeyOutcome::Done(PickerChoice::Delete(key)),
                    None => self.delete(to_delete),
                };
            }
            (KeyCode::Char('r'), Mods::CTRL) if matches!(self.kind, PickerKind::Sessions { .. }) => {
                if let Some(key) = self.foreign_key() {
                    return KeyOutcome::Done(PickerChoice::Rename(key, String::new()));
                }
                self.renaming = self.selected_key().map(|_| LineEdit::default());
            }
            (KeyCode::Char('x'), Mods::CTRL) if matches!(self.kind, PickerKind::Sessions { .. }) => {
                return chosen()
                    .map_or(KeyOutcome::Handled, |key| KeyOutcome::Done(PickerChoice::Archive(key)));
            }
            (KeyCode::Char('o'), Mods::CTRL) if self.hidden_rows_shown().is_some() => {
                self.shows_hidden = !self.shows_hidden;
                let keep = self.selected_key().map(str::to_owned);
                self.filter();
                self.select(&keep.unwrap_or_default());
            }
            _ => match self.query.list_key(key, page) {
                Some(ListKey::Close) => return KeyOutcome::Closed,
                Some(ListKey::Move(by)) => {
                    self.selected = step_clamped(self.selected, by, self.shown.len());
                    self.browsing = true;
                }
                Some(ListKey::Row(row)) => {
                    self.selected = row.min(self.shown.len().saturating_sub(1));
                    self.browsing = true;
                }
                Some(ListKey::Filter) => self.query.begin(),
                None => {
                    let before = self.query().to_owned();
                    if !self.query.key(key) {
                        return KeyOutcome::Ignored;
                    }
                    self.refilter(&before);
                }
            },
        }
        KeyOutcome::Handled
    }

    /// Adds pasted text to the query.
    pub fn paste(&mut self, text: &str) {
        match &mut self.renaming {
            Some(line) => line.paste(text),
            None => {
                let before = self.query().to_owned();
                self.query.paste(text);
                self.refilter(&before);
            }
        }
    }

    fn rename(&mut self, mut line: LineEdit, key: Key) -> KeyOutcome<PickerChoice> {
        match (key.code, key.mods) {
            (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => return KeyOutcome::Handled,
            (KeyCode::Enter, _) => {
                let name = line.text().trim().to_owned();
                return match self.selected_key().map(str::to_owned).filter(|_| !name.is_empty()) {
                    Some(key) => KeyOutcome::Done(PickerChoice::Rename(key, name)),
                    None => KeyOutcome::Handled,
                };
            }
            _ => drop(line.key(key)),
        }
        self.renaming = Some(line);
        KeyOutcome::Handled
    }

    fn delete(&mut self, to_delete: Option<String>) -> KeyOutcome<PickerChoice> {
        let Some(key) = self.selected_key().map(str::to_owned) else { return KeyOutcome::Handled };
        if to_delete.as_ref() == Some(&key) {
            return KeyOutcome::Done(PickerChoice::Delete(key));
        }
        self.to_delete = Some(key);
        KeyOutcome::Handled
    }

    /// Selects the row with that key, or the first if it is not displayed.
    pub(crate) fn select(&mut self, key: &str) {
        let place =
            self.shown.iter().position(|found| self.rows.get(found.index).is_some_and(|row| row.key == key));
        self.selected = place.unwrap_or(0);
    }

    /// Whether a column shows which program wrote a session: if there are any of others.
    pub fn shows_source(&self) -> bool {
        self.rows.iter().any(|row| row.source.is_foreign())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picker(titles: &[&str]) -> Picker {
        let mut picker = Picker::new(PickerKind::Sessions { all: false }, "Sessions", "none");
        picker.add(titles.iter().map(|title| row(title)).collect());
        picker
    }

    fn row(title: &str) -> PickerRow {
        PickerRow { key: title.to_owned(), title: Printable::line(title), ..PickerRow::default() }
    }

    fn press(picker: &mut Picker, keys: &str) -> Vec<KeyOutcome<PickerChoice>> {
        keys.split(' ').map(|key| picker.key(key.parse().expect(key), 10)).collect()
    }

    #[test]
    fn typing_filters_and_enter_picks() {
        let mut picker = picker(&["alpha", "beta", "gamma"]);
        press(&mut picker, "down down up");
        assert_eq!(picker.selected_key(), Some("beta"));
        press(&mut picker, "a m m");
        assert_eq!(press(&mut picker, "enter"), [KeyOutcome::Done(PickerChoice::Pick("gamma".into()))]);
        press(&mut picker, "x");
        assert_eq!(press(&mut picker, "enter"), [KeyOutcome::Handled], "nothing to pick");
        assert_eq!(press(&mut picker, "esc"), [KeyOutcome::Closed]);
    }

    #[test]
    fn sessions_of_other_programs_are_neither_renamed_nor_deleted() {
        let mut picker = picker(&[]);
        picker.add(vec![PickerRow { source: SessionOrigin::Codex, ..row("alpha") }]);
        let delete = KeyOutcome::Done(PickerChoice::Delete("alpha".into()));
        let rename = KeyOutcome::Done(PickerChoice::Rename("alpha".into(), String::new()));
        assert_eq!(press(&mut picker, "ctrl+d ctrl+r"), [delete, rename], "refused before anything is asked");
        assert_eq!((picker.to_delete(), picker.renaming()), (None, None));
    }

    #[test]
    fn rows_that_stream_in_leave_the_selection_where_it_is() {
        let mut picker = picker(&["alpha", "beta"]);
        press(&mut picker, "down");
        picker.add(vec![row("gamma")]);
        assert_eq!(picker.selected_key(), Some("beta"));
    }

    #[test]
    fn what_is_done_to_a_row_is_done_to_that_row() {
        let renamed = |picker: &mut Picker| press(picker, "x enter").pop();
        let rename = |key: &str| Some(KeyOutcome::Done(PickerChoice::Rename(key.into(), "x".into())));
        let mut three = picker(&["alpha", "beta", "gamma"]);
        press(&mut three, "down ctrl+r");
        three.remove("alpha");
        assert_eq!(renamed(&mut three), rename("beta"));
        press(&mut three, "ctrl+r");
        three.remove("beta");
        assert_eq!((three.selected_key(), three.renaming()), (Some("gamma"), None), "its row is gone");
        let mut sought = picker(&["xabe"]);
        press(&mut sought, "a b e ctrl+r");
        sought.add(vec![row("abe")]);
        assert_eq!(renamed(&mut sought), rename("xabe"), "although another matches better");
    }

    #[test]
    fn deleting_asks_twice() {
        let mut picker = picker(&["alpha", "beta"]);
        assert_eq!(press(&mut picker, "ctrl+d"), [KeyOutcome::Handled]);
        assert_eq!(picker.to_delete(), Some("alpha"));
        press(&mut picker, "down");
        assert_eq!(picker.to_delete(), None, "another key takes it back");
        let answers = press(&mut picker, "ctrl+d ctrl+d");
        assert_eq!(answers.last(), Some(&KeyOutcome::Done(PickerChoice::Delete("beta".into()))));
    }

    #[test]
    fn the_program_that_wrote_a_session_is_found() {
        let of = |title: &str, source| PickerRow { source, ..row(title) };
        let mut picker = Picker::new(PickerKind::Sessions { all: false }, "Sessions", "none");
        picker.add(vec![
            of("fix it", SessionOrigin::Tau),
            of("fix this", SessionOrigin::Claude),
            of("the api", SessionOrigin::Pi),
        ]);
        for (typed, found) in
            [("claude", vec!["fix this"]), ("fix", vec!["fix it", "fix this"]), ("pi", vec!["the api"])]
        {
            picker.paste(typed);
            let keys: Vec<&str> = picker
                .shown
                .iter()
                .filter_map(|found| Some(picker.rows.get(found.index)?.key.as_str()))
                .collect();
            assert_eq!(keys, found, "{typed}");
            picker.query = ListFilter::default();
        }
    }
}
