//! The list of permission rules: filtering, and adding, changing or removing a rule.

use super::list::Report;
use super::list_keys::ListFilter;
use crate::approval::{Coverage, SCOPES};
use crate::key::{Key, KeyCode, Mods};
use crate::line_edit::LineEdit;
use crate::outcome::KeyOutcome;
use crate::printable::Printable;
use crate::request::Ticket;
use tau_protocol::approval::RuleScope;
use tau_protocol::rules::{BuiltInRule, ListedRule, NewRule, PermissionRules, RuleChange, Verdict};

/// The list on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RulesView {
    pub(super) query: ListFilter,
    /// Place among the rows that match.
    pub selected: usize,
    /// The rules, once they are known.
    rules: Option<PermissionRules>,
    pub stage: RuleStage,
    /// The result of the last change, or the reason why it is impossible.
    pub said: Option<Report>,
    /// The pending request.
    pub ticket: Option<Ticket>,
    /// The pending change, if the request is one.
    pub(crate) change: Option<RuleChange>,
    /// The selected rule, and the earlier calls that it would have decided.
    pub coverage: Option<(ListedRule, Coverage)>,
}

/// The use of the next key press.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RuleStage {
    /// It chooses a row.
    #[default]
    Choosing,
    /// It edits a rule.
    Writing(RuleForm),
    /// It confirms or cancels the removal of the selected rule.
    Removing,
}

/// A rule being written.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleForm {
    pub line: LineEdit,
    pub list: Verdict,
    pub scope: RuleScope,
    pub coverage: Coverage,
    pub replaces: Option<ListedRule>,
}

/// A row of the list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RuleRow<'a> {
    /// The row that adds a rule.
    New,
    Rule(&'a ListedRule),
    BuiltIn(&'a BuiltInRule),
}

/// The outcome of a key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RuleChoice {
    /// Looks up which earlier calls the rule would have decided.
    Look,
    Change(RuleChange),
}

impl RulesView {
    /// An empty list, before the answer.
    pub(crate) fn waiting(ticket: Ticket) -> Self {
        RulesView { ticket: Some(ticket), ..RulesView::default() }
    }

    /// Fills in the rules; the selection stays on its rule, or at its index if that rule is gone. A step that
    /// concerns a removed rule ends.
    pub(crate) fn fill(&mut self, rules: PermissionRules) {
        let selected = self.rule().cloned();
        self.rules = Some(rules);
        self.ticket = None;
        self.coverage = None;
        let is_it =
            |row: &RuleRow<'_>, old: &ListedRule| matches!(row, RuleRow::Rule(rule) if is_same(rule, old));
        let found = selected.and_then(|old| self.rows().iter().position(|row| is_it(row, &old)));
        match &mut self.stage {
            RuleStage::Removing if found.is_none() => self.stage = RuleStage::Choosing,
            RuleStage::Writing(RuleForm { replaces: Some(replaces), .. }) => {
                // Its line may have changed.
                let rules = self.rules.iter().flat_map(|all| &all.rules);
                if let Some(now) = rules.into_iter().find(|rule| is_same(rule, replaces)) {
                    *replaces = now.clone();
                }
            }
            RuleStage::Choosing | RuleStage::Removing | RuleStage::Writing(_) => {}
        }
        let last = self.rows().len().saturating_sub(1);
        self.selected = found.unwrap_or(self.selected).min(last);
    }

    /// The typed filter.
    pub fn query(&self) -> &str {
        self.query.text()
    }

    /// Whether the rules are known.
    pub fn is_loaded(&self) -> bool {
        self.rules.is_some()
    }

    /// Whether the rules could not be read, or the last change was refused.
    pub fn is_refused(&self) -> bool {
        matches!(self.said, Some(Err(_)))
    }

    /// Whether the rules are loading for the first time or being changed. Keys work during a mere reload.
    fn is_busy(&self) -> bool {
        self.rules.is_none() || self.change.is_some()
    }

    /// The number of rows without a filter.
    pub fn count(&self) -> usize {
        1 + self.rules.as_ref().map_or(0, |all| all.rules.len() + all.built_in.len())
    }

