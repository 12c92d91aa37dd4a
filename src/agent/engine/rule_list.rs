//! The rules in force: listed, changed, and what one would have covered.

use super::behavior::RuleEdit;
use super::sandbox_gate;
use super::state::Engine;
use crate::agent::permissions::{self, InvalidRule, Rule, RuleInForce, RuleSource, Verdict};
use crate::agent::protocol::approval::RuleScope;
use crate::agent::protocol::rules::{ListedRule, PermissionRules, RuleChange};

/// All rules, for people.
pub(super) fn listed(engine: &Engine) -> PermissionRules {
    engine.config.behavior.permissions.listed()
}

/// Reads the files with rules again; whether they can be.
pub(super) fn read(engine: &mut Engine) -> bool {
    let files = engine.config.behavior.read_rules.as_ref().map(|read| read.of(engine.cwd()));
    let is_read = files.is_some();
    files.into_iter().for_each(|files| engine.config.behavior.permissions.replace_files(files));
    is_read
}

/// Changes a rule: in its file first, which may fail.
///
/// # Errors
/// What is wrong with it, or why it cannot be kept; nothing is changed then.
pub(super) fn change(engine: &mut Engine, change: &RuleChange) -> Result<(), String> {
    let add = match &change.add {
        Some(new) if new.scope == RuleScope::Once => {
            return Err("a rule holds for this session at least; allow the call once instead".to_owned());
        }
        Some(new) => Some((new.list, parsed(&new.rule)?, new.scope)),
        None => None,
    };
    let remove = change.remove.as_ref().map(|rule| known(engine, rule)).transpose()?;
    let edit = RuleEdit {
        remove: remove.clone().filter(|rule| matches!(rule.source, RuleSource::File { .. })),
        add: add.clone().filter(|(.., scope)| *scope != RuleScope::Session),
    };
    let is_in_files = edit.remove.is_some() || edit.add.is_some();
    if is_in_files {
        let save = engine.config.behavior.save_rule.as_ref();
        save.ok_or("here rules can be added to the session only")?.save(&edit, engine.cwd())?;
    }
    let is_read = is_in_files && read(engine);
    let permissions = &mut engine.config.behavior.permissions;
    remove.iter().for_each(|rule| permissions.remove(rule));
    if let Some((list, rule, scope)) = add
        && (scope == RuleScope::Session || !is_read)
    {
        permissions.add(RuleInForce { rule, list, source: RuleSource::Session });
    }
    Ok(())
}

fn parsed(rule: &str) -> Result<Rule, String> {
    rule.parse().map_err(|error: InvalidRule| error.to_string())
}

/// The rule in force that was listed like this.
fn known(engine: &Engine, listed: &ListedRule) -> Result<RuleInForce, String> {
    let is_it = |rule: &&RuleInForce| {
        let (place, granted_by) = match &rule.source {
            RuleSource::Session => (None, None),
            RuleSource::Granted(of) => (None, Some(of)),
            RuleSource::File { path, line, .. } => (Some((path, *line)), None),
        };
        let listed_place = listed.place.as_ref().map(|(path, line)| (path, *line));
        let is_there = place == listed_place && granted_by == listed.granted_by.as_ref();
        is_there && rule.list == listed.list && rule.rule.to_string() == listed.rule
    };
    let found = engine.config.behavior.permissions.rules().iter().find(is_it).cloned();
    found.ok_or_else(|| format!("the rule {} is not in force any more", listed.rule))
}

/// The titles of the earlier calls that a rule in this list would have decided on.
///
/// # Errors
/// What is wrong with the rule.
pub(super) fn coverage(engine: &Engine, list: Verdict, rule: &str) -> Result<Vec<String>, String> {
    if sandbox_gate::path_of(rule).is_some() {
        return Ok(Vec::new());
    }
    let rule = parsed(rule)?;
    let home = std::env::home_dir();
    let cwd = engine.cwd();
    let earlier = engine.approvals.earlier();
    let covered = earlier
        .filter(|call| permissions::decides((list, &rule), &call.tool, &call.access, cwd, home.as_deref()))
        .map(|call| call.title.clone());
    Ok(covered.collect())
}
