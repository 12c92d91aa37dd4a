//! `tau mcp-serve`: sessions as MCP tools, on pipes and over HTTP.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::client::reply;
use crate::support::program::{bare, calls, says, stalls};
use crate::support::server::{Act, Server};
use crate::time_limit::InTime;

const TOKEN: &str = "a-token-of-this-test";

/// A client on pipes.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    next: u64,
    dir: tempfile::TempDir,
    upstream: Server,
}

fn command(dir: &tempfile::TempDir, upstream: &Server, arguments: &[&str]) -> Command {
    let mut command = bare(dir.path());
    command.arg("mcp-serve").args(["--base-url", &upstream.url(), "--model", "m", "--api-key", "x"]);
    command.args(arguments).env("TAU_PERMISSION_MODE", "auto").stdin(Stdio::piped());
    command
}

fn hello() -> Value {
    json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
}

impl Client {
    async fn start(acts: Vec<Act>) -> Self {
        Client::configured(acts, "").await
    }

    async fn configured(acts: Vec<Act>, config: &str) -> Self {
        let (upstream, dir) = (Server::start(acts).await, tempfile::tempdir().unwrap());
        let folder = dir.path().join(".config/tau");
        crate::support::write(&folder.join("config.toml"), &config);
        let mut child = command(&dir, &upstream, &[]).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let input = child.stdin.take();
        let mut client = Client { child, input, output, next: 1, dir, upstream };
        let answer = client.ask("initialize", hello()).await;
        assert_eq!(answer["serverInfo"]["name"], "tau", "{answer}");
        client.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await;
        client
    }

    async fn write(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).in_time("the server to read").await.unwrap();
    }

    /// The result or the error of a request.
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string())
            .await;
        loop {
            let line = self.output.next_line().in_time(method).await.unwrap().expect("an answer");
            let record: Value = serde_json::from_str(&line).unwrap();
            if record["id"] == id {
                return if record["error"].is_null() {
                    record["result"].clone()
                } else {
                    record["error"].clone()
                };
            }
        }
    }

    async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": name, "arguments": arguments})).await
    }

    /// The state that a tool returns.
    async fn state(&mut self, name: &str, arguments: Value) -> Value {
        let result = self.call(name, arguments).await;
        assert_ne!(result["isError"], true, "{name}: {result}");
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"], "{result}");
        text
    }
}

#[tokio::test]
async fn a_client_starts_prompts_answers_and_stops() {
    let write = json!({"path": "made.txt", "content": "one\n"});
    let remove = json!({"command": "rm made.txt"});
    let acts = vec![calls("write", &write), calls("bash", &remove), says("it is there"), stalls("it begins")];
    let mut client = Client::start(acts).await;
    let tools = client.ask("tools/list", json!({})).await;
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["session_start", "session_prompt", "session_wait", "session_answer", "session_stop"]);
    for tool in tools["tools"].as_array().unwrap() {
        assert!(tool["inputSchema"]["type"] == "object" && tool["description"].is_string(), "{tool}");
    }

    let started = client.state("session_start", json!({"permissionMode": "ask"})).await;
    let id = started["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(started["state"], "idle", "{started}");
    assert!(started.get("text").is_none(), "there is no answer yet: {started}");
    let asked = client.state("session_prompt", json!({"sessionId": id, "prompt": "make it"})).await;
    let waits = &asked["approvals"][0];
    assert_eq!((&asked["state"], &waits["tool"]), (&json!("waiting"), &json!("write")), "{asked}");
    assert!(waits["preview"]["change"]["hunks"][0]["lines"].to_string().contains("+one"), "{asked}");
    assert!(!client.dir.path().join("made.txt").exists());

    let answer = json!({"sessionId": id, "id": waits["id"], "decision": "allow"});
    let asked = client.state("session_answer", answer.clone()).await;
    assert_eq!(std::fs::read_to_string(client.dir.path().join("made.txt")).unwrap(), "one\n");
    assert_eq!(
        (&asked["state"], &asked["approvals"][0]["tool"]),
        (&json!("waiting"), &json!("bash")),
        "{asked}"
    );
    let again = client.call("session_answer", answer).await;
    assert!(
        again["isError"] == true && again.to_string().contains("nothing with this id is waiting"),
        "{again}"
    );
    let deny = json!({
        "sessionId": id, "id": asked["approvals"][0]["id"], "decision": "deny", "reason": "keep it",
    });
    let done = client.state("session_answer", deny).await;
    assert_eq!((&done["state"], &done["text"]), (&json!("idle"), &json!("it is there")), "{done}");
    assert!(client.upstream.requests().last().unwrap().contains("keep it"));
    assert!(client.dir.path().join("made.txt").exists());

    let prompt = json!({"sessionId": id, "prompt": "more", "waitSeconds": 0});
    assert_eq!(client.state("session_prompt", prompt).await["state"], "running");
    let wait = json!({"sessionId": id, "waitSeconds": 1});
    assert_eq!(client.state("session_wait", wait).await["state"], "running");
    let stopped = client.state("session_stop", json!({"sessionId": id})).await;
    assert_eq!((&stopped["state"], &stopped["aborted"]), (&json!("idle"), &json!(true)), "{stopped}");

    // A client that leaves ends the server.
    drop(client.input.take());
    let ended = client.child.wait().in_time("the end of the server").await.unwrap();
    assert_eq!(ended.code(), Some(0));
}