    /// The matching rows: the one that adds a rule, then the strictest rules first, as they win.
    pub fn rows(&self) -> Vec<RuleRow<'_>> {
        let (rules, built_in) = self
            .rules
            .iter()
            .map(|all| (all.rules.as_slice(), all.built_in.as_slice()))
            .next()
            .unwrap_or_default();
        let mut rules: Vec<&ListedRule> = rules.iter().filter(|rule| self.matches_rule(rule)).collect();
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.list));
        let matching = |rule: &&BuiltInRule| {
            self.query.matches(&[rule.verdict.name(), &rule.about, &rule.help, "built-in"])
        };
        let built_in = built_in.iter().filter(matching).map(RuleRow::BuiltIn);
        std::iter::once(RuleRow::New).chain(rules.into_iter().map(RuleRow::Rule)).chain(built_in).collect()
    }

    fn matches_rule(&self, rule: &ListedRule) -> bool {
        let file = rule.place.as_ref().map(|(path, _)| path.display().to_string()).unwrap_or_default();
        let scope = SCOPES.iter().find(|(scope, _)| *scope == rule.scope).map_or("", |(_, name)| *name);
        let granted_by = rule.granted_by.as_deref().unwrap_or_default();
        self.query.matches(&[rule.list.name(), &rule.rule, scope, &file, granted_by])
    }

    /// The selected row.
    pub fn row(&self) -> Option<RuleRow<'_>> {
        self.rows().get(self.selected).copied()
    }

    /// The selected rule.
    pub(crate) fn rule(&self) -> Option<&ListedRule> {
        match self.row()? {
            RuleRow::Rule(rule) => Some(rule),
            RuleRow::New | RuleRow::BuiltIn(_) => None,
        }
    }

    /// Selects the added rule, if it is displayed.
    pub(crate) fn select(&mut self, change: &RuleChange) {
        let Some(new) = &change.add else { return };
        let is_it = |row: &RuleRow<'_>| match row {
            RuleRow::Rule(rule) => {
                let is_own = rule.granted_by.is_none() && rule.scope == new.scope;
                is_own && rule.list == new.list && rule.rule == new.rule
            }
            RuleRow::New | RuleRow::BuiltIn(_) => false,
        };
        self.selected = self.rows().iter().position(is_it).unwrap_or(self.selected);
    }

    /// Adds pasted text to the filter, or to the rule being written.
    pub(crate) fn paste(&mut self, text: &str) {
        match &mut self.stage {
            RuleStage::Choosing => {
                self.query.paste(text);
                self.select_first_match();
            }
            RuleStage::Writing(form) => form.line.paste(text),
            RuleStage::Removing => {}
        }
    }

    /// Handles a key; `page` is the number of rows on the screen.
    pub(crate) fn key(&mut self, key: Key, page: usize) -> KeyOutcome<RuleChoice> {
        match std::mem::take(&mut self.stage) {
            RuleStage::Choosing => self.choose(key, page),
            RuleStage::Writing(form) => self.write(form, key),
            RuleStage::Removing => self.confirm(key),
        }
    }

    fn choose(&mut self, key: Key, page: usize) -> KeyOutcome<RuleChoice> {
        self.said = None;
        let count = self.rows().len();
        match self.query.select(key, page, &mut self.selected, count) {
            KeyOutcome::Ignored => {}
            KeyOutcome::Handled => return KeyOutcome::Done(RuleChoice::Look),
            outcome => return outcome,
        }
        match (key.code, key.mods) {
            (KeyCode::Enter | KeyCode::Delete, _) if self.is_busy() => return KeyOutcome::Handled,
            (KeyCode::Enter, _) => return self.open(),
            (KeyCode::Delete, _) => self.ask_to_remove(),
            _ if self.query.key(key) => self.select_first_match(),
            _ => return KeyOutcome::Ignored,
        }
        KeyOutcome::Done(RuleChoice::Look)
    }

    /// Selects the first matching rule after a filter change.
    fn select_first_match(&mut self) {
        self.selected = usize::from(!self.query().is_empty() && self.rows().len() > 1);
    }

    /// Starts writing: a new rule, or the selected one.
    fn open(&mut self) -> KeyOutcome<RuleChoice> {
        let form = |text: &str, list, scope, replaces| RuleForm {
            line: LineEdit::new(text),
            list,
            scope,
            coverage: Coverage::Known(Vec::new()),
            replaces,
        };
        let opened = match self.row() {
            Some(RuleRow::New) => Ok(form(self.query().trim(), Verdict::Allow, RuleScope::Session, None)),
            Some(RuleRow::Rule(rule)) if rule.in_force => {
                Ok(form(&rule.rule, rule.list, rule.scope, Some(rule.clone())))
            }
            Some(RuleRow::Rule(_)) => Err(UNTRUSTED),
            Some(RuleRow::BuiltIn(_)) => Err(BUILT_IN),
            None => return KeyOutcome::Handled,
        };
        match opened {
            Ok(form) => self.stage = RuleStage::Writing(form),
            Err(why) => self.said = Some(Err(Printable::line(why))),
        }
        KeyOutcome::Done(RuleChoice::Look)
    }

    fn ask_to_remove(&mut self) {
        match self.row() {
            Some(RuleRow::Rule(rule)) if rule.in_force => self.stage = RuleStage::Removing,
            Some(RuleRow::Rule(_)) => self.said = Some(Err(Printable::line(UNTRUSTED))),
            Some(RuleRow::BuiltIn(_)) => self.said = Some(Err(Printable::line(BUILT_IN))),
            Some(RuleRow::New) | None => {}
        }
    }

    fn confirm(&mut self, key: Key) -> KeyOutcome<RuleChoice> {
        match (key.code, self.rule()) {
            (KeyCode::Enter, Some(rule)) => {
                let remove = Some(rule.clone());
                KeyOutcome::Done(RuleChoice::Change(RuleChange { remove, add: None }))
            }
            (KeyCode::Esc, _) => KeyOutcome::Handled,
            (_, _) if key.code == KeyCode::Char('c') && key.mods == Mods::CTRL => KeyOutcome::Handled,
            _ => {
                self.stage = RuleStage::Removing;
                KeyOutcome::Ignored
            }
        }
    }

    fn write(&mut self, mut form: RuleForm, key: Key) -> KeyOutcome<RuleChoice> {
        self.said = None;
        let mut looks = false;
        match (key.code, key.mods) {
            (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => return KeyOutcome::Handled,
            (KeyCode::Enter, _) => {
                let saved = self.save(&form);
                self.stage = RuleStage::Writing(form);
                return saved;
            }
            (KeyCode::Tab, mods) => form.scope = next_scope(form.scope, mods == Mods::NONE),
            (KeyCode::Up, _) => (form.list, looks) = (next_list(form.list, false), true),
            (KeyCode::Down, _) => (form.list, looks) = (next_list(form.list, true), true),
            _ => looks = form.line.key(key) || form.line.move_key(key),
        }
        self.stage = RuleStage::Writing(form);
        if looks { KeyOutcome::Done(RuleChoice::Look) } else { KeyOutcome::Handled }
    }

    fn save(&mut self, form: &RuleForm) -> KeyOutcome<RuleChoice> {
        let rule = form.line.text().trim().to_owned();
        let why = match &form.coverage {
            _ if rule.is_empty() => "type a rule, such as bash(cargo test *)",
            Coverage::Wrong(_) => "not a rule yet",
            Coverage::Asked(_) | Coverage::Known(_) if self.is_busy() => return KeyOutcome::Handled,
            Coverage::Asked(_) | Coverage::Known(_) => {
                let add = NewRule { list: form.list, rule, scope: form.scope };
                let remove = form.replaces.clone();
                return KeyOutcome::Done(RuleChoice::Change(RuleChange { remove, add: Some(add) }));
            }
        };
        self.said = Some(Err(Printable::line(why)));
        KeyOutcome::Handled
    }

    /// The rule to look up, and the list that it is in or will be in.
    pub(crate) fn rule_to_look_up(&self) -> Option<(String, Verdict)> {
        match &self.stage {
            RuleStage::Writing(form) => Some((form.line.text().trim().to_owned(), form.list)),
            RuleStage::Choosing | RuleStage::Removing => {
                let rule = self.rule().filter(|rule| rule.in_force)?;
                let is_known = self.coverage.as_ref().is_some_and(|(known, _)| known == rule);
                (!is_known).then(|| (rule.rule.clone(), rule.list))
            }
        }
    }

    /// Sets the state of the look-up: pending, or the answer.
    pub(crate) fn set_coverage(&mut self, coverage: Coverage) {
        match &mut self.stage {
            RuleStage::Writing(form) => form.coverage = coverage,
            RuleStage::Choosing | RuleStage::Removing => {
                self.coverage = self.rule().cloned().map(|rule| (rule, coverage));
            }
        }
    }

    /// Whether it waits for this look-up.
    pub(crate) fn looks_up(&self, ticket: Ticket) -> bool {
        let coverage = match &self.stage {
            RuleStage::Writing(form) => Some(&form.coverage),
            RuleStage::Choosing | RuleStage::Removing => self.coverage.as_ref().map(|(_, coverage)| coverage),
        };
        coverage.is_some_and(|coverage| *coverage == Coverage::Asked(ticket))
    }
}

