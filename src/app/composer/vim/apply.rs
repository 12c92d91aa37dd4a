//! Carries out commands.

use super::command::{Command, Motion, Operator, Target, Verb};
use super::edit::{self, Edit, Plan, Rest};
use super::motion::{self, Reach};
use super::object::{self, Span};
use super::text::{Place, Text};
use super::{Change, Mode, VimKey, place_after};
use crate::composer::Composer;
use crate::composer::register::SpanKind;

impl Composer {
    pub(super) fn run(&mut self, command: Command, width: u16) -> VimKey {
        let times = command.count.unwrap_or(1);
        match &command.verb {
            Verb::Move(motion) => return self.go(motion, command.count, width),
            Verb::Operate(operator, target) => {
                let (operator, target) = (*operator, target.clone());
                self.operate(command, operator, &target);
            }
            Verb::Insert(at) => self.insert_at(*at, command),
            Verb::Put(side) => {
                let text = self.vim_text();
                let plan = edit::put(&text, text.index(self.cursor()), *side, &self.register, times);
                if let Some(plan) = plan {
                    self.carry_out(plan);
                    self.record_change(command, String::new());
                }
            }
            Verb::Undo => self.travel(times, Composer::undo),
            Verb::Redo => self.travel(times, Composer::redo),
            Verb::Repeat => self.repeat(command.count, width),
            Verb::Select(kind) => self.enter(match self.visual() {
                Some((known, _)) if known == *kind => Mode::Normal,
                known => Mode::Visual(*kind, known.map_or(self.cursor(), |(_, anchor)| anchor)),
            }),
            Verb::SwapEnds => {
                if let Some((kind, anchor)) = self.visual() {
                    self.enter(Mode::Visual(kind, self.cursor()));
                    self.move_to(anchor.0, anchor.1);
                }
            }
            Verb::SelectObject(object) => {
                let text = self.vim_text();
                let span = object::span(&text, text.index(self.cursor()), *object, times);
                if let Some(span) = span.filter(|span| !span.range.is_empty()) {
                    let (from, to) = (text.place(span.range.start), text.place(span.range.end - 1));
                    self.enter(Mode::Visual(span.kind, from));
                    self.move_to(to.0, to.1);
                }
            }
        }
        VimKey::Taken
    }

    /// Moves the cursor. Up and down move by visual row.
    fn go(&mut self, motion: &Motion, count: Option<usize>, width: u16) -> VimKey {
        let times = count.unwrap_or(1);
        let (steps, edge) = match motion {
            Motion::Up => (self.go_rows(times, width, |row| row.checked_sub(1)), VimKey::AboveFirst),
            Motion::Down => (self.go_rows(times, width, |row| row.checked_add(1)), VimKey::BelowLast),
            other => {
                let text = self.vim_text();
                let to =
                    self.lead(&text, text.index(self.cursor()), other, count).map(|(_, to)| text.place(to));
                if let Some((row, column)) = to {
                    self.move_to(row, column);
                    // Up and down stay at the ends of lines.
                    self.column = (*other == Motion::LineEnd).then_some(u16::MAX);
                }
                self.keep_find(other);
                return VimKey::Taken;
            }
        };
        if steps == 0 && self.visual().is_none() { edge } else { VimKey::Taken }
    }

    /// The target of a motion, and the resolved motion.
    fn lead(
        &self,
        text: &Text,
        from: usize,
        motion: &Motion,
        count: Option<usize>,
    ) -> Option<(Motion, usize)> {
        let (motion, again) = motion::resolve_find(motion, self.vim.as_ref()?.find)?;
        let to = motion::target(text, from, &motion, count, again)?;
        Some((motion, to))
    }

    fn keep_find(&mut self, motion: &Motion) {
        if let (Motion::Find(find), Some(vim)) = (motion, &mut self.vim) {
            vim.find = Some(*find);
        }
    }

    fn operate(&mut self, command: Command, operator: Operator, target: &Target) {
        let steps = self.steps.len();
        let text = self.vim_text();
        let from = text.index(self.cursor());
        let found = self.span_of(&text, from, operator, target, command.count);
        let plan = found
            .as_ref()
            .and_then(|(span, cursor)| edit::plan_operator(&text, operator, span, *cursor, &self.register));
        let again = found.map(|(span, _)| match span.kind {
            SpanKind::Chars => Target::Again(span.kind, span.range.len()),
            SpanKind::Lines => {
                Target::Again(span.kind, text.row(span.range.end) - text.row(span.range.start) + 1)
            }
        });
        if let Target::Motion(motion) = target {
            self.keep_find(motion);
        }
        let verb = match (target, again) {
            (Target::Selection | Target::SelectedLines, Some(again)) => Verb::Operate(operator, again),
            _ => command.verb,
        };
        let command = Command { verb, ..command };
        self.enter(Mode::Normal);
        let Some(plan) = plan else { return };
        self.carry_out(plan);
        match operator {
            Operator::Change => self.begin_insert(command, steps),
            Operator::Yank => {}
            _ => self.record_change(command, String::new()),
        }
    }

