//! The tree of a session, forks, going back, and compaction, over HTTP; and a crash within one session.

use serde_json::{Value, json};

use super::client::Served;
use super::create;
use crate::support::program::says;
use crate::support::server::Server;

#[tokio::test]
async fn a_session_is_forked_undone_and_shown_as_a_tree() {
    let server = Served::start(&["--log", "off"]).await;
    let work = server.dir.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let id = create(&server, json!({ "cwd": work })).await;
    let path = format!("/api/sessions/{id}");
    for (route, body) in [("fork", json!({})), ("compact", json!({}))] {
        server.send("POST", &format!("{path}/{route}"), &body).await.is(422);
    }
    for prompt in ["help", "write"] {
        let body = json!({ "prompt": prompt });
        server.stream("POST", &format!("{path}/prompt"), "", &body).await.until("done").await;
    }
    assert!(work.join("tau-demo.md").exists());
    let tree = server.send("GET", &format!("{path}/tree"), &Value::Null).await.is(200).json();
    let rows = tree["rows"].as_array().unwrap();
    let prompts: Vec<&Value> = rows.iter().filter(|row| row["kind"] == json!("user")).collect();
    assert_eq!((prompts.len(), &prompts[1]["text"]), (2, &json!("write")));
    assert!(tree["leaf"].is_number(), "{tree}");

    let first = prompts[0]["id"].clone();

    // A fork before the second prompt has the first, and the text of the second.
    let before = json!({ "entryId": prompts[1]["id"] });
    let fork = server.send("POST", &format!("{path}/fork"), &before).await.is(201).json();
    assert_eq!(fork["text"], json!("write"));
    let fork = fork["session"]["id"].as_str().unwrap().to_owned();
    assert_ne!(fork, id);
    let own = server.send("GET", &format!("/api/sessions/{fork}/tree"), &Value::Null).await.is(200).json();
    let kinds: Vec<&Value> = own["rows"].as_array().unwrap().iter().map(|row| &row["kind"]).collect();
    assert_eq!(kinds.iter().filter(|kind| ***kind == json!("user")).count(), 1, "{own}");
    server.send("POST", &format!("{path}/fork"), &json!({ "entryId": "none" })).await.is(422);

    // Going back removes the file, and the conversation is before the prompt.
    let undo = json!({ "entryId": prompts[1]["id"] });
    let report = server.send("POST", &format!("{path}/undo"), &undo).await.is(200).json();
    assert_eq!(report["restored"], json!(["tau-demo.md"]), "{report}");
    assert!(!work.join("tau-demo.md").exists());
    let prompts = async || {
        let history = server.send("GET", &format!("{path}/history"), &Value::Null).await.is(200).json();
        let messages = history["messages"].as_array().unwrap().clone();
        let is_prompt = |message: &&Value| message["role"] == json!("user");
        messages.iter().filter(is_prompt).map(|message| message["content"].to_string()).collect::<String>()
    };
    let known = prompts().await;
    assert!(known.contains("help") && !known.contains("write"), "{known}");
    let exported = format!("{path}/export?format=md");
    let exported = server.send("GET", &exported, &Value::Null).await.is(200).body;
    let (own, others) = exported.split_once("# Other branches").unwrap();
    assert!(own.contains("help") && !own.contains("write\n\n## demo"), "{own}");
    assert!(others.contains("tau-demo.md"), "{others}");
    server.send("POST", &format!("{path}/undo"), &json!({ "entryId": first })).await.is(200);
    assert_eq!(prompts().await, "");
    server.send("POST", &format!("{path}/undo"), &json!({ "entryId": "none" })).await.is(422);
    server.send("POST", &format!("{path}/undo"), &json!({ "entryId": "x", "scope": "all" })).await.is(400);
    server.send("POST", &format!("{path}/compact"), &json!({ "what": 1 })).await.is(400);
}

/// The end of the compaction is larger than the log of events, which the next event therefore removes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compaction_whose_end_has_left_the_log_is_answered() {
    let answer = "word ".repeat(40_000);
    let acts = vec![says(&answer), says(&answer), says(&"long ".repeat(150_000))];
    let provider = Server::start(acts).await;
    let server = Served::with_model(&provider).await;
    let path = format!("/api/sessions/{}", create(&server, json!({ "model": "own/m" })).await);
    for prompt in ["one", "two"] {
        let body = json!({ "prompt": prompt });
        server.stream("POST", &format!("{path}/prompt"), "", &body).await.until("done").await;
    }
    server.send("POST", &format!("{path}/compact"), &json!({})).await.is(204);
}

/// A panic within one task is reported and leaves the program and its other tasks alone.
#[tokio::test]
async fn a_crash_ends_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "serve::branches::child_that_panics", "--ignored", "--nocapture"]);
    let output = command.env("TAU_HOME", home.path()).output().await.unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(out.contains("still here"), "{out}\n{err}");
    assert!(err.contains("a session crashed: the answer was 41"), "{err}");
    let reports = std::fs::read_dir(home.path()).unwrap().flatten();
    assert_eq!(reports.filter(|file| file.file_name().to_string_lossy().starts_with("crash-")).count(), 1);
}

/// Not a test: the program that the test above runs.
#[test]
#[ignore = "run by a_crash_ends_nothing_else"]
fn child_that_panics() {
    let Some(home) = std::env::var_os("TAU_HOME") else { return };
    tau::cli::process::crash::install_for_server(home.into());
    let _ = std::thread::spawn(|| panic!("the answer was {}", 41)).join();
    // Longer than the time after which a screen would be ended.
    let (_sender, receiver) = std::sync::mpsc::channel::<()>();
    let _ = receiver.recv_timeout(std::time::Duration::from_millis(2_500));
    println!("still here");
    tau::cli::process::stderr::finish();
}
