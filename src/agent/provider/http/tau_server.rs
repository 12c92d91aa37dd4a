//! Requests of an attached screen to a `tau serve`, over TCP, its Unix socket, or a tunnel.
//!
//! As everywhere, redirects are not followed, and a server on this machine is not reached through a proxy.
//! Streams are read piece by piece as they arrive, without the pauses used for answers of models.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, Response, Url};

use super::client::{self, Roots};
use super::{
    Network, PRIVATE_CA, Peer, ProxyChoice, address, authority, header_map, is_loopback, transport_failure,
};
use crate::provider::{Failure, FailureKind, Headers};

/// The time limit of a request that is not a stream.
const REQUEST: Duration = Duration::from_secs(60);
/// The time that a connection is kept for the next request: less than the server waits for one.
const IDLE: Duration = Duration::from_secs(15);
/// The maximum size of an answer, in bytes.
const MAX_SIZE: usize = 256 * 1024 * 1024;

/// The interval at which a tunnel is tried, and the longest wait for its answer.
const TRIED: Duration = Duration::from_secs(10);
const LOST: Duration = Duration::from_secs(20);

/// A server and its address.
#[derive(Clone, Debug)]
pub struct TauServer {
    client: Client,
    base: Url,
    headers: HeaderMap,
    name: String,
    is_private: bool,
}

/// A complete answer.
#[derive(Clone, Debug)]
pub struct ServerAnswer {
    pub status: u16,
    pub body: Vec<u8>,
    /// The file name, if the answer is a file.
    pub file: Option<String>,
}

/// An answer that is read as it arrives.
#[derive(Debug)]
pub struct ServerStream {
    response: Response,
    name: String,
}

/// The answer to a request that was passed on.
#[derive(Debug)]
pub struct PassedOn {
    pub status: u16,
    pub headers: Headers,
    pub body: ServerStream,
}

impl TauServer {
    /// The server at this address, with headers for every request. With a `socket` it is reached there, and
    /// the address is only its name. Fails when the address or a header is invalid, or the client cannot be
    /// set up.
    pub fn at(
        url: &str,
        socket: Option<PathBuf>,
        headers: &Headers,
        network: &Network,
    ) -> Result<Self, Failure> {
        let base = address(url)?;
        let is_near = is_loopback(&base) || socket.is_some();
        let proxy = if is_near { &ProxyChoice::Never } else { &network.proxy };
        let roots = if base.scheme() == "http" { Roots::None } else { Roots::System };
        let client = client::build_with(network, proxy, roots, &|builder| {
            let builder = builder.pool_idle_timeout(IDLE);
            match &socket {
                Some(path) => builder.unix_socket(path.clone()),
                None => builder,
            }
        })?;
        let name = socket.map_or_else(|| authority(&base), |path| path.display().to_string());
        let is_private = is_near || base.scheme() == "https";
        Ok(TauServer { client, base, headers: header_map(headers)?, name, is_private })
    }

    /// The server behind a tunnel that begins at this socket, with a name for the user. All requests share one
    /// connection, as HTTP/2. Fails when a header is invalid, or the client cannot be set up.
    pub fn behind(
        socket: PathBuf,
        name: String,
        headers: &Headers,
        network: &Network,
    ) -> Result<Self, Failure> {
        let client = client::build_with(network, &ProxyChoice::Never, Roots::None, &|builder| {
            builder
                .unix_socket(socket.clone())
                .http2_prior_knowledge()
                .http2_adaptive_window(true)
                .http2_keep_alive_interval(TRIED)
                .http2_keep_alive_timeout(LOST)
                .pool_idle_timeout(None)
        })?;
        let base = address("http://localhost")?;
        Ok(TauServer { client, base, headers: header_map(headers)?, name, is_private: true })
    }

    /// Its name for the user: host and port, or the socket.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the connection cannot be read by others.
    pub fn is_private(&self) -> bool {
        self.is_private
    }

    /// Sends a POST with JSON.
    pub async fn post(&self, path: &str, body: Vec<u8>) -> Result<ServerAnswer, Failure> {
        self.read_json(self.client.post(self.place(path)?), body).await
    }

