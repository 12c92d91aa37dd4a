//! What servers ask the model (sampling): off unless the user turns it on for a server, and asked each time.
//!
//! The model gets what the server sent and nothing else: no tools, no part of the conversation. Texts only.

#![allow(deprecated, reason = "the newest protocol drops sampling, but servers in use ask for it")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, ErrorCode, ErrorData, Role, SamplingContent,
    SamplingMessage, SamplingMessageContentBlock,
};
use tokio::sync::oneshot;

use super::elicitation::ask_user;
use super::{McpNews, Surroundings};
use crate::agent::protocol::command::QuestionAnswer;
use crate::agent::protocol::event::Question;
use crate::agent::protocol::message::{AssistantMessage, StopReason, Usage};
use crate::tools::counted::counted;

/// Most tokens of an answer, whatever the server asks for.
const MOST_TOKENS: u32 = 4_096;
/// Longest request: system prompt and messages together, in bytes.
const LONGEST: usize = 64 * 1024;
/// Most messages of a request.
const MOST_MESSAGES: usize = 64;
/// Most characters of a request that are shown.
const SHOWN: usize = 2_000;
/// The code of the protocol for what the user has refused.
const REFUSED: ErrorCode = ErrorCode(-1);

/// What a server asks the model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SampleRequest {
    /// The name of the server.
    pub(crate) server: String,
    /// May be empty.
    pub(crate) system: String,
    /// Texts, each with whether the model is supposed to have said it.
    pub(crate) messages: Vec<(bool, String)>,
    pub(crate) max_tokens: u32,
    pub(crate) temperature: Option<f32>,
}

/// The outcome of a request: the answer, or why it was refused or failed.
pub(crate) type Sampled = Result<AssistantMessage, String>;

/// What is remembered of a server while it runs.
#[derive(Default)]
pub(super) struct Sampling {
    /// A request of it is open.
    is_busy: AtomicBool,
    /// The user wants no further questions.
    is_refused: AtomicBool,
}

/// Sets its flag back.
struct Busy<'a>(&'a AtomicBool);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Sampling {
    /// The answer of the model, if the user agrees. Dropping the future ends the question and the request.
    ///
    /// # Errors
    /// The error that the server gets.
    pub(super) async fn answer(
        &self,
        server: &str,
        params: CreateMessageRequestParams,
        around: &Arc<Surroundings>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let refused = || ErrorData::new(REFUSED, "the user has refused the request", None);
        let stops = params.stop_sequences.clone().unwrap_or_default();
        let request = request(server, params).map_err(|why| ErrorData::invalid_params(why, None))?;
        if self.is_refused.load(Ordering::Acquire) {
            return Err(refused());
        }
        if self.is_busy.swap(true, Ordering::AcqRel) {
            return Err(failed("another request of this server is being answered"));
        }
        let _busy = Busy(&self.is_busy);
        let question = Question::Sampling {
            server: server.to_owned(),
            message: shown(&request),
            max_tokens: request.max_tokens,
        };
        match ask_user(question, around).await {
            QuestionAnswer::Confirmed(true) => {}
            QuestionAnswer::Declined => {
                self.is_refused.store(true, Ordering::Release);
                return Err(refused());
            }
            QuestionAnswer::Confirmed(false)
            | QuestionAnswer::Cancelled
            | QuestionAnswer::Value(_)
            | QuestionAnswer::Form(_) => return Err(refused()),
        }
        let (sender, sampled) = oneshot::channel();
        let ended = || failed("the session has ended");
        let news = McpNews::Sample { request, answer: sender };
        around.news.send(news).await.map_err(|_| ended())?;
        let answer = sampled.await.map_err(|_| ended())?.map_err(|why| failed(&why))?;
        let spent = McpNews::Sampled { server: server.to_owned(), answer: answer.clone() };
        around.news.send(spent).await.map_err(|_| ended())?;
        result(&answer, &stops)
    }
}

fn failed(why: &str) -> ErrorData {
    ErrorData::internal_error(why.to_owned(), None)
}

/// The request, if it can be answered.
///
/// # Errors
/// Why it cannot.
fn request(server: &str, params: CreateMessageRequestParams) -> Result<SampleRequest, String> {
    if params.tools.is_some_and(|tools| !tools.is_empty()) {
        return Err("tau gives the model no tools of servers in sampling".to_owned());
    }
    if params.max_tokens == 0 {
        return Err("maxTokens is 0".to_owned());
    }
    if params.messages.is_empty() || params.messages.len() > MOST_MESSAGES {
        return Err(format!("a request has 1 to {MOST_MESSAGES} messages, not {}", params.messages.len()));
    }
    let system = params.system_prompt.unwrap_or_default();
    let messages = params.messages.into_iter().map(text).collect::<Result<Vec<_>, String>>()?;
    if messages.last().is_none_or(|(is_answer, _)| *is_answer) {
        return Err("the last message must be the user's".to_owned());
    }
    let size = messages.iter().map(|(_, text)| text.len()).sum::<usize>() + system.len();
    if size > LONGEST {
        return Err(format!("the request has {size} bytes; at most {LONGEST} are answered"));
    }
    Ok(SampleRequest {
        server: server.to_owned(),
        system,
        messages,
        max_tokens: params.max_tokens.min(MOST_TOKENS),
        temperature: params
            .temperature
            .filter(|degree| degree.is_finite())
            .map(|degree| degree.clamp(0.0, 2.0)),
    })
}

