//! Content blocks in the formats of Anthropic's and OpenAI's APIs, as stored by Claude Code and Codex.

use serde_json::Value;

use tau_protocol::message::Block;

/// A part of some content.
pub(super) enum Shape {
    Block(Block),
    /// It has no counterpart in tau.
    LeftOut(&'static str),
}

/// The parts of content: text, or a list of blocks. Calls and results are not among them.
pub(super) fn shapes(content: &Value) -> Vec<Shape> {
    match content {
        Value::String(text) => vec![Shape::Block(Block::text(text.as_str()))],
        Value::Array(blocks) => blocks.iter().filter_map(shape).collect(),
        _ => Vec::new(),
    }
}

fn shape(block: &Value) -> Option<Shape> {
    let text = |field: &str| text_of(block, field).map(|text| Shape::Block(Block::text(text)));
    match text_of(block, "type")? {
        "text" | "input_text" | "output_text" => text("text"),
        "refusal" => text("refusal"),
        "thinking" => text_of(block, "thinking").filter(|text| !text.trim().is_empty()).map(thinking),
        "redacted_thinking" => Some(Shape::LeftOut("encrypted thought")),
        "image" | "input_image" => Some(picture(block).map_or(Shape::LeftOut("picture"), Shape::Block)),
        "document" | "input_file" => Some(Shape::LeftOut("document")),
        "tool_use" | "tool_result" => None,
        "server_tool_use" | "web_search_tool_result" | "web_fetch_tool_result" => {
            Some(Shape::LeftOut("provider tool call"))
        }
        _ => Some(Shape::LeftOut("unknown part")),
    }
}

fn thinking(text: &str) -> Shape {
    // A signature is only valid for the program and the account that it was made for.
    Shape::Block(Block::Thinking { thinking: text.to_owned(), thinking_signature: None, redacted: false })
}

/// The kinds of messages in the user's role.
#[derive(Debug, PartialEq)]
pub(super) enum UserText {
    Prompt(String),
    /// A command that is a prompt, unless the program does it itself.
    Slash(String),
    /// A shell command.
    Command(String),
    /// The output of a command.
    Output(String),
    /// Text that the program wrote for itself.
    Nothing,
}

/// Whether a block is a picture.
pub(super) fn is_picture(block: &Value) -> bool {
    matches!(text_of(block, "type"), Some("image" | "input_image"))
}

pub(super) fn text_of<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str)
}

/// The number in a field; 0 if it is missing.
pub(super) fn number_of(value: &Value, field: &str) -> u64 {
    value.get(field).and_then(Value::as_u64).unwrap_or_default()
}

fn picture(block: &Value) -> Option<Block> {
    if let Some(source) = block.get("source") {
        return picture_of(text_of(source, "media_type")?, text_of(source, "data")?);
    }
    let address = block.get("image_url")?;
    picture_in(address.as_str().or_else(|| text_of(address, "url"))?)
}

/// The picture in a `data:` address.
pub(super) fn picture_in(address: &str) -> Option<Block> {
    let (kind, data) = address.strip_prefix("data:")?.split_once(";base64,")?;
    picture_of(kind, data)
}

fn picture_of(kind: &str, data: &str) -> Option<Block> {
    let is_base64 = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'=');
    let is_picture = matches!(kind, "image/png" | "image/jpeg" | "image/gif" | "image/webp");
    // A provider refuses the whole conversation because of one invalid picture.
    let is_whole = !data.is_empty() && data.len().is_multiple_of(4) && data.bytes().all(is_base64);
    (is_picture && is_whole).then(|| Block::Image { data: data.to_owned(), mime_type: kind.to_owned() })
}
