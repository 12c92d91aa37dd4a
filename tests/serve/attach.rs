//! `tau attach`: the real screen in a terminal, on a session of the real server.

use std::path::Path;

use serde_json::{Value, json};
use tokio::process::Child;

use super::client::{Served, command, ready_with};
use super::create;
use super::dropping::Dropping;
use crate::screen::Screen;
use crate::support::program::{bare, run};
use crate::support::session_files::long_session;

/// A screen attached to a session of the server at a place: `http://…`, `https://…` or `unix:…`.
pub(super) fn attached_at(place: &str, token: &str, session: &str, columns: u16) -> Screen {
    let script = format!("export TAU_SERVE_TOKEN={token}");
    Screen::prepared(&script, &format!("attach {place} {session}"), columns, 40)
}

pub(super) fn attached(server: &Served, session: &str) -> Screen {
    attached_at(&server.url(), &server.token, session, 90)
}

/// An attached screen in a wide terminal, where no line about the session is cut.
pub(super) fn attached_wide(server: &Served, session: &str) -> Screen {
    attached_at(&server.url(), &server.token, session, 160)
}

pub(super) fn send(screen: &Screen, text: &str) {
    screen.type_keys(text);
    screen.wait_for_composer(text);
    screen.type_keys("\r");
}

pub(super) async fn quiet() -> Served {
    Served::start(&["--log", "off"]).await
}

/// Sends one of tau's own requests.
async fn own(server: &Served, method: &str, path: &str, spoken: &str, body: &Value) -> super::client::Reply {
    let headers = format!(
        "host: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\nx-tau-attach: {spoken}\r\n",
        server.address, server.token
    );
    let body = if body.is_null() { String::new() } else { body.to_string() };
    server.raw(method, path, &headers, body.as_bytes()).await
}

/// The server's protocol version, as told to a client with a different one.
async fn spoken(server: &Served) -> String {
    let refused = own(server, "POST", "/api/attach", "tau", &json!({})).await.is(409).json();
    let spoken = refused["detail"].as_str().unwrap().split('"').nth(1).unwrap().to_owned();
    let version = concat!("tau ", env!("CARGO_PKG_VERSION"), ", attach ");
    assert!(spoken.strip_prefix(version).is_some_and(|number| number.parse::<u32>().is_ok()), "{spoken}");
    spoken
}

#[tokio::test]
async fn two_screens_share_a_session_and_its_decisions() {
    let server = quiet().await;
    let id = create(&server, json!({ "name": "Shared", "permissionMode": "ask" })).await;
    let (one, other) = (attached(&server, "shared"), attached(&server, &id));
    send(&one, "write");
    // The call waits on both screens; the other one decides.
    one.wait_for("tau-demo.md");
    other.wait_for("waiting for you");
    other.press_until("y", "I wrote nothing else");
    one.wait_for("I wrote nothing else");
    assert!(server.dir.path().join("tau-demo.md").exists());
    // A third one that joins later sees what happened, and where it is.
    let late = attached_wide(&server, &id);
    late.wait_for("I wrote nothing else");
    late.wait_for(&server.address);
    // A user command, too.
    send(&late, "!echo from the third");
    one.wait_for("$ echo from the third");
    // Leaving ends nothing.
    late.type_keys("\x04");
    late.wait_for("detached; the session continues: tau attach");
    send(&one, "help");
    other.wait_for("help");
}

#[tokio::test]
async fn a_run_continues_without_its_screen_and_is_seen_by_one_that_comes_in_its_middle() {
    let server = quiet().await;
    let id = create(&server, json!({ "permissionMode": "ask" })).await;
    let mut screen = attached(&server, &id);
    send(&screen, "write");
    screen.wait_for("waiting for you");
    screen.close();
    screen.wait_exit();
    let shown = server.send("GET", &format!("/api/sessions/{id}"), &Value::Null).await.is(200).json();
    assert_eq!(shown["running"], json!(true), "{shown}");
    // The waiting call is asked about again on the next screen, and stopping works from there.
    let next = attached(&server, &id);
    next.wait_for("waiting for you");
    next.press_until("y", "I wrote nothing else");
    assert_eq!(next.text().matches("write  tau-demo.md").count(), 1, "{}", next.text());
}

