//! `tau attach`: aborting, the Unix socket, and sessions closed or deleted under a screen.

use serde_json::{Value, json};

use super::attach::{attached, attached_at, attached_wide, quiet, send};
use super::client::{Served, command, ready};
use super::create;
use super::dropping::Dropping;
use crate::screen::{SEEN, Screen};
use crate::support::program::{calls, says, stalls};
use crate::support::server::Server;

// The provider answers while this test waits for the screen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn esc_aborts_a_run_for_all_screens() {
    let provider = Server::start(vec![stalls("half of an answer")]).await;
    let server = Served::with_model(&provider).await;
    let id = create(&server, json!({ "model": "own/m" })).await;
    let (screen, other) = (attached(&server, &id), attached(&server, &id));
    send(&screen, "go");
    for screen in [&screen, &other] {
        screen.wait_for("half of an answer");
    }
    let running = async || {
        let shown = server.send("GET", &format!("/api/sessions/{id}"), &Value::Null).await.is(200).json();
        shown["running"].as_bool().unwrap()
    };
    assert!(running().await);
    screen.type_keys("\x1b[27u");
    for screen in [&screen, &other] {
        screen.wait_for("· stopped");
    }
    assert!(!running().await);
    // Both are still attached.
    send(&other, "!echo after it");
    screen.wait_for("$ echo after it");
}

#[tokio::test]
async fn a_session_is_shared_over_a_unix_socket() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tau.sock");
    let place = ["--socket", path.to_str().unwrap()];
    let (_child, address, token) = ready(command(dir.path(), &place, &["--log", "off"])).await;
    assert_eq!(address, format!("unix:{}", path.display()));
    let one = attached_at(&address, &token, "--new", 160);
    send(&one, "/name Over the socket");
    one.wait_for_composer("ask for something, or !command");
    one.wait_for("Over the socket");
    let other = attached_at(&address, &token, "'over the socket'", 160);
    send(&other, "help");
    other.wait_for("↑");
    one.wait_for("↑");
    send(&one, "!echo from the one");
    other.wait_for("$ echo from the one");
    other.type_keys("\x04");
    other.wait_for(&format!("detached; the session continues: tau attach {address}"));
}

/// An answer that is given while the connection is down says whose counted, and keeps its words.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_comes_too_late_says_whose_counts() {
    let write = || calls("bash", &json!({ "command": "touch made" }));
    let provider = Server::start(vec![write(), says("I see."), write(), says("Well.")]).await;
    let server = Served::with_model(&provider).await;
    let id = create(&server, json!({ "model": "own/m", "permissionMode": "ask" })).await;
    let between = Dropping::to(&server.address);
    let far = attached_at(&between.url(), &server.token, &id, 120);
    let near = attached_wide(&server, &id);
    for answers_near in [true, false] {
        send(&near, "go");
        for screen in [&near, &far] {
            screen.wait_for("Run this command?");
        }
        std::thread::sleep(SEEN);
        between.cut();
        far.wait_for("connection lost");
        far.type_keys("n");
        std::thread::sleep(SEEN);
        far.type_keys("use make\r");
        far.wait_until("the answer is given", |cells| !cells.contents().contains("Run this command?"));
        let said = if answers_near {
            near.press_until("y", "I see.");
            "another attached terminal had allowed it first, and that counts"
        } else {
            let shown = server.send("GET", &format!("/api/sessions/{id}"), &Value::Null).await.is(200).json();
            let call = shown["approvals"][0]["id"].as_str().unwrap_or_else(|| panic!("{shown}")).to_owned();
            let path = format!("/api/sessions/{id}/approvals/{call}");
            server.send("POST", &path, &json!({ "decision": "deny" })).await.is(204);
            near.wait_for("Well.");
            "a board, the page or a program had denied it first, and that counts"
        };
        between.restore();
        far.wait_for(&format!("your answer came too late: {said}"));
        far.wait_for_composer("use make");
        assert!(!near.text().contains("came too late"), "{}", near.text());
        far.type_keys("\x03");
        far.wait_for_composer("ask for something, or !command");
    }
}

