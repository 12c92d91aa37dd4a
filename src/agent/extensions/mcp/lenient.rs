//! Reads the valid parts of server answers that violate the protocol.

use rmcp::model::{CallToolResult, ContentBlock, ServerJsonRpcMessage, Tool};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// The maximum number of unreadable tools that are named.
const NAMED: usize = 5;

/// The parts of an answer. Those that are null count as absent.
#[derive(Deserialize)]
struct Answer<'a> {
    id: Value,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    method: Option<IgnoredAny>,
}

/// The messages in a text that is not one: those of a batch, and answers that are almost JSON-RPC 2.0. An answer whose
/// content cannot be read is an error, so that nobody waits for another one.
pub(super) fn messages(text: &[u8]) -> Vec<ServerJsonRpcMessage> {
    let text = String::from_utf8_lossy(text);
    let one = || serde_json::from_str(&text).map(|one| vec![one]);
    let parts: Vec<&RawValue> = serde_json::from_str(&text).or_else(|_| one()).unwrap_or_default();
    let message = |part: &RawValue| serde_json::from_str(part.get()).ok().or_else(|| answer(part.get()));
    parts.into_iter().filter_map(message).collect()
}

fn answer(text: &str) -> Option<ServerJsonRpcMessage> {
    let Answer { id, result, error, method } = serde_json::from_str(text).ok()?;
    if method.is_some() || !(id.is_number() || id.is_string()) {
        return None;
    }
    let unreadable =
        |why: &str| json!({ "code": -32700, "message": format!("its answer cannot be read: {why}") });
    let (name, content) = match (result.map(value), error.map(value)) {
        (_, Some(Ok(error))) => ("error", error_object(&error)),
        (_, Some(Err(why))) | (Some(Err(why)), None) => ("error", unreadable(&why.to_string())),
        (Some(Ok(result)), None) => ("result", result),
        (None, None) => ("error", unreadable("it has neither a result nor an error")),
    };
    serde_json::from_value(json!({ "jsonrpc": "2.0", "id": id, name: content })).ok()
}

fn value(raw: &RawValue) -> serde_json::Result<Value> {
    serde_json::from_str(raw.get()).or_else(|_| serde_json::from_str(&with_whole_escapes(raw.get())))
}

/// JSON in which each escaped half of a character is U+FFFD. Programs write halves where they cut a text.
fn with_whole_escapes(text: &str) -> String {
    let unit = |text: &str| u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let (mut whole, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.find('\\').map(|at| rest.split_at(at)) {
        whole.push_str(before);
        let length = match unit(after) {
            Some(0xD800..0xDC00)
                if after.get(6..).and_then(unit).is_some_and(|low| (0xDC00..0xE000).contains(&low)) =>
            {
                12
            }
            Some(0xD800..0xE000) => {
                whole.push('\u{FFFD}');
                rest = after.get(6..).unwrap_or_default();
                continue;
            }
            _ => 1 + after.chars().nth(1).map_or(0, char::len_utf8),
        };
        let (escape, left) = after.split_at(length);
        whole.push_str(escape);
        rest = left;
    }
    whole + rest
}

/// An error as JSON-RPC has it: with a code and a message.
fn error_object(given: &Value) -> Value {
    let code = given.get("code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
    let message = given.as_str().or_else(|| given.get("message").and_then(Value::as_str));
    json!({ "code": code.unwrap_or(-32603), "message": message.map_or_else(|| given.to_string(), str::to_owned) })
}

/// The tools of a list, its cursor, and the names of those that cannot be parsed.
pub(super) fn tools(page: &Value) -> Option<(Vec<Tool>, Option<String>, Vec<String>)> {
    let listed = page.get("tools")?.as_array()?;
    let (mut tools, mut odd) = (Vec::new(), Vec::new());
    for (at, given) in listed.iter().enumerate() {
        match tool(given) {
            Some(tool) => tools.push(tool),
            None => {
                let name = given.get("name").and_then(Value::as_str).filter(|name| !name.trim().is_empty());
                odd.push(name.map_or_else(|| format!("number {}", at + 1), str::to_owned));
            }
        }
    }
    let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
    Some((tools, next, odd))
}

/// A tool with its valid parts: its name is required, and its schema must be one if present.
fn tool(given: &Value) -> Option<Tool> {
    let name = given.get("name")?.as_str().filter(|name| !name.trim().is_empty())?;
    if let Ok(tool) = serde_json::from_value(given.clone()) {
        return Some(tool);
    }
    let schema = match given.get("inputSchema") {
        None | Some(Value::Null) => json!({ "type": "object" }),
        Some(schema @ Value::Object(_)) => schema.clone(),
        Some(_) => return None,
    };
    let mut plain = Map::from_iter([("name".to_owned(), json!(name)), ("inputSchema".to_owned(), schema)]);
    for text in ["title", "description"] {
        if let Some(value) = given.get(text).filter(|value| value.is_string()) {
            plain.insert(text.to_owned(), value.clone());
        }
    }
    serde_json::from_value(Value::Object(plain)).ok()
}

/// The notice about tools whose definitions cannot be parsed.
pub(super) fn odd_tools_notice(odd: &[String]) -> Option<String> {
    if odd.is_empty() {
        return None;
    }
    let named: Vec<&str> = odd.iter().take(NAMED).map(String::as_str).collect();
    let more = odd.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!("left out tools that do not follow MCP: {}{more}", named.join(", ")))
}

/// The readable parts of a call's result, with a note in place of each other part. `None` if it is not a result.
pub(super) fn result(answer: &Value) -> Option<CallToolResult> {
    let fields = answer.as_object()?;
    let structured = fields.get("structuredContent").filter(|value| !value.is_null());
    let content = match fields.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().map(block).collect(),
        Some(Value::String(text)) => vec![ContentBlock::text(text)],
        Some(Value::Object(_)) => fields.get("content").map(block).into_iter().collect(),
        _ if structured.is_some() || fields.contains_key("isError") => Vec::new(),
        _ => return None,
    };
    let failed = matches!(fields.get("isError"), Some(Value::Bool(true)))
        || fields.get("isError") == Some(&json!("true"));
    let mut result = if failed { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = structured.cloned();
    Some(result)
}

fn block(given: &Value) -> ContentBlock {
    if let Ok(block) = serde_json::from_value(given.clone()) {
        return block;
    }
    let kind = given.get("type").and_then(Value::as_str);
    let field = |name: &str| given.get(name).and_then(Value::as_str);
    // Any value but no text is shown as it is.
    let other = given.get("text").filter(|value| !value.is_null()).map(Value::to_string);
    let text = given.as_str().or_else(|| field("text")).or(other.as_deref());
    match (kind, text) {
        (None | Some("text"), Some(text)) => ContentBlock::text(text),
        (Some("image"), _) if field("data").is_some() => {
            ContentBlock::image(field("data").unwrap_or_default(), field("mimeType").unwrap_or("image"))
        }
        (Some("resource_link"), _) if field("uri").is_some() => {
            ContentBlock::text(format!("[resource {}]", field("uri").unwrap_or_default()))
        }
        (Some(kind), _) => {
            let kind: String = kind.chars().filter(|c| !c.is_control()).take(40).collect();
            ContentBlock::text(format!("[content of kind {kind:?} that cannot be read]"))
        }
        (None, None) => ContentBlock::text("[content that cannot be read]"),
    }
}
