//! What is known of a model: where it is, what it takes, what it costs.
//!
//! Plain data in the shape of the RPC wire, plus what requests need. Facts come from
//! `agent::catalogue`, from the user's `models.toml`, or from command line flags.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::message::{Cost, Usage};

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
    /// No wire: the scripted transport of the demo model and of tests.
    #[serde(rename = "scripted")]
    Scripted,
    /// A format of another program, met in a session file.
    #[serde(other, rename = "unknown")]
    Unknown,
}

impl Api {
    /// The formats a provider can be asked for, as the command line names them.
    pub const NAMES: [(&'static str, Api); 4] = [
        ("openai-completions", Api::OpenaiCompletions),
        ("openai-responses", Api::OpenaiResponses),
        ("anthropic-messages", Api::AnthropicMessages),
        ("google-generative-ai", Api::GoogleGenerativeAi),
    ];

    /// The format of that name.
    pub fn named(name: &str) -> Option<Api> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, api)| *api)
    }
}

/// How hard the model thinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

    /// The word for it on the command line, on the wire and on the screen.
    pub fn name(self) -> &'static str {
        match self {
            ThinkingLevel::Off => "off",
            ThinkingLevel::Minimal => "minimal",
            ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High => "high",
            ThinkingLevel::Xhigh => "xhigh",
            ThinkingLevel::Max => "max",
        }
    }

    /// The level of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// US dollars for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    #[serde(alias = "cache_read")]
    pub cache_read: f64,
    #[serde(alias = "cache_write")]
    pub cache_write: f64,
}

impl Price {
    /// What `usage` costs.
    pub fn of(&self, usage: &Usage) -> Cost {
        let dollars = |tokens: u64, price: f64| tokens as f64 * price / 1_000_000.0;
        let input = dollars(usage.input, self.input);
        let output = dollars(usage.output, self.output);
        let cache_read = dollars(usage.cache_read, self.cache_read);
        let cache_write = dollars(usage.cache_write, self.cache_write);
        Cost { input, output, cache_read, cache_write, total: input + output + cache_read + cache_write }
    }
}

/// A model and how to reach it. Never holds a key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Model {
    /// The id the provider knows it by.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Wire format.
    pub api: Api,
    /// Vendor.
    pub provider: String,
    /// Address the format's paths are added to.
    pub base_url: String,
    /// Whether it can think.
    pub reasoning: bool,
    /// Kinds of input: `text`, `image`.
    pub input: Vec<String>,
    /// Size of its context, in tokens. 0 when unknown.
    pub context_window: u64,
    /// Largest answer, in tokens. 0 when unknown.
    pub max_tokens: u64,
    /// Price; none when unknown, which is not the same as free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Price>,
    /// Further request headers (no keys).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The provider's word for a thinking level; `None` means the level is not offered. A level
    /// that is not in the map is sent by its own name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub thinking_levels: BTreeMap<ThinkingLevel, Option<String>>,
    /// Peculiarities of the endpoint, as data; each wire format reads what concerns it.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub quirks: serde_json::Map<String, serde_json::Value>,
}

impl Model {
    /// `provider/id`, the name that is unique.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// Whether it takes pictures.
    pub fn sees(&self) -> bool {
        self.input.iter().any(|kind| kind == "image")
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

    /// The nearest level it offers: the same, else the next lower, else the next higher.
    pub fn nearest(&self, level: ThinkingLevel) -> ThinkingLevel {
        let levels = self.levels();
        let lower = levels.iter().rev().find(|offered| **offered <= level);
        lower.or(levels.first()).copied().unwrap_or_default()
    }
}
