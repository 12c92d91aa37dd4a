//! The target of a request for messages: the host, and the proxy with its source.

use std::fmt;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;

use super::client::{exempts_all, exempts_port};
use super::{ProxyChoice, authority, is_loopback};

/// A host, and the proxy that leads to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    host: String,
    proxy: Option<ProxyInUse>,
}

/// A proxy without its password, and the variable or setting that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProxyInUse {
    address: String,
    pub(super) named_by: String,
}

impl Peer {
    /// The peer of requests to this address with this proxy choice.
    pub(super) fn of(url: &Url, choice: &ProxyChoice) -> Self {
        let variable = |name: &str| std::env::var(name).ok();
        let proxy = if is_loopback(url) { None } else { proxy(url, choice, &variable) };
        Peer { host: authority(url), proxy }
    }

    /// The host with that name, without a proxy.
    pub(super) fn direct(host: &str) -> Self {
        Peer { host: host.to_owned(), proxy: None }
    }

    /// Its name without the proxy.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// The proxy that is used.
    pub(super) fn proxy(&self) -> Option<&ProxyInUse> {
        self.proxy.as_ref()
    }
}

impl ProxyInUse {
    /// Whether its address begins with one of these schemes.
    pub(super) fn begins_with(&self, schemes: &[&str]) -> bool {
        schemes.iter().any(|scheme| self.address.to_ascii_lowercase().starts_with(scheme))
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)?;
        match &self.proxy {
            Some(proxy) => write!(f, " through {proxy}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ProxyInUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the proxy {} ({})", self.address, self.named_by)
    }
}

/// The proxy for an address; the client finds it in the same way.
fn proxy(url: &Url, choice: &ProxyChoice, variable: &dyn Fn(&str) -> Option<String>) -> Option<ProxyInUse> {
    // An empty one hides the other spelling.
    let first = |names: &[&'static str]| {
        names.iter().find_map(|name| Some((*name, variable(name)?))).filter(|(_, value)| !value.is_empty())
    };
    let (named_by, address) = match choice {
        ProxyChoice::Never => return None,
        ProxyChoice::At(address) => ("the setting proxy", address.clone()),
        ProxyChoice::Environment => {
            let own: &[&str] = match url.scheme() {
                "https" => &["HTTPS_PROXY", "https_proxy"],
                _ => &["HTTP_PROXY", "http_proxy"],
            };
            first(own).or_else(|| first(&["ALL_PROXY", "all_proxy"]))?
        }
    };
    let exempt = first(&["NO_PROXY", "no_proxy"]).map(|(_, hosts)| hosts).unwrap_or_default();
    if exempts_all(&exempt) || exempts_port(&exempt, url) {
        return None;
    }
    let uri: http::Uri = url.as_str().parse().ok()?;
    let used = Matcher::builder().all(address).no(exempt).build().intercept(&uri)?;
    let address = format!("{}://{}", used.uri().scheme_str()?, used.uri().authority()?.as_str());
    let address =
        Url::parse(&address).ok().map_or(address, |url| format!("{}://{}", url.scheme(), authority(&url)));
    Some(ProxyInUse { address, named_by: named_by.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<&'a str>);

    #[test]
    fn the_proxy_and_what_names_it_are_found() {
        let named = |url: &str, choice: &ProxyChoice, set: &[(&str, &str)]| {
            let variable =
                |name: &str| set.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
            proxy(&Url::parse(url).unwrap(), choice, &variable).map(|proxy| proxy.to_string())
        };
        let environment = ProxyChoice::Environment;
        let all = [("ALL_PROXY", "socks5h://p:1080"), ("HTTP_PROXY", "http://user:secret@q:3128")];
        let cases: [Case<'_>; 12] = [
            ("https://api.example", &[], None),
            ("https://api.example", &all, Some("the proxy socks5h://p:1080 (ALL_PROXY)")),
            ("http://api.example", &all, Some("the proxy http://q:3128 (HTTP_PROXY)")),
            (
                "https://api.example",
                &[("https_proxy", "q:3128")],
                Some("the proxy http://q:3128 (https_proxy)"),
            ),
            ("https://api.example", &[("HTTPS_PROXY", "http://q:1"), ("NO_PROXY", ".example")], None),
            ("https://api.example", &[("HTTPS_PROXY", "http://q:1"), ("NO_PROXY", "x:1, example:443")], None),
            (
                "https://api.example:8443",
                &[("HTTPS_PROXY", "http://q:1"), ("NO_PROXY", "API.example:8443")],
                None,
            ),
            (
                "https://api.example",
                &[("HTTPS_PROXY", "http://q:1"), ("NO_PROXY", "api.example:8443, ample:443")],
                Some("the proxy http://q:1 (HTTPS_PROXY)"),
            ),
            (
                "https://[2001:db8::1]",
                &[("HTTPS_PROXY", "http://q:1"), ("NO_PROXY", "[2001:db8::1]:443")],
                None,
            ),
            ("https://api.example", &[("HTTP_PROXY", "http://q:1")], None),
            ("https://192.0.2.1", &[("HTTPS_PROXY", "http://q:1"), ("no_proxy", "a, *")], None),
            (
                "https://api.example",
                &[("HTTPS_PROXY", "http://[::1]:1")],
                Some("the proxy http://[::1]:1 (HTTPS_PROXY)"),
            ),
        ];
        for (url, set, expected) in cases {
            assert_eq!(named(url, &environment, set).as_deref(), expected, "{url} {set:?}");
        }
        let own = ProxyChoice::At("http://user:secret@p:1".to_owned());
        assert_eq!(
            named("https://h", &own, &[]).as_deref(),
            Some("the proxy http://p:1 (the setting proxy)")
        );
        assert_eq!(named("https://h", &ProxyChoice::Never, &all), None);
    }
}
