//! The built-in facts on models: `data/models.json`, read on first use.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use tau_protocol::model::{Api, Model, Price, ThinkingLevel};

use super::providers::{self, KnownProvider};

const TEXT: &str = include_str!("../../../data/models.json");

/// The file. Values shared by many models are stored once, in `quirks` and `levels`.
#[derive(Deserialize)]
struct Data {
    quirks: Vec<Map<String, Value>>,
    levels: Vec<BTreeMap<ThinkingLevel, Option<String>>>,
    /// Parsed provider by provider, as usually only one is needed.
    #[serde(borrow, rename = "vendors")]
    providers: BTreeMap<&'static str, &'static RawValue>,
}

/// A model. Prices are in US dollars per million tokens: input, output, cache read, cache write.
#[derive(Deserialize)]
struct Row {
    id: String,
    name: Option<String>,
    #[serde(default)]
    reasoning: bool,
    #[serde(default)]
    image: bool,
    window: u64,
    output: u64,
    cost: [f64; 4],
    quirks: Option<usize>,
    levels: Option<usize>,
    api: Option<Api>,
    base_url: Option<String>,
}

/// The models of all known providers, in the order of the providers.
pub fn models() -> Vec<Model> {
    models_with(|_| true)
}

/// The models whose id is one of those meant, in the order of the providers.
pub(crate) fn models_with(is_meant: impl Fn(&str) -> bool) -> Vec<Model> {
    providers::PROVIDERS.iter().flat_map(|provider| read(provider, &is_meant)).collect()
}

/// The models of one provider; empty when it has no rows here.
pub(crate) fn of_provider(provider: &KnownProvider) -> Vec<Model> {
    read(provider, &|_| true)
}

fn read(provider: &KnownProvider, is_meant: &impl Fn(&str) -> bool) -> Vec<Model> {
    static DATA: LazyLock<Option<Data>> = LazyLock::new(|| serde_json::from_str(TEXT).ok());
    let Some(data) = DATA.as_ref() else { return Vec::new() };
    let rows = data.providers.get(provider.id).map(|rows| serde_json::from_str::<Vec<Row>>(rows.get()));
    let rows = rows.and_then(Result::ok).unwrap_or_default();
    rows.into_iter().filter(|row| is_meant(&row.id)).map(|row| row.model(provider, data)).collect()
}

impl Row {
    fn model(self, provider: &KnownProvider, data: &Data) -> Model {
        let [input, output, cache_read, cache_write] = self.cost;
        // For models without a charge per token, the source has zeros both for plans and for unknown prices.
        // Only names that say so are free.
        let known = self.cost != [0.0; 4] || self.id.contains("free");
        let kinds: &[&str] = if self.image { &["text", "image"] } else { &["text"] };
        let mut model = Model {
            name: self.name.unwrap_or_else(|| self.id.clone()),
            id: self.id,
            api: self.api.unwrap_or(provider.api),
            provider: provider.id.to_owned(),
            base_url: self.base_url.unwrap_or_else(|| provider.base_url.to_owned()),
            reasoning: self.reasoning,
            input: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            context_window: self.window,
            max_tokens: self.output,
            cost: known.then_some(Price { input, output, cache_read, cache_write }),
            headers: BTreeMap::new(),
            thinking_levels: self.levels.and_then(|at| data.levels.get(at)).cloned().unwrap_or_default(),
            quirks: self.quirks.and_then(|at| data.quirks.get(at)).cloned().unwrap_or_default(),
        };
        providers::add_extras(&mut model);
        model
    }
}

#[cfg(test)]
mod tests {
    use super::models;

    #[test]
    fn every_row_is_read() {
        let models = models();
        assert_eq!(models.len(), 1244);
        assert!(models.iter().all(|model| !model.id.is_empty() && model.context_window > 0));
        let haiku = models.iter().find(|model| model.reference() == "anthropic/claude-haiku-4-5").unwrap();
        assert_eq!(haiku.cost.unwrap().cache_write, 1.25);
        let price = |id: &str| models.iter().find(|model| model.id == id).unwrap().cost;
        assert_eq!((price("openrouter/auto"), price("openrouter/free")), (None, Some(Default::default())));
        assert!(haiku.sees() && haiku.quirks.contains_key("supports_strict_tools"));
    }
}
