//! The composer: the text being written, its cursor, pastes and pictures in it, undo, history.
//!
//! The text area crate holds the editing state (lines, cursor, undo log) but works by code
//! point; everything here moves and deletes by unit ([`units`]): a grapheme cluster, or a whole
//! chip such as `[paste #1 +123 lines]`. Wrapping and the cursor's cell are ours too
//! ([`layout`]), so they agree with what is drawn. The text area's own undo coalescing, which
//! reads a clock, stays off: undo steps are grouped here by the time that came with the key.

pub mod chips;
mod history;
pub mod layout;
pub mod segments;

use ratatui::buffer::CellWidth;
use tui_textarea::{CursorMove, TextArea};

use super::msg::Millis;
use super::printable::printable_line;
use crate::agent::protocol::message::Block;
use chips::{Chip, Chips};
use history::History;
use layout::ComposerLayout;
use segments::Segment;

/// Keys typed within this time of each other are undone together, in milliseconds.
const UNDO_PAUSE: Millis = 1_000;

/// Undo steps that are kept.
const UNDO_STEPS: usize = 1_000;

/// What sending the text would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputMode {
    /// A message to the model.
    Prompt,
    /// `!cmd`: run it and give its output to the model with the next message.
    Shell,
    /// `!!cmd`: run it and keep it from the model.
    ShellOnly,
}

/// One undo step: how many edits of the text area it is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    edits: u32,
    /// When it was last added to; none once it is closed.
    typed_at: Option<Millis>,
}

/// The text being written.
#[derive(Clone, Debug)]
pub struct Composer {
    area: TextArea<'static>,
    chips: Chips,
    steps: Vec<Step>,
    undone: Vec<u32>,
    /// The visual column that up and down try to keep, in cells.
    column: Option<u16>,
    killed: String,
    recall: History,
}

impl PartialEq for Composer {
    fn eq(&self, other: &Self) -> bool {
        self.area.lines() == other.area.lines()
            && self.area.cursor() == other.area.cursor()
            && self.chips == other.chips
            && self.killed == other.killed
            && self.recall == other.recall
    }
}

impl Default for Composer {
    fn default() -> Self {
        let mut area = TextArea::default();
        area.set_max_histories(UNDO_STEPS);
        Composer {
            area,
            chips: Chips::default(),
            steps: Vec::new(),
            undone: Vec::new(),
            column: None,
            killed: String::new(),
            recall: History::default(),
        }
    }
}

impl Composer {
    /// The text as it stands, chips as their labels.
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// The lines as they stand.
    pub fn lines(&self) -> &[String] {
        self.area.lines()
    }

    /// True when nothing is written.
    pub fn is_empty(&self) -> bool {
        matches!(self.area.lines(), [only] if only.is_empty())
    }

    /// Row and column of the cursor, in lines and characters.
    pub fn cursor(&self) -> (usize, usize) {
        self.area.cursor()
    }

    /// What sending would do.
    pub fn mode(&self) -> InputMode {
        let first = self.area.lines().first().map_or("", String::as_str);
        match first {
            line if line.starts_with("!!") => InputMode::ShellOnly,
            line if line.starts_with('!') => InputMode::Shell,
            _ => InputMode::Prompt,
        }
    }

    /// The text with every paste in full, and the pictures in it.
    pub fn expanded(&self) -> (String, Vec<Block>) {
        self.chips.expand(&self.text())
    }

    /// The part of the cursor's line that is before the cursor.
    pub fn before_cursor(&self) -> &str {
        let (row, column) = self.area.cursor();
        let line = self.area.lines().get(row).map_or("", String::as_str);
        let end = line.char_indices().nth(column).map_or(line.len(), |(byte, _)| byte);
        line.get(..end).unwrap_or(line)
    }

    /// How the text is wrapped at `width` cells, and where the cursor is in it.
    pub fn layout(&self, width: u16) -> ComposerLayout {
        ComposerLayout::new(self.area.lines(), self.area.cursor(), &self.chips, width)
    }