#[tokio::test]
async fn a_call_that_waits_reports_progress_to_whoever_asks() {
    let mut client = Client::start(vec![stalls("it begins")]).await;
    let id = client.state("session_start", json!({})).await["sessionId"].clone();
    let params = json!({
        "name": "session_prompt", "arguments": {"sessionId": id, "prompt": "go", "waitSeconds": 600},
        "_meta": {"progressToken": "mine"},
    });
    client
        .write(&json!({"jsonrpc": "2.0", "id": "p", "method": "tools/call", "params": params}).to_string())
        .await;
    let mut last = 0.0;
    for _ in 0..2 {
        let line = client.output.next_line().in_time("progress").await.unwrap().unwrap();
        let record: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(record["method"], "notifications/progress", "{record}");
        let params = &record["params"];
        assert_eq!(params["progressToken"], "mine", "{record}");
        assert!(params["progress"].as_f64().unwrap() > last, "it increases: {record}");
        assert_eq!(params["message"], "working: 0 tool calls, 0 tokens", "{record}");
        last = params["progress"].as_f64().unwrap();
    }
    let stopped = client.state("session_stop", json!({"sessionId": id})).await;
    assert_eq!(stopped["state"], "idle", "{stopped}");
}

#[tokio::test]
async fn a_prompt_that_a_hook_stops_has_an_error() {
    let hook = "[[hooks.UserPromptSubmit]]\ncommand = 'echo \"not this word\" >&2; exit 2'\n";
    let mut client = Client::configured(vec![says("alive")], hook).await;
    let id = client.state("session_start", json!({})).await["sessionId"].clone();
    let state = client.state("session_prompt", json!({"sessionId": id, "prompt": "forbidden"})).await;
    let error = "a hook blocked the prompt: not this word";
    assert_eq!((&state["state"], &state["error"]), (&json!("idle"), &json!(error)), "{state}");
}

