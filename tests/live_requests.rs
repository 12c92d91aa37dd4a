//! Requests to the private socket of a process, as clients of another process send them.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::live::{Home, only_id, other_terminal};
use crate::screen::{TIMEOUT, composer};
use crate::support::program::{models_file, says};
use crate::support::server::Server;

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

/// What another program sends and tau refuses, at once or later, is told to that program, and is in no composer.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_comes_back_to_no_other_screen() {
    let (home, server) = (Home::new(), Server::start(vec![says("an answer")]).await);
    let hook = "[[hooks.UserPromptSubmit]]\ncommand = 'if grep -q forbidden; then echo no >&2; exit 2; fi'\n";
    std::fs::create_dir_all(home.at("tau")).unwrap();
    std::fs::write(home.at("tau/config.toml"), hook).unwrap();
    std::fs::write(home.at("tau/models.toml"), models_file(&server.url(), "")).unwrap();
    let own = other_terminal(home.0.path(), "$TAU_BIN --model own/m");
    own.wait_until("composer", |cells| composer(cells).is_some());
    own.type_keys("begin\r");
    own.wait_for("an answer");
    let id = only_id(home.0.path());
    let attached = other_terminal(home.0.path(), &format!("$TAU_BIN attach {id}"));
    attached.wait_for("an answer");
    own.type_keys("of my own");
    attached.type_keys("of another");
    let are_untouched = || {
        own.wait_for_composer("of my own");
        attached.wait_for_composer("of another");
    };
    are_untouched();
    let record = record(home.0.path(), &id);
    for (text, why) in [
        ("/nope", "unknown command /nope"),
        ("/undo", "`/undo` is a command of the screen"),
        ("/goal true", "`/goal` is a command of the screen"),
        ("!ls", "`!` runs a command on the screen"),
    ] {
        for (path, field) in [("/prompt", "prompt"), ("/steer", "text"), ("/follow-up", "text")] {
            let answer = post(&record, path, &json!({ field: text }));
            assert!(answer.starts_with("HTTP/1.1 422 ") && answer.contains(why), "{path} {text}: {answer}");
        }
        let (code, out, err) = home.run(&["send", &id, text]);
        assert!(code > Some(0) && out.is_empty() && err.contains(why), "{text}: {code:?} {out}{err}");
    }
    for session in [&["--session", &id][..], &["--model", "own/m"]] {
        let (code, out, err) = home.run(&[&["-b"], session, &["/nope"]].concat());
        assert_eq!((code, out.as_str()), (Some(3), ""), "{session:?}: {err}");
        assert!(err.contains("unknown command /nope"), "{session:?}: {err}");
    }
    assert_eq!(home.run(&["send", &id, "something forbidden"]).0, Some(0));
    for screen in [&own, &attached] {
        screen.wait_for("a hook blocked the prompt: no");
        screen.wait_for("the message was: something forbidden");
        assert!(!screen.text().contains("unknown command"), "{}", screen.text());
    }
    are_untouched();
    assert_eq!(server.requests().len(), 1);
}
