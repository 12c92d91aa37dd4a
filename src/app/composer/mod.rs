//! The composer: the text being written, its cursor, pastes and pictures in it, undo, history.
//!
//! [`buffer`] holds the lines by code point; everything here moves and deletes by segment ([`segments`]): a
//! grapheme cluster, or a chip such as `[paste #1 +123 lines]`. Wrapping and the cursor's cell are computed
//! here ([`layout`]), so they agree with the drawing. Undo steps are grouped by the time that comes with the
//! key.

mod buffer;
pub(crate) mod chips;
mod deletion;
mod history;
pub mod layout;
mod motion;
mod register;
pub mod segments;
pub(crate) mod vim;

use super::msg::Millis;
use super::printable::printable_line;
use buffer::Buffer;
use chips::{Chip, Chips};
use history::{History, RecalledPrompt};
use layout::ComposerLayout;
use ratatui::buffer::CellWidth;
use register::Register;
use segments::Segment;
use serde::{Deserialize, Serialize};
use tau_protocol::message::Block;
use vim::Vim;

/// Keys typed within this time of each other are undone together, in milliseconds.
const UNDO_PAUSE: Millis = 1_000;

/// The effect of sending the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputMode {
    /// A message to the model.
    Prompt,
    /// `!cmd`: run it and give its output to the model with the next message.
    Shell,
    /// `!!cmd`: run it and keep it from the model.
    ShellOnly,
}

/// One undo step: the number of edits in the text area.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    edits: u32,
    /// Time of the last edit; `None` once the step is closed.
    typed_at: Option<Millis>,
}

/// A text that was being written, with its cursor, pastes and pictures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    buffer: Buffer,
    chips: Chips,
}

/// A draft in a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedDraft {
    /// With chips as their labels.
    text: String,
    chips: Chips,
    cursor: (usize, usize),
}

impl SavedDraft {
    /// A draft of this text.
    pub(crate) fn of(text: String) -> Self {
        SavedDraft { text, ..SavedDraft::default() }
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

impl From<Draft> for SavedDraft {
    fn from(Draft { buffer, chips }: Draft) -> Self {
        SavedDraft { text: buffer.lines().join("\n"), chips, cursor: buffer.cursor() }
    }
}

impl From<SavedDraft> for Draft {
    fn from(SavedDraft { text, chips, cursor: (row, column) }: SavedDraft) -> Self {
        let mut buffer = Buffer::default();
        buffer.insert(&clean(&text));
        buffer.jump(row, column);
        Draft { buffer, chips }
    }
}

impl SavedDraft {
    /// The text with every paste in full, and the pictures in it.
    pub fn expanded_content(&self) -> (String, Vec<Block>) {
        self.chips.expand(&self.text)
    }
}

impl Draft {
    /// The text with every paste in full, and the pictures in it.
    pub(crate) fn expanded_content(&self) -> (String, Vec<Block>) {
        self.chips.expand(&self.buffer.lines().join("\n"))
    }

    /// Whether the draft is empty.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self.buffer.lines(), [only] if only.is_empty())
    }
}

/// A place of the cursor to return to: counted from the end of the text if what is inserted comes before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftPlace {
    row: usize,
    column: usize,
    from_end: bool,
}

/// The text being written.
#[derive(Clone, Debug, Default)]
pub struct Composer {
    buffer: Buffer,
    chips: Chips,
    steps: Vec<Step>,
    undone: Vec<u32>,
    /// The visual column that up and down try to keep, in cells.
    column: Option<u16>,
    register: Register,
    vim: Option<Vim>,
    history: History,
}

impl PartialEq for Composer {
    fn eq(&self, other: &Self) -> bool {
        self.buffer == other.buffer
            && self.chips == other.chips
            && self.register == other.register
            && self.vim == other.vim
            && self.history == other.history
    }
}

impl Composer {
    /// The text, with chips as their labels.
    pub fn text(&self) -> String {
        self.buffer.lines().join("\n")
    }