#[tokio::test]
async fn terminals_of_commands_are_typed_into_from_an_attached_screen() {
    let server = quiet().await;
    let id = create(&server, json!({})).await;
    let screen = attached(&server, &id);
    send(&screen, "!cat");
    screen.wait_for("$ cat");
    // F2 gives it the keyboard.
    screen.type_keys("\x1bOQ");
    screen.wait_for("f2");
    screen.type_keys("typed from afar\r");
    screen.wait_until("the line and its echo", |cells| {
        cells.contents().matches("typed from afar").count() >= 2
    });
    screen.type_keys("\x04");
    screen.wait_for("✓");
}

#[tokio::test]
async fn sessions_of_the_server_are_made_left_and_found_again() {
    let server = quiet().await;
    let id = create(&server, json!({ "name": "First" })).await;
    let screen = attached(&server, &id);
    send(&screen, "help");
    screen.wait_for("↑");
    send(&screen, "/new");
    screen.wait_until("an empty session", |cells| !cells.contents().contains("↑"));
    send(&screen, "/name Second");
    send(&screen, "list");
    screen.wait_for("That gave");
    send(&screen, "/resume");
    screen.wait_for("First");
    screen.type_keys("First");
    screen.wait_for("1/");
    screen.type_keys("\r");
    screen.wait_until("the first session", |cells| {
        let text = cells.contents();
        text.contains("help") && !text.contains("┌")
    });
    send(&screen, "/clone");
    let list = loop {
        let list = server.send("GET", "/api/sessions", &Value::Null).await.is(200).json();
        let live =
            list["sessions"].as_array().unwrap().iter().filter(|row| row["live"] == json!(true)).count();
        if live == 3 {
            break list;
        }
    };
    assert!(list.to_string().contains("Second"), "{list}");
    // One that is closed is put away, and brought back, where it is.
    let second = list["sessions"].as_array().unwrap().iter().find(|row| row["name"] == "Second").unwrap();
    let second = second["id"].as_str().unwrap().to_owned();
    server.send("POST", &format!("/api/sessions/{second}/close"), &Value::Null).await.is(204);
    send(&screen, "/resume");
    screen.wait_for("Second");
    screen.type_keys("Second");
    screen.wait_for("1/");
    screen.press_until("\x18", "ctrl+o searches archived sessions");
    let is_archived = async || {
        let list = server.send("GET", "/api/sessions", &Value::Null).await.is(200).json();
        let row =
            list["sessions"].as_array().unwrap().iter().find(|row| row["id"] == second.as_str()).cloned();
        row.unwrap()["archived"] == true
    };
    assert!(is_archived().await);
    screen.press_until("\x0f", "Second archived");
    screen.press_until("\x18", "ctrl+x archives");
    assert!(!is_archived().await);
}

#[tokio::test]
async fn branches_models_and_going_back_work_from_an_attached_screen() {
    let server = quiet().await;
    let work = server.dir.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let id = create(&server, json!({ "cwd": work })).await;
    let (screen, other) = (attached(&server, &id), attached(&server, &id));
    send(&screen, "help");
    screen.wait_for("↑");
    send(&screen, "write");
    screen.wait_for("I wrote nothing else");
    assert!(work.join("tau-demo.md").exists());
    // The models are those of the server.
    send(&screen, "/model");
    screen.wait_for("scripted demo");
    screen.type_keys("\x1b[27u");
    // The server's files are completed.
    screen.type_keys("look at @tau-de");
    screen.wait_for("tau-demo.md");
    screen.type_keys("\x1b[27u\x15");
    screen.wait_for_composer("ask for something, or !command");
    send(&screen, "/tree");
    screen.wait_for("write");
    screen.type_keys("\x1b[27u");
    screen.wait_until("no list", |cells| !cells.contents().contains("┌"));
    send(&screen, "/undo");
    screen.wait_for("┌");
    screen.type_keys("\r");
    screen.press_until("\r", "undid the change");
    assert!(!work.join("tau-demo.md").exists());
    // The prompt comes back only to the screen that went back.
    screen.wait_for_composer("write");
    other.wait_until("the shorter conversation", |cells| !cells.contents().contains("I wrote nothing else"));
    other.wait_for_composer("ask for something, or !command");
}

