//! The rules in force: lists and changes them, and finds the calls they would have covered.

use super::sandbox_gate;
use crate::engine::host::RuleEdit;
use crate::engine::state::Engine;
use crate::permissions::{self, Rule, RuleInForce, RuleSource, Verdict, grant};
use tau_protocol::approval::{ALL_EDITS, ApprovalRequest, RuleScope};
use tau_protocol::event::NoticeLevel;
use tau_protocol::rules::{ListedRule, PermissionRules, RuleChange};
use tau_tools::toolbox;
use tau_tools::user_error::UserError;

/// All rules, for display.
pub(in crate::engine) fn rules_for_display(engine: &Engine) -> PermissionRules {
    let mut listed = engine.config.behavior.permissions.rules_for_display();
    listed.rules.extend(engine.approvals.exact.rules_for_display());
    listed
}

/// Checks that the list is not empty and that every text is a rule. The error describes the first invalid
/// rule, or says that the list is empty.
pub(in crate::engine) fn check(rules: &[String]) -> Result<(), UserError> {
    if rules.is_empty() {
        return Err("name a rule".into());
    }
    rules.iter().try_for_each(|rule| parse_rule(rule).map(drop))
}

/// Checks the rules of an answer. A client decides on this call only, so each of its rules has to be one that was
/// suggested, or to be about the call and no wider than one of a project. Fails for a text that is no rule, and for a
/// wider one.
pub(in crate::engine) fn check_answer(
    engine: &Engine,
    request: &ApprovalRequest,
    rules: &[String],
    scope: RuleScope,
) -> Result<(), UserError> {
    if !request.adds_path() {
        check(rules)?;
    }
    if engine.config.behavior.rules_of_clients.is_none() {
        return Ok(());
    }
    let home = std::env::home_dir();
    for text in rules.iter().filter(|rule| !request.suggested_rules.contains(rule)) {
        if request.adds_path() {
            return Err("a client can make only the suggested path writable".into());
        }
        let rule = parse_rule(text)?;
        let ApprovalRequest { tool_name, access, .. } = request;
        if !permissions::covers_part(&rule, tool_name, access, engine.cwd(), home.as_deref()) {
            return Err(format!("`{rule}` is not about this call; use the suggested rules").into());
        }
        let is_for_edits = text == ALL_EDITS && scope == RuleScope::Session;
        if let Some(why) = grant::objection(&rule).filter(|_| !is_for_edits) {
            return Err(format!("a client allows no more than a project: {why}").into());
        }
    }
    Ok(())
}

/// Reads the rule files again; returns whether that succeeded.
pub(in crate::engine) fn read(engine: &mut Engine) -> bool {
    match engine.config.behavior.host().read_rules(engine.cwd()) {
        Some(Ok(files)) => {
            engine.config.behavior.permissions.replace_files(files);
            true
        }
        Some(Err(fault)) => {
            engine.config.behavior.set_settings_fault(Some(fault.into()));
            false
        }
        None => false,
    }
}

/// Like [`change`], but clients cannot exceed the rules that the user started with, just like the mode: they
/// can add rules that ask or deny, and remove rules that allow or that they have added. Fails like
/// [`change`], and when a client would allow more.
pub(in crate::engine) fn change_within_ceiling(
    engine: &mut Engine,
    asked: &RuleChange,
) -> Result<(), UserError> {
    let Some(of_clients) = &engine.config.behavior.rules_of_clients else { return change(engine, asked) };
    if asked.add.as_ref().is_some_and(|new| new.list == Verdict::Allow) {
        return Err("a client cannot add a rule that allows calls; answer a call with a rule, or let the user add it \
                    to config.toml"
            .to_owned().into());
    }
    let is_theirs = |rule: &ListedRule| of_clients.iter().any(|it| *it == (rule.list, rule.rule.clone()));
    if let Some(rule) = asked.remove.as_ref().filter(|rule| rule.list != Verdict::Allow && !is_theirs(rule)) {
        let (list, rule) = (rule.list.name(), &rule.rule);
        return Err(format!(
            "a client cannot remove the rule {list} {rule}, with which tau was started; the user can, in config.toml"
        ).into());
    }
    // It is identified by its listed form.
    let added = asked.add.as_ref().and_then(|new| Some((new.list, parse_rule(&new.rule).ok()?.to_string())));
    let was_there = added.as_ref().is_some_and(|(list, text)| {
        let rules = engine.config.behavior.permissions.rules();
        rules.iter().any(|known| known.list == *list && known.rule.to_string() == *text)
    });
    change(engine, asked)?;
    if let Some(of_clients) = &mut engine.config.behavior.rules_of_clients {
        of_clients.extend(added.filter(|_| !was_there));
    }
    Ok(())
}

