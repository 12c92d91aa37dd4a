//! Requests to the private socket of a process, as clients of another process send them.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::live::{only_id, other_terminal};
use crate::screen::{TIMEOUT, composer};

/// Begins a request to the session of a record; returns the connection, and the rest of the request.
fn begin(record: &Value, path: &str, body: &Value) -> (UnixStream, Vec<u8>) {
    let field = |name: &str| record[name].as_str().unwrap().to_owned();
    let mut socket = UnixStream::connect(field("address").trim_start_matches("unix:")).unwrap();
    socket.set_read_timeout(Some(crate::time_limit::SOON)).unwrap();
    let body = body.to_string().into_bytes();
    let head = format!(
        "POST /api/sessions/{}{path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
         connection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        field("id"),
        field("token"),
        body.len()
    );
    let (first, rest) = body.split_at(1);
    socket.write_all(&[head.as_bytes(), first].concat()).unwrap();
    (socket, rest.to_vec())
}

fn answer((mut socket, rest): (UnixStream, Vec<u8>)) -> String {
    // A process that refuses the request by its head may close the connection before the rest is written.
    let _ = socket.write_all(&rest);
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

/// The answer to a request.
pub(crate) fn post(record: &Value, path: &str, body: &Value) -> String {
    answer(begin(record, path, body))
}

fn record(home: &Path, id: &str) -> Value {
    let file = home.join(format!("tau/logs/live/{id}.json"));
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// The screen goes to another session while the request arrives: it must not reach that one.
#[test]
fn a_request_for_a_session_that_was_left_reaches_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    std::fs::create_dir_all(home.join("work")).unwrap();
    let screen = other_terminal(home, "$TAU_BIN --model demo");
    screen.wait_until("composer", |cells| composer(cells).is_some());
    screen.type_keys("help\r");
    screen.wait_for("scripted");
    let left = only_id(home);
    let slow =
        begin(&record(home, &left), "/prompt", &json!({ "prompt": "for the old one", "detach": true }));
    // The process has read the head, and waits for the body.
    std::thread::sleep(Duration::from_millis(300));
    screen.type_keys("/new\r");
    crate::time_limit::until(TIMEOUT, || only_id(home) != left, || "no other session is begun".to_owned());
    let answer = answer(slow);
    assert!(answer.starts_with("HTTP/1.1 409 "), "{answer}");
    screen.type_keys("help\r");
    screen.wait_for("scripted");
    assert!(!screen.text().contains("for the old one"), "{}", screen.text());
}
