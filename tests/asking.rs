//! The model asks the user (`ask_user`), with and without someone to answer.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::approvals::terminal::{calling, play, saying};
use crate::support::program::{bare, body, calls, own_model, run, says};
use crate::support::server::{Act, Server};
use crate::time_limit::InTime;

fn questions() -> Value {
    json!({"questions": [
        {"question": "Which \u{202e}database\u{1b}[2J?", "choices": ["SQLite", "PostgreSQL"]},
        {"question": "Which checks?", "choices": ["fmt", "clippy", "tests"], "multiple": true},
        {"question": "Which branch?"},
    ]})
}

fn acts() -> Vec<Act> {
    vec![calls("ask_user", &questions()), says("done")]
}

/// The last tool result in a request to the model.
pub(crate) fn result_of(request: &str) -> String {
    let body = body(request);
    let messages = body["messages"].as_array().unwrap();
    let result = messages.iter().rev().find(|message| message["role"] == "tool").expect("a tool result");
    result["content"].as_str().unwrap().to_owned()
}

const NOBODY: &str = "Nobody can answer";
const ANSWERS: &str = "1. PostgreSQL\n2. fmt; tests; in the user's own words: and deny\n3. main";

#[tokio::test]
async fn where_nobody_can_answer_the_model_is_told_at_once() {
    for (mode, input) in
        [("text", None), ("json", None), ("json", Some("{\"type\":\"message\",\"content\":\"go\"}\n"))]
    {
        let (dir, server) = (tempfile::tempdir().unwrap(), Server::start(acts()).await);
        let mut command = bare(dir.path());
        command.args(own_model(&server.url())).args(["--mode", mode]);
        if input.is_none() {
            command.arg("go");
        }
        let ended = run(&mut command, input).await;
        assert_eq!(ended.code, 0, "{mode}: {ended:?}");
        let result = result_of(server.requests().last().unwrap());
        assert!(result.starts_with(NOBODY), "{mode}: {result}");
    }
}

/// Talks to `tau --mode rpc`: these commands, then a prompt, then the answer to its question. Returns the
/// result that the model got.
async fn over_rpc(commands: &[Value], answer: Option<Value>) -> String {
    let (dir, server) = (tempfile::tempdir().unwrap(), Server::start(acts()).await);
    let mut command = bare(dir.path());
    command.args(["--mode", "rpc"]).args(own_model(&server.url()));
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for command in commands.iter().chain([&json!({"type": "prompt", "message": "go"})]) {
        input.write_all(format!("{command}\n").as_bytes()).await.unwrap();
    }
    loop {
        let line = lines.next_line().in_time("a record").await.unwrap().expect("a record");
        let record: Value = serde_json::from_str(&line).unwrap();
        if record["type"] == "extension_ui_request" {
            assert_eq!(record["method"], "questions", "{record}");
            assert_eq!(record["questions"], questions()["questions"], "{record}");
            let mut answer = answer.clone().expect("nobody is to be asked");
            answer["type"] = json!("extension_ui_response");
            answer["id"] = record["id"].clone();
            input.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        }
        if record["type"] == "agent_settled" {
            break;
        }
    }
    drop(input);
    child.wait().in_time("its end").await.unwrap();
    result_of(server.requests().last().unwrap())
}