    /// Types a character.
    pub fn type_char(&mut self, c: char, at: Millis) {
        let starts_word = !c.is_whitespace() && self.before_cursor().ends_with(char::is_whitespace);
        let open = self.steps.last().and_then(|step| step.typed_at);
        let joins = open.is_some_and(|last| at - last < UNDO_PAUSE) && !starts_word;
        self.area.insert_str(c.to_string());
        self.undone.clear();
        self.column = None;
        match self.steps.last_mut() {
            Some(step) if joins => *step = Step { edits: step.edits + 1, typed_at: Some(at) },
            _ => self.steps.push(Step { edits: 1, typed_at: Some(at) }),
        }
    }

    /// Inserts text as one undo step, without control characters other than line feed and tab.
    pub fn insert(&mut self, text: &str) {
        let clean = clean(text);
        if !clean.is_empty() {
            self.area.insert_str(&clean);
            self.edited(1);
        }
    }

    /// Inserts pasted text: in full when it is short, else as a chip.
    pub fn paste(&mut self, text: &str) {
        if chips::is_long(text) {
            let label = self.chips.add_paste(text);
            self.insert(&label);
        } else {
            self.insert(text);
        }
    }

    /// Inserts a picture as a chip.
    pub fn insert_picture(&mut self, data: String, mime_type: String, size: Option<(u32, u32)>) {
        let label = self.chips.add_picture(data, mime_type, size);
        self.insert(&label);
    }

    /// Inserts a line break.
    pub fn new_line(&mut self) {
        self.area.insert_newline();
        self.edited(1);
    }

    /// Replaces the last `chars` characters before the cursor.
    pub fn replace_before(&mut self, chars: usize, text: &str) {
        let (row, column) = self.area.cursor();
        self.jump(row, column.saturating_sub(chars));
        let deleted = chars > 0 && self.area.delete_str(chars);
        self.area.insert_str(clean(text));
        self.edited(1 + u32::from(deleted));
    }

    /// Puts a chip's text in its place when the cursor is behind one; false when it is not.
    pub fn expand_chip(&mut self) -> bool {
        let Some(unit) = self.unit_before() else { return false };
        let (row, column) = self.area.cursor();
        let label = self.slice(row, &unit).to_owned();
        let Some(Chip::Paste { text, .. }) = self.chips.get(&label) else { return false };
        let text = clean(text);
        self.jump(row, column.saturating_sub(unit.chars));
        let deleted = self.area.delete_str(unit.chars);
        self.area.insert_str(&text);
        self.edited(1 + u32::from(deleted));
        true
    }

    /// Deletes the unit before the cursor, or joins with the line before.
    pub fn delete_back(&mut self) {
        let (row, column) = self.area.cursor();
        match self.unit_before() {
            Some(unit) => self.delete_span((row, column - unit.chars), unit.chars),
            None if row > 0 => {
                self.area.delete_newline();
                self.edited(1);
            }
            None => {}
        }
    }

    /// Deletes the unit after the cursor, or joins with the line after.
    pub fn delete_forward(&mut self) {
        let (row, column) = self.area.cursor();
        match self.unit_after() {
            Some(unit) => self.delete_span((row, column), unit.chars),
            None if row + 1 < self.area.lines().len() => self.delete_span((row, column), 1),
            None => {}
        }
    }

    /// Deletes to the end of the line; at the end, the line break.
    pub fn kill_to_end(&mut self) {
        let (row, column) = self.area.cursor();
        let length = self.area.lines().get(row).map_or(0, |line| line.chars().count());
        match length.saturating_sub(column) {
            0 => self.delete_forward(),
            chars => self.kill((row, column), chars),
        }
    }

    /// Deletes to the start of the line; at the start, the line break before.
    pub fn kill_to_start(&mut self) {
        match self.area.cursor() {
            (_, 0) => self.delete_back(),
            (row, column) => self.kill((row, 0), column),
        }
    }

