//! `tau acp`: the real program with an editor at the other end of its pipes. Every line that it writes is
//! parsed as the protocol's type for it.

mod approvals;
mod editor;
mod hostile;
mod jobs;
mod plans;
mod registry;
mod sessions;
mod terminals;
mod turns;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use agent_client_protocol_schema::v1::{Error, RequestPermissionRequest, SessionNotification};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

use crate::support::program::{bare, own_model, run};
use crate::support::server::{Act, Server};
use crate::time_limit::InTime;

/// An editor, and tau behind its pipes.
struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    server: Server,
    dir: tempfile::TempDir,
    last: i64,
    /// Updates not consumed yet, with their sessions.
    updates: VecDeque<(String, Value)>,
    /// Requests of tau not consumed yet.
    requests: VecDeque<Value>,
    /// Answers that no one has waited for yet.
    answers: Vec<Value>,
}

impl Editor {
    /// Starts tau with these arguments and these answers of its model.
    async fn start(acts: Vec<Act>, arguments: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let server = Server::start(acts).await;
        let mut command = bare(dir.path());
        command.arg("acp").args(own_model(&server.url())).args(arguments);
        command.env("TAU_PERMISSION_MODE", "auto");
        // Its complaints are not read.
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        Self::of(command.spawn().unwrap(), server, dir)
    }

    fn of(mut child: Child, server: Server, dir: tempfile::TempDir) -> Self {
        std::fs::create_dir(dir.path().join("work")).unwrap();
        let lines = BufReader::with_capacity(1 << 20, child.stdout.take().unwrap()).lines();
        let input = child.stdin.take();
        let (updates, requests, answers) = Default::default();
        Editor { child, input, lines, server, dir, last: 0, updates, requests, answers }
    }

    /// Starts tau and initializes it.
    async fn with(acts: Vec<Act>, capabilities: Value) -> Self {
        let mut editor = Self::start(acts, &[]).await;
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        let answer = editor.ask("initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
        editor
    }

    async fn new(acts: Vec<Act>) -> Self {
        Self::with(acts, json!({})).await
    }

    /// The directory of sessions: not the home directory, whose files undo ignores.
    fn cwd(&self) -> PathBuf {
        self.dir.path().join("work").canonicalize().unwrap()
    }

    /// The output of another tau in that directory.
    async fn tau(&self, arguments: &[&str]) -> String {
        let ended = run(bare(self.dir.path()).current_dir(self.cwd()).args(arguments), None).await;
        ended.out + &ended.err
    }

    async fn raw(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(&[line, b"\n"].concat()).in_time("a reader of the input").await.unwrap();
    }

    async fn send(&mut self, message: Value) {
        self.raw(message.to_string().as_bytes()).await;
    }

    async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// Sends a request and returns its id.
    async fn request(&mut self, method: &str, params: Value) -> i64 {
        self.last += 1;
        let id = self.last;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// Reads one line and stores it.
    async fn take(&mut self) {
        let line = timeout(Duration::from_secs(60), self.lines.next_line()).await.expect("no line came");
        let line = line.unwrap().expect("tau has ended");
        let mut message: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        match message["method"].as_str() {
            Some("session/update") => {
                let news: SessionNotification =
                    serde_json::from_value(message["params"].clone()).expect(&line);
                assert_eq!(serde_json::to_value(news).unwrap(), message["params"], "a field is unknown");
                let session = message["params"]["sessionId"].as_str().unwrap().to_owned();
                self.updates.push_back((session, message["params"]["update"].take()));
            }
            Some("session/request_permission") => {
                serde_json::from_value::<RequestPermissionRequest>(message["params"].clone()).expect(&line);
                self.requests.push_back(message);
            }
            Some("$/cancel_request") => self.updates.push_back((String::new(), message)),
            Some(_) => self.requests.push_back(message),
            None => {
                if message["result"].is_null() {
                    serde_json::from_value::<Error>(message["error"].clone()).expect(&line);
                }
                self.answers.push(message);
            }
        }
    }

    /// The answer to a request.
    async fn answer(&mut self, id: i64) -> Value {
        loop {
            if let Some(at) = self.answers.iter().position(|answer| answer["id"] == id) {
                return self.answers.remove(at);
            }
            self.take().await;
        }
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        self.answer(id).await
    }

    /// The next request of tau with this method.
    async fn asked(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self.requests.iter().position(|request| request["method"] == method) {
                return self.requests.remove(at).unwrap();
            }
            self.take().await;
        }
    }

    /// The next update of this kind; earlier ones are dropped.
    async fn update(&mut self, kind: &str) -> Value {
        loop {
            while let Some((_, update)) = self.updates.pop_front() {
                if update["sessionUpdate"] == kind {
                    return update;
                }
            }
            self.take().await;
        }
    }

    /// Creates a session in the directory and returns its id.
    async fn session(&mut self) -> String {
        let params = json!({"cwd": self.cwd(), "mcpServers": []});
        let answer = self.ask("session/new", params).await;
        answer["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Sends a prompt and returns the id of the request.
    async fn prompt(&mut self, session: &str, text: &str) -> i64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.request("session/prompt", json!({"sessionId": session, "prompt": prompt})).await
    }

    /// Takes the updates so far.
    fn seen(&mut self) -> Vec<Value> {
        self.updates.drain(..).map(|(_, update)| update).collect()
    }

    /// Closes the pipe, waits for the end and returns the exit code.
    async fn end(mut self) -> i32 {
        self.input = None;
        let reading = async { while let Ok(Some(_)) = self.lines.next_line().await {} };
        reading.in_time("the end of the output").await;
        self.child.wait().in_time("the end of the program").await.unwrap().code().expect("an exit code")
    }
}

/// The joined text of all chunks of a kind.
fn text_of(updates: &[Value], kind: &str) -> String {
    let chunks = updates.iter().filter(|update| update["sessionUpdate"] == kind);
    chunks.map(|update| update["content"]["text"].as_str().unwrap_or_default()).collect()
}

/// The code and the text of an error.
fn refusal(answer: &Value) -> (i64, String) {
    let text = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("no error: {answer}"));
    (answer["error"]["code"].as_i64().unwrap(), text.to_owned())
}

fn file(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).unwrap_or_default()
}
