//! Requests in the format of OpenAI's chat completions.

use serde_json::Value;

use super::read::{
    self, ClientRequest, Conversation, REASONING, call, effort, flag, list, log_omitted_tools, picture,
    refuse, set, text, tokens, tool, unsupported_content,
};
use tau_protocol::message::Block;
use tau_tools::user_error::UserError;

/// The request. The error is what is wrong with it, or cannot be passed on.
pub(super) fn read(body: &Value) -> Result<ClientRequest, UserError> {
    refuse(body, &["stop", "functions", "audio", "logprobs", "web_search_options"])?;
    if body.get("n").and_then(Value::as_u64).is_some_and(|count| count > 1) {
        return Err("`n` above 1 is not supported by tau proxy".into());
    }
    if body.get("parallel_tool_calls") == Some(&Value::Bool(false)) {
        return Err("`parallel_tool_calls` false is not supported by tau proxy".into());
    }
    let format = body.get("response_format").map(|format| text(format, "type")).unwrap_or_default();
    if !matches!(format, "" | "text") {
        return Err("`response_format` is not supported by tau proxy".into());
    }
    let mut asked = ClientRequest::of(body)?;
    asked.with_usage = body.get("stream_options").is_some_and(|options| flag(options, "include_usage"));
    asked.max_tokens = tokens(body, "max_completion_tokens")?.or(tokens(body, "max_tokens")?);
    asked.thinking = set(body, "reasoning_effort").and_then(Value::as_str).map(effort).transpose()?;
    asked.session_id = [text(body, "prompt_cache_key"), text(body, "user")].concat();
    let mut conversation = Conversation::default();
    for message in list(body, "messages") {
        read_message(message, &mut asked, &mut conversation)?;
    }
    asked.messages = conversation.into_messages()?;
    let (tools, others): (Vec<&Value>, Vec<&Value>) =
        list(body, "tools").iter().partition(|value| function(value).is_some());
    log_omitted_tools(&others);
    let functions = tools.into_iter().filter_map(function);
    let tools: Result<Vec<_>, _> = functions.map(|function| tool(function, "parameters")).collect();
    asked.tools = apply_tool_choice(body.get("tool_choice"), tools?)?;
    Ok(asked)
}

fn function(value: &Value) -> Option<&Value> {
    value.get("function").filter(|_| text(value, "type") == "function")
}

/// The tools that the model may call. Fails when it has to call one.
pub(super) fn apply_tool_choice<T>(choice: Option<&Value>, tools: Vec<T>) -> Result<Vec<T>, UserError> {
    match choice {
        None | Some(Value::Null) => Ok(tools),
        Some(Value::String(word)) if word == "auto" => Ok(tools),
        Some(Value::String(word)) if word == "none" => Ok(Vec::new()),
        Some(_) => Err("only the tool choices auto and none are supported by tau proxy".into()),
    }
}

fn read_message(
    message: &Value,
    asked: &mut ClientRequest,
    conversation: &mut Conversation,
) -> Result<(), UserError> {
    let content = message.get("content").unwrap_or(&Value::Null);
    match text(message, "role") {
        "system" | "developer" => asked.system.push(plain(content)?),
        "user" => conversation.user(blocks(content)?),
        "assistant" => {
            let mut blocks = Vec::new();
            let thinking = text(message, REASONING).to_owned();
            if !thinking.is_empty() {
                let thinking_signature = Some(REASONING.to_owned());
                blocks.push(Block::Thinking { thinking, thinking_signature, redacted: false });
            }
            let said = plain(content)?;
            if !said.is_empty() {
                blocks.push(Block::text(said));
            }
            for value in list(message, "tool_calls") {
                let function = value.get("function").unwrap_or(&Value::Null);
                blocks.push(call(text(value, "id"), text(function, "name"), text(function, "arguments")));
            }
            conversation.assistant(blocks);
        }
        "tool" => {
            let content = blocks(content)?.into_iter().filter_map(Block::into_content).collect();
            conversation.result(text(message, "tool_call_id"), content, false)?;
        }
        other => return Err(format!("there is no role {other:?}").into()),
    }
    Ok(())
}

/// Content that is only text.
fn plain(content: &Value) -> Result<String, UserError> {
    let texts = blocks(content)?.into_iter().map(|block| match block {
        Block::Text { text, .. } => Ok(text),
        _ => Err("only text is expected here".to_owned()),
    });
    Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
}

fn blocks(content: &Value) -> Result<Vec<Block>, UserError> {
    read::blocks(content, &|part| match text(part, "type") {
        "text" => Ok(Block::text(text(part, "text"))),
        "refusal" => Ok(Block::text(text(part, "refusal"))),
        "image_url" => {
            let url = part.get("image_url").unwrap_or(&Value::Null);
            picture(url.as_str().unwrap_or_else(|| text(url, "url")))
        }
        other => Err(unsupported_content(other).into()),
    })
}