    /// The lines, with chips as their labels.
    pub fn lines(&self) -> &[String] {
        self.buffer.lines()
    }

    /// Whether the composer is empty.
    pub fn is_empty(&self) -> bool {
        matches!(self.buffer.lines(), [only] if only.is_empty())
    }

    /// Row and column of the cursor, in lines and characters.
    pub fn cursor(&self) -> (usize, usize) {
        self.buffer.cursor()
    }

    /// The effect of sending the text.
    pub fn mode(&self) -> InputMode {
        let first = self.buffer.line(0);
        match first {
            line if line.starts_with("!!") => InputMode::ShellOnly,
            line if line.starts_with('!') => InputMode::Shell,
            _ => InputMode::Prompt,
        }
    }

    /// The text with every paste in full, and the pictures in it.
    pub fn expanded_content(&self) -> (String, Vec<Block>) {
        self.chips.expand(&self.text())
    }

    /// The cursor's line up to the cursor.
    pub(crate) fn before_cursor(&self) -> &str {
        let (row, column) = self.buffer.cursor();
        let line = self.buffer.line(row);
        let end = line.char_indices().nth(column).map_or(line.len(), |(byte, _)| byte);
        line.get(..end).unwrap_or(line)
    }

    /// The text wrapped at `width` cells, with the cursor.
    pub fn layout(&self, width: u16) -> ComposerLayout {
        ComposerLayout::new(self.buffer.lines(), self.buffer.cursor(), &self.chips, width)
    }

