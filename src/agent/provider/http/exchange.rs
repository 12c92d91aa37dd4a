//! A complete answer to a complete request, for a protocol implemented elsewhere.
//!
//! The answer is bounded in size and time, and may have any status.

use std::time::Duration;

use reqwest::Client;
use tokio::time::timeout;

use super::guarded::{GuardedFailure, GuardedHttp};
use super::{Http, Peer, address, authority, transport_failure, web_page};
use crate::provider::{Failure, FailureKind, Headers};
use crate::secrets::Secrets;

impl GuardedHttp {
    /// Sends the request and returns its answer. Redirects are returned, not followed. At most `limit` bytes
    /// of the body are read, and everything takes at most `within`. Fails when there is no answer in time, or
    /// a larger one.
    pub(crate) async fn exchange(
        &self,
        request: http::Request<Vec<u8>>,
        limit: usize,
        within: Duration,
    ) -> Result<http::Response<Vec<u8>>, Failure> {
        let url = address(&request.uri().to_string())?;
        let host = authority(&url);
        let refused = |failure| match failure {
            GuardedFailure::Refused(address) => Failure::new(
                FailureKind::Request,
                format!("{host} leads to {address}, an address of this machine or its network"),
            ),
            GuardedFailure::Failed(failure) => failure,
        };
        let client = self.client_for(&url).await.map_err(refused)?;
        let lost = |error: &reqwest::Error| refused(super::guarded::failure(error, &host));
        send_request(client, request, &host, limit, within, &lost).await
    }
}

impl Http {
    /// Sends the request to an address that the user or tau has chosen, and returns its answer, within the
    /// limits of [`GuardedHttp::exchange`]. Fails when there is no answer in time, or a larger one, or a web page.
    pub(crate) async fn exchange(
        &self,
        request: http::Request<Vec<u8>>,
        limit: usize,
        within: Duration,
    ) -> Result<http::Response<Vec<u8>>, Failure> {
        let url = address(&request.uri().to_string())?;
        let peer = Peer::of(&url, &self.network.proxy);
        let lost = |error: &reqwest::Error| transport_failure(error, &peer);
        let mut secrets = Secrets::default();
        for (name, value) in request.headers() {
            if let Some(value) = value.to_str().ok().filter(|_| Headers::may_hold_key(name.as_str())) {
                secrets.add_exactly(value);
            }
        }
        let answer = send_request(self.client(&url)?, request, peer.host(), limit, within, &lost).await?;
        match web_page(answer.status().as_u16(), answer.body(), &secrets, &peer) {
            Some(failure) => Err(failure),
            None => Ok(answer),
        }
    }
}

/// The answer of a client; `limits` are the largest body in bytes and the longest time.
async fn send_request(
    client: &Client,
    request: http::Request<Vec<u8>>,
    host: &str,
    limit: usize,
    within: Duration,
    lost: &(dyn Fn(&reqwest::Error) -> Failure + Sync),
) -> Result<http::Response<Vec<u8>>, Failure> {
    let invalid = |_| Failure::new(FailureKind::Protocol, format!("the request to {host} cannot be written"));
    let request = reqwest::Request::try_from(request).map_err(invalid)?;
    let exchanging = async {
        let mut response = client.execute(request).await.map_err(|error| lost(&error))?;
        let mut answer = http::Response::new(Vec::new());
        *answer.status_mut() = response.status();
        *answer.headers_mut() = std::mem::take(response.headers_mut());
        while let Some(part) = response.chunk().await.map_err(|error| lost(&error))? {
            if part.len() > limit.saturating_sub(answer.body().len()) {
                let text = format!("the answer of {host} is larger than {} KB", limit / 1024);
                return Err(Failure::new(FailureKind::Protocol, text));
            }
            answer.body_mut().extend_from_slice(&part);
        }
        Ok(answer)
    };
    match timeout(within, exchanging).await {
        Ok(answer) => answer,
        Err(_) => Err(Failure::new(FailureKind::Timeout, format!("timed out waiting for {host}"))),
    }
}
