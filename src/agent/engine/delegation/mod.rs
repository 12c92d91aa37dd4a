//! Helpers: agents that the model gives tasks to.
//!
//! The tool [`delegate`](tau_tools::delegate) sends a request; here the agent of the helper is started, its events
//! are folded into what people see, its questions are put to the user, and its last answer becomes the result of
//! the call. A helper has a session of its own, at most the rights of its parent, and a meter below its parent's;
//! it ends with the call.

mod child;
mod relay;
mod report;

use std::collections::HashMap;
use std::sync::Arc;

use super::gate;
use super::helper_part;
use super::helper_place::{HelperEvent, HelperNews, RunningHelper};
use super::helper_role::MAX_DEPTH;
use super::live_helper::LiveHelper;
use super::state::Engine;
use crate::extensions::helper_kinds::HelperKind;
use tau_protocol::approval::{ApprovalAnswer, ApprovalOutcome, ApprovalRequest, RuleScope, is_sandbox_rule};
use tau_protocol::command::{QuestionCommand, Queue, RunCommand, ShellCommand, TaskCommand};
use tau_protocol::event::{AgentEvent, NoticeLevel, Question, QuestionEvent, RunEvent, TaskEvent, TurnEvent};
use tau_protocol::model::Model;
use tau_protocol::query::Query;
use tau_tools::delegate::{self, HelperReport, HelperRequest, HelperState};
use tau_tools::user_error::UserError;
use tau_tools::{ToolError, ToolOutput};

/// Handles a request of a call, or news of a helper.
pub(crate) fn take(engine: &mut Engine, event: HelperEvent) {
    match event {
        HelperEvent::Asked(request) => take_request(engine, request),
        HelperEvent::News(number, news) => take_news(engine, number, news),
    }
}

/// Begins a helper, or answers why it cannot.
fn take_request(engine: &mut Engine, request: HelperRequest) {
    if let Err(why) = admit(engine, &request) {
        return refuse(request, why.into());
    }
    if engine.helpers.running.len() < engine.config.behavior.helpers.at_once {
        return begin(engine, request);
    }
    let number = request.number;
    let name = format!("{} {number}", request.order.kind);
    let report = HelperReport { name, state: HelperState::Waiting, ..HelperReport::default() };
    request
        .progress
        .show(ToolOutput { content: Vec::new(), details: tau_tools::Details::Helper(Box::new(report)) });
    let (cancel, news) = (request.cancel.clone(), engine.helpers.news_sender.clone());
    tokio::spawn(async move {
        cancel.cancelled().await;
        let _ = news.send((number, HelperNews::Withdrawn)).await;
    });
    engine.helpers.waiting.push_back(request);
}

fn refuse(request: HelperRequest, why: String) {
    // The call is gone if nobody waits for the reply.
    let _ = request.reply.send(Err(ToolError::refused(format!("{}: {why}", delegate::NAME))));
}

/// Whether another helper may be started.
fn admit(engine: &Engine, request: &HelperRequest) -> Result<(), UserError> {
    if engine.depth() >= MAX_DEPTH {
        return Err("a helper of a helper cannot have helpers; do it yourself".into());
    }
    kind(engine, &request.order.kind)?;
    if let Some(end) = engine.meters.used.reached_limit() {
        return Err(engine.meters.used.notice(end, None).0.into());
    }
    let most = engine.config.behavior.helpers.total;
    if !engine.meters.used.takes_helper(most) {
        return Err(format!("this run has had {most} helpers, the limit; do the rest yourself").into());
    }
    Ok(())
}

fn kind(engine: &Engine, name: &str) -> Result<HelperKind, UserError> {
    helper_part::find_kind(name, &engine.helpers.kinds)
}

/// The model of a helper. If the model in its file cannot be used, it gets its parent's, with a warning to the user.
fn model(engine: &mut Engine, kind: &HelperKind, inherit: bool) -> Result<Option<Arc<Model>>, UserError> {
    let own = engine.config.model.clone();
    // Another model would not have the cache.
    if inherit {
        return Ok(own);
    }
    let behavior = &engine.config.behavior;
    let chosen = behavior.helpers.explore_model.as_ref().filter(|_| kind.cheap);
    if let Some(name) = kind.model.as_ref().or(chosen) {
        return match behavior.host().model_by_name(name) {
            Some(Err(why)) if kind.model.is_some() => {
                let text = format!("the model of the kind {} cannot be used: {why}", kind.name);
                engine.notice(NoticeLevel::Warning, text, Some("that of its parent is used instead"));
                Ok(own)
            }
            Some(found) => found.map(Some),
            None => Ok(own),
        };
    }
    if !kind.cheap {
        return Ok(own);
    }
    let cheap = own.as_ref().and_then(|model| behavior.host().cheap_model(model));
    Ok(cheap.or(own))
}

