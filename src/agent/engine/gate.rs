//! Between planning a call and running it: permissions, the user's approval, and what undo needs.
//!
//! The task of a call prepares it and sends a [`Review`] here; what comes back is what it may apply.
//! The decision is the engine's, because it owns the rules and hears the user. Everything else that
//! has to happen around a call belongs here too, and not in a tool.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::approvals::{Decision, EarlierCall, Review, WaitingCall};
use super::behavior::OnAsk;
use super::clock::now;
use super::sandbox_gate;
use super::state::Engine;
use super::undo_place::CallUndo;
use crate::agent::permissions::{self, CallFacts, Judgement, Rule, Verdict};
use crate::agent::protocol::approval::{
    ApprovalAnswer, ApprovalOutcome, ApprovalReason, ApprovalRequest, PermissionMode, RuleScope,
};
use crate::agent::protocol::event::{AgentEvent, NoticeLevel};
use crate::agent::protocol::message::{CustomMessage, Message, ToolCall, UserContent};
use crate::tools::sandbox::SandboxLevel;
use crate::tools::{Access, AnyTool, Approved, Preview, ToolContext, ToolError, ToolOutput};

/// The type of the session entry that says that a call waits.
pub(crate) const WAITING_ENTRY: &str = "tau.approval";

/// The result of a call that nobody decided on.
pub(crate) const UNANSWERED: &str =
    "denied: the run was stopped or the session closed before the user decided; the call was not run";

/// The type of the message that tells the model of plan mode.
const MODE_NOTE: &str = "tau.permission_mode";
const PLAN: &str = "[tau] Plan mode is on. You can read and search, but nothing that changes anything is \
    run: such calls are denied. Find out what is needed, ask if something is unclear, and finish with a \
    plan: what you would change, file by file, and how you would check it. The user accepts, edits or \
    rejects the plan.";
const NO_PLAN: &str = "[tau] Plan mode is off: you can make changes again.";

/// How a call ended.
pub(crate) struct CarriedOut {
    pub(crate) result: Result<ToolOutput, ToolError>,
    /// How long it waited for the decision, which is not the tool's time.
    pub(crate) waited: Duration,
    /// What the user should be told of what it changed.
    pub(crate) notices: Vec<String>,
}

/// The task of a call: prepares it, sends it to be judged, and applies what was approved. `index` names
/// it among the calls of its answer.
pub(crate) async fn carry_out(
    tool: Arc<dyn AnyTool>,
    arguments: Value,
    context: ToolContext,
    (index, reviews): (usize, mpsc::UnboundedSender<(usize, Review)>),
    undo: Option<CallUndo>,
) -> CarriedOut {
    let (mut waited, mut notices) = (Duration::ZERO, Vec::new());
    let run = async {
        let (stop, sandbox) = (context.cancel.clone(), context.sandbox.clone());
        let prepared = tool.prepare(arguments.clone(), context.clone()).await?;
        let blocked = prepared.access.writes.iter().find_map(|path| sandbox.check_write(path).err());
        let (access, preview) = (prepared.access.clone(), prepared.preview.clone());
        let proposed_text = prepared.proposed_text.clone();
        let (decide, decided) = oneshot::channel();
        let review = Review { access: access.clone(), preview, proposed_text, blocked, again: false, decide };
        // If nobody takes it, nobody decides either.
        let _ = reviews.send((index, review));
        let decision = await_decision(decided, &stop, &mut waited).await;
        let approved = decision.unwrap_or_else(|| Err(ToolError::refused(UNANSWERED)))?;
        let edited = approved.edited.clone();
        let work = prepared.apply(approved);
        let (result, told) = CallUndo::around(undo.clone(), access.clone(), work).await;
        notices.extend(told);
        let Some(blocked) = sandbox_gate::blocked(&result) else { return result };
        let (decide, decided) = oneshot::channel();
        let review = sandbox_gate::again(access, edited.clone(), blocked, decide);
        let _ = reviews.send((index, review));
        match await_decision(decided, &stop, &mut waited).await {
            Some(Ok(approved)) => {
                let edited = approved.edited.clone().or(edited);
                let again = tool.prepare(arguments, context).await?;
                let access = again.access.clone();
                let work = again.apply(Approved { edited, ..approved });
                let (result, told) = CallUndo::around(undo, access, work).await;
                notices.extend(told);
                sandbox_gate::ran_again(result)
            }
            Some(Err(refusal)) => sandbox_gate::not_run_again(result, &refusal),
            None => result,
        }
    };
    let result = run.await;
    CarriedOut { result, waited, notices }
}

