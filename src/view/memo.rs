//! The cache of rendered rows, with the theme and the highlighter.
//!
//! Only a cache: dropping it changes no cell. A key holds everything the rows depend on but the theme and the
//! key map, whose keys are shown in hints: with others, everything is rendered again.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ratatui::text::Line;

use super::highlight::Highlighter;
use super::markdown::{self, Room};
use super::overlays::changes::ChangesRows;
use super::picture::{PictureJob, PictureKey, PictureOutcome};
use super::pictures::Pictures;
use super::row::{Row, Rows};
use super::theme::{ColorDepth, Theme};
use tau_app::geometry::{EntryId, TextLayout};
use tau_app::keymap::Keymap;
use tau_app::msg::Millis;
use tau_app::picture::{MessagePicture, PictureRoom};

/// The number of parts kept that are still changing: those on one screen.
const CHANGING: usize = 64;
/// The number of rows beyond which those that the last frame did not show are dropped.
const ROWS: usize = 20_000;

/// Everything that rows of the transcript depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowsKey {
    pub entry: EntryId,
    pub part: u32,
    pub version: RowsVersion,
    pub width: u16,
    pub layout: TextLayout,
    pub open: bool,
}

/// The state of an entry that a part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowsVersion {
    /// A closed block: the same in every revision, until the text is replaced as a whole.
    Closed { epoch: u32 },
    /// The entry in this revision.
    Revision(u32),
    /// It depends on more than its entry, and is not kept.
    Transient,
    /// The entry in a revision while it waits for approval: the revision of the requests, and whether a hunk
    /// is selected and rejected.
    Asked { revision: u32, request: u32, selected: bool, rejected: bool },
    /// The entry in a revision, while more is being added to it.
    Growing(u32),
    /// The entry in a revision, and the time that it shows.
    Timed { revision: u32, now: Millis },
}

impl RowsVersion {
    /// True if the part will soon change, so that only its newest rows are kept.
    fn is_changing(self) -> bool {
        matches!(self, RowsVersion::Growing(_) | RowsVersion::Timed { .. } | RowsVersion::Asked { .. })
    }
}