/// Changes a rule: first in its file, which may fail. Fails when the rule is invalid or cannot be saved;
/// nothing is changed then.
pub(in crate::engine) fn change(engine: &mut Engine, change: &RuleChange) -> Result<(), UserError> {
    if let (Some(rule), None) = (&change.remove, &change.add)
        && rule.place.is_none()
        && engine.approvals.exact.forget(rule)
    {
        return Ok(());
    }
    let add = match &change.add {
        Some(new) if new.scope == RuleScope::Once => {
            return Err("a rule holds for this session at least; allow the call once instead".into());
        }
        Some(new) => {
            let rule = parse_rule(&new.rule)?;
            match rule.fault().filter(|_| new.list != Verdict::Allow) {
                Some(why) => return Err(why.into()),
                None => Some((new.list, rule, new.scope)),
            }
        }
        None => None,
    };
    let remove = change.remove.as_ref().map(|rule| find_rule(engine, rule)).transpose()?;
    let edit = RuleEdit {
        remove: remove.clone().filter(|rule| matches!(rule.source, RuleSource::File { .. })),
        add: add.clone().filter(|(.., scope)| *scope != RuleScope::Session),
    };
    let is_in_files = edit.remove.is_some() || edit.add.is_some();
    if is_in_files {
        let saved = engine.config.behavior.host().save_rule(&edit, engine.cwd())?;
        if let (Some((list, rule, _)), Some(file)) = (&edit.add, &saved.file) {
            engine.notice(NoticeLevel::Info, format!("added `{} {rule}` to {file}", list.name()), None);
        }
        if let Some(remark) = saved.remark {
            engine.notice(NoticeLevel::Warning, remark, None);
        }
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

fn parse_rule(rule: &str) -> Result<Rule, UserError> {
    rule.parse().map_err(|error: UserError| error.to_string().into())
}

/// Parses a rule. Fails on invalid syntax, and for a tool that does not exist.
fn of_tool(engine: &Engine, text: &str) -> Result<Rule, UserError> {
    let rule = parse_rule(text)?;
    let tool = rule.tool();
    // Those of MCP servers and extensions come and go.
    let is_own = !tool.contains(['*', ':']) && !tool.contains("__") && !tool.starts_with("web_");
    let is_known = || {
        let registered = engine.config.behavior.tools.select(&[tool.to_owned()]).1.is_empty();
        registered || toolbox::TABLE.iter().any(|built_in| built_in.name == tool)
    };
    if is_own && !is_known() {
        return Err(format!(
            "there is no tool \"{tool}\"; a rule names one: bash(cargo test *), edit(src/**)"
        )
        .into());
    }
    Ok(rule)
}

/// The rule in force with this listed form.
fn find_rule(engine: &Engine, listed: &ListedRule) -> Result<RuleInForce, UserError> {
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
    found.ok_or_else(|| format!("the rule {} is no longer in force", listed.rule).into())
}

/// The titles of the earlier calls that a rule in this list would have decided. Fails when the rule is
/// invalid.
pub(in crate::engine) fn coverage(
    engine: &Engine,
    list: Verdict,
    rule: &str,
) -> Result<Vec<String>, UserError> {
    if sandbox_gate::path_of(rule).is_some() {
        return Ok(Vec::new());
    }
    let rule = of_tool(engine, rule)?;
    let home = std::env::home_dir();
    let cwd = engine.cwd();
    let waits = |id: &str| engine.approvals.iter().any(|call| call.request.tool_call_id == id);
    let earlier = engine.approvals.earlier().filter(|call| !waits(&call.id));
    let covered = earlier
        .filter(|call| permissions::decides(list, &rule, &call.tool, &call.access, cwd, home.as_deref()))
        .map(|call| call.title.clone());
    Ok(covered.collect())
}
