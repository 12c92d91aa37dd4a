//! Peculiarities of endpoints, read from a model's data.
//!
//! The names are those of the catalogue (`supports_…`, `requires_…`, `…_format`). Where the
//! catalogue is silent, the few facts at the end of this file fill in by provider or address, so
//! that a bare `--base-url` works too. No encoder asks for a provider's name; it asks here.

use serde_json::Value;

use super::aws_key::AwsKey;
use super::{Headers, ModelRequest, token_claims};
use tau_protocol::message::{Block, Message, UserContent};
use tau_protocol::model::{Model, ThinkingLevel};
use tau_tools::Content;

/// The limit of an answer in tokens, unless more is requested.
const USUAL_MAX_TOKENS: u64 = 32_000;

/// A model's quirks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quirks<'a> {
    model: &'a Model,
}

impl<'a> Quirks<'a> {
    /// The quirks of `model`.
    pub(super) fn of(model: &'a Model) -> Self {
        Quirks { model }
    }

    /// Whether the quirk `name` is set; `None` if it is not in the catalogue.
    pub(super) fn flag(self, name: &str) -> Option<bool> {
        self.model.quirks.get(name).and_then(Value::as_bool)
    }

    /// The string that the quirk `name` is set to.
    pub(super) fn word(self, name: &str) -> Option<&'a str> {
        self.model.quirks.get(name).and_then(Value::as_str)
    }

    /// The quirk `name`, of any type.
    pub(super) fn value(self, name: &str) -> Option<&'a Value> {
        self.model.quirks.get(name)
    }

    /// Whether the endpoint belongs to the provider `name`, or its address contains `host`.
    fn is(self, name: &str, host: &str) -> bool {
        self.model.provider == name || self.model.base_url.contains(host)
    }

    /// Azure's variant of OpenAI's formats.
    pub(super) fn azure(self) -> bool {
        self.is("azure", ".azure.com")
    }

    /// OpenAI itself, or Azure.
    pub(super) fn openai(self) -> bool {
        self.is("openai", "api.openai.com") || self.azure()
    }

    /// Mistral, which refuses unknown fields.
    pub(super) fn mistral(self) -> bool {
        self.is("mistral", "api.mistral.ai")
    }

    /// Anthropic itself.
    pub(super) fn anthropic(self) -> bool {
        self.is("anthropic", "api.anthropic.com")
    }

    /// xAI, which accepts no developer role and no summary setting.
    pub(super) fn xai(self) -> bool {
        self.is("xai", "api.x.ai")
    }

    /// The backend of ChatGPT, a variant of OpenAI's format for subscriptions.
    pub(super) fn chatgpt(self) -> bool {
        self.word("backend") == Some("chatgpt")
    }

    /// Amazon Bedrock.
    pub(super) fn bedrock(self) -> bool {
        self.word("backend") == Some("bedrock")
    }

    /// Vertex AI.
    pub(super) fn vertex(self) -> bool {
        self.word("backend") == Some("vertex")
    }

    /// The role of the system prompt.
    pub(super) fn system_role(self) -> &'static str {
        let developer = self.flag("supports_developer_role").unwrap_or(self.openai());
        if developer && self.model.reasoning { "developer" } else { "system" }
    }

    /// The field that limits a chat answer.
    pub(super) fn max_tokens_field(self) -> &'a str {
        let usual = if self.openai() { "max_completion_tokens" } else { "max_tokens" };
        self.word("max_tokens_field").unwrap_or(usual)
    }
}

/// The provider's word for the level of a request; `None` if thinking is off and the provider has no word for
/// that, or if the model does not think.
pub(super) fn effort(request: &ModelRequest) -> Option<String> {
    let level = request.thinking;
    if !request.model.reasoning {
        return None;
    }
    match request.model.thinking_levels.get(&level) {
        Some(word) => word.clone(),
        None if level == ThinkingLevel::Off => None,
        None => Some(level.name().to_owned()),
    }
}

/// Whether the model should think.
pub(super) fn thinks(request: &ModelRequest) -> bool {
    request.model.reasoning && request.thinking != ThinkingLevel::Off
}

/// The budget set for the level of a request, in tokens; `None` if the format's own applies. Set in
/// `models.toml`, or by the agent's behavior.
pub(super) fn budget(request: &ModelRequest) -> Option<u64> {
    Quirks::of(&request.model).value("thinking_budgets")?.get(request.thinking.name())?.as_u64()
}

