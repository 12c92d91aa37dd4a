//! The models that are known: embedded facts, the user's `models.toml`, an ad-hoc provider.
//!
//! No key is held. What servers say of their models (`listing`) is asked for by others and kept;
//! here it fills in what is not known otherwise. The embedded facts are read when they
//! are first asked for, not when the program starts. `vendors` is the table of vendors, `embedded`
//! the table of models, [`user`] what the person adds, `find` the search.

mod embedded;
mod find;
pub mod listing;
pub mod user;
pub mod vendors;

use std::sync::{Arc, OnceLock};

use super::protocol::model::{Api, Model, Price, ThinkingLevel};
use super::provider::Headers;
use super::secrets::Secrets;
use super::settings::auth::Keys;
use super::settings::{Paths, Settings, SettingsError, read_toml};
pub use find::{NotFound, split_level};
use listing::Lists;
pub use user::{AdHoc, is_loopback};
use user::{UserFile, UserModel};
pub use vendors::{VENDORS, Vendor};

/// All models that can be asked for.
#[derive(Debug, Default)]
pub struct Catalogue {
    user: UserFile,
    adhoc: Option<AdHoc>,
    lists: Lists,
    models: OnceLock<Vec<Arc<Model>>>,
}

/// The built-in model that is no AI: it plays a script with the real tools.
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

impl Catalogue {
    /// The catalogue with what `models.toml` says and the ad-hoc provider: that of the flags,
    /// else that of the settings.
    ///
    /// # Errors
    /// When `models.toml` is not understood.
    pub fn load(paths: &Paths, settings: &Settings, adhoc: Option<AdHoc>) -> Result<Self, SettingsError> {
        let user = read_toml(&paths.config.join("models.toml"))?.unwrap_or_default();
        Ok(Self::new(user, adhoc.or_else(|| AdHoc::of(settings))).with_lists(paths))
    }

    /// The catalogue with these additions.
    pub fn new(mut user: UserFile, adhoc: Option<AdHoc>) -> Self {
        if let Some(adhoc) = &adhoc {
            adhoc.join(&mut user);
        }
        Catalogue { user, adhoc, lists: Lists::default(), models: OnceLock::new() }
    }

    /// The same with what servers said of their models, from the cache folder.
    pub fn with_lists(mut self, paths: &Paths) -> Self {
        self.lists = Lists::under(&paths.cache);
        self
    }

    /// What servers said of their models.
    pub fn lists(&self) -> &Lists {
        &self.lists
    }

    /// Where a vendor's requests go: a model of it without id. None when its address is not known.
    pub fn endpoint(&self, provider: &str) -> Option<Model> {
        let said = self.user.vendors.get(provider).cloned().unwrap_or_default();
        let mut model = said.new_model(provider, &UserModel::default());
        user::tidy_address(&mut model);
        (!model.base_url.is_empty() && !model.base_url.contains('{')).then_some(model)
    }

    /// The address of the ad-hoc provider when no model was named with it.
    pub fn unnamed(&self) -> Option<Model> {
        let adhoc = self.adhoc.as_ref().filter(|adhoc| adhoc.model.is_none())?;
        self.endpoint(&adhoc.provider())
    }

