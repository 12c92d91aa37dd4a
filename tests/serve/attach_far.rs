//! `tau attach` from afar: over TLS, to a session that is too large, and without a connection at its end.

use std::time::Duration;

use serde_json::{Value, json};

use super::attach::{attached, attached_at, free_address, quiet, send, start_at};
use super::create;
use super::dropping::Dropping;
use super::tls_front::tls_front;
use crate::faults::tls::file;
use crate::screen::Screen;
use crate::support::program::{bare, run};

#[tokio::test]
async fn a_session_is_attached_to_over_tls() {
    let server = quiet().await;
    let id = create(&server, json!({})).await;
    let url = tls_front(&server.address);
    // The certificate is not trusted.
    let dir = tempfile::tempdir().unwrap();
    let mut untrusting = bare(dir.path());
    untrusting.args(["attach", &url, &id]).env("TERM", "xterm").env("TAU_SERVE_TOKEN", &server.token);
    let ended = run(&mut untrusting, None).await;
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert!(ended.err.contains("ca_file in config.toml"), "{}", ended.err);

    let script = format!("export TAU_SERVE_TOKEN={} TAU_CA_FILE={}", server.token, file("ca.pem").display());
    let far = Screen::prepared(&script, &format!("attach {url} {id}"), 160, 40);
    let near = attached(&server, &id);
    send(&far, "help");
    far.wait_for("↑");
    near.wait_for("↑");
    send(&near, "!echo from the other");
    far.wait_for("$ echo from the other");
    far.type_keys("\x04");
    far.wait_for(&format!("detached; the session continues: tau attach {url} {id}"));
}

#[tokio::test]
async fn of_a_session_that_is_too_large_for_a_screen_the_end_is_shown() {
    let server = quiet().await;
    let id = create(&server, json!({})).await;
    let path = format!("/api/sessions/{id}");
    let picture = json!({ "type": "image", "data": "A".repeat(25 << 20), "mimeType": "image/png" });
    for (text, images) in
        [("the first", json!([picture])), ("the second", json!([picture])), ("help", json!([]))]
    {
        let prompt = json!({ "prompt": text, "images": images, "detach": true, "streaming": "followUp" });
        server.send("POST", &format!("{path}/prompt"), &prompt).await.is(202);
    }
    while server.send("GET", &path, &Value::Null).await.is(200).json()["running"] == json!(true) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let screen = attached(&server, &id);
    screen.wait_for("the beginning of this session is too large to be shown here");
    screen.wait_for("I am a script");
    assert!(!screen.text().contains("the first"), "{}", screen.text());
    send(&screen, "!echo after it");
    screen.wait_for("$ echo after it");
}

#[tokio::test]
async fn leaving_without_a_connection_says_so_and_how_to_return() {
    let server = quiet().await;
    let id = create(&server, json!({})).await;
    let between = Dropping::to(&server.address);
    let screen = attached_at(&between.url(), &server.token, &id, 160);
    send(&screen, "help");
    screen.wait_for("↑");
    between.cut();
    screen.wait_for("connection lost");
    screen.type_keys("\x04");
    screen.wait_for("detached without a connection (");
    screen.wait_for(&format!("); to attach again: tau attach {} {id}", between.url()));
    assert!(!screen.text().contains("continues"), "{}", screen.text());
}

#[tokio::test]
async fn leaving_a_server_that_refuses_says_why_and_no_command() {
    let dir = tempfile::tempdir().unwrap();
    let address = free_address();
    let mut server = start_at(dir.path(), &address, "the-first-token-of-a-test").await;
    let screen = attached_at(&format!("http://{address}"), "the-first-token-of-a-test", "--new", 160);
    send(&screen, "help");
    screen.wait_for("↑");
    server.kill().await.unwrap();
    let _server = start_at(dir.path(), &address, "another-token-of-a-test").await;
    screen.wait_for("not connected");
    screen.wait_for("/resume opens another session, /quit leaves");
    screen.type_keys("\x04");
    screen.wait_for(&format!("detached: {address} does not take this token"));
    assert!(!screen.text().contains("tau attach"), "{}", screen.text());
}
