//! Stand-ins for the agent's tests: a transport that plays scripts, misbehaving tools, and a bench that runs
//! an agent on them and collects its events.

use std::collections::VecDeque;
use std::future::pending;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::time_limit::InTime;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tau::agent::api::{AgentConfig, AgentHandle, SessionPlace, spawn};
use tau::agent::catalogue::keys::{KeyFuture, KeySource};
use tau::agent::protocol::command::{RunCommand, TaskCommand};
use tau::agent::protocol::event::{
    Delta, QueueEvent, RunEvent, SessionEvent, SettingsEvent, ShellEvent, TaskEvent, TurnEvent,
};
use tau::agent::protocol::message::{Block, Message, StopReason, ToolCall};
use tau::agent::protocol::model::{Api, Model, ThinkingLevel};
use tau::agent::protocol::run::RetryMode;
use tau::agent::provider::{EventStream, Failure, FailureKind, ModelRequest, StreamEvent, Transport};
use tau::agent::secrets::Secret;
use tau::agent::session::Session;
use tau::agent::{AgentCommand, AgentEvent};
use tau::tools::process::ChildEnv;
use tau::tools::{
    Access, AnyTool, Details, PreparedCall, PreparingCall, ToolContext, ToolError, ToolOutput, ToolSpec,
    Toolbox,
};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// The next step of a scripted answer.
#[derive(Clone, Debug)]
pub enum Step {
    Say(&'static str),
    Think(&'static str),
    Call(&'static str, &'static str, Value),
    /// A call whose arguments never arrived completely.
    HalfCall(&'static str),
    Stop(StopReason),
    Fail(FailureKind, Option<u64>),
    Wait(u64),
    Hang,
    Panic,
    /// The stream ends without a terminator.
    Cut,
}

/// A transport that plays one script per request; when none is left it says "done".
#[derive(Default)]
pub struct Player {
    answers: Mutex<VecDeque<Vec<Step>>>,
    pub requests: Mutex<Vec<ModelRequest>>,
}

impl Player {
    pub fn new(answers: Vec<Vec<Step>>) -> Arc<Self> {
        Arc::new(Player { answers: Mutex::new(answers.into()), requests: Mutex::default() })
    }
}

impl Player {
    /// Adds a script for a later request.
    pub fn add(&self, answer: Vec<Step>) {
        self.answers.lock().unwrap().push_back(answer);
    }

    /// Removes unused scripts and recorded requests.
    pub fn clear(&self) {
        self.answers.lock().unwrap().clear();
        self.requests.lock().unwrap().clear();
    }
}

impl Transport for Player {
    fn stream(&self, request: ModelRequest, _cancel: CancellationToken) -> EventStream {
        self.requests.lock().unwrap().push(request);
        let next = self.answers.lock().unwrap().pop_front();
        let steps = next.unwrap_or_else(|| vec![Step::Say("done"), Step::Stop(StopReason::Stop)]);
        let parts = stream::iter(steps.into_iter().enumerate()).then(|(index, step)| async move {
            match step {
                Step::Wait(ms) => sleep(Duration::from_millis(ms)).await,
                Step::Hang => pending::<()>().await,
                Step::Panic => panic!("the decoder fell over"),
                _ => {}
            }
            stream::iter(events(index, step))
        });
        Box::pin(parts.flatten())
    }
}

fn events(content_index: usize, step: Step) -> Vec<StreamEvent> {
    let deltas = match step {
        Step::Say(text) => {
            let halves = text.split_at(text.len() / 2);
            let delta = |delta: &str| Delta::TextDelta { content_index, delta: delta.into() };
            vec![
                Delta::TextStart { content_index },
                delta(halves.0),
                delta(halves.1),
                Delta::TextEnd { content_index, content: text.into() },
            ]
        }
        Step::Think(text) => vec![
            Delta::ThinkingStart { content_index },
            Delta::ThinkingDelta { content_index, delta: text.into() },
            Delta::ThinkingEnd { content_index, content: text.into() },
        ],
        Step::Call(id, name, arguments) => {
            let start = Delta::ToolCallStart { content_index, id: id.into(), tool_name: name.into() };
            let tool_call = ToolCall { id: id.into(), name: name.into(), arguments, thought_signature: None };
            let delta = Delta::ToolCallDelta { content_index, delta: tool_call.arguments.to_string() };
            vec![start, delta, Delta::ToolCallEnd { content_index, tool_call }]
        }
        Step::HalfCall(id) => {
            vec![Delta::ToolCallStart { content_index, id: id.into(), tool_name: "echo".into() }]
        }
        Step::Stop(reason) => return vec![StreamEvent::Stop(reason)],
        Step::Fail(kind, retry_after_ms) => {
            let failure = Failure { retry_after_ms, ..Failure::new(kind, "it broke") };
            return vec![StreamEvent::Failed(failure)];
        }
        Step::Wait(_) | Step::Hang | Step::Panic | Step::Cut => return Vec::new(),
    };
    deltas.into_iter().map(StreamEvent::Delta).collect()
}

/// Tools by behaviour.
#[derive(Clone, Copy, Debug)]
pub enum Manner {
    /// Returns its `text`, or this many `words`.
    Echo,
    /// Sleeps `ms`, and ends at once when cancelled.
    Nap,
    /// Never ends and ignores its token.
    Deaf,
    /// Refuses.
    Refuse,
    /// Panics.
    Crash,
    /// Shows a hundred intermediate answers.
    Chatty,
}

/// A tool with this behaviour.
pub struct FakeTool {
    spec: ToolSpec,
    manner: Manner,
    pub alive: Arc<AtomicUsize>,
    /// The maximum number of parallel calls of this tool so far.
    pub most: Arc<AtomicUsize>,
}

impl FakeTool {
    pub fn new(name: &str, manner: Manner, read_only: bool) -> Self {
        let parameters = json!({ "type": "object" });
        let spec = ToolSpec {
            name: name.into(),
            label: name.into(),
            description: String::new(),
            parameters,
            read_only,
        };
        FakeTool { spec, manner, alive: Arc::default(), most: Arc::default() }
    }
}

/// Counts the running calls of a tool.
struct Alive(Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl AnyTool for FakeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, _args: &Value) -> String {
        self.spec.name.clone()
    }

    fn prepare(&self, args: Value, context: ToolContext) -> PreparingCall<'_> {
        let access = if self.spec.read_only { Access::default() } else { Access::unknown() };
        let call = move |_| async move {
            let running = self.alive.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(running, Ordering::SeqCst);
            let _alive = Alive(self.alive.clone());
            let words = args.get("words").and_then(Value::as_u64).map(|count| "word ".repeat(count as usize));
            let text = args.get("text").and_then(Value::as_str).unwrap_or("ok");
            let text = words.unwrap_or_else(|| text.to_owned());
            let ms = args.get("ms").and_then(Value::as_u64).unwrap_or(50);
            match self.manner {
                Manner::Echo => {}
                Manner::Nap => tokio::select! {
                    () = sleep(Duration::from_millis(ms)) => {}
                    () = context.cancel.cancelled() => return Err(ToolError::aborted()),
                },
                Manner::Deaf => pending().await,
                Manner::Refuse => return Err(ToolError::refused("no, try another path")),
                Manner::Crash => panic!("index out of bounds"),
                Manner::Chatty => {
                    for n in 0..100 {
                        context.progress.show(ToolOutput::new(n.to_string(), Details::None));
                        sleep(Duration::from_millis(5)).await;
                    }
                }
            }
            Ok(ToolOutput::new(text, Details::None))
        };
        Box::pin(async move { Ok(PreparedCall::new(access, call)) })
    }
}

/// All fake tools, named after their behaviour; `look` is an echo that only reads.
pub fn tools() -> Toolbox {
    let all = [
        ("echo", Manner::Echo, false),
        ("look", Manner::Nap, true),
        ("nap", Manner::Nap, false),
        ("deaf", Manner::Deaf, false),
        ("refuse", Manner::Refuse, false),
        ("crash", Manner::Crash, false),
        ("chatty", Manner::Chatty, false),
    ];
    let tool = |(name, manner, read_only)| Arc::new(FakeTool::new(name, manner, read_only));
    all.into_iter().map(tool).fold(Toolbox::empty(), |tools, tool| tools.with(tool))
}

struct NoKeys;

impl KeySource for NoKeys {
    fn key<'a>(&'a self, _model: &'a Model) -> KeyFuture<'a> {
        Box::pin(async { Ok(None::<Secret>) })
    }
}

/// A model with thinking and this id.
pub fn model(id: &str) -> Arc<Model> {
    let api = Api::Scripted;
    Arc::new(Model { id: id.into(), provider: "fake".into(), api, reasoning: true, ..Model::default() })
}

/// The configuration of test agents.
pub fn config(transport: Arc<dyn Transport>, dir: &Path) -> AgentConfig {
    let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
    AgentConfig {
        transport,
        keys: Arc::new(NoKeys),
        tools: tools(),
        model: Some(model("first")),
        thinking: ThinkingLevel::Medium,
        session: Session::begin(Some(&dir.join("sessions")), dir, None),
        place: SessionPlace { dir: Some(dir.join("sessions")), cwd: dir.to_owned() },
        system: "be brief".into(),
        scratch: Arc::default(),
        env: Arc::new(ChildEnv::from_variables(path, &[], &[], "test")),
        shell: "bash".into(),
        bash_timeout: None,
        find_model: Arc::new(|provider, id| match (provider, id) {
            ("fake", "gone") => Err("it is gone".into()),
            ("fake", id) => Ok(model(id)),
            _ => Err(format!("no provider {provider}").into()),
        }),
        max_retries: 3,
        retry_mode: RetryMode::Headless,
        limits: Default::default(),
        behavior: Default::default(),
        compaction: Default::default(),
        helper: None,
    }
}

/// An agent at work in its own directory.
pub struct Bench {
    pub agent: AgentHandle,
    pub dir: tempfile::TempDir,
}

impl Bench {
    pub fn new(answers: Vec<Vec<Step>>) -> Self {
        Self::on(Player::new(answers))
    }

