//! Questions from MCP servers and the model: forms and addresses, for clients that support them.

use agent_client_protocol_schema::v1::{ClientCapabilities, Error};
use serde_json::{Map, Value, json};

use super::plans;
use super::state::{About, AcpState, PendingRequest, QuestionKind, SessionKey};
use tau_app::printable::{decision_line, decision_text};
use tau_protocol::command::{QuestionAnswer, QuestionCommand};
use tau_protocol::event::Question;
use tau_protocol::form::{FieldKind, FormField, FormOption};
use tau_tools::user::{UserAnswer, UserQuestion};

/// The name of the only field of a question that is not a form.
const FIELD: &str = "answer";
/// The name prefix of the fields of the model's questions.
const CHOICES: &str = "choices";
const TEXT: &str = "text";

/// Asks the client. A client that cannot show the question leaves it unanswered.
pub(crate) fn ask(state: &mut AcpState, key: SessionKey, id: String, question: &Question) {
    if let Question::Plan { plan, refusal, .. } = question {
        return plans::ask(state, key, id, plan, refusal.as_deref());
    }
    let Some(session) = state.sessions.get(&key) else { return };
    let form = |message: &str, properties: Value, required: Value| {
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        json!({ "sessionId": session.id, "mode": "form", "message": message, "requestedSchema": schema })
    };
    let (kind, params) = match question {
        Question::Form { server, message, fields } => {
            let properties: Map<String, Value> =
                fields.iter().map(|field| (field.name.clone(), schema(field))).collect();
            let required: Vec<&str> =
                fields.iter().filter(|field| field.required).map(|field| field.name.as_str()).collect();
            let message = format!("{server}: {message}");
            (QuestionKind::Form, form(&message, Value::Object(properties), json!(required)))
        }
        Question::Url { server, message, url } => {
            let message = format!("{server}: {message}");
            let params = json!({
                "sessionId": session.id, "mode": "url", "message": message, "url": url, "elicitationId": id,
            });
            (QuestionKind::Url, params)
        }
        Question::Confirm { title, message } => {
            let text = if message.is_empty() { title.clone() } else { format!("{title}\n\n{message}") };
            let field = json!({ FIELD: { "type": "boolean", "title": title, "default": false } });
            (QuestionKind::Confirm, form(&text, field, json!([FIELD])))
        }
        // Handled above.
        Question::Plan { .. } => return,
        Question::User { questions } => {
            let (properties, required) = user_form(questions);
            (QuestionKind::User(questions.len()), form("The model asks", properties, required))
        }
        Question::Select { title, options } => {
            let field = json!({ FIELD: { "type": "string", "title": title, "enum": options } });
            (QuestionKind::Select, form(title, field, json!([FIELD])))
        }
    };
    let can = |client: &ClientCapabilities| {
        client.elicitation.as_ref().is_some_and(|elicitation| match kind {
            QuestionKind::Url => elicitation.supports_url(),
            QuestionKind::Form | QuestionKind::Confirm | QuestionKind::Select | QuestionKind::User(_) => {
                elicitation.supports_form()
            }
        })
    };
    if state.client_can(can) {
        state.ask(
            "elicitation/create",
            &params,
            PendingRequest { session: key, about: About::Question { id, kind } },
        );
    } else {
        let answer = match kind {
            QuestionKind::User(_) => QuestionAnswer::Unavailable,
            QuestionKind::Form | QuestionKind::Url | QuestionKind::Confirm | QuestionKind::Select => {
                QuestionAnswer::Declined
            }
        };
        state.send(key, QuestionCommand::Answer { id, answer });
    }
}

