//! Several clients on one session: the same events, again after a break, and one decision.

use serde_json::{Value, json};

use super::client::{Frame, Served};
use super::{create, names};

/// A prompt that makes the demo model run a command that changes something.
const ASKED: &str = "edit";

fn ids(frames: &[Frame]) -> Vec<String> {
    frames.iter().filter_map(|frame| frame.id.clone()).collect()
}

#[tokio::test]
async fn all_clients_see_the_same_events_also_those_that_come_back() {
    let server = Served::start(&[]).await;
    let id = create(&server, json!({})).await;
    let path = format!("/api/sessions/{id}");
    let (mut one, mut other) = (server.events(&id).await, server.events(&id).await);
    let body = json!({ "prompt": "help" });
    let own = server.stream("POST", &format!("{path}/prompt"), "", &body).await.until("done").await;
    // They may arrive before or after a session's initial events.
    let (begun, other_begun) = (one.until("agent_start").await, other.until("agent_start").await);
    assert_eq!(begun.last(), other_begun.last());
    let (one, other) = (one.until("agent_settled").await, other.until("agent_settled").await);
    assert!(one == other, "{:?}\n{:?}", ids(&one), ids(&other));
    let settled = own.iter().position(|frame| frame.name == "agent_settled").unwrap();
    let begin = own.iter().position(|frame| frame.id == one[0].id).unwrap();
    assert!(own[begin..=settled] == one[..], "{:?}\n{:?}", ids(&own), ids(&one));

    // A client that lost its connection in the middle gets the rest.
    let middle = one[one.len() / 2].id.clone().unwrap();
    let header = format!("last-event-id: {middle}\r\n");
    let rest = server.stream("GET", &format!("{path}/events"), &header, &Value::Null).await;
    let rest = { rest }.until("agent_settled").await;
    assert_eq!(ids(&rest), ids(&one)[one.len() / 2 + 1..]);
    let rest = server.stream("GET", &format!("{path}/events?after={middle}"), "", &Value::Null).await;
    assert_eq!({ rest }.until("agent_settled").await.len(), one.len() - one.len() / 2 - 1);

    // An id from before the session was closed is no longer valid.
    server.send("POST", &format!("{path}/close"), &Value::Null).await.is(204);
    let mut again = server.stream("GET", &format!("{path}/events"), &header, &Value::Null).await;
    let gap = again.next().await.unwrap();
    assert_eq!((gap.name.as_str(), &gap.data["missed"]), ("gap", &Value::Null));
}

#[tokio::test]
async fn a_session_under_way_is_shown_without_a_gap_and_nothing_twice() {
    let server = Served::start(&[]).await;
    let id = create(&server, json!({ "permissionMode": "ask" })).await;
    let path = format!("/api/sessions/{id}");
    let prompt = json!({ "prompt": ASKED, "detach": true });
    let mut first = server.events(&id).await;
    server.send("POST", &format!("{path}/prompt"), &prompt).await.is(202);
    first.until("approval_requested").await;
    let history = server.send("GET", &format!("{path}/history"), &Value::Null).await.is(200).json();
    let seen = history["messages"].as_array().unwrap().clone();
    assert_eq!(seen.last().unwrap()["role"], json!("assistant"), "{seen:?}");
    let after = history["replayFrom"].as_str().unwrap();
    let mut second = server.stream("GET", &format!("{path}/events?after={after}"), "", &Value::Null).await;
    let shown = server.send("GET", &path, &Value::Null).await.is(200).json();
    let waiting = shown["approvals"][0]["id"].as_str().unwrap();
    let deny = json!({ "decision": "deny", "stop": true });
    server.send("POST", &format!("{path}/approvals/{waiting}"), &deny).await.is(204);
    let frames = second.until("agent_settled").await;
    let ended = frames.iter().filter(|frame| frame.name == "message_end").map(|frame| &frame.data["message"]);
    let all: Vec<&Value> = seen.iter().chain(ended).collect();
    let history = server.send("GET", &format!("{path}/history"), &Value::Null).await.is(200).json();
    assert_eq!(all, history["messages"].as_array().unwrap().iter().collect::<Vec<_>>());
    assert_eq!(history["replayFrom"], history["lastEventId"]);
}

#[tokio::test]
async fn the_first_decision_on_a_call_counts_for_all() {
    let server = Served::start(&[]).await;
    let id = create(&server, json!({ "permissionMode": "ask" })).await;
    let path = format!("/api/sessions/{id}");
    let mut watching = server.events(&id).await;
    let prompt = json!({ "prompt": ASKED });
    let mut run = server.stream("POST", &format!("{path}/prompt"), "", &prompt).await;
    let asked = run.until("approval_requested").await;
    let request = &asked.last().unwrap().data["request"];
    let answer = format!("{path}/approvals/{}", request["id"].as_str().unwrap());
    server.send("POST", &answer, &json!({ "decision": "maybe" })).await.is(400);
    server.send("POST", &format!("{path}/approvals/none"), &json!({ "decision": "allow" })).await.is(404);
    // A second prompt is refused, or waits.
    server.send("POST", &format!("{path}/prompt"), &json!({ "prompt": "x" })).await.is(409);
    let queued = json!({ "text": "stop after this" });
    server.send("POST", &format!("{path}/steer"), &queued).await.is(202);
    server.send("POST", &format!("{path}/follow-up"), &queued).await.is(202);
    let shown = server.send("GET", &path, &Value::Null).await.is(200).json();
    assert_eq!(shown["queue"], json!({ "steering": ["stop after this"], "followUp": ["stop after this"] }));
    server.send("POST", &answer, &json!({ "decision": "deny", "reason": "not now" })).await.is(204);
    server.send("POST", &answer, &json!({ "decision": "allow" })).await.is(404);
    let frames = watching.until("approval_ended").await;
    assert_eq!(frames.last().unwrap().data["outcome"], json!("denied"));
    server.send("POST", &format!("{path}/abort"), &Value::Null).await.is(204);
    let frames = run.until("done").await;
    assert!(names(&frames).contains(&"agent_settled"), "{frames:?}");
    let shown = server.send("GET", &path, &Value::Null).await.is(200).json();
    assert_eq!((&shown["running"], &shown["approvals"]), (&json!(false), &json!([])));
}

