//! Judges prepared calls: permission rules, and the user's approval.
//!
//! The task of a call ([`crate::engine::calls::call_task`]) prepares it and sends a [`Review`] here; the
//! answer is the part that it may apply. The decision is the engine's, because it owns the rules and hears
//! the user.

pub(crate) mod held_grants;
pub(crate) mod rule_list;
pub(crate) mod sandbox_gate;

use std::sync::Arc;

use serde_json::json;
use tokio::time::Instant;

use super::behavior::{OnAsk, SettingsFault};
use super::helper_role::Rights;
use super::state::Engine;
use crate::engine::base::approvals::{Decision, EarlierCall, Review, WaitingCall};
use crate::engine::calls::call_hooks;
use crate::engine::calls::exact_calls::ExactCall;
use crate::extensions::hooks::HookPermission;
use crate::permissions::{CallFacts, Judgement, Verdict};
use tau_protocol::approval::{
    ApprovalAnswer, ApprovalOutcome, ApprovalReason, ApprovalRequest, PermissionMode, RuleScope,
    is_sandbox_rule,
};
use tau_protocol::call_ending;
use tau_protocol::event::{NoticeLevel, QuestionEvent, SettingsEvent, TaskEvent};
use tau_protocol::message::ToolCall;
use tau_protocol::query::QueryAnswer;
use tau_protocol::rules::{NewRule, RuleChange};
use tau_tools::sandbox::{SandboxDenial, SandboxPolicy};
use tau_tools::user_error::UserError;
use tau_tools::{Access, ApprovedPart, Preview, ToolError};

/// The type of the session entry for a waiting call.
pub(crate) const WAITING_ENTRY: &str = "tau.approval";

/// Judges a call: it runs, it is denied, or the user is asked.
pub(crate) fn review(engine: &mut Engine, call: &ToolCall, read_only: bool, review: Review) {
    let Review { access, mut preview, proposed_text, blocked, again, changed, permission, decide } = review;
    // Placeholders in the arguments were replaced by values, which the request must not show.
    if let Preview::Change { change } = &mut preview {
        engine.config.behavior.masking.diff(change);
    }
    let arguments = changed.as_ref().unwrap_or(&call.arguments);
    if preview == Preview::None && arguments.as_object().is_some_and(|fields| !fields.is_empty()) {
        preview = Preview::Arguments { arguments: arguments.clone() };
    }
    let title = engine.tool(&call.name).map(|tool| tool.title(arguments)).unwrap_or_default();
    let judgement = judge_with_hooks(engine, &call.name, &access, read_only, &permission);
    let mut judgement = sandbox_gate::judge(judgement, blocked.as_ref());
    if judgement.verdict == Verdict::Ask {
        judgement.reasons.extend(held_grants::reason(engine, &call.name, &access));
    }
    let exact = ExactCall::new(&call.name, &access, arguments);
    let is_open = judgement.verdict == Verdict::Ask || judgement.unasked;
    if is_open && engine.approvals.exact.covers(&exact, &judgement.reasons) {
        judgement = Judgement::default();
    }
    engine.approvals.note(EarlierCall {
        id: call.id.clone(),
        tool: call.name.clone(),
        title: title.clone(),
        access: access.clone(),
    });
    let decision = match judgement.verdict {
        Verdict::Allow => Ok(sandbox_gate::approved_part(engine, &judgement)),
        Verdict::Deny => Err(denial(&judgement.reasons, again)),
        Verdict::Ask if engine.config.behavior.on_ask == OnAsk::Allow => match &blocked {
            None if judgement.is_dangerous || matches!(permission, HookPermission::Ask(_)) => {
                Err(denial(&judgement.reasons, again))
            }
            // There is no user to ask: the first result stands.
            Some(_) if again => return,
            Some(denial) => Err(sandbox_gate::refusal(denial)),
            None => Ok(ApprovedPart::all()),
        },
        Verdict::Ask => {
            let suggested_rules = match blocked.as_ref().filter(|denial| !denial.unasked) {
                Some(denial) => sandbox_gate::suggested_rule(denial).into_iter().collect(),
                None => suggested_rules(engine, &call.name, &access, read_only, &permission),
            };
            let request = ApprovalRequest {
                id: engine.approvals.next_id(),
                tool_call_id: call.id.clone(),
                tool_name: call.name.clone(),
                title,
                access,
                preview,
                reasons: judgement.reasons,
                suggested_rules,
                can_allow_exact: can_allow_exact(engine, blocked.as_ref(), &permission),
                sandbox: sandbox_gate::in_force(engine).to_string(),
                blocked,
                ran: again,
                helper: None,
            };
            // If tau is killed while it waits, the call is known not to have run.
            let waiting =
                engine.config.session.append_custom(WAITING_ENTRY, json!({ "toolCallId": call.id }));
            engine.report_save_result(waiting);
            let message = format!("tau needs your permission to use {}", call.name);
            call_hooks::notify(engine, "permission_prompt", message);
            engine.emit(QuestionEvent::ApprovalRequested { request: Box::new(request.clone()) });
            engine.approvals.add(WaitingCall {
                request,
                exact,
                read_only,
                proposed_text,
                permission,
                decide,
            });
            return;
        }
    };
    // The task of a call that was stopped in the meantime is gone.
    let _ = decide.send(decision);
}