/// Waits for a decision, and counts the time; `None` if the call is stopped.
async fn await_decision(
    decided: oneshot::Receiver<Decision>,
    stop: &CancellationToken,
    waited: &mut Duration,
) -> Option<Decision> {
    let asked = Instant::now();
    let decision = tokio::select! {
        biased;
        decision = decided => decision.ok(),
        () = stop.cancelled() => None,
    };
    *waited += asked.elapsed();
    decision
}

/// Judges a call: it may run, it may not, or the user is asked.
pub(crate) fn review(engine: &mut Engine, call: &ToolCall, read_only: bool, review: Review) {
    let Review { access, mut preview, proposed_text, blocked, again, decide } = review;
    // Placeholders in the arguments were replaced by values, which the request must not show.
    if let Preview::Change { change } = &mut preview {
        engine.config.behavior.masking.diff(change);
    }
    let title =
        engine.config.tools.get(&call.name).map(|tool| tool.title(&call.arguments)).unwrap_or_default();
    let judgement = judge(engine, &call.name, &access, read_only);
    let judgement = sandbox_gate::judge(judgement, blocked.as_ref());
    let earlier = EarlierCall { tool: call.name.clone(), title: title.clone(), access: access.clone() };
    engine.approvals.note(earlier);
    let decision = match judgement.verdict {
        Verdict::Allow => Ok(Approved::all()),
        Verdict::Deny => Err(denial(&judgement.reasons)),
        Verdict::Ask if engine.config.behavior.on_ask == OnAsk::Allow => match &blocked {
            // Nobody can be asked: it stays as it is.
            Some(_) if again => return,
            Some(denial) => Err(sandbox_gate::refusal(denial)),
            None => Ok(Approved::all()),
        },
        Verdict::Ask => {
            let request = ApprovalRequest {
                id: engine.approvals.next_id(),
                tool_call_id: call.id.clone(),
                tool_name: call.name.clone(),
                title,
                access,
                preview,
                reasons: judgement.reasons,
                suggested_rule: judgement.suggested_rule,
                sandbox: sandbox_gate::in_force(engine).to_string(),
            };
            // Should tau be killed while it waits, the call is known not to have run.
            let waiting =
                engine.config.session.append_custom(WAITING_ENTRY, json!({ "toolCallId": call.id }));
            engine.saved(waiting);
            engine.emit(AgentEvent::ApprovalRequested { request: Box::new(request.clone()) });
            engine.approvals.add(WaitingCall { request, read_only, proposed_text, blocked, decide });
            return;
        }
    };
    // The task of a call that was stopped meanwhile is gone.
    let _ = decide.send(decision);
}

/// Whether calls that change something are asked about.
pub(crate) fn asks(engine: &Engine) -> bool {
    let behavior = &engine.config.behavior;
    behavior.permission_mode == PermissionMode::Ask && behavior.on_ask == OnAsk::Ask
}

fn judge(engine: &Engine, tool: &str, access: &Access, read_only: bool) -> Judgement {
    let home = std::env::home_dir();
    let behavior = &engine.config.behavior;
    behavior.permissions.judge(&CallFacts {
        mode: behavior.permission_mode,
        tool,
        access,
        read_only,
        cwd: engine.cwd(),
        home: home.as_deref(),
        sandboxed: sandbox_gate::in_force(engine).level != SandboxLevel::Off,
    })
}

/// What the model is told of a call that may not run.
fn denial(reasons: &[ApprovalReason]) -> ToolError {
    let reason = |reason: &ApprovalReason| match &reason.rule {
        Some(rule) => format!("{} ({rule})", reason.text),
        None => reason.text.clone(),
    };
    let reasons: Vec<String> = reasons.iter().map(reason).collect();
    ToolError::refused(format!(
        "denied, the call was not run: {}; do not try to reach the same another way",
        reasons.join("; ")
    ))
}