/// The fields for the model's questions, and the required ones: for each question its numbered choices, and a
/// text.
fn user_form(questions: &[UserQuestion]) -> (Value, Value) {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (index, UserQuestion { question, choices, multiple }) in questions.iter().enumerate() {
        let title = decision_text(question);
        let text = format!("{TEXT}{index}");
        if choices.is_empty() {
            properties.insert(text.clone(), json!({ "type": "string", "title": title.as_str() }));
            required.push(text);
            continue;
        }
        let option = |(at, choice): (usize, &String)| json!({ "const": at.to_string(), "title": decision_line(choice).as_str() });
        let options: Vec<Value> = choices.iter().enumerate().map(option).collect();
        let field = match multiple {
            true => json!({ "type": "array", "title": title.as_str(), "items": { "anyOf": options } }),
            false => json!({ "type": "string", "title": title.as_str(), "oneOf": options }),
        };
        properties.insert(format!("{CHOICES}{index}"), field);
        properties.insert(text, json!({ "type": "string", "title": "In your own words" }));
    }
    (Value::Object(properties), json!(required))
}

/// The answers in such a form.
fn user_answers(count: usize, content: &Map<String, Value>) -> Vec<UserAnswer> {
    let number = |value: &Value| value.as_str()?.parse::<usize>().ok();
    let answer = |index: usize| {
        let choices = match content.get(&format!("{CHOICES}{index}")) {
            Some(Value::Array(chosen)) => chosen.iter().filter_map(number).collect(),
            chosen => chosen.and_then(number).into_iter().collect(),
        };
        let text = content.get(&format!("{TEXT}{index}")).and_then(Value::as_str).unwrap_or_default();
        UserAnswer { choices, text: text.to_owned() }
    };
    (0..count).map(answer).collect()
}

/// A field as a JSON Schema.
fn schema(field: &FormField) -> Value {
    let options = |options: &[FormOption]| -> Vec<Value> {
        options.iter().map(|option| json!({ "const": option.value, "title": option.title })).collect()
    };
    let mut schema = match &field.kind {
        FieldKind::String { min_length, max_length, format } => {
            json!({ "type": "string", "minLength": min_length, "maxLength": max_length, "format": format })
        }
        FieldKind::Number { integer, minimum, maximum } => {
            let kind = if *integer { "integer" } else { "number" };
            let bound = |value: &Option<f64>| match value {
                // Whole numbers are written without a point, as their schema requires.
                Some(value) if *integer => json!(value.round() as i64),
                other => json!(other),
            };
            json!({ "type": kind, "minimum": bound(minimum), "maximum": bound(maximum) })
        }
        FieldKind::Boolean => json!({ "type": "boolean" }),
        FieldKind::Choice { options: choices } => json!({ "type": "string", "oneOf": options(choices) }),
        FieldKind::Choices { options: choices, min_items, max_items } => json!({
            "type": "array", "items": { "anyOf": options(choices) }, "minItems": min_items, "maxItems": max_items,
        }),
    };
    if let Some(fields) = schema.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
        fields.insert("title".to_owned(), json!(field.title));
        if !field.description.is_empty() {
            fields.insert("description".to_owned(), json!(field.description));
        }
        fields.extend(field.default.clone().map(|value| ("default".to_owned(), value)));
    }
    schema
}

/// Handles the client's answer.
pub(crate) fn on_answer(
    state: &mut AcpState,
    key: SessionKey,
    id: String,
    kind: QuestionKind,
    result: Result<Value, Error>,
) {
    let result = result.unwrap_or(Value::Null);
    let content = result.get("content").and_then(Value::as_object).cloned().unwrap_or_default();
    let only = content.get(FIELD);
    let answer = match (result.get("action").and_then(Value::as_str), kind) {
        (Some("accept"), QuestionKind::Form) => QuestionAnswer::Form(content),
        (Some("accept"), QuestionKind::User(count)) => QuestionAnswer::Answers(user_answers(count, &content)),
        (Some("accept"), QuestionKind::Url) => QuestionAnswer::Confirmed(true),
        (Some("accept"), QuestionKind::Confirm) => {
            QuestionAnswer::Confirmed(only.and_then(Value::as_bool).unwrap_or(false))
        }
        (Some("accept"), QuestionKind::Select) => match only.and_then(Value::as_str) {
            Some(value) => QuestionAnswer::Value(value.to_owned()),
            None => QuestionAnswer::Cancelled,
        },
        (Some("decline"), _) => QuestionAnswer::Declined,
        _ => QuestionAnswer::Cancelled,
    };
    state.send(key, QuestionCommand::Answer { id, answer });
}
