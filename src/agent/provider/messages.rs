//! Parts of a conversation that several wire formats encode alike.

use serde_json::{Value, json};

use super::ModelRequest;
use super::quirks::Quirks;
use tau_protocol::message::{Message, UserContent};
use tau_tools::Content;

/// The text of a tool's result, and its pictures; `see` stands for a text that is missing beside pictures.
pub(super) fn split_result(
    content: &[Content],
    picture: fn(&str, &str) -> Value,
    see: &str,
) -> (String, Vec<Value>) {
    let (mut texts, mut pictures) = (Vec::new(), Vec::new());
    for content in content {
        match content {
            Content::Text { text } => texts.push(text.as_str()),
            Content::Image { data, mime_type } => pictures.push(picture(mime_type, data)),
        }
    }
    let text = match texts.join("\n") {
        text if !text.is_empty() => text,
        _ if !pictures.is_empty() => see.to_owned(),
        _ => "(no output)".to_owned(),
    };
    (text, pictures)
}

/// The conversation in a format of OpenAI. `add` encodes answers and results; it may leave pictures of results for
/// behind the last result of a turn, in a message of the user whose texts are of the type `text`.
pub(super) fn of_openai(
    request: &ModelRequest,
    has_system: bool,
    text: &str,
    user: impl Fn(&UserContent) -> Value,
    mut add: impl FnMut(&Message, &mut Vec<Value>, &mut Vec<Value>),
) -> Vec<Value> {
    let mut list = Vec::with_capacity(request.messages.len() + 1);
    if has_system && !request.system.is_empty() {
        let role = Quirks::of(&request.model).system_role();
        list.push(json!({ "role": role, "content": &*request.system }));
    }
    let mut pictures = Vec::new();
    let flush = |pictures: &mut Vec<Value>, list: &mut Vec<Value>| {
        if !pictures.is_empty() {
            let mut parts = vec![json!({ "type": text, "text": "Images of the tool results above:" })];
            parts.append(pictures);
            list.push(json!({ "role": "user", "content": parts }));
        }
    };
    for message in &request.messages {
        if !matches!(**message, Message::ToolResult(_)) {
            flush(&mut pictures, &mut list);
        }
        match &**message {
            Message::User(said) => list.push(json!({ "role": "user", "content": user(&said.content) })),
            other => add(other, &mut list, &mut pictures),
        }
    }
    flush(&mut pictures, &mut list);
    list
}