#[tokio::test]
async fn what_is_not_loaded_of_a_long_session_is_found_and_gone_to() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("sessions/--here--");
    crate::support::write(&folder.join("large_s1.jsonl"), &long_session(dir.path()));
    let sessions = dir.path().join("sessions").display().to_string();
    let server = Served::in_dir(dir, &["--log", "off", "--session-dir", &sessions]).await;
    let screen = attached(&server, "s1");
    screen.wait_for("message number 139.");
    // Ctrl+Home, then Ctrl+F.
    screen.type_keys("\x1b[1;5H");
    screen.wait_for("message number 0.");
    screen.type_keys("\x06");
    screen.wait_for("── find");
    screen.type_keys("number 70.");
    screen.wait_for("message number 70.");
}

#[tokio::test]
async fn an_export_is_written_where_the_screen_is() {
    let server = quiet().await;
    let id = create(&server, json!({})).await;
    let screen = attached(&server, &id);
    send(&screen, "help");
    screen.wait_for("↑");
    send(&screen, "/export talk.md");
    screen.wait_for("on this machine");
    let text = std::fs::read_to_string(screen.home().join("work/talk.md")).unwrap();
    assert!(text.contains("help"), "{text}");
    assert!(!server.dir.path().join("talk.md").exists());
    // A file of the user stays.
    let notes = screen.home().join("work/notes.md");
    std::fs::write(&notes, "# mine").unwrap();
    send(&screen, "/export notes.md");
    screen.wait_for("it is not an exported session");
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "# mine");
    // Keys belong to the server.
    send(&screen, "/login");
    screen.wait_for("keys stay on the server");
}

#[tokio::test]
async fn a_lost_connection_comes_back_without_loss_or_doubles() {
    let server = quiet().await;
    let id = create(&server, json!({})).await;
    let between = Dropping::to(&server.address);
    let screen = attached_at(&between.url(), &server.token, &id, 90);
    send(&screen, "help");
    screen.wait_for("↑");
    between.cut();
    screen.wait_for("connection lost");
    // Text written meanwhile is neither lost nor sent twice.
    send(&screen, "!echo once and only once");
    screen.type_keys("a draft");
    between.restore();
    screen.wait_for("$ echo once and only once");
    screen.wait_until("the connection", |cells| !cells.contents().contains("connection lost"));
    screen.wait_for_composer("a draft");
    // Both screens show the same, whether or not they lost anything.
    let other = attached(&server, &id);
    other.wait_for("$ echo once and only once");
    for screen in [&screen, &other] {
        assert_eq!(screen.text().matches("$ echo once and only once").count(), 1, "{}", screen.text());
    }
}

/// An address without a listener.
pub(super) fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// Starts a server at this address, with this token.
pub(super) async fn start_at(home: &Path, address: &str, token: &str) -> Child {
    let mut command = command(home, &["--listen", address], &["--log", "off"]);
    command.env("TAU_SERVE_TOKEN", token);
    ready_with(command, token).await
}

#[tokio::test]
async fn a_server_that_is_started_again_has_its_screen_back() {
    let dir = tempfile::tempdir().unwrap();
    let (address, token) = (free_address(), "a-token-of-a-test-0123456789");
    let mut server = start_at(dir.path(), &address, token).await;
    let screen = attached_at(&format!("http://{address}"), token, "--new", 90);
    send(&screen, "help");
    screen.wait_for("↑");
    server.kill().await.unwrap();
    screen.wait_for("connection lost");
    let _server = start_at(dir.path(), &address, token).await;
    screen.wait_until("the connection", |cells| !cells.contents().contains("connection lost"));
    screen.wait_for("↑");
    send(&screen, "!echo back");
    screen.wait_for("$ echo back");
}

