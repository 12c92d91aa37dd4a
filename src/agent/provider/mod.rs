//! Providers: one file per wire *format*, never one per provider.
//!
//! [`WireFormat::encode`] and [`AnswerDecoder`] are pure: request to JSON, frames to events. Only
//! `http` performs a request. A failure is data with a closed kind, a message and a hint.
//! Providers, addresses, windows and prices are data in `agent::catalogue`.

pub mod assemble;
pub mod partial_json;

pub mod anthropic;
pub(crate) mod aws_key;
mod bedrock;
mod blocks;
pub mod classify;
pub mod direct;
mod error_kind;
mod error_text;
pub mod event_stream;
pub mod failure;
mod finish;
pub mod google;
pub mod handoff;
pub mod http;
mod idle_timeout;
mod inline_thinking;
mod json;
pub mod key_refresh;
pub(crate) mod key_source;
mod messages;
mod nul;
mod objects;
pub(crate) mod openai_chat;
pub mod openai_responses;
mod plan_limits;
pub mod proxy;
mod quirks;
pub mod reader;
mod repeated_frame;
mod retry_time;
pub mod scripted;
pub(crate) mod sigv4;
pub mod sse;
pub(crate) mod token_claims;
mod wire_listener;

use std::pin::Pin;
use std::sync::Arc;

use futures_util::Stream;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::protocol::event::Delta;
use super::protocol::message::{Message, StopReason, Usage};
use super::protocol::model::{Api, Model, ThinkingLevel};
use super::protocol::plan_limits::PlanWindow;
use super::secrets::{Secret, Secrets};
pub use failure::{Failure, FailureKind};
use tau_tools::ToolSpec;
pub use wire_listener::{WireListener, WireRecord};

/// One request to a model, before any wire format.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    pub model: Arc<Model>,
    /// The key; `None` for servers that need none.
    pub key: Option<Secret>,
    /// The system prompt; may be empty.
    pub system: Arc<str>,
    /// The conversation; already made valid for this model by [`handoff`]. Only user,
    /// assistant and tool result messages occur.
    pub messages: Vec<Arc<Message>>,
    /// The offered tools.
    pub tools: Arc<[ToolSpec]>,
    /// The thinking level, which is one of the model's levels.
    pub thinking: ThinkingLevel,
    /// The maximum length of the answer, in tokens; `None` for the model's own limit.
    pub max_tokens: Option<u64>,
    /// Whether thinking has to fit into `max_tokens`, too, where a format counts it apart.
    pub limits_thinking: bool,
    /// Sampling temperature; `None` for the provider's default.
    pub temperature: Option<f64>,
    /// The name of the conversation for provider caches.
    pub session_id: String,
    /// Whether pieces of a block that arrive together may become one event.
    pub join_deltas: bool,
}

impl ModelRequest {
    /// A request without a key, tools or thinking.
    pub fn new(model: Arc<Model>, messages: Vec<Arc<Message>>) -> Self {
        ModelRequest {
            model,
            key: None,
            system: "".into(),
            messages,
            tools: Arc::new([]),
            thinking: ThinkingLevel::Off,
            max_tokens: None,
            limits_thinking: false,
            temperature: None,
            session_id: String::new(),
            join_deltas: false,
        }
    }
}

/// A complete HTTP request that was not sent yet. Always a POST of JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpRequest {
    pub url: String,
    /// Names in lower case. Includes the key: its `Debug` hides values of authorising headers.
    pub headers: Headers,
    pub body: Value,
}

/// Request headers, some of which hold a key.
#[derive(Clone, Default, PartialEq)]
pub struct Headers(pub Vec<(String, String)>);

/// Headers whose values are public.
const PUBLIC_HEADERS: &[&str] = tau_tools::words!(
    "accept anthropic-beta anthropic-version content-type copilot-integration-id copilot-vision-request \
     editor-plugin-version editor-version openai-beta openai-intent originator session-id session_id \
     user-agent x-amz-date x-client-request-id x-dashscope-authtype x-dashscope-cachecontrol \
     x-github-api-version x-initiator x-session-affinity"
);

impl Headers {
    /// Whether a header with this name may hold a key. The user can add any header, so only the known public
    /// ones may not.
    pub(super) fn may_hold_key(name: &str) -> bool {
        !PUBLIC_HEADERS.iter().any(|public| name.eq_ignore_ascii_case(public))
    }

    /// The values that must not appear in messages.
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        for (_, value) in self.0.iter().filter(|(name, _)| Self::may_hold_key(name)) {
            secrets.add(value);
        }
        secrets
    }
}

impl std::fmt::Debug for Headers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// The events of a stream, in any wire format. Block events carry the index of the block in the message;
/// blocks may interleave, an index is never used twice.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// A piece of the message. `*_start` precedes deltas of a block, `*_end` closes it. The
    /// `content` of the ends of text and thinking may be left empty: the assembler joins the
    /// deltas and fills it in.
    Delta(Delta),
    /// A signature for the block at this index: see [`super::protocol::message::Block`]. `redacted` marks
    /// a thinking block whose text the provider keeps to itself.
    Signature { content_index: usize, signature: String, redacted: bool },
    /// Usage so far; replaces the previous one.
    Usage(Usage),
    /// The provider's id for the answer.
    ResponseId(String),
    /// How much of the plan's limits is used, before the answer. Does not affect the message.
    Plan(Vec<PlanWindow>),
    /// The model thinks from now on, and the provider may send nothing of it for long. Does not affect the message.
    Thinking,
    /// Nothing arrived for `idle_ms` milliseconds; the transport gives up after `limit_ms` of silence. Does
    /// not affect the message.
    Silent { idle_ms: u64, limit_ms: u64 },
    /// The answer is complete.
    Stop(StopReason),
    /// The answer failed; nothing follows.
    Failed(Failure),
}

/// A wire format.
pub trait WireFormat: Send + Sync {
    /// The request in this format. Fails when the request cannot be expressed in this format at all (a
    /// configuration error).
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, Failure>;

    fn decoder(&self) -> Box<dyn AnswerDecoder>;
}

/// Decodes an answer. The work for a frame does not depend on earlier ones.
pub trait AnswerDecoder: Send {
    /// Handles the next frame.
    fn feed(&mut self, frame: &sse::SseFrame, out: &mut Vec<StreamEvent>);

    /// Handles the end of the body: closes open blocks. Emits `Stop` or `Failed` unless one was emitted.
    fn finish(&mut self, out: &mut Vec<StreamEvent>);
}

/// A stream of events; ends after `Stop` or `Failed`.
pub type EventStream = Pin<Box<dyn Stream<Item = StreamEvent> + Send>>;

/// How requests reach a model: directly, through an app server, or scripted.
pub trait Transport: Send + Sync {
    /// Starts the request. Dropping the stream or cancelling the token ends it immediately.
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> EventStream;
}

/// The wire format for an API; `None` for `Scripted` and `Unknown`, which have none.
pub fn wire_format(api: Api) -> Option<&'static dyn WireFormat> {
    match api {
        Api::OpenaiCompletions => Some(&openai_chat::OpenaiChat),
        Api::OpenaiResponses => Some(&openai_responses::OpenaiResponses),
        Api::AnthropicMessages => Some(&anthropic::Anthropic),
        Api::GoogleGenerativeAi => Some(&google::Google),
        Api::Scripted | Api::Unknown => None,
    }
}
