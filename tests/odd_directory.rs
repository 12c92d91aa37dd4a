//! A directory whose name is not UTF-8, with tau's own folder in it, through the front ends without a terminal.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use crate::serve::client::{Served, ready};
use crate::support::program::{bare, calls, own_model, run, says};
use crate::support::server::Server;
use crate::time_limit::InTime;

/// A home, and the directory in it.
fn places() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().canonicalize().unwrap().join(OsStr::from_bytes(b"d\xffx"));
    let prompts = dir.join("tau/prompts");
    crate::support::write(&prompts.join("greet.md"), "Say hello.");
    let hook = "[[hooks.PreToolUse]]\ncommand = 'cat > \"$HOME/hook.json\"'\n";
    fs::write(dir.join("tau/config.toml"), hook).unwrap();
    (home, dir)
}

/// A model that writes a file.
async fn writes() -> Server {
    let write = calls("write", &json!({ "path": "made.txt", "content": "x" }));
    Server::start(vec![write, says("Done.")]).await
}

fn tau(home: &Path, dir: &Path) -> Command {
    let mut command = bare(home);
    command.env("TAU_HOME", dir.join("tau")).env("TAU_PERMISSION_MODE", "ask").current_dir(dir);
    command
}

/// Fails unless the call was made and the hook saw it.
#[track_caller]
fn check_made(home: &Path, dir: &Path) {
    assert_eq!(fs::read_to_string(dir.join("made.txt")).unwrap(), "x");
    let seen: Value = serde_json::from_str(&fs::read_to_string(home.join("hook.json")).unwrap()).unwrap();
    assert_eq!(seen["cwd"], tau::tools::path_text::text(dir).as_ref());
    assert_eq!(seen["tool_input"]["file_path"], "made.txt");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rpc_asks_and_lists_there() {
    let ((home, dir), provider) = (places(), writes().await);
    let mut command = tau(home.path(), &dir);
    command.args(["--mode", "rpc"]).args(own_model(&provider.url())).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut lines = BufReader::new(output).lines();
    let mut seen = Vec::new();
    for command in ["get_commands", "get_state", "get_session_stats"] {
        let record = json!({ "id": command, "type": command });
        input.write_all(format!("{record}\n").as_bytes()).await.unwrap();
    }
    input.write_all(b"{\"type\":\"prompt\",\"message\":\"go\"}\n").await.unwrap();
    loop {
        let line = lines.next_line().in_time("a record").await.unwrap().expect("a record");
        let record: Value = serde_json::from_str(&line).unwrap();
        if record["type"] == "approval_requested" {
            let id = &record["request"]["id"];
            let answer = json!({ "type": "answer_approval", "approvalId": id, "decision": "allow" });
            input.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        }
        let is_over = record["type"] == "agent_settled";
        seen.push(record);
        if is_over {
            break;
        }
    }
    check_made(home.path(), &dir);
    let answer = |id: &str| seen.iter().find(|record| record["id"] == id).unwrap()["data"].clone();
    let commands = answer("get_commands");
    let greet = commands["commands"].as_array().unwrap().iter().find(|row| row["name"] == "greet");
    let path = tau::tools::path_text::path(greet.unwrap()["sourceInfo"]["path"].as_str().unwrap().to_owned());
    assert_eq!(path, dir.join("tau/prompts/greet.md"));
    for id in ["get_state", "get_session_stats"] {
        let file = answer(id)["sessionFile"].as_str().unwrap().to_owned();
        assert!(tau::tools::path_text::path(file).starts_with(&dir), "{id}");
    }
    drop(input);
    child.wait().in_time("the end of the program").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_asks_and_lists_there() {
    let ((home, dir), provider) = (places(), writes().await);
    let mut command = tau(home.path(), &dir);
    command.args(["serve", "--listen", "127.0.0.1:0", "--log", "off"]).args(own_model(&provider.url()));
    let (child, address, token) = ready(command).await;
    let server = Served { child, address, token, dir: home };
    let id = server.send("POST", "/api/sessions", &json!({})).await.is(201).json()["id"].clone();
    let path = format!("/api/sessions/{}", id.as_str().unwrap());
    let mut events = server.events(id.as_str().unwrap()).await;
    server.send("POST", &format!("{path}/prompt"), &json!({ "prompt": "go", "detach": true })).await.is(202);
    let asked = events.until("approval_requested").await;
    let request = &asked.last().unwrap().data["request"];
    let shown = server.send("GET", &path, &Value::Null).await.is(200).json();
    assert_eq!(shown["approvals"][0]["id"], request["id"]);
    let answer = format!("{path}/approvals/{}", request["id"].as_str().unwrap());
    server.send("POST", &answer, &json!({ "decision": "allow" })).await.is(204);
    events.until("agent_settled").await;
    check_made(server.dir.path(), &dir);
    let list = server.send("GET", "/api/sessions", &Value::Null).await.is(200).json();
    assert_eq!(list["sessions"][0]["firstPrompt"], "go");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_in_the_background_is_known_there() {
    let ((home, dir), provider) = (places(), writes().await);
    let mut begun = tau(home.path(), &dir);
    begun.args(["-b"]).args(own_model(&provider.url())).args(["go"]);
    let ended = run(&mut begun, None).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let id = ended.out.trim().to_owned();
    // It waits for an answer until it is stopped.
    let stopped = run(tau(home.path(), &dir).args(["stop", &id]), None).await;
    assert_eq!(stopped.code, 0, "{}", stopped.err);
    for arguments in [&["sessions", "--json"][..], &["sessions", "--json", "--all"]] {
        let listed = run(tau(home.path(), &dir).args(arguments), None).await;
        let rows: Vec<Value> = serde_json::from_str(&listed.out).unwrap();
        assert_eq!((&rows[0]["id"], &rows[0]["firstPrompt"]), (&json!(id), &json!("go")), "{}", listed.out);
        let cwd = tau::tools::path_text::path(rows[0]["cwd"].as_str().unwrap().to_owned());
        assert_eq!(cwd, dir);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_events_of_a_run_are_whole_there() {
    let ((home, dir), provider) = (places(), writes().await);
    let mut command = tau(home.path(), &dir);
    command.env("TAU_PERMISSION_MODE", "auto").args(["--json"]).args(own_model(&provider.url())).arg("go");
    let ended = run(&mut command, None).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    for record in ended.records() {
        assert!(record["type"].is_string() && record["type"] != "unsendable", "{record}");
    }
    check_made(home.path(), &dir);
}
