//! Clients that do not read, and leftovers of closed sessions.

use serde_json::{Value, json};
use tokio::net::TcpSocket;

use super::client::{Frame, Served};
use super::create;

/// Sends a prompt and waits until its run is over.
async fn run(server: &Served, id: &str, prompt: &str) {
    let path = format!("/api/sessions/{id}/prompt");
    server.stream("POST", &path, "", &json!({ "prompt": prompt })).await.until("done").await;
}

/// The number of an event.
fn number(frame: &Frame) -> Option<u64> {
    frame.id.as_ref()?.rsplit('-').next()?.parse().ok()
}

#[tokio::test]
async fn a_client_that_does_not_read_is_told_what_it_has_missed() {
    let server = Served::start(&["--log", "off"]).await;
    let id = create(&server, json!({})).await;
    let socket = TcpSocket::new_v4().unwrap();
    // So that little is in transit.
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut slow = server.stream_on(socket, &format!("/api/sessions/{id}/events")).await;
    for _ in 0..3 {
        run(&server, &id, "long").await;
    }
    let last = server.send("GET", &format!("/api/sessions/{id}"), &Value::Null).await.is(200).json();
    let last: u64 = last["lastEventId"].as_str().unwrap().rsplit('-').next().unwrap().parse().unwrap();
    let (mut seen, mut missed, mut received) = (None, 0, 0_u64);
    while seen != Some(last) {
        let frame = slow.next().await.expect("an event");
        if frame.name == "gap" {
            missed += frame.data["missed"].as_u64().unwrap();
            seen = seen.map(|seen| seen + frame.data["missed"].as_u64().unwrap());
            continue;
        }
        let number = number(&frame).unwrap();
        // Missing events were counted.
        assert!(seen.is_none_or(|seen| number == seen + 1), "{seen:?} {frame:?}");
        (seen, received) = (Some(number), received + 1);
    }
    assert!(missed > 0 && received > 0, "{missed} {received}");
    // With the id of its last event it gets the rest, like every client.
    let header = format!("last-event-id: {}\r\n", slow.last_id());
    let mut again = server.stream("GET", &format!("/api/sessions/{id}/events"), &header, &Value::Null).await;
    run(&server, &id, "help").await;
    assert_eq!(number(&again.next().await.unwrap()), Some(last + 1));
}

#[tokio::test]
async fn sessions_that_were_closed_leave_nothing_behind() {
    let server = Served::start(&["--log", "off", "--rate", "100000"]).await;
    let open = |server: &Served| {
        let process = format!("/proc/{}", server.child.id().unwrap());
        let files = std::fs::read_dir(format!("{process}/fd")).unwrap().count();
        let threads = std::fs::read_dir(format!("{process}/task")).unwrap().count();
        (files, threads)
    };
    let mut counts = Vec::new();
    for round in 0..12 {
        let id = create(&server, json!({ "permissionMode": "ask" })).await;
        let path = format!("/api/sessions/{id}");
        let mut events = server.events(&id).await;
        run(&server, &id, "help").await;
        match round % 3 {
            0 => {}
            1 => {
                // A client that leaves while a call is waiting.
                let body = json!({ "prompt": "write" });
                let mut left = server.stream("POST", &format!("{path}/prompt"), "", &body).await;
                left.until("approval_requested").await;
            }
            _ => {
                let body = json!({ "prompt": "write", "detach": true });
                server.send("POST", &format!("{path}/prompt"), &body).await.is(202);
                events.until("approval_requested").await;
                server.send("POST", &format!("{path}/abort"), &Value::Null).await.is(204);
            }
        }
        server.send("DELETE", &path, &Value::Null).await.is(204);
        events.until("session_closed").await;
        assert_eq!(events.next().await, None);
        counts.push(open(&server));
    }
    let text = server.send("GET", "/metrics", &Value::Null).await.is(200).body;
    assert!(text.lines().any(|line| line == "tau_sessions_live 0"), "{text}");
    // The first rounds start what is kept: threads for files, for example.
    let (early, late) = (counts[5], counts[11]);
    assert!(late.0 <= early.0 + 4 && late.1 <= early.1 + 16, "{counts:?}");
}
