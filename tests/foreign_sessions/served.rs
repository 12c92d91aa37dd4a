//! `tau serve` and the sessions of other agents: an ID that the list shows is taken by every route.

use serde_json::{Value, json};

use super::continued::{OPENCODE, Place};
use crate::serve::client::{Reply, Served, command, ready};

/// A server whose home is that place.
async fn served(place: Place) -> Served {
    let work = place.work();
    let dir = place.into_home();
    let mut command = command(&work, &["--listen", "127.0.0.1:0"], &[]);
    command.env("HOME", dir.path()).env("TAU_HOME", dir.path().join("tau"));
    let (child, address, token) = ready(command).await;
    Served { child, address, token, dir }
}

/// The texts of the user in a history.
fn prompts(history: &Value) -> Vec<String> {
    let messages = history["messages"].as_array().unwrap().iter();
    let of_user = messages.filter(|message| message["role"] == "user");
    of_user.map(|message| message["content"].to_string()).collect()
}

async fn get(server: &Served, path: &str) -> Reply {
    server.send("GET", path, &Value::Null).await
}

/// Reads, forks and continues the session of this agent.
async fn use_everywhere(server: &Served, source: &str) {
    let list = get(server, "/api/sessions").await.is(200).json();
    let rows = list["sessions"].as_array().unwrap();
    let row =
        rows.iter().find(|row| row["source"] == source).unwrap_or_else(|| panic!("{source} in {rows:#?}"));
    let id = row["id"].as_str().unwrap();
    let path = format!("/api/sessions/{id}");
    let closed = get(server, &format!("{path}/history")).await.is(200).json();
    let said = prompts(&closed);
    assert!(!said.is_empty(), "{source}: {closed}");
    assert!(get(server, &format!("{path}/export?format=md")).await.is(200).body.len() > 100, "{source}");
    assert_eq!(get(server, &path).await.is(200).json()["id"], id);
    for (method, route, body, kind) in [
        ("POST", format!("{path}/close"), Value::Null, "not-open"),
        ("POST", format!("{path}/abort"), Value::Null, "not-open"),
        ("POST", "/api/sessions".to_owned(), json!({ "id": id }), "exists"),
        ("DELETE", path.clone(), Value::Null, "foreign"),
    ] {
        let problem = server.send(method, &route, &body).await.is(409).json();
        assert_eq!(problem["type"], format!("urn:tau:problem:{kind}"), "{source} {method} {route}");
    }
    // Open, without a file of its own.
    let tree = get(server, &format!("{path}/tree")).await.is(200).json();
    let open = get(server, &format!("{path}/history")).await.is(200).json();
    assert_eq!((prompts(&open), &open["end"]), (said.clone(), &closed["end"]), "{source}");
    server.send("DELETE", &path, &Value::Null).await.is(409);
    let fork = server.send("POST", &format!("{path}/fork"), &json!({})).await.is(201).json();
    let copy = format!("/api/sessions/{}", fork["session"]["id"].as_str().unwrap());
    assert_eq!(prompts(&get(server, &format!("{copy}/history")).await.is(200).json()), said, "{source}");
    server.send("POST", &format!("{copy}/fork"), &json!({})).await.is(201);
    let rows = tree["rows"].as_array().unwrap();
    let last = rows.iter().rfind(|row| row["kind"] == "user").unwrap();
    let before = json!({ "entryId": last["id"] });
    let fork = server.send("POST", &format!("{path}/fork"), &before).await.is(201).json();
    assert!(said.last().unwrap().contains(fork["text"].as_str().unwrap()), "{source}: {fork} {said:?}");
    // What is said here is in a file of tau.
    let mut stream = server.stream("POST", &format!("{path}/prompt"), "", &json!({ "prompt": "go" })).await;
    stream.until("done").await;
    let after = prompts(&get(server, &format!("{path}/history")).await.is(200).json());
    assert_eq!(after.len(), said.len() + 1, "{source}: {after:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listed_session_of_another_agent_is_read_forked_and_continued() {
    let place = Place::new().await;
    place.claude();
    place.codex();
    place.pi();
    place.opencode(OPENCODE);
    let originals = place.originals();
    let server = served(place).await;
    for source in ["claude", "codex", "pi", "opencode"] {
        use_everywhere(&server, source).await;
    }
    for (path, bytes) in
        originals.iter().filter(|(path, _)| path.extension().is_some_and(|end| end == "jsonl"))
    {
        assert!(std::fs::read(path).unwrap() == *bytes, "{}", path.display());
    }
}
