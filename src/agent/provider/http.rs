//! HTTP: sends a finished request and returns the body as it arrives.
//!
//! The only place that knows the HTTP client. A redirect is never followed: the key goes to the configured
//! address and nowhere else. Loopback addresses are never reached through a proxy. `client` sets up the
//! clients. `classify` interprets error answers; the agent's loop decides on retries.

mod body;
mod client;
mod download;
mod exchange;
pub(crate) mod guarded;
mod peer;
mod read_pace;
pub mod tau_server;
mod worker;

use std::collections::HashMap;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response};
use tokio_util::sync::CancellationToken;

use super::classify::from_status;
use super::error_text::{is_page, shorten};
use super::sigv4::host as authority;
use super::{Failure, FailureKind, Headers, HttpRequest};
use crate::secrets::Secrets;
pub use body::ResponseBody;
use client::Clients;
pub use client::{Network, ProxyChoice};
use peer::Peer;
use read_pace::{FRAME, ReadPace};
use tau_protocol::plan_limits::PlanWindow;
use tau_tools::times::now;
pub use worker::RuntimeThread;
use worker::Worker;

/// The time limit for the rest of an error answer.
const ERROR_BODY: Duration = Duration::from_secs(10);

/// The maximum bytes of an error answer that are read.
const ERROR_BYTES: usize = 64 * 1024;
/// The hint for an untrusted certificate.
const PRIVATE_CA: &str = "for a private CA, set ca_file in config.toml to its certificate";

/// The client.
#[derive(Debug, Default)]
pub struct Http {
    network: Network,
    clients: Clients,
    worker: Worker,
    /// How small pieces of answers are collected.
    pace: ReadPace,
}

/// A request that got no answer, or an error as its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestFailure {
    pub failure: Failure,
    /// How much of the plan's limits is used, if the answer says so.
    pub(crate) plan: Vec<PlanWindow>,
}

impl From<Failure> for RequestFailure {
    fn from(failure: Failure) -> Self {
        RequestFailure { failure, plan: Vec::new() }
    }
}

/// The error of a client from [`Http::bare`].
pub(crate) type ClientError = reqwest::Error;

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Get,
    Post,
}

impl Http {
    /// Makes requests over connections with these settings.
    pub fn new(network: Network) -> Self {
        Http { network, ..Http::default() }
    }

    /// The settings of its connections.
    pub(crate) fn network(&self) -> &Network {
        &self.network
    }

    /// Uses a separate thread for the connections. It sleeps while more of an answer may arrive, so it is for
    /// a single agent whose user sees the answer at the pace of a screen.
    #[must_use]
    pub fn on_own_thread(self) -> Self {
        Http { worker: Worker::own_thread(), pace: ReadPace::up_to(FRAME), ..self }
    }

    /// Pauses for at most `longest` to collect small pieces of an answer.
    #[must_use]
    pub fn pausing_up_to(self, longest: Duration) -> Self {
        Http { pace: ReadPace::up_to(longest), ..self }
    }

    /// Sends a POST and waits for the head of its answer. The only time limit is that for the connection; the
    /// caller sets its own. Fails when the status is 300 or above, or there is no answer; keys are removed
    /// from the message.
    pub async fn send(
        &self,
        request: &HttpRequest,
        cancel: &CancellationToken,
    ) -> Result<ResponseBody, RequestFailure> {
        let body = serde_json::to_vec(&request.body).map_err(|error| {
            Failure::new(FailureKind::Request, format!("the request cannot be written: {error}"))
        })?;
        self.perform(Method::Post, &request.url, &request.headers, body, cancel).await
    }

    /// Fetches `url`, up to `limit` bytes; for lists of models. Fails like [`Http::send`], and when the
    /// answer is larger.
    pub async fn get(
        &self,
        url: &str,
        headers: &Headers,
        limit: usize,
        cancel: &CancellationToken,
    ) -> Result<String, Failure> {
        let got = self.perform(Method::Get, url, headers, Vec::new(), cancel).await;
        text(got.map_err(|unanswered| unanswered.failure)?, limit).await
    }

    /// Sends a POST and reads the whole answer, up to `limit` bytes. Fails like [`Http::send`], and when the
    /// answer is larger.
    pub(crate) async fn post(
        &self,
        request: &HttpRequest,
        limit: usize,
        cancel: &CancellationToken,
    ) -> Result<String, Failure> {
        let body = self.send(request, cancel).await.map_err(|unanswered| unanswered.failure)?;
        text(body, limit).await
    }

    /// The client for an address and its headers, for a protocol implemented elsewhere. Fails when the
    /// address or a header is invalid, or the client cannot be set up.
    pub(crate) fn bare(
        &self,
        url: &str,
        headers: &Headers,
    ) -> Result<(Client, HashMap<HeaderName, HeaderValue>), Failure> {
        let parsed = address(url)?;
        let named = header_map(headers)?.into_iter().filter_map(|(name, value)| Some((name?, value)));
        Ok((self.client(&parsed)?.clone(), named.collect()))
    }

