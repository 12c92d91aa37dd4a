//! The facts about a model: its address, inputs, limits and price.
//!
//! Plain data in the shape of the RPC protocol, plus the data needed for requests. It comes from
//! `agent::catalogue`, from the user's `models.toml`, or from command line flags.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

pub use super::usage::Price;

/// A wire format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Api {
    /// `POST {base}/chat/completions`.
    #[default]
    #[serde(rename = "openai-completions")]
    OpenaiCompletions,
    /// `POST {base}/responses`.
    #[serde(rename = "openai-responses")]
    OpenaiResponses,
    /// `POST {base}/v1/messages`.
    #[serde(rename = "anthropic-messages")]
    AnthropicMessages,
    /// `POST {base}/models/{id}:streamGenerateContent?alt=sse`.
    #[serde(rename = "google-generative-ai")]
    GoogleGenerativeAi,
    /// No request: the scripted transport of the demo model and of tests.
    #[serde(rename = "scripted")]
    Scripted,
    /// A format of another program, found in a session file.
    #[serde(other, rename = "unknown")]
    Unknown,
}

impl Api {
    /// The formats with their command line names.
    pub const NAMES: [(&'static str, Api); 4] = [
        ("openai-completions", Api::OpenaiCompletions),
        ("openai-responses", Api::OpenaiResponses),
        ("anthropic-messages", Api::AnthropicMessages),
        ("google-generative-ai", Api::GoogleGenerativeAi),
    ];

    /// The format with this name.
    pub fn from_name(name: &str) -> Option<Api> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, api)| *api)
    }
}

/// How much the model thinks before it answers.
#[derive(EnumString, IntoStaticStr)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ThinkingLevel {
    #[default]
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

impl ThinkingLevel {
    /// All levels, in order.
    pub const ALL: [ThinkingLevel; 7] = [
        ThinkingLevel::Off,
        ThinkingLevel::Minimal,
        ThinkingLevel::Low,
        ThinkingLevel::Medium,
        ThinkingLevel::High,
        ThinkingLevel::Xhigh,
        ThinkingLevel::Max,
    ];

    /// Its name on the command line, on the wire and on the screen.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The level with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

/// Thinking budgets in tokens, by level. Levels without an entry use the wire format's default.
pub type ThinkingBudgets = BTreeMap<ThinkingLevel, u64>;

/// A model and how to reach it. Never holds a key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Model {
    /// Its id at the provider.
    pub id: String,
    /// Its display name.
    pub name: String,
    /// The wire format.
    pub api: Api,
    /// The provider.
    pub provider: String,
    /// The base URL, to which the wire format's paths are appended.
    pub base_url: String,
    /// True if it supports thinking.
    pub reasoning: bool,
    /// The kinds of input: `text`, `image`.
    pub input: Vec<String>,
    /// The size of its context, in tokens; 0 if unknown.
    pub context_window: u64,
    /// The largest answer, in tokens; 0 if unknown.
    pub max_tokens: u64,
    /// The price; absent if unknown, which is not the same as free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Price>,
    /// Additional request headers (no keys).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The provider's name for a thinking level; `None` if it does not offer the level. A level missing from
    /// the map is sent by its own name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub thinking_levels: BTreeMap<ThinkingLevel, Option<String>>,
    /// Peculiarities of the endpoint, as data; each wire format reads its own.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub quirks: serde_json::Map<String, serde_json::Value>,
}

impl Model {
    /// A model behind any server with OpenAI's chat completions, such as `http://127.0.0.1:8080/v1`. It
    /// accepts text; sizes and price are unknown. Set the fields for its other capabilities.
    pub fn openai_compatible(base_url: impl Into<String>, id: impl Into<String>) -> Self {
        let id = id.into();
        Model {
            name: id.clone(),
            id,
            api: Api::OpenaiCompletions,
            provider: "openai-compatible".to_owned(),
            base_url: base_url.into(),
            input: vec!["text".to_owned()],
            ..Model::default()
        }
    }

    /// `provider/id`, its unique name.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// True if it accepts images.
    pub fn sees(&self) -> bool {
        self.input.iter().any(|kind| kind == "image")
    }

    /// Advice for a model that is not known to accept images: another model, or the line for models.toml.
    pub fn picture_advice(&self) -> String {
        let is_bare = self.provider.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        let provider = if is_bare { self.provider.clone() } else { format!("{:?}", self.provider) };
        format!(
            "use a model that takes them; if this one does, add to models.toml: vendors.{provider}.models = \
             [{{ id = {:?}, input = [\"text\", \"image\"] }}]",
            self.id
        )
    }

    /// The levels it offers.
    pub fn levels(&self) -> Vec<ThinkingLevel> {
        if !self.reasoning {
            return vec![ThinkingLevel::Off];
        }
        let offered = |level: &ThinkingLevel| match self.thinking_levels.get(level) {
            Some(word) => word.is_some(),
            None => !matches!(level, ThinkingLevel::Xhigh | ThinkingLevel::Max),
        };
        ThinkingLevel::ALL.into_iter().filter(offered).collect()
    }

    /// The closest offered level: the level itself, otherwise the next lower, otherwise the next higher.
    pub fn nearest(&self, level: ThinkingLevel) -> ThinkingLevel {
        let levels = self.levels();
        let lower = levels.iter().rev().find(|offered| **offered <= level);
        lower.or(levels.first()).copied().unwrap_or_default()
    }

    /// Adds thinking budgets to its quirks, where the wire formats look for them.
    pub fn with_thinking_budgets(self: &Arc<Self>, budgets: &ThinkingBudgets) -> Arc<Self> {
        if budgets.is_empty() {
            return Arc::clone(self);
        }
        let mut model = Model::clone(self);
        let table: serde_json::Map<String, serde_json::Value> =
            budgets.iter().map(|(level, tokens)| (level.name().to_owned(), (*tokens).into())).collect();
        model.quirks.insert("thinking_budgets".to_owned(), table.into());
        Arc::new(model)
    }
}