/// Whether calls that change something need approval.
pub(crate) fn asks(engine: &Engine) -> bool {
    let behavior = &engine.config.behavior;
    let asks = [PermissionMode::Ask, PermissionMode::Edits].contains(&behavior.permission_mode);
    asks && behavior.on_ask == OnAsk::Ask
}

fn judge(engine: &Engine, tool: &str, access: &Access, read_only: bool) -> Judgement {
    judge_in(engine.config.behavior.permission_mode, engine, tool, access, read_only)
}

/// Judges a call with the decision of hooks. A hook can only skip the question of the mode: rules, protected
/// paths and the mode `plan` are unaffected.
fn judge_with_hooks(
    engine: &Engine,
    tool: &str,
    access: &Access,
    read_only: bool,
    permission: &HookPermission,
) -> Judgement {
    match (permission, engine.config.behavior.permission_mode) {
        (HookPermission::Allow, PermissionMode::Ask | PermissionMode::Edits) => {
            judge_in(PermissionMode::Auto, engine, tool, access, read_only)
        }
        (HookPermission::Ask(why), _) => {
            let judgement = judge(engine, tool, access, read_only);
            if judgement.verdict == Verdict::Deny {
                return judgement;
            }
            let text = format!("a hook asks: {why}");
            let reason = ApprovalReason { text, ..ApprovalReason::default() };
            let is_asked = |_: &ApprovalReason| judgement.verdict == Verdict::Ask;
            let others = judgement.reasons.iter().filter(|reason| is_asked(reason)).cloned();
            let reasons = std::iter::once(reason).chain(others).collect();
            let is_dangerous = judgement.is_dangerous;
            Judgement { verdict: Verdict::Ask, reasons, is_dangerous, ..Judgement::default() }
        }
        (HookPermission::None | HookPermission::Allow, _) => judge(engine, tool, access, read_only),
    }
}

fn judge_in(
    mode: PermissionMode,
    engine: &Engine,
    tool: &str,
    access: &Access,
    read_only: bool,
) -> Judgement {
    let home = std::env::home_dir();
    let behavior = &engine.config.behavior;
    let cwd = engine.base_of(access);
    let facts = CallFacts { mode, tool, access, read_only, cwd, home: home.as_deref() };
    let judgement = behavior.permissions.judge(&facts);
    match &behavior.settings_fault {
        Some(fault) if judgement.verdict == Verdict::Allow => judgement_on_fault(fault),
        _ => judgement,
    }
}

/// Whether exactly this call can be allowed for the session: not if it is always asked about, or in the
/// sandbox.
fn can_allow_exact(engine: &Engine, blocked: Option<&SandboxDenial>, permission: &HookPermission) -> bool {
    blocked.is_none_or(|denial| denial.unasked) && can_have_rule(engine, permission)
}

/// Whether a rule can allow a call: not if a hook asks, or settings cannot be relied on.
fn can_have_rule(engine: &Engine, permission: &HookPermission) -> bool {
    engine.config.behavior.settings_fault.is_none() && !matches!(permission, HookPermission::Ask(_))
}

/// The rules that a question suggests.
fn suggested_rules(
    engine: &Engine,
    tool: &str,
    access: &Access,
    read_only: bool,
    permission: &HookPermission,
) -> Vec<String> {
    if !can_have_rule(engine, permission) {
        return Vec::new();
    }
    let home = std::env::home_dir();
    let behavior = &engine.config.behavior;
    let mode = behavior.permission_mode;
    let cwd = engine.base_of(access);
    let facts = CallFacts { mode, tool, access, read_only, cwd, home: home.as_deref() };
    behavior.permissions.suggested_rules(&facts)
}

