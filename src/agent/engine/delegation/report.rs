//! The report on a helper, folded from the events of its agent, and the result of its call.

use crate::engine::helper_place::RunningHelper;
use tau_protocol::event::{AgentEvent, Delta, NoticeLevel, RunEvent, SettingsEvent, TaskEvent, TurnEvent};
use tau_protocol::message::{AssistantMessage, Message, StopReason};
use tau_protocol::model::Api;
use tau_tools::counted::pluralize;
use tau_tools::delegate::HelperState;
use tau_tools::{Details, ToolError, ToolOutput, command_result};

/// The number of calls that a report lists.
const MAX_STEPS: usize = 100;
/// The number of characters of a step.
const MAX_STEP: usize = 300;
/// The number of bytes of the answer that a report has.
const MAX_ANSWER: usize = 4 * 1024;

/// Folds an event. Returns whether there is something new to show.
pub(super) fn take(helper: &mut RunningHelper, event: &AgentEvent) -> bool {
    match event {
        AgentEvent::Turn(event) => return turn(helper, event),
        AgentEvent::Run(RunEvent::AutoRetryStart { error_message, delay_ms, .. }) => {
            let seconds = delay_ms.div_ceil(1_000);
            helper.report.doing = short(&format!("tries again in {seconds} s: {error_message}"));
        }
        AgentEvent::Run(RunEvent::CompactionStart { .. }) => {
            helper.report.doing = "compacts its conversation".to_owned();
        }
        AgentEvent::Run(RunEvent::RunStopped { .. }) => {
            helper.error.get_or_insert_with(|| "a limit ended it".to_owned());
            helper.is_limited = true;
        }
        AgentEvent::Run(RunEvent::AgentSettled { aborted }) => helper.aborted |= aborted,
        AgentEvent::Settings(SettingsEvent::ModelChanged { model }) => {
            helper.report.model.clone_from(&model.id);
            helper.report.unpriced |= model.cost.is_none() && model.api != Api::Scripted;
        }
        AgentEvent::Task(TaskEvent::Notice { level: NoticeLevel::Warning, text, .. })
            if std::mem::take(&mut helper.is_limited) =>
        {
            helper.error = Some(text.clone());
        }
        AgentEvent::Task(TaskEvent::Notice { level: NoticeLevel::Error, text, .. }) => {
            helper.error = Some(text.clone());
        }
        _ => return false,
    }
    measure(helper);
    true
}

fn turn(helper: &mut RunningHelper, event: &TurnEvent) -> bool {
    let report = &mut helper.report;
    match event {
        TurnEvent::ToolTitle { tool_call_id, title } => {
            helper.titles.insert(tool_call_id.clone(), title.clone());
            return false;
        }
        TurnEvent::ToolExecutionStart { tool_call_id, tool_name, .. } => {
            let title = helper.titles.remove(tool_call_id).unwrap_or_default();
            let step = short(format!("{tool_name} {title}").trim());
            report.doing.clone_from(&step);
            report.calls += 1;
            report.steps.push(step);
            let over = report.steps.len().saturating_sub(MAX_STEPS);
            report.steps.drain(..over);
        }
        TurnEvent::MessageUpdate { assistant_message_event: Delta::TextStart { .. }, .. } => {
            report.doing = "writes".to_owned();
        }
        TurnEvent::MessageUpdate { assistant_message_event: Delta::ThinkingStart { .. }, .. } => {
            report.doing = "thinks".to_owned();
        }
        // A helper of the helper.
        TurnEvent::ToolExecutionUpdate { partial_result, .. } => match &partial_result.details {
            Details::Helper(inner) if !inner.doing.is_empty() => {
                for session in inner.sessions() {
                    if !report.below.contains(session) {
                        report.below.push(session.clone());
                    }
                }
                report.doing = short(&format!("{}: {}", inner.name, inner.doing));
            }
            _ => return false,
        },
        TurnEvent::MessageEnd { message } => {
            if let Message::Assistant(answer) = message.as_ref() {
                record_answer(helper, answer);
            }
        }
        _ => return false,
    }
    measure(helper);
    true
}

fn record_answer(helper: &mut RunningHelper, answer: &AssistantMessage) {
    helper.error = match answer.stop_reason {
        StopReason::Error => {
            Some(answer.error_message.clone().unwrap_or_else(|| "the request failed".to_owned()))
        }
        _ => None,
    };
    let text = answer.text();
    if !text.trim().is_empty() {
        helper.answer = text;
    }
}

/// Reads the meter, which also counts the helpers of a helper.
pub(super) fn measure(helper: &mut RunningHelper) {
    helper.meter.usage().put_into(&mut helper.report);
}

fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(MAX_STEP).collect()
}

/// The end of an answer.
fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(MAX_ANSWER);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text.get(from..).unwrap_or_default()
}

/// The state so far, for people.
pub(super) fn progress(helper: &RunningHelper) -> ToolOutput {
    ToolOutput { content: Vec::new(), details: Details::Helper(Box::new(helper.report.clone())) }
}

/// The result of the call: the last answer, bounded, and what it took.
pub(super) fn result(helper: &mut RunningHelper) -> Result<ToolOutput, ToolError> {
    measure(helper);
    let state = match (&helper.error, helper.aborted) {
        (_, true) => HelperState::Stopped,
        (Some(_), false) => HelperState::Failed,
        (None, false) => HelperState::Done,
    };
    helper.report.state = state;
    let answer = helper.answer.trim();
    helper.report.answer = tail(answer).to_owned();
    let place = match &helper.report.file {
        Some(file) => format!("the whole answer is the last one in {file}"),
        None => "its session is not saved".to_owned(),
    };
    let shown = command_result::cut(answer, &helper.limits, &place);
    let report = &helper.report;
    let mut facts = vec![pluralize(report.calls, "call"), pluralize(report.tokens(), "token")];
    if !report.unpriced {
        facts.push(format!("{}${:.4}", if report.estimated { "about " } else { "" }, report.cost));
    }
    if report.file.is_some() {
        facts.push(format!("session {}", report.session));
    }
    let line = |how: &str| format!("[{}{how}: {}]", report.name, facts.join(", "));
    let details = Details::Helper(Box::new(report.clone()));
    match (state, &helper.error) {
        (HelperState::Stopped, _) => {
            let message = with(shown, &line(" was stopped before it had finished"));
            Err(ToolError::Aborted { message, details: Box::new(details) })
        }
        (_, Some(error)) => {
            let message = with(shown, &line(&format!(" has not finished: {error}")));
            Err(ToolError::Refused { message, details: Box::new(details) })
        }
        _ if shown.is_empty() => {
            let message = line(" ended without an answer");
            Err(ToolError::Refused { message, details: Box::new(details) })
        }
        _ => Ok(ToolOutput::new(with(shown, &line("")), details)),
    }
}

fn with(answer: String, line: &str) -> String {
    if answer.is_empty() { line.to_owned() } else { format!("{answer}\n\n{line}") }
}
