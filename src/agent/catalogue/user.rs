//! The user's own facts on providers and models: `models.toml`, and the ad-hoc provider of flags.
//!
//! ```toml
//! # A server of one's own.
//! [vendors.local]
//! base_url = "http://127.0.0.1:8080/v1"
//! api = "openai-completions"     # also openai-responses, anthropic-messages, google-generative-ai
//! api_key = "$LOCAL_KEY"         # the key, `$VARIABLE`, or `!command` that prints it; optional
//! headers = { "x-team" = "red" } # sent with each request, kept out of errors and logs; optional
//! quirks = { max_tokens_field = "max_tokens" }
//! login = { url = "https://github.corp.example" }  # where its login takes place, if not at the usual address
//!
//! [[vendors.local.models]]
//! id = "coder-32b"
//! name = "Coder 32B"             # all but the id are optional
//! context_window = 32768
//! max_tokens = 8192
//! input = ["text", "image"]
//! reasoning = true
//! thinking_levels = { off = false, high = "hard" }  # false: not offered; text: what is sent
//! cost = { input = 0.1, output = 0.4 }              # US dollars for a million tokens
//!
//! # A known provider through another address, and one of its models with another window.
//! [vendors.anthropic]
//! base_url = "https://proxy.example"
//! env = "PROXY_KEY"
//! [[vendors.anthropic.models]]
//! id = "claude-haiku-4-5"
//! context_window = 100000
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::{embedded, providers};
use crate::settings::{Settings, value};
use tau_protocol::model::{Api, Model, Price, ThinkingLevel};

/// The content of `models.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UserFile {
    /// Providers by their name in `provider/model`.
    #[serde(rename = "vendors")]
    pub providers: BTreeMap<String, UserProvider>,
}

/// Settings of a provider. Missing values keep their known defaults.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UserProvider {
    pub name: Option<String>,
    #[serde(deserialize_with = "value::base_url")]
    pub base_url: Option<String>,
    #[serde(deserialize_with = "value::api")]
    pub api: Option<Api>,
    /// The key, `$VARIABLE`, or `!command`.
    pub api_key: Option<String>,
    /// The environment variable of its key.
    pub env: Option<String>,
    pub headers: BTreeMap<String, String>,
    pub quirks: Map<String, Value>,
    /// Where its login takes place.
    pub login: UserLogin,
    pub models: Vec<UserModel>,
}

/// The place of a login.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UserLogin {
    /// The address of the authorization server, for example that of a GitHub Enterprise.
    #[serde(deserialize_with = "value::base_url")]
    pub url: Option<String>,
    /// The port that the browser returns to; 0 for any.
    pub callback_port: Option<u16>,
}

/// Settings of a model.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UserModel {
    pub id: String,
    pub name: Option<String>,
    #[serde(deserialize_with = "value::base_url")]
    pub base_url: Option<String>,
    #[serde(deserialize_with = "value::api")]
    pub api: Option<Api>,
    pub reasoning: Option<bool>,
    pub input: Option<Vec<String>>,
    pub context_window: Option<u64>,
    pub max_tokens: Option<u64>,
    pub cost: Option<Price>,
    pub headers: BTreeMap<String, String>,
    pub quirks: Map<String, Value>,
    #[serde(deserialize_with = "levels")]
    pub thinking_levels: BTreeMap<ThinkingLevel, Option<String>>,
}

/// TOML has no null, so `false` means that a level is not offered.
fn levels<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<ThinkingLevel, Option<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Word {
        Offered(bool),
        Sent(String),
    }
    let words = BTreeMap::<ThinkingLevel, Word>::deserialize(deserializer)?;
    let sent = |(level, word): (ThinkingLevel, Word)| match word {
        Word::Offered(false) => (level, None),
        Word::Offered(true) => (level, Some(level.name().to_owned())),
        Word::Sent(word) => (level, Some(word)),
    };
    Ok(words.into_iter().map(sent).collect())
}

/// Applies the user's settings to the known models: known ones are changed, unknown ones added before all
/// others.
pub(crate) fn apply<'a>(
    said: impl Iterator<Item = (&'a String, &'a UserProvider)>,
    mut known: Vec<Model>,
) -> Vec<Model> {
    let mut added = Vec::new();
    for (name, provider) in said {
        for model in known.iter_mut().filter(|model| model.provider == *name) {
            provider.change(model);
        }
        for facts in &provider.models {
            match known.iter_mut().find(|model| model.provider == *name && model.id == facts.id) {
                Some(model) => facts.change(model),
                None => added.push(provider.new_model(name, facts)),
            }
        }
    }
    added.extend(known);
    added.iter_mut().for_each(tidy_address);
    added
}

/// Normalizes the address: paths are appended with their slash, and for one format with the version.
pub(super) fn tidy_address(model: &mut Model) {
    let mut address = model.base_url.trim().trim_end_matches('/');
    if model.api == Api::AnthropicMessages {
        address = address.strip_suffix("/v1").unwrap_or(address);
    }
    model.base_url = address.to_owned();
}