    async fn perform(
        &self,
        method: Method,
        url: &str,
        headers: &Headers,
        body: Vec<u8>,
        cancel: &CancellationToken,
    ) -> Result<ResponseBody, RequestFailure> {
        let parsed = address(url)?;
        let peer = Peer::of(&parsed, &self.network.proxy);
        let client = self.client(&parsed)?;
        let request = match method {
            Method::Get => client.get(parsed),
            Method::Post => client.post(parsed).body(body),
        };
        let sending = self.worker.spawn(request.headers(header_map(headers)?).send());
        let answered = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(abort_failure().into()),
            answered = sending => answered.map_err(|_| disconnect_failure())?,
        };
        let response = answered.map_err(|error| transport_failure(&error, &peer))?;
        match response.status().as_u16() {
            200..=299 => Ok(ResponseBody::read(response, peer, &self.worker, self.pace)),
            300..=399 => Err(redirect_failure(&response, peer.host()).into()),
            status => {
                let plan = body::plan_of(&response);
                let (failure, is_page) = read_error_response(response, headers, cancel).await;
                let failure = of_proxy(failure, status, &peer, is_page);
                Err(RequestFailure { failure, plan })
            }
        }
    }

    fn client(&self, url: &reqwest::Url) -> Result<&Client, Failure> {
        self.clients.of(url, &self.network, &|builder| builder)
    }
}