    /// The span of an operator, and the cursor where the operator leaves the text unchanged.
    fn span_of(
        &self,
        text: &Text,
        from: usize,
        operator: Operator,
        target: &Target,
        count: Option<usize>,
    ) -> Option<(Span, usize)> {
        let times = count.unwrap_or(1);
        let row = text.row(from);
        let lines = |count: usize| Span::rows(text, row, (row + count - 1).min(text.rows() - 1));
        let at_start = |span: Span| {
            let start = span.range.start;
            (span, start)
        };
        match target {
            Target::Motion(Motion::Word(kind)) => {
                let to = match operator {
                    Operator::Change if !text.is_blank(from) => {
                        (motion::change_end(text, from, *kind, times) + 1).min(text.len())
                    }
                    _ => motion::operator_word_end(text, from, *kind, times)?,
                };
                Some(at_start(span_between(text, from, to, Reach::AcrossLines)))
            }
            Target::Motion(motion) => {
                let (motion, to) = self.lead(text, from, motion, count)?;
                Some((span_between(text, from, to, motion.reach()), from.min(to)))
            }
            Target::Chars => {
                let end = (from + times).min(text.line_end(from));
                let is_enough = from < end && (operator == Operator::SwapCase || from + times == end);
                let cursor = if operator == Operator::SwapCase { end } else { end.saturating_sub(1) };
                is_enough.then(|| (Span::chars(from..end), cursor))
            }
            Target::Lines => Some((lines(times), from)),
            Target::Object(object) => object::span(text, from, *object, times).map(at_start),
            Target::Selection | Target::SelectedLines => {
                let (kind, anchor) = self.visual()?;
                let kind = if *target == Target::Selection { kind } else { SpanKind::Lines };
                Some(at_start(selection(text, kind, anchor, self.cursor())))
            }
            Target::Again(SpanKind::Chars, count) => {
                Some(at_start(Span::chars(from..(from + count).min(text.len()))))
            }
            Target::Again(SpanKind::Lines, count) => Some(at_start(lines(*count))),
        }
    }

    fn carry_out(&mut self, plan: Plan) {
        let steps = self.steps.len();
        for Edit { at, chars, text } in plan.edits {
            self.splice(at, chars, &text);
        }
        self.join_steps(steps);
        let (row, column) = match plan.rest {
            Rest::At(place) => place,
            Rest::Indent(row) => {
                let row = row.min(self.buffer.lines().len() - 1);
                (row, self.buffer.line(row).chars().take_while(|c| c.is_whitespace()).count())
            }
        };
        self.move_to(row, column);
        self.register = plan.register.unwrap_or_else(|| std::mem::take(&mut self.register));
    }

    pub(super) fn record_change(&mut self, command: Command, typed: String) {
        if let Some(vim) = &mut self.vim {
            vim.change = Some(Change { command, typed });
        }
    }

    /// Undoes or redoes `times` steps; the cursor goes to the first difference.
    fn travel(&mut self, times: usize, step: fn(&mut Composer)) {
        let before = self.text();
        (0..times).for_each(|_| step(self));
        let text = self.text();
        if text == before {
            return;
        }
        let same = before.chars().zip(text.chars()).take_while(|(one, other)| one == other).count();
        let (row, column) = place_after(&text, same);
        self.move_to(row, column);
    }
}

/// The span of an operator between two positions.
fn span_between(text: &Text, from: usize, to: usize, reach: Reach) -> Span {
    let (start, end) = (from.min(to), from.max(to));
    let (first, last) = (text.row(start), text.row(end));
    match reach {
        Reach::Lines => Span::rows(text, first, last),
        Reach::Inclusive => Span::chars(start..(end + 1).min(text.len())),
        Reach::AcrossLines if last > first && end == text.start_of(last) => {
            match start <= text.indent_end(first) {
                true => Span::rows(text, first, last - 1),
                false => Span::chars(start..end - 1),
            }
        }
        Reach::AcrossLines | Reach::Exclusive => Span::chars(start..end),
    }
}

/// The selection from one place to another, both included.
pub(super) fn selection(text: &Text, kind: SpanKind, anchor: Place, cursor: Place) -> Span {
    let (one, other) = (text.index(anchor), text.index(cursor));
    let (start, end) = (one.min(other), one.max(other));
    match kind {
        SpanKind::Lines => Span::rows(text, text.row(start), text.row(end)),
        SpanKind::Chars => Span::chars(start..(end + 1).min(text.len())),
    }
}
