//! Builds the HTTP clients: timeouts, proxies, certificates.
//!
//! A redirect is never followed. Loopback addresses are never reached through a proxy. `http` sends the
//! requests; `idle_timeout` limits the pauses of an answer.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::{Certificate, Client, ClientBuilder, NoProxy, Proxy, redirect};

use super::{cause, is_loopback};
use crate::provider::{Failure, FailureKind};
use tau_tools::regular_files::read_capped;

/// The size limit of a certificate file, in bytes.
const MAX_CERTIFICATES: u64 = 4 * 1024 * 1024;

/// The settings of connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// The time limit for connecting.
    pub connect: Duration,
    /// A file of certificates (PEM) that are trusted in addition to the system's.
    pub ca_file: Option<PathBuf>,
    /// The proxy to use.
    pub proxy: ProxyChoice,
}

/// The choice of a proxy. `NO_PROXY` is always obeyed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProxyChoice {
    /// The proxies of `HTTP_PROXY` and `HTTPS_PROXY`.
    #[default]
    Environment,
    /// No proxy.
    Never,
    /// The proxy at this address.
    At(String),
}

impl ProxyChoice {
    /// Parses the choice from settings: `none`, or an address.
    pub fn parse(text: &str) -> Self {
        match text.trim() {
            "" => ProxyChoice::Environment,
            "none" => ProxyChoice::Never,
            address => ProxyChoice::At(address.to_owned()),
        }
    }
}

impl Default for Network {
    fn default() -> Self {
        Network { connect: Duration::from_secs(10), ca_file: None, proxy: ProxyChoice::default() }
    }
}

/// The certificates that a client trusts in addition to `ca_file`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Roots {
    /// The system's. Reading them takes longer than the rest of a start.
    System,
    /// None: the client is for plain HTTP.
    None,
}

/// Clients for this machine and for all others, each built for the first request that needs it, because reading the
/// system's certificates takes a while.
#[derive(Debug, Default)]
pub(super) struct Clients {
    outside: OnceLock<Result<Client, Failure>>,
    /// For addresses that are never reached through a proxy.
    direct: OnceLock<Result<Client, Failure>>,
    /// For plain HTTP to this machine, where no certificates are needed.
    plain: OnceLock<Result<Client, Failure>>,
}

impl Clients {
    /// The client for an address, with additional settings by `more`.
    pub(super) fn of(
        &self,
        url: &reqwest::Url,
        network: &Network,
        more: &dyn Fn(ClientBuilder) -> ClientBuilder,
    ) -> Result<&Client, Failure> {
        let (cell, proxy, roots) = match (is_loopback(url), url.scheme()) {
            (true, "http") => (&self.plain, &ProxyChoice::Never, Roots::None),
            (true, _) => (&self.direct, &ProxyChoice::Never, Roots::System),
            (false, _) if exempts_port(&no_proxy(), url) => {
                (&self.direct, &ProxyChoice::Never, Roots::System)
            }
            (false, _) => (&self.outside, &network.proxy, Roots::System),
        };
        cell.get_or_init(|| build_with(network, proxy, roots, more)).as_ref().map_err(Clone::clone)
    }
}

/// Builds a client, with additional settings by `more`. Fails when the certificates cannot be read, or the address of
/// the proxy is invalid.
pub(super) fn build_with(
    network: &Network,
    proxy: &ProxyChoice,
    roots: Roots,
    more: &dyn Fn(ClientBuilder) -> ClientBuilder,
) -> Result<Client, Failure> {
    // An error means that a provider is already installed, which is equivalent.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let own = network.ca_file.as_deref().map(certificates).transpose()?.unwrap_or_default();
    let settings = || -> Result<ClientBuilder, Failure> {
        let builder = ClientBuilder::new()
            .connect_timeout(network.connect)
            .redirect(redirect::Policy::none())
            .tcp_keepalive(Duration::from_secs(30))
            .user_agent(concat!("tau/", env!("CARGO_PKG_VERSION")));
        Ok(more(match proxy {
            _ if exempts_all(&no_proxy()) => builder.no_proxy(),
            ProxyChoice::Environment => {
                check_variables(&|name| std::env::var(name).ok())?;
                builder
            }
            ProxyChoice::Never => builder.no_proxy(),
            ProxyChoice::At(address) => builder.proxy(at(address)?),
        }))
    };
    if roots == Roots::None {
        return settings()?.tls_certs_only(own).build().map_err(|error| unusable(&error));
    }
    // A machine without certificates still has plain HTTP; HTTPS then fails with a clear error.
    let built = settings()?.tls_certs_merge(own.clone()).build();
    built.or_else(|error| settings()?.tls_certs_only(own).build().map_err(|_| unusable(&error)))
}