/// Takes the user's decision. One on a call that does not wait any more is dropped.
pub(crate) fn answer(engine: &mut Engine, id: &str, answer: ApprovalAnswer) {
    let Some(waiting) = engine.approvals.get(id) else { return };
    let stops = matches!(answer, ApprovalAnswer::Deny { stop: true, .. });
    let decision = match answer {
        ApprovalAnswer::Allow { hunks, edited } => {
            let edited = match edited.as_deref().map(|text| fill(engine, text)).transpose() {
                Ok(filled) => filled.flatten().or(edited),
                Err(why) => return engine.notice(NoticeLevel::Warning, why, Some("the call still waits")),
            };
            let command = edited.as_ref().filter(|_| !waiting.request.access.commands.is_empty());
            let edited_access = command.map(|command| Access::command(command.clone()));
            let judged = edited_access
                .map(|access| judge(engine, &waiting.request.tool_name, &access, waiting.read_only));
            match judged.filter(|judged| judged.verdict == Verdict::Deny) {
                Some(judged) => Err(denial(&judged.reasons)),
                // Allowed although the sandbox refuses it: so without the sandbox.
                None => {
                    Ok(Approved { hunks, edited, sandbox: waiting.blocked.as_ref().map(|_| Arc::default()) })
                }
            }
        }
        ApprovalAnswer::AllowAlways { rule, scope } => match allow_always(engine, id, &rule, scope) {
            Ok(approved) => Ok(approved),
            Err(why) => {
                let hint = "the call still waits; change the rule, or allow it once";
                return engine.notice(
                    NoticeLevel::Warning,
                    format!("cannot add the rule: {why}"),
                    Some(hint),
                );
            }
        },
        ApprovalAnswer::Deny { reason, .. } => {
            let reason = reason.filter(|reason| !reason.trim().is_empty());
            let reason = reason.map(|reason| format!(": {}", reason.trim())).unwrap_or_default();
            let what = match waiting.blocked {
                Some(_) => "the user was asked and did not allow it without the sandbox",
                None => "the user denied this call, it was not run",
            };
            Err(ToolError::refused(format!("{what}{reason}")))
        }
    };
    decide(engine, id, decision);
    if stops {
        // After the decision, so that the call ends with it and not as one that was interrupted.
        engine.current.stop.cancel();
    }
    judge_again(engine);
}

/// The text that the user wrote in place of a call's, with values for its placeholders.
fn fill(engine: &Engine, text: &str) -> Result<Option<String>, String> {
    let filled = engine.config.behavior.masking.vault.unmask(text);
    filled.map_err(|unknown| format!("your text has {unknown}, and there is no value for it"))
}

/// Applies another mode, also to the calls that wait.
pub(crate) fn set_mode(engine: &mut Engine, mode: PermissionMode) {
    engine.config.behavior.permission_mode = mode;
    engine.config.behavior.on_ask = OnAsk::Ask;
    engine.emit(AgentEvent::PermissionModeChanged { mode });
    judge_again(engine);
}

/// Reads the files with rules again, and applies them also to the calls that wait.
pub(crate) fn read_rules(engine: &mut Engine) {
    let Some(files) = engine.config.behavior.read_rules.as_ref().map(|read| read.of(engine.cwd())) else {
        return;
    };
    engine.config.behavior.permissions.replace_files(files);
    judge_again(engine);
}

/// What the model is to be told of the mode before its next answer: that plan mode begins, or is over.
pub(crate) fn mode_note(engine: &Engine) -> Option<Message> {
    let messages = engine.config.session.context().messages;
    let told = messages.iter().rev().find_map(|message| match message.as_ref() {
        Message::Custom(note) if note.custom_type == MODE_NOTE => {
            note.details.as_ref()?.get("plan")?.as_bool()
        }
        _ => None,
    });
    let plan = engine.config.behavior.permission_mode == PermissionMode::Plan;
    if plan == told.unwrap_or_default() {
        return None;
    }
    Some(Message::Custom(CustomMessage {
        custom_type: MODE_NOTE.to_owned(),
        content: UserContent::Text(if plan { PLAN } else { NO_PLAN }.to_owned()),
        display: false,
        details: Some(json!({ "plan": plan })),
        timestamp: now(),
    }))
}