/// Two screens attached to a session, which show one of its answers.
fn both_attached(server: &Served, session: &str) -> [Screen; 2] {
    let screens = [0, 1].map(|_| attached_wide(server, session));
    send(&screens[0], "help");
    for screen in &screens {
        screen.wait_for("↑");
    }
    screens
}

#[tokio::test]
async fn a_session_that_is_closed_on_the_server_is_opened_again_by_a_message() {
    let server = quiet().await;
    let id = create(&server, json!({})).await;
    let [staying, leaving] = both_attached(&server, &id);
    server.send("POST", &format!("/api/sessions/{id}/close"), &Value::Null).await.is(204);
    for screen in [&staying, &leaving] {
        screen.wait_for("the session was closed on the server");
        screen.wait_for("not connected");
    }
    leaving.type_keys("\x04");
    leaving.wait_for("detached: the session was closed on the server; to open it again: tau attach");
    assert!(!leaving.text().contains("continues"), "{}", leaving.text());
    send(&staying, "!echo open again");
    staying.wait_for("$ echo open again");
    staying.wait_until("the connection", |cells| !cells.contents().contains("not connected"));
    assert_eq!(staying.text().matches("$ echo open again").count(), 1, "{}", staying.text());
    staying.type_keys("\x04");
    staying.wait_for("detached; the session continues: tau attach");
}

#[tokio::test]
async fn a_session_that_is_deleted_on_the_server_loses_no_draft() {
    let server = quiet().await;
    let id = create(&server, json!({})).await;
    let [staying, leaving] = both_attached(&server, &id);
    server.send("DELETE", &format!("/api/sessions/{id}"), &Value::Null).await.is(204);
    for screen in [&staying, &leaving] {
        screen.wait_for("the session was deleted on the server");
        screen.wait_for("/new starts another session");
    }
    leaving.type_keys("\x04");
    leaving.wait_for("detached: the session was deleted on the server");
    let text = leaving.text();
    assert!(!text.contains("continues") && !text.contains("tau attach"), "{text}");
    // Messages sent anyway come back, and another session accepts them.
    send(&staying, "words of mine");
    staying.wait_for("not sent");
    staying.wait_for_composer("words of mine");
    staying.type_keys("\x15");
    send(&staying, "/new");
    staying.wait_until("the connection", |cells| !cells.contents().contains("not connected"));
    send(&staying, "!echo somewhere else");
    staying.wait_for("$ echo somewhere else");
}

#[tokio::test]
async fn a_session_that_cannot_be_deleted_is_closed_and_the_screen_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = dir.path().join("sessions");
    let server = Served::in_dir(dir, &["--log", "off", "--session-dir", sessions.to_str().unwrap()]).await;
    let id = create(&server, json!({})).await;
    let [staying, leaving] = both_attached(&server, &id);
    // On a shared folder, a tau of another machine has left a note that the session is its own.
    let mut files = std::fs::read_dir(&sessions).unwrap().map(|entry| entry.unwrap().path());
    let file = files.find(|file| file.to_string_lossy().ends_with(&format!("_{id}.jsonl"))).unwrap();
    let note = file.with_file_name(format!(".{}.lock", file.file_name().unwrap().to_str().unwrap()));
    std::fs::write(&note, r#"{"pid":7,"host":"elsewhere"}"#).unwrap();
    let refused = server.send("DELETE", &format!("/api/sessions/{id}"), &Value::Null).await.is(409).json();
    assert!(refused["detail"].as_str().unwrap().contains("process 7 on elsewhere"), "{refused}");
    assert!(file.exists());
    for screen in [&staying, &leaving] {
        screen.wait_for("the session was closed on the server, but could not be deleted: another tau uses");
    }
    leaving.type_keys("\x04");
    leaving.wait_for("to open it again: tau attach");
    std::fs::remove_file(&note).unwrap();
    send(&staying, "!echo open again");
    staying.wait_for("$ echo open again");
    // A reported deletion is true: the file is gone by then.
    server.send("DELETE", &format!("/api/sessions/{id}"), &Value::Null).await.is(204);
    staying.wait_until("the deletion", |cells| {
        let is_told = cells.contents().contains("the session was deleted on the server");
        assert!(!is_told || !file.exists());
        is_told
    });
}
