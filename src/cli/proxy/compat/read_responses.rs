//! Requests in the format of OpenAI's responses.

use serde_json::Value;

use super::read::{
    self, ClientRequest, Conversation, call, effort, list, log_omitted_tools, picture, refuse, set, text,
    tokens, tool, unsupported_content,
};
use super::read_chat::apply_tool_choice;
use tau_protocol::message::Block;
use tau_tools::user_error::UserError;

/// The request. The error is what is wrong with it, or cannot be passed on.
pub(super) fn read(body: &Value) -> Result<ClientRequest, UserError> {
    // Nothing is stored, so there is nothing to refer to.
    refuse(body, &["previous_response_id", "conversation", "prompt", "background"])?;
    let format = body.get("text").and_then(|text| text.get("format")).map(|format| text(format, "type"));
    if !matches!(format, None | Some("" | "text")) {
        return Err("`text.format` is not supported by tau proxy".into());
    }
    let mut asked = ClientRequest::of(body)?;
    asked.max_tokens = tokens(body, "max_output_tokens")?;
    let word = body.get("reasoning").and_then(|reasoning| set(reasoning, "effort")?.as_str());
    asked.thinking = word.map(effort).transpose()?;
    asked.session_id = text(body, "prompt_cache_key").to_owned();
    asked.system.extend(set(body, "instructions").and_then(Value::as_str).map(str::to_owned));
    let mut conversation = Conversation::default();
    match body.get("input") {
        Some(Value::String(text)) => conversation.user(vec![Block::text(text.clone())]),
        Some(Value::Array(items)) => {
            for item in items {
                read_item(item, &mut asked, &mut conversation)?;
            }
        }
        _ => return Err("`input` is missing".into()),
    }
    asked.messages = conversation.into_messages()?;
    let (tools, others): (Vec<&Value>, Vec<&Value>) =
        list(body, "tools").iter().partition(|value| text(value, "type") == "function");
    log_omitted_tools(&others);
    let tools: Result<Vec<_>, _> = tools.into_iter().map(|value| tool(value, "parameters")).collect();
    asked.tools = apply_tool_choice(body.get("tool_choice"), tools?)?;
    Ok(asked)
}

fn read_item(
    item: &Value,
    asked: &mut ClientRequest,
    conversation: &mut Conversation,
) -> Result<(), UserError> {
    match text(item, "type") {
        "" | "message" => {
            let blocks = blocks(item.get("content").unwrap_or(&Value::Null))?;
            match text(item, "role") {
                "system" | "developer" => {
                    asked.system.extend(blocks.iter().filter_map(Block::as_text).map(str::to_owned));
                }
                "user" => conversation.user(blocks),
                "assistant" => conversation.assistant(blocks),
                other => return Err(format!("there is no role {other:?}").into()),
            }
        }
        "function_call" => {
            conversation.assistant(vec![call(
                text(item, "call_id"),
                text(item, "name"),
                text(item, "arguments"),
            )]);
        }
        "function_call_output" => {
            let content = blocks(item.get("output").unwrap_or(&Value::Null))?;
            let content = content.into_iter().filter_map(Block::into_content).collect();
            conversation.result(text(item, "call_id"), content, false)?;
        }
        "reasoning" => {
            let said: Vec<&str> = list(item, "summary").iter().map(|part| text(part, "text")).collect();
            let signature = set(item, "encrypted_content").and_then(Value::as_str).map(str::to_owned);
            conversation.assistant(vec![Block::Thinking {
                thinking: said.join("\n\n"),
                thinking_signature: signature,
                redacted: false,
            }]);
        }
        // Of tools that only OpenAI runs; their results are in the answer.
        "web_search_call" | "file_search_call" | "tool_search_call" | "image_generation_call" => {}
        other => return Err(format!("items of type {other:?} are not supported by tau proxy").into()),
    }
    Ok(())
}

fn blocks(content: &Value) -> Result<Vec<Block>, UserError> {
    read::blocks(content, &|part| match text(part, "type") {
        "input_text" | "output_text" | "text" => Ok(Block::text(text(part, "text"))),
        "refusal" => Ok(Block::text(text(part, "refusal"))),
        "input_image" => picture(text(part, "image_url")),
        other => Err(unsupported_content(other).into()),
    })
}
