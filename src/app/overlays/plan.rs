//! The dialog of a plan: the decision on a proposed one, or the progress of the accepted one.

use super::list_keys::{ListKey, answer_key, list_key};
use super::quiet::Quiet;
use super::reading::Reading;
use crate::key::{Key, KeyCode, Mods};
use crate::line_edit::LineEdit;
use crate::msg::Millis;
use crate::outcome::KeyOutcome;
use crate::printable::Printable;
use crate::request::Ticket;
use tau_protocol::approval::PermissionMode;

/// The answers, in display order.
pub const ANSWERS: [(PlanAnswer, &str); 6] = [
    (PlanAnswer::Accept(PermissionMode::Auto), "accept it and continue in auto: tau does not ask"),
    (PlanAnswer::Accept(PermissionMode::Edits), "accept it and continue in edits: tau asks before commands"),
    (PlanAnswer::Accept(PermissionMode::Ask), "accept it and continue in ask: tau asks before every change"),
    (PlanAnswer::Edit, "edit it in $EDITOR first"),
    (PlanAnswer::Reject, "reject it and say what should change"),
    (PlanAnswer::Close, "stop here and keep talking about it"),
];

/// The keys of the answers that cannot be undone: a comment can.
pub(crate) const DECIDING: &str = "q12346";

/// Index of the answer that continues in this mode.
fn answer_in(mode: PermissionMode) -> usize {
    let accepts = PlanAnswer::Accept(if mode == PermissionMode::Plan { PermissionMode::Ask } else { mode });
    ANSWERS.iter().position(|(answer, _)| *answer == accepts).unwrap_or_default()
}

/// The decision on a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanAnswer {
    /// It is carried out in this mode.
    Accept(PermissionMode),
    Edit,
    /// The model gets a comment, and the mode stays.
    Reject,
    /// The run stops.
    Close,
}

/// The user's decision.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PlanChoice {
    Accept(PermissionMode),
    Edit,
    Reject(String),
    /// The accepted plan is dropped.
    Drop,
}

/// The dialog.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanView {
    /// The id of the question that it answers; without one, the accepted plan is only displayed.
    pub id: Option<String>,
    /// The plan, as markdown.
    pub text: String,
    /// Whether the user has changed it.
    pub is_edited: bool,
    pub selected: usize,
    /// The initially marked answer.
    marked: usize,
    /// Why the last answer was refused.
    pub refusal: Option<Printable>,
    pub reading: Reading,
    /// The comment, while being typed.
    pub comment: Option<LineEdit>,
    /// The comment that Esc left.
    kept: LineEdit,
    /// Whether `d` was pressed on the accepted plan: once more drops it.
    pub drops: bool,
    /// The open editor.
    pub ticket: Option<Ticket>,
    pub(crate) quiet: Quiet,
}

impl PlanView {
    /// The dialog of a proposed plan, which appears now. The answer that continues in this mode is marked; `refusal`
    /// is why the last answer was refused.
    pub fn new(id: &str, text: &str, mode: PermissionMode, refusal: Option<&str>, now: Millis) -> Self {
        let marked = answer_in(mode);
        let refusal = refusal.map(Printable::line);
        PlanView {
            id: Some(id.to_owned()),
            selected: marked,
            marked,
            refusal,
            ..PlanView::accepted(text, now)
        }
    }

    /// Replaces the plan with the user's text.
    pub(crate) fn change(&mut self, text: String) {
        self.text = text;
        self.is_edited = true;
        self.selected = self.marked;
    }

    /// The accepted plan.
    pub fn accepted(text: &str, now: Millis) -> Self {
        PlanView { text: text.to_owned(), quiet: Quiet::new(now), ..PlanView::default() }
    }

    /// Adds pasted text to the comment.
    pub(crate) fn paste(&mut self, text: &str) {
        if let Some(line) = &mut self.comment {
            line.paste_lines(text);
        }
    }

    /// Handles a key; `page` is the number of rows by which the plan scrolls.
    pub(crate) fn key(&mut self, key: Key, page: usize) -> KeyOutcome<PlanChoice> {
        if let Some(line) = self.comment.take() {
            return self.comment_key(line, key);
        }
        let drops = std::mem::take(&mut self.drops);
        let insisted = std::mem::take(&mut self.reading.insists);
        if self.reading.scroll_by_key(key, page) {
            return KeyOutcome::Handled;
        }
        match (key.code, key.mods) {
            (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => return KeyOutcome::Closed,
            (KeyCode::Char('d'), Mods::NONE) if self.id.is_none() && drops => {
                return KeyOutcome::Done(PlanChoice::Drop);
            }
            (KeyCode::Char('d'), Mods::NONE) if self.id.is_none() => self.drops = true,
            (KeyCode::Enter, _) if self.id.is_none() => return KeyOutcome::Closed,
            _ if self.id.is_none() => match list_key(key, 1) {
                Some(ListKey::Close) => return KeyOutcome::Closed,
                Some(ListKey::Move(by)) if by < 0 => {
                    self.reading.scroll = self.reading.scroll.saturating_sub(by.unsigned_abs());
                }
                Some(ListKey::Move(by)) => {
                    let by = page.min(by.unsigned_abs());
                    self.reading.scroll = self.reading.scroll.saturating_add(by);
                }
                Some(ListKey::Row(_) | ListKey::Filter) | None => return KeyOutcome::Ignored,
            },
            (KeyCode::Enter, _) => return self.confirm_selection(insisted),
            _ if let Some(row) = key.row().filter(|row| *row < ANSWERS.len()) => {
                self.selected = row;
                return self.confirm_selection(insisted);
            }
            _ => return answer_key(key, &mut self.selected, ANSWERS.len()),
        }
        KeyOutcome::Handled
    }

    /// Gives the selected answer. A plan of the model is accepted once it was seen; the key before may have `insisted`.
    fn confirm_selection(&mut self, insisted: bool) -> KeyOutcome<PlanChoice> {
        match ANSWERS.get(self.selected).map(|(answer, _)| *answer) {
            Some(PlanAnswer::Accept(mode)) if self.is_edited || self.reading.accepts(insisted) => {
                KeyOutcome::Done(PlanChoice::Accept(mode))
            }
            Some(PlanAnswer::Accept(_)) => KeyOutcome::Handled,
            Some(PlanAnswer::Edit) => KeyOutcome::Done(PlanChoice::Edit),
            Some(PlanAnswer::Reject) => {
                self.comment = Some(std::mem::take(&mut self.kept));
                KeyOutcome::Handled
            }
            Some(PlanAnswer::Close) | None => KeyOutcome::Closed,
        }
    }

    fn comment_key(&mut self, mut line: LineEdit, key: Key) -> KeyOutcome<PlanChoice> {
        match (key.code, key.mods) {
            (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => {
                self.kept = line;
                return KeyOutcome::Handled;
            }
            _ if line.break_line(key) => {}
            (KeyCode::Enter, _) if !line.text().trim().is_empty() => {
                return KeyOutcome::Done(PlanChoice::Reject(line.text().trim().to_owned()));
            }
            _ => drop(line.key(key) || line.move_key(key)),
        }
        self.comment = Some(line);
        KeyOutcome::Handled
    }
}