/// The judgement on a call that needs approval because settings cannot be relied on.
fn judgement_on_fault(fault: &SettingsFault) -> Judgement {
    let text = format!("settings cannot be read: {}", fault.why);
    let reasons = vec![ApprovalReason { text, ..ApprovalReason::default() }];
    Judgement { verdict: Verdict::Ask, reasons, ..Judgement::default() }
}

/// The result of a call that a rule or the mode denies, before its first or second run: the reason, and what
/// not to do.
fn denial(reasons: &[ApprovalReason], ran: bool) -> ToolError {
    let again = if ran { " again" } else { "" };
    let reason = |reason: &ApprovalReason| match &reason.rule {
        Some(rule) => format!("{} ({rule})", reason.text),
        None => reason.text.clone(),
    };
    let reasons: Vec<String> = reasons.iter().map(reason).collect();
    ToolError::refused(format!(
        "denied, the call was not run{again}: {}; do not try to reach the same another way",
        reasons.join("; ")
    ))
}

/// Handles the user's decision. It is dropped if the call is no longer waiting.
pub(crate) fn answer(engine: &mut Engine, id: &str, answer: ApprovalAnswer) {
    let Some(waiting) = engine.approvals.get(id) else { return };
    let (tool, access) = (waiting.request.tool_name.clone(), waiting.request.access.clone());
    let decision = decision_of(engine, waiting, &answer);
    let decision = match decision.and_then(|decision| keep(engine, id, &answer, decision)) {
        Ok(decision) => decision,
        Err(StillWaits { why, hint }) => return engine.notice(NoticeLevel::Warning, why, Some(hint)),
    };
    if decision.is_ok() {
        held_grants::release(engine, &tool, &access);
    }
    decide(engine, id, decision);
    if matches!(answer, ApprovalAnswer::Deny { stop: true, .. }) {
        // After the decision, so that the call ends with it and not as interrupted.
        engine.current.stop.cancel();
    }
    judge_again(engine);
}

/// The reason a call still waits after an answer, and a hint for the user.
struct StillWaits {
    why: UserError,
    hint: &'static str,
}

impl From<UserError> for StillWaits {
    fn from(why: UserError) -> Self {
        StillWaits { why, hint: "the call is still waiting" }
    }
}

/// The decision that an answer makes on the call alone.
fn decision_of(
    engine: &Engine,
    waiting: &WaitingCall,
    answer: &ApprovalAnswer,
) -> Result<Decision, StillWaits> {
    let request = &waiting.request;
    Ok(match answer {
        ApprovalAnswer::Allow { hunks, edited } => {
            let filled = edited.as_deref().map(|text| fill(engine, text)).transpose()?.flatten();
            let edited = filled.or_else(|| edited.clone());
            let command = edited.as_ref().filter(|_| !request.access.commands.is_empty());
            let access = command.map(|command| Access::command(command.clone()));
            let judged = access.map(|access| judge(engine, &request.tool_name, &access, waiting.read_only));
            match judged.filter(|judged| judged.verdict == Verdict::Deny) {
                Some(judged) => Err(denial(&judged.reasons, request.ran)),
                // Allowed although the sandbox refuses it: it runs without the sandbox, or in that of every
                // command.
                None => {
                    let refused = request.blocked.as_ref().filter(|denial| !denial.unasked);
                    Ok(ApprovedPart {
                        hunks: hunks.clone(),
                        edited,
                        sandbox: refused.map(|_| Arc::default()),
                    })
                }
            }
        }
        ApprovalAnswer::AllowExact { .. } if !request.can_allow_exact => {
            let why = "this call is asked every time: it cannot be allowed for the session";
            return Err(UserError::from(why).into());
        }
        ApprovalAnswer::AllowExact { hunks } | ApprovalAnswer::AllowAlways { hunks, .. } => {
            Ok(ApprovedPart { hunks: hunks.clone(), ..ApprovedPart::all() })
        }
        ApprovalAnswer::Deny { reason: None, stop: true } if !request.ran => {
            Err(ToolError::refused(call_ending::UNANSWERED))
        }
        ApprovalAnswer::Deny { reason, .. } => {
            let reason = reason.as_ref().map(|reason| reason.trim()).filter(|reason| !reason.is_empty());
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            let what = match request.blocked {
                Some(_) => "the user was asked and did not allow it without the sandbox",
                None => call_ending::DENIED,
            };
            Err(ToolError::refused(format!("{what}{reason}")))
        }
    })
}

