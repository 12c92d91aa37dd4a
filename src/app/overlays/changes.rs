//! The list of the session's changes: files and hunks, the selection, and its actions.

use std::collections::BTreeSet;

use super::list_keys::{ListFilter, ListKey};
use crate::key::{Key, KeyCode, Mods};
use crate::outcome::KeyOutcome;
use crate::request::Ticket;
use tau_protocol::undo::{ChangedFile, RevertOrder, SessionChanges};

/// Maximum number of files that start unfolded.
const UNFOLDED: usize = 3;

/// The list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangesView {
    /// The query that fills it.
    pub(crate) ticket: Option<Ticket>,
    /// The changes, once they are known.
    pub changes: Option<SessionChanges>,
    /// Paths whose hunks are shown.
    open: BTreeSet<String>,
    pub(super) query: ListFilter,
    /// The selected file or hunk.
    selected: ChangeItem,
    /// The rows of the selected item above the first one shown.
    pub scroll: usize,
}

/// A file of the list, or one of its hunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeItem {
    /// Index of the file.
    pub file: usize,
    /// Index of the hunk; none for the file itself.
    pub hunk: Option<usize>,
}

/// The action on the selected item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChangesChoice {
    Revert(RevertOrder),
    /// Open the file in an editor, at a line from 1.
    Edit {
        path: String,
        line: Option<u32>,
    },
}

impl ChangesView {
    /// An empty list, before the answer.
    pub(crate) fn waiting(ticket: Ticket) -> Self {
        ChangesView { ticket: Some(ticket), ..ChangesView::default() }
    }

    /// Fills in the changes; the selection stays if its item is still there.
    pub(crate) fn fill(&mut self, changes: SessionChanges) {
        if self.changes.is_none() && changes.files.len() <= UNFOLDED {
            self.open = changes.files.iter().map(|file| file.path.clone()).collect();
        }
        let path = self.file(self.selected.file).map(|file| file.path.clone());
        self.ticket = None;
        let same = path.and_then(|path| changes.files.iter().position(|file| file.path == path));
        self.changes = Some(changes);
        let items = self.items();
        let kept = ChangeItem { file: same.unwrap_or(self.selected.file), hunk: self.selected.hunk };
        let file = ChangeItem { hunk: None, ..kept };
        let found = [kept, file].into_iter().find(|item| items.contains(item));
        if found != Some(kept) {
            self.scroll = 0;
        }
        self.selected = found.or(items.last().copied()).unwrap_or_default();
    }

    /// A file.
    pub fn file(&self, index: usize) -> Option<&ChangedFile> {
        self.changes.as_ref()?.files.get(index)
    }

    /// Whether the hunks of a file are shown.
    pub fn is_open(&self, file: &ChangedFile) -> bool {
        self.open.contains(&file.path)
    }

    /// Whether another list shows the same files and hunks, whatever is selected.
    pub fn shows_same(&self, other: &Self) -> bool {
        (&self.changes, &self.open, &self.query) == (&other.changes, &other.open, &other.query)
    }

    /// The selection.
    pub fn selected_item(&self) -> ChangeItem {
        self.selected
    }

    /// All selectable items, from top to bottom.
    fn items(&self) -> Vec<ChangeItem> {
        let files = self.changes.iter().flat_map(|changes| &changes.files).enumerate();
        let items = files.filter(|(_, file)| self.is_shown(file)).flat_map(|(index, file)| {
            let hunks = if self.is_open(file) { file.diff.hunks.len() } else { 0 };
            let whole = ChangeItem { file: index, hunk: None };
            std::iter::once(whole).chain((0..hunks).map(move |hunk| ChangeItem { hunk: Some(hunk), ..whole }))
        });
        items.collect()
    }

    fn selected_file(&self) -> Option<&ChangedFile> {
        self.file(self.selected.file).filter(|file| self.is_shown(file))
    }

