//! Events, messages and models for other programs: the objects of the RPC page.
//!
//! Pure. The content of a record is decided here once, for `json` and `rpc` alike: fields that are tau's own
//! are left out, since some clients fail on an unknown field. Those front ends decide which client gets which
//! record.

use memchr::memchr2;
use serde::Serialize;
use serde_json::{Value, json};

use tau_protocol::event::{
    AgentEvent, Delta, Question, QuestionEvent, QueueEvent, RunEvent, SessionEvent, SettingsEvent,
    ShellEvent, TaskEvent, TurnEvent,
};
use tau_protocol::message::{BashExecution, Block, Message};
use tau_protocol::model::Model;

/// The record of an event; `None` for events that are for front ends in this process only, and for ones that
/// `rpc` builds itself (the output and result of a user's command).
pub fn event(event: &AgentEvent) -> Option<Value> {
    match event {
        AgentEvent::Run(of_run) => run(of_run, event),
        AgentEvent::Turn(of_turn) => turn(of_turn, event),
        AgentEvent::Queue(QueueEvent::QueueUpdate { .. } | QueueEvent::PromptRefused { .. }) => {
            Some(plain(event))
        }
        AgentEvent::Session(
            SessionEvent::SessionInfoChanged { .. }
            | SessionEvent::PlanChanged { .. }
            | SessionEvent::GoalChanged { .. },
        ) => Some(plain(event)),
        AgentEvent::Settings(setting) => match setting {
            SettingsEvent::ThinkingLevelChanged { .. }
            | SettingsEvent::PermissionModeChanged { .. }
            | SettingsEvent::RulesChanged => Some(plain(event)),
            // Clients query the current state.
            SettingsEvent::ResourcesChanged { .. } => Some(json!({ "type": "resources_changed" })),
            SettingsEvent::CommandsChanged { .. } => Some(json!({ "type": "commands_changed" })),
            SettingsEvent::ModelChanged { .. } | SettingsEvent::ExtensionsChanged => None,
        },
        AgentEvent::Questions(question) => Some(match question {
            QuestionEvent::Asked { id, question } => question_record(id, question),
            QuestionEvent::AskWithdrawn { id } => json!({ "type": "extension_ui_withdrawn", "id": id }),
            QuestionEvent::ApprovalRequested { .. } | QuestionEvent::ApprovalEnded { .. } => plain(event),
        }),
        AgentEvent::Shell(ShellEvent::JobsChanged { .. })
        | AgentEvent::Task(TaskEvent::SideAnswer { .. } | TaskEvent::SideAnswerEnded { .. }) => {
            Some(plain(event))
        }
        AgentEvent::Queue(_) | AgentEvent::Session(_) | AgentEvent::Shell(_) | AgentEvent::Task(_) => None,
    }
}

fn run(of_run: &RunEvent, event: &AgentEvent) -> Option<Value> {
    Some(match of_run {
        RunEvent::AgentEnd { messages, will_retry } => {
            let messages: Vec<Value> = messages.iter().map(|message| self::message(message)).collect();
            json!({ "type": "agent_end", "messages": messages, "willRetry": will_retry })
        }
        RunEvent::CompactionEnd { error_message: Some(error), .. } => {
            let mut record = plain(event);
            set(&mut record, "errorMessage", json!(format!("Compaction failed: {}", capital(error))));
            record
        }
        RunEvent::AgentStart
        | RunEvent::AgentSettled { .. }
        | RunEvent::AutoRetryStart { .. }
        | RunEvent::AutoRetryEnd { .. }
        | RunEvent::CompactionStart { .. }
        | RunEvent::CompactionEnd { .. } => plain(event),
        RunEvent::Stalled { .. }
        | RunEvent::PlanLimits { .. }
        | RunEvent::BranchSummary { .. }
        | RunEvent::RunStopped { .. } => {
            return None;
        }
    })
}