/// Keeps an answer that is for later calls, too; returns the decision on this one with its sandbox.
fn keep(
    engine: &mut Engine,
    id: &str,
    answer: &ApprovalAnswer,
    decision: Decision,
) -> Result<Decision, StillWaits> {
    match answer {
        ApprovalAnswer::AllowExact { .. } => {
            if let Some(waiting) = engine.approvals.get(id) {
                let (exact, reasons) = (waiting.exact.clone(), waiting.request.reasons.clone());
                engine.approvals.exact.allow(exact, &reasons);
            }
            engine.emit(SettingsEvent::RulesChanged);
            Ok(decision)
        }
        ApprovalAnswer::AllowAlways { rules, scope, .. } => {
            let sandbox = allow_always(engine, id, rules, *scope).map_err(|why| StillWaits {
                why: format!("cannot add the rule: {why}").into(),
                hint: "the call is still waiting; change the rule, or allow it once",
            })?;
            Ok(decision.map(|approved| ApprovedPart { sandbox, ..approved }))
        }
        ApprovalAnswer::Allow { .. } | ApprovalAnswer::Deny { .. } => Ok(decision),
    }
}

/// The user's replacement for a call's text, with values for its placeholders.
fn fill(engine: &Engine, text: &str) -> Result<Option<String>, UserError> {
    let filled = engine.config.behavior.masking.vault.unmask(text);
    filled.map_err(|unknown| format!("your text has {unknown}, and there is no value for it").into())
}

/// Switches to another mode, also for the waiting calls, or reports why it cannot be chosen.
pub(crate) fn set_mode(engine: &mut Engine, mode: PermissionMode) {
    let before = engine.config.behavior.permission_mode;
    if let Err(why) = engine.config.behavior.choose_mode(mode) {
        engine.notice(NoticeLevel::Warning, why, None);
    }
    report_mode(engine, before);
    judge_again(engine);
}

/// Reports the mode that holds now instead of this one.
fn report_mode(engine: &mut Engine, before: PermissionMode) {
    let (mode, ceiling) = (engine.config.behavior.permission_mode, engine.config.behavior.mode_ceiling);
    if mode != before {
        engine.work_mode.on_mode_change(before, Instant::now());
    }
    engine.emit(SettingsEvent::PermissionModeChanged { mode, ceiling });
}

/// Sets or clears the fault in settings that guard the user, also for the waiting calls.
pub(crate) fn set_settings_fault(engine: &mut Engine, fault: Option<String>) {
    let before = engine.config.behavior.permission_mode;
    engine.config.behavior.set_settings_fault(fault);
    if engine.config.behavior.permission_mode != before {
        report_mode(engine, before);
    }
    judge_again(engine);
}

/// Reads the rule files again and applies them, also to the waiting calls.
pub(crate) fn read_rules(engine: &mut Engine) {
    rule_list::read(engine);
    engine.emit(SettingsEvent::RulesChanged);
    judge_again(engine);
}

/// Applies the rights of the parent to a helper, also to the waiting calls.
pub(crate) fn take_rights(engine: &mut Engine, rights: Rights) {
    let before = engine.config.behavior.permission_mode;
    rights.apply(&mut engine.config.behavior);
    if engine.config.behavior.permission_mode != before {
        report_mode(engine, before);
    }
    judge_again(engine);
}

/// Changes a rule and applies it, also to the waiting calls.
pub(crate) fn change_rules(engine: &mut Engine, ticket: u64, change: &RuleChange) {
    let changed = rule_list::change_within_ceiling(engine, change);
    if changed.is_ok() {
        engine.emit(SettingsEvent::RulesChanged);
    }
    let answer = changed.map(|()| QueryAnswer::PermissionRules(rule_list::rules_for_display(engine)));
    engine.emit(TaskEvent::Answered { ticket, answer });
    judge_again(engine);
}

/// Withdraws every request, because the run is stopped.
pub(crate) fn withdraw_all(engine: &mut Engine) {
    for waiting in engine.approvals.take_all() {
        let outcome = ApprovalOutcome::Withdrawn;
        engine.emit(QuestionEvent::ApprovalEnded { id: waiting.request.id, outcome });
    }
}

fn decide(engine: &mut Engine, id: &str, decision: Decision) {
    let Some(waiting) = engine.approvals.take(id) else { return };
    let outcome = if decision.is_ok() { ApprovalOutcome::Allowed } else { ApprovalOutcome::Denied };
    let _ = waiting.decide.send(decision);
    engine.emit(QuestionEvent::ApprovalEnded { id: waiting.request.id, outcome });
}

