//! The known models: embedded facts, the user's `models.toml`, an ad-hoc provider.
//!
//! No key is held here. Model lists from servers (`listing`) are requested and stored elsewhere; here they
//! only fill gaps. The embedded facts are read on first use, not when the program starts. `providers` is the
//! table of providers, `embedded` the table of models, [`user`] the user's additions, `find` the search.

mod auth_file;
mod cheap;
mod clouds;
mod embedded;
mod find;
mod key_command;
pub mod keys;
pub mod listing;
pub mod login;
pub mod providers;
pub mod search_services;
pub mod served;
pub mod user;

use std::sync::{Arc, OnceLock};

use super::protocol::model::{Api, Model, Price, ThinkingLevel};
use super::provider::Headers;
use super::secrets::Secrets;
use super::settings::value::BaseUrl;
use super::settings::{Paths, Settings, read_toml};
use clouds::Cloud;
pub use find::{NotFound, split_level};
use keys::Keys;
use listing::ServerLists;
use login::LoginPlace;
pub use providers::{KnownProvider, PROVIDERS};
use tau_tools::user_error::UserError;
pub use user::{AdHoc, is_loopback};
use user::{UserFile, UserModel};

/// Returns the value of an environment variable.
pub type EnvLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// All models that can be used.
#[derive(Debug, Default)]
pub struct Catalogue {
    user: UserFile,
    adhoc: Option<AdHoc>,
    lists: ServerLists,
    /// The models served by the app server that all requests go through; empty without one, or if not known.
    served: Vec<Model>,
    models: OnceLock<Vec<Arc<Model>>>,
}

/// The built-in demo model, which is not an AI: it plays a script with the real tools.
pub fn demo() -> Model {
    Model {
        id: "demo".to_owned(),
        name: "scripted demo (not an AI)".to_owned(),
        api: Api::Scripted,
        provider: "demo".to_owned(),
        reasoning: true,
        input: vec!["text".to_owned()],
        context_window: 200_000,
        cost: Some(Price::default()),
        ..Model::default()
    }
}

/// Variables that hold the addresses of providers.
const BASE_URL_VARIABLES: [(&str, &str); 2] =
    [("anthropic", "ANTHROPIC_BASE_URL"), ("openai", "OPENAI_BASE_URL")];