    /// Sends a PATCH with JSON.
    pub async fn patch(&self, path: &str, body: Vec<u8>) -> Result<ServerAnswer, Failure> {
        self.read_json(self.client.patch(self.place(path)?), body).await
    }

    /// Sends a GET.
    pub async fn get(&self, path: &str) -> Result<ServerAnswer, Failure> {
        self.read(self.client.get(self.place(path)?)).await
    }

    /// Opens a stream; the response itself if it is not a stream.
    pub async fn stream(&self, path: &str) -> Result<Result<ServerStream, ServerAnswer>, Failure> {
        let request = self.client.get(self.place(path)?).header("accept", "text/event-stream");
        let sent = tokio::time::timeout(REQUEST, request.headers(self.headers.clone()).send()).await;
        let response = sent.map_err(|_| self.silent())?.map_err(|error| self.connection_failure(&error))?;
        if response.status().is_success() {
            return Ok(Ok(ServerStream { response, name: self.name.clone() }));
        }
        self.whole(response).await.map(Err)
    }

    /// Passes on a request of another client: its method, path, headers and body. The answer has no time limit,
    /// since it may be a stream. Fails when there is no answer, or the request is invalid.
    pub async fn pass_on(
        &self,
        method: &str,
        path: &str,
        headers: &Headers,
        body: Vec<u8>,
    ) -> Result<PassedOn, Failure> {
        let invalid = |_| Failure::new(FailureKind::Protocol, format!("{method:?} is not a method"));
        let method = Method::from_bytes(method.as_bytes()).map_err(invalid)?;
        let request = self.client.request(method, self.place(path)?).headers(self.headers.clone());
        let sent = request.headers(header_map(headers)?).body(body).send().await;
        let response = sent.map_err(|error| self.connection_failure(&error))?;
        let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
        let named = response.headers().iter();
        let headers = named.filter_map(|(name, value)| Some((name.as_str().to_owned(), text(value)?)));
        let (status, headers) = (response.status().as_u16(), Headers(headers.collect()));
        Ok(PassedOn { status, headers, body: ServerStream { response, name: self.name.clone() } })
    }

    async fn read_json(&self, request: RequestBuilder, body: Vec<u8>) -> Result<ServerAnswer, Failure> {
        self.read(request.header("content-type", "application/json").body(body)).await
    }

    async fn read(&self, request: RequestBuilder) -> Result<ServerAnswer, Failure> {
        let response = request.timeout(REQUEST).headers(self.headers.clone()).send().await;
        self.whole(response.map_err(|error| self.connection_failure(&error))?).await
    }

    async fn whole(&self, mut response: Response) -> Result<ServerAnswer, Failure> {
        let status = response.status().as_u16();
        let named = response.headers().get("content-disposition").and_then(|value| value.to_str().ok());
        let named = named.and_then(|value| value.split_once("filename=\""));
        let file = named.and_then(|(_, rest)| rest.split_once('"')).map(|(name, _)| name.to_owned());
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| self.connection_failure(&error))? {
            body.extend_from_slice(&piece);
            if body.len() > MAX_SIZE {
                let text = format!("the answer of {} is larger than {MAX_SIZE} bytes", self.name);
                return Err(Failure::new(FailureKind::Protocol, text));
            }
        }
        Ok(ServerAnswer { status, body, file })
    }

    fn place(&self, path: &str) -> Result<Url, Failure> {
        let base = self.base.as_str().trim_end_matches('/');
        address(&format!("{base}{path}"))
    }

    fn connection_failure(&self, error: &reqwest::Error) -> Failure {
        connection_failure(error, &self.name)
    }

    fn silent(&self) -> Failure {
        Failure::new(FailureKind::Timeout, format!("{} does not answer", self.name))
    }
}

impl ServerStream {
    /// The next bytes; `None` at the end.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let piece = self.response.chunk().await;
        Ok(piece.map_err(|error| connection_failure(&error, &self.name))?.map(Vec::from))
    }
}

/// The failure of a connection to a server. Other hints than this one are about providers.
fn connection_failure(error: &reqwest::Error, name: &str) -> Failure {
    let failure = transport_failure(error, &Peer::direct(name));
    let hint = failure.hint.filter(|hint| hint == PRIVATE_CA);
    Failure { hint, ..failure }
}
