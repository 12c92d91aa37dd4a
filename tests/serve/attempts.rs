//! Attempts and worktrees over HTTP.

use serde_json::{Value, json};

use super::client::{Served, command, ready};
use super::create;
use crate::support::program::{calls, calls_all, models_file, says};
use crate::support::server::Server;
use crate::time_limit::InTime;

pub(super) async fn git(dir: &std::path::Path, arguments: &[&str]) {
    let mut git = tokio::process::Command::new("git");
    git.args(["-c", "user.name=x", "-c", "user.email=x@x", "-c", "init.defaultBranch=main"]);
    let done = git.args(arguments).current_dir(dir).env("HOME", dir).output().in_time("git").await.unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// Waits until the attempts of a session have ended; returns the list.
async fn ended(server: &Served, path: &str) -> Value {
    loop {
        let list = server.send("GET", path, &Value::Null).await.is(200).json();
        let is_there = list["id"].is_string() && list["running"] == false;
        if is_there && list["attempts"].as_array().is_some_and(|rows| !rows.is_empty()) {
            return list;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_are_begun_compared_taken_and_removed() {
    let edit = |text: &str| calls("bash", &json!({ "command": format!("echo {text} >file; touch done") }));
    let acts =
        vec![says("hello"), edit("one"), says("I did."), edit("two"), says("I did."), says("so be it")];
    let provider = Server::start(acts).await;
    let dir = tempfile::tempdir().unwrap();
    let (home, work) = (dir.path().join("tau"), dir.path().join("work"));
    std::fs::create_dir_all(&home).unwrap();
    std::fs::create_dir_all(&work).unwrap();
    let models = models_file(&provider.url(), "");
    std::fs::write(home.join("models.toml"), models).unwrap();
    std::fs::write(work.join("file"), "zero\n").unwrap();
    git(&work, &["init", "-q"]).await;
    git(&work, &["add", "."]).await;
    git(&work, &["commit", "-qm", "x"]).await;
    let mut tau = command(dir.path(), &["--listen", "127.0.0.1:0"], &["--log", "off"]);
    tau.env("TAU_HOME", &home).env("TAU_PERMISSION_MODE", "auto").env("HOME", dir.path()).current_dir(&work);
    let (child, address, token) = ready(tau).await;
    let server = Served { child, address, token, dir };
    let id = create(&server, json!({ "model": "own/m" })).await;
    let path = format!("/api/sessions/{id}");
    server
        .stream("POST", &format!("{path}/prompt"), "", &json!({ "prompt": "hi" }))
        .await
        .until("done")
        .await;
    let (attempts, one) =
        (format!("{path}/attempts"), json!({ "count": 1, "until": "test -e done", "task": "go" }));
    assert_eq!(server.send("GET", &attempts, &Value::Null).await.is(200).json()["attempts"], json!([]));
    for wrong in
        [json!({ "count": 0, "until": "x", "task": "y" }), json!({ "count": 1, "until": " ", "task": "y" })]
    {
        server.send("POST", &attempts, &wrong).await.is(400);
    }
    server.send("POST", &format!("{attempts}/stop"), &Value::Null).await.is(422);
    server.send("POST", &attempts, &one).await.is(202);
    let list = ended(&server, &attempts).in_time("attempts").await;
    let (row, of) = (&list["attempts"][0], list["id"].as_str().unwrap());
    assert_eq!(
        (&list["task"], &row["reached"], &row["model"]),
        (&json!("go"), &json!(true), &json!("own/m"))
    );
    let changes = server.send("GET", &format!("{attempts}/{of}/changes"), &Value::Null).await.is(200).json();
    let texts = changes["files"].to_string();
    assert!(texts.contains("+one"), "{texts}");
    server.send("POST", &format!("{attempts}/{of}/take"), &json!({})).await.is(400);
    server.send("POST", &format!("{attempts}/{of}/take"), &json!({ "attempt": 7 })).await.is(422);
    let parts = json!({ "parts": [{ "attempt": 1, "path": "file", "hunk": 1 }] });
    server.send("POST", &format!("{attempts}/{of}/take"), &parts).await.is(200);
    assert_eq!(std::fs::read_to_string(work.join("file")).unwrap(), "one\n");
    server.send("POST", &format!("{attempts}/{of}/drop"), &Value::Null).await.is(200);
    server.send("POST", &attempts, &one).await.is(202);
    let list = ended(&server, &attempts).in_time("attempts").await;
    let of = list["id"].as_str().unwrap();
    let said =
        server.send("POST", &format!("{attempts}/{of}/take"), &json!({ "attempt": 1 })).await.is(200).json();
    assert!(said["text"].as_str().unwrap().contains("took attempt 1"), "{said}");
    assert_eq!(std::fs::read_to_string(work.join("file")).unwrap(), "two\n");
    let moved =
        server.send("POST", &format!("{path}/worktree"), &json!({ "name": "side" })).await.is(201).json();
    let cwd = moved["session"]["cwd"].as_str().unwrap();
    assert!(cwd.ends_with("/side"), "{cwd}");
    assert_ne!(moved["session"]["id"], json!(id));
    server.send("POST", &format!("{path}/worktree"), &json!({ "name": "../x" })).await.is(422);
}

/// Closing a session ends its attempts, and what they have cost is in it, though nothing was said.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_closed_ends_its_attempts_and_keeps_their_cost() {
    let wait = calls_all(&[("bash", json!({ "command": "touch begun; sleep 60" }))], 10);
    let provider = Server::start(vec![wait]).await;
    let dir = tempfile::tempdir().unwrap();
    let (home, work) = (dir.path().join("tau"), dir.path().join("work"));
    std::fs::create_dir_all(&home).unwrap();
    std::fs::create_dir_all(&work).unwrap();
    let models = models_file(&provider.url(), "cost = { input = 1000.0, output = 0.0 }");
    std::fs::write(home.join("models.toml"), models).unwrap();
    git(&work, &["init", "-q"]).await;
    git(&work, &["commit", "-qm", "x", "--allow-empty"]).await;
    let mut tau = command(dir.path(), &["--listen", "127.0.0.1:0"], &["--log", "off"]);
    tau.env("TAU_HOME", &home).env("TAU_PERMISSION_MODE", "auto").env("HOME", dir.path()).current_dir(&work);
    let (child, address, token) = ready(tau).await;
    let server = Served { child, address, token, dir };
    let id = create(&server, json!({ "model": "own/m", "name": "A name" })).await;
    let path = format!("/api/sessions/{id}");
    let order = json!({ "count": 1, "until": "false", "task": "go" });
    server.send("POST", &format!("{path}/attempts"), &order).await.is(202);
    let begun = async {
        loop {
            let list = server.send("GET", &format!("{path}/attempts"), &Value::Null).await.is(200).json();
            if list["attempts"][0]["place"]
                .as_str()
                .is_some_and(|place| std::path::Path::new(place).join("begun").exists())
            {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    begun.in_time("the attempt to begin").await;
    server.send("POST", &format!("{path}/close"), &Value::Null).await.is(204);
    let shown = server.send("GET", &path, &Value::Null).await.is(200).json();
    assert_eq!((&shown["live"], &shown["name"]), (&json!(false), &json!("A name")), "{shown}");
    // This opens it again.
    let opened = server.send("PATCH", &path, &json!({})).await.is(200).json();
    assert_eq!(opened["usage"]["cost"]["total"], json!(0.01), "{opened}");
    let list = server.send("GET", &format!("{path}/attempts"), &Value::Null).await.is(200).json();
    assert_eq!(list["running"], json!(false), "{list}");
}