#[tokio::test]
async fn a_client_that_leaves_aborts_its_run_unless_it_has_detached() {
    let server = Served::start(&[]).await;
    let id = create(&server, json!({ "permissionMode": "ask" })).await;
    let path = format!("/api/sessions/{id}");
    let mut watching = server.events(&id).await;
    let mut run = server.stream("POST", &format!("{path}/prompt"), "", &json!({ "prompt": ASKED })).await;
    run.until("approval_requested").await;
    drop(run);
    let frames = watching.until("agent_settled").await;
    assert_eq!(frames.last().unwrap().data["aborted"], json!(true));

    let prompt = json!({ "prompt": ASKED, "detach": true });
    let taken = server.send("POST", &format!("{path}/prompt"), &prompt).await.is(202).json();
    assert_eq!(taken["disposition"], json!("started"));
    let asked = watching.until("approval_requested").await;
    let waiting = asked.last().unwrap().data["request"]["id"].as_str().unwrap();
    let answer = format!("{path}/approvals/{waiting}");
    server.send("POST", &answer, &json!({ "decision": "deny", "stop": true })).await.is(204);
    watching.until("agent_settled").await;
}

#[tokio::test]
async fn a_session_that_another_server_has_open_is_shared_and_deleted_there() {
    let server = Served::start(&[]).await;
    let id = create(&server, json!({})).await;
    let path = format!("/api/sessions/{id}");
    server
        .stream("POST", &format!("{path}/prompt"), "", &json!({ "prompt": "help" }))
        .await
        .until("done")
        .await;
    let other = super::client::command(server.dir.path(), &["--listen", "127.0.0.1:0"], &[]);
    let (child, address, token) = super::client::ready(other).await;
    let other = Served { child, address, token, dir: tempfile::tempdir().unwrap() };
    let shared = other.stream("POST", &format!("{path}/prompt"), "", &json!({ "prompt": "help" })).await;
    { shared }.until("done").await;
    let refused = other.send("DELETE", &path, &Value::Null).await.is(409).json();
    assert_eq!(refused["type"], json!("urn:tau:problem:session-in-use"), "{refused}");
    // Read-only requests do not need the lock.
    other.send("GET", &format!("{path}/history"), &Value::Null).await.is(200);
    other.send("GET", &format!("{path}/export?format=md"), &Value::Null).await.is(200);
    server.send("POST", &format!("{path}/close"), &Value::Null).await.is(204);
    let frames = other.stream("POST", &format!("{path}/prompt"), "", &json!({ "prompt": "help" })).await;
    { frames }.until("done").await;
}

/// The mode that the server was started with is the ceiling, in every request and for attached screens.
#[tokio::test]
async fn no_client_raises_the_mode() {
    let server = Served::start(&["--permission-mode", "ask"]).await;
    let raised = server.send("POST", "/api/sessions", &json!({ "permissionMode": "auto" })).await.is(422);
    assert!(raised.body.contains("cannot be raised"), "{raised:?}");
    let raise = json!({ "prompt": "x", "permissionMode": "auto" });
    server.send("POST", "/api/prompt", &raise).await.is(422);
    let id = create(&server, json!({})).await;
    let path = format!("/api/sessions/{id}");
    let set = |mode: &str| json!({ "permissionMode": mode });
    assert_eq!(server.send("PATCH", &path, &set("plan")).await.is(200).json()["permissionMode"], "plan");
    assert_eq!(server.send("PATCH", &path, &set("ask")).await.is(200).json()["permissionMode"], "ask");
    assert!(server.send("PATCH", &path, &set("auto")).await.is(422).body.contains("cannot be raised"));
    let commands = json!({ "client": "me", "first": 0, "commands": [{ "type": "set_permission_mode", "mode": "auto" }] });
    server.send("POST", &format!("{path}/attach"), &commands).await;
    assert_eq!(server.send("GET", &path, &Value::Null).await.json()["permissionMode"], "ask");
}

/// A page in the user's browser, which has no token, cannot use up the user's quota.
#[tokio::test]
async fn refused_requests_do_not_count() {
    let server = Served::start(&["--rate", "5"]).await;
    for (headers, status) in
        [("host: evil.example\r\n", 403), ("host: x\r\norigin: http://evil.example\r\n", 403), ("", 401)]
    {
        for _ in 0..40 {
            let refused = server.raw("GET", "/api/models", headers, b"").await;
            assert!(refused.status == status || refused.status == 403, "{refused:?}");
        }
    }
    server.send("GET", "/api/models", &Value::Null).await.is(200);
}
