//! The rpc front end over pipes: a golden for each command, answer and event, and the cases that break
//! programs. Goldens are rewritten with `TAU_BLESS=1`; review the diff.

mod approvals;
mod complete;
mod during;
pub(crate) mod hostile;
mod json_lines;
mod processes;
mod sessions;
mod undo;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tau::agent::AgentCommand;
use tau::agent::api::{AgentConfig, spawn};
use tau::agent::protocol::message::{Message, StopReason};
use tau::agent::protocol::model::Model;
use tau::agent::protocol::query::SessionSource;
use tau::agent::provider::{FailureKind, Transport};
use tau::cli::args::front_end::RpcEvents;
use tau::cli::process::exit::Exit;
use tau::cli::process::signals::CaughtSignal;
use tau::cli::rpc::{self, host::RpcHost};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::fake::Step::{Call, Fail, Hang, Say, Stop, Think, Wait};
use crate::fake::{Player, Step, config, model};
use crate::time_limit::InTime;
use tau::tools::user_error::UserError;

const STOP: Step = Stop(StopReason::Stop);
const USE: Step = Stop(StopReason::ToolUse);

/// Two models with credentials, one without, and one that does not think.
struct Shelf;

impl RpcHost for Shelf {
    fn find(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        let plain = Model { reasoning: false, ..Model::clone(&model("plain")) };
        match (provider, id) {
            ("fake", "first" | "second") => Some(model(id)),
            ("fake", "plain") => Some(Arc::new(plain)),
            ("locked", _) => Some(Arc::new(Model { provider: "locked".into(), ..plain })),
            _ => None,
        }
    }

    fn available(&self) -> Vec<Arc<Model>> {
        vec![model("first"), model("second")]
    }

    fn can_use(&self, model: &Model) -> bool {
        model.provider == "fake"
    }

    fn export(&self, session: &SessionSource, dir: &Path, file: Option<&Path>) -> Result<PathBuf, UserError> {
        match session {
            SessionSource::File(path) => assert!(path.starts_with(dir), "{path:?}"),
            SessionSource::Lines(lines) => assert!(lines.starts_with("{\"type\":\"session\""), "{lines}"),
        }
        Ok(file.unwrap_or(Path::new("session.html")).to_owned())
    }

    fn enter_directory(&mut self, _: &Path) -> Vec<AgentCommand> {
        Vec::new()
    }
}

/// A client of an agent that plays scripts.
struct Client {
    input: Option<DuplexStream>,
    output: Option<Lines<BufReader<DuplexStream>>>,
    service: JoinHandle<Exit>,
    signals: mpsc::Sender<CaughtSignal>,
    dir: tempfile::TempDir,
    /// Every record so far.
    seen: Vec<Value>,
}

impl Client {
    fn new(answers: Vec<Vec<Step>>) -> Self {
        Self::with(Player::new(answers), RpcEvents::Auto, |_| {})
    }

    fn with(player: Arc<dyn Transport>, events: RpcEvents, change: impl FnOnce(&mut AgentConfig)) -> Self {
        Self::sized(player, events, 1 << 16, change)
    }

