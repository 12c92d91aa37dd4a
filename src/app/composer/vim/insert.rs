//! Insert mode: its start, its end, and repeating the typed text.

use super::command::{Command, InsertAt, Verb};
use super::{Change, Insertion, Mode, edit, place_after};
use crate::composer::Composer;

impl Composer {
    pub(super) fn repeat(&mut self, count: Option<usize>, width: u16) {
        let Some(Change { command, typed }) = self.vim.as_ref().and_then(|vim| vim.change.clone()) else {
            return;
        };
        self.run(Command { count: count.or(command.count), verb: command.verb }, width);
        if self.is_typing() {
            self.insert(&typed);
            self.leave_insert();
        }
    }

    pub(super) fn insert_at(&mut self, at: InsertAt, command: Command) {
        let steps = self.steps.len();
        let (row, _) = self.cursor();
        match at {
            InsertAt::Cursor => {}
            InsertAt::After => {
                if self.segment_after().is_some() {
                    self.right();
                }
            }
            InsertAt::FirstNonBlank => {
                let text = self.vim_text();
                let to = text.place(text.indent_end(row));
                self.move_to(to.0, to.1);
            }
            InsertAt::LineEnd => self.line_end(),
            InsertAt::Below => {
                self.line_end();
                self.new_line();
            }
            InsertAt::Above => {
                self.line_start();
                self.new_line();
                self.move_to(row, 0);
            }
        }
        self.begin_insert(command, steps);
    }

    /// The numbers of characters before and after the cursor.
    fn around_cursor(&self) -> (usize, usize) {
        let text = self.vim_text();
        let at = text.index(self.cursor());
        (text.chars(0..at), text.chars(at..text.len()))
    }

    pub(super) fn begin_insert(&mut self, command: Command, steps: usize) {
        let (before, after) = self.around_cursor();
        if let Some(vim) = &mut self.vim {
            vim.mode = Mode::Insert;
            vim.insertion = Some(Insertion { before, after, steps, command });
        }
    }

    /// Ends insert mode: the typed text becomes one undo step, repeated by the count.
    pub(super) fn leave_insert(&mut self) {
        if let Some(insertion) = self.vim.as_mut().and_then(|vim| vim.insertion.take()) {
            self.finish(insertion);
        }
        self.enter(Mode::Normal);
        if let Some(segment) = self.segment_before() {
            let (row, _) = self.cursor();
            self.move_to(row, segment.first_char);
        }
    }

    fn finish(&mut self, insertion: Insertion) {
        let Insertion { before, after, steps, command } = insertion;
        let text = self.text();
        let chars = text.chars().count().saturating_sub(before + after);
        let typed: String = text.chars().skip(before).take(chars).collect();
        let begins = match command.verb {
            Verb::Insert(at) => Some(at),
            _ => None,
        };
        if let (Some(at), false, Some(count)) = (begins, typed.is_empty(), command.count) {
            let glue = if matches!(at, InsertAt::Below | InsertAt::Above) { "\n" } else { "" };
            let piece = format!("{glue}{typed}");
            let at = place_after(&text, before + chars);
            self.splice(at, 0, &edit::repeat_text(&piece, count - 1));
        }
        self.join_steps(steps);
        if begins.is_none() || !typed.is_empty() {
            self.record_change(command, typed);
        }
    }
}