/// Starts the agent of a helper.
fn begin(engine: &mut Engine, request: HelperRequest) {
    let number = request.number;
    let kind = match kind(engine, &request.order.kind) {
        Ok(kind) => kind,
        Err(why) => return refuse(request, why.into()),
    };
    let model = match model(engine, &kind, request.order.inherit) {
        Ok(model) => model,
        Err(why) => return refuse(request, format!("the model of the kind {}: {why}", kind.name)),
    };
    let child::NewHelper { config, first, meter } = child::new(engine, &request, &kind, model);
    let info = config.session.info();
    let report = HelperReport {
        name: format!("{} {number}", kind.name),
        session: info.id.clone(),
        file: info.file.as_ref().map(|file| file.to_string_lossy().into_owned()),
        doing: "starts".to_owned(),
        ..HelperReport::default()
    };
    let name = report.name.clone();
    let watched = engine.config.behavior.helper_watch.as_ref().map(|watch| {
        let (commands, events, ends) = relay::channels();
        let helper = LiveHelper {
            session: info.clone(),
            parent: engine.config.session.info().id.clone(),
            title: format!("{name}: {}", request.order.task),
            thinking: config.thinking,
            mode: config.behavior.permission_mode,
            commands,
            events,
        };
        (watch.clone(), helper, ends)
    });
    let handle = (engine.helpers.start)(config);
    let ends = watched.and_then(|(watch, helper, ends)| watch.send(helper).is_ok().then_some(ends));
    let commands = relay::relay(number, handle, engine.helpers.news_sender.clone(), ends);
    let prompt = RunCommand::PromptMessage { message: first, streaming: Queue::Steer };
    let _ = commands.send(prompt.into());
    let HelperRequest { call, limits, progress, reply, .. } = request;
    let helper = RunningHelper {
        number,
        call,
        report,
        answer: String::new(),
        error: None,
        aborted: false,
        titles: HashMap::new(),
        asked: Vec::new(),
        approvals: Vec::new(),
        is_limited: false,
        meter,
        limits,
        progress,
        commands: Some(commands),
        reply: Some(reply),
    };
    helper.progress.show(report::progress(&helper));
    engine.helpers.running.push(helper);
}

/// Handles news of a helper.
fn take_news(engine: &mut Engine, number: u32, news: HelperNews) {
    match news {
        HelperNews::Event(event) => take_event(engine, number, *event),
        HelperNews::Answered(answer) => take_answer(engine, number, answer),
        HelperNews::Withdrawn => {
            let at = engine.helpers.waiting.iter().position(|request| request.number == number);
            if let Some(request) = at.and_then(|at| engine.helpers.waiting.remove(at)) {
                let _ = request.reply.send(Err(ToolError::aborted()));
            }
        }
        HelperNews::Ended => on_helper_end(engine, number),
    }
}

fn take_event(engine: &mut Engine, number: u32, event: AgentEvent) {
    let Some(helper) = engine.helpers.get(number) else { return };
    if report::take(helper, &event) {
        helper.progress.show(report::progress(helper));
    }
    let (name, call) = (helper.report.name.clone(), helper.call.clone());
    if engine.config.behavior.helper_events && matches!(event, AgentEvent::Run(_) | AgentEvent::Turn(_)) {
        engine.emit(nest_event(number, call, event.clone()));
    }
    match event {
        AgentEvent::Questions(event) => take_question(engine, number, event),
        AgentEvent::Task(TaskEvent::Notice { level, text, hint }) if level != NoticeLevel::Info => {
            engine.notice(level, format!("{name}: {text}"), hint.as_deref());
        }
        AgentEvent::Task(TaskEvent::Answered { .. }) => engine.emit(event),
        AgentEvent::Run(RunEvent::AgentSettled { .. }) => on_helper_run_end(engine, number),
        _ => {}
    }
}