    pub fn on(transport: Arc<dyn Transport>) -> Self {
        Self::with(transport, |_| {})
    }

    pub fn with(transport: Arc<dyn Transport>, change: impl FnOnce(&mut AgentConfig)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut config = config(transport, dir.path());
        change(&mut config);
        Bench { agent: spawn(config), dir }
    }

    pub async fn send(&self, command: impl Into<AgentCommand>) {
        self.agent.commands.send(command.into()).in_time("the command to be taken").await.unwrap();
    }

    pub async fn prompt(&self, text: &str) {
        self.send(prompt(text)).await;
    }

    /// The next event; fails the test if none arrives in time.
    pub async fn next(&mut self) -> AgentEvent {
        let event = timeout(Duration::from_secs(10), self.agent.events.recv()).await;
        event.expect("no event came").expect("the agent has ended")
    }

    /// Events up to and including the first that `last` accepts.
    pub async fn until(&mut self, last: impl Fn(&AgentEvent) -> bool) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        loop {
            let event = self.next().await;
            let done = last(&event);
            events.push(event);
            if done {
                return events;
            }
        }
    }

    pub async fn settled(&mut self) -> Vec<AgentEvent> {
        self.until(|event| matches!(event, AgentEvent::Run(RunEvent::AgentSettled { .. }))).await
    }