impl UserProvider {
    fn change(&self, model: &mut Model) {
        self.base_url.clone_into_some(&mut model.base_url);
        model.api = self.api.unwrap_or(model.api);
        model.headers.extend(self.headers.clone());
        model.quirks.extend(self.quirks.clone());
    }

    pub(super) fn new_model(&self, provider: &str, facts: &UserModel) -> Model {
        let known = providers::find_by_id(provider);
        let mut model = Model {
            id: facts.id.clone(),
            name: short_name(&facts.id).to_owned(),
            api: known.map_or(Api::default(), |provider| provider.api),
            provider: provider.to_owned(),
            base_url: known.map_or_else(String::new, |provider| provider.base_url.to_owned()),
            input: vec!["text".to_owned()],
            ..Model::default()
        };
        providers::add_extras(&mut model);
        self.change(&mut model);
        facts.change(&mut model);
        model
    }
}

/// The short name of a model id: the file name if the id is a file path, as on servers that load files.
pub(super) fn short_name(id: &str) -> &str {
    let is_file = id.starts_with('/') || id.ends_with(".gguf");
    let base = id.rsplit('/').next().filter(|base| is_file && !base.is_empty()).unwrap_or(id);
    base.strip_suffix(".gguf").filter(|name| !name.is_empty()).unwrap_or(base)
}

impl UserModel {
    fn change(&self, model: &mut Model) {
        self.name.clone_into_some(&mut model.name);
        self.base_url.clone_into_some(&mut model.base_url);
        model.api = self.api.unwrap_or(model.api);
        model.reasoning = self.reasoning.unwrap_or(model.reasoning);
        self.input.clone_into_some(&mut model.input);
        model.context_window = self.context_window.unwrap_or(model.context_window);
        model.max_tokens = self.max_tokens.unwrap_or(model.max_tokens);
        model.cost = self.cost.or(model.cost);
        model.headers.extend(self.headers.clone());
        model.quirks.extend(self.quirks.clone());
        model.thinking_levels.extend(self.thinking_levels.clone());
    }
}

/// Overwrites a value with another if there is one.
trait CloneIntoSome<T> {
    fn clone_into_some(&self, place: &mut T);
}

impl<T: Clone> CloneIntoSome<T> for Option<T> {
    fn clone_into_some(&self, place: &mut T) {
        if let Some(value) = self {
            place.clone_from(value);
        }
    }
}

/// A provider that is given only by flags or the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdHoc {
    /// Its name; by default `local` on this machine, else the host.
    pub provider: Option<String>,
    /// Its address.
    pub base_url: String,
    /// Its wire format; by default that of the provider with its name, else chat completions.
    pub api: Option<Api>,
    /// The id of its model; `default` if not given.
    pub model: Option<String>,
}

impl AdHoc {
    /// The provider these settings describe; `None` without a base URL.
    pub fn of(settings: &Settings) -> Option<Self> {
        Some(AdHoc {
            provider: settings.provider.clone(),
            base_url: settings.base_url.as_ref()?.as_str().to_owned(),
            api: settings.api,
            model: settings.model.clone(),
        })
    }

    /// A server on this machine, by name and port.
    pub fn local(name: &str, port: u16, model: Option<&str>) -> Self {
        AdHoc {
            provider: Some(providers::local_provider(name)),
            base_url: providers::local_address(port),
            api: None,
            model: model.map(str::to_owned),
        }
    }

    /// Its name.
    pub fn provider(&self) -> String {
        match &self.provider {
            Some(provider) => provider.clone(),
            None if is_loopback(&self.base_url) => "local".to_owned(),
            None => host(&self.base_url).unwrap_or("custom").to_owned(),
        }
    }

    /// The id of its model, without the provider and thinking level that may be written with it.
    pub(crate) fn model_id(&self) -> String {
        let model = self.model.as_deref().unwrap_or("default");
        let own = format!("{}/", self.provider());
        let model = model.strip_prefix(&own).unwrap_or(model);
        super::find::split_level(model).0.to_owned()
    }

    /// Its model, about which nothing else is known.
    pub fn model(&self) -> Model {
        let provider =
            UserProvider { base_url: Some(self.base_url.clone()), api: self.api, ..UserProvider::default() };
        let facts = UserModel { id: self.model_id(), ..UserModel::default() };
        let mut model = provider.new_model(&self.provider(), &facts);
        tidy_address(&mut model);
        model
    }

    /// Adds it to the user's settings.
    pub fn join(&self, user: &mut UserFile) {
        let provider = user.providers.entry(self.provider()).or_default();
        provider.base_url = Some(self.base_url.clone());
        provider.api = self.api.or(provider.api);
        let id = self.model_id();
        if !provider.models.iter().any(|model| model.id == id) {
            let known = self.known_model_facts(provider.api.unwrap_or_default());
            provider.models.push(UserModel { id, ..known.unwrap_or_default() });
        }
    }