/// The text of a message, and whether it is an answer.
fn text(message: SamplingMessage) -> Result<(bool, String), String> {
    let blocks = match message.content {
        SamplingContent::Single(block) => vec![block],
        SamplingContent::Multiple(blocks) => blocks,
    };
    let texts = blocks.into_iter().map(|block| match block {
        SamplingMessageContentBlock::Text(text) => Ok(text.text),
        _ => Err("tau answers requests of text only in sampling".to_owned()),
    });
    let text = texts.collect::<Result<Vec<_>, String>>()?.join("\n");
    if text.trim().is_empty() {
        return Err("a message of the request is empty".to_owned());
    }
    Ok((message.role == Role::Assistant, text))
}

/// The request for people; of a long one the beginning and the end.
fn shown(request: &SampleRequest) -> String {
    let system = (!request.system.is_empty()).then(|| format!("System: {}", request.system));
    let said = request.messages.iter().map(|(is_answer, text)| {
        let who = if *is_answer { "Model" } else { "User" };
        format!("{who}: {text}")
    });
    let text = system.into_iter().chain(said).collect::<Vec<_>>().join("\n");
    let count = text.chars().count();
    if count <= SHOWN {
        return text;
    }
    let head: String = text.chars().take(SHOWN / 4 * 3).collect();
    let tail: String = text.chars().skip(count - SHOWN / 4).collect();
    format!("{head}\n[… {} characters are not shown …]\n{tail}", count - SHOWN / 4 * 4)
}

/// What the server gets of an answer, which ends before the first of these texts.
fn result(answer: &AssistantMessage, stops: &[String]) -> Result<CreateMessageResult, ErrorData> {
    let whole = answer.text();
    let end = stops.iter().filter(|stop| !stop.is_empty()).filter_map(|stop| whole.find(stop.as_str())).min();
    let text = whole.get(..end.unwrap_or(whole.len())).unwrap_or_default();
    let reason = match (end, answer.stop_reason) {
        (Some(_), _) => CreateMessageResult::STOP_REASON_END_SEQUENCE,
        (None, StopReason::Length) => CreateMessageResult::STOP_REASON_END_MAX_TOKEN,
        (None, _) => CreateMessageResult::STOP_REASON_END_TURN,
    };
    if whole.trim().is_empty() {
        return Err(failed("the model has answered nothing"));
    }
    let message = SamplingMessage::assistant_text(text);
    Ok(CreateMessageResult::new(message, answer.model.clone()).with_stop_reason(reason))
}

/// What an answer has cost, for people.
pub(crate) fn spent(server: &str, usage: &Usage) -> String {
    let tokens = usage.total_tokens;
    let cost = usage.cost.total;
    let cost = if cost > 0.0 { format!(", ${cost:.4}") } else { String::new() };
    format!("the model answered MCP server {server} ({}{cost})", counted(tokens, "token"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn params(value: serde_json::Value) -> CreateMessageRequestParams {
        serde_json::from_value(value).unwrap()
    }

    fn said(role: &str, text: &str) -> serde_json::Value {
        json!({"role": role, "content": {"type": "text", "text": text}})
    }

    #[test]
    fn requests_are_bounded() {
        let check = |value: serde_json::Value, why: &str| {
            let error = request("s", params(value)).unwrap_err();
            assert!(error.contains(why), "{error}");
        };
        let user = said("user", "hi");
        check(json!({"messages": [], "maxTokens": 1}), "1 to 64 messages");
        check(json!({"messages": vec![user.clone(); 65], "maxTokens": 1}), "not 65");
        check(json!({"messages": [user], "maxTokens": 0}), "maxTokens is 0");
        check(json!({"messages": [said("user", " ")], "maxTokens": 1}), "is empty");
        check(json!({"messages": [said("assistant", "x")], "maxTokens": 1}), "must be the user's");
        check(json!({"messages": [said("user", &"x".repeat(70_000))], "maxTokens": 1}), "70000 bytes");
        let picture =
            json!({"role": "user", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}});
        check(json!({"messages": [picture], "maxTokens": 1}), "text only");
        let tool = json!({"name": "t", "inputSchema": {"type": "object"}});
        check(json!({"messages": [said("user", "x")], "maxTokens": 1, "tools": [tool]}), "no tools");
        let fine = json!({"messages": [said("user", "x")], "maxTokens": 1_000_000, "temperature": 9.0});
        let fine = request("s", params(fine)).unwrap();
        assert_eq!((fine.max_tokens, fine.temperature), (MOST_TOKENS, Some(2.0)));
    }

    #[test]
    fn a_long_request_is_shown_with_its_beginning_and_its_end() {
        let all = json!({
            "messages": [said("user", &"é".repeat(5_000)), said("assistant", "yes"), said("user", "the end")],
            "maxTokens": 9, "systemPrompt": "be kind",
        });
        let text = shown(&request("s", params(all)).unwrap());
        assert!(text.starts_with("System: be kind\nUser: éé") && text.ends_with("Model: yes\nUser: the end"));
        assert!(text.contains("characters are not shown") && text.chars().count() < SHOWN + 60, "{text}");
    }
}
