//! Vim's keys in the composer: normal, insert and visual mode.
//!
//! Keys are collected until they are a command ([`command`]); motions ([`motion`]) and text objects
//! ([`object`]) give its range, [`edit`] its changes. All of that is computed from the current text
//! ([`text`]); [`apply`] and [`insert`] change the composer. Typing in insert mode works the same with and
//! without vim's keys.

mod apply;
mod command;
mod edit;
mod insert;
mod motion;
mod object;
mod text;

use std::ops::Range;

use super::Composer;
use super::register::SpanKind;
use crate::key::{Key, KeyCode, Mods};
use command::{Command, Find, InsertAt, NoCommand, Verb};
use text::{Place, Text};

/// The state of vim mode.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Vim {
    mode: Mode,
    /// Keys of an incomplete command.
    keys: String,
    find: Option<Find>,
    /// The last change, which `.` repeats.
    change: Option<Change>,
    /// The current insertion; none where the text was replaced meanwhile.
    insertion: Option<Insertion>,
}

/// Signs that begin a command, or open the keys, in an empty message: also in normal mode.
const BEGINNINGS: [char; 4] = ['/', '!', ':', '?'];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Insert,
    Normal,
    /// The selection reaches from this place to the cursor.
    Visual(SpanKind, Place),
}

/// A change, and the text typed in insert mode after it.
#[derive(Clone, Debug, PartialEq)]
struct Change {
    command: Command,
    typed: String,
}

/// The characters before and after the text being typed, and the command that began it.
#[derive(Clone, Debug, PartialEq)]
struct Insertion {
    before: usize,
    after: usize,
    /// Number of undo steps at its start.
    steps: usize,
    command: Command,
}

/// The result of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VimKey {
    /// Not a vim command: the key map decides.
    Ignored,
    Taken,
    /// A row up from the first row.
    AboveFirst,
    /// A row down from the last row.
    BelowLast,
}

impl Vim {
    /// The state for the next message.
    pub(super) fn fresh(self) -> Self {
        let insertion = Some(Insertion { before: 0, after: 0, steps: 0, command: typing() });
        Vim { find: self.find, change: self.change, insertion, ..Vim::default() }
    }

    /// Records that the text was replaced as a whole.
    pub(super) fn on_text_replaced(&mut self) {
        self.insertion = None;
    }
}

/// The command of plain typing, where there was none.
fn typing() -> Command {
    Command { count: None, verb: Verb::Insert(InsertAt::Cursor) }
}

/// A key as a vim command character outside insert mode, after the keys of an incomplete command.
fn as_char(key: Key, before: &str) -> Option<char> {
    // They are no operand.
    let is_command = before.chars().all(|c| c.is_ascii_digit());
    match (key.code, key.mods) {
        (KeyCode::Char('r'), Mods::CTRL) => is_command.then_some('\x12'),
        (KeyCode::Backspace, Mods::NONE) => is_command.then_some('h'),
        _ => key.typed_char(),
    }
}

fn is_escape(key: Key) -> bool {
    matches!((key.code, key.mods), (KeyCode::Esc, Mods::NONE) | (KeyCode::Char('['), Mods::CTRL))
}

impl Composer {
    /// Turns vim's keys on or off.
    pub(crate) fn set_vim(&mut self, on: bool) {
        self.vim = match self.vim.take() {
            known @ Some(_) if on => known,
            _ => on.then(|| Vim::default().fresh()),
        };
    }

    /// Whether characters are typed into the text.
    pub(crate) fn is_typing(&self) -> bool {
        self.vim.as_ref().is_none_or(|vim| vim.mode == Mode::Insert)
    }

    /// The name of the mode and the keys of an incomplete command, in vim mode.
    pub fn vim_mode(&self) -> Option<(&'static str, &str)> {
        let vim = self.vim.as_ref()?;
        let name = match vim.mode {
            Mode::Insert => "INSERT",
            Mode::Normal => "NORMAL",
            Mode::Visual(SpanKind::Chars, _) => "VISUAL",
            Mode::Visual(SpanKind::Lines, _) => "VISUAL LINE",
        };
        Some((name, &vim.keys))
    }

    /// The selection, from a line and character column up to another.
    pub fn selected_range(&self) -> Option<Range<(usize, usize)>> {
        let text = self.vim_text();
        let (kind, anchor) = self.visual()?;
        let span = apply::selection(&text, kind, anchor, self.cursor());
        Some(text.place(span.range.start)..text.place(span.range.end))
    }

    /// Handles a key while the text is `width` cells wide.
    pub(crate) fn vim_key(&mut self, key: Key, width: u16) -> VimKey {
        let Some(vim) = &mut self.vim else { return VimKey::Ignored };
        let had_keys = !vim.keys.is_empty();
        let mode = vim.mode;
        if is_escape(key) {
            vim.keys.clear();
            match mode {
                Mode::Insert => self.leave_insert(),
                Mode::Visual(..) => self.enter(Mode::Normal),
                Mode::Normal if had_keys => {}
                Mode::Normal => return VimKey::Ignored,
            }
            return VimKey::Taken;
        }
        let Some(c) = as_char(key, &vim.keys).filter(|_| mode != Mode::Insert) else {
            vim.keys.clear();
            // It only cancels the command.
            return if had_keys { VimKey::Taken } else { VimKey::Ignored };
        };
        if mode == Mode::Normal && !had_keys && BEGINNINGS.contains(&c) && self.is_empty() {
            // The page of the keys is opened from any mode.
            if c != '?' {
                self.enter(Mode::Insert);
            }
            return VimKey::Ignored;
        }
        let Some(vim) = &mut self.vim else { return VimKey::Ignored };
        vim.keys.push(c);
        let parsed = command::parse(&vim.keys, mode != Mode::Normal);
        if parsed != Err(NoCommand::Incomplete) {
            vim.keys.clear();
        }
        self.settle();
        let taken = parsed.map_or(VimKey::Taken, |command| self.run(command, width));
        self.settle();
        taken
    }

    /// In normal mode the cursor is on a character, where the line has any.
    pub(crate) fn settle(&mut self) {
        let (row, column) = self.cursor();
        if self.vim.as_ref().is_some_and(|vim| vim.mode == Mode::Normal) && column > 0 {
            let last = self.segments_of(row).last().map_or(0, |segment| segment.first_char);
            self.jump(row, column.min(last));
        }
    }

    fn vim_text(&self) -> Text<'_> {
        Text::new(self.buffer.lines(), &self.chips)
    }

    /// The kind of the selection and its start.
    fn visual(&self) -> Option<(SpanKind, Place)> {
        match self.vim.as_ref()?.mode {
            Mode::Visual(kind, anchor) => Some((kind, anchor)),
            Mode::Insert | Mode::Normal => None,
        }
    }

    fn enter(&mut self, mode: Mode) {
        if let Some(vim) = &mut self.vim {
            vim.mode = mode;
        }
    }
}

/// The place `chars` characters further on.
fn place_after(text: &str, chars: usize) -> Place {
    let before = || text.chars().take(chars);
    let row = before().filter(|c| *c == '\n').count();
    (row, before().collect::<String>().rsplit('\n').next().map_or(0, |line| line.chars().count()))
}

#[cfg(test)]
mod tests;
