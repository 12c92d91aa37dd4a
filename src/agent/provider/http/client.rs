//! Builds the HTTP clients: timeouts, proxies, certificates.
//!
//! A redirect is never followed. Loopback addresses are never reached through a proxy. `http` sends the
//! requests; `idle_timeout` limits the pauses of an answer.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::{Certificate, Client, ClientBuilder, NoProxy, Proxy, redirect};
use rustix::fs::OFlags;

use super::cause;
use crate::provider::{Failure, FailureKind};

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

/// Builds a client. Fails when the certificates cannot be read, or the address of the proxy is invalid.
pub(super) fn build(network: &Network, proxy: &ProxyChoice, roots: Roots) -> Result<Client, Failure> {
    build_with(network, proxy, roots, &|builder| builder)
}

/// Like [`build`], with additional settings by `more`.
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
            ProxyChoice::Environment => builder,
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

fn unusable(error: &reqwest::Error) -> Failure {
    Failure::new(FailureKind::Config, format!("cannot set up the HTTP client: {}", cause(error)))
        .hint("check ca_file and proxy in config.toml")
}

fn at(address: &str) -> Result<Proxy, Failure> {
    let proxy = Proxy::all(address).map_err(|error| {
        let what = format!("the proxy's address is not valid: {}", cause(&error));
        Failure::new(FailureKind::Config, what).hint("write it as http://host:port")
    })?;
    Ok(proxy.no_proxy(NoProxy::from_env()))
}

/// The file's content. The path comes from settings: opening a pipe must not wait for a writer.
fn read_certificates(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_CERTIFICATES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MAX_CERTIFICATES {
        true => Err(io::Error::other(format!("larger than {} KB", MAX_CERTIFICATES / 1024))),
        false => Ok(bytes),
    }
}

fn certificates(path: &Path) -> Result<Vec<Certificate>, Failure> {
    let failed = |why: &dyn std::fmt::Display| {
        Failure::new(FailureKind::Config, format!("ca_file {}: {why}", path.display()))
            .hint("the file must hold certificates in PEM format")
    };
    let bytes = read_certificates(path).map_err(|error| failed(&error))?;
    let found = Certificate::from_pem_bundle(&bytes).map_err(|error| failed(&cause(&error)))?;
    if found.is_empty() { Err(failed(&"it contains no certificate")) } else { Ok(found) }
}