/// A whole body of at most `limit` bytes.
async fn text(mut body: ResponseBody, limit: usize) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    while let Some(part) = body.chunk().await? {
        bytes.extend_from_slice(&part);
        if bytes.len() > limit {
            let message = format!("the answer is larger than {limit} bytes");
            return Err(Failure::new(FailureKind::Protocol, message));
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The failure of a request that the user stopped.
pub(super) fn abort_failure() -> Failure {
    Failure::new(FailureKind::Aborted, "stopped")
}

/// The failure of a connection that ended silently, for example when the program is about to end.
fn disconnect_failure() -> Failure {
    Failure::new(FailureKind::Network, "the connection was closed")
}

/// The address, if a request can be sent to it.
fn address(url: &str) -> Result<reqwest::Url, Failure> {
    let unusable = |why: &str| {
        // User name and password may precede an `@`.
        let shown = url.rsplit_once('@').map_or(url, |(_, rest)| rest);
        let shown: String = shown.chars().take(200).collect();
        Failure::new(FailureKind::Config, format!("cannot send requests to {shown:?}: {why}")).hint(
            "write the base URL in full, for example http://localhost:8080/v1 or https://api.example.com/v1",
        )
    };
    if url.starts_with('/') {
        let hint = "set AZURE_OPENAI_ENDPOINT for azure, or base_url of another provider in models.toml";
        return Err(Failure::new(FailureKind::Config, "the provider has no address").hint(hint));
    }
    // Without the slashes a host would be parsed as a scheme (`localhost:8080`), or a path as a host.
    if !url.contains("://") {
        return Err(unusable("it does not begin with http:// or https://"));
    }
    match reqwest::Url::parse(url) {
        Ok(parsed) if matches!(parsed.scheme(), "http" | "https") => Ok(parsed),
        Ok(parsed) => Err(unusable(&format!("{}:// is not supported", parsed.scheme()))),
        Err(error) => Err(unusable(&error.to_string())),
    }
}

fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn header_map(headers: &Headers) -> Result<HeaderMap, Failure> {
    let mut map = HeaderMap::new();
    for (name, value) in &headers.0 {
        let wrong = || {
            Failure::new(
                FailureKind::Config,
                format!("the header {name:?} cannot be sent: it has forbidden characters"),
            )
            .hint("check the API key and the headers of this provider")
        };
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut content = HeaderValue::from_str(value).map_err(|_| wrong())?;
        content.set_sensitive(Headers::may_hold_key(name));
        map.insert(header, content);
    }
    Ok(map)
}

fn redirect_failure(response: &Response, host: &str) -> Failure {
    let target = response.headers().get("location").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let target = match reqwest::Url::parse(target) {
        Ok(url) => format!("{}://{}", url.scheme(), authority(&url)),
        Err(_) => "another address".to_owned(),
    };
    let status = response.status().as_u16();
    Failure::new(
        FailureKind::Request,
        format!("{host} redirects to {target} (status {status}); tau does not follow redirects"),
    )
    .hint("if you trust that address, set it as the provider's base URL")
}

/// The failure in an error answer, without the keys of the request, and whether it is a web page. Only the part of the
/// body that arrives in time is read.
async fn read_error_response(
    mut response: Response,
    headers: &Headers,
    cancel: &CancellationToken,
) -> (Failure, bool) {
    let status = response.status().as_u16();
    let lower = |(name, value): (&HeaderName, &HeaderValue)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    };
    let answered: Vec<(String, String)> = response.headers().iter().filter_map(lower).collect();
    let mut bytes = Vec::new();
    let reading = async {
        while let Ok(Some(part)) = response.chunk().await {
            bytes.extend_from_slice(&part);
            if bytes.len() > ERROR_BYTES {
                break;
            }
        }
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => return (abort_failure(), false),
        () = tokio::time::sleep(ERROR_BODY) => {}
        () = reading => {}
    }
    let text = String::from_utf8_lossy(&bytes);
    (from_status(&headers.secrets(), status, &answered, &text, now()), is_page(&text))
}

/// The failure if a web page came in place of a file or of another program's answer.
fn web_page(status: u16, body: &[u8], secrets: &Secrets, peer: &Peer) -> Option<Failure> {
    let text = String::from_utf8_lossy(body.get(..ERROR_BYTES).unwrap_or(body));
    let page = is_page(&text).then(|| from_status(secrets, status, &[], &text, now()))?;
    Some(of_proxy(page, status, peer, true))
}

/// The failure with the proxy in it, if the answer may be the proxy's own: by its status, which it can be for plain
/// HTTP, or as a page.
fn of_proxy(failure: Failure, status: u16, peer: &Peer, is_page: bool) -> Failure {
    let may_be_its = is_page || matches!(status, 403 | 407 | 502..=504);
    let Some(proxy) = peer.proxy().filter(|_| may_be_its) else { return failure };
    let said = match is_page {
        true => format!("{}, by way of {proxy}", failure.message),
        false => format!("{} (status {status}, {peer})", failure.message),
    };
    let message = shorten(&said);
    match status {
        407 => Failure::new(FailureKind::Config, message).hint(format!("{}: {}", LOGIN.0, LOGIN.1)),
        _ => Failure { message, ..failure },
    }
}

fn transport_failure(error: &reqwest::Error, peer: &Peer) -> Failure {
    let cause = cause(error);
    let check_proxy = || {
        let named_by = &peer.proxy()?.named_by;
        Some(format!("check {named_by}, or go without a proxy: proxy = \"none\" in config.toml, or NO_PROXY"))
    };
    let (kind, what, hint) = if is_certificate_fault(error) {
        let what = format!("cannot trust the certificate of {peer}");
        (FailureKind::Config, what, Some(PRIVATE_CA.to_owned()))
    } else if error.is_timeout() {
        (FailureKind::Timeout, format!("timed out waiting for {peer}"), check_proxy())
    } else if error.is_builder() {
        (FailureKind::Config, format!("cannot send a request to {peer}"), None)
    } else if error.is_connect() {
        let usual = "check the provider's base URL, and that the network or the local server is up";
        let hint = check_proxy().unwrap_or_else(|| usual.to_owned());
        (FailureKind::Network, format!("cannot connect to {peer}"), Some(hint))
    } else if error.is_body() || error.is_decode() {
        (FailureKind::Network, format!("connection to {peer} lost mid-answer"), None)
    } else {
        (FailureKind::Network, format!("connection to {peer} lost"), check_proxy())
    };
    let known = KNOWN_CAUSES.iter().find(|(part, _, through)| {
        cause.contains(part) && (through.is_empty() || peer.proxy().is_some_and(|it| it.begins_with(through)))
    });
    let (kind, cause, hint) = match known {
        // None of these ends by itself.
        Some((_, (cause, hint), _)) => (FailureKind::Config, (*cause).to_owned(), Some((*hint).to_owned())),
        None => (kind, cause, hint),
    };
    let failure = Failure::new(kind, shorten(&format!("{what}: {cause}")));
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Causes that a retry does not help, by a part of their text: their words, the remedy, and the schemes of proxies
/// that they are about.
const KNOWN_CAUSES: [(&str, (&str, &str), &[&str]); 5] = [
    (
        "CaUsedAsEndEntity",
        (
            "the server shows the certificate of a CA as its own",
            "give the server a certificate that the CA signed, and set ca_file in config.toml to that of the CA",
        ),
        &[],
    ),
    (
        "InvalidContentType",
        ("it does not answer in TLS", "if it speaks plain HTTP, begin its address with http://"),
        &[],
    ),
    ("proxy authorization required", LOGIN, &[]),
    ("does not support user/pass", LOGIN, &[]),
    (
        "failed to lookup address",
        (
            "no host has this name for this machine",
            "write the address of the proxy as socks5h://HOST:PORT, so that the proxy looks up the names of hosts",
        ),
        &["socks5://", "socks4://"],
    ),
];

/// The cause and the remedy if a proxy wants a login.
const LOGIN: (&str, &str) =
    ("the proxy wants a login", "write it into the address of the proxy: http://NAME:PASSWORD@HOST:PORT");

/// Whether the server's certificate is not trusted: a retry does not help.
fn is_certificate_fault(error: &reqwest::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = cause {
        let wrapped = current.downcast_ref::<std::io::Error>().and_then(|error| error.get_ref());
        let tls = current.downcast_ref().or_else(|| wrapped?.downcast_ref());
        if matches!(tls, Some(rustls::Error::InvalidCertificate(_))) {
            return true;
        }
        // The source of such an error is that of the inner error.
        cause = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => current.source(),
        };
    }
    false
}

/// The message of the innermost cause, which is the most specific.
fn cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