    /// Ends the agent and reopens its session file.
    pub async fn reopened(mut self) -> Option<(Session, tempfile::TempDir)> {
        self.send(AgentCommand::Task(TaskCommand::Shutdown)).await;
        self.until(|event| *event == AgentEvent::Task(TaskEvent::Stopped)).await;
        self.agent.task.in_time("the end of the agent").await.unwrap();
        let file = files(&self.dir).into_iter().next()?;
        Some((Session::open(&file).unwrap(), self.dir))
    }
}

/// The session files of a bench.
pub fn files(dir: &tempfile::TempDir) -> Vec<std::path::PathBuf> {
    let listed = std::fs::read_dir(dir.path().join("sessions"));
    let is_session = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    let all = listed.into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = all.filter(is_session).collect();
    files.sort();
    files
}

pub fn prompt(text: &str) -> AgentCommand {
    AgentCommand::Run(RunCommand::Prompt {
        text: text.into(),
        images: Vec::new(),
        streaming: Default::default(),
    })
}

/// Events in short: kind and essentials; consecutive updates of a message count as one, and events at the
/// start of an agent are left out.
pub fn brief(events: &[AgentEvent]) -> Vec<String> {
    let mut lines: Vec<String> = events.iter().filter_map(line).collect();
    lines.dedup_by(|next, last| next == "update" && last == "update");
    lines
}

