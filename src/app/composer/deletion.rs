//! Deletes by segment, by word and to the ends of a line; deleted text can be inserted again.

use super::register::{Register, SpanKind};
use super::{Composer, segments};

impl Composer {
    /// Deletes the segment before the cursor, or joins with the line before.
    pub(crate) fn delete_back(&mut self) {
        let (row, column) = self.buffer.cursor();
        match self.segment_before() {
            Some(segment) => self.delete_span((row, column - segment.chars), segment.chars),
            None if row > 0 => {
                self.buffer.delete_line_break();
                self.push_step(1);
            }
            None => {}
        }
    }

    /// Deletes the segment after the cursor, or joins with the line after.
    pub(crate) fn delete_forward(&mut self) {
        let (row, column) = self.buffer.cursor();
        match self.segment_after() {
            Some(segment) => self.delete_span((row, column), segment.chars),
            None if row + 1 < self.buffer.lines().len() => self.delete_span((row, column), 1),
            None => {}
        }
    }

    /// Deletes to the end of the line; at the end, the line break.
    pub(crate) fn kill_to_end(&mut self) {
        let (row, column) = self.buffer.cursor();
        let length = self.buffer.line(row).chars().count();
        match length.saturating_sub(column) {
            0 => self.delete_forward(),
            chars => self.kill((row, column), chars),
        }
    }

    /// Deletes to the start of the line; at the start, the line break before.
    pub(crate) fn kill_to_start(&mut self) {
        match self.buffer.cursor() {
            (_, 0) => self.delete_back(),
            (row, column) => self.kill((row, 0), column),
        }
    }

    /// Deletes back to the start of a word.
    pub(crate) fn kill_word_back(&mut self) {
        let (row, column) = self.buffer.cursor();
        match segments::word_left(&self.segments_of(row), column) {
            start if start < column => self.kill((row, start), column - start),
            _ => self.delete_back(),
        }
    }

    /// Deletes forward to the end of a word.
    pub(crate) fn kill_word_forward(&mut self) {
        let (row, column) = self.buffer.cursor();
        match segments::word_right(&self.segments_of(row), column) {
            end if end > column => self.kill((row, column), end - column),
            _ => self.delete_forward(),
        }
    }

    /// Inserts the last deleted text.
    pub(crate) fn yank(&mut self) {
        let killed = self.register.text.clone();
        self.insert(&killed);
    }

    fn kill(&mut self, from: (usize, usize), chars: usize) {
        let line = self.buffer.line(from.0);
        let text = line.chars().skip(from.1).take(chars).collect();
        self.register = Register { text, kind: SpanKind::Chars };
        self.delete_span(from, chars);
    }

    fn delete_span(&mut self, from: (usize, usize), chars: usize) {
        self.jump(from.0, from.1);
        if self.buffer.delete(chars) {
            self.push_step(1);
        }
    }
}