    fn sized(
        player: Arc<dyn Transport>,
        events: RpcEvents,
        pipe: usize,
        change: impl FnOnce(&mut AgentConfig),
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut config = config(player, dir.path());
        change(&mut config);
        let (near_in, far_in) = tokio::io::duplex(1 << 16);
        let (far_out, near_out) = tokio::io::duplex(pipe);
        let (signals, mut caught) = mpsc::channel::<CaughtSignal>(4);
        // On a separate thread, as in the program: the server need not be `Send`.
        let service = tokio::task::spawn_blocking(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let next = async || match caught.recv().await {
                    Some(caught) => caught,
                    None => std::future::pending().await,
                };
                rpc::run(spawn(config), Box::new(Shelf), events, far_in, far_out, next).await
            })
        });
        let output = Some(BufReader::with_capacity(1 << 20, near_out).lines());
        Client { input: Some(near_in), output, service, signals, dir, seen: Vec::new() }
    }

    async fn raw(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).in_time("a reader of the input").await.unwrap();
    }

    async fn send(&mut self, command: Value) {
        self.raw(format!("{command}\n").as_bytes()).await;
    }

    async fn record(&mut self) -> Value {
        let line = timeout(Duration::from_secs(20), self.output.as_mut().unwrap().next_line()).await;
        let line = line.expect("no record came").unwrap().expect("the output has ended");
        let record: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.seen.push(record.clone());
        record
    }

    /// Records up to and including the first of this type.
    async fn until(&mut self, kind: &str) -> Value {
        loop {
            let record = self.record().await;
            if record["type"] == kind {
                return record;
            }
        }
    }

    /// Sends a command with a unique id and returns its answer.
    async fn ask(&mut self, mut command: Value) -> Value {
        let id = format!("ask-{}", self.seen.len());
        command["id"] = json!(id);
        self.send(command).await;
        loop {
            let record = self.record().await;
            if record["type"] == "response" && record["id"] == json!(id) {
                return record;
            }
        }
    }

    async fn settled(&mut self) {
        self.until("agent_settled").await;
    }

    /// Closes the input; returns the end of the program, and its remaining output.
    async fn end(mut self) -> (Exit, Vec<Value>) {
        drop(self.input.take());
        let mut output = self.output.take().unwrap();
        let rest = async {
            let mut rest = Vec::new();
            while let Some(line) = output.next_line().in_time("a line").await.unwrap() {
                rest.push(serde_json::from_str(&line).unwrap());
            }
            rest
        };
        let rest = timeout(Duration::from_secs(20), rest).await.expect("the output does not end");
        (self.service.in_time("the end of the front end").await.unwrap(), rest)
    }

    /// The types of all records so far; consecutive updates count as one.
    fn types(&self) -> Vec<&str> {
        let mut types: Vec<&str> = self.seen.iter().filter_map(|record| record["type"].as_str()).collect();
        types.dedup_by(|next, last| next == last && *next == "message_update");
        types
    }

    /// Compares all records so far with a golden.
    fn golden(&self, name: &str) {
        let place = self.dir.path().display().to_string();
        let lines: Vec<String> = self
            .seen
            .iter()
            .map(|record| {
                let mut record = record.clone();
                steady(&mut record, &place);
                record.to_string()
            })
            .collect();
        let found = lines.join("\n") + "\n";
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/rpc/{name}.jsonl"));
        if std::env::var_os("TAU_BLESS").is_some() {
            crate::support::write(&path, &found);
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        for (line, (found, golden)) in found.lines().zip(golden.lines()).enumerate() {
            assert_eq!(found, golden, "{name}: line {}", line + 1);
        }
        assert_eq!(found.lines().count(), golden.lines().count(), "{name}: number of records");
    }
}

/// Replaces values that differ from run to run with words.
fn steady(value: &mut Value, place: &str) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), &*value) {
                    ("timestamp" | "labelTimestamp", Value::Number(_)) => *value = json!(0),
                    ("timestamp" | "labelTimestamp", Value::String(_)) => *value = json!("TIME"),
                    ("durationMs", _) => *value = json!(0),
                    ("sessionId", _) => *value = json!("SESSION"),
                    ("sessionFile", _) => *value = json!("FILE"),
                    ("id" | "parentId" | "leafId" | "firstKeptEntryId" | "entryId", Value::String(id))
                        if id.len() == 8 && id.bytes().all(|b| b.is_ascii_hexdigit()) =>
                    {
                        *value = json!("ENTRY");
                    }
                    _ => steady(value, place),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| steady(value, place)),
        Value::String(text) if text.contains(place) => *text = text.replace(place, "DIR"),
        _ => {}
    }
}

fn text(text: &str) -> Value {
    json!({ "text": text })
}

#[tokio::test]
async fn a_run_for_a_client_that_numbers() {
    let answers = vec![
        vec![Think("where?"), Say("I look"), Call("c1", "echo", text("found")), USE],
        vec![Say("There it is"), STOP],
    ];
    let mut client = Client::new(answers);
    client.send(json!({"id": 7, "type": "prompt", "message": "where is it?"})).await;
    client.settled().await;
    client.golden("run");
    let (exit, rest) = client.end().await;
    assert_eq!((exit, rest), (Exit::Ok, vec![]));
}

#[tokio::test]
async fn a_run_for_a_client_that_does_not() {
    let answers = vec![vec![Say("I look"), Call("c1", "echo", text("found")), USE], vec![Say("done"), STOP]];
    let mut client = Client::new(answers);
    client.send(json!({"type": "prompt", "message": "where is it?"})).await;
    client.settled().await;
    for record in client.seen.iter().filter(|record| record["type"] == "message_update") {
        assert_eq!(record["message"], record["assistantMessageEvent"]["partial"]);
        assert!(record.get("usage").is_none());
    }
    client.golden("run-bare");
}

