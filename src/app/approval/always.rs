//! The meanings of "always" for a call: numbered, from the narrowest to a typed rule.

use super::keys::PromptStep;
use super::{Approval, PromptStage, RuleDraft};
use crate::approval::Coverage;
use crate::key::{Key, KeyCode, Mods};
use crate::line_edit::LineEdit;
use crate::outcome::KeyOutcome;
use crate::overlays::list_keys::answer_key;
use tau_protocol::approval::{ALL_EDITS, ApprovalAnswer, RuleScope};
use tau_tools::access::Preview;

/// One offered meaning of "always".
#[derive(Clone, Debug, PartialEq)]
pub enum Always {
    /// This exact call, in this session.
    Exact,
    /// Calls that these rules cover, in the scope the user picks.
    Rules(Vec<String>),
    /// All edits of files in the working directory, in this session.
    AllEdits,
    /// A rule that the user types.
    Typed,
}

/// The list of offers.
#[derive(Clone, Debug, PartialEq)]
pub struct AlwaysList {
    pub selected: usize,
    /// The scope in which rules hold.
    pub scope: RuleScope,
}

impl AlwaysList {
    /// Whether the selected one of these offers is of rules, which hold in a scope.
    pub fn has_scope(&self, offers: &[Always]) -> bool {
        matches!(offers.get(self.selected), Some(Always::Rules(_)))
    }
}

impl Approval {
    /// The offers for this call.
    pub fn always(&self) -> Vec<Always> {
        let rules = self.request.suggested_rules.clone();
        let is_edit = self.change.is_some() && rules.iter().any(|rule| rule.starts_with("edit("));
        let offers = [
            Some(Always::Exact).filter(|_| self.request.can_allow_exact),
            Some(Always::Rules(rules)).filter(|offer| *offer != Always::Rules(Vec::new())),
            Some(Always::AllEdits).filter(|_| is_edit),
            Some(Always::Typed),
        ];
        offers.into_iter().flatten().collect()
    }

    /// An offer in words.
    pub fn always_words(&self, offer: &Always) -> String {
        match offer {
            Always::Exact if self.change.is_some() => "Changes of this file, in this session".to_owned(),
            Always::Exact if self.command.is_some() => "This exact command, in this session".to_owned(),
            Always::Exact => "This exact call, in this session".to_owned(),
            Always::Rules(rules) => {
                let bare = |rule: &String| {
                    let inner = rule.strip_prefix("bash(").and_then(|rest| rest.strip_suffix(')'));
                    inner.unwrap_or(rule).to_owned()
                };
                rules.iter().map(bare).collect::<Vec<_>>().join("  and  ")
            }
            Always::AllEdits => "All edits in this folder, in this session".to_owned(),
            Always::Typed => "Type a rule…".to_owned(),
        }
    }

    /// Opens the list; where only a path can be added, opens its input line.
    pub(super) fn open_always(&mut self) -> PromptStep {
        let scope = self.scopes()[0].0;
        if self.request.adds_path() {
            return self.write_rule(scope);
        }
        self.stage = PromptStage::Always(AlwaysList { selected: 0, scope });
        PromptStep::Handled
    }

    /// Opens the list again, at the rule that is typed.
    pub(super) fn list_always(&mut self, scope: RuleScope) {
        let selected = self.always().iter().position(|offer| *offer == Always::Typed).unwrap_or_default();
        self.stage = PromptStage::Always(AlwaysList { selected, scope });
    }

    /// Handles a key while the list is open.
    pub(super) fn choose_always(&mut self, key: Key) -> PromptStep {
        let offers = self.always();
        let scopes = self.scopes();
        let hunks = self.hunks_to_apply();
        let PromptStage::Always(list) = &mut self.stage else { return PromptStep::Ignored };
        let scope = scopes.iter().position(|(scope, _)| *scope == list.scope).unwrap_or(0);
        let digit = key.typed_char().and_then(|typed| typed.to_digit(10));
        match (key.code, key.mods) {
            (KeyCode::Tab, _) if !list.has_scope(&offers) => return PromptStep::Handled,
            (KeyCode::Tab, mods) => {
                let by = if mods == Mods::SHIFT { scopes.len() - 1 } else { 1 };
                list.scope = scopes.get((scope + by) % scopes.len()).map_or(list.scope, |(scope, _)| *scope);
            }
            (KeyCode::Enter, Mods::NONE) => {}
            // They scroll through the call.
            (KeyCode::PageUp | KeyCode::PageDown, _) | (KeyCode::Up | KeyCode::Down, Mods::SHIFT) => {
                return PromptStep::Ignored;
            }
            _ => match digit.and_then(|digit| (digit as usize).checked_sub(1)) {
                Some(at) if at < offers.len() => list.selected = at,
                Some(_) => return PromptStep::Ignored,
                None => match answer_key::<()>(key, &mut list.selected, offers.len()) {
                    KeyOutcome::Closed => {
                        self.stage = PromptStage::Choice;
                        return PromptStep::Handled;
                    }
                    KeyOutcome::Ignored => return PromptStep::Ignored,
                    KeyOutcome::Handled | KeyOutcome::Done(()) => {}
                },
            },
        }
        let decides = digit.is_some() || key.code == KeyCode::Enter;
        let (selected, scope) = (list.selected, list.scope);
        let Some(offer) = offers.get(selected).filter(|_| decides) else { return PromptStep::Handled };
        let Some(hunks) = hunks else { return PromptStep::Remark(super::keys::NO_HUNK) };
        PromptStep::Answer(match offer {
            Always::Typed => return self.write_rule(scope),
            Always::Exact => ApprovalAnswer::AllowExact { hunks },
            Always::Rules(rules) => ApprovalAnswer::AllowAlways { rules: rules.clone(), scope, hunks },
            Always::AllEdits => ApprovalAnswer::AllowAlways {
                rules: vec![ALL_EDITS.to_owned()],
                scope: RuleScope::Session,
                hunks,
            },
        })
    }

    /// Starts writing a rule, with one close to the call.
    fn write_rule(&mut self, scope: RuleScope) -> PromptStep {
        let rule = self.request.suggested_rules.first().cloned().unwrap_or_else(|| self.draft_rule());
        let (line, coverage) = (LineEdit::new(rule.clone()), Coverage::Known(Vec::new()));
        self.stage = PromptStage::Rule(RuleDraft { line, scope, coverage });
        PromptStep::Coverage(rule)
    }

    /// A draft rule where none is suggested: the command, as far as it means the same in a rule. No rule covers
    /// several commands, so none is drafted for them.
    fn draft_rule(&self) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@% ".contains(c);
        let tool = &self.request.tool_name;
        match &self.request.preview {
            Preview::Command { command } => {
                let known: String = command.trim().chars().take_while(|c| plain(*c)).collect();
                let rest = command.trim().get(known.len()..).unwrap_or_default();
                if rest.contains(['|', '&', ';', '<', '>', '\n', '`']) || rest.contains("$(") {
                    return String::new();
                }
                let is_all = rest.is_empty();
                let whole = known.rsplit_once(' ').map_or("", |(whole, _)| whole.trim_end());
                match (is_all, whole) {
                    (true, _) => format!("{tool}({known})"),
                    (false, "") => format!("{tool}("),
                    (false, whole) => format!("{tool}({whole} *)"),
                }
            }
            Preview::Change { change } => format!("{tool}({})", change.path),
            Preview::None | Preview::Arguments { .. } => tool.clone(),
        }
    }
}