/// An event of a helper as one of its parent.
fn nest_event(number: u32, tool_call_id: String, event: AgentEvent) -> TurnEvent {
    let (helper, event) = match event {
        AgentEvent::Turn(TurnEvent::HelperEvent { helper, event, .. }) => {
            (format!("{number}.{helper}"), event)
        }
        event => (number.to_string(), Box::new(event)),
    };
    TurnEvent::HelperEvent { tool_call_id, helper, event }
}

/// The run of a helper is over: the call has its result, and the agent ends.
fn on_helper_run_end(engine: &mut Engine, number: u32) {
    let Some(helper) = engine.helpers.get(number) else { return };
    if let Some(commands) = &helper.commands {
        let _ = commands.send(TaskCommand::Shutdown.into());
    }
    if helper.aborted {
        // Whoever aborted it waits for the result of the call, and not for the agent's end.
        reply(helper);
    }
}

fn reply(helper: &mut RunningHelper) {
    let result = report::result(helper);
    if let Some(reply) = helper.reply.take() {
        // The call is gone if nobody waits for the reply.
        let _ = reply.send(result);
    }
}

/// The agent of a helper has ended, with everything that it started.
fn on_helper_end(engine: &mut Engine, number: u32) {
    let Some(at) = engine.helpers.running.iter().position(|helper| helper.number == number) else { return };
    let mut helper = engine.helpers.running.remove(at);
    for id in std::mem::take(&mut helper.asked) {
        engine.emit(QuestionEvent::AskWithdrawn { id });
    }
    for request in std::mem::take(&mut helper.approvals) {
        let outcome = ApprovalOutcome::Withdrawn;
        engine.emit(QuestionEvent::ApprovalEnded { id: request.id, outcome });
    }
    if helper.reply.is_some() {
        reply(&mut helper);
    }
    while engine.helpers.running.len() < engine.config.behavior.helpers.at_once
        && let Some(request) = engine.helpers.waiting.pop_front()
    {
        if request.cancel.is_cancelled() {
            let _ = request.reply.send(Err(ToolError::aborted()));
        } else {
            begin(engine, request);
        }
    }
}

/// The id of a question of a helper.
fn outer_id(number: u32, id: &str) -> String {
    format!("h{number}/{id}")
}

/// The number of the helper that a question belongs to, and its id there.
fn inner_id(id: &str) -> Option<(u32, &str)> {
    let (number, id) = id.strip_prefix('h')?.split_once('/')?;
    Some((number.parse().ok()?, id))
}

/// Puts a question of a helper to the user, with its name.
fn take_question(engine: &mut Engine, number: u32, event: QuestionEvent) {
    let Some(helper) = engine.helpers.get(number) else { return };
    let (name, call) = (helper.report.name.clone(), helper.call.clone());
    match event {
        QuestionEvent::ApprovalRequested { mut request } => {
            request.id = outer_id(number, &request.id);
            request.tool_call_id = call;
            request.helper = Some(match &request.helper {
                Some(inner) => format!("{name}, {inner}"),
                None => name,
            });
            helper.approvals.push((*request).clone());
            show_state(helper);
            engine.emit(QuestionEvent::ApprovalRequested { request });
        }
        QuestionEvent::ApprovalEnded { id, outcome } => {
            let id = outer_id(number, &id);
            helper.approvals.retain(|known| known.id != id);
            show_state(helper);
            engine.emit(QuestionEvent::ApprovalEnded { id, outcome });
        }
        QuestionEvent::Asked { id, mut question } => {
            let id = outer_id(number, &id);
            sign(&mut question, &name);
            helper.asked.push(id.clone());
            show_state(helper);
            engine.emit(QuestionEvent::Asked { id, question });
        }
        QuestionEvent::AskWithdrawn { id } => {
            let id = outer_id(number, &id);
            helper.asked.retain(|known| *known != id);
            show_state(helper);
            engine.emit(QuestionEvent::AskWithdrawn { id });
        }
    }
}

/// Shows whether a helper waits for the user.
fn show_state(helper: &mut RunningHelper) {
    let waits = !helper.asked.is_empty() || !helper.approvals.is_empty();
    helper.report.state = if waits { HelperState::Asking } else { HelperState::Running };
    helper.progress.show(report::progress(helper));
}

/// Puts the name of a helper before its question.
fn sign(question: &mut Question, name: &str) {
    match question {
        Question::User { questions } => {
            for question in questions {
                question.question = format!("{name} asks: {}", question.question);
            }
        }
        Question::Select { title, .. } | Question::Confirm { title, .. } => {
            *title = format!("{name}: {title}");
        }
        Question::Form { message, .. } | Question::Url { message, .. } => {
            *message = format!("{name}: {message}");
        }
        Question::Plan { .. } => {}
    }
}

