//! TLS connections: failing ones, and a custom certificate authority.
//!
//! `tls/` holds an authority and a key for 127.0.0.1, made for these tests and used nowhere else: `openssl
//! req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 …`, valid for 100 years.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;

/// A file of the authority.
pub fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/tls").join(name)
}

/// The TLS configuration of servers at 127.0.0.1.
pub fn config() -> Arc<ServerConfig> {
    let chain = vec![CertificateDer::from_pem_file(file("server.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap())
}

/// A TLS server that answers every request successfully; returns its address.
pub fn server() -> String {
    server_of(OK)
}

/// A TLS server that answers with these events.
fn server_of(events: impl Into<String>) -> String {
    let config = config();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let events = events.into();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, socket);
            let mut request = vec![0; 64 * 1024];
            // Fails if the client does not trust the certificate.
            if stream.read(&mut request).is_ok() {
                let _ = stream.write_all(&super::stream(&events));
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
    });
    format!("https://{address}")
}

#[tokio::test]
async fn a_handshake_that_fails_names_the_host() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let _ = socket.read(&mut [0; 4096]);
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let observed = go(bench(&format!("https://{address}"), direct(), RetryMode::Headless)).await;
    assert_eq!(observed.answers(), ["Error"]);
    let told = format!("cannot connect to {address}: it does not answer in TLS");
    assert!(observed.words().contains(&told), "{}", observed.words());
}

#[tokio::test]
async fn the_way_to_an_app_server_is_made_like_any_other() {
    use tau::agent::provider::proxy::Proxy;

    let events = [
        r#"{"type":"text_start","contentIndex":0}"#,
        r#"{"type":"text_delta","contentIndex":0,"delta":"ok"}"#,
        r#"{"type":"text_end","contentIndex":0}"#,
        r#"{"type":"done","reason":"stop"}"#,
    ];
    let url = server_of(events.map(|event| format!("data: {event}\n\n")).concat());
    for (ca_file, answer) in [(None, "Error"), (Some(file("ca.pem")), "Stop ok")] {
        let http = Arc::new(Http::new(Network { ca_file, ..direct() }));
        let proxy = Proxy::new(&url, "let-me-in-please").with_http(http, SHORT);
        let observed = go(Bench::with(Arc::new(proxy), |config| config.max_retries = 0)).await;
        assert_eq!(observed.answers(), [answer], "{}", observed.words());
    }
    // Nor does it wait forever.
    let silent = Server::start(vec![Act::Stall(Vec::new())]).await;
    let proxy = Proxy::new(&silent.url(), "let-me-in-please").with_http(Arc::default(), SHORT);
    let observed = go(Bench::with(Arc::new(proxy), |config| config.max_retries = 0)).await;
    assert!(observed.words().contains("no data from"), "{}", observed.words());
}

#[tokio::test]
async fn an_authority_of_ones_own_is_trusted_when_it_is_set() {
    let url = server();
    let observed = go(bench(&url, direct(), RetryMode::Headless)).await;
    assert_eq!(observed.answers(), ["Error"]);
    assert!(observed.words().contains("ca_file in config.toml"), "{}", observed.words());

    let network = Network { ca_file: Some(file("ca.pem")), ..direct() };
    let observed = go(bench(&url, network, RetryMode::Headless)).await;
    assert_eq!(observed.answers(), ["Stop ok"], "{}", observed.words());

    for (name, words) in
        [("missing.pem", "missing.pem: No such file"), ("server.key", "it contains no certificate")]
    {
        let network = Network { ca_file: Some(file(name)), ..direct() };
        let observed = go(bench(&url, network, RetryMode::Headless)).await;
        assert_eq!(observed.answers(), ["Error"]);
        assert!(observed.words().contains(words), "{}", observed.words());
    }
}
