//! The web settings: private hosts that may be fetched, and the search service.

use std::ffi::OsStr;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::value::{ListItem, ParsedList, SettingValue, ValueKind};
use crate::catalogue::search_services::{SERVICES, SearchService, service};
use tau_tools::user_error::UserError;

/// Hosts and addresses outside the public internet that may be fetched.
pub type PrivateHosts = ParsedList<PrivateHost>;

/// A host, hosts or addresses in that list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrivateHost {
    /// Every one.
    All,
    /// Exactly this name.
    Name(String),
    /// All names below this one.
    Below(String),
    /// These addresses, whatever name leads to them.
    Addresses(IpNet),
}

impl PrivateHosts {
    /// Whether this host may be fetched at this address. A name is in lower case.
    pub(crate) fn allows(&self, host: &str, address: IpAddr) -> bool {
        self.items().any(|allowed| match allowed {
            PrivateHost::Addresses(range) => range.contains(&address),
            named => named.names(host),
        })
    }

    /// Whether a name may be fetched, provided that it leads to the right address.
    pub(crate) fn may_allow(&self, host: &str) -> bool {
        self.items().any(|allowed| matches!(allowed, PrivateHost::Addresses(_)) || allowed.names(host))
    }
}

impl ListItem for PrivateHost {
    fn read(text: &str) -> Result<Self, UserError> {
        let wrong = || {
            format!("`{text}` is not a host; write a name, *.NAME, an address or a range such as 10.0.0.0/8")
        };
        if text == "*" {
            return Ok(PrivateHost::All);
        }
        let bare = text.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(PrivateHost::Addresses(IpNet::from(address)));
        }
        if let Ok(range) = bare.parse::<IpNet>() {
            return Ok(PrivateHost::Addresses(range));
        }
        let (name, below) = text.strip_prefix("*.").map_or((text, false), |rest| (rest, true));
        let parsed = url::Host::parse(name.trim_end_matches('.')).map_err(|_| wrong())?;
        match parsed {
            url::Host::Domain(name) if !name.contains('*') && below => Ok(PrivateHost::Below(name)),
            url::Host::Domain(name) if !name.contains('*') => Ok(PrivateHost::Name(name)),
            _ => Err(wrong().into()),
        }
    }
}

impl PrivateHost {
    fn names(&self, host: &str) -> bool {
        match self {
            PrivateHost::All => true,
            PrivateHost::Name(name) => host == name,
            PrivateHost::Below(name) => {
                host.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with('.'))
            }
            PrivateHost::Addresses(_) => false,
        }
    }
}

/// The search service, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebSearch(pub Option<&'static SearchService>);

/// The name for no service.
const OFF: &str = "off";

impl WebSearch {
    fn names() -> Vec<&'static str> {
        std::iter::once(OFF).chain(SERVICES.iter().map(|service| service.id)).collect()
    }

    fn from_name(name: &str) -> Result<Self, UserError> {
        match service(name) {
            Some(service) => Ok(WebSearch(Some(service))),
            None if name == OFF => Ok(WebSearch(None)),
            None => Err(format!("`{name}` is not known; use one of {}", Self::names().join(", ")).into()),
        }
    }
}

impl SettingValue for WebSearch {
    const KIND: ValueKind = ValueKind::Choice(WebSearch::names);

    fn show(&self) -> String {
        self.0.map_or(OFF, |service| service.id).to_owned()
    }

    fn parse(value: &OsStr) -> Result<Self, UserError> {
        Self::from_name(value.to_str().ok_or("the value is not UTF-8 text")?)
    }

    fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_name(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read() {
        for text in ["*", "localhost", "*.corp.example", "10.0.0.0/8", "::1", "[::1]", "Wiki.Example"] {
            let hosts: PrivateHosts = text.parse().unwrap();
            assert_eq!(hosts.show(), text);
        }
        for text in ["a b", "10.0.0.0/99", "*x", "a.*.b", "http://x"] {
            let error = text.parse::<PrivateHosts>().unwrap_err();
            assert!(error.contains("is not a host"), "{text}: {error}");
        }
        let error = WebSearch::from_name("altavista").unwrap_err();
        assert_eq!(error, "`altavista` is not known; use one of off, brave, tavily, searxng");
    }
}
