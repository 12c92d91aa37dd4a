//! Checks of models: the one in use, keys and their places, and servers on this machine.

use serde_json::{Map, Value, json};

use super::report::{Advice, Fact, Section};
use crate::compose::environment::Environment;
use crate::compose::local_servers::{LocalServer, local_servers, port_of};
use tau_agent::catalogue::is_loopback;
use tau_agent::catalogue::providers::LOCAL_SERVERS;

/// Maximum number of model names printed for a server.
const NAMES: usize = 3;

/// The models that could answer a prompt.
pub(super) fn model(environment: &Environment) -> Section {
    let mut section = Section::new("model");
    let Environment { settings, catalogue, .. } = environment;
    let wanted = settings.model.as_deref();
    section.add(Fact::value("model", wanted.unwrap_or("not set"), wanted));
    let has_keys = keys(environment, &mut section);
    let has_servers = servers(environment, &mut section);
    if let Some(error) = wanted.and_then(|wanted| catalogue.find(wanted).err())
        && settings.base_url.is_none()
    {
        section.advise(Advice::Problem(format!("the configured model does not exist: {error}")));
    }
    if !has_keys && !has_servers {
        let text = "no model can be used: no API key and no model server was found; add a key with `tau auth set \
                    PROVIDER` or /login, or start a server such as Ollama (without one, the demo answers)";
        section.advise(Advice::Problem(text.to_owned()));
    }
    section
}

/// Lists the providers with a key. Returns whether any of them is usable.
fn keys(environment: &Environment, section: &mut Section) -> bool {
    let Environment { catalogue, keys, .. } = environment;
    let mut providers = catalogue.providers();
    providers.extend(catalogue.adhoc_provider());
    providers.extend(keys.stored_providers());
    let mut seen = std::collections::HashSet::new();
    providers.retain(|provider| seen.insert(provider.clone()));
    let places: Vec<(&String, String)> =
        providers.iter().filter_map(|name| Some((name, keys.place(name)?.to_string()))).collect();
    let text: Vec<String> = places.iter().map(|(name, place)| format!("{name} ({place})")).collect();
    let value: Map<String, Value> =
        places.iter().map(|(name, place)| ((*name).clone(), json!(place))).collect();
    let text = if text.is_empty() { "none".to_owned() } else { text.join(", ") };
    section.add(Fact::value("keys", text, value));
    // A server elsewhere may need no key; one on this machine must be running.
    let keyless = providers.iter().any(|name| {
        let address = catalogue.endpoint(name).map(|endpoint| endpoint.base_url);
        catalogue.is_keyless(name) && address.is_some_and(|address| !is_loopback(&address))
    });
    let remote = environment.settings.base_url.as_ref().is_some_and(|url| !is_loopback(url.as_str()));
    !places.is_empty() || keyless || remote
}

/// Lists the servers that answer on this machine: configured ones, and ones on the usual ports, unless these
/// are not scanned. Returns whether there is one.
fn servers(environment: &Environment, section: &mut Section) -> bool {
    let Environment { settings, catalogue, .. } = environment;
    let configured = catalogue.providers().into_iter().filter_map(|name| catalogue.endpoint(&name));
    let mut addresses: Vec<String> = configured.map(|endpoint| endpoint.base_url).collect();
    addresses.extend(settings.base_url.as_ref().map(|url| url.as_str().to_owned()));
    addresses.retain(|address| is_loopback(address));
    let looks = settings.local_servers();
    let mut asked: Vec<(&str, u16)> = if looks { LOCAL_SERVERS.to_vec() } else { Vec::new() };
    for port in addresses.iter().filter_map(|address| port_of(address)) {
        if !asked.iter().any(|(_, known)| *known == port) {
            asked.push(("configured", port));
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let found = runtime.map(|runtime| runtime.block_on(local_servers(&asked))).unwrap_or_default();
    for address in &addresses {
        let answers = found.iter().any(|server| port_of(&server.base_url) == port_of(address));
        if !answers {
            let text =
                format!("nothing lists models at {address}, which is configured; start the server there");
            section.advise(Advice::Hint(text));
        }
    }
    let text: Vec<String> = found.iter().map(describe).collect();
    let text = if text.is_empty() { "none answers on this machine".to_owned() } else { text.join(", ") };
    let value: Vec<Value> = found
        .iter()
        .map(|server| {
            let models: Vec<&str> = server.models.iter().map(|model| model.id.as_str()).collect();
            json!({"name": server.name, "baseUrl": server.base_url, "models": models})
        })
        .collect();
    section.add(Fact::value("servers", text, value));
    !found.is_empty()
}

fn describe(server: &LocalServer) -> String {
    let names: Vec<&str> = server.models.iter().take(NAMES).map(|model| model.id.as_str()).collect();
    let more = server.models.len().saturating_sub(NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{} at {} ({}{more})", server.name, server.base_url, names.join(", "))
}