/// The cache.
pub struct Memo {
    depth: ColorDepth,
    /// Themes from files, by name; they take precedence over the built-in ones.
    custom: HashMap<String, Theme>,
    name: String,
    keymap: Option<Arc<Keymap>>,
    theme: Theme,
    highlighter: Highlighter,
    /// The rows, and the last frame that showed them.
    parts: HashMap<RowsKey, (Rows, u64)>,
    held: usize,
    frame: u64,
    /// The list of changes, if a frame has just shown it, and that frame.
    changes: Option<ChangesRows>,
    changes_shown: u64,
    /// The Markdown text of a dialog.
    dialog: Option<(String, Room, Arc<[Line<'static>]>)>,
    /// Parts that are still changing, the newest last.
    changing: VecDeque<(RowsKey, Rows)>,
    pictures: Pictures,
}

impl Memo {
    /// An empty cache for a terminal with this colour depth.
    pub fn new(depth: ColorDepth, custom: HashMap<String, Theme>) -> Self {
        Memo {
            depth,
            custom,
            name: String::new(),
            keymap: None,
            // Each frame begins with its theme.
            theme: Theme::plain(),
            highlighter: Highlighter::default(),
            parts: HashMap::new(),
            held: 0,
            frame: 0,
            changes: None,
            dialog: None,
            changes_shown: 0,
            changing: VecDeque::new(),
            pictures: Pictures::default(),
        }
    }

    /// Begins a frame with the theme of this name, or the default theme if it is unknown, and with these keys.
    pub fn begin(&mut self, name: &str, keymap: &Arc<Keymap>) {
        self.pictures.begin();
        if !self.keymap.as_ref().is_some_and(|known| Arc::ptr_eq(known, keymap)) {
            self.keymap = Some(Arc::clone(keymap));
            self.forget();
        }
        if self.name != name || self.name.is_empty() {
            let theme = self.custom.get(name).cloned().or_else(|| Theme::builtin(name)).unwrap_or_default();
            self.theme = theme.at_depth(self.depth);
            name.clone_into(&mut self.name);
            self.forget();
        }
        let last = self.frame;
        self.frame += 1;
        if self.changes_shown < last {
            self.changes = None;
        }
        if self.held > ROWS {
            self.parts.retain(|_, (_, shown)| *shown == last);
            self.held = self.parts.values().map(|(rows, _)| rows.len()).sum();
        }
    }

    /// The theme, the highlighter, and the rows of the list of changes as the last frame showed them.
    pub(crate) fn changes(&mut self) -> (&Theme, &mut Highlighter, &mut Option<ChangesRows>) {
        self.changes_shown = self.frame;
        (&self.theme, &mut self.highlighter, &mut self.changes)
    }

    /// The rows of a dialog's Markdown text.
    pub(crate) fn dialog_rows(&mut self, text: &str, room: Room) -> Arc<[Line<'static>]> {
        if let Some((_, _, rows)) = self.dialog.as_ref().filter(|(of, at, _)| of == text && *at == room) {
            return Arc::clone(rows);
        }
        let rows: Arc<[_]> = markdown::rows(text, room, &self.theme, &mut self.highlighter).into();
        self.dialog = Some((text.to_owned(), room, Arc::clone(&rows)));
        rows
    }

    /// The rows of a picture in its room; empty until it is ready, and if it cannot be shown.
    pub(super) fn picture_rows(&mut self, picture: &MessagePicture, room: PictureRoom) -> Rows {
        self.pictures.rows(picture, room)
    }

    /// Takes the pictures that were missing in recent frames.
    pub fn missing_pictures(&mut self) -> Vec<PictureJob> {
        self.pictures.take_missing()
    }

    /// Adds a picture that was missing.
    pub fn add_picture(&mut self, key: PictureKey, outcome: PictureOutcome) {
        self.pictures.add(key, outcome, self.depth);
    }

    /// Adds or replaces a theme from a file; true if that changes the screen.
    pub fn add_theme(&mut self, name: &str, theme: Theme) -> bool {
        if self.custom.get(name) == Some(&theme) {
            return false;
        }
        self.custom.insert(name.to_owned(), theme);
        let shown = self.name == name;
        if shown {
            self.name.clear();
        }
        shown
    }

    /// Drops everything rendered.
    pub(crate) fn forget(&mut self) {
        self.parts.clear();
        self.held = 0;
        self.changes = None;
        self.dialog = None;
        self.changing.clear();
        self.highlighter.forget_rows();
    }

    /// Draws another transcript, whose rows are not kept.
    pub(crate) fn aside<T>(&mut self, draw: impl FnOnce(&mut Memo) -> T) -> T {
        let kept = (std::mem::take(&mut self.parts), std::mem::take(&mut self.changing), self.held);
        self.highlighter.forget_rows();
        let drawn = draw(self);
        self.highlighter.forget_rows();
        (self.parts, self.changing, self.held) = kept;
        drawn
    }

    /// The theme of this frame, and the highlighter.
    pub(crate) fn pens(&mut self) -> (&Theme, &mut Highlighter) {
        (&self.theme, &mut self.highlighter)
    }

    /// The theme of this frame.
    pub fn theme(&self) -> &Theme {
        &self.theme
    }

    /// The rows of a part, rendered if they are not in the cache.
    pub fn rows(&mut self, key: RowsKey, render: impl FnOnce(&Theme, &mut Highlighter) -> Vec<Row>) -> Rows {
        let known = match key.version.is_changing() {
            true => self.changing.iter().rev().find(|(same, _)| *same == key).map(|(_, rows)| rows),
            false => self.parts.get_mut(&key).map(|(rows, shown)| {
                *shown = self.frame;
                &*rows
            }),
        };
        if let Some(rows) = known {
            return Arc::clone(rows);
        }
        let rows: Rows = render(&self.theme, &mut self.highlighter).into();
        if key.version.is_changing() {
            self.changing.retain(|(old, _)| (old.entry, old.part) != (key.entry, key.part));
            if self.changing.len() >= CHANGING {
                self.changing.pop_front();
            }
            self.changing.push_back((key, Arc::clone(&rows)));
        } else if key.version != RowsVersion::Transient {
            self.held += rows.len();
            self.parts.insert(key, (Arc::clone(&rows), self.frame));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use ratatui::text::Line;

    use super::*;

    fn key(entry: i64) -> RowsKey {
        let version = RowsVersion::Closed { epoch: 0 };
        RowsKey {
            entry: EntryId(entry),
            part: 0,
            version,
            width: 80,
            layout: TextLayout::default(),
            open: true,
        }
    }

    #[test]
    fn the_text_of_a_dialog_is_laid_out_once() {
        let mut memo = Memo::new(ColorDepth::True, HashMap::new());
        let keymap = Arc::new(Keymap::default());
        memo.begin("dark", &keymap);
        let room = |width| Room { margin: 0, width, layout: TextLayout::default() };
        let first = memo.dialog_rows("# one\n\ntwo", room(40));
        memo.begin("dark", &keymap);
        assert!(Arc::ptr_eq(&first, &memo.dialog_rows("# one\n\ntwo", room(40))));
        assert!(!Arc::ptr_eq(&first, &memo.dialog_rows("# one\n\ntwo", room(30))));
        assert_ne!(first, memo.dialog_rows("# one\n\ntwo three", room(40)));
        memo.begin("light", &keymap);
        assert_ne!(first, memo.dialog_rows("# one\n\ntwo", room(40)), "the theme is another");
    }

    #[test]
    fn rows_that_the_last_frame_showed_are_kept_however_many() {
        let mut memo = Memo::new(ColorDepth::True, HashMap::new());
        let keymap = Arc::new(Keymap::default());
        let mut rendered = Vec::new();
        for entries in [vec![0, 1], vec![0, 1], vec![1, 2], vec![1, 2], vec![0, 2]] {
            memo.begin("dark", &keymap);
            for entry in entries {
                memo.rows(key(entry), |_, _| {
                    rendered.push(entry);
                    vec![Row::from(Line::default()); ROWS]
                });
            }
        }
        assert_eq!(rendered, [0, 1, 2, 0], "what is out of sight is dropped");
    }
}