    /// The facts on the model of this name at other providers: the address differs, the model is the same.
    fn known_model_facts(&self, api: Api) -> Option<UserModel> {
        if providers::find_by_id(&self.provider()).is_some() {
            // These are the model's own facts.
            return None;
        }
        let known = self.find_known_model(api)?;
        let same_format = known.api == api;
        // The words for the levels belong to the format.
        let sent = |(level, word): (ThinkingLevel, Option<String>)| {
            let word = if same_format { word } else { word.map(|_| level.name().to_owned()) };
            (level, word)
        };
        let of_model = |quirk: &String| same_format || MODEL_QUIRKS.contains(&quirk.as_str());
        Some(UserModel {
            name: Some(known.name),
            reasoning: Some(known.reasoning),
            input: Some(known.input),
            context_window: Some(known.context_window),
            max_tokens: Some(known.max_tokens),
            cost: known.cost,
            thinking_levels: known.thinking_levels.into_iter().map(sent).collect(),
            quirks: known.quirks.into_iter().filter(|(quirk, _)| of_model(quirk)).collect(),
            ..UserModel::default()
        })
    }

    /// The known model of this name, in this format if possible. A server on this machine has other models
    /// under such names, unless its format is one for which only the makers have models, or the name is also
    /// a provider's.
    fn find_known_model(&self, api: Api) -> Option<Model> {
        let id = self.model_id();
        let of_provider = id.split_once('/').and_then(|(name, id)| {
            let provider = providers::find_by_id(name)?;
            embedded::of_provider(provider).into_iter().find(|model| plain_id(&model.id) == plain_id(id))
        });
        let anywhere = || {
            self.model.as_ref()?;
            let hosted = !is_loopback(&self.base_url);
            if !hosted && api == Api::OpenaiCompletions {
                return None;
            }
            let plain = plain_id(&id);
            let rows: Vec<Model> = embedded::models_with(|other| plain_id(other) == plain)
                .into_iter()
                .filter(|model| hosted || model.api == api)
                .collect();
            let exact = |model: &&Model| model.id == id;
            let same_format = |model: &&Model| model.api == api;
            let best = rows.iter().find(|model| exact(model) && same_format(model));
            best.or_else(|| rows.iter().find(same_format))
                .or_else(|| rows.iter().find(exact))
                .or(rows.first())
                .cloned()
        };
        of_provider.or_else(anywhere)
    }
}

/// Quirks of models themselves, independent of the format.
const MODEL_QUIRKS: [&str; 1] = ["supports_temperature"];

/// A model id without the parts that hosts add: a path, a region, the maker, a date, a version.
fn plain_id(id: &str) -> String {
    let id = id.rsplit('/').next().unwrap_or(id).to_ascii_lowercase();
    let id = id.split(['@', ':']).next().unwrap_or_default();
    let mut id = match id.rsplit_once("anthropic.") {
        Some((_, rest)) => rest,
        None => id,
    };
    while let Some((rest, last)) = id.rsplit_once('-') {
        let is_date = last.len() == 8 && last.bytes().all(|byte| byte.is_ascii_digit());
        let is_version =
            last.strip_prefix('v').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        if !(is_date || (is_version && last.len() > 1)) {
            break;
        }
        id = rest;
    }
    id.to_owned()
}

/// Whether an address is on this machine.
pub fn is_loopback(url: &str) -> bool {
    host(url).is_some_and(|host| {
        let address = host.parse::<std::net::IpAddr>();
        host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    })
}

/// The host in an address, without brackets.
fn host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    match host.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next(),
        None => host.split(':').next(),
    }
    .filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{is_loopback, short_name};

    #[test]
    fn files_of_models_are_called_by_their_names() {
        let cases = [
            ("/models/qwen3-8b-q4.gguf", "qwen3-8b-q4"),
            ("qwen3.gguf", "qwen3"),
            ("/srv/model", "model"),
            ("anthropic/claude", "anthropic/claude"),
            ("qwen3:8b", "qwen3:8b"),
            ("/", "/"),
            (".gguf", ".gguf"),
        ];
        for (id, name) in cases {
            assert_eq!(short_name(id), name, "{id}");
        }
    }

    #[test]
    fn loopback_is_the_host_and_nothing_else() {
        let cases = [
            ("http://localhost:8080/v1", true),
            ("http://127.0.0.1", true),
            ("http://127.9.9.9:1/x", true),
            ("http://[::1]:80/", true),
            ("https://localhost.example.com", false),
            ("https://127.0.0.1.example.com", false),
            ("https://localhost@example.com", false),
            ("https://example.com/127.0.0.1", false),
            ("localhost:80", false),
            ("", false),
        ];
        for (url, expected) in cases {
            assert_eq!(is_loopback(url), expected, "{url}");
        }
    }
}
