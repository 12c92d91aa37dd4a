//! Requests to untrusted addresses, for example chosen by a model: [`GuardedHttp`].
//!
//! A guard sees every address before it is connected to. It is called within the resolution of names, so the
//! checked address is the connected one: a second resolution of the name cannot lead elsewhere. An IP address
//! in a URL is never resolved, so the caller checks it before.
//!
//! A proxy resolves names itself, and only the proxy knows their addresses. The guard sees the names, and is
//! not asked about the address of the proxy, which the user has chosen.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Response};
use url::Url;

use super::client::Clients;
use super::{Network, Peer, ProxyChoice, authority, transport_failure};
use crate::provider::Failure;

/// The maximum number of header lines in an answer.
const MAX_HEADERS: usize = 200;

/// The variables that name a proxy.
const PROXY_VARIABLES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Whether a connection to this host, at this address, is allowed.
pub(crate) type Guard = Arc<dyn Fn(&str, IpAddr) -> bool + Send + Sync>;

/// Finds the addresses of a host.
pub(crate) type Lookup = Arc<dyn Fn(String) -> LookupResult + Send + Sync>;

/// The future of a [`Lookup`].
pub(crate) type LookupResult = Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>>;

/// The system's resolver.
pub(crate) fn system_lookup() -> Lookup {
    Arc::new(|host| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

/// The reason there is no answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GuardedFailure {
    /// The guard refused all addresses of the host; this is the first.
    Refused(IpAddr),
    /// Anything else.
    Failed(Failure),
}

/// GET requests behind a guard. Redirects are returned like any other answer, there are no cookies and no
/// keys.
pub(crate) struct GuardedHttp {
    network: Network,
    resolver: Arc<Resolver>,
    clients: Clients,
}

tau_tools::debug_fields!(GuardedHttp { network });

impl GuardedHttp {
    /// Makes requests over connections with these settings, to addresses that `guard` allows.
    pub(crate) fn new(network: Network, guard: Guard, lookup: Lookup) -> Self {
        let exempt = proxy_hosts(&network.proxy, |name| std::env::var(name).ok());
        GuardedHttp {
            network,
            resolver: Arc::new(Resolver { guard, lookup, exempt }),
            clients: Clients::default(),
        }
    }

    /// Sends a GET and waits for the head of its answer with any status. The only time limit is that for the
    /// connection. Fails when the guard refuses the host, or there is no answer.
    pub(crate) async fn get(&self, url: &Url, accept: &str) -> Result<GuardedAnswer, GuardedFailure> {
        let host = authority(url);
        let client = self.client_for(url).await?;
        let sending = client.get(url.clone()).header("accept", accept).send();
        let response = sending.await.map_err(|error| failure(&error, &host))?;
        Ok(GuardedAnswer { response, host })
    }

    /// The client for an address. The host is checked here if the resolver would let it through. Fails when
    /// the guard refuses the host, or the client cannot be set up.
    pub(super) async fn client_for(&self, url: &Url) -> Result<&Client, GuardedFailure> {
        let name = url.host_str().unwrap_or_default();
        if self.resolver.exempt.iter().any(|exempt| exempt == name) {
            // The resolver lets the name of the proxy through.
            self.resolver.check(name).await?;
        }
        let client = self.clients.of(url, &self.network, &|builder| {
            builder
                .dns_resolver(Arc::clone(&self.resolver))
                .http1_max_headers(MAX_HEADERS)
                .referer(false)
                // An idle connection was made when the guard may have decided differently.
                .pool_max_idle_per_host(0)
        });
        client.map_err(GuardedFailure::Failed)
    }
}

/// The head of an answer, from which the body is read.
#[derive(Debug)]
pub(crate) struct GuardedAnswer {
    response: Response,
    host: String,
}

impl GuardedAnswer {
    /// The status code.
    pub(crate) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// A header, if it is valid text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// The number of bytes of the body, if the server reports it.
    pub(crate) fn length(&self) -> Option<u64> {
        self.response.content_length()
    }

    /// The next bytes of the body, decompressed; `None` at the end. Fails when the connection is lost, or the
    /// body is damaged.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let chunk = self
            .response
            .chunk()
            .await
            .map_err(|error| transport_failure(&error, &Peer::direct(&self.host)))?;
        Ok(chunk.map(Vec::from))
    }
}

