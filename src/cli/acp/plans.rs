//! Plans: the client decides on a proposed one, and shows which steps are done.

use agent_client_protocol_schema::v1::{
    Error, PermissionOption, PermissionOptionKind, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, SessionUpdate,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use serde_json::Value;

use super::calls;
use super::state::{About, AcpState, PendingRequest, SessionKey};
use tau_app::printable::decision_text;
use tau_protocol::approval::PermissionMode;
use tau_protocol::command::{QuestionAnswer, QuestionCommand};
use tau_tools::ids;
use tau_tools::plan::WorkPlan;

/// The accepting options, by id: the mode in which the plan is carried out.
const ACCEPTING: [(&str, PermissionMode, &str); 3] = [
    ("accept-auto", PermissionMode::Auto, "Carry it out without asking"),
    ("accept-edits", PermissionMode::Edits, "Carry it out, asking before commands"),
    ("accept-ask", PermissionMode::Ask, "Carry it out, asking before every change"),
];

/// Shows the steps of a plan; the first unfinished one is in progress, if the plan is being carried out.
pub(crate) fn show(state: &mut AcpState, key: SessionKey, plan: &WorkPlan, is_accepted: bool) {
    let next = plan.next().filter(|_| is_accepted);
    let entries = plan.steps.iter().enumerate().map(|(index, step)| {
        let status = match (step.done, Some(index) == next) {
            (true, _) => PlanEntryStatus::Completed,
            (false, true) => PlanEntryStatus::InProgress,
            (false, false) => PlanEntryStatus::Pending,
        };
        PlanEntry::new(step.title(), PlanEntryPriority::Medium, status)
    });
    let plan = Plan::new(entries.collect());
    state.update(key, SessionUpdate::Plan(plan));
}

/// Asks for a decision on the model's plan; `refusal` is why the last one could not be used.
pub(crate) fn ask(
    state: &mut AcpState,
    key: SessionKey,
    question: String,
    text: &str,
    refusal: Option<&str>,
) {
    show(state, key, &WorkPlan::parse(text), false);
    let Some(session) = state.sessions.get(&key) else { return };
    let (id, ceiling) = (session.id.clone(), session.mode_ceiling);
    let fields = ToolCallUpdateFields::new()
        .title("Carry out the plan?")
        .kind(ToolKind::SwitchMode)
        .status(ToolCallStatus::Pending)
        .content(
            refusal
                .into_iter()
                .chain([text])
                .map(|text| calls::text(decision_text(text).as_str()))
                .collect::<Vec<_>>(),
        );
    let call = ToolCallUpdate::new(ids::id().to_string(), fields);
    let accepting = ACCEPTING
        .iter()
        .filter(|(_, mode, _)| mode.within(ceiling).is_ok())
        .map(|(id, _, name)| PermissionOption::new(*id, *name, PermissionOptionKind::AllowOnce));
    let keep = PermissionOption::new("keep", "Keep planning", PermissionOptionKind::RejectOnce);
    let request = RequestPermissionRequest::new(id, call, accepting.chain([keep]).collect());
    let about = About::Plan { id: question };
    state.ask("session/request_permission", &request, PendingRequest { session: key, about });
}

/// Handles the client's answer. Unless it accepts, the run stops.
pub(crate) fn on_answer(state: &mut AcpState, key: SessionKey, id: String, result: Result<Value, Error>) {
    let outcome = result.ok().and_then(|it| serde_json::from_value::<RequestPermissionResponse>(it).ok());
    let chosen = match outcome.map(|response| response.outcome) {
        Some(RequestPermissionOutcome::Selected(selected)) => {
            ACCEPTING.iter().find(|(id, ..)| *id == selected.option_id.0.as_ref())
        }
        _ => None,
    };
    let answer = match chosen {
        Some((_, mode, _)) => QuestionAnswer::PlanAccepted { mode: *mode, plan: None },
        None => QuestionAnswer::Cancelled,
    };
    state.send(key, QuestionCommand::Answer { id, answer });
}