/// Handles an answer that another front end gave a helper, as if it were given here.
fn take_answer(engine: &mut Engine, number: u32, command: QuestionCommand) {
    if let QuestionCommand::Answer { id, .. } = &command {
        // Nothing else tells those who see the question here.
        engine.emit(QuestionEvent::AskWithdrawn { id: outer_id(number, id) });
    }
    answer(engine, number, command);
}

/// Passes an answer to the helper that asked; returns it if no helper did.
pub(crate) fn pass_answer(engine: &mut Engine, mut command: QuestionCommand) -> Option<QuestionCommand> {
    let (QuestionCommand::Answer { id, .. } | QuestionCommand::AnswerApproval { id, .. }) = &mut command;
    let Some((number, inner)) = inner_id(id) else { return Some(command) };
    *id = inner.to_owned();
    answer(engine, number, command);
    None
}

/// Gives a helper an answer to its question with this id of its own. One to a question that is not open is dropped.
fn answer(engine: &mut Engine, number: u32, command: QuestionCommand) {
    let mut stops = false;
    let command = match command {
        QuestionCommand::AnswerApproval { id, answer } => {
            stops = matches!(answer, ApprovalAnswer::Deny { stop: true, .. });
            let outer = outer_id(number, &id);
            let helper = engine.helpers.get(number);
            let request = helper.and_then(|helper| helper.approvals.iter().find(|known| known.id == outer));
            let Some(request) = request.cloned() else { return };
            let Some(answer) = widen_answer(engine, &request, answer) else { return };
            QuestionCommand::AnswerApproval { id, answer }
        }
        command @ QuestionCommand::Answer { .. } => command,
    };
    let Some(helper) = engine.helpers.get(number) else { return };
    if let QuestionCommand::Answer { id, .. } = &command {
        let id = outer_id(number, id);
        helper.asked.retain(|known| *known != id);
        show_state(helper);
    }
    if let Some(commands) = &helper.commands {
        let _ = commands.send(command.into());
    }
    if stops {
        engine.current.stop.cancel();
    }
}

/// The answer to a helper's request, after what it allows from now on was added here, for all helpers. `None` if that
/// failed: the call is still waiting.
fn widen_answer(
    engine: &mut Engine,
    request: &ApprovalRequest,
    answer: ApprovalAnswer,
) -> Option<ApprovalAnswer> {
    let ApprovalAnswer::AllowAlways { rules, scope, hunks } = answer else { return Some(answer) };
    if let Err(why) = gate::allow_helpers(engine, request, &rules, scope) {
        let hint = "the call is still waiting; change the rule, or allow it once";
        engine.notice(NoticeLevel::Warning, format!("cannot add the rule: {why}"), Some(hint));
        return None;
    }
    if scope == RuleScope::Once {
        return Some(ApprovalAnswer::AllowAlways { rules, scope, hunks });
    }
    Some(match rules.iter().any(|rule| is_sandbox_rule(rule)) {
        true => ApprovalAnswer::AllowAlways { rules, scope: RuleScope::Session, hunks },
        false => ApprovalAnswer::Allow { hunks, edited: None },
    })
}

/// Has the helpers move the commands that they wait for to the background; returns whether any is at work.
pub(crate) fn move_commands(engine: &Engine) -> bool {
    let all = engine.helpers.running.iter().filter_map(|helper| helper.commands.as_ref());
    all.filter(|helper| helper.send(ShellCommand::MoveToBackground.into()).is_ok()).count() > 0
}

/// Passes a query about a waiting call to the helper that asked, which answers it; returns it if no helper did.
pub(crate) fn pass_query(engine: &mut Engine, ticket: u64, query: Query) -> Option<Query> {
    let Query::ProposedText { id } = &query else { return Some(query) };
    let Some((number, inner)) = inner_id(id) else { return Some(query) };
    let query = Query::ProposedText { id: inner.to_owned() };
    let commands = engine.helpers.get(number).and_then(|helper| helper.commands.as_ref());
    let sent =
        commands.is_some_and(|commands| commands.send(TaskCommand::Query { ticket, query }.into()).is_ok());
    if !sent {
        let answer = Err("this call is no longer waiting".into());
        engine.emit(TaskEvent::Answered { ticket, answer });
    }
    None
}
