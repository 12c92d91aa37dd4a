//! Calls that await the user's decision, presented to the client with the prompt's options.

use agent_client_protocol_schema::v1::{
    Error, PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use serde_json::Value;

use super::calls;
use super::state::{About, AcpState, PendingRequest, SessionKey};
use tau_app::printable::{decision_line, decision_text};
use tau_protocol::approval::{ApprovalAnswer, ApprovalRequest, RuleScope};
use tau_protocol::command::QuestionCommand;
use tau_tools::Preview;

const ALLOW: &str = "allow";
const EXACT: &str = "always-exact";
const DENY: &str = "deny";
const STOP: &str = "deny-and-stop";

/// The scopes of a rule, with the ids of their options and the end of their names.
const ALWAYS: [(&str, RuleScope, &str); 4] = [
    ("always-session", RuleScope::Session, "in this session"),
    ("always-local", RuleScope::Local, "in this project, for you only"),
    ("always-project", RuleScope::Project, "in this project"),
    ("always-user", RuleScope::User, "everywhere"),
];

/// The most reasons that a question shows.
const MAX_REASONS: usize = 20;

/// Clients that show one option of each kind, with a label of their own: "Always accept" must not be the
/// widest rule.
const NAME_OPTIONS_THEMSELVES: [&str; 1] = ["CodeCompanion.nvim"];

/// Whether the client of this name shows its own labels instead of the names of options.
pub(crate) fn names_itself(client: &str) -> bool {
    NAME_OPTIONS_THEMSELVES.contains(&client)
}

/// Asks the client about a call.
pub(crate) fn ask(state: &mut AcpState, key: SessionKey, request: &ApprovalRequest) {
    let Some(session) = state.sessions.get(&key) else { return };
    let cwd = &session.mirror.session.cwd;
    let mut fields = ToolCallUpdateFields::new()
        .title(decision_line(&request.title).as_str())
        .kind(calls::kind(&request.tool_name))
        .status(ToolCallStatus::Pending);
    let mut content = match &request.preview {
        Preview::None => Vec::new(),
        Preview::Arguments { arguments } => {
            let text = serde_json::to_string_pretty(arguments).unwrap_or_default();
            vec![calls::text(&calls::fence(decision_text(&text).as_str()))]
        }
        Preview::Command { command } => {
            vec![calls::text(&calls::fence(decision_text(command).as_str()))]
        }
        Preview::Change { change } => {
            fields = fields.locations(vec![calls::change_location(cwd, change)]);
            let mut change = change.clone();
            change
                .hunks
                .iter_mut()
                .flat_map(|hunk| &mut hunk.lines)
                .for_each(|line| *line = decision_text(line).as_str().to_owned());
            calls::diffs(cwd, &change)
        }
    };
    content.push(calls::text(&reasons(request)));
    let call = ToolCallUpdate::new(request.tool_call_id.clone(), fields.content(content));
    let question =
        RequestPermissionRequest::new(session.id.clone(), call, choices(request, state.names_options_itself));
    let about = About::Approval { id: request.id.clone(), rules: request.suggested_rules.clone() };
    state.ask("session/request_permission", &question, PendingRequest { session: key, about });
}

/// The reasons for asking, the strongest first, and the sandbox of the call.
fn reasons(request: &ApprovalRequest) -> String {
    let shown = request.reasons.iter().take(MAX_REASONS);
    let mut lines: Vec<String> =
        shown.map(|reason| format!("- {}", decision_line(&reason.text).as_str())).collect();
    match request.reasons.len().saturating_sub(MAX_REASONS) {
        0 => {}
        more => lines.push(format!("- and {more} more reasons")),
    }
    if let Some(blocked) = &request.blocked {
        let again = if request.ran { "; allowed, it runs a second time" } else { "" };
        lines.push(format!("- the sandbox refuses {blocked}; allowed, it runs without the sandbox{again}"));
    } else if !request.sandbox.is_empty() {
        lines.push(format!("- sandbox: {}", request.sandbox));
    }
    lines.join("\n")
}

/// The options, allowing ones first; with `one_of_a_kind`, only the narrowest of each kind.
fn choices(request: &ApprovalRequest, one_of_a_kind: bool) -> Vec<PermissionOption> {
    let once = if request.blocked.is_some() { "Run once without the sandbox" } else { "Allow once" };
    let mut options = vec![PermissionOption::new(ALLOW, once, PermissionOptionKind::AllowOnce)];
    if request.can_allow_exact {
        let words = "Always allow exactly this, in this session";
        options.push(PermissionOption::new(EXACT, words, PermissionOptionKind::AllowAlways));
    }
    if !request.suggested_rules.is_empty() {
        let rules = decision_line(&request.suggested_rules.join(" and "));
        options.extend(ALWAYS.iter().map(|(id, _, place)| {
            PermissionOption::new(
                *id,
                format!("Always allow {} {place}", rules.as_str()),
                PermissionOptionKind::AllowAlways,
            )
        }));
    }
    options.push(PermissionOption::new(DENY, "Deny", PermissionOptionKind::RejectOnce));
    options.push(PermissionOption::new(STOP, "Deny and stop", PermissionOptionKind::RejectOnce));
    if one_of_a_kind {
        options.dedup_by_key(|option| option.kind);
    }
    options
}

/// Handles the client's decision. Without one the call does not run.
pub(crate) fn on_answer(
    state: &mut AcpState,
    key: SessionKey,
    id: String,
    rules: Vec<String>,
    result: Result<Value, Error>,
) {
    let outcome = match result.map(serde_json::from_value::<RequestPermissionResponse>) {
        Ok(Ok(response)) => response.outcome,
        Ok(Err(fault)) => {
            return deny(state, key, id, &format!("its answer is not understood: {fault}"));
        }
        Err(error) => return deny(state, key, id, &error.message),
    };
    let option = match &outcome {
        RequestPermissionOutcome::Selected(selected) => selected.option_id.0.as_ref(),
        _ => STOP,
    };
    let always = ALWAYS.iter().find(|(id, ..)| *id == option);
    let answer = match (option, always) {
        (EXACT, _) => ApprovalAnswer::AllowExact { hunks: None },
        (ALLOW, _) => ApprovalAnswer::Allow { hunks: None, edited: None },
        (_, Some((_, scope, _))) => ApprovalAnswer::AllowAlways { rules, scope: *scope, hunks: None },
        (DENY, _) => ApprovalAnswer::Deny { reason: None, stop: false },
        (STOP, _) => ApprovalAnswer::Deny { reason: None, stop: true },
        _ => return deny(state, key, id, &format!("it chose \"{option}\", which is not an option")),
    };
    state.send(key, QuestionCommand::AnswerApproval { id, answer });
}

fn deny(state: &mut AcpState, key: SessionKey, id: String, why: &str) {
    let reason = Some(format!("the editor could not ask the user: {why}"));
    let answer = ApprovalAnswer::Deny { reason, stop: false };
    state.send(key, QuestionCommand::AnswerApproval { id, answer });
}

/// Withdraws a request for approval that has ended.
pub(crate) fn withdraw(state: &mut AcpState, key: SessionKey, approval: &str) {
    state.withdraw(key, |about| matches!(about, About::Approval { id, .. } if id == approval));
}
