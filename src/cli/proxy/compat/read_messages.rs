//! Requests in the format of Anthropic's messages.

use serde_json::Value;

use super::read::{
    self, ClientRequest, Conversation, effort, flag, list, log_omitted_tools, refuse, set, text, tokens,
    tool, unsupported_content,
};
use tau_protocol::message::{Block, ToolCall};
use tau_protocol::model::ThinkingLevel;
use tau_tools::user_error::UserError;

/// Thinking budgets in tokens from which a level applies.
const LEVELS: [(u64, ThinkingLevel); 4] = [
    (24_000, ThinkingLevel::Xhigh),
    (12_000, ThinkingLevel::High),
    (4_000, ThinkingLevel::Medium),
    (0, ThinkingLevel::Low),
];

/// The request. The error is what is wrong with it, or cannot be passed on.
pub(super) fn read(body: &Value) -> Result<ClientRequest, UserError> {
    refuse(body, &["stop_sequences", "mcp_servers", "container", "output_format"])?;
    refuse(body.get("output_config").unwrap_or(&Value::Null), &["format"])?;
    refuse(body.get("tool_choice").unwrap_or(&Value::Null), &["disable_parallel_tool_use"])?;
    let mut asked = ClientRequest::of(body)?;
    asked.max_tokens = Some(tokens(body, "max_tokens")?.ok_or("`max_tokens` is missing")?);
    (asked.thinking, asked.thinking_budget) = thinking(body)?;
    let user = body.get("metadata").map(|metadata| text(metadata, "user_id"));
    asked.session_id = user.unwrap_or_default().to_owned();
    let system = blocks(body.get("system").unwrap_or(&Value::Null))?;
    asked.system = system.iter().filter_map(Block::as_text).map(str::to_owned).collect();
    let mut conversation = Conversation::default();
    for message in list(body, "messages") {
        let content = message.get("content").unwrap_or(&Value::Null);
        match text(message, "role") {
            "user" => read_user(content, &mut conversation)?,
            "assistant" => conversation.assistant(blocks(content)?),
            "system" => {
                asked.system.extend(blocks(content)?.iter().filter_map(Block::as_text).map(str::to_owned));
            }
            other => return Err(format!("there is no role {other:?}").into()),
        }
    }
    asked.messages = conversation.into_messages()?;
    let (tools, others): (Vec<&Value>, Vec<&Value>) =
        list(body, "tools").iter().partition(|value| matches!(text(value, "type"), "" | "custom"));
    log_omitted_tools(&others);
    let tools: Result<Vec<_>, _> = tools.into_iter().map(|value| tool(value, "input_schema")).collect();
    asked.tools = match body.get("tool_choice").map(|choice| text(choice, "type")) {
        None | Some("" | "auto") => tools?,
        Some("none") => Vec::new(),
        Some(_) => return Err("only the tool choices auto and none are supported by tau proxy".into()),
    };
    Ok(asked)
}

/// The level of thinking, and its budget.
fn thinking(body: &Value) -> Result<(Option<ThinkingLevel>, Option<u64>), UserError> {
    let word = body.get("output_config").and_then(|config| set(config, "effort")?.as_str());
    let word = word.map(effort).transpose()?;
    let thinking = body.get("thinking").unwrap_or(&Value::Null);
    Ok(match text(thinking, "type") {
        "adaptive" => (Some(word.unwrap_or(ThinkingLevel::High)), None),
        "enabled" => {
            let budget = tokens(thinking, "budget_tokens")?;
            let reaches = |least: u64| budget.unwrap_or_default() >= least;
            let level = LEVELS.iter().find(|(least, _)| reaches(*least)).map(|(_, level)| *level);
            (word.or(level), budget)
        }
        _ => (None, None),
    })
}

/// The parts of a user's message: results of tools, and the rest.
fn read_user(content: &Value, conversation: &mut Conversation) -> Result<(), UserError> {
    let Value::Array(parts) = content else {
        conversation.user(blocks(content)?);
        return Ok(());
    };
    let (results, rest): (Vec<&Value>, Vec<&Value>) =
        parts.iter().partition(|part| text(part, "type") == "tool_result");
    for result in results {
        let content = blocks(result.get("content").unwrap_or(&Value::Null))?;
        let content = content.into_iter().filter_map(Block::into_content).collect();
        conversation.result(text(result, "tool_use_id"), content, flag(result, "is_error"))?;
    }
    let rest: Result<Vec<Block>, UserError> = rest.into_iter().map(block).collect();
    conversation.user(rest?);
    Ok(())
}

fn blocks(content: &Value) -> Result<Vec<Block>, UserError> {
    read::blocks(content, &block)
}

fn block(part: &Value) -> Result<Block, UserError> {
    Ok(match text(part, "type") {
        "text" => Block::text(text(part, "text")),
        "image" => {
            let source = part.get("source").unwrap_or(&Value::Null);
            if text(source, "type") != "base64" {
                return Err("pictures have to be sent as base64; tau proxy fetches none".into());
            }
            read::image(text(source, "data"), text(source, "media_type"))?
        }
        "thinking" => Block::Thinking {
            thinking: text(part, "thinking").to_owned(),
            thinking_signature: set(part, "signature").and_then(Value::as_str).map(str::to_owned),
            redacted: false,
        },
        "redacted_thinking" => Block::Thinking {
            thinking: String::new(),
            thinking_signature: Some(text(part, "data").to_owned()),
            redacted: true,
        },
        "tool_use" => Block::ToolCall(ToolCall {
            id: text(part, "id").to_owned(),
            name: text(part, "name").to_owned(),
            arguments: part.get("input").cloned().unwrap_or_else(|| serde_json::json!({})),
            thought_signature: None,
        }),
        other => return Err(unsupported_content(other).into()),
    })
}
