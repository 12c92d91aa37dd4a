//! Reads the valid parts of server answers that violate the protocol.

use rmcp::model::{CallToolResult, ContentBlock, Tool};
use serde_json::{Map, Value, json};

/// The maximum number of unreadable tools that are named.
const NAMED: usize = 5;

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
