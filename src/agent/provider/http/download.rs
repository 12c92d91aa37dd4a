//! Downloads files of releases. No key is sent, so redirects are followed, but never to a connection that others
//! could change.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, LOCATION};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{
    Http, ResponseBody, address, authority, disconnect_failure, is_loopback, of_proxy, read_error_response,
    transport_failure, web_page,
};
use crate::provider::classify::NOT_THE_API;
use crate::provider::http::peer::Peer;
use crate::provider::{Failure, FailureKind, Headers};
use crate::secrets::Secrets;

/// The maximum number of redirects.
const REDIRECTS: usize = 5;
/// The longest wait for the beginning of an answer, and for each next part of it.
const WAIT: Duration = Duration::from_secs(60);

impl Http {
    /// Fetches `url`, up to `limit` bytes, over HTTPS or from this machine. Fails when the status is not 200,
    /// a redirect leads to an unsafe address, the file is larger, or there is no answer for a minute.
    pub async fn download(&self, url: &str, limit: usize) -> Result<Vec<u8>, Failure> {
        self.download_within(url, limit, WAIT).await
    }

    async fn download_within(&self, url: &str, limit: usize, wait: Duration) -> Result<Vec<u8>, Failure> {
        let mut next = address(url).map_err(of_file)?;
        for _ in 0..=REDIRECTS {
            if next.scheme() != "https" && !is_loopback(&next) {
                let text = format!("{} is not reached over HTTPS", authority(&next));
                return Err(Failure::new(FailureKind::Config, text));
            }
            let peer = Peer::of(&next, &self.network.proxy);
            let sending = self.worker.spawn(self.client(&next)?.get(next.clone()).send());
            let answered =
                timeout(wait, sending).await.map_err(|_| silent(&peer))?.map_err(|_| disconnect_failure())?;
            let response = answered.map_err(|error| download_failure(&error, &peer))?;
            match response.status().as_u16() {
                200 => {
                    let body = ResponseBody::read(response, peer.clone(), &self.worker, self.pace);
                    let bytes = whole(body, limit, wait, &peer).await?;
                    return match web_page(200, &bytes, &Secrets::default(), &peer) {
                        Some(failure) => Err(of_file(failure)),
                        None => Ok(bytes),
                    };
                }
                301 | 302 | 303 | 307 | 308 => next = target(&next, response.headers())?,
                status @ (404 | 410) => {
                    let text = format!("HTTP {status}: there is no such file");
                    return Err(Failure::new(FailureKind::Protocol, text));
                }
                status => {
                    let (failure, is_page) =
                        read_error_response(response, &Headers::default(), &CancellationToken::new()).await;
                    return Err(of_proxy(of_file(failure), status, &peer, is_page));
                }
            }
        }
        Err(Failure::new(FailureKind::Protocol, format!("{} redirects too often", authority(&next))))
    }
}

/// The failure as one of a file: the usual advice is about models and providers.
fn of_file(failure: Failure) -> Failure {
    let page = failure.message.strip_prefix(NOT_THE_API);
    let (message, hint) = match page {
        Some(rest) => {
            let hint = "check whether a filter, a proxy or a login page is in between";
            (format!("a web page answered, not the file{rest}"), Some(hint.to_owned()))
        }
        None => (failure.message, None),
    };
    Failure { message, hint, ..failure }
}

/// The failure of a connection. Advice about proxies and certificates holds for files, too.
fn download_failure(error: &reqwest::Error, peer: &Peer) -> Failure {
    let mut failure = transport_failure(error, peer);
    if failure.kind == FailureKind::Network && peer.proxy().is_none() {
        failure.hint = None;
    }
    failure
}

/// The address that a redirect leads to. A download over HTTPS stays one.
fn target(from: &Url, headers: &HeaderMap) -> Result<Url, Failure> {
    let host = authority(from);
    let named = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let to = named.and_then(|named| from.join(named).ok());
    let to = to.ok_or_else(|| {
        Failure::new(FailureKind::Protocol, format!("{host} redirects without a valid address"))
    })?;
    if from.scheme() == "https" && to.scheme() != "https" {
        let text = format!("{host} redirects to {}, which is not reached over HTTPS", authority(&to));
        return Err(Failure::new(FailureKind::Config, text));
    }
    Ok(to)
}

fn silent(peer: &Peer) -> Failure {
    Failure::new(FailureKind::Timeout, format!("timed out waiting for {}", peer.host()))
}

async fn whole(
    mut body: ResponseBody,
    limit: usize,
    wait: Duration,
    peer: &Peer,
) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    while let Some(part) = timeout(wait, body.chunk()).await.map_err(|_| silent(peer))?? {
        if part.len() > limit.saturating_sub(bytes.len()) {
            let text = format!("the file is larger than {limit} bytes");
            return Err(Failure::new(FailureKind::Protocol, text));
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    use super::*;
    use crate::provider::http::Network;

    #[tokio::test]
    async fn a_silent_server_is_not_awaited_for_ever() {
        for head in ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx"] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/x", listener.local_addr().unwrap());
            let http = Http::new(Network::default());
            let download = http.download_within(&url, 100, Duration::from_millis(300));
            let serve = async {
                let (mut socket, _) = listener.accept().await.unwrap();
                socket.write_all(head.as_bytes()).await.unwrap();
                std::future::pending::<()>().await;
            };
            let failure =
                tokio::select! { ended = download => ended.unwrap_err(), () = serve => unreachable!() };
            assert_eq!(failure.kind, FailureKind::Timeout, "{failure}");
        }
    }
}