#[tokio::test]
async fn an_rpc_client_is_asked_once_it_says_that_it_can() {
    let can = [json!({"type": "set_ask_user", "enabled": true})];
    let answers = json!({"answers": [
        {"choices": [1]}, {"choices": [0, 2, 9], "text": " and deny "}, {"text": "main"},
    ]});
    assert!(over_rpc(&[], None).await.starts_with(NOBODY));
    assert_eq!(over_rpc(&can, Some(answers)).await, ANSWERS);
    let odd =
        [json!({"declined": true}), json!({"cancelled": true}), json!({"answers": 5}), json!({"value": "x"})];
    for odd in odd {
        let result = over_rpc(&can, Some(odd.clone())).await;
        assert!(result.starts_with("The user declined to answer"), "{odd}: {result}");
    }
    let short = over_rpc(&can, Some(json!({"answers": []}))).await;
    assert_eq!(short, "1. (no answer)\n2. (no answer)\n3. (no answer)");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_answers_on_the_screen() {
    for size in [(80, 24), (120, 40), (40, 12)] {
        let acts = vec![calling(&[("ask_user", questions())]), saying("Finished.")];
        let requests = play(acts, "", "", size, move |screen| {
            screen.type_keys("go\r");
            screen.wait_for("The model asks · 1 of 3");
            screen.wait_for("<U+202E>database");
            if size.1 > 12 {
                screen.wait_for("waiting for you");
            }
            screen.press_until("2", "2 of 3");
            screen.type_keys("1");
            screen.wait_for("1. [x] fmt");
            screen.type_keys("\x1b[B\x1b[B ");
            screen.wait_for("3. [x] tests");
            screen.type_keys("and deny\r");
            screen.wait_for("3 of 3");
            screen.type_keys("main\r");
            screen.wait_for("Finished.");
        })
        .await;
        assert_eq!(result_of(&requests[1]), ANSWERS);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_question_is_read_in_a_small_window() {
    let question = "The team runs Postgres today, the data fits into memory, nobody is on call at night, and the \
                    budget is small. Which database is the last word of this long question?";
    let asked = json!({"questions": [{"question": question, "choices": ["SQLite", "PostgreSQL", "DuckDB"]}]});
    let acts = vec![calling(&[("ask_user", asked)]), saying("Finished.")];
    let requests = play(acts, "", "", (40, 12), |screen| {
        screen.type_keys("go\r");
        screen.wait_for("The team runs Postgres");
        screen.wait_for(" more rows: pgdn");
        assert!(screen.text().contains("1. SQLite") && screen.text().contains("enter sends"));
        screen.press_until("\x1b[6~", "long question?");
        screen.wait_for(" above: pgup");
        screen.type_keys("\x1b[5~");
        screen.wait_for("The team runs Postgres");
        screen.type_keys("3");
        screen.wait_for("Finished.");
    })
    .await;
    assert_eq!(result_of(&requests[1]), "DuckDB");
}

#[tokio::test(flavor = "multi_thread")]
async fn declining_keeps_what_was_typed_and_what_was_meant_for_the_draft() {
    let acts = vec![calling(&[("ask_user", questions())]), saying("Finished.")];
    let requests = play(acts, "", "", (80, 24), |screen| {
        screen.type_keys("go\r");
        screen.wait_for("The model asks");
        screen.press_until("x", "3. x");
        screen.type_keys("\x1b");
        screen.wait_for("Finished.");
        screen.wait_for_composer("x");
    })
    .await;
    assert!(result_of(&requests[1]).starts_with("The user declined to answer"), "{}", requests[1]);
}

/// A session whose last message asks: nothing followed before tau was killed.
fn interrupted_session(folder: &Path) -> std::path::PathBuf {
    let cwd = folder.to_str().unwrap();
    let call = json!({"type": "toolCall", "id": "c1", "name": "ask_user", "arguments": questions()});
    let usage = json!({"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}});
    let message = |id: &str, parent: Value, message: Value| json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z", "message": message});
    let lines = [
        json!({"type": "session", "version": 3, "id": "0198c0de-0000-7000-8000-000000000001", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": cwd}),
        message("a1", Value::Null, json!({"role": "user", "content": "go", "timestamp": 1})),
        message(
            "a2",
            json!("a1"),
            json!({"role": "assistant", "content": [call], "api": "openai-completions", "provider": "custom", "model": "m", "usage": usage, "stopReason": "toolUse", "timestamp": 2}),
        ),
    ];
    let file = folder.join("session.jsonl");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, text).unwrap();
    file
}

#[tokio::test]
async fn a_question_that_was_open_when_tau_ended_is_reported_as_interrupted() {
    let (dir, server) = (tempfile::tempdir().unwrap(), Server::start(vec![says("done")]).await);
    let file = interrupted_session(dir.path());
    let mut command = bare(dir.path());
    command.args(own_model(&server.url())).args(["-p", "--session"]);
    let ended = run(command.arg(&file).arg("and now?"), None).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let result = result_of(server.requests().last().unwrap());
    assert!(result.starts_with("interrupted: tau ended before the user had answered"), "{result}");
}

/// `tau --mode rpc`, driven by a client.
struct Rpc {
    child: tokio::process::Child,
    input: tokio::process::ChildStdin,
    lines: tokio::io::Lines<BufReader<tokio::process::ChildStdout>>,
}

impl Rpc {
    fn start(dir: &Path, server: &Server, arguments: &[&str]) -> Self {
        let mut command = bare(dir);
        command.args(["--mode", "rpc"]).args(own_model(&server.url()));
        command.args(["--permission-mode", "auto"]).args(arguments);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Rpc { child, input, lines }
    }

    async fn send(&mut self, command: Value) {
        self.input.write_all(format!("{command}\n").as_bytes()).await.unwrap();
    }

    /// The next record of this type.
    async fn until(&mut self, kind: &str) -> Value {
        loop {
            let line = self.lines.next_line().in_time(kind).await.unwrap().expect(kind);
            let record: Value = serde_json::from_str(&line).unwrap();
            if record["type"] == kind {
                return record;
            }
        }
    }

    /// Answers the next question.
    async fn answer(&mut self, mut answer: Value) -> Value {
        let asked = self.until("extension_ui_request").await;
        answer["type"] = json!("extension_ui_response");
        answer["id"] = asked["id"].clone();
        self.send(answer).await;
        asked
    }
}

fn plan() -> Act {
    calls("submit_plan", &json!({"plan": "Why.\n\n1. **Read** it\n7. Write it"}))
}

fn tools_of(request: &str) -> Vec<String> {
    let body = body(request);
    let tools = body["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn an_accepted_plan_survives_compaction_and_resume() {
    let report = |step: usize| calls("plan_step", &json!({"done": [step]}));
    let acts = vec![
        plan(),
        report(1),
        says("half of it"),
        says("in short"),
        says("on it"),
        says("again"),
        report(9),
        report(2),
        says("ready"),
        says("idle"),
    ];
    let (dir, server) = (tempfile::tempdir().unwrap(), Server::start(acts).await);
    let mut client = Rpc::start(dir.path(), &server, &["--session-id", "one"]);
    client.send(json!({"type": "set_ask_user", "enabled": true})).await;
    client.send(json!({"type": "set_permission_mode", "mode": "plan"})).await;
    client.send(json!({"type": "prompt", "message": "go"})).await;
    let asked = client.answer(json!({"accepted": true, "mode": "ask"})).await;
    assert_eq!(
        (&asked["method"], &asked["plan"]),
        (&json!("plan"), &json!("Why.\n\n1. **Read** it\n2. Write it\n"))
    );
    client.until("agent_settled").await;
    client.send(json!({"type": "compact"})).await;
    client.until("compaction_end").await;
    client.send(json!({"type": "prompt", "message": "continue"})).await;
    client.until("agent_settled").await;
    let told = "[tau] The plan that the user has accepted, and what of it is done:\\n\\nWhy.\\n\\n1. [x] **Read** it\\n2. [ ] Write it\\n";
    let request = server.requests().pop().unwrap();
    assert!(request.contains(told) && !request.contains("7. Write it"), "{request}");
    // Killed, and opened again.
    client.child.kill().await.unwrap();
    let mut client = Rpc::start(dir.path(), &server, &["--session", "one"]);
    client.send(json!({"type": "set_ask_user", "enabled": true})).await;
    let plan = client.until("plan_changed").await["plan"].clone();
    assert_eq!(plan["steps"][0], json!({"text": "**Read** it", "done": true}), "{plan}");
    client.send(json!({"type": "prompt", "message": "and now"})).await;
    client.until("agent_settled").await;
    let request = server.requests().pop().unwrap();
    assert!(request.contains(told) && tools_of(&request).contains(&"plan_step".to_owned()), "{request}");
    client.send(json!({"type": "prompt", "message": "finish"})).await;
    assert_eq!(client.until("plan_changed").await["plan"]["steps"][1]["done"], true);
    client.until("agent_settled").await;
    let requests = server.requests();
    assert!(result_of(&requests[7]).contains("there is no step 9; the plan has the steps 1 to 2"));
    client.send(json!({"type": "prompt", "message": "hello"})).await;
    client.until("agent_settled").await;
    assert!(!tools_of(server.requests().last().unwrap()).contains(&"plan_step".to_owned()), "it is done");
    // A new session has no plan.
    client.send(json!({"type": "drop_plan"})).await;
    assert_eq!(client.until("plan_changed").await["plan"], Value::Null);
}

#[tokio::test]
async fn a_plan_is_rejected_changed_or_closed() {
    let acts = vec![plan(), plan(), says("ok"), plan()];
    let (dir, server) = (tempfile::tempdir().unwrap(), Server::start(acts).await);
    let mut client = Rpc::start(dir.path(), &server, &[]);
    client.send(json!({"type": "set_ask_user", "enabled": true})).await;
    client.send(json!({"type": "set_permission_mode", "mode": "plan"})).await;
    client.send(json!({"type": "prompt", "message": "go"})).await;
    client.answer(json!({"accepted": false, "comment": " no tests "})).await;
    let changed = json!({"accepted": true, "mode": "auto", "plan": "1. Only read"});
    client.answer(changed).await;
    client.until("agent_settled").await;
    let requests = server.requests();
    assert_eq!(result_of(&requests[1]), "the user rejected the plan: no tests");
    assert!(
        requests[0].contains("hand in a plan with")
            && tools_of(&requests[1]).contains(&"submit_plan".to_owned())
    );
    let result = result_of(&requests[2]);
    assert!(
        result.starts_with("The user accepted the plan with changes.") && result.ends_with("1. Only read\n"),
        "{result}"
    );
    // Closed: the run stops, and the mode stays.
    client.send(json!({"type": "set_permission_mode", "mode": "plan"})).await;
    client.send(json!({"type": "prompt", "message": "once more"})).await;
    client.answer(json!({"cancelled": true})).await;
    assert_eq!(client.until("agent_settled").await["aborted"], true);
    assert_eq!(server.requests().len(), 4, "nothing was sent after it");
}

#[tokio::test]
async fn without_anybody_who_can_accept_it_the_answer_is_the_plan() {
    let (dir, server) = (tempfile::tempdir().unwrap(), Server::start(vec![says("1. Do it")]).await);
    let mut command = bare(dir.path());
    command.args(own_model(&server.url())).args(["--permission-mode", "plan", "-p", "go"]);
    let ended = run(&mut command, None).await;
    assert_eq!((ended.code, ended.out.trim()), (0, "1. Do it"), "{ended:?}");
    let request = server.requests().pop().unwrap();
    assert!(
        !tools_of(&request).contains(&"submit_plan".to_owned()) && request.contains("finish with a plan")
    );
}