/// Ends every request, because the run is stopped.
pub(crate) fn withdraw_all(engine: &mut Engine) {
    for waiting in engine.approvals.take_all() {
        let outcome = ApprovalOutcome::Withdrawn;
        engine.emit(AgentEvent::ApprovalEnded { id: waiting.request.id, outcome });
    }
}

fn decide(engine: &mut Engine, id: &str, decision: Decision) {
    let Some(waiting) = engine.approvals.take(id) else { return };
    let outcome = if decision.is_ok() { ApprovalOutcome::Allowed } else { ApprovalOutcome::Denied };
    let _ = waiting.decide.send(decision);
    engine.emit(AgentEvent::ApprovalEnded { id: waiting.request.id, outcome });
}

/// Judges the calls that wait by what holds now.
fn judge_again(engine: &mut Engine) {
    let calls: Vec<(String, Judgement)> = engine
        .approvals
        .iter()
        .map(|call| {
            let ApprovalRequest { id, tool_name, access, .. } = &call.request;
            (id.clone(), judge(engine, tool_name, access, call.read_only))
        })
        .collect();
    for (id, judgement) in calls {
        match judgement.verdict {
            Verdict::Allow if engine.approvals.get(&id).is_some_and(|call| call.blocked.is_some()) => {}
            Verdict::Allow => decide(engine, &id, Ok(Approved::all())),
            Verdict::Deny => decide(engine, &id, Err(denial(&judgement.reasons))),
            Verdict::Ask => {}
        }
    }
}

/// Adds the rule, or the path to what the sandbox lets be changed, and says how the call runs now.
fn allow_always(engine: &mut Engine, id: &str, rule: &str, scope: RuleScope) -> Result<Approved, String> {
    if engine.approvals.get(id).is_none_or(|call| call.blocked.is_none()) {
        return add_rule(engine, rule, scope).map(|()| Approved::all());
    }
    let sandbox = Some(sandbox_gate::add_writable(engine, rule, scope)?);
    Ok(Approved { sandbox, ..Approved::all() })
}

fn add_rule(engine: &mut Engine, rule: &str, scope: RuleScope) -> Result<(), String> {
    let rule: Rule = rule.parse().map_err(|error: permissions::InvalidRule| error.to_string())?;
    if scope != RuleScope::Session {
        let save = engine.config.behavior.save_rule.as_ref();
        save.ok_or("here rules can be added to the session only")?.save(&rule, scope, engine.cwd())?;
    }
    engine.config.behavior.permissions.allow_for_session(rule);
    Ok(())
}

/// The titles of the earlier calls that a rule would have allowed.
///
/// # Errors
/// What is wrong with the rule.
pub(crate) fn coverage(engine: &Engine, rule: &str) -> Result<Vec<String>, String> {
    if sandbox_gate::path_of(rule).is_some() {
        return Ok(Vec::new());
    }
    let rule: Rule = rule.parse().map_err(|error: permissions::InvalidRule| error.to_string())?;
    let home = std::env::home_dir();
    let cwd = engine.cwd();
    let earlier = engine.approvals.earlier();
    let covered = earlier
        .filter(|call| permissions::covers(&rule, &call.tool, &call.access, cwd, home.as_deref()))
        .map(|call| call.title.clone());
    Ok(covered.collect())
}

/// The whole new text of the file that a waiting call would write, without its secrets.
///
/// # Errors
/// When there is none.
pub(crate) fn proposed_text(engine: &mut Engine, id: &str) -> Result<String, String> {
    let waiting = engine.approvals.get(id).ok_or("this call does not wait any more")?;
    let text = waiting.proposed_text.as_deref().ok_or("this call writes no file")?;
    let text = String::from_utf8(text.clone()).map_err(|_| "the new content is not text".to_owned())?;
    Ok(engine.config.behavior.masking.vault.mask(&text).unwrap_or(text))
}
