//! The transport through an app server, which holds the keys; this end holds a token.
//!
//! `POST {base}/api/stream` with `authorization: Bearer …`; the body is a [`ProxyCall`]: model, context and
//! options. The answer is an event stream of assistant events, deltas only, which [`wire`] reads and writes;
//! messages are assembled at this end. `tau proxy` (`cli/proxy`) is the other end. A server must look up the
//! model in its own catalogue and never trust the address that a client sends: its keys would go there.

pub mod wire;

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::direct::{Direct, IdleLimits};
use super::http::Http;
use super::key_refresh::KeyRefresh;
use super::key_source::{KeyFuture, KeySource};
use super::{
    AnswerDecoder, EventStream, Failure, FailureKind, Headers, HttpRequest, ModelRequest, StreamEvent,
    Transport, WireFormat, quirks,
};
use crate::secrets::Secret;
use tau_protocol::message::Message;
use tau_protocol::model::{Model, ThinkingBudgets, ThinkingLevel};
use tau_tools::ToolSpec;
use wire::WireDecoder;

/// The body of a request to the app server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProxyCall {
    /// The requested model. Its provider and id identify it; the rest is for servers without a catalogue.
    /// Headers of the model are not sent.
    pub model: Model,
    pub context: ProxyContext,
    #[serde(default)]
    pub options: ProxyOptions,
}

/// The context of the request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProxyContext {
    pub system_prompt: String,
    /// User, assistant and tool result messages, valid for the model.
    pub messages: Vec<Arc<Message>>,
    pub tools: Vec<ToolSpec>,
}

/// The options of the request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProxyOptions {
    pub reasoning: ThinkingLevel,
    /// The thinking budget of that level in tokens; `None` for the format's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_budget: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    pub session_id: String,
}

impl ProxyCall {
    fn of(request: &ModelRequest) -> Self {
        let model = Model { headers: Default::default(), ..Model::clone(&request.model) };
        ProxyCall {
            model,
            context: ProxyContext {
                system_prompt: request.system.to_string(),
                messages: request.messages.clone(),
                tools: request.tools.to_vec(),
            },
            options: ProxyOptions {
                reasoning: request.thinking,
                thinking_budget: quirks::budget(request),
                max_tokens: request.max_tokens,
                temperature: request.temperature,
                session_id: request.session_id.clone(),
            },
        }
    }

    /// The request that the server sends: to its own `model`, with its own `key`.
    pub fn into_request(self, model: Arc<Model>, key: Option<Secret>) -> ModelRequest {
        let ProxyCall { context, options, .. } = self;
        let budgets: ThinkingBudgets =
            options.thinking_budget.map(|budget| (options.reasoning, budget)).into_iter().collect();
        ModelRequest {
            thinking: model.nearest(options.reasoning),
            model: model.with_thinking_budgets(&budgets),
            key,
            system: context.system_prompt.into(),
            messages: context.messages,
            tools: context.tools.into(),
            max_tokens: options.max_tokens,
            limits_thinking: false,
            temperature: options.temperature,
            session_id: options.session_id,
            join_deltas: false,
        }
    }
}

/// Sends requests to an app server.
#[derive(Clone)]
pub struct Proxy {
    tokens: Arc<dyn KeySource>,
    format: Arc<ProxyFormat>,
    direct: Direct,
}

tau_tools::debug_fields!(Proxy { direct });

impl Proxy {
    /// Uses the server at `base`, with this token.
    pub fn new(base: &str, token: impl AsRef<str>) -> Self {
        Self::with_tokens(base, Arc::new(Token(Secret::new(token))))
    }

    /// Uses the server at `base`, with a token that is requested before every request. The keys of the agent
    /// itself are never sent to the server. A refused token is requested once more.
    pub(crate) fn with_tokens(base: &str, tokens: Arc<dyn KeySource>) -> Self {
        let format = Arc::new(ProxyFormat { url: quirks::address(base, "/api/stream") });
        Proxy { tokens, direct: Direct::default().in_format(format.clone()), format }
    }

    /// Uses `http`, which knows certificates, a proxy and the connection timeout; an answer may pause as long
    /// as `limits` allow.
    pub fn with_http(self, http: Arc<Http>, limits: IdleLimits) -> Self {
        let direct = Direct::new(http, limits).in_format(self.format.clone());
        Proxy { direct, ..self }
    }
}

impl Transport for Proxy {
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> EventStream {
        let Proxy { tokens, direct, .. } = self.clone();
        let begin = async move {
            let token = tokens.key(&request.model).await;
            match token {
                Ok(key) => {
                    let sender = KeyRefresh::new(Arc::new(direct), tokens);
                    sender.stream(ModelRequest { key, ..request }, cancel).map(about_token).boxed()
                }
                Err(failure) => stream::iter([StreamEvent::Failed(failure)]).boxed(),
            }
        };
        stream::once(begin).flatten().boxed()
    }
}

/// The advice about keys is for the server, which has them.
fn about_token(event: StreamEvent) -> StreamEvent {
    match event {
        StreamEvent::Failed(failure) if failure.kind == FailureKind::Auth => StreamEvent::Failed(
            failure.hint("check your token for the proxy: TAU_PROXY_TOKEN, or --proxy-token"),
        ),
        event => event,
    }
}

/// One token for all models.
struct Token(Secret);

impl KeySource for Token {
    fn key<'a>(&'a self, _model: &'a Model) -> KeyFuture<'a> {
        Box::pin(async { Ok(Some(self.0.clone()).filter(|token| !token.is_empty())) })
    }
}

/// The wire format of the app server.
#[derive(Debug)]
struct ProxyFormat {
    url: String,
}

impl WireFormat for ProxyFormat {
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, Failure> {
        let body = serde_json::to_value(ProxyCall::of(request)).map_err(|error| {
            Failure::new(FailureKind::Request, format!("the request cannot be written: {error}"))
        })?;
        let mut headers = Headers(vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("accept".to_owned(), "text/event-stream".to_owned()),
        ]);
        if let Some(token) = &request.key {
            headers.0.push(("authorization".to_owned(), format!("Bearer {}", token.expose())));
        }
        Ok(HttpRequest { url: self.url.clone(), headers, body })
    }

    fn decoder(&self) -> Box<dyn AnswerDecoder> {
        Box::new(WireDecoder::default())
    }
}