    /// Deletes back to the start of a word.
    pub fn kill_word_back(&mut self) {
        let (row, column) = self.area.cursor();
        match segments::word_left(&self.units_of(row), column) {
            start if start < column => self.kill((row, start), column - start),
            _ => self.delete_back(),
        }
    }

    /// Deletes forward to the end of a word.
    pub fn kill_word_forward(&mut self) {
        let (row, column) = self.area.cursor();
        match segments::word_right(&self.units_of(row), column) {
            end if end > column => self.kill((row, column), end - column),
            _ => self.delete_forward(),
        }
    }

    /// Puts back what was killed last.
    pub fn yank(&mut self) {
        let killed = self.killed.clone();
        self.insert(&killed);
    }

    /// Takes the last step back.
    pub fn undo(&mut self) {
        let Some(step) = self.steps.pop() else { return };
        for _ in 0..step.edits {
            self.area.undo();
        }
        self.undone.push(step.edits);
        self.column = None;
    }

    /// Does again what was undone last.
    pub fn redo(&mut self) {
        let Some(edits) = self.undone.pop() else { return };
        for _ in 0..edits {
            self.area.redo();
        }
        self.steps.push(Step { edits, typed_at: None });
        self.column = None;
    }

    /// One unit to the left, over line starts.
    pub fn left(&mut self) {
        let (row, column) = self.area.cursor();
        match self.unit_before() {
            Some(unit) => self.move_to(row, column - unit.chars),
            None if row > 0 => self.move_to(row - 1, usize::MAX),
            None => {}
        }
    }

    /// One unit to the right, over line ends.
    pub fn right(&mut self) {
        let (row, column) = self.area.cursor();
        match self.unit_after() {
            Some(unit) => self.move_to(row, column + unit.chars),
            None if row + 1 < self.area.lines().len() => self.move_to(row + 1, 0),
            None => {}
        }
    }

    /// To the start of the word before.
    pub fn word_left(&mut self) {
        let (row, column) = self.area.cursor();
        match segments::word_left(&self.units_of(row), column) {
            start if start < column => self.move_to(row, start),
            _ => self.left(),
        }
    }

    /// To the end of the word after.
    pub fn word_right(&mut self) {
        let (row, column) = self.area.cursor();
        match segments::word_right(&self.units_of(row), column) {
            end if end > column => self.move_to(row, end),
            _ => self.right(),
        }
    }

    /// To the start of the line.
    pub fn line_start(&mut self) {
        let (row, _) = self.area.cursor();
        self.move_to(row, 0);
    }

    /// To the end of the line.
    pub fn line_end(&mut self) {
        let (row, _) = self.area.cursor();
        self.move_to(row, usize::MAX);
    }

    /// A visual row up at `width` cells; false on the first one.
    pub fn up(&mut self, width: u16) -> bool {
        let layout = self.layout(width);
        layout.cursor.row.checked_sub(1).is_some_and(|row| self.go_to_row(&layout, row))
    }

    /// A visual row down at `width` cells; false on the last one.
    pub fn down(&mut self, width: u16) -> bool {
        let layout = self.layout(width);
        let row = layout.cursor.row + 1;
        row < layout.rows.len() && self.go_to_row(&layout, row)
    }

    /// Puts the cursor at a cell of a visual row.
    pub fn click(&mut self, width: u16, row: usize, column: u16) {
        let layout = self.layout(width);
        if let Some((line, chars)) = layout.place(row.min(layout.rows.len().saturating_sub(1)), column) {
            self.move_to(line, chars);
        }
    }

    /// Replaces everything as one undo step; long text becomes a chip.
    pub fn set_text(&mut self, text: &str) {
        let chars: usize = self.text().chars().count();
        self.jump(0, 0);
        let deleted = chars > 0 && self.area.delete_str(chars);
        let before = self.steps.len();
        self.paste(text);
        let pasted = self.steps.len() > before;
        match self.steps.last_mut() {
            Some(step) if pasted => step.edits += u32::from(deleted),
            _ if deleted => self.edited(1),
            _ => {}
        }
    }