fn turn(of_turn: &TurnEvent, event: &AgentEvent) -> Option<Value> {
    Some(match of_turn {
        TurnEvent::MessageStart { message } => {
            json!({ "type": "message_start", "message": self::message(message) })
        }
        TurnEvent::MessageEnd { message } => {
            json!({ "type": "message_end", "message": self::message(message) })
        }
        TurnEvent::TurnEnd { message, tool_results } => {
            let results: Vec<Value> = tool_results.iter().map(|result| self::message(result)).collect();
            json!({ "type": "turn_end", "message": self::message(message), "toolResults": results })
        }
        TurnEvent::ToolExecutionEnd { .. } | TurnEvent::ToolExecutionUpdate { .. } => {
            let mut record = plain(event);
            for field in ["result", "partialResult"] {
                let details = record.get_mut(field).and_then(|result| result.get_mut("details"));
                if let Some(details) = details.filter(|details| is_nothing(details)) {
                    *details = json!({});
                }
            }
            record
        }
        TurnEvent::MessageUpdate { usage, assistant_message_event } => {
            json!({ "type": "message_update", "usage": usage, "assistantMessageEvent": delta(assistant_message_event) })
        }
        TurnEvent::TurnStart | TurnEvent::ToolExecutionStart { .. } => plain(event),
        TurnEvent::HelperEvent { tool_call_id, helper, event } => json!({
            "type": "helper_event", "toolCallId": tool_call_id, "helper": helper, "event": self::event(event)?
        }),
        TurnEvent::ToolTitle { .. } => return None,
    })
}

/// A question to the user.
pub(crate) fn question_record(id: &str, question: &Question) -> Value {
    let (method, title, fields) = match question {
        Question::Select { title, options } => ("select", title.clone(), json!({ "options": options })),
        Question::Confirm { title, message } => ("confirm", title.clone(), json!({ "message": message })),
        Question::Form { server, message, fields } => {
            let fields = json!({ "server": server, "message": message, "fields": fields });
            ("form", format!("{server} asks"), fields)
        }
        Question::User { questions } => {
            ("questions", "The model asks".to_owned(), json!({ "questions": questions }))
        }
        Question::Plan { plan, refusal, .. } => {
            let refusal = refusal.as_ref().map(|why| json!({ "plan": plan, "refusal": why }));
            let fields = refusal.unwrap_or_else(|| json!({ "plan": plan }));
            ("plan", "Carry out this plan?".to_owned(), fields)
        }
        Question::Url { server, message, url } => {
            let fields = json!({ "server": server, "message": message, "url": url });
            ("url", format!("{server} asks you to open an address"), fields)
        }
    };
    let mut record = json!({ "type": "extension_ui_request", "id": id, "method": method, "title": title });
    for (name, value) in fields.as_object().into_iter().flatten() {
        set(&mut record, name, value.clone());
    }
    record
}

/// A piece of an answer. A complete call is equal to its block in the message.
pub fn delta(delta: &Delta) -> Value {
    let mut record = plain(delta);
    if let Delta::ToolCallEnd { tool_call, .. } = delta {
        set(&mut record, "toolCall", plain(&Block::ToolCall(tool_call.clone())));
    }
    record
}

/// A message, with the fields of the RPC page and no others.
pub fn message(message: &Message) -> Value {
    let mut record = plain(message);
    if let Some(fields) = record.as_object_mut() {
        fields.shift_remove("responseId");
        fields.shift_remove("durationMs");
    }
    record
}

/// A command of the user in the older document's form: a missing exit code is null.
pub(crate) fn bash_message(run: &BashExecution) -> Value {
    let mut record = message(&Message::BashExecution(run.clone()));
    set(&mut record, "exitCode", json!(run.exit_code));
    record
}

/// The result of a user's command.
pub(crate) fn bash_result(run: &BashExecution) -> Value {
    let mut record = json!({ "output": run.output });
    if let Some(code) = run.exit_code {
        set(&mut record, "exitCode", json!(code));
    }
    set(&mut record, "cancelled", json!(run.cancelled));
    set(&mut record, "truncated", json!(run.truncated));
    if let Some(path) = &run.full_output_path {
        set(&mut record, "fullOutputPath", json!(path));
    }
    if let Some(denial) = &run.blocked {
        set(&mut record, "blocked", json!(denial));
    }
    record
}

