//! Lists the models of a server with `GET /models`, and caches the list.
//!
//! A server's data on its models counts less than the built-in facts and the user's own, so it comes after
//! both (see `Catalogue`). The cache may be deleted at any time. Providers answer in many shapes; [`parse`]
//! knows the recorded ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::provider::http::Http;
use crate::provider::{Failure, FailureKind, ModelRequest, wire_format};
use crate::secrets::Secret;
use crate::settings::private_files::{read_capped, write_private};
use tau_protocol::model::{Api, Model, Price};

/// The size limit of answers and files, in bytes.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Name parts of models that do not hold conversations.
const OTHERS: &[&str] = tau_tools::words!(
    "embed whisper tts dall-e image moderation sora rerank transcribe realtime audio babbage davinci \
     veo ocr"
);

/// A server's data on one of its models. Unknown sizes are 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerModel {
    pub id: String,
    pub name: Option<String>,
    pub context_window: u64,
    pub max_tokens: u64,
    pub image: bool,
    pub reasoning: bool,
    /// `None` if not given.
    pub cost: Option<Price>,
}

/// The models that a server listed, and its address.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CachedList {
    base_url: String,
    models: Vec<ServerModel>,
}

/// The cached lists.
#[derive(Clone, Debug, Default)]
pub struct ServerLists {
    dir: Option<PathBuf>,
}

impl ServerLists {
    /// The lists in the cache folder.
    pub fn under(cache: &Path) -> Self {
        ServerLists { dir: Some(cache.join("models")) }
    }

    /// The models from the last answer of this endpoint's server; empty without one, or if the list is from
    /// another address.
    pub(super) fn of(&self, endpoint: &Model) -> Vec<Model> {
        let kept = self.file(&endpoint.provider).and_then(|file| read_capped(&file, MAX_BYTES as u64).ok());
        let kept =
            kept.and_then(|bytes| serde_json::from_slice::<CachedList>(&bytes).ok()).unwrap_or_default();
        if kept.base_url != endpoint.base_url {
            return Vec::new();
        }
        kept.models.into_iter().map(|listed| listed.model(endpoint)).collect()
    }

    /// Caches a server's list.
    pub fn keep(&self, endpoint: &Model, models: &[ServerModel]) -> std::io::Result<()> {
        let Some(file) = self.file(&endpoint.provider) else { return Ok(()) };
        let kept = CachedList { base_url: endpoint.base_url.clone(), models: models.to_vec() };
        write_private(&file, &serde_json::to_vec(&kept)?)
    }

    fn file(&self, provider: &str) -> Option<PathBuf> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let name: String = provider.chars().map(|c| if fits(c) { c } else { '_' }).collect();
        Some(self.dir.as_ref()?.join(format!("{name}.json")))
    }
}

/// Requests the list from the server of `endpoint`, a model of which only the provider, the address, the
/// format and the headers matter. Fails with `Protocol` when the answer is not a list of models.
pub async fn ask(http: &Http, endpoint: &Model, key: Option<Secret>) -> Result<Vec<ServerModel>, Failure> {
    let no_format = || Failure::new(FailureKind::Config, "this wire format has no model list");
    let format = wire_format(endpoint.api).ok_or_else(no_format)?;
    let redact = key.clone();
    // The same headers authenticate every request.
    let model = Arc::new(Model { id: "models".to_owned(), ..endpoint.clone() });
    let mut request = format.encode(&ModelRequest { key, ..ModelRequest::new(model, Vec::new()) })?;
    request.headers.0.retain(|(name, _)| name != "content-type" && name != "accept");
    request.headers.0.push(("accept".to_owned(), "application/json".to_owned()));
    let path = match endpoint.api {
        Api::AnthropicMessages => "v1/models?limit=1000",
        Api::GoogleGenerativeAi => "models?pageSize=1000",
        _ => "models",
    };
    let url = format!("{}/{path}", endpoint.base_url);
    let answer = http.get(&url, &request.headers, MAX_BYTES, &CancellationToken::new()).await;
    let answer = answer.map_err(|mut failure| {
        failure.message = redact.map_or(failure.message.clone(), |key| key.redact(&failure.message));
        failure
    })?;
    let value: Value = serde_json::from_str(&answer).unwrap_or_default();
    parse(&value)
        .ok_or_else(|| Failure::new(FailureKind::Protocol, format!("{url} did not return a list of models")))
}