/// Resolves names to the addresses that the guard allows.
struct Resolver {
    guard: Guard,
    lookup: Lookup,
    /// The names of proxies.
    exempt: Vec<String>,
}

impl Resolver {
    /// Checks that the guard allows an address of a host.
    async fn check(&self, host: &str) -> Result<(), GuardedFailure> {
        let found = (self.lookup)(host.to_owned()).await.unwrap_or_default();
        match found.iter().find(|address| !(self.guard)(host, **address)) {
            Some(refused) => Err(GuardedFailure::Refused(*refused)),
            None => Ok(()),
        }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let is_exempt = self.exempt.contains(&host);
        let (guard, found) = (Arc::clone(&self.guard), (self.lookup)(host.clone()));
        Box::pin(async move {
            let found = found.await?;
            let admits = |address: &IpAddr| is_exempt || guard(&host, *address);
            let admitted: Vec<SocketAddr> =
                found.iter().filter(|address| admits(address)).map(|ip| SocketAddr::new(*ip, 0)).collect();
            match (admitted.is_empty(), found.first()) {
                (true, Some(refused)) => Err(RefusedAddress(*refused).into()),
                _ => Ok(Box::new(admitted.into_iter()) as Addrs),
            }
        })
    }
}

/// The guard refused the address of a name; part of the error chain of the client.
#[derive(Debug, thiserror::Error)]
#[error("the address {0} is refused")]
struct RefusedAddress(IpAddr);

pub(super) fn failure(error: &reqwest::Error, host: &str) -> GuardedFailure {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = cause {
        if let Some(RefusedAddress(address)) = current.downcast_ref() {
            return GuardedFailure::Refused(*address);
        }
        cause = current.source();
    }
    let mut failure = transport_failure(error, &Peer::direct(host));
    // The hint is about providers.
    failure.hint = None;
    GuardedFailure::Failed(failure)
}

/// The hosts of the proxies that may be used.
fn proxy_hosts(proxy: &ProxyChoice, variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let addresses: Vec<String> = match proxy {
        ProxyChoice::Never => Vec::new(),
        ProxyChoice::At(address) => vec![address.clone()],
        ProxyChoice::Environment => PROXY_VARIABLES.into_iter().filter_map(variable).collect(),
    };
    let host = |address: &String| {
        let whole = if address.contains("://") { address.clone() } else { format!("http://{address}") };
        Some(Url::parse(&whole).ok()?.host_str()?.to_owned())
    };
    addresses.iter().filter_map(host).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_found_by_name() {
        let variable = |name: &str| match name {
            "http_proxy" => Some("proxy.example:3128".to_owned()),
            "HTTPS_PROXY" => Some("http://u:p@Other.example".to_owned()),
            _ => None,
        };
        assert_eq!(proxy_hosts(&ProxyChoice::Environment, variable), ["proxy.example", "other.example"]);
        assert_eq!(proxy_hosts(&ProxyChoice::At("http://p:1".to_owned()), variable), ["p"]);
        assert!(proxy_hosts(&ProxyChoice::Never, variable).is_empty());
    }

    #[tokio::test]
    async fn a_name_leads_to_admitted_addresses_only() {
        let addresses: Vec<IpAddr> = ["10.0.0.1", "192.0.2.1"].map(|text| text.parse().unwrap()).into();
        let lookup: Lookup = Arc::new(move |_| {
            let addresses = addresses.clone();
            Box::pin(async move { Ok(addresses) })
        });
        let guard: Guard =
            Arc::new(|host, address| host == "both.example" && address.to_string() != "10.0.0.1");
        let resolver = Resolver { guard, lookup, exempt: vec!["proxy.example".to_owned()] };
        let resolved = async |name: &str| {
            let found = resolver.resolve(name.parse().unwrap()).await;
            found.map(|found| found.map(|address| address.ip().to_string()).collect::<Vec<_>>())
        };
        assert_eq!(resolved("both.example").await.unwrap(), ["192.0.2.1"]);
        assert_eq!(resolved("proxy.example").await.unwrap().len(), 2);
        assert_eq!(
            resolved("evil.example").await.unwrap_err().to_string(),
            "the address 10.0.0.1 is refused"
        );
        assert_eq!(
            resolver.check("proxy.example").await,
            Err(GuardedFailure::Refused("10.0.0.1".parse().unwrap()))
        );
    }
}