#[tokio::test]
async fn what_keeps_it_from_attaching_is_said() {
    let server = quiet().await;
    let id = create(&server, json!({ "name": "Fix the tests" })).await;
    let url = server.url();
    let token = server.token.as_str();
    let cases: [(&[&str], &str, i32, &str); 8] = [
        (&["attach", "ftp://127.0.0.1"], token, 2, "is not an address"),
        (&["attach", &url], "wrong-token-of-this-test", 3, "does not take this token"),
        (&["attach", &url, "Fix the test5"], token, 3, "did you mean Fix the tests?"),
        (&["attach", &url, "zzzz"], token, 3, "there is no session \"zzzz\""),
        (&["attach", "http://127.0.0.1:1"], token, 3, "cannot connect to 127.0.0.1:1"),
        (&["attach", "unix:/nowhere/at/all"], token, 3, "cannot connect to /nowhere/at/all"),
        (&["attach", "http://192.0.2.1:4180"], token, 3, "add --cleartext"),
        (&["attach", &url], "", 3, "no token is known for it"),
    ];
    for (arguments, token, code, text) in cases {
        let dir = tempfile::tempdir().unwrap();
        let mut command = bare(dir.path());
        command.args(arguments).env("TERM", "xterm").env("TAU_SERVE_TOKEN", token);
        let ended = run(&mut command, None).await;
        assert_eq!(ended.code, code, "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains(text), "{arguments:?}: {}", ended.err);
    }
    // A tau of another version, and another build of this one.
    let path = format!("/api/sessions/{id}/attach?client=a");
    let ours = spoken(&server).await;
    let other_version = ours.replacen("tau ", "tau 9", 1);
    let other_build = format!("{ours}9");
    for spoken in [other_version.as_str(), &other_build, "", "tau"] {
        let reply = own(&server, "GET", &path, spoken, &Value::Null).await.is(409);
        assert!(reply.body.contains("use the same version of tau on both sides"), "{}", reply.body);
    }
}

#[tokio::test]
async fn a_server_of_ones_own_is_found_without_address_and_token() {
    let server = quiet().await;
    create(&server, json!({ "name": "Mine" })).await;
    // The same home as the server's, which has written its address and token there.
    let home = server.dir.path().display();
    let script = format!("unset TAU_HOME; export HOME={home}");
    let screen = Screen::prepared(&script, "attach", 90, 24);
    screen.wait_for(&server.address);
    screen.type_keys("\x04");
    screen.wait_for("detached");
    let (code, err) = server.end().await;
    assert_eq!(code, Some(143), "{err}");
}

#[tokio::test]
async fn a_command_that_is_sent_twice_is_done_once() {
    let server = quiet().await;
    let id = create(&server, json!({})).await;
    let path = format!("/api/sessions/{id}/attach");
    let spoken = spoken(&server).await;
    let command = |text: &str| json!({ "type": "bash", "id": text, "command": format!("echo {text}"), "excludeFromContext": true });
    let body = |first: u64, commands: Value| json!({ "client": "me", "first": first, "commands": commands });
    // No one is attached yet.
    own(&server, "POST", &path, &spoken, &body(0, json!([command("a")]))).await.is(409);
    let extra = format!("x-tau-attach: {spoken}\r\n");
    let mut stream = server.stream("GET", &format!("{path}?client=me"), &extra, &Value::Null).await;
    assert_eq!(stream.next().await.unwrap().data, json!({ "next": 0, "known": false }));
    assert_eq!(stream.next().await.unwrap().name, "opened");
    for (first, commands, next) in [
        (0, json!([command("a")]), 1),
        (0, json!([command("a"), command("b")]), 2),
        (1, json!([command("b")]), 2),
        (2, json!([]), 2),
    ] {
        let reply = own(&server, "POST", &path, &spoken, &body(first, commands)).await.is(200);
        assert_eq!(reply.json(), json!({ "next": next }));
    }
    own(&server, "POST", &path, &spoken, &body(7, json!([command("c")]))).await.is(409);
    let mut begun = Vec::new();
    let (mut ended, mut before) = (0, None);
    while ended < 2 {
        let frame = stream.next().await.unwrap();
        before = frame.data["id"].as_str().map(str::to_owned).or(before);
        for event in frame.data["events"].as_array().unwrap() {
            match event["type"].as_str().unwrap() {
                "bash_start" => begun.push(event["id"].as_str().unwrap().to_owned()),
                "bash_end" => ended += 1,
                _ => {}
            }
        }
    }
    assert_eq!(begun, ["a", "b"]);
    // Requests that make no sense for a shared session, and settings of the client, are refused only to that
    // client.
    let refused = json!([{ "type": "shutdown" }, { "type": "set_system", "text": "x" }]);
    own(&server, "POST", &path, &spoken, &body(2, refused)).await.is(200);
    let mut notices = Vec::new();
    while notices.len() < 2 {
        let frame = stream.next().await.unwrap();
        notices
            .extend(frame.data["events"].as_array().unwrap().iter().map(|event| event["text"].to_string()));
    }
    assert!(notices[0].contains("does not end the session") && notices[1].contains("server's settings"));
    // The screen comes again before its lost connection is noticed: only the new stream gets events, and what the
    // old one may not have delivered.
    let place = format!("{path}?client=me&after={}", before.unwrap());
    let mut again = server.stream("GET", &place, &extra, &Value::Null).await;
    assert_eq!(again.next().await.unwrap().data, json!({ "next": 4, "known": true }));
    let frame = again.next().await.unwrap();
    let texts: Vec<String> =
        frame.data["events"].as_array().unwrap().iter().map(|event| event["text"].to_string()).collect();
    assert_eq!(texts, notices);
    assert_eq!(stream.next().await, None);
    own(&server, "POST", &path, &spoken, &body(4, json!([{ "type": "shutdown" }]))).await.is(200);
    assert!(again.next().await.unwrap().data.to_string().contains("does not end the session"));
}

#[tokio::test]
async fn a_model_is_resolved_by_the_server_and_its_address_stays_there() {
    let server = quiet().await;
    let id = create(&server, json!({})).await;
    let path = format!("/api/sessions/{id}/attach");
    let spoken = spoken(&server).await;
    let extra = format!("x-tau-attach: {spoken}\r\n");
    let mut stream = server.stream("GET", &format!("{path}?client=me"), &extra, &Value::Null).await;
    stream.next().await.unwrap();
    stream.next().await.unwrap();
    let model = json!({ "id": "gpt-5", "provider": "openai", "baseUrl": "http://127.0.0.1:9/steal" });
    let body = json!({ "client": "me", "first": 0, "commands": [{ "type": "set_model", "model": model }] });
    own(&server, "POST", &path, &spoken, &body).await.is(200);
    // There is no key for it, so it is refused, and no model defined by the client is used.
    loop {
        let events = stream.next().await.unwrap().data["events"].clone();
        assert!(!events.to_string().contains("/steal"), "{events}");
        if events.to_string().contains("there is no key for openai") {
            break;
        }
    }
    let request = json!({ "ask": "models", "purpose": { "step": 1 } });
    let models = own(&server, "POST", &format!("{path}/request"), &spoken, &request).await.is(200).json();
    let usable = models["models"]["usable"].as_array().unwrap();
    assert!(!usable.is_empty(), "{models}");
    assert!(usable.iter().all(|model| model["baseUrl"] == json!("")), "{models}");
}

#[tokio::test]
async fn malformed_requests_leave_the_server_alive() {
    let server = Served::start(&["--log", "off", "--rate", "100000"]).await;
    let id = create(&server, json!({})).await;
    let path = format!("/api/sessions/{id}/attach");
    let spoken = spoken(&server).await;
    let extra = format!("x-tau-attach: {spoken}\r\n");
    let mut stream = server.stream("GET", &format!("{path}?client=me"), &extra, &Value::Null).await;
    stream.next().await.unwrap();
    let sound = json!({ "client": "me", "first": 0, "commands": [{ "type": "query", "ticket": 1, "query": { "query": "outline" } }] });
    let text = sound.to_string();
    let places = ["/api/attach".to_owned(), path.clone(), format!("{path}/leave"), format!("{path}/request")];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    let headers = format!(
        "host: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\nx-tau-attach: {spoken}\r\n",
        server.address, server.token
    );
    for _ in 0..1_000 {
        let mut bytes = text.clone().into_bytes();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] = u8::try_from(random(256)).unwrap(),
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, b"{}[]\",:0"[random(8)]),
            }
        }
        let place = &places[random(places.len())];
        let reply = server.raw("POST", place, &headers, &bytes).await;
        assert!(
            reply.status < 500 && reply.status != 0,
            "{place} {}: {reply:?}",
            String::from_utf8_lossy(&bytes)
        );
    }
    for query in ["", "?client=", "?client=a%20b", "?client=%ff", "?client=a&after=%00"] {
        let reply = own(&server, "GET", &format!("{path}{query}&x=1"), "", &Value::Null).await;
        assert!(reply.status >= 400 && reply.status < 500, "{reply:?}");
    }
    server.send("GET", "/health", &Value::Null).await.is(200);
    let screen = attached(&server, &id);
    send(&screen, "help");
    screen.wait_for("↑");
}
