//! Requests that no client should send, and requests of clients who may not.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use super::client::{Served, command, ready, reply};
use super::create;
use crate::time_limit::InTime;

/// Checks that it is a problem document with this status.
#[track_caller]
fn problem(reply: &super::client::Reply, status: u16) {
    assert_eq!(reply.status, status, "{reply:?}");
    assert!(reply.head.contains("content-type: application/problem+json"), "{}", reply.head);
    let body = reply.json();
    assert_eq!(body["status"], json!(status));
    for field in ["type", "title", "detail"] {
        assert!(body[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {body}");
    }
}

#[tokio::test]
async fn who_may_not_send_requests_is_refused() {
    let server =
        Served::start(&["--allow-host", "Box.example", "--allow-origin", "https://Pages.example/"]).await;
    let token = format!("authorization: Bearer {}\r\n", server.token);
    let own = format!("host: {}\r\n", server.address);
    let mut cases = vec![
        (own.clone(), 401),
        (format!("{own}{token}"), 200),
        (format!("{own}{}", token.replace("Bearer", "bearer")), 200),
        (format!("{own}{}", token.replace("Bearer", "Basic")), 401),
        (format!("{own}{}", token.replace("Bearer ", "")), 401),
        (format!("{own}{}", token.replace("\r", "s\r")), 401),
        (format!("{own}{}\r\n", &token.trim_end()[..token.len() - 3]), 401),
        (format!("{own}authorization: \r\n"), 401),
    ];
    let [here, elsewhere] = [
        "box.example box.example:4180 LOCALHOST localhost:4180 127.0.0.1:1 [::1]:4180 [::1] 10.0.0.7",
        "evil.example evil.example:4180 localhost.evil.example 127.0.0.1.evil.example",
    ];
    for (hosts, status) in [(here, 200), (elsewhere, 403)] {
        cases.extend(hosts.split(' ').map(|host| (format!("host: {host}\r\n{token}"), status)));
    }
    cases.push((format!("host: \r\n{token}"), 403));
    let same = ["http", "https"].map(|scheme| (format!("{scheme}://{}", server.address), 200));
    let others = [
        ("https://pages.example", 200),
        ("http://127.0.0.1:1", 403),
        ("http://evil.example", 403),
        ("null", 403),
    ];
    for (origin, status) in same.into_iter().chain(others.map(|(origin, status)| (origin.to_owned(), status)))
    {
        cases.push((format!("{own}{token}origin: {origin}\r\n"), status));
    }
    for (headers, status) in cases {
        let reply = server.raw("GET", "/api/sessions", &headers, b"").await;
        assert_eq!(reply.status, status, "{headers}");
        if status == 200 {
            let is_allowed = reply.head.contains("access-control-allow-origin: https://pages.example");
            assert_eq!(is_allowed, headers.contains("pages.example"), "{}", reply.head);
        } else {
            problem(&reply, status);
        }
    }
    // Browsers send a preflight request, without the token, before a request that needs it.
    let asked = format!("{own}origin: https://pages.example\r\naccess-control-request-method: POST\r\n");
    let reply = server.raw("OPTIONS", "/api/sessions", &asked, b"").await.is(204);
    assert!(reply.head.contains("access-control-allow-headers: authorization"), "{}", reply.head);
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_said() {
    let server = Served::start(&["--max-body", "2048"]).await;
    let id = create(&server, json!({})).await;
    let path = format!("/api/sessions/{id}");
    let large = json!({ "prompt": "x".repeat(5_000) });
    let not_base64 =
        json!({ "prompt": "x", "images": [{ "type": "image", "data": "@@", "mimeType": "image/png" }] });
    let image = json!({ "prompt": "x", "images": [{ "type": "image", "data": "AA==" }] });
    let cases = [
        ("GET", "/nothing".to_owned(), Value::Null, 404, "/openapi.json"),
        ("PUT", "/api/sessions".to_owned(), Value::Null, 405, "/openapi.json"),
        ("POST", "/api/sessions".to_owned(), json!({ "cdw": "/" }), 400, "cdw"),
        ("POST", "/api/sessions".to_owned(), json!({ "cwd": "/no/such/place" }), 422, "/no/such/place"),
        ("POST", "/api/sessions".to_owned(), json!({ "model": "no-such-model" }), 422, "model"),
        ("POST", "/api/sessions".to_owned(), json!({ "id": "../x" }), 422, "id"),
        ("POST", "/api/sessions".to_owned(), json!([]), 400, "body"),
        ("GET", "/api/sessions?limit=0".to_owned(), Value::Null, 400, "limit"),
        ("GET", "/api/sessions?limit=x".to_owned(), Value::Null, 400, "limit"),
        ("GET", "/api/sessions/none".to_owned(), Value::Null, 404, "none"),
        ("GET", "/api/sessions/..%2f..%2fetc".to_owned(), Value::Null, 404, "session"),
        ("POST", format!("{path}/prompt"), json!({}), 400, "prompt"),
        ("POST", format!("{path}/prompt"), json!({ "prompt": " " }), 422, "empty"),
        ("POST", format!("{path}/prompt"), image, 400, "mimeType"),
        ("POST", format!("{path}/prompt"), not_base64, 422, "not base64"),
        ("POST", format!("{path}/prompt"), large, 413, "2048"),
        ("POST", format!("{path}/questions/q"), json!({}), 422, "confirmed"),
        ("POST", format!("{path}/questions/q"), json!({ "confirmed": true }), 404, "question"),
        ("GET", format!("{path}/history?before=-1"), Value::Null, 400, "before"),
        ("GET", format!("{path}/export?format=pdf"), Value::Null, 400, "pdf"),
        (
            "POST",
            "/api/prompt".to_owned(),
            json!({ "prompt": "x", "sessionId": id, "cwd": "/" }),
            422,
            "sessionId",
        ),
    ];
    for (method, path, body, status, hint) in cases {
        let reply = server.send(method, &path, &body).await;
        problem(&reply, status);
        let detail = reply.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(hint), "{method} {path}: {detail}");
    }
    let headers = format!("host: {}\r\nauthorization: Bearer {}\r\n", server.address, server.token);
    problem(&server.raw("POST", "/api/sessions", &headers, b"{}").await, 415);
}

#[tokio::test]
async fn limits_hold() {
    let server = Served::start(&["--max-sessions", "2", "--max-streams", "1", "--rate", "10"]).await;
    let (one, _) = (create(&server, json!({})).await, create(&server, json!({})).await);
    let held = server.events(&one).await;
    problem(&server.send("GET", &format!("/api/sessions/{one}/events"), &Value::Null).await, 503);
    // The unused session is closed, the followed one is not.
    let third = create(&server, json!({})).await;
    let live = |id: &str| {
        let path = format!("/api/sessions/{id}");
        async { server.send("GET", &{ path }, &Value::Null).await.status }
    };
    assert_eq!((live(&one).await, live(&third).await), (200, 200));
    drop(held);
    let mut statuses = Vec::new();
    for _ in 0..60 {
        statuses.push(server.raw("GET", "/health", "host: localhost\r\n", b"").await);
    }
    let refused = statuses.iter().find(|reply| reply.status == 429).expect("a refusal");
    problem(refused, 429);
    assert!(refused.head.contains("retry-after: 1"), "{}", refused.head);
}

#[tokio::test]
async fn a_thousand_malformed_inputs_leave_it_alive() {
    let server = Served::start(&["--rate", "100000", "--log", "off"]).await;
    let id = create(&server, json!({})).await;
    let paths = [
        "/api/sessions".to_owned(),
        "/api/prompt".to_owned(),
        format!("/api/sessions/{id}"),
        format!("/api/sessions/{id}/prompt"),
        format!("/api/sessions/{id}/steer"),
        format!("/api/sessions/{id}/approvals/x"),
        format!("/api/sessions/{id}/questions/x"),
        format!("/api/sessions/{id}/history?before=%ff"),
        format!("/api/sessions/%00{id}/events?after=%f0%9f"),
        format!("/api/sessions/{id}/../../x"),
    ];
    let bodies: [&[u8]; 12] = [
        b"",
        b"{",
        b"null",
        b"[[[[[[[[",
        b"{\"prompt\":1}",
        b"{\"prompt\":\"\\ud800\"}",
        b"{\"prompt\":\"\xff\xfe\"}",
        b"{\"decision\":{\"allow\":true}}",
        b"{\"text\":null,\"images\":{}}",
        b"{\"prompt\":\"x\",\"images\":[{\"type\":\"image\",\"data\":7,\"mimeType\":[]}]}",
        b"\x00\x00\x00\x00",
        b"\"\\u0000\"",
    ];
    let deep = [b"{\"values\":".as_slice(), "[".repeat(50_000).as_bytes()].concat();
    let headers = format!(
        "host: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n",
        server.address, server.token
    );
    let mut sent = 0;
    for method in ["POST", "PATCH", "PUT", "GET", "DELETE", "BREW"] {
        for path in paths.iter().filter(|path| method != "DELETE" || !path.ends_with(&id)) {
            for body in bodies.iter().copied().chain([deep.as_slice()]) {
                let path = path.replace("/events", if method == "GET" { "/event" } else { "/events" });
                let reply = server.raw(method, &path, &headers, body).await;
                let is_made = method == "POST" && path == "/api/sessions" && reply.status == 201;
                let is_read = method == "GET" && reply.status == 200;
                assert!(
                    is_made || is_read || (400..500).contains(&reply.status),
                    "{method} {path} {reply:?}"
                );
                sent += 1;
            }
        }
    }
    // Input that is not even HTTP.
    let pieces: [&[u8]; 8] = [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /api/prompt HTTP/1.1\r\ncontent-length: 99999999999999999999\r\n\r\n",
        b"POST /api/prompt HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ];
    for piece in (0..300).map(|n| pieces[n % pieces.len()]) {
        let mut socket = TcpStream::connect(&server.address).await.unwrap();
        socket.write_all(piece).await.unwrap();
        // Some wait for more, which never arrives.
        socket.shutdown().await.unwrap();
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest).in_time("the end of the connection").await;
        sent += 1;
    }
    assert!(sent > 1_000, "only {sent} were sent");
    let body = json!({ "prompt": "help" });
    server.stream("POST", "/api/prompt", "", &body).await.until("done").await;
}

#[tokio::test]
async fn a_socket_is_for_its_user_only() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tau.sock");
    let place = ["--socket", path.to_str().unwrap()];
    for round in ["new", "after one that was killed"] {
        let (mut child, address, token) = ready(command(dir.path(), &place, &[])).await;
        assert_eq!(address, format!("unix:{}", path.display()));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{round}");
        let mut socket = UnixStream::connect(&path).await.unwrap();
        let head = format!(
            "GET /api/models HTTP/1.1\r\nhost: tau\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        reply(socket).await.is(200);
        // A second one does not take it over.
        let second = crate::support::program::run(&mut command(dir.path(), &place, &[]), None).await;
        assert_eq!(second.code, 3, "{second:?}");
        assert!(second.err.contains("cannot listen on"), "{second:?}");
        child.kill().await.unwrap();
    }
}

#[tokio::test]
async fn tokens_come_from_a_file_or_the_environment() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    for (text, message) in [("short", "at least 16"), ("a token with blanks in it", "visible ASCII")] {
        std::fs::write(&file, text).unwrap();
        let arguments = ["--token-file", file.to_str().unwrap()];
        let mut refused = command(dir.path(), &["--listen", "127.0.0.1:0"], &arguments);
        let ended = crate::support::program::run(&mut refused, None).await;
        assert_eq!(ended.code, 3, "{ended:?}");
        assert!(ended.err.contains(message), "{ended:?}");
    }
    std::fs::write(&file, "0123456789abcdef\n").unwrap();
    let listen = ["--listen", "127.0.0.1:0"];
    let mut of_file = command(dir.path(), &listen, &["--token-file", file.to_str().unwrap()]);
    of_file.env("TAU_SERVE_TOKEN", "another-token-0123456789");
    let mut of_variable = command(dir.path(), &listen, &[]);
    of_variable.env("TAU_SERVE_TOKEN", "another-token-0123456789");
    for (mut command, token) in [(of_file, "0123456789abcdef"), (of_variable, "another-token-0123456789")] {
        let mut child = command.spawn().unwrap();
        let mut lines = tokio::io::BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next_line().in_time("the address").await.unwrap().unwrap();
        assert!(!line.contains(token), "a token of the user is not printed: {line}");
        let address = line.strip_prefix("listening on http://").unwrap().to_owned();
        let server = Served { child, address, token: token.to_owned(), dir: tempfile::tempdir().unwrap() };
        server.send("GET", "/api/models", &Value::Null).await.is(200);
    }
}

#[tokio::test]
async fn one_link_is_printed_that_works_where_it_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    for (listen, begins) in [
        ("127.0.0.1:0", "listening on http://127.0.0.1:"),
        ("0.0.0.0:0", "listening on 0.0.0.0:"),
        ("[::1]:0", "listening on http://[::1]:"),
        ("[::]:0", "listening on [::]:"),
    ] {
        let mut served = command(dir.path(), &["--listen", listen], &["--log", "off"]).spawn().unwrap();
        let mut lines = tokio::io::BufReader::new(served.stdout.take().unwrap()).lines();
        let line = lines.next_line().in_time("the link").await.unwrap().unwrap();
        assert!(line.starts_with(begins), "{listen}: {line}");
        let (_, link) = line.split_once("http://").unwrap();
        let (address, token) = link.split_once("/#token=").unwrap();
        assert!(!address.starts_with("0.0.0.0") && !address.starts_with("[::]"), "{line}");
        let (address, token) = (address.to_owned(), token.to_owned());
        let pid = rustix::process::Pid::from_raw(served.id().unwrap().cast_signed()).unwrap();
        let child = served;
        let server = Served { child, address, token, dir: tempfile::tempdir().unwrap() };
        server.send("GET", "/api/models", &Value::Null).await.is(200);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert_eq!(lines.next_line().in_time("the end").await.unwrap(), None, "{listen}: a second line");
    }
}
