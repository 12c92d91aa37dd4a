//! What keys do in a prompt.

use super::{Approval, Approvals, Coverage, PromptStage, RuleDraft};
use crate::agent::protocol::approval::{ApprovalAnswer, RuleScope};
use crate::app::key::{Key, KeyCode, Mods};
use crate::app::line_edit::LineEdit;
use crate::app::msg::Millis;
use crate::app::request::Ticket;

/// What a key in a prompt leads to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PromptStep {
    /// It is no key of the prompt.
    Ignored,
    /// It changed the prompt, or nothing.
    Handled,
    /// It came too early to count.
    Early,
    /// The open request is answered.
    Answer(ApprovalAnswer),
    /// Every request of the same tool is answered: allowed or denied.
    AnswerKind(bool),
    /// Which earlier calls the rule would have covered is to be asked.
    Coverage(String),
    /// The new text, or the command, is to be edited.
    Edit,
    /// The whole command or change is to be shown in an editor.
    View,
    /// The transcript is scrolled by a row.
    Scroll(i32),
    /// Nothing happens, and this says why.
    Remark(&'static str),
}

use PromptStep::{Answer, Early, Handled, Ignored, Remark};

/// The scopes of a rule, in the order in which they are shown.
pub(crate) const SCOPES: [(RuleScope, &str); 3] = [
    (RuleScope::Session, "this session"),
    (RuleScope::Project, "this project"),
    (RuleScope::User, "everywhere"),
];

/// For how long a path can be changed in the sandbox. A project cannot allow that.
const WRITABLE_SCOPES: [(RuleScope, &str); 3] =
    [(RuleScope::Once, "this time"), (RuleScope::Session, "this session"), (RuleScope::User, "everywhere")];

impl Approvals {
    /// A key while the prompt takes them. Typing never answers: a key that comes too early is dropped
    /// and puts off the next.
    pub(crate) fn key(&mut self, key: Key, now: Millis) -> PromptStep {
        let is_ready = self.is_ready(now);
        let Some(open) = self.pending.get_mut(self.open) else { return Ignored };
        let step = match open.stage {
            PromptStage::Choice if !decides(key) => return Ignored,
            PromptStage::Choice if open.is_answered => return Handled,
            PromptStage::Choice if !is_ready => {
                self.postpone(now);
                return Early;
            }
            PromptStage::Choice => match (key.code, key.mods) {
                (KeyCode::Left, _) => return self.step(-1),
                (KeyCode::Right, _) => return self.step(1),
                _ => open.choose(key),
            },
            PromptStage::Reason(_) => open.type_reason(key),
            PromptStage::Rule(_) => open.type_rule(key),
            PromptStage::Command(_) => open.type_command(key),
            PromptStage::Editor(_) => Handled,
        };
        if step != Ignored {
            self.follow = !matches!(step, PromptStep::Scroll(_));
            self.revision = self.revision.wrapping_add(1);
        }
        step
    }

    /// Something was typed: the time in which nothing is begins again.
    pub(crate) fn postpone(&mut self, now: Millis) {
        if let Some((_, since)) = &mut self.seen {
            *since = now;
        }
    }

    /// Whether what is typed now would come too early to count.
    pub(crate) fn is_early(&self, now: Millis) -> bool {
        !self.is_ready(now)
    }

    /// Opens the prompt before or after this one.
    fn step(&mut self, by: isize) -> PromptStep {
        let count = self.pending.len();
        if count < 2 {
            return Handled;
        }
        self.open = (self.open + count).saturating_add_signed(by) % count;
        self.follow = true;
        self.revision = self.revision.wrapping_add(1);
        Handled
    }
}

/// Whether a key means something where the decision is asked for.
fn decides(key: Key) -> bool {
    let arrows = [KeyCode::Up, KeyCode::Down, KeyCode::Left, KeyCode::Right];
    match key.mods {
        Mods::NONE => {
            matches!(
                key.code,
                KeyCode::Char('y' | 'n' | 'a' | 'e' | 'v' | ' ' | 'Y' | 'N') | KeyCode::Esc | KeyCode::Tab
            ) || arrows.contains(&key.code)
        }
        Mods::CTRL => key.code == KeyCode::Char('c'),
        Mods::SHIFT => key.code == KeyCode::Tab,
        _ => false,
    }
}

