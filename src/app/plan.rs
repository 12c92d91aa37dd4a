//! The dialog at the end of a run in plan mode: what becomes of the plan.

use super::approval::QUIET;
use super::key::{Key, KeyCode, Mods};
use super::line_edit::LineEdit;
use super::msg::Millis;
use super::outcome::KeyOutcome;
use super::request::Ticket;
use crate::agent::protocol::approval::PermissionMode;

/// The answers, in the order in which they are shown.
pub const ANSWERS: [(PlanAnswer, &str); 5] = [
    (PlanAnswer::Accept(PermissionMode::Auto), "accept it, and continue in auto: tau does not ask"),
    (PlanAnswer::Accept(PermissionMode::Ask), "accept it, and continue in ask: tau asks before every change"),
    (PlanAnswer::Edit, "edit it in $EDITOR first"),
    (PlanAnswer::Reject, "reject it, with a comment"),
    (PlanAnswer::Close, "close this, and keep talking about it"),
];

/// What becomes of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanAnswer {
    /// It is carried out in this mode.
    Accept(PermissionMode),
    Edit,
    /// The model gets a comment, and the mode stays.
    Reject,
    Close,
}

/// What the user decided.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PlanChoice {
    Accept(PermissionMode),
    Edit,
    Reject(String),
}

/// The dialog.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanView {
    /// The plan, as markdown.
    pub text: String,
    /// The user has changed it.
    pub is_edited: bool,
    pub selected: usize,
    /// The first row of the plan that is shown.
    pub scroll: usize,
    /// The comment, while it is typed.
    pub comment: Option<LineEdit>,
    /// The editor that is open.
    pub ticket: Option<Ticket>,
    /// Since when nothing was typed: what was meant for the composer decides nothing.
    quiet_since: Millis,
}

impl PlanView {
    /// The dialog of a plan, which appears now.
    pub fn new(text: &str, now: Millis) -> Self {
        PlanView {
            text: text.to_owned(),
            is_edited: false,
            selected: 1,
            scroll: 0,
            comment: None,
            ticket: None,
            quiet_since: now,
        }
    }

    /// Adds pasted text to the comment.
    pub(crate) fn paste(&mut self, text: &str) {
        if let Some(line) = &mut self.comment {
            line.paste(text);
        }
    }

    /// A key; `page` is by how many rows the plan can be scrolled down at once.
    pub(crate) fn key(&mut self, key: Key, page: usize, now: Millis) -> KeyOutcome<PlanChoice> {
        if let Some(line) = self.comment.take() {
            return self.comment_key(line, key);
        }
        let is_early = now - self.quiet_since < QUIET;
        self.quiet_since = if is_early || key.typed().is_some() { now } else { self.quiet_since };
        match (key.code, key.mods) {
            (KeyCode::Up, _) => self.selected = self.selected.saturating_sub(1),
            (KeyCode::Down, _) => self.selected = (self.selected + 1).min(ANSWERS.len() - 1),
            (KeyCode::PageUp, _) => self.scroll = self.scroll.saturating_sub(page.max(1)),
            (KeyCode::PageDown, _) => self.scroll = self.scroll.saturating_add(page),
            _ if is_early => {}
            (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => return KeyOutcome::Closed,
            (KeyCode::Enter, _) => return self.chosen(),
            _ => return KeyOutcome::Ignored,
        }
        KeyOutcome::Handled
    }

    fn chosen(&mut self) -> KeyOutcome<PlanChoice> {
        match ANSWERS.get(self.selected).map(|(answer, _)| *answer) {
            Some(PlanAnswer::Accept(mode)) => KeyOutcome::Done(PlanChoice::Accept(mode)),
            Some(PlanAnswer::Edit) => KeyOutcome::Done(PlanChoice::Edit),
            Some(PlanAnswer::Reject) => {
                self.comment = Some(LineEdit::default());
                KeyOutcome::Handled
            }
            Some(PlanAnswer::Close) | None => KeyOutcome::Closed,
        }
    }

    fn comment_key(&mut self, mut line: LineEdit, key: Key) -> KeyOutcome<PlanChoice> {
        match (key.code, key.mods) {
            (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => return KeyOutcome::Handled,
            (KeyCode::Enter, _) if !line.text().trim().is_empty() => {
                return KeyOutcome::Done(PlanChoice::Reject(line.text().trim().to_owned()));
            }
            _ => drop(line.key(key) || line.move_key(key)),
        }
        self.comment = Some(line);
        KeyOutcome::Handled
    }
}