#[tokio::test]
async fn an_answer_begins_and_ends_within_its_updates_for_a_client_that_does_not() {
    let answers = vec![vec![Say("hello"), STOP], vec![Fail(FailureKind::Auth, None)]];
    let mut client = Client::new(answers);
    for (ends_with, reason) in [("done", "stop"), ("error", "error")] {
        client.seen.clear();
        client.send(json!({"type": "prompt", "message": "go"})).await;
        client.settled().await;
        let of_answers = |record: &&Value| {
            record["message"]["role"] == "assistant"
                && record["type"].as_str().unwrap().starts_with("message_")
        };
        let records: Vec<&Value> = client.seen.iter().filter(of_answers).collect();
        let kinds: Vec<&str> = records
            .iter()
            .map(|record| {
                record["assistantMessageEvent"]["type"].as_str().or(record["type"].as_str()).unwrap()
            })
            .collect();
        assert_eq!(kinds[..2], ["message_start", "start"], "{kinds:?}");
        assert_eq!(kinds[kinds.len() - 2..], [ends_with, "message_end"], "{kinds:?}");
        let event = &records[records.len() - 2]["assistantMessageEvent"];
        assert_eq!(event["reason"], reason);
        let whole = if ends_with == "done" { &event["message"] } else { &event["error"] };
        assert_eq!(*whole, records[records.len() - 1]["message"], "the complete message");
    }
}

#[tokio::test]
async fn the_flag_overrides_who_gets_what() {
    for (events, id, partial) in [
        (RpcEvents::Plain, None, false),
        (RpcEvents::All, Some("1"), true),
        (RpcEvents::Auto, Some("1"), false),
        (RpcEvents::Auto, None, true),
    ] {
        let mut client = Client::with(Player::new(vec![vec![Say("hello"), STOP]]), events, |_| {});
        let mut command = json!({"type": "prompt", "message": "go"});
        if let Some(id) = id {
            command["id"] = json!(id);
        }
        client.send(command).await;
        client.settled().await;
        let update = client.seen.iter().find(|record| record["type"] == "message_update").unwrap();
        assert_eq!(update.get("message").is_some(), partial, "{events:?} {id:?}");
        assert_eq!(update.get("usage").is_none(), partial, "{events:?} {id:?}");
    }
}

#[tokio::test]
async fn models_and_thinking() {
    let mut client = Client::new(Vec::new());
    for command in [
        json!({"type": "get_state"}),
        json!({"type": "get_available_models"}),
        json!({"type": "get_available_thinking_levels"}),
        json!({"type": "cycle_model"}),
        json!({"type": "cycle_thinking_level"}),
        json!({"type": "set_thinking_level", "level": "max"}),
        json!({"type": "set_model", "provider": "fake", "modelId": "plain"}),
        json!({"type": "get_available_thinking_levels"}),
        json!({"type": "cycle_thinking_level"}),
        json!({"type": "set_model", "provider": "no", "modelId": "such"}),
        json!({"type": "set_model", "provider": "locked", "modelId": "x"}),
        json!({"type": "get_state"}),
    ] {
        client.ask(command).await;
    }
    client.golden("models");
}

#[tokio::test]
async fn modes_names_and_what_there_is_to_ask() {
    let mut client = Client::new(vec![vec![Say("an answer"), STOP]]);
    for command in [
        json!({"type": "get_last_assistant_text"}),
        json!({"type": "get_messages"}),
        json!({"type": "set_steering_mode", "mode": "all"}),
        json!({"type": "set_follow_up_mode", "mode": "one-at-a-time"}),
        json!({"type": "set_auto_compaction", "enabled": false}),
        json!({"type": "set_auto_retry", "enabled": true}),
        json!({"type": "abort_retry"}),
        json!({"type": "abort"}),
        json!({"type": "abort_bash"}),
        json!({"type": "set_session_name", "name": "  a\nname "}),
        json!({"type": "set_session_name", "name": " \n "}),
        json!({"type": "get_commands"}),
        json!({"type": "export_html"}),
        json!({"type": "get_entries", "since": "nosuch"}),
        json!({"type": "get_tree"}),
        json!({"type": "get_state"}),
    ] {
        client.ask(command).await;
    }
    client.ask(json!({"type": "prompt", "message": "question"})).await;
    client.settled().await;
    for command in
        ["get_messages", "get_last_assistant_text", "get_session_stats", "get_state", "export_html"]
    {
        client.ask(json!({"type": command})).await;
    }
    client.golden("modes");
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    let mut client = Client::with(Player::new(Vec::new()), RpcEvents::Auto, |config| config.model = None);
    client.raw(b"nonsense\n42\n[]\nnull\n\"x\"\n{\"id\":\"a\"}\n{\"type\":7,\"id\":[1]}\n").await;
    for command in [
        json!({"type": "nosuch", "id": "1"}),
        json!({"type": "nosuch"}),
        json!({"type": "prompt", "id": "2"}),
        json!({"type": "prompt", "id": "3", "message": 5}),
        json!({"type": "prompt", "id": "4", "message": "hi", "streamingBehavior": "later"}),
        json!({"type": "prompt", "id": "5", "message": "hi", "images": [{"type": "text"}]}),
        json!({"type": "prompt", "id": "14", "message": "hi", "images": [{"type": "image", "data": "@@", "mimeType": "image/png"}]}),
        json!({"type": "prompt", "id": "6", "message": "  "}),
        json!({"type": "prompt", "id": "7", "message": "hi"}),
        json!({"type": "set_thinking_level", "id": "8", "level": "deep"}),
        json!({"type": "set_steering_mode", "id": "9", "mode": "some"}),
        json!({"type": "set_auto_retry", "id": "10", "enabled": "yes"}),
        json!({"type": "bash", "id": "12"}),
        json!({"type": "extension_ui_response", "id": "13", "cancelled": true}),
    ] {
        client.send(command).await;
    }
    client.ask(json!({"type": "get_commands"})).await;
    client.golden("errors");
}