/// Whether two rows show one rule, which may have moved in its file.
fn is_same(one: &ListedRule, other: &ListedRule) -> bool {
    let file = |rule: &ListedRule| rule.place.as_ref().map(|(path, _)| path.clone());
    let key = |rule: &ListedRule| (rule.list, rule.scope, rule.granted_by.clone(), rule.in_force, file(rule));
    one.rule == other.rule && key(one) == key(other)
}

const UNTRUSTED: &str = "not in force: you do not trust the settings of this directory; /trust changes that";
const BUILT_IN: &str = "built in: a rule of your own in front of it can be stricter";

fn next_scope(scope: RuleScope, forward: bool) -> RuleScope {
    let at = SCOPES.iter().position(|(known, _)| *known == scope).unwrap_or(0);
    let by = if forward { 1 } else { SCOPES.len() - 1 };
    SCOPES.get((at + by) % SCOPES.len()).map_or(scope, |(scope, _)| *scope)
}

fn next_list(list: Verdict, forward: bool) -> Verdict {
    let at = Verdict::ALL.iter().position(|known| *known == list).unwrap_or(0);
    let by = if forward { 1 } else { Verdict::ALL.len() - 1 };
    Verdict::ALL.get((at + by) % Verdict::ALL.len()).copied().unwrap_or(list)
}