    /// Empties it for the next message and forgets its chips. What was there goes to the recall
    /// list when `keep` holds it.
    pub fn reset(&mut self, keep: Option<String>) {
        let mut recall = std::mem::take(&mut self.recall);
        if let Some(text) = keep {
            recall.add(text);
        }
        recall.leave();
        let killed = std::mem::take(&mut self.killed);
        *self = Composer { recall, killed, ..Composer::default() };
    }

    /// The prompts of earlier runs, newest first.
    pub fn set_history(&mut self, prompts: Vec<String>) {
        self.recall.load(prompts);
    }

    /// The prompts that can be recalled, newest first.
    pub fn history(&self) -> &[String] {
        self.recall.prompts()
    }

    /// Shows the prompt before; false when there is none.
    pub fn recall_earlier(&mut self) -> bool {
        let draft = self.expanded().0;
        match self.recall.earlier(draft) {
            Some(text) => {
                self.set_text(&text);
                true
            }
            None => false,
        }
    }

    /// Shows the prompt after, at the end what was being written; false when none is shown.
    pub fn recall_later(&mut self) -> bool {
        match self.recall.later() {
            Some(text) => {
                self.set_text(&text);
                true
            }
            None => false,
        }
    }

    fn go_to_row(&mut self, layout: &ComposerLayout, row: usize) -> bool {
        let column = self.column.unwrap_or(layout.cursor.column);
        let Some((line, chars)) = layout.place(row, column) else { return false };
        self.jump(line, chars);
        self.close_step();
        self.column = Some(column);
        true
    }

    fn kill(&mut self, from: (usize, usize), chars: usize) {
        let line = self.area.lines().get(from.0).map_or("", String::as_str);
        self.killed = line.chars().skip(from.1).take(chars).collect();
        self.delete_span(from, chars);
    }

    fn delete_span(&mut self, from: (usize, usize), chars: usize) {
        self.jump(from.0, from.1);
        if self.area.delete_str(chars) {
            self.edited(1);
        }
    }

    fn edited(&mut self, edits: u32) {
        self.steps.push(Step { edits, typed_at: None });
        self.undone.clear();
        self.column = None;
    }

    fn close_step(&mut self) {
        if let Some(step) = self.steps.last_mut() {
            step.typed_at = None;
        }
    }

    fn move_to(&mut self, row: usize, column: usize) {
        self.jump(row, column);
        self.close_step();
        self.column = None;
    }

    fn jump(&mut self, row: usize, column: usize) {
        let clamp = |value: usize| u16::try_from(value).unwrap_or(u16::MAX);
        self.area.move_cursor(CursorMove::Jump(clamp(row), clamp(column)));
    }

    fn units_of(&self, row: usize) -> Vec<Segment> {
        segments::of(self.area.lines().get(row).map_or("", String::as_str), &self.chips)
    }

    fn unit_before(&self) -> Option<Segment> {
        let (row, column) = self.area.cursor();
        self.units_of(row).into_iter().rfind(|unit| unit.first_char < column)
    }

    fn unit_after(&self) -> Option<Segment> {
        let (row, column) = self.area.cursor();
        self.units_of(row).into_iter().find(|unit| unit.first_char >= column)
    }

    fn slice(&self, row: usize, unit: &Segment) -> &str {
        let line = self.area.lines().get(row).map_or("", String::as_str);
        line.get(unit.bytes.clone()).unwrap_or("")
    }
}

/// Cells that a piece of composer text takes as it is drawn; a tab takes four.
fn cells(text: &str) -> u16 {
    match text {
        "\t" => 4,
        text if text.is_ascii() => u16::try_from(text.len()).unwrap_or(u16::MAX),
        text => printable_line(text).cell_width(),
    }
}

/// Text without the control characters that cannot be shown and nobody means; line feeds and
/// tabs stay.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests;