/// The limit of an answer: as requested, else the model's own up to a usual size, else `None`.
pub(super) fn answer_limit(request: &ModelRequest) -> Option<u64> {
    let own = Some(request.model.max_tokens).filter(|limit| *limit > 0);
    request.max_tokens.or(own.map(|limit| limit.min(USUAL_MAX_TOKENS)))
}

/// The sampling temperature, if the model accepts one.
pub(super) fn temperature(request: &ModelRequest) -> Option<f64> {
    let taken = Quirks::of(&request.model).flag("supports_temperature") != Some(false);
    request.temperature.filter(|_| taken)
}

/// The address of the request: `tail` after the base, unless the base already ends with it.
pub(super) fn address(base: &str, tail: &str) -> String {
    // Azure's address may end with a version as its query.
    let (base, query) =
        base.trim().split_once('?').map_or((base.trim(), None), |(base, rest)| (base, Some(rest)));
    let base = base.trim_end_matches('/');
    let whole = if base.ends_with(tail) { base.to_owned() } else { format!("{base}{tail}") };
    match query {
        Some(query) => format!("{whole}?{query}"),
        None => whole,
    }
}

/// Headers of every request: content types, the model's own, session affinity.
pub(super) fn headers(request: &ModelRequest) -> Headers {
    let mut list = vec![
        ("content-type".to_owned(), "application/json".to_owned()),
        ("accept".to_owned(), "text/event-stream".to_owned()),
    ];
    let quirks = Quirks::of(&request.model);
    if quirks.flag("send_session_affinity_headers") == Some(true) && !request.session_id.is_empty() {
        let mut names = vec!["session_id", "x-client-request-id", "x-session-affinity"];
        if quirks.word("session_affinity_format") == Some("openai-nosession") {
            names.retain(|name| *name != "session_id");
        }
        list.extend(names.into_iter().map(|name| (name.to_owned(), request.session_id.clone())));
    }
    if quirks.word("backend") == Some("copilot") {
        copilot(request, &mut list);
    }
    Headers(list)
}

/// Adds the headers that Copilot expects: whether the user has just asked, and whether there are pictures.
fn copilot(request: &ModelRequest, list: &mut Vec<(String, String)>) {
    let is_asked = matches!(request.messages.last().map(|last| &**last), Some(Message::User(_)) | None);
    let initiator = if is_asked { "user" } else { "agent" };
    let mut add = |name: &str, value: &str| list.push((name.to_owned(), value.to_owned()));
    add("x-initiator", initiator);
    add("openai-intent", "conversation-edits");
    if request.messages.iter().any(|message| has_picture(message)) {
        add("copilot-vision-request", "true");
    }
}

fn has_picture(message: &Message) -> bool {
    match message {
        Message::User(user) => match &user.content {
            UserContent::Blocks(blocks) => blocks.iter().any(|block| matches!(block, Block::Image { .. })),
            UserContent::Text(_) => false,
        },
        Message::ToolResult(result) => {
            result.content.iter().any(|content| matches!(content, Content::Image { .. }))
        }
        _ => false,
    }
}

/// Adds the model's own headers; an existing header is replaced, and an empty value removes the header.
pub(super) fn own_headers(headers: &mut Headers, model: &Model) {
    for (name, value) in &model.headers {
        let name = name.to_ascii_lowercase();
        headers.0.retain(|(known, _)| *known != name);
        if !value.is_empty() {
            headers.0.push((name, value.clone()));
        }
    }
}

/// Adds the key as `authorization: Bearer`, or as `api-key` where the endpoint needs that.
pub(super) fn bearer(headers: &mut Headers, request: &ModelRequest) {
    let Some(key) = request.key.as_ref().filter(|key| !key.is_empty()) else { return };
    let quirks = Quirks::of(&request.model);
    // Credentials of AWS sign the request.
    if quirks.bedrock() && AwsKey::parse(key).is_some() {
        return;
    }
    // A token of Entra ID is no API key.
    let is_token = token_claims::of(key.expose()).is_some();
    let usual = if quirks.azure() && !is_token { "api-key" } else { "authorization" };
    headers.0.push(match quirks.word("auth_header").unwrap_or(usual) {
        "authorization" => ("authorization".to_owned(), format!("Bearer {}", key.expose())),
        name => (name.to_ascii_lowercase(), key.expose().to_owned()),
    });
}