/// Variables with a token that is sent as `authorization: Bearer`. The first takes precedence over the key's
/// variable, the second (of `claude setup-token`) is for when that is not set.
const TOKEN_VARIABLES: [&str; 2] = ["ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];
const TOKEN_PROVIDER: &str = "anthropic";

impl Catalogue {
    /// The catalogue with `models.toml` and the ad-hoc provider: from the flags, else from the settings.
    pub fn load(paths: &Paths, settings: &Settings, adhoc: Option<AdHoc>) -> Result<Self, UserError> {
        let user = read_toml(&paths.config.join("models.toml"))?.unwrap_or_default();
        Ok(Self::new(user, adhoc.or_else(|| AdHoc::of(settings))).with_lists(paths))
    }

    /// The catalogue with these additions.
    pub fn new(mut user: UserFile, adhoc: Option<AdHoc>) -> Self {
        if let Some(adhoc) = &adhoc {
            adhoc.join(&mut user);
        }
        Catalogue { user, adhoc, lists: ServerLists::default(), served: Vec::new(), models: OnceLock::new() }
    }

    /// Adds the addresses and tokens of providers that the environment names, as the providers' own programs
    /// read them. Flags and `models.toml` take precedence.
    pub fn with_environment(mut self, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, UserError> {
        let set = |name: &str| env(name).filter(|value| !value.trim().is_empty());
        let missing = |entry: Option<&user::UserProvider>| entry.is_none_or(|entry| entry.base_url.is_none());
        for (provider, name) in BASE_URL_VARIABLES {
            let Some(address) = set(name).filter(|_| missing(self.user.providers.get(provider))) else {
                continue;
            };
            let url = BaseUrl::new(&address).map_err(|why| format!("{name}: {why}"))?;
            self.user.providers.entry(provider.to_owned()).or_default().base_url =
                Some(url.as_str().to_owned());
        }
        let key = providers::find_by_id(TOKEN_PROVIDER).map_or("", |provider| provider.env);
        let [token, of_claude] = TOKEN_VARIABLES;
        let is_meant = |name: &str| set(name).is_some() && (name == token || set(key).is_none());
        if let Some(name) = [token, of_claude].into_iter().find(|name| is_meant(name)) {
            let entry = self.user.providers.entry(TOKEN_PROVIDER.to_owned()).or_default();
            if entry.env.is_none() && entry.api_key.is_none() {
                entry.env = Some(name.to_owned());
                entry.quirks.entry("auth_header").or_insert_with(|| "authorization".into());
            }
        }
        Ok(self)
    }

    /// Adds the cached model lists of servers.
    pub fn with_lists(mut self, paths: &Paths) -> Self {
        self.lists = ServerLists::under(&paths.cache);
        self
    }

    /// Restricts the catalogue to these models, which an app server serves.
    pub fn with_served(mut self, served: Vec<Model>) -> Self {
        self.served = served;
        self
    }

    /// The models that the app server serves, if known.
    pub fn served_models(&self) -> &[Model] {
        &self.served
    }

    /// Whether the app server is known to serve this model.
    pub fn is_served(&self, model: &Model) -> bool {
        let is_meant = |served: &Model| served.provider == model.provider && served.id == model.id;
        self.served.is_empty() || self.served.iter().any(is_meant)
    }

    /// The model lists of servers.
    pub fn lists(&self) -> &ServerLists {
        &self.lists
    }

    /// The endpoint of a provider: a model of it without id. `None` if its address is unknown.
    pub fn endpoint(&self, provider: &str) -> Option<Model> {
        let said = self.user.providers.get(provider).cloned().unwrap_or_default();
        let mut model = said.new_model(provider, &UserModel::default());
        user::tidy_address(&mut model);
        (!model.base_url.is_empty() && !model.base_url.contains('{')).then_some(model)
    }

    /// The ad-hoc provider's endpoint if no model was named with it.
    pub fn unnamed_endpoint(&self) -> Option<Model> {
        let adhoc = self.adhoc.as_ref().filter(|adhoc| adhoc.model.is_none())?;
        self.endpoint(&adhoc.provider())
    }

    /// All providers, the user's own first.
    pub fn providers(&self) -> Vec<String> {
        let known = PROVIDERS.iter().map(|provider| provider.id);
        let own = self.user.providers.keys().map(String::as_str);
        let served = self.served.iter().map(|model| model.provider.as_str());
        let mut names: Vec<String> = own.chain(known).chain(served).map(str::to_owned).collect();
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    /// Models that only a server's list has.
    fn server_only_models(&self, provider: &str, known: &[Model]) -> Vec<Model> {
        let mut listed = self.endpoint(provider).map(|endpoint| self.lists.of(&endpoint)).unwrap_or_default();
        listed.extend(self.served.iter().filter(|model| model.provider == provider).cloned());
        let ids: std::collections::HashSet<&str> =
            known.iter().filter(|model| model.provider == provider).map(|model| model.id.as_str()).collect();
        let mut seen = std::collections::HashSet::new();
        listed.retain(|model| !ids.contains(model.id.as_str()) && seen.insert(model.id.clone()));
        listed
    }

    /// All models: the user's own first, then provider by provider. The demo is not included.
    pub fn models(&self) -> &[Arc<Model>] {
        self.models.get_or_init(|| {
            let mut known = embedded::models();
            let listed: Vec<Model> = self
                .providers()
                .iter()
                .flat_map(|provider| self.server_only_models(provider, &known))
                .collect();
            known.extend(listed);
            let models = user::apply(self.user.providers.iter(), known);
            models.into_iter().map(Arc::new).collect()
        })
    }

    /// The model of the ad-hoc provider.
    pub fn adhoc_model(&self) -> Option<Arc<Model>> {
        let adhoc = self.adhoc.as_ref()?;
        let (provider, id) = (adhoc.provider(), adhoc.model_id());
        self.of_provider(&provider, &id)
    }

    /// The name of the ad-hoc provider.
    pub fn adhoc_provider(&self) -> Option<String> {
        self.adhoc.as_ref().map(AdHoc::provider)
    }

    /// The default model of a provider: the user's own first, else the usual one.
    pub fn default_model(&self, provider: &str) -> Option<Arc<Model>> {
        let own = self.user.providers.get(provider).and_then(|provider| provider.models.first());
        let usual = providers::DEFAULTS.iter().find(|(name, _)| *name == provider).map(|(_, id)| *id);
        let named = own.map(|own| own.id.as_str()).or(usual).and_then(|id| self.of_provider(provider, id));
        if let Some(model) = named.filter(|model| self.is_served(model)) {
            return Some(model);
        }
        if let Some(served) = self.served.iter().find(|model| model.provider == provider) {
            return self.of_provider(provider, &served.id);
        }
        let known = providers::find_by_id(provider).map(embedded::of_provider).unwrap_or_default();
        let thinks = known.iter().position(|model| model.reasoning).unwrap_or(0);
        known.get(thinks).and_then(|model| self.of_provider(provider, &model.id))
    }

    /// The model with exactly this provider and id, as a session names it.
    pub fn get(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        let demo = demo();
        if provider == demo.provider && id == demo.id {
            return Some(Arc::new(demo));
        }
        self.of_provider(provider, id)
    }

    /// Like [`Catalogue::get`], but servers of the user are also asked for unknown models.
    pub fn of_session(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        let at_own_server = || {
            let own = self.user.providers.get(provider)?;
            let facts = UserModel { id: id.to_owned(), ..UserModel::default() };
            let mut model = own.new_model(provider, &facts);
            user::tidy_address(&mut model);
            // All models of known providers are known.
            let is_own = providers::find_by_id(provider).is_none() && !model.base_url.is_empty();
            is_own.then(|| Arc::new(model))
        };
        self.get(provider, id).or_else(at_own_server).or_else(|| self.at_local_server(provider, id))
    }

    /// A model of a server on this machine that is known only by its default port.
    fn at_local_server(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        let is_taken =
            self.user.providers.contains_key(provider) || providers::find_by_id(provider).is_some();
        let mut servers = providers::LOCAL_SERVERS.iter().filter(|_| !is_taken && !id.is_empty());
        let (name, port) = servers.find(|(name, _)| providers::local_provider(name) == provider)?;
        let endpoint = AdHoc::local(name, *port, None).model();
        let said = self.lists.of(&endpoint).into_iter().find(|model| model.id == id);
        Some(Arc::new(said.unwrap_or_else(|| AdHoc::local(name, *port, Some(id)).model())))
    }

    /// The model with that id, without reading the facts on other providers.
    fn of_provider(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        if let Some(models) = self.models.get() {
            let is_meant = |model: &&Arc<Model>| model.provider == provider && model.id == id;
            return models.iter().find(is_meant).cloned();
        }
        let mut known = providers::find_by_id(provider).map(embedded::of_provider).unwrap_or_default();
        if !known.iter().any(|model| model.id == id) {
            let listed = self.server_only_models(provider, &known);
            known.extend(listed);
        }
        let said = self.user.providers.iter().filter(|(name, _)| *name == provider);
        user::apply(said, known).into_iter().find(|model| model.id == id).map(Arc::new)
    }

    /// The model that `query` means: `provider/id`, an id, or words that match only one model. A thinking
    /// level after a colon is ignored.
    pub fn find(&self, query: &str) -> Result<Arc<Model>, NotFound> {
        self.search(query, None, &|_| false).map(|(model, _)| model)
    }

    /// Like [`Catalogue::find`], but among the models of `provider`, if that is given, and with the thinking level of
    /// the query. Providers with a key come before others with the same model.
    pub fn find_at(
        &self,
        keys: &Keys,
        provider: Option<&str>,
        query: &str,
    ) -> Result<(Arc<Model>, Option<ThinkingLevel>), NotFound> {
        let usable = self.usable(keys);
        let query = match provider {
            Some(provider) if !query.starts_with(&format!("{provider}/")) => format!("{provider}/{query}"),
            _ => query.to_owned(),
        };
        self.search(&query, provider, &|model| usable.contains(&model.provider))
    }

    fn search(
        &self,
        query: &str,
        provider: Option<&str>,
        prefer: &dyn Fn(&Model) -> bool,
    ) -> Result<(Arc<Model>, Option<ThinkingLevel>), NotFound> {
        let (name, level) = split_level(query);
        if matches!(name, "demo" | "demo/demo") {
            return Ok((Arc::new(demo()), level));
        }
        // A model given with an address goes to that address, even if a provider has one of the same name.
        if let Some(adhoc) = &self.adhoc
            && (name == adhoc.model_id() || adhoc.model.as_deref() == Some(query))
            && let Some(model) = self.adhoc_model()
        {
            return Ok((model, level));
        }
        // The full name is the usual case and needs no search.
        for (text, level) in [(query, None), (name, level)] {
            let named = text.split_once('/').and_then(|(provider, id)| self.of_provider(provider, id));
            if let Some(model) = named {
                return Ok((model, level));
            }
        }
        let local = name.split_once('/').and_then(|(provider, id)| self.at_local_server(provider, id));
        if let Some(model) = local {
            return Ok((model, level));
        }
        // Hosts have ids that begin with another provider's name: where that provider has a key, it is meant.
        let own = provider.or_else(|| {
            let (provider, _) = name.split_once('/')?;
            self.models().iter().any(|model| model.provider == provider && prefer(model)).then_some(provider)
        });
        let of_own: Vec<Arc<Model>>;
        let models = match own {
            Some(own) => {
                of_own = self.models().iter().filter(|model| model.provider == own).cloned().collect();
                &of_own
            }
            None => self.models(),
        };
        let find = |text: &str| {
            let rest = own.and_then(|own| text.strip_prefix(own)?.strip_prefix('/'));
            let found = find::find(models, rest.unwrap_or(text), prefer);
            found.map_err(|error| NotFound { query: text.to_owned(), ..error })
        };
        match find(query) {
            Ok(model) => Ok((model, None)),
            Err(_) if level.is_some() => find(name).map(|model| (model, level)),
            Err(error) => Err(error),
        }
    }

    /// The models that can be used now: those whose provider has a key or needs none.
    pub fn usable_models(&self, keys: &Keys) -> Vec<Arc<Model>> {
        let usable = self.usable(keys);
        let can_be_used = |model: &&Arc<Model>| usable.contains(&model.provider) && self.is_served(model);
        self.models().iter().filter(can_be_used).cloned().collect()
    }

    /// The providers that have a key or need no key. Reads no model facts.
    pub fn usable(&self, keys: &Keys) -> Vec<String> {
        let mut names = self.providers();
        let serves = |name: &String| self.served.iter().any(|model| model.provider == *name);
        names.retain(|name| self.served.is_empty() || serves(name));
        let held = keys.providers_with_keys(&names);
        names.iter().filter(|name| self.is_keyless(name) || held.contains(name)).cloned().collect()
    }

    /// Whether this provider needs no key as far as is known, or is on this machine.
    pub fn is_keyless(&self, provider: &str) -> bool {
        let address = self.user.providers.get(provider).and_then(|provider| provider.base_url.as_deref());
        address.is_some_and(is_loopback)
            || (address.is_some()
                && self.key_variable(provider).is_none()
                && login::of_provider(provider).is_none()
                && self.key_spec(provider).is_none())
    }

    /// The environment variable of a provider's key.
    pub fn key_variable(&self, provider: &str) -> Option<String> {
        let own = self.user.providers.get(provider).and_then(|provider| provider.env.clone());
        let known =
            || providers::find_by_id(provider).map(|provider| provider.env).filter(|env| !env.is_empty());
        own.or_else(|| known().or_else(|| search_services::service(provider)?.env).map(str::to_owned))
    }

    /// The environment variables of all keys: of providers, and of web search services.
    pub(crate) fn key_variables(&self) -> Vec<String> {
        let own = self.user.providers.values().filter_map(|provider| provider.env.clone());
        let services = search_services::SERVICES.iter().filter_map(|service| service.env);
        let known = PROVIDERS.iter().map(|provider| provider.env).filter(|env| !env.is_empty());
        own.chain(known.chain(services).chain(TOKEN_VARIABLES).map(str::to_owned)).collect()
    }

    /// How to get a key for this provider from a shell, as part of a sentence.
    pub fn key_advice(&self, provider: &str) -> String {
        if let Some(cloud) = Cloud::of(provider) {
            return cloud.advice().to_owned();
        }
        match (self.key_variable(provider), login::of_provider(provider)) {
            (Some(name), _) => format!("set {name}, or save one with `tau auth set {provider}`"),
            (None, Some(row)) => format!("run `tau login {}`", row.alias),
            (None, None) => format!("save one with `tau auth set {provider}`"),
        }
    }

    /// How to get the key that was not found; `None` for a cloud that is set up: the reason says more.
    pub fn missing_key_advice(&self, provider: &str, keys: &Keys) -> Option<String> {
        let speaks_itself = Cloud::of(provider).is_some() && keys.place(provider).is_some();
        (!speaks_itself).then(|| self.key_advice(provider))
    }

    /// The requirement of this provider's models: a variable, or the name of something else.
    pub fn key_requirement(&self, provider: &str) -> Option<String> {
        let login = || login::of_provider(provider).map(|_| "a login".to_owned());
        let cloud = || Cloud::of(provider).map(|cloud| cloud.place().to_owned());
        self.key_variable(provider).or_else(login).or_else(cloud)
    }

    /// The place of the login for this provider, as the user has set it.
    pub(crate) fn login_place(&self, provider: &str) -> LoginPlace {
        let login = self.user.providers.get(provider).map(|provider| provider.login.clone());
        let user::UserLogin { url, callback_port } = login.unwrap_or_default();
        LoginPlace { url, callback_port }
    }

    /// A provider's key as written in `models.toml`: literal, `$VARIABLE` or `!command`.
    pub(super) fn key_spec(&self, provider: &str) -> Option<&str> {
        self.user.providers.get(provider)?.api_key.as_deref()
    }

    /// The values of the headers of `models.toml` that may be keys.
    pub(super) fn header_secrets(&self) -> Secrets {
        let headers = self.user.providers.values().flat_map(|provider| {
            let models = provider.models.iter().flat_map(|model| &model.headers);
            provider.headers.iter().chain(models)
        });
        let mut secrets = Secrets::default();
        headers.filter(|(name, _)| Headers::may_hold_key(name)).for_each(|(_, value)| secrets.add(value));
        secrets
    }

    /// All keys as written in `models.toml`.
    pub(super) fn key_specs(&self) -> Vec<String> {
        self.user.providers.values().filter_map(|provider| provider.api_key.clone()).collect()
    }
}