/// A model, without headers and other facts about tau's own way to reach it.
pub fn model(model: &Model) -> Value {
    json!({
        "id": model.id,
        "name": model.name,
        "api": model.api,
        "provider": model.provider,
        "baseUrl": model.base_url,
        "reasoning": model.reasoning,
        "input": model.input,
        "contextWindow": model.context_window,
        "maxTokens": model.max_tokens,
        "cost": model.cost.unwrap_or_default(),
    })
}

/// JSON text as one record: one line that no reader splits, with its end. Some line readers treat U+0085,
/// U+2028 and U+2029 as line ends; in JSON they occur within strings only.
pub fn record(json: &str) -> String {
    let (mut line, mut rest) = (String::with_capacity(json.len() + 1), json);
    // In UTF-8 they begin with one of two bytes.
    while let Some((before, from)) =
        memchr2(0xC2, 0xE2, rest.as_bytes()).and_then(|at| rest.split_at_checked(at))
    {
        let mut letters = from.chars();
        line.push_str(before);
        match letters.next() {
            Some(breaking @ ('\u{85}' | '\u{2028}' | '\u{2029}')) => {
                line.push_str(&format!("\\u{:04x}", u32::from(breaking)));
            }
            Some(other) => line.push(other),
            None => {}
        }
        rest = letters.as_str();
    }
    line.push_str(rest);
    line.push('\n');
    line
}

/// The text with a capital first letter, like sentences on the wire.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// The value as serialised by serde. If that fails, a record that says so.
pub(crate) fn plain(value: &impl Serialize) -> Value {
    serde_json::to_value(value)
        .unwrap_or_else(|error| json!({ "type": "unsendable", "error": error.to_string() }))
}

fn is_nothing(details: &Value) -> bool {
    details.get("kind").and_then(Value::as_str) == Some("none")
}

/// Sets a field of an object.
pub fn set(record: &mut Value, field: &str, value: Value) {
    if let Some(fields) = record.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_protocol::event::TaskEvent;

    #[test]
    fn records_are_one_line_for_every_reader() {
        let cases = [
            (r#"{"a":"b"}"#, "{\"a\":\"b\"}\n"),
            ("\"\u{2028}x\u{2029}\u{85}\"", "\"\\u2028x\\u2029\\u0085\"\n"),
            ("\"é\u{85}\"", "\"é\\u0085\"\n"),
            ("", "\n"),
        ];
        for (json, expected) in cases {
            assert_eq!(record(json), expected);
        }
    }

    #[test]
    fn nothing_to_show_is_an_empty_object() {
        let end = AgentEvent::Turn(TurnEvent::ToolExecutionEnd {
            tool_call_id: "c".into(),
            tool_name: "t".into(),
            result: tau_tools::ToolOutput::new("x", tau_tools::Details::None),
            is_error: false,
            duration_ms: None,
            hooks: Vec::new(),
        });
        let record = event(&end).unwrap();
        assert_eq!(record["result"], json!({"content": [{"type": "text", "text": "x"}], "details": {}}));
        assert_eq!(record.as_object().unwrap().keys().next().unwrap(), "type");
        assert!(event(&AgentEvent::Task(TaskEvent::Stopped)).is_none());
    }

    #[test]
    fn questions_are_requests() {
        let (title, id) = ("Run it?".to_owned(), "q1".to_owned());
        let select = Question::Select { title: title.clone(), options: vec!["Allow".into(), "Deny".into()] };
        let confirm = Question::Confirm { title, message: "it is new".into() };
        let cases = [
            (
                select,
                json!({"type": "extension_ui_request", "id": "q1", "method": "select", "title": "Run it?", "options": ["Allow", "Deny"]}),
            ),
            (
                confirm,
                json!({"type": "extension_ui_request", "id": "q1", "method": "confirm", "title": "Run it?", "message": "it is new"}),
            ),
        ];
        for (question, expected) in cases {
            assert_eq!(
                event(&AgentEvent::Questions(QuestionEvent::Asked { id: id.clone(), question })),
                Some(expected)
            );
        }
    }
}