/// The models in an answer: under `data`, under `models`, or a bare list. `None` if it is not a list.
pub fn parse(answer: &Value) -> Option<Vec<ServerModel>> {
    let list = answer.get("data").or_else(|| answer.get("models")).unwrap_or(answer).as_array()?;
    let mut seen = std::collections::HashSet::new();
    let listed = list.iter().filter(|model| converses(model)).filter_map(parse_model);
    Some(listed.filter(|model| seen.insert(model.id.clone())).collect())
}

/// Whether a model answers messages, as far as the list says.
fn converses(model: &Value) -> bool {
    match model.get("supportedGenerationMethods").and_then(Value::as_array) {
        Some(methods) => methods.iter().any(|method| method == "generateContent"),
        None => model.get("type").and_then(Value::as_str).is_none_or(|kind| kind != "embeddings"),
    }
}

fn parse_model(model: &Value) -> Option<ServerModel> {
    let word = |fields: &[&str]| fields.iter().find_map(|field| model.get(field)?.as_str());
    let id = word(&["id", "name", "model"]).or(model.as_str())?;
    let id = id.strip_prefix("models/").unwrap_or(id);
    let number =
        |places: &[&str]| places.iter().find_map(|place| model.pointer(place)?.as_u64()).unwrap_or_default();
    let lists = |place: &str, word: &str| {
        let words = model.pointer(place).and_then(Value::as_array);
        words.is_some_and(|words| words.iter().any(|known| known == word))
    };
    let says = |place: &str| model.pointer(place) == Some(&Value::Bool(true));
    Some(ServerModel {
        id: (!id.is_empty()).then(|| id.to_owned())?,
        name: word(&["display_name", "displayName"])
            .or_else(|| word(&["name"]).filter(|name| model.get("id").is_some() && *name != id))
            .map(str::to_owned),
        // llama.cpp also reports the window the model was trained with; only the one it was started with
        // counts.
        context_window: number(tau_tools::words!(
            "/max_model_len /context_window /context_length /max_context_length /inputTokenLimit \
             /max_input_tokens /meta/n_ctx"
        )),
        max_tokens: number(&[
            "/max_completion_tokens", "/top_provider/max_completion_tokens", "/outputTokenLimit",
            "/max_output_tokens",
        ]),
        image: lists("/architecture/input_modalities", "image") || says("/capabilities/vision"),
        reasoning: lists("/supported_parameters", "reasoning")
            || says("/thinking")
            || says("/capabilities/reasoning"),
        cost: price(model),
    })
}

/// The price in OpenRouter's format: US dollars per token, as text; negative if it varies.
fn price(model: &Value) -> Option<Price> {
    let dollars = |field: &str| -> Option<f64> {
        let price: f64 = model.get("pricing")?.get(field)?.as_str()?.parse().ok()?;
        (price >= 0.0).then_some(price * 1_000_000.0)
    };
    Some(Price {
        input: dollars("prompt")?,
        output: dollars("completion")?,
        cache_read: dollars("input_cache_read").unwrap_or_default(),
        cache_write: dollars("input_cache_write").unwrap_or_default(),
    })
}

impl ServerModel {
    /// Whether its name says that it is not a chat model.
    pub fn is_other(&self) -> bool {
        let id = self.id.to_lowercase();
        OTHERS.iter().any(|part| id.contains(part))
    }

    /// The model, at the server that listed it.
    pub fn model(self, endpoint: &Model) -> Model {
        let kinds: &[&str] = if self.image { &["text", "image"] } else { &["text"] };
        Model {
            name: self.name.unwrap_or_else(|| super::user::short_name(&self.id).to_owned()),
            id: self.id,
            context_window: self.context_window,
            max_tokens: self.max_tokens,
            input: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            reasoning: self.reasoning,
            cost: self.cost,
            ..endpoint.clone()
        }
    }
}
