//! The board: all live sessions of the user on this machine and on the servers in the settings, and the results
//! of those that ran in the background.

use std::borrow::Cow;

use super::list::{List, ListRow, below_parents};
use super::list_keys::move_key;
use crate::key::{Key, KeyCode, Mods};
use crate::line_edit::LineEdit;
use crate::msg::Millis;
use crate::outcome::KeyOutcome;
use tau_protocol::live_session::{BoardList, LiveRow, MissingServer};

/// The time between two looks at the sessions.
pub(crate) const REFRESH: Millis = 1_000;

/// The board on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoardView {
    /// The sessions, those that wait first, then by the time of the last change.
    pub list: List<LiveRow>,
    /// Whether it shows what was put away, in place of the rest.
    pub is_archive: bool,
    /// The servers that are not connected.
    pub servers: Vec<MissingServer>,
    /// The message that is being written.
    pub message: Option<BoardMessage>,
    /// All sessions, also those that are not shown.
    pub(crate) all: Vec<LiveRow>,
    /// The session on whose run `x` was pressed: once more stops it.
    pub stops: Option<String>,
    /// Whether a row was moved to since the filter last changed.
    pub(crate) has_moved: bool,
    /// Whether a key was pressed since it was opened.
    pub(crate) is_used: bool,
    /// The time of the last query.
    pub(crate) asked: Millis,
}

/// A message to a session.
#[derive(Clone, Debug, PartialEq)]
pub struct BoardMessage {
    pub id: String,
    pub line: LineEdit,
}

/// The action on the selected session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BoardChoice {
    /// Open it.
    Open { id: String },
    /// Stop its run.
    Stop { id: String },
    /// Answer what waits.
    Answer { id: String },
    /// Send a message.
    Send { id: String, text: String },
    /// Put it away, or bring it back.
    Archive { id: String, archived: bool },
}

impl ListRow for LiveRow {
    fn texts(&self) -> Vec<Cow<'_, str>> {
        let texts = [self.title.as_str(), self.state.name(), &self.last_line, &self.id].map(Cow::Borrowed);
        let server = self.server.as_deref().map(Cow::Borrowed);
        texts.into_iter().chain([self.directory.to_string_lossy()]).chain(server).collect()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl BoardView {
    /// Whether letters are keys: before a filter is typed, or after a row was moved to.
    pub fn takes_letters(&self) -> bool {
        self.list.typed_filter().is_none() || self.has_moved
    }

    /// The number of sessions that were put away.
    pub fn archived_count(&self) -> usize {
        self.all.iter().filter(|row| row.archived).count()
    }

    /// The session of this id.
    pub(crate) fn find(&self, id: &str) -> Option<&LiveRow> {
        self.all.iter().find(|row| row.id == id)
    }

    /// Fills in the current sessions; the selection stays on its session.
    pub(crate) fn fill(&mut self, list: BoardList) {
        let BoardList { sessions: mut rows, servers } = list;
        self.servers = servers;
        rows.sort_by_key(|row| (row.state, std::cmp::Reverse(row.changed)));
        self.all = below_parents(rows, |row| row.id.clone(), |row| row.parent.clone());
        self.show();
    }

    fn show(&mut self) {
        let is_shown = |row: &&LiveRow| row.archived == self.is_archive;
        self.list.fill(self.all.iter().filter(is_shown).cloned().collect());
    }

    /// Handles a key; `page` is the number of rows on the screen.
    pub(crate) fn key(&mut self, key: Key, page: usize) -> KeyOutcome<BoardChoice> {
        self.is_used = true;
        if self.message.is_some() {
            return self.message_key(key);
        }
        if (key.code, key.mods) == (KeyCode::Tab, Mods::NONE) && self.list.rows().is_some() {
            self.is_archive = !self.is_archive;
            let ticket = self.list.ticket;
            self.show();
            (self.list.ticket, self.list.selected, self.list.said) = (ticket, 0, None);
            return KeyOutcome::Handled;
        }
        let Some(row) = self.list.row() else { return self.list.key(key, page) };
        let (id, archived, is_at_work) = (row.id.clone(), row.archived, row.state.is_at_work());
        if key.code == KeyCode::Enter {
            return KeyOutcome::Done(BoardChoice::Open { id });
        }
        let is_free = self.takes_letters() && self.list.change.is_none() && key.mods == Mods::NONE;
        let stops = self.stops.take().is_some_and(|armed| armed == id) || !is_at_work;
        match key.code {
            KeyCode::Char('x') if is_free && stops => KeyOutcome::Done(BoardChoice::Stop { id }),
            KeyCode::Char('x') if is_free => {
                self.stops = Some(id);
                KeyOutcome::Handled
            }
            KeyCode::Char('a') if is_free => KeyOutcome::Done(BoardChoice::Answer { id }),
            KeyCode::Char('h') if is_free => {
                KeyOutcome::Done(BoardChoice::Archive { id, archived: !archived })
            }
            KeyCode::Char('m') if is_free => {
                self.list.said = None;
                self.message = Some(BoardMessage { id, line: LineEdit::default() });
                KeyOutcome::Handled
            }
            _ => {
                self.has_moved = move_key(key, page).is_some();
                self.list.key(key, page)
            }
        }
    }

    fn message_key(&mut self, key: Key) -> KeyOutcome<BoardChoice> {
        let Some(BoardMessage { id, line }) = &mut self.message else { return KeyOutcome::Ignored };
        match (key.code, key.mods) {
            (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => self.message = None,
            (KeyCode::Enter, _) => {
                let text = line.text().trim().to_owned();
                if !text.is_empty() && self.list.change.is_none() {
                    return KeyOutcome::Done(BoardChoice::Send { id: id.clone(), text });
                }
            }
            _ if line.key(key) || line.move_key(key) => {}
            _ => return KeyOutcome::Ignored,
        }
        KeyOutcome::Handled
    }

    /// Adds pasted text to the message or the filter.
    pub(crate) fn paste(&mut self, text: &str) {
        match &mut self.message {
            Some(message) => message.line.paste(text),
            None => self.list.paste(text),
        }
    }
}