fn line(event: &AgentEvent) -> Option<String> {
    Some(match event {
        AgentEvent::Session(SessionEvent::SessionOpened { .. } | SessionEvent::ContextSize { .. })
        | AgentEvent::Settings(SettingsEvent::ModelChanged { .. })
        | AgentEvent::Turn(TurnEvent::ToolTitle { .. })
        | AgentEvent::Settings(SettingsEvent::ThinkingLevelChanged { .. }) => return None,
        AgentEvent::Run(RunEvent::AgentStart) => "agent_start".into(),
        AgentEvent::Run(RunEvent::AgentEnd { messages, .. }) => format!("agent_end {}", messages.len()),
        AgentEvent::Run(RunEvent::AgentSettled { aborted: true }) => "settled aborted".into(),
        AgentEvent::Run(RunEvent::AgentSettled { aborted: false }) => "settled".into(),
        AgentEvent::Turn(TurnEvent::TurnStart) => "turn_start".into(),
        AgentEvent::Turn(TurnEvent::TurnEnd { tool_results, .. }) => {
            format!("turn_end {}", tool_results.len())
        }
        AgentEvent::Turn(TurnEvent::MessageStart { message }) => format!("start {}", role(message)),
        AgentEvent::Turn(TurnEvent::MessageUpdate { .. }) => "update".into(),
        AgentEvent::Turn(TurnEvent::MessageEnd { message }) => format!("end {}", said(message)),
        AgentEvent::Turn(TurnEvent::ToolExecutionStart { tool_call_id, .. }) => format!("run {tool_call_id}"),
        AgentEvent::Turn(TurnEvent::ToolExecutionUpdate { tool_call_id, .. }) => {
            format!("shows {tool_call_id}")
        }
        AgentEvent::Turn(TurnEvent::ToolExecutionEnd { tool_call_id, is_error, .. }) => {
            format!("ran {tool_call_id}{}", if *is_error { " failed" } else { "" })
        }
        AgentEvent::Queue(QueueEvent::QueueUpdate { steering, follow_up }) => {
            format!("queue {steering:?} {follow_up:?}")
        }
        AgentEvent::Run(RunEvent::CompactionStart { reason }) => format!("compacts {reason:?}"),
        AgentEvent::Run(RunEvent::CompactionEnd { aborted: true, .. }) => "compacted aborted".into(),
        AgentEvent::Run(RunEvent::CompactionEnd { result: Some(_), will_retry, .. }) => {
            format!("compacted{}", if *will_retry { " and retries" } else { "" })
        }
        AgentEvent::Run(RunEvent::CompactionEnd { error_message, .. }) => {
            format!("compacted failed: {}", error_message.as_deref().unwrap_or_default())
        }
        AgentEvent::Run(RunEvent::AutoRetryStart { attempt, .. }) => format!("retry {attempt}"),
        AgentEvent::Run(RunEvent::AutoRetryEnd { success, attempt, .. }) => {
            format!("retried {attempt} {success}")
        }
        AgentEvent::Task(TaskEvent::Notice { level, text, .. }) => format!("notice {level:?} {text}"),
        AgentEvent::Queue(QueueEvent::QueueReturned { texts, .. }) => format!("returned {texts:?}"),
        AgentEvent::Task(TaskEvent::Stopped) => "stopped".into(),
        AgentEvent::Run(RunEvent::RunStopped { reason }) => format!("ended by {reason:?}"),
        AgentEvent::Shell(ShellEvent::BashStart { command, .. }) => format!("bash {command}"),
        AgentEvent::Shell(ShellEvent::BashEnd { message, .. }) => {
            format!("bash ended {:?}", message.exit_code)
        }
        other => format!("{other:?}"),
    })
}

fn role(message: &Message) -> &'static str {
    match message {
        Message::User(_) => "user",
        Message::Assistant(_) => "assistant",
        Message::ToolResult(_) => "result",
        _ => "other",
    }
}

/// A message in short.
pub fn said(message: &Message) -> String {
    match message {
        Message::User(user) => format!("user {}", user.content.text()),
        Message::Assistant(answer) => {
            let blocks = answer.content.iter().map(|block| match block {
                Block::Text { text, .. } => text.clone(),
                Block::ToolCall(call) => format!("[{}]", call.id),
                other => format!("{other:?}"),
            });
            let blocks: Vec<String> = blocks.collect();
            format!("assistant {:?} {}", answer.stop_reason, blocks.join(" ")).trim_end().to_owned()
        }
        Message::ToolResult(result) => {
            let failed = if result.is_error { " failed" } else { "" };
            format!("result {}{failed}", result.tool_call_id)
        }
        other => role(other).to_owned(),
    }
}