#[tokio::test]
async fn messages_wait_in_their_queues() {
    let answers = vec![
        vec![Wait(800), Say("first"), Call("c1", "echo", text("x")), USE],
        vec![Say("second"), STOP],
        vec![Say("third"), STOP],
    ];
    let mut client = Client::new(answers);
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    client.until("message_end").await;
    client.ask(json!({"type": "prompt", "message": "refused"})).await;
    client.ask(json!({"type": "steer", "message": "to be dropped"})).await;
    client.ask(json!({"type": "clear_queue"})).await;
    client.ask(json!({"type": "prompt", "message": "turn left", "streamingBehavior": "steer"})).await;
    client.ask(json!({"type": "follow_up", "message": "and then?"})).await;
    client.settled().await;
    client.golden("queues");
}

#[tokio::test]
async fn a_failing_provider_is_waited_for() {
    let broken = vec![Fail(FailureKind::Overloaded, Some(20))];
    let answers = vec![broken, vec![Say("better"), STOP], vec![Fail(FailureKind::Overloaded, Some(20_000))]];
    let mut client = Client::new(answers);
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    client.settled().await;
    client.ask(json!({"type": "prompt", "message": "again"})).await;
    client.until("auto_retry_start").await;
    client.ask(json!({"type": "abort_retry"})).await;
    client.settled().await;
    client.golden("retry");
}

#[tokio::test]
async fn an_abort_is_answered_when_all_is_settled() {
    let mut client = Client::new(vec![vec![Say("half"), Hang]]);
    // In one breath, too.
    client
        .raw(b"{\"type\":\"prompt\",\"id\":\"1\",\"message\":\"go\"}\n{\"type\":\"abort\",\"id\":\"2\"}\n")
        .await;
    client.settled().await;
    let answer = client.record().await;
    assert_eq!((answer["id"].clone(), answer["success"].clone()), (json!("2"), json!(true)));
    assert_eq!(client.seen[client.seen.len() - 2]["aborted"], json!(true));
    assert_eq!(client.types().iter().filter(|kind| **kind == "agent_start").count(), 1);
}

#[tokio::test]
async fn an_aborted_run_has_the_same_shape() {
    let mut client = Client::new(vec![vec![Say("half"), Hang]]);
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    while client.record().await["assistantMessageEvent"]["type"] != "text_end" {}
    client.ask(json!({"type": "abort"})).await;
    client.golden("abort");
}

#[tokio::test]
async fn a_prompt_at_the_end_of_a_run_is_a_run_of_its_own() {
    let long = "word ".repeat(5_000).leak();
    let answers =
        vec![vec![Say(long), STOP], vec![Wait(1_000), Say("in short"), STOP], vec![Say("the second"), STOP]];
    let mut client = Client::with(Player::new(answers), RpcEvents::Auto, |config| {
        let small = Model { context_window: 8_000, ..Model::clone(&model("first")) };
        config.model = Some(Arc::new(small));
    });
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    client.until("agent_end").await;
    let answer = client.ask(json!({"type": "prompt", "message": "at once"})).await;
    assert_eq!(answer["data"]["disposition"], "queued");
    client.settled().await;
    client.until("agent_start").await;
    client.settled().await;
    let told = client.types();
    let at = |kind: &str| told.iter().position(|told| *told == kind).unwrap();
    assert!(at("agent_end") < at("compaction_start"), "{told:?}");
    assert!(at("compaction_end") < at("agent_settled"), "{told:?}");
}

