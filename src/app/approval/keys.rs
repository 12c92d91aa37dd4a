//! Key handling in a prompt.

use super::{Approval, Approvals, Choice, Coverage, PromptStage};
use crate::key::{Key, KeyCode, Mods};
use crate::line_edit::LineEdit;
use crate::misdirected::{is_word, without_word};
use crate::msg::Millis;
use crate::request::Ticket;
use tau_protocol::approval::{ApprovalAnswer, RuleScope};
use tau_tools::access::Preview;

/// The result of a key in a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum PromptStep {
    /// Not a key of the prompt.
    Ignored,
    /// The key changed the prompt, or nothing.
    Handled,
    /// The open request is answered.
    Answer(ApprovalAnswer),
    /// Every request of the same tool is answered: allowed or denied.
    AnswerKind(bool),
    /// The key must be pressed again; the reason.
    Insists(&'static str),
    /// Asks which earlier calls the rule would have covered.
    Coverage(String),
    /// Opens the new text, or the command, for editing.
    Edit,
    /// Shows the whole command or change in an editor.
    View,
    /// Nothing happens, for this reason.
    Remark(&'static str),
}

use PromptStep::{Answer, Handled, Ignored, Remark};

/// The scopes of a rule, in display order.
pub const SCOPES: [(RuleScope, &str); 4] = [
    (RuleScope::Session, "this session"),
    (RuleScope::Local, "this project, only me"),
    (RuleScope::Project, "this project"),
    (RuleScope::User, "everywhere"),
];

/// The scopes in which the sandbox lets a path be changed. A project cannot allow that.
const WRITABLE_SCOPES: [(RuleScope, &str); 3] =
    [(RuleScope::Once, "this time"), (RuleScope::Session, "this session"), (RuleScope::User, "everywhere")];

impl Approvals {
    /// Handles a key while the prompt takes them: see [`Approvals::is_ready`].
    pub(crate) fn key(&mut self, key: Key) -> PromptStep {
        let same = self.same_kind();
        let Some(open) = self.pending.get_mut(self.open) else { return Ignored };
        open.is_sent = false;
        let step = match open.stage {
            PromptStage::Choice if open.is_answered => return Ignored,
            PromptStage::Choice => match (key.code, key.mods) {
                (KeyCode::Left, Mods::NONE) => return self.step(-1),
                (KeyCode::Right, Mods::NONE) => return self.step(1),
                _ => open.choose(key, same),
            },
            PromptStage::Always(_) => open.choose_always(key),
            PromptStage::Reason(_) => open.type_reason(key),
            PromptStage::Rule(_) => open.type_rule(key),
            PromptStage::Command(_) => open.type_command(key),
            // The editor may not open; words are for the draft until it does.
            PromptStage::Editor(_) if key.typed_char().is_some() => return Ignored,
            PromptStage::Editor(_) => Handled,
        };
        let step = self.require_repeat(key.code, step);
        if step != Ignored {
            self.look_at_prompt();
            self.revision = self.revision.wrapping_add(1);
        }
        step
    }

    /// Refuses, the first time, a key that would allow a call that was not seen as a whole.
    fn require_repeat(&mut self, key: KeyCode, step: PromptStep) -> PromptStep {
        let is_unseen = match &step {
            Answer(
                ApprovalAnswer::Allow { .. }
                | ApprovalAnswer::AllowExact { .. }
                | ApprovalAnswer::AllowAlways { .. },
            ) => self.open().is_some_and(Approval::is_unseen),
            PromptStep::AnswerKind(true) => self.open().is_some_and(|open| {
                self.pending.iter().any(|other| other.is_like(open) && other.is_unseen())
            }),
            _ => false,
        };
        let is_kind = matches!(step, PromptStep::AnswerKind(_));
        let Some(open) = self.open_mut() else { return step };
        let is_again = open.insists == Some(key);
        if step != PromptStep::View {
            open.insists = Some(key).filter(|_| is_unseen && !is_again);
        }
        match () {
            () if !is_unseen || is_again => step,
            () => {
                let [text, _] = if is_kind { UNSEEN_CALLS } else { UNSEEN };
                PromptStep::Insists(text)
            }
        }
    }

    /// Restarts the quiet time, because something was typed.
    pub(crate) fn postpone(&mut self, now: Millis) {
        if let Some((_, since)) = &mut self.seen {
            *since = now;
        }
    }

    /// Opens the prompt before or after this one.
    fn step(&mut self, by: isize) -> PromptStep {
        let count = self.pending.len();
        if count < 2 {
            return Handled;
        }
        self.open = (self.open + count).saturating_add_signed(by) % count;
        self.look_at_prompt();
        self.revision = self.revision.wrapping_add(1);
        Handled
    }
}

impl Approval {
    /// Handles a key where the decision is asked for; `same` calls are like this one.
    fn choose(&mut self, key: Key, same: usize) -> PromptStep {
        let choices = self.choices(same);
        match (key.code, key.mods) {
            (KeyCode::Up, Mods::NONE) => self.selected = self.selected.saturating_sub(1),
            (KeyCode::Down, Mods::NONE) => {
                self.selected = (self.selected + 1).min(choices.len().saturating_sub(1));
            }
            (KeyCode::Enter, Mods::NONE) => {
                return choices.get(self.selected).map_or(Handled, |choice| self.apply_choice(*choice));
            }
            (KeyCode::Char('v'), Mods::NONE) => return PromptStep::View,
            (KeyCode::Char(' '), Mods::NONE) => return self.toggle_hunk(),
            (KeyCode::Tab, Mods::NONE) => return self.step_hunk(1),
            (KeyCode::Tab, Mods::SHIFT) if self.hunks() > 0 => return self.step_hunk(self.hunks() - 1),
            (KeyCode::Esc, Mods::NONE) | (KeyCode::Char('c'), Mods::CTRL) => {
                return Answer(ApprovalAnswer::Deny { reason: None, stop: true });
            }
            (KeyCode::Char('e'), Mods::NONE) if !self.can_edit() => {
                return Remark("nothing here that can be edited");
            }
            _ => {
                let Some(pressed) = key.typed_char() else { return Ignored };
                let number = pressed.to_digit(10).and_then(|digit| (digit as usize).checked_sub(1));
                let named = choices.iter().position(|choice| choice.letter() == pressed);
                let Some(at) = number.filter(|at| *at < choices.len()).or(named) else { return Ignored };
                self.selected = at;
                return choices.get(at).map_or(Ignored, |choice| self.apply_choice(*choice));
            }
        }
        Handled
    }

    /// Applies a choice.
    fn apply_choice(&mut self, choice: Choice) -> PromptStep {
        match choice {
            Choice::Once => self.allow(),
            Choice::Edit => PromptStep::Edit,
            Choice::AllowAll => PromptStep::AnswerKind(true),
            Choice::DenyAll => PromptStep::AnswerKind(false),
            Choice::Deny => {
                self.stage = PromptStage::Reason(std::mem::take(&mut self.reason));
                Handled
            }
            Choice::Always => self.open_always(),
        }
    }

    /// Allows everything that was not rejected.
    fn allow(&self) -> PromptStep {
        match self.hunks_to_apply() {
            None => Remark(NO_HUNK),
            Some(hunks) => Answer(ApprovalAnswer::Allow { hunks, edited: None }),
        }
    }

    /// The hunks to apply, if not all; `None` if every one was rejected.
    pub(crate) fn hunks_to_apply(&self) -> Option<Option<Vec<usize>>> {
        if self.rejected.is_empty() {
            return Some(None);
        }
        let kept: Vec<usize> = (0..self.hunks()).filter(|hunk| !self.rejected.contains(hunk)).collect();
        (!kept.is_empty()).then_some(Some(kept))
    }

    /// The scopes that a rule added here can have, with their labels.
    pub fn scopes(&self) -> &'static [(RuleScope, &'static str)] {
        if self.request.adds_path() { &WRITABLE_SCOPES } else { &SCOPES }
    }

    fn toggle_hunk(&mut self) -> PromptStep {
        if self.hunks() == 0 {
            return match &self.change {
                Some(change) if change.cut => Remark("the change is too large to choose its hunks"),
                Some(_) => Remark("only one hunk; n denies it"),
                None => Handled,
            };
        }
        if !self.rejected.remove(&self.hunk) {
            self.rejected.insert(self.hunk);
        }
        Handled
    }

    fn step_hunk(&mut self, by: usize) -> PromptStep {
        self.hunk = (self.hunk + by).checked_rem(self.hunks()).unwrap_or(0);
        Handled
    }

    fn type_reason(&mut self, key: Key) -> PromptStep {
        let PromptStage::Reason(line) = &mut self.stage else { return Ignored };
        if key.code == KeyCode::Enter {
            let text = without_word(Choice::Deny.letter(), line.text().trim());
            let reason = Some(text.to_owned()).filter(|text| !text.is_empty());
            return Answer(ApprovalAnswer::Deny { reason, stop: false });
        }
        let typed = edit(line, key);
        self.apply_line_outcome(typed)
    }

    fn type_command(&mut self, key: Key) -> PromptStep {
        let was = match &self.request.preview {
            Preview::Command { command } => command.trim_end(),
            Preview::None | Preview::Arguments { .. } | Preview::Change { .. } => "",
        };
        let PromptStage::Command(line) = &mut self.stage else { return Ignored };
        if key.code == KeyCode::Enter {
            let typed = line.text().strip_prefix(was).unwrap_or_default();
            if !typed.is_empty() && is_word(Choice::Edit.letter(), typed) {
                *line = LineEdit::new(was);
                return Handled;
            }
            let command = line.text().trim();
            if command.is_empty() {
                return Remark("type a command, or esc goes back");
            }
            let edited = Some(command.to_owned());
            return Answer(ApprovalAnswer::Allow { hunks: None, edited });
        }
        let typed = edit(line, key);
        self.apply_line_outcome(typed)
    }

    fn type_rule(&mut self, key: Key) -> PromptStep {
        let (hunks, scopes) = (self.hunks_to_apply(), self.scopes());
        let PromptStage::Rule(draft) = &mut self.stage else { return Ignored };
        let scope = scopes.iter().position(|(scope, _)| *scope == draft.scope).unwrap_or(0);
        let scoped =
            |by: usize| scopes.get((scope + by) % scopes.len()).map_or(draft.scope, |(scope, _)| *scope);
        match (key.code, key.mods) {
            (KeyCode::Enter, _) => {
                let rule = draft.line.text().trim().to_owned();
                return match &draft.coverage {
                    _ if rule.is_empty() => Remark("type a rule, such as bash(cargo test *)"),
                    Coverage::Wrong(_) => Remark("not a rule yet"),
                    Coverage::Asked(_) | Coverage::Known(_) => match hunks {
                        None => Remark(NO_HUNK),
                        Some(hunks) => {
                            let rules = vec![rule];
                            Answer(ApprovalAnswer::AllowAlways { rules, scope: draft.scope, hunks })
                        }
                    },
                };
            }
            (KeyCode::Tab, Mods::NONE) | (KeyCode::Down, _) => draft.scope = scoped(1),
            (KeyCode::Tab, _) | (KeyCode::Up, _) => draft.scope = scoped(scopes.len() - 1),
            _ => match edit(&mut draft.line, key) {
                LineOutcome::Changed => return PromptStep::Coverage(draft.line.text().trim().to_owned()),
                typed => return self.apply_line_outcome(typed),
            },
        }
        Handled
    }

    fn apply_line_outcome(&mut self, typed: LineOutcome) -> PromptStep {
        match typed {
            LineOutcome::Changed => Handled,
            LineOutcome::Left => {
                match std::mem::take(&mut self.stage) {
                    PromptStage::Reason(line) => self.reason = line,
                    // Back to the list in which it was chosen.
                    PromptStage::Rule(draft) if !self.request.adds_path() => self.list_always(draft.scope),
                    PromptStage::Choice
                    | PromptStage::Always(_)
                    | PromptStage::Rule(_)
                    | PromptStage::Command(_)
                    | PromptStage::Editor(_) => {}
                }
                Handled
            }
            LineOutcome::Nothing => Ignored,
        }
    }

    /// Why a key that would allow it has to be pressed again, if it has: in full, and for a narrow screen.
    pub fn repeat_reason(&self) -> Option<[&'static str; 2]> {
        self.insists.map(|_| if self.is_unseen() { UNSEEN } else { UNSEEN_CALLS })
    }

    /// Starts editing the command, if it is one line.
    pub(crate) fn edit_command(&mut self, command: &str) {
        self.stage = PromptStage::Command(LineEdit::new(command));
    }

    /// Waits for the rule's coverage.
    pub(crate) fn await_coverage(&mut self, ticket: Ticket) {
        if let PromptStage::Rule(draft) = &mut self.stage {
            draft.coverage = Coverage::Asked(ticket);
        }
    }
}

/// Shown when a key would allow a call that was not seen as a whole.
const UNSEEN: [&str; 2] = [
    "not all of it was shown: scroll or press v; the same key again allows it",
    "not all was shown; again allows it",
];
const UNSEEN_CALLS: [&str; 2] =
    ["not all of these calls were shown; the same key again allows them", "not all were shown; again allows"];

/// Shown when every hunk of a change was rejected.
pub(super) const NO_HUNK: &str = "no hunk is left to apply; n denies the call";

/// The effect of a key on a line.
enum LineOutcome {
    Changed,
    /// The user has left the line.
    Left,
    Nothing,
}

fn edit(line: &mut LineEdit, key: Key) -> LineOutcome {
    match (key.code, key.mods) {
        (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => LineOutcome::Left,
        _ if line.key(key) || line.move_key(key) => LineOutcome::Changed,
        _ => LineOutcome::Nothing,
    }
}