impl Approval {
    /// A key where the decision is asked for.
    fn choose(&mut self, key: Key) -> PromptStep {
        match (key.code, key.mods) {
            (KeyCode::Char('y'), _) => self.allow(),
            (KeyCode::Char('n'), _) => {
                self.stage = PromptStage::Reason(LineEdit::default());
                Handled
            }
            (KeyCode::Char('a'), _) => {
                let rule = self.request.suggested_rule.clone().unwrap_or_default();
                self.stage = PromptStage::Rule(RuleDraft {
                    line: LineEdit::new(rule.clone()),
                    scope: self.scopes()[0].0,
                    coverage: Coverage::Known(Vec::new()),
                });
                PromptStep::Coverage(rule)
            }
            (KeyCode::Char('e'), _) if self.command.is_some() || self.change.is_some() => PromptStep::Edit,
            (KeyCode::Char('e'), _) => Remark("nothing here that can be edited"),
            (KeyCode::Char('v'), _) => PromptStep::View,
            (KeyCode::Char('Y'), _) => PromptStep::AnswerKind(true),
            (KeyCode::Char('N'), _) => PromptStep::AnswerKind(false),
            (KeyCode::Char(' '), _) => self.toggle_hunk(),
            (KeyCode::Esc | KeyCode::Char('c'), _) => {
                Answer(ApprovalAnswer::Deny { reason: None, stop: true })
            }
            (KeyCode::Up, _) if self.hunks() == 0 => PromptStep::Scroll(-1),
            (KeyCode::Down, _) if self.hunks() == 0 => PromptStep::Scroll(1),
            (KeyCode::Up, _) | (KeyCode::Tab, Mods::SHIFT) => self.step_hunk(-1),
            (KeyCode::Down | KeyCode::Tab, _) => self.step_hunk(1),
            _ => Handled,
        }
    }

    /// Allows what was not rejected.
    fn allow(&self) -> PromptStep {
        match self.kept_hunks() {
            None => Remark(NO_HUNK),
            Some(hunks) => Answer(ApprovalAnswer::Allow { hunks, edited: None }),
        }
    }

    /// The hunks that are to be applied, where not all are; `None` if every one was rejected.
    pub(crate) fn kept_hunks(&self) -> Option<Option<Vec<usize>>> {
        if self.rejected.is_empty() {
            return Some(None);
        }
        let kept: Vec<usize> = (0..self.hunks()).filter(|hunk| !self.rejected.contains(hunk)).collect();
        (!kept.is_empty()).then_some(Some(kept))
    }

    /// Where a rule can hold that is added here, with the words for it.
    pub(crate) fn scopes(&self) -> &'static [(RuleScope, &'static str); 3] {
        if self.request.blocked.is_some() { &WRITABLE_SCOPES } else { &SCOPES }
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

    fn step_hunk(&mut self, by: isize) -> PromptStep {
        let count = self.hunks();
        if count > 0 {
            self.hunk = (self.hunk + count).saturating_add_signed(by) % count;
        }
        Handled
    }

    fn type_reason(&mut self, key: Key) -> PromptStep {
        let PromptStage::Reason(line) = &mut self.stage else { return Ignored };
        if key.code == KeyCode::Enter {
            let reason = Some(line.text().trim().to_owned()).filter(|text| !text.is_empty());
            return Answer(ApprovalAnswer::Deny { reason, stop: false });
        }
        let typed = edit(line, key);
        self.typed(typed)
    }

    fn type_command(&mut self, key: Key) -> PromptStep {
        let PromptStage::Command(line) = &mut self.stage else { return Ignored };
        if key.code == KeyCode::Enter {
            let command = line.text().trim();
            if command.is_empty() {
                return Remark("type a command, or esc goes back");
            }
            let edited = Some(command.to_owned());
            return Answer(ApprovalAnswer::Allow { hunks: None, edited });
        }
        let typed = edit(line, key);
        self.typed(typed)
    }

    fn type_rule(&mut self, key: Key) -> PromptStep {
        let (hunks, scopes) = (self.kept_hunks(), self.scopes());
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
                            Answer(ApprovalAnswer::AllowAlways { rule, scope: draft.scope, hunks })
                        }
                    },
                };
            }
            (KeyCode::Tab, Mods::NONE) | (KeyCode::Down, _) => draft.scope = scoped(1),
            (KeyCode::Tab, _) | (KeyCode::Up, _) => draft.scope = scoped(scopes.len() - 1),
            _ => match edit(&mut draft.line, key) {
                Typed::Changed => return PromptStep::Coverage(draft.line.text().trim().to_owned()),
                typed => return self.typed(typed),
            },
        }
        Handled
    }

    fn typed(&mut self, typed: Typed) -> PromptStep {
        match typed {
            Typed::Changed => Handled,
            Typed::Left => {
                self.stage = PromptStage::Choice;
                Handled
            }
            Typed::Nothing => Ignored,
        }
    }

    /// Begins to edit the command, if it is one line.
    pub(crate) fn edit_command(&mut self, command: &str) {
        self.stage = PromptStage::Command(LineEdit::new(command));
    }

    /// The rule is looked up.
    pub(crate) fn coverage_asked(&mut self, ticket: Ticket) {
        if let PromptStage::Rule(draft) = &mut self.stage {
            draft.coverage = Coverage::Asked(ticket);
        }
    }
}

/// Said where every hunk of a change was rejected.
const NO_HUNK: &str = "no hunk is left to apply; n denies the call";

/// What a key did to a line.
enum Typed {
    Changed,
    /// The user has left it.
    Left,
    Nothing,
}

fn edit(line: &mut LineEdit, key: Key) -> Typed {
    match (key.code, key.mods) {
        (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => Typed::Left,
        _ if line.key(key) || line.move_key(key) => Typed::Changed,
        _ => Typed::Nothing,
    }
}
