//! Finds model servers that run on this machine, to offer them.
//!
//! Only loopback is ever asked, only when nothing is configured, in the background. The request is plain
//! HTTP/1.0 without a key, so it needs no HTTP client; answers are bounded in size and time, and anything but
//! a list of models counts as no server.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use tau_agent::catalogue::listing::{self, ServerModel};
use tau_agent::catalogue::providers::local_address;

/// A server that answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LocalServer {
    /// The usual server on that port.
    pub name: String,
    pub port: u16,
    /// Address for `--base-url`, with the wire format `openai-completions`.
    pub base_url: String,
    /// Its models, in its own order; at least one.
    pub models: Vec<ServerModel>,
}

/// Time limit for a server. A local one answers within a few milliseconds.
const TIMEOUT: Duration = Duration::from_millis(300);
/// Maximum size of an answer, in bytes.
const ANSWER_BYTES: u64 = 1 << 20;

/// Asks the servers of `known` in parallel; returns the ones that answered, in that order. Takes at most 300
/// ms.
pub(crate) async fn local_servers(known: &[(&str, u16)]) -> Vec<LocalServer> {
    let asked = known.iter().map(|(name, port)| async move {
        let models = tokio::time::timeout(TIMEOUT, models(*port)).await.ok().flatten()?;
        Some(LocalServer { name: (*name).to_owned(), port: *port, base_url: local_address(*port), models })
    });
    futures_util::future::join_all(asked).await.into_iter().flatten().collect()
}

/// The port of a server's address: its explicit one, or the default of its scheme.
pub(crate) fn port_of(address: &str) -> Option<u16> {
    let (scheme, rest) = address.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    match host.rsplit_once(':') {
        Some((_, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !port.is_empty() => {
            port.parse().ok()
        }
        _ => Some(if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 }),
    }
}

/// The models of the server on `port`; `None` without such a server.
async fn models(port: u16) -> Option<Vec<ServerModel>> {
    let mut stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await.ok()?;
    let request = format!(
        "GET /v1/models HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES).read_to_end(&mut answer).await.ok()?;
    parse(&answer)
}

/// Parses an answer; some servers use chunks although HTTP/1.0 has none.
fn parse(answer: &[u8]) -> Option<Vec<ServerModel>> {
    let end = memchr::memmem::find(answer, b"\r\n\r\n")?;
    let head = std::str::from_utf8(answer.get(..end)?).ok()?.to_ascii_lowercase();
    let status = head.strip_prefix("http/1.")?.split_whitespace().nth(1)?;
    if status != "200" {
        return None;
    }
    let body = answer.get(end + 4..)?;
    let chunked =
        head.lines().any(|line| line.starts_with("transfer-encoding:") && line.ends_with("chunked"));
    let list: Value =
        if chunked { serde_json::from_slice(&unchunk(body)?) } else { serde_json::from_slice(body) }.ok()?;
    listing::parse(&list).filter(|models| !models.is_empty())
}

/// The body in the chunks of RFC 9112, section 7.1.
fn unchunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = memchr::memmem::find(rest, b"\r\n")?;
        let size = std::str::from_utf8(rest.get(..end)?).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        let start = end + 2;
        body.extend_from_slice(rest.get(start..start.checked_add(size)?)?);
        rest = rest.get(start + size + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// Listens on a free port, answers one request with `answer`, and keeps silent when it is empty.
    async fn server(answer: &'static str) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 512];
            let read = stream.read(&mut request).await.unwrap();
            assert!(request[..read].starts_with(b"GET /v1/models HTTP/1.0\r\n"));
            if answer.is_empty() {
                std::future::pending::<()>().await;
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        port
    }

    #[tokio::test]
    async fn only_servers_with_models_are_found() {
        let good = server("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"object\":\"list\",\"data\":[{\"id\":\"a\"},{\"id\":\"b\",\"x\":1}]}").await;
        let chunked = server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{\"data\":[{\"id\":\"\r\n5;x=y\r\nc\"}]}\r\n0\r\n\r\n").await;
        let page = server("HTTP/1.1 200 OK\r\n\r\n<html>").await;
        let missing = server("HTTP/1.1 404 Not Found\r\n\r\n{\"data\":[{\"id\":\"a\"}]}").await;
        let empty = server("HTTP/1.0 200 OK\r\n\r\n{\"data\":[]}").await;
        let silent = server("").await;
        let closed = {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            listener.local_addr().unwrap().port()
        };
        let start = std::time::Instant::now();
        let found = local_servers(&[
            ("silent", silent),
            ("good", good),
            ("page", page),
            ("missing", missing),
            ("empty", empty),
            ("closed", closed),
            ("chunked", chunked),
        ])
        .await;
        assert!(start.elapsed() < Duration::from_secs(2));
        let expected = [("good", good, vec!["a", "b"]), ("chunked", chunked, vec!["c"])];
        let expected: Vec<LocalServer> = expected
            .into_iter()
            .map(|(name, port, models)| LocalServer {
                name: name.into(),
                port,
                base_url: format!("http://127.0.0.1:{port}/v1"),
                models: models
                    .into_iter()
                    .map(|id| ServerModel { id: id.to_owned(), ..ServerModel::default() })
                    .collect(),
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_address_has_a_port() {
        let ports =
            ["http://127.0.0.1:8080/v1", "http://[::1]:9/x", "https://localhost/v1", "http://[::1]", "x"];
        assert_eq!(ports.map(port_of), [Some(8080), Some(9), Some(443), Some(80), None]);
    }

    #[test]
    fn cut_and_odd_answers_are_no_server() {
        let whole = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"dat\r\n0\r\n\r\n";
        for end in 0..whole.len() {
            assert_eq!(parse(&whole.as_bytes()[..end]), None, "cut at {end}");
        }
        for odd in [
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx",
            "\r\n\r\n",
            "HTTP/1.",
        ] {
            assert_eq!(parse(odd.as_bytes()), None, "{odd}");
        }
    }
}