    /// All vendors: the person's own first.
    pub fn vendors(&self) -> Vec<String> {
        let known = VENDORS.iter().map(|vendor| vendor.id);
        let mut names: Vec<String> =
            self.user.vendors.keys().map(String::as_str).chain(known).map(str::to_owned).collect();
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    /// What a server lists and nothing else knows of.
    fn listed(&self, provider: &str, known: &[Model]) -> Vec<Model> {
        let mut listed = self.endpoint(provider).map(|endpoint| self.lists.of(&endpoint)).unwrap_or_default();
        let ids: std::collections::HashSet<&str> =
            known.iter().filter(|model| model.provider == provider).map(|model| model.id.as_str()).collect();
        listed.retain(|model| !ids.contains(model.id.as_str()));
        listed
    }

    /// All models: the person's own first, then vendor by vendor. The demo is not among them.
    pub fn models(&self) -> &[Arc<Model>] {
        self.models.get_or_init(|| {
            let mut known = embedded::models();
            let listed: Vec<Model> =
                self.vendors().iter().flat_map(|vendor| self.listed(vendor, &known)).collect();
            known.extend(listed);
            let models = user::apply(self.user.vendors.iter(), known);
            models.into_iter().map(Arc::new).collect()
        })
    }

    /// The model of the ad-hoc provider.
    pub fn adhoc_model(&self) -> Option<Arc<Model>> {
        let adhoc = self.adhoc.as_ref()?;
        let (provider, id) = (adhoc.provider(), adhoc.model_id());
        self.of_vendor(&provider, &id)
    }

    /// The name of the ad-hoc provider.
    pub fn adhoc_provider(&self) -> Option<String> {
        self.adhoc.as_ref().map(AdHoc::provider)
    }

    /// The model to begin with at a vendor: the person's own first, else the usual one.
    pub fn default_model(&self, provider: &str) -> Option<Arc<Model>> {
        let own = self.user.vendors.get(provider).and_then(|vendor| vendor.models.first());
        let usual = vendors::DEFAULTS.iter().find(|(vendor, _)| *vendor == provider).map(|(_, id)| *id);
        if let Some(model) =
            own.map(|own| own.id.as_str()).or(usual).and_then(|id| self.of_vendor(provider, id))
        {
            return Some(model);
        }
        let known = vendors::named(provider).map(embedded::of_vendor).unwrap_or_default();
        let thinks = known.iter().position(|model| model.reasoning).unwrap_or(0);
        known.get(thinks).and_then(|model| self.of_vendor(provider, &model.id))
    }

    /// The model of exactly this vendor and id, as a session names it.
    pub fn get(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        let demo = demo();
        if provider == demo.provider && id == demo.id {
            return Some(Arc::new(demo));
        }
        self.of_vendor(provider, id)
    }

    /// The model of that id, without reading the facts on other vendors.
    fn of_vendor(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        if let Some(models) = self.models.get() {
            let is_meant = |model: &&Arc<Model>| model.provider == provider && model.id == id;
            return models.iter().find(is_meant).cloned();
        }
        let mut known = vendors::named(provider).map(embedded::of_vendor).unwrap_or_default();
        if !known.iter().any(|model| model.id == id) {
            let listed = self.listed(provider, &known);
            known.extend(listed);
        }
        let said = self.user.vendors.iter().filter(|(name, _)| *name == provider);
        user::apply(said, known).into_iter().find(|model| model.id == id).map(Arc::new)
    }

    /// The model that `query` means: `vendor/id`, an id, or words that only one model has; a
    /// thinking level after a colon is passed over.
    ///
    /// # Errors
    /// [`NotFound`] with the near matches.
    pub fn find(&self, query: &str) -> Result<Arc<Model>, NotFound> {
        self.search(query, &|_| false).map(|(model, _)| model)
    }

    /// As [`Catalogue::find`], with the thinking level of the query. Vendors with a key come
    /// before others that have the same model.
    ///
    /// # Errors
    /// [`NotFound`] with the near matches.
    pub fn find_for(
        &self,
        keys: &Keys,
        query: &str,
    ) -> Result<(Arc<Model>, Option<ThinkingLevel>), NotFound> {
        let usable = self.usable(keys);
        self.search(query, &|model| usable.contains(&model.provider))
    }

    fn search(
        &self,
        query: &str,
        prefer: &dyn Fn(&Model) -> bool,
    ) -> Result<(Arc<Model>, Option<ThinkingLevel>), NotFound> {
        let (name, level) = split_level(query);
        if matches!(name, "demo" | "demo/demo") {
            return Ok((Arc::new(demo()), level));
        }
        // The model of an address that was given goes there, even if a vendor has one so called.
        if let Some(adhoc) = &self.adhoc
            && (name == adhoc.model_id() || adhoc.model.as_deref() == Some(query))
            && let Some(model) = self.adhoc_model()
        {
            return Ok((model, level));
        }
        // The full name is the usual case and needs no search.
        for (text, level) in [(query, None), (name, level)] {
            let named = text.split_once('/').and_then(|(vendor, id)| self.of_vendor(vendor, id));
            if let Some(model) = named {
                return Ok((model, level));
            }
        }
        match find::find(self.models(), query, prefer) {
            Ok(model) => Ok((model, None)),
            Err(_) if level.is_some() => find::find(self.models(), name, prefer).map(|model| (model, level)),
            Err(error) => Err(error),
        }
    }

    /// The models that can be used now: of vendors with a key, and of those that need none.
    pub fn configured(&self, keys: &Keys) -> Vec<Arc<Model>> {
        let usable = self.usable(keys);
        self.models().iter().filter(|model| usable.contains(&model.provider)).cloned().collect()
    }

    /// The vendors that have a key or need none. Reads no model facts.
    pub fn usable(&self, keys: &Keys) -> Vec<String> {
        let names = self.vendors();
        let held = keys.held(&names);
        names.iter().filter(|name| self.is_keyless(name) || held.contains(name)).cloned().collect()
    }

    /// Whether nothing says that this vendor wants a key, or it is on this machine.
    pub fn is_keyless(&self, provider: &str) -> bool {
        let address = self.user.vendors.get(provider).and_then(|vendor| vendor.base_url.as_deref());
        address.is_some_and(is_loopback)
            || (address.is_some()
                && self.key_variable(provider).is_none()
                && self.key_spec(provider).is_none())
    }

    /// The environment variable of a vendor's key.
    pub fn key_variable(&self, provider: &str) -> Option<String> {
        let own = self.user.vendors.get(provider).and_then(|vendor| vendor.env.clone());
        own.or_else(|| vendors::named(provider).map(|vendor| vendor.env.to_owned()))
    }

    /// The environment variables of all vendors' keys.
    pub fn key_variables(&self) -> Vec<String> {
        let own = self.user.vendors.values().filter_map(|vendor| vendor.env.clone());
        own.chain(VENDORS.iter().map(|vendor| vendor.env.to_owned())).collect()
    }

    /// A vendor's key as `models.toml` writes it: literal, `$VARIABLE` or `!command`.
    pub(super) fn key_spec(&self, provider: &str) -> Option<&str> {
        self.user.vendors.get(provider)?.api_key.as_deref()
    }

    /// The values of the headers of `models.toml` that may be keys.
    pub(super) fn header_secrets(&self) -> Secrets {
        let headers = self.user.vendors.values().flat_map(|vendor| {
            let models = vendor.models.iter().flat_map(|model| &model.headers);
            vendor.headers.iter().chain(models)
        });
        let mut secrets = Secrets::default();
        headers.filter(|(name, _)| Headers::may_hold_key(name)).for_each(|(_, value)| secrets.add(value));
        secrets
    }

    /// All keys as `models.toml` writes them.
    pub(super) fn key_specs(&self) -> Vec<String> {
        self.user.vendors.values().filter_map(|vendor| vendor.api_key.clone()).collect()
    }
}
