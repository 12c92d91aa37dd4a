//! Plans: the list at the end of a run in plan mode, and what becomes of it.
//!
//! As on the screen, the user is asked once the run has ended. The prompt is answered after that, or after the
//! plan was carried out.

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, PermissionOption, PermissionOptionKind, Plan, PlanEntry, PlanEntryPriority,
    PlanEntryStatus, RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    SessionUpdate, TextContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use serde_json::Value;

use super::state::{About, AcpState, Asked, SessionKey};
use crate::agent::AgentCommand;
use crate::agent::protocol::approval::PermissionMode;
use crate::agent::protocol::command::Queue;
use crate::agent::protocol::query::Query;
use crate::tools::ids;

/// The message that the model gets when the user has accepted its plan.
const ACCEPTED: &str = "I accept the plan. Carry it out.";

/// The options that accept, by their ids: the mode in which the plan is carried out.
const ACCEPTING: [(&str, PermissionMode, &str); 2] = [
    ("accept-auto", PermissionMode::Auto, "Carry it out without asking"),
    ("accept-ask", PermissionMode::Ask, "Carry it out, asking before every change"),
];

/// The steps of a plan: the items of its numbered list, or of its longest list without numbers.
fn steps(text: &str) -> Vec<String> {
    let numbered = |line: &str| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = (rest.len() < line.len()).then_some(rest)?;
        rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")).map(str::to_owned)
    };
    let bulleted = |line: &str| {
        let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "))?;
        let item = item.strip_prefix("[ ] ").unwrap_or(item);
        Some(item.to_owned())
    };
    let items: Vec<String> = text.lines().filter_map(numbered).collect();
    if items.is_empty() { text.lines().filter_map(bulleted).collect() } else { items }
}

/// Shows the plan with this status of all its steps.
fn show(state: &mut AcpState, key: SessionKey, status: &PlanEntryStatus) {
    let Some(session) = state.sessions.get(&key).filter(|session| !session.plan.is_empty()) else { return };
    let entry = |step: &String| PlanEntry::new(step.as_str(), PlanEntryPriority::Medium, status.clone());
    let plan = Plan::new(session.plan.iter().map(entry).collect());
    state.update(key, SessionUpdate::Plan(plan));
}

/// A run in plan mode has ended with this answer: asks what becomes of it.
pub(crate) fn ask(state: &mut AcpState, key: SessionKey, answer: &str) {
    let Some(session) = state.sessions.get_mut(&key) else { return };
    session.plan = steps(answer);
    let id = session.id.clone();
    show(state, key, &PlanEntryStatus::Pending);
    let fields = ToolCallUpdateFields::new()
        .title("Carry out the plan?")
        .kind(ToolKind::SwitchMode)
        .status(ToolCallStatus::Pending);
    let call = ToolCallUpdate::new(ids::id().to_string(), fields);
    let accepting = ACCEPTING
        .iter()
        .map(|(id, _, name)| PermissionOption::new(*id, *name, PermissionOptionKind::AllowOnce));
    let keep = PermissionOption::new("keep", "Keep planning", PermissionOptionKind::RejectOnce);
    let question = RequestPermissionRequest::new(id, call, accepting.chain([keep]).collect());
    state.ask("session/request_permission", &question, Asked { session: key, about: About::Plan });
}

/// Takes the client's answer. True if the plan is carried out now; the prompt is answered at the end of that.
pub(crate) fn answered(state: &mut AcpState, key: SessionKey, answer: Option<Value>) -> bool {
    let outcome = answer.and_then(|answer| serde_json::from_value::<RequestPermissionResponse>(answer).ok());
    let Some(RequestPermissionOutcome::Selected(selected)) = outcome.map(|response| response.outcome) else {
        return false;
    };
    let chosen = ACCEPTING.iter().find(|(id, ..)| *id == selected.option_id.0.as_ref());
    let Some((_, mode, _)) = chosen else { return false };
    state.send(key, AgentCommand::SetPermissionMode { mode: *mode });
    let said = ContentChunk::new(ContentBlock::Text(TextContent::new(ACCEPTED)));
    state.update(key, SessionUpdate::UserMessageChunk(said));
    let (text, images, streaming) = (ACCEPTED.to_owned(), Vec::new(), Queue::FollowUp);
    state.send(key, AgentCommand::Prompt { text, images, streaming });
    let idle = state.query(key, Query::Idle);
    if let Some(turn) = state.sessions.get_mut(&key).and_then(|session| session.turn.as_mut()) {
        turn.idle = Some(idle);
        turn.carries_out = true;
    }
    show(state, key, &PlanEntryStatus::InProgress);
    true
}

/// A plan was carried out, or given up on the way.
pub(crate) fn ended(state: &mut AcpState, key: SessionKey, done: bool) {
    let status = if done { PlanEntryStatus::Completed } else { PlanEntryStatus::Pending };
    show(state, key, &status);
    if let Some(session) = state.sessions.get_mut(&key) {
        session.plan.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::steps;

    #[test]
    fn steps_are_the_items_of_a_list() {
        let cases = [
            (
                "Plan:\n1. read a\n   more\n2) write b\n- not this\n10. ship",
                vec!["read a", "write b", "ship"],
            ),
            ("- [ ] one\n* two\n  - inner\n-three", vec!["one", "two"]),
            ("2026 was a year. It had days.\nNo list.", vec![]),
        ];
        for (text, expected) in cases {
            assert_eq!(steps(text), expected, "{text}");
        }
    }
}