#[tokio::test]
async fn mistakes_are_answered_in_words_and_garbage_ends_nothing() {
    let mut client = Client::start(vec![says("alive")]).await;
    let cases = [
        (
            "session_prompt",
            json!({"sessionId": "nosuch", "prompt": "x"}),
            "there is no session nosuch; `tau sessions --all` lists them",
        ),
        ("session_prompt", json!({"prompt": "x"}), "missing field `sessionId`"),
        ("session_start", json!({"cwd": "/nowhere/at/all"}), "is not a directory"),
        ("session_start", json!({"model": "no/such"}), "no/such"),
        ("session_start", json!({"permissionMode": "yolo"}), "unknown variant `yolo`"),
        ("session_start", json!({"directory": "/"}), "unknown field `directory`"),
    ];
    for (name, arguments, expected) in cases {
        let result = client.call(name, arguments).await;
        assert!(result["isError"] == true && result.to_string().contains(expected), "{expected}: {result}");
    }
    client.write("{nope").await;
    let line = client.output.next_line().in_time("the refusal").await.unwrap().expect("an answer");
    let refused: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(-32700), &Value::Null), "{line}");
    let unknown = client.call("session_fly", json!({})).await;
    assert!(unknown["code"] == -32602, "{unknown}");
    for at in 0..1_000_usize {
        let line = match at % 4 {
            0 => "{".repeat(at % 50 + 1),
            1 => json!({"jsonrpc": "2.0", "id": 100_000 + at, "method": "tools/call", "params": at})
                .to_string(),
            2 => json!({"jsonrpc": "2.0", "id": 100_000 + at, "method": "x".repeat(at)}).to_string(),
            _ => format!("\u{1}{at}\u{feff}"),
        };
        client.write(&line).await;
        if at % 20 == 0 {
            // Reads the answers, or neither side could write any more.
            client.ask("ping", json!({})).await;
        }
    }
    let id = client.state("session_start", json!({})).await["sessionId"].clone();
    let done = client.state("session_prompt", json!({"sessionId": id, "prompt": "x"})).await;
    assert_eq!(done["text"], "alive", "{done}");
}

#[tokio::test]
async fn over_http_a_client_needs_the_token() {
    let (upstream, dir) = (Server::start(vec![says("alive")]).await, tempfile::tempdir().unwrap());
    let mut command = command(&dir, &upstream, &["--listen", "127.0.0.1:0"]);
    let mut child = command.env("TAU_SERVE_TOKEN", TOKEN).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next_line().in_time("the address").await.unwrap().expect("an address");
    let address = line.strip_prefix("listening on http://").unwrap().strip_suffix("/mcp").unwrap().to_owned();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello()}).to_string();
    let send = async |host: &str, token: &str| {
        let mut socket = tokio::net::TcpStream::connect(&address).await.unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        reply(socket).await
    };
    assert_eq!(send("localhost", "not-the-token").await.status, 401);
    assert_eq!(send("evil.example", TOKEN).await.status, 403);
    let answer = send("localhost", TOKEN).await.is(200);
    assert!(answer.body.contains("\"serverInfo\":{\"name\":\"tau\""), "{answer:?}");
}

/// A client for another agent cannot run more without approval than the user allowed.
#[tokio::test]
async fn a_client_cannot_raise_the_mode() {
    for (chosen, refused) in [
        (None, vec!["edits", "auto"]),
        (Some("plan"), vec!["ask", "edits", "auto"]),
        (Some("edits"), vec!["auto"]),
        (Some("auto"), vec![]),
    ] {
        let (upstream, dir) = (Server::start(vec![says("x")]).await, tempfile::tempdir().unwrap());
        let mut command = command(&dir, &upstream, &[]);
        command.env_remove("TAU_PERMISSION_MODE");
        if let Some(mode) = chosen {
            command.args(["--permission-mode", mode]);
        }
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let input = child.stdin.take();
        let mut client = Client { child, input, output, next: 1, dir, upstream };
        client.ask("initialize", hello()).await;
        client.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await;
        for mode in ["plan", "ask", "edits", "auto"] {
            let result = client.call("session_start", json!({"permissionMode": mode})).await;
            let is_refused = result["isError"] == true && result.to_string().contains("cannot be raised");
            assert_eq!(is_refused, refused.contains(&mode), "{chosen:?} {mode}: {result}");
        }
    }
}

/// An MCP client is usually a model itself: no one is asked.
#[tokio::test]
async fn the_model_behind_it_is_told_that_nobody_can_answer() {
    let question = json!({"questions": [{"question": "Which?", "choices": ["a", "b"]}]});
    let mut client = Client::start(vec![calls("ask_user", &question), says("done")]).await;
    let id = client.state("session_start", json!({})).await["sessionId"].clone();
    let done = client.state("session_prompt", json!({"sessionId": id, "prompt": "go"})).await;
    assert_eq!((&done["state"], &done["text"]), (&json!("idle"), &json!("done")), "{done}");
    let result = crate::asking::result_of(client.upstream.requests().last().unwrap());
    assert!(result.starts_with("Nobody can answer"), "{result}");
}