/// Whether this value of `NO_PROXY` exempts every host; the client exempts only names with it, not addresses.
pub(super) fn exempts_all(hosts: &str) -> bool {
    hosts.split(',').any(|host| host.trim() == "*")
}

/// Whether an entry of this value of `NO_PROXY` names the host of an address with its port; the client exempts hosts
/// without a port only.
pub(super) fn exempts_port(hosts: &str, url: &reqwest::Url) -> bool {
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return false };
    let names = |entry: &str| {
        let (name, own) = entry.trim().rsplit_once(':')?;
        let name = name.trim_start_matches("*.").trim_start_matches('.').to_ascii_lowercase();
        let parent = host.strip_suffix(&name).filter(|_| !name.is_empty())?;
        Some(own.parse() == Ok(port) && (parent.is_empty() || parent.ends_with('.')))
    };
    hosts.split(',').any(|entry| names(entry) == Some(true))
}

fn no_proxy() -> String {
    ["NO_PROXY", "no_proxy"].into_iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default()
}

fn unusable(error: &reqwest::Error) -> Failure {
    Failure::new(FailureKind::Config, format!("cannot set up the HTTP client: {}", cause(error)))
        .hint("check ca_file and proxy in config.toml")
}

/// The variables that name proxies.
const VARIABLES: [&str; 6] =
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
/// The kinds of proxies that can be used.
const SCHEMES: [&str; 6] = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"];

/// Checks the proxies of the environment. What cannot be used would be ignored, and requests sent without a proxy.
fn check_variables(variable: &dyn Fn(&str) -> Option<String>) -> Result<(), Failure> {
    let set =
        VARIABLES.iter().filter_map(|name| Some((*name, variable(name).filter(|value| !value.is_empty())?)));
    set.into_iter().try_for_each(|(name, address)| check(&address, name))
}

/// Checks the address of a proxy, which may have no scheme.
fn check(address: &str, named_by: &str) -> Result<(), Failure> {
    let scheme = address.split_once("://").map_or("http", |(scheme, _)| scheme);
    let whole = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    let has_host =
        reqwest::Url::parse(&whole).is_ok_and(|url| url.host_str().is_some_and(|host| !host.is_empty()));
    let why = match () {
        () if !SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) => {
            format!("names an unsupported kind of proxy: {scheme}")
        }
        () if !has_host => "has no valid address of a proxy".to_owned(),
        () => return Ok(()),
    };
    Err(Failure::new(FailureKind::Config, format!("{named_by} {why}"))
        .hint("write it as http://host:port or socks5://host:port, or unset it"))
}

fn at(address: &str) -> Result<Proxy, Failure> {
    check(address, "the setting proxy")?;
    let proxy = Proxy::all(address).map_err(|error| {
        let what = format!("the proxy's address is not valid: {}", cause(&error));
        Failure::new(FailureKind::Config, what).hint("write it as http://host:port")
    })?;
    Ok(proxy.no_proxy(NoProxy::from_env()))
}

fn certificates(path: &Path) -> Result<Vec<Certificate>, Failure> {
    let failed = |why: &dyn std::fmt::Display| {
        Failure::new(FailureKind::Config, format!("ca_file {}: {why}", path.display()))
            .hint("the file must hold certificates in PEM format")
    };
    let bytes = read_capped(path, MAX_CERTIFICATES).map_err(|error| failed(&error))?;
    let found = Certificate::from_pem_bundle(&bytes).map_err(|error| failed(&cause(&error)))?;
    if found.is_empty() { Err(failed(&"it contains no certificate")) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::check_variables;

    #[test]
    fn a_proxy_that_cannot_be_used_is_not_ignored() {
        let checked = |name: &'static str, value: &'static str| {
            check_variables(&|asked| (asked == name).then(|| value.to_owned()))
                .map_err(|failure| failure.message)
        };
        for fine in
            ["", "q:3128", "http://q:3128", "HTTP://q", "https://u:p@q:1/", "socks5h://q:1", "http://[::1]:1"]
        {
            assert_eq!(checked("HTTPS_PROXY", fine), Ok(()), "{fine}");
        }
        let unknown = "all_proxy names an unsupported kind of proxy: foo";
        assert_eq!(checked("all_proxy", "foo://x"), Err(unknown.to_owned()));
        for empty in ["http://", "http://:80", "://x", "http://u:secret@"] {
            let error = checked("HTTP_PROXY", empty).unwrap_err();
            assert!(error.starts_with("HTTP_PROXY ") && !error.contains("secret"), "{error}");
        }
        // Only what names proxies is looked at.
        assert_eq!(checked("NO_PROXY", "foo://x"), Ok(()));
    }
}
