//! Checks the configured search service: its address, its key, and whether a local one is running.

use std::net::TcpStream;
use std::time::Duration;

use super::report::{Advice, Fact, Section};
use tau_agent::catalogue::is_loopback;
use tau_agent::catalogue::keys::Keys;
use tau_agent::settings::Settings;

/// Time limit for a connection to a service on this machine.
const CONNECT_TIME: Duration = Duration::from_millis(500);

/// The service that `web_search` would ask; without facts if it is off.
pub(super) fn search(settings: &Settings, keys: &Keys) -> Section {
    let mut section = Section::new("search");
    let Some(service) = settings.web_search.and_then(|search| search.0) else { return section };
    section.add(Fact::text("service", service.id));
    let own = settings.web_search_url.as_ref().map(|url| url.as_str());
    match own.or(Some(service.url).filter(|url| !url.is_empty())) {
        Some(address) => {
            section.add(Fact::text("address", address));
            if is_loopback(address) && !answers(address) {
                section.advise(Advice::Hint(format!(
                    "nothing answers at {address}, the web_search_url; start {} there",
                    service.name
                )));
            }
        }
        None => section.advise(Advice::Hint(format!(
            "{} needs an address: set web_search_url in config.toml",
            service.name
        ))),
    }
    let place = keys.place(service.id);
    match (&place, service.env) {
        (Some(place), _) => section.add(Fact::text("key", place)),
        (None, Some(variable)) => section.advise(Advice::Hint(format!(
            "there is no key for {}: set {variable}, or run `tau auth set {}`",
            service.name, service.id
        ))),
        (None, None) => {}
    }
    section
}

/// Whether an address of this machine accepts connections.
fn answers(address: &str) -> bool {
    let Ok(url) = url::Url::parse(address) else { return false };
    let addresses = url.socket_addrs(|| None).unwrap_or_default();
    addresses.iter().any(|address| TcpStream::connect_timeout(address, CONNECT_TIME).is_ok())
}