#[tokio::test]
async fn compaction_is_told_in_order() {
    let said = |text: &'static str| vec![Say(text), STOP];
    let answers = vec![
        said("an answer"),
        said("in short"),
        said("another answer"),
        said("again in short"),
        said("a third answer"),
        vec![Hang],
    ];
    let mut client = Client::new(answers);
    client.ask(json!({"type": "compact"})).await;
    client.ask(json!({"type": "prompt", "message": "question"})).await;
    client.settled().await;
    client.ask(json!({"type": "compact", "customInstructions": "mind the names"})).await;
    client.ask(json!({"type": "get_session_stats"})).await;
    client.ask(json!({"type": "prompt", "message": "more"})).await;
    client.settled().await;
    client.send(json!({"type": "compact"})).await;
    client.until("response").await;
    client.ask(json!({"type": "prompt", "message": "and more"})).await;
    client.settled().await;
    client.raw(b"{\"type\":\"compact\",\"id\":\"1\"}\n{\"type\":\"abort\",\"id\":\"2\"}\n").await;
    for _ in 0..2 {
        client.until("response").await;
    }
    client.golden("compaction");
}

#[tokio::test]
async fn commands_of_the_user() {
    let mut client = Client::new(Vec::new());
    client.ask(json!({"type": "bash", "command": "echo ab; exit 3"})).await;
    client.send(json!({"type": "bash", "command": "echo bare"})).await;
    client.until("response").await;
    client.ask(json!({"type": "bash", "command": "echo hidden", "excludeFromContext": true})).await;
    client
        .raw(b"{\"type\":\"bash\",\"id\":3,\"command\":\"sleep 60\"}\n{\"type\":\"abort_bash\",\"id\":\"4\"}\n")
        .await;
    for _ in 0..2 {
        client.until("response").await;
    }
    client.ask(json!({"type": "get_messages"})).await;
    client.golden("bash");
}

#[tokio::test]
async fn attachments_of_the_older_document() {
    let player = Player::new(vec![vec![Say("seen"), STOP]]);
    let mut client = Client::with(player.clone(), RpcEvents::Auto, |config| {
        let sees = Model { input: vec!["text".into(), "image".into()], ..Model::clone(&model("first")) };
        config.model = Some(Arc::new(sees));
    });
    let attachments = json!([
        {"id": "1", "type": "image", "fileName": "a.png", "mimeType": "image/png", "size": 3, "content": "AAAA"},
        {"id": "2", "type": "document", "fileName": "b.txt", "mimeType": "text/plain", "size": 3,
            "content": "AAAA", "extractedText": "in it"},
        {"id": "3", "type": "document", "fileName": "c.bin", "mimeType": "x/y", "size": 3, "content": "AAAA"},
    ]);
    client.send(json!({"type": "prompt", "message": "look", "attachments": attachments})).await;
    client.settled().await;
    client.ask(json!({"type": "get_messages"})).await;
    let content = &client.seen.last().unwrap()["data"]["messages"][0]["content"];
    let expected = json!([
        {"type": "text", "text": "look"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "text", "text": "<document name=\"b.txt\">\nin it\n</document>"},
        {"type": "text", "text": "[the document \"c.bin\" was attached, but its text could not be read]"},
    ]);
    assert_eq!(*content, expected);
    let kept = &client.seen.last().unwrap()["data"]["messages"][0]["attachments"];
    assert_eq!(*kept, attachments, "they stay as they came");
    let started = client.seen.iter().find(|record| record["type"] == "message_end").unwrap();
    assert_eq!(started["message"]["attachments"], attachments, "in events, too");
    let sent = player.requests.lock().unwrap()[0].messages[0].clone();
    let Message::User(sent) = sent.as_ref() else { panic!("{sent:?}") };
    assert!(sent.attachments.is_empty(), "the model gets the blocks only");
    let file = std::fs::read_dir(client.dir.path().join("sessions")).unwrap().flatten();
    let session =
        file.map(|file| file.path()).find(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let text = std::fs::read_to_string(session.unwrap()).unwrap();
    assert!(text.contains(r#""attachments":[{"id":"1""#), "{text}");
}
