//! Web tools for models: `web_fetch` reads a page, `web_search` asks a service.
//!
//! Both are off unless the user turns them on. Access is checked three times: by the permissions, which see
//! the host (`agent/permissions`); by [`address`], which refuses addresses outside the public internet; and
//! when a connection is made, by the guard of `provider/http/guarded`.

mod address;
mod body;
mod cache;
mod fetch;
mod markdown;
mod marks;
mod page;
mod parse;
mod search;

use std::net::IpAddr;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use serde_json::Value;
use url::Url;

use super::catalogue::keys::Keys;
use super::provider::http::guarded::{Guard, GuardedHttp, Lookup, system_lookup};
use super::provider::http::{Http, Network};
use super::settings::value::BaseUrl;
use super::settings::web::{PrivateHosts, WebSearch};
use cache::PageCache;
use fetch::WebFetch;
use page::Limits;
use search::WebSearchTool;
use tau_tools::access::{Access, FileFilter};
use tau_tools::user_error::UserError;
use tau_tools::{AnyTool, Toolbox};

/// The names of the tools, in the order in which models see them.
pub const NAMES: [&str; 2] = [fetch::NAME, search::NAME];

/// The title of a call of a web tool; `None` for other tools.
pub(crate) fn title_of(name: &str, args: &Value) -> Option<String> {
    match name {
        fetch::NAME => Some(fetch::title(args)),
        search::NAME => Some(search::title(args)),
        _ => None,
    }
}

/// The user's settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WebOptions {
    /// Whether pages may be fetched.
    pub fetch: bool,
    /// Hosts outside the public internet that may be fetched.
    pub allow_private: PrivateHosts,
    /// The search service.
    pub search: WebSearch,
    /// Its address, if not the default.
    pub search_url: Option<BaseUrl>,
}

impl WebOptions {
    /// Whether the tool with that name is on.
    pub fn is_on(&self, name: &str) -> bool {
        match name {
            fetch::NAME => self.fetch,
            search::NAME => self.search.0.is_some(),
            _ => false,
        }
    }
}

/// An HTML page for models, with links made absolute relative to `base`: its title, and its text as markdown,
/// or as plain text if it is too large or too deep. `None` if no thread could be started.
pub async fn page_as_markdown(html: String, base: Url) -> Option<(Option<String>, String)> {
    let page = markdown::convert(html, base).await?;
    Some((page.title, page.text))
}

/// The web tools, and the state that their calls share.
#[derive(Clone)]
pub struct Web(Arc<WebState>);

impl std::fmt::Debug for Web {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Web").field(&*self.0.options.lock()).finish()
    }
}

/// The state that calls share.
struct WebState {
    options: Arc<Mutex<WebOptions>>,
    limits: Limits,
    /// For pages, at any allowed address.
    http: GuardedHttp,
    /// For the search service, at the address set by the user.
    service: Http,
    keys: Option<Arc<Keys>>,
    cache: Mutex<PageCache>,
    rules: ActiveRules,
}

/// The rules of the calls that are fetching something. An address that a rule of any of them denies is not connected to.
type ActiveRules = Arc<Mutex<Vec<Weak<dyn FileFilter>>>>;

/// Counts the rules of a call among those that are active.
fn activate(rules: &ActiveRules, of_call: &Arc<dyn FileFilter>) {
    let mut rules = rules.lock();
    let own = Arc::downgrade(of_call);
    rules.retain(|rules| rules.strong_count() > 0 && !rules.ptr_eq(&own));
    rules.push(own);
}

/// The rule of a current call that denies an address.
fn denying_rule(rules: &ActiveRules, address: IpAddr) -> Option<String> {
    let rules = rules.lock();
    rules.iter().filter_map(Weak::upgrade).find_map(|rules| rules.denies_address(address))
}

impl WebState {
    fn new(
        options: WebOptions,
        network: Network,
        keys: Option<Arc<Keys>>,
        lookup: Lookup,
        limits: Limits,
    ) -> Self {
        let options = Arc::new(Mutex::new(options));
        let current = Arc::clone(&options);
        let rules = ActiveRules::default();
        let active = Arc::clone(&rules);
        let guard: Guard = Arc::new(move |host, address| {
            denying_rule(&active, address).is_none()
                && address::admits(&current.lock().allow_private, host, address)
        });
        WebState {
            options,
            limits,
            http: GuardedHttp::new(network.clone(), guard, lookup),
            service: Http::new(network),
            keys,
            cache: Mutex::default(),
            rules,
        }
    }
}

impl Web {
    /// The tools for these options, over connections with these settings.
    pub fn new(options: WebOptions, network: Network, keys: Arc<Keys>) -> Self {
        Web(Arc::new(WebState::new(options, network, Some(keys), system_lookup(), Limits::default())))
    }

    /// Replaces the options, also for future calls of tools that models already have.
    pub fn set_options(&self, options: WebOptions) {
        *self.0.options.lock() = options;
    }

    /// All tools, whether they are on or not. A call of one that is off is refused.
    pub fn all(&self) -> Vec<Arc<dyn AnyTool>> {
        vec![Arc::new(WebFetch::new(Arc::clone(&self.0))), Arc::new(WebSearchTool::new(Arc::clone(&self.0)))]
    }

    /// Adds the tools for whose names `is_on` returns true.
    pub fn add_to(&self, tools: Toolbox, is_on: impl Fn(&str) -> bool) -> Toolbox {
        let on = self.all().into_iter().filter(|tool| is_on(&tool.spec().name));
        on.fold(tools, Toolbox::with)
    }
}

/// The access of a call that fetches a page. Fails if nothing can be fetched from the address.
pub fn access_of(url: &str) -> Result<Access, UserError> {
    Ok(Access { network: vec![address::host(&address::parse(url)?)], ..Access::default() })
}

#[cfg(test)]
mod tests;