/// Ends what the user allowed for the session that was left.
pub(crate) fn end_session(engine: &mut Engine) {
    let behavior = &mut engine.config.behavior;
    let ended =
        [engine.approvals.end_session(), behavior.permissions.end_session(), behavior.sandbox.end_session()];
    if ended.contains(&true) {
        engine.emit(SettingsEvent::RulesChanged);
        judge_again(engine);
    }
}

/// Judges the waiting calls by the current rules and mode.
fn judge_again(engine: &mut Engine) {
    engine.helpers.publish(|| Rights::of(&engine.config.behavior));
    let calls: Vec<(String, bool, Judgement)> = engine
        .approvals
        .iter()
        .map(|call| {
            let ApprovalRequest { id, tool_name, access, ran, .. } = &call.request;
            let judgement = judge_with_hooks(engine, tool_name, access, call.read_only, &call.permission);
            (id.clone(), *ran, judgement)
        })
        .collect();
    for (id, ran, judgement) in calls {
        let allows = |call: &WaitingCall| engine.approvals.exact.covers(&call.exact, &call.request.reasons);
        if judgement.verdict == Verdict::Ask && engine.approvals.get(&id).is_some_and(allows) {
            decide(engine, &id, Ok(ApprovedPart::all()));
            continue;
        }
        match judgement.verdict {
            Verdict::Allow
                if engine.approvals.get(&id).is_some_and(|call| call.request.blocked.is_some()) => {}
            Verdict::Allow => {
                let approved = sandbox_gate::approved_part(engine, &judgement);
                decide(engine, &id, Ok(approved));
            }
            Verdict::Deny => decide(engine, &id, Err(denial(&judgement.reasons, ran))),
            Verdict::Ask => {}
        }
    }
}

/// Adds what the user allows by a helper's call, for this agent and its helpers.
pub(crate) fn allow_helpers(
    engine: &mut Engine,
    request: &ApprovalRequest,
    rules: &[String],
    scope: RuleScope,
) -> Result<(), UserError> {
    rule_list::check_answer(engine, request, rules, scope)?;
    if scope == RuleScope::Once {
        return Ok(());
    }
    if let Some(path) = rules.iter().find(|rule| is_sandbox_rule(rule)) {
        sandbox_gate::add_writable(engine, path, scope)?;
    } else {
        for rule in rules {
            let add = NewRule { list: Verdict::Allow, rule: rule.clone(), scope };
            rule_list::change(engine, &RuleChange { remove: None, add: Some(add) })?;
        }
    }
    engine.emit(SettingsEvent::RulesChanged);
    judge_again(engine);
    Ok(())
}

/// Adds the rule, or makes the path writable in the sandbox; returns the sandbox in which the call runs then.
fn allow_always(
    engine: &mut Engine,
    id: &str,
    rules: &[String],
    scope: RuleScope,
) -> Result<Option<Arc<SandboxPolicy>>, UserError> {
    let Some(waiting) = engine.approvals.get(id) else { return Ok(None) };
    rule_list::check_answer(engine, &waiting.request, rules, scope)?;
    if !waiting.request.adds_path() {
        for rule in rules {
            let add = NewRule { list: Verdict::Allow, rule: rule.clone(), scope };
            rule_list::change(engine, &RuleChange { remove: None, add: Some(add) })?;
        }
        engine.emit(SettingsEvent::RulesChanged);
        let is_asked = |call: &WaitingCall| {
            let ApprovalRequest { tool_name, access, .. } = &call.request;
            judge_with_hooks(engine, tool_name, access, call.read_only, &call.permission).verdict
                == Verdict::Ask
        };
        if engine.approvals.get(id).is_some_and(|call| !call.request.ran && is_asked(call)) {
            let text = "this call runs once: the new rule does not cover it";
            engine.notice(NoticeLevel::Warning, text.to_owned(), Some("change the rule in /permissions"));
        }
        return Ok(None);
    }
    let rule = rules.first().ok_or("name the path to add")?;
    sandbox_gate::add_writable(engine, rule, scope).map(Some)
}

/// The complete new text of the file that a waiting call would write, without its secrets. Fails when there
/// is no such text.
pub(crate) fn proposed_text(engine: &mut Engine, id: &str) -> Result<String, UserError> {
    let waiting = engine.approvals.get(id).ok_or("this call is no longer waiting")?;
    let text = waiting.proposed_text.as_deref().ok_or("this call writes no file")?;
    let text = String::from_utf8(text.clone()).map_err(|_| "the new content is not text".to_owned())?;
    Ok(engine.config.behavior.masking.vault.mask(&text).unwrap_or(text))
}
