//! The tools for the web that the settings enable.

use std::sync::Arc;

use tau_agent::catalogue::keys::Keys;
use tau_agent::settings::Settings;
use tau_agent::web::{NAMES, Web, WebOptions};
use tau_tools::Toolbox;
use tau_tools::user_error::UserError;

/// The tools for the web of a run.
pub(super) fn of(settings: &Settings, keys: &Arc<Keys>) -> Web {
    Web::new(options(settings), settings.network(), Arc::clone(keys))
}

/// The options of the web tools, from the settings.
pub(super) fn options(settings: &Settings) -> WebOptions {
    WebOptions {
        fetch: settings.web_fetch(),
        allow_private: settings.web_allow_private.clone().unwrap_or_default(),
        search: settings.web_search(),
        search_url: settings.web_search_url.clone(),
    }
}

/// The built-in tools among these names. Tools for the web are allowed if they are on. The error is a
/// sentence, if a name is unknown, or belongs to a tool that is off.
pub(super) fn built_in_tools(names: &[String], settings: &Settings) -> Result<Toolbox, UserError> {
    let options = options(settings);
    let (web, own): (Vec<String>, Vec<String>) =
        names.iter().cloned().partition(|name| NAMES.contains(&name.as_str()));
    match web.iter().find(|name| !options.is_on(name)) {
        Some(off) if off == "web_fetch" => Err(UserError::new("web_fetch is off")
            .remedy("set web_fetch = true in config.toml, or pass --web-fetch")),
        Some(off) => {
            Err(format!("{off} is off; name a service in config.toml, as in {off} = \"brave\"").into())
        }
        None => Toolbox::from_names(&own),
    }
}