    /// Types a character.
    pub(crate) fn type_char(&mut self, c: char, at: Millis) {
        let starts_word = !c.is_whitespace() && self.before_cursor().ends_with(char::is_whitespace);
        let open = self.steps.last().and_then(|step| step.typed_at);
        let joins = open.is_some_and(|last| at - last < UNDO_PAUSE) && !starts_word;
        self.buffer.insert(&c.to_string());
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
            self.buffer.insert(&clean);
            self.push_step(1);
        }
    }

    /// Inserts pasted text: short text without the end of its last line, long text as a chip.
    pub fn paste(&mut self, text: &str) {
        if chips::is_long(text) {
            let label = self.chips.add_paste(text);
            self.insert(&label);
        } else {
            self.insert(text.strip_suffix('\n').unwrap_or(text));
        }
    }

    /// Inserts a picture as a chip.
    pub(crate) fn insert_picture(&mut self, data: String, mime_type: String, size: Option<(u32, u32)>) {
        let label = self.chips.add_picture(data, mime_type, size);
        self.insert(&label);
    }

    /// Moves the cursor to a place, for an insertion there; returns the place to return to.
    pub(crate) fn leave_for(&mut self, place: (usize, usize)) -> LeftPlace {
        let (row, column) = self.buffer.cursor();
        self.buffer.jump(place.0, place.1);
        let is_behind = self.buffer.cursor() > (row, column);
        if is_behind {
            return LeftPlace { row, column, from_end: false };
        }
        let rows = self.buffer.lines().len().saturating_sub(row);
        let columns = self.buffer.line(row).chars().count().saturating_sub(column);
        LeftPlace { row: rows, column: columns, from_end: true }
    }

    /// Moves the cursor back to the text where it was.
    pub(crate) fn return_to(&mut self, left: LeftPlace) {
        let LeftPlace { row, column, from_end } = left;
        let row = if from_end { self.buffer.lines().len().saturating_sub(row) } else { row };
        let end = self.buffer.line(row).chars().count();
        self.buffer.jump(row, if from_end { end.saturating_sub(column) } else { column });
    }

    /// Inserts a line break.
    pub(crate) fn new_line(&mut self) {
        self.buffer.new_line();
        self.push_step(1);
    }

    /// Replaces the last `chars` characters before the cursor.
    pub(crate) fn replace_before(&mut self, chars: usize, text: &str) {
        let (row, column) = self.buffer.cursor();
        self.splice((row, column.saturating_sub(chars)), chars, &clean(text));
    }

    /// Replaces the chip before the cursor with its text; false without a chip there.
    pub(crate) fn expand_chip(&mut self) -> bool {
        let Some(segment) = self.segment_before() else { return false };
        let (row, column) = self.buffer.cursor();
        let label = self.slice(row, &segment).to_owned();
        let Some(Chip::Paste { text, .. }) = self.chips.get(&label) else { return false };
        let text = clean(text);
        self.splice((row, column.saturating_sub(segment.chars)), segment.chars, &text);
        true
    }

    /// Undoes the last step.
    pub(crate) fn undo(&mut self) {
        let Some(step) = self.steps.pop() else { return };
        self.buffer.undo(step.edits);
        self.undone.push(step.edits);
        self.column = None;
    }

    /// Redoes the last undone step.
    pub(crate) fn redo(&mut self) {
        let Some(edits) = self.undone.pop() else { return };
        self.buffer.redo(edits);
        self.steps.push(Step { edits, typed_at: None });
        self.column = None;
    }

    /// Replaces everything as one undo step; a huge text becomes a chip.
    pub(crate) fn set_text(&mut self, text: &str) {
        let chars: usize = self.text().chars().count();
        self.jump(0, 0);
        let deleted = chars > 0 && self.buffer.delete(chars);
        if let Some(vim) = &mut self.vim {
            vim.on_text_replaced();
        }
        let before = self.steps.len();
        // Labels within a chip would mean nothing.
        if chips::is_huge(text) && self.chips.spans(text).is_empty() {
            self.paste(text);
        } else {
            self.insert(text.strip_suffix('\n').unwrap_or(text));
        }
        let pasted = self.steps.len() > before;
        match self.steps.last_mut() {
            Some(step) if pasted => step.edits += u32::from(deleted),
            _ if deleted => self.push_step(1),
            _ => {}
        }
    }

    /// Empties the composer for the next message and forgets its chips. `keep` is added to the history.
    pub fn reset(&mut self, keep: Option<String>) {
        let mut history = std::mem::take(&mut self.history);
        if let Some(text) = keep {
            let is_this =
                self.chips != Chips::default() && self.expanded_content().0.trim_end() == text.trim_end();
            let draft = is_this.then(|| self.draft());
            history.add(text, draft);
        }
        history.leave();
        let mut register = std::mem::take(&mut self.register);
        register.text = self.chips.without_labels(&register.text);
        let vim = self.vim.take().map(Vim::fresh);
        *self = Composer { history, register, vim, ..Composer::default() };
    }

    /// Adds a text to the history.
    pub(crate) fn keep(&mut self, text: String) {
        self.history.add(text, None);
    }

    /// The text that is being written.
    pub(crate) fn draft(&self) -> Draft {
        Draft { buffer: self.buffer.clone(), chips: self.chips.clone() }
    }

    /// Takes the draft with its pastes and pictures, leaving the composer empty.
    pub(crate) fn take_draft(&mut self) -> Draft {
        let draft = self.draft();
        self.reset(None);
        draft
    }

    /// Replaces everything with a draft.
    pub(crate) fn put_draft(&mut self, draft: Draft) {
        self.reset(None);
        if let Some(vim) = self.vim.as_mut().filter(|_| !draft.is_empty()) {
            vim.on_text_replaced();
        }
        self.buffer = draft.buffer;
        self.chips = draft.chips;
    }

    /// Sets the prompts of earlier runs, newest first.
    pub(crate) fn set_history(&mut self, prompts: Vec<String>) {
        self.history.load(prompts);
    }

    /// The prompts that can be recalled, newest first.
    pub fn history(&self) -> &[String] {
        self.history.prompts()
    }

    /// Shows the previous prompt; false if there is no earlier prompt.
    pub(crate) fn recall_earlier(&mut self) -> bool {
        let recalled = self.history.earlier(self.draft());
        self.put_prompt(recalled)
    }

    /// Replaces everything with an earlier prompt, with its pastes and pictures where they are known. Returns the
    /// draft that was there, unless undo returns to it.
    pub(crate) fn recall(&mut self, prompt: &str) -> Option<Draft> {
        let recalled = self.history.find(prompt);
        let draft = matches!(recalled, RecalledPrompt::Draft(_)).then(|| self.draft());
        self.put_prompt(Some(recalled));
        draft.filter(|draft| !draft.is_empty())
    }

    /// A text that was sent from here and came back: each label of a picture stands for the next of `pictures`
    /// again, under a new label.
    pub(crate) fn adopt<'a>(&mut self, text: &str, pictures: &mut impl Iterator<Item = &'a Block>) -> String {
        let (mut adopted, mut at) = (String::new(), 0);
        for (span, size) in chips::picture_labels(text) {
            let Some(Block::Image { data, mime_type }) = pictures.next() else { break };
            adopted.push_str(text.get(at..span.start).unwrap_or(""));
            adopted.push_str(&self.chips.add_picture(data.clone(), mime_type.clone(), size));
            at = span.end;
        }
        adopted.push_str(text.get(at..).unwrap_or(""));
        adopted
    }

    /// Shows the next prompt, finally the draft; false when no prompt is being recalled.
    pub(crate) fn recall_later(&mut self) -> bool {
        let recalled = self.history.later(self.draft());
        self.put_prompt(recalled)
    }

    fn put_prompt(&mut self, recalled: Option<RecalledPrompt>) -> bool {
        match recalled {
            None => return false,
            Some(RecalledPrompt::Text(text)) => self.set_text(&text),
            Some(RecalledPrompt::Draft(draft)) => {
                // Labels of other chips could mean these, so undo cannot return to them.
                let history = std::mem::take(&mut self.history);
                self.put_draft(*draft);
                self.history = history;
            }
        }
        true
    }

    /// Replaces the characters after a place, as one undo step.
    fn splice(&mut self, at: (usize, usize), chars: usize, text: &str) {
        self.jump(at.0, at.1);
        let deleted = chars > 0 && self.buffer.delete(chars);
        if !text.is_empty() {
            self.buffer.insert(text);
        }
        match u32::from(deleted) + u32::from(!text.is_empty()) {
            0 => {}
            edits => self.push_step(edits),
        }
    }

    /// Joins the undo steps from an index on into one.
    fn join_steps(&mut self, from: usize) {
        let edits = self.steps.drain(from.min(self.steps.len())..).map(|step| step.edits).sum();
        if edits > 0 {
            self.steps.push(Step { edits, typed_at: None });
        }
    }

    fn push_step(&mut self, edits: u32) {
        self.steps.push(Step { edits, typed_at: None });
        self.undone.clear();
        self.column = None;
    }

    fn close_step(&mut self) {
        if let Some(step) = self.steps.last_mut() {
            step.typed_at = None;
        }
    }

    fn jump(&mut self, row: usize, column: usize) {
        self.buffer.jump(row, column);
    }

    fn segments_of(&self, row: usize) -> Vec<Segment> {
        segments::of(self.buffer.line(row), &self.chips)
    }

    fn segment_before(&self) -> Option<Segment> {
        let (row, column) = self.buffer.cursor();
        self.segments_of(row).into_iter().rfind(|segment| segment.first_char < column)
    }

    fn segment_after(&self) -> Option<Segment> {
        let (row, column) = self.buffer.cursor();
        self.segments_of(row).into_iter().find(|segment| segment.first_char >= column)
    }

    fn slice(&self, row: usize, segment: &Segment) -> &str {
        let line = self.buffer.line(row);
        line.get(segment.bytes.clone()).unwrap_or("")
    }
}

/// Width of composer text in cells; a tab takes four.
fn cells(text: &str) -> u16 {
    match text {
        "\t" => 4,
        text if text.is_ascii() => u16::try_from(text.len()).unwrap_or(u16::MAX),
        text => printable_line(text).cell_width(),
    }
}

/// Text without unwanted control characters; line feeds and tabs stay.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests;