    /// Moves by as many items as these rows have room for, and by at least one; within an item that is higher than the
    /// box, by rows. `below` of its rows are out of sight.
    fn step(&mut self, by: isize, below: usize) {
        let room = if by < 0 { self.scroll } else { below };
        if room > 0 && by != isize::MIN {
            let rows = by.unsigned_abs().min(room);
            self.scroll = if by < 0 { self.scroll - rows } else { self.scroll + rows };
            return;
        }
        let items = self.items();
        let mut at = items.iter().position(|item| *item == self.selected).unwrap_or(0);
        let mut room = by.unsigned_abs();
        while let Some(next) = at.checked_add_signed(by.signum()).filter(|next| *next < items.len()) {
            room = room.saturating_sub(self.rows_of(items.get(at)));
            at = next;
            if room < self.rows_of(items.get(at)) {
                break;
            }
        }
        self.select(at);
    }

    /// The number of rows of an item, or a few less if it has lines that are wrapped.
    fn rows_of(&self, item: Option<&ChangeItem>) -> usize {
        let hunk = item.and_then(|item| self.file(item.file)?.diff.hunks.get(item.hunk?));
        1 + hunk.map_or(0, |hunk| hunk.lines.len())
    }

    fn select(&mut self, at: usize) {
        let items = self.items();
        self.selected = items.get(at).or(items.last()).copied().unwrap_or_default();
        self.scroll = 0;
    }

    /// The filter that is typed; `None` while none is.
    pub fn query(&self) -> Option<&str> {
        self.query.is_typed().then(|| self.query.text())
    }

    /// Whether the file matches the filter.
    pub fn is_shown(&self, file: &ChangedFile) -> bool {
        self.query.matches(&[&file.path])
    }

    /// Adds pasted text to the filter.
    pub(crate) fn paste(&mut self, text: &str) {
        self.query.paste(text);
        self.select(0);
    }

    /// Folds or unfolds the selected file.
    fn fold(&mut self) {
        let file = self.selected.file;
        let Some(path) = self.selected_file().map(|file| file.path.clone()) else { return };
        if !self.open.remove(&path) {
            self.open.insert(path);
        }
        self.selected = ChangeItem { file, hunk: None };
        self.scroll = 0;
    }

    fn revert(&self) -> Option<ChangesChoice> {
        let file = self.selected_file()?;
        let (path, version) = (file.path.clone(), file.version.clone());
        Some(ChangesChoice::Revert(RevertOrder { path, version, hunk: self.selected.hunk }))
    }

    fn edit(&self) -> Option<ChangesChoice> {
        let file = self.selected_file()?;
        let line = match self.selected.hunk {
            Some(hunk) => file.diff.hunks.get(hunk).map(|hunk| {
                let context = hunk.lines.iter().take_while(|line| line.starts_with(' ')).count();
                hunk.new_start.saturating_add(u32::try_from(context).unwrap_or_default()).max(1)
            }),
            None => file.diff.first_changed_line(),
        };
        Some(ChangesChoice::Edit { path: file.path.clone(), line })
    }

    /// Handles a key; `below` rows of the selected item are out of sight, and a page is `page` rows.
    pub(crate) fn key(&mut self, key: Key, below: usize, page: usize) -> KeyOutcome<ChangesChoice> {
        let types = self.query.is_typed();
        let choice = match (key.code, key.mods) {
            (KeyCode::Char('r'), Mods::NONE) if !types => self.revert(),
            (KeyCode::Char('e'), Mods::NONE) if !types => self.edit(),
            (KeyCode::Char('g'), Mods::CTRL) => self.edit(),
            (KeyCode::Char(' '), _) if !types => {
                self.fold();
                None
            }
            (KeyCode::Enter | KeyCode::Tab, _) => {
                self.fold();
                None
            }
            _ => return self.list_key(key, below, page),
        };
        choice.map_or(KeyOutcome::Handled, KeyOutcome::Done)
    }

    fn list_key(&mut self, key: Key, below: usize, page: usize) -> KeyOutcome<ChangesChoice> {
        match self.query.list_key(key, page) {
            Some(ListKey::Close) => return KeyOutcome::Closed,
            Some(ListKey::Move(by)) => self.step(by, below),
            Some(ListKey::Row(row)) => self.select(row),
            Some(ListKey::Filter) => self.query.begin(),
            None if self.query.key(key) => self.select(0),
            None => return KeyOutcome::Ignored,
        }
        KeyOutcome::Handled
    }
}
