//! The agent as a library: the handle, its state, its settings, and the ends of a run.

mod features;
mod history;
mod limits;
mod remote;
mod streams;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tau::agent::api::{Agent, AgentBuilder, AgentError, CodingAgent, Hooks, KeyFn};
use tau::agent::protocol::attachment::Attachment;
use tau::agent::protocol::command::{Queue, QueueCommand};
use tau::agent::protocol::event::{AgentEvent, QuestionEvent, QueueEvent, ShellEvent, TaskEvent};
use tau::agent::protocol::message::{Block, Message, StopReason, UserContent, UserMessage};
use tau::agent::protocol::model::{Model, ThinkingLevel};
use tau::agent::protocol::run::{QueueMode, SteerMode};
use tau::agent::provider::ModelRequest;
use tau::agent::secrets::Secret;
use tau::tools::{Content, Toolbox};

use crate::fake::Step::{Call, Fail, Hang, Say, Stop};
use crate::fake::{Manner, Player, Step, brief, model, said, tools};
use crate::time_limit::InTime;
use tau::agent::prelude::function;
use tau::agent::protocol::approval::PermissionMode;

const STOP: Step = Stop(StopReason::Stop);
const USE: Step = Stop(StopReason::ToolUse);

fn builder(player: &Arc<Player>) -> AgentBuilder {
    let config = crate::fake::config(player.clone(), std::path::Path::new("/"));
    Agent::builder().model(model("first")).tools(config.tools).transport(Shared(player.clone()))
}

/// A player that the test keeps.
struct Shared(Arc<Player>);

impl tau::agent::provider::Transport for Shared {
    fn stream(
        &self,
        request: ModelRequest,
        cancel: tokio_util::sync::CancellationToken,
    ) -> tau::agent::provider::EventStream {
        self.0.stream(request, cancel)
    }
}

fn texts(messages: &[Arc<Message>]) -> Vec<String> {
    messages.iter().map(|message| said(message)).collect()
}

fn user_message(text: &str) -> Arc<Message> {
    Arc::new(Message::User(UserMessage { timestamp: 1, ..UserMessage::new(UserContent::Text(text.into())) }))
}

/// The conversations of the requests so far.
fn asked(player: &Player) -> Vec<Vec<String>> {
    player.requests.lock().unwrap().iter().map(|request| texts(&request.messages)).collect()
}

/// Waits until `wanted` holds for the state.
async fn until(agent: &Agent, wanted: impl Fn(&tau::agent::api::AgentState) -> bool) {
    for _ in 0..500 {
        if wanted(&agent.state()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never came: {:?}", agent.state());
}

#[tokio::test]
async fn a_run_gives_its_answer_and_every_subscriber_the_same_events() {
    let player = Player::new(vec![vec![Call("a", "echo", json!({})), USE], vec![Say("four"), STOP]]);
    let agent = builder(&player).start();
    let (mut one, mut other) = (agent.subscribe(), agent.clone().subscribe());
    assert_eq!(agent.run("two and two?").in_time("the end of the run").await.unwrap().text(), "four");
    let expected = ["user two and two?", "assistant ToolUse [a]", "result a", "assistant Stop four"];
    assert_eq!(texts(&agent.state().messages), expected);
    agent.shutdown().in_time("the end").await;
    let mut reported = (Vec::new(), Vec::new());
    while let Some(event) = one.recv().in_time("an event").await {
        reported.0.push(event);
    }
    while let Some(event) = other.recv().in_time("an event").await {
        reported.1.push(event);
    }
    assert_eq!(reported.0, reported.1);
    assert!(!reported.0.iter().any(|event| matches!(event, AgentEvent::Task(TaskEvent::Answered { .. }))));
    assert_eq!(reported.0.last(), Some(&AgentEvent::Task(TaskEvent::Stopped)));
    assert_eq!(agent.prompt("more", []).in_time("the agent to take `prompt`").await, Err(AgentError::Ended));
    assert_eq!(agent.subscribe().recv().in_time("an event").await, None);
}

#[tokio::test]
async fn the_state_shows_what_is_in_flight_and_what_went_wrong() {
    let player = Player::new(vec![
        vec![Say("some words"), Hang],
        vec![Call("a", "deaf", json!({})), USE],
        vec![Fail(tau::agent::provider::FailureKind::Auth, None)],
    ]);
    let agent = builder(&player).start();
    agent.prompt("go", []).in_time("the agent to take `prompt`").await.unwrap();
    assert!(agent.state().is_streaming);
    until(&agent, |state| state.partial.as_ref().is_some_and(|partial| partial.text() == "some words")).await;
    agent.abort().in_time("the agent to take `abort`").await.unwrap();
    agent.wait_for_idle().in_time("the end of the run").await.unwrap();
    let state = agent.state();
    assert!(!state.is_streaming && state.partial.is_none() && state.error.is_none(), "{state:?}");
    assert_eq!(state.last_answer().map(|answer| answer.stop_reason), Some(StopReason::Aborted));

    agent.prompt("call", []).in_time("the agent to take `prompt`").await.unwrap();
    until(&agent, |state| state.pending_calls.contains("a")).await;
    agent.abort().in_time("the agent to take `abort`").await.unwrap();
    agent.wait_for_idle().in_time("the end of the run").await.unwrap();
    assert!(agent.state().pending_calls.is_empty());

    let failed = agent.run("fail").in_time("the end of the run").await;
    assert_eq!(failed, Err(AgentError::Failed("it broke".into())));
    assert_eq!(agent.state().error.as_deref(), Some("it broke"));
    agent.continue_().in_time("the agent to take `continue_`").await.unwrap();
    agent.wait_for_idle().in_time("the end of the run").await.unwrap();
    assert_eq!(agent.state().error, None);
    assert_eq!(agent.state().last_answer().unwrap().text(), "done");

    let nobody = Agent::builder().start();
    assert_eq!(
        nobody.run("hello").in_time("the end of the run").await,
        Err(AgentError::Refused("no model is set: call `set_model` first".into()))
    );
}

#[tokio::test]
async fn settings_hold_from_the_next_request_on() {
    let player = Player::new(Vec::new());
    let agent = builder(&player).system("one").session_id("session-7").start();
    agent.run("a").in_time("the end of the run").await.unwrap();
    agent.set_system("two").in_time("the agent to take `set_system`").await.unwrap();
    agent.set_thinking(ThinkingLevel::High).in_time("the agent to take `set_thinking`").await.unwrap();
    let thinker = Model { base_url: "http://x".into(), ..Model::clone(&model("second")) };
    agent.set_model(thinker).in_time("the agent to take `set_model`").await.unwrap();
    agent
        .set_budgets(BTreeMap::from([(ThinkingLevel::High, 777)]))
        .in_time("the agent to take `set_budgets`")
        .await
        .unwrap();
    let looks = Toolbox::empty().with(Arc::new(crate::fake::FakeTool::new("peek", Manner::Echo, true)));
    agent
        .set_tools(looks.with(tools().get("echo").unwrap().clone()))
        .in_time("the agent to take `set_tools`")
        .await
        .unwrap();
    let state = agent.state();
    assert_eq!((&*state.system, state.thinking), ("two", ThinkingLevel::High));
    assert_eq!(
        (state.model.unwrap().id.as_str(), state.tools),
        ("second", vec!["peek".into(), "echo".into()])
    );
    agent.run("b").in_time("the end of the run").await.unwrap();
    let requests = player.requests.lock().unwrap();
    let [first, second] = requests.as_slice() else { panic!("{} requests", requests.len()) };
    assert_eq!((&*first.system, &*second.system), ("one", "two"));
    assert_eq!((first.session_id.as_str(), second.session_id.as_str()), ("session-7", "session-7"));
    assert_eq!((second.model.id.as_str(), second.thinking), ("second", ThinkingLevel::High));
    assert_eq!(second.model.quirks.get("thinking_budgets"), Some(&json!({ "high": 777 })));
    let names: Vec<&str> = second.tools.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["peek", "echo"]);
}

#[tokio::test]
async fn budgets_reach_the_wire() {
    let cases = [
        (tau::agent::protocol::model::Api::AnthropicMessages, "/thinking/budget_tokens"),
        (
            tau::agent::protocol::model::Api::GoogleGenerativeAi,
            "/generationConfig/thinkingConfig/thinkingBudget",
        ),
    ];
    for (api, place) in cases {
        let quirks = json!({ "thinking_budgets": { "high": 7_777 } });
        let Value::Object(quirks) = quirks else { panic!() };
        let model = Model { api, reasoning: true, max_tokens: 64_000, quirks, ..Model::clone(&model("m")) };
        let request = ModelRequest {
            thinking: ThinkingLevel::High,
            ..ModelRequest::new(Arc::new(model), vec![user_message("hi")])
        };
        let body = tau::agent::provider::wire_format(api).unwrap().encode(&request).unwrap().body;
        assert_eq!(body.pointer(place), Some(&json!(7_777)), "{body}");
    }
}

#[tokio::test]
async fn hooks_see_every_request_and_leave_the_session_alone() {
    let player = Player::new(vec![vec![Call("a", "echo", json!({})), USE]]);
    let hooks = Hooks::default()
        .transform(|mut messages, model| async move {
            tokio::task::yield_now().await;
            messages.insert(0, user_message(&format!("for {}", model.id)));
            messages
        })
        .convert(|messages, model| {
            let mut reported = tau::agent::context::request::for_request(messages, model);
            reported.push(user_message("last"));
            reported
        });
    let agent = builder(&player).hooks(hooks).start();
    agent.run("go").in_time("the end of the run").await.unwrap();
    let first = ["user for first", "user go", "user last"];
    let second = ["user for first", "user go", "assistant ToolUse [a]", "result a", "user last"];
    assert_eq!(asked(&player), [first.as_slice(), second.as_slice()]);
    assert_eq!(agent.state().messages.len(), 4);

    let crashing = Hooks::default().convert(|_, _| panic!("no idea"));
    let agent = builder(&Player::new(Vec::new())).hooks(crashing).start();
    let Err(AgentError::Failed(text)) = agent.run("go").in_time("the end of the run").await else {
        panic!("did not fail")
    };
    assert!(text.contains("no idea"), "{text}");
}

#[tokio::test]
async fn the_conversation_can_be_changed() {
    let dir = tempfile::tempdir().unwrap();
    let player = Player::new(vec![vec![Say("one"), STOP], vec![Hang]]);
    let agent = builder(&player).session_dir(dir.path()).start();
    agent.run("a").in_time("the end of the run").await.unwrap();
    agent.append_message(user_message("b")).in_time("the agent to take `append_message`").await.unwrap();
    assert_eq!(texts(&agent.state().messages), ["user a", "assistant Stop one", "user b"]);
    agent.prompt("c", []).in_time("the agent to take `prompt`").await.unwrap();
    agent.follow_up("waits", []).in_time("the agent to take `follow_up`").await.unwrap();
    // Replacing aborts the current run.
    agent
        .replace_messages(vec![user_message("x")])
        .in_time("the agent to take `replace_messages`")
        .await
        .unwrap();
    assert_eq!(texts(&agent.state().messages), ["user x"]);
    assert_eq!(agent.state().follow_up, ["waits"]);
    agent.clear_queue(None).in_time("the agent to take `clear_queue`").await.unwrap();
    agent.continue_().in_time("the agent to take `continue_`").await.unwrap();
    agent.wait_for_idle().in_time("the end of the run").await.unwrap();
    assert_eq!(asked(&player).last().unwrap(), &["user x"]);
    let file = agent.state().session.file.unwrap();
    agent.steer("waits too", []).in_time("the agent to take `steer`").await.unwrap();
    agent.reset().in_time("the agent to take `reset`").await.unwrap();
    let state = agent.state();
    assert!(state.messages.is_empty() && state.steering.is_empty(), "{state:?}");
    agent.run("new").in_time("the end of the run").await.unwrap();
    agent.shutdown().in_time("the end").await;
    // Everything is in the file; the last branch counts.
    let whole = std::fs::read_to_string(&file).unwrap();
    assert!(["\"a\"", "\"x\"", "\"new\""].iter().all(|text| whole.contains(text)), "{whole}");
    let session = tau::agent::session::Session::open(&file).unwrap();
    assert_eq!(texts(&session.context().messages), ["user new", "assistant Stop done"]);
}

/// Steers during the first of three calls and checks the results, and the messages that the model saw.
async fn check_steering(mode: SteerMode, expected: &[&str]) {
    let nap = |id| Call(id, "nap", json!({ "ms": 150 }));
    let player = Player::new(vec![vec![nap("a"), nap("b"), Call("c", "look", json!({ "ms": 1 })), USE]]);
    let agent = builder(&player).behavior(|behavior| behavior.steer = mode).start();
    agent.prompt("go", []).in_time("the agent to take `prompt`").await.unwrap();
    until(&agent, |state| state.pending_calls.contains("a")).await;
    agent.steer("stop that", []).in_time("the agent to take `steer`").await.unwrap();
    agent.wait_for_idle().in_time("the end of the run").await.unwrap();
    let messages = agent.state().messages;
    let rest = texts(&messages).split_off(2);
    assert_eq!(rest, expected, "{mode:?}");
    let skipped = messages.iter().filter(|message| match message.as_ref() {
        Message::ToolResult(result) => {
            matches!(result.content.first(), Some(Content::Text { text }) if text.contains("skipped"))
        }
        _ => false,
    });
    assert_eq!(skipped.count(), expected.iter().filter(|line| line.ends_with("failed")).count());
}

#[tokio::test]
async fn steering_skips_the_calls_that_have_not_started() {
    let end = ["user stop that", "assistant Stop done"];
    let skipped = ["result a", "result b failed", "result c failed"];
    check_steering(SteerMode::SkipRemaining, &[&skipped[..], &end].concat()).await;
    let all = ["result a", "result b", "result c"];
    check_steering(SteerMode::AfterTurnCalls, &[&all[..], &end].concat()).await;
}

#[tokio::test]
async fn commands_that_wait_keep_their_order() {
    let player = Player::new(vec![vec![Hang]]);
    let agent = builder(&player).start();
    agent.prompt("go", []).in_time("the agent to take `prompt`").await.unwrap();
    until(&agent, |state| state.partial.is_some() || state.is_streaming).await;
    let all = async {
        let thinking = |level| agent.set_thinking(level);
        let replaced = agent.replace_messages(vec![user_message("x")]);
        let appended = agent.append_message(user_message("y"));
        let (one, two) = (thinking(ThinkingLevel::Low), thinking(ThinkingLevel::High));
        tokio::join!(replaced, appended, one, two)
    };
    let done = tokio::time::timeout(Duration::from_secs(20), all).await.expect("the agent is alive");
    assert_eq!(done, (Ok(()), Ok(()), Ok(()), Ok(())));
    let state = agent.state();
    assert_eq!(
        (texts(&state.messages), state.thinking),
        (vec!["user x".into(), "user y".into()], ThinkingLevel::High)
    );
}

#[tokio::test]
async fn what_cannot_begin_is_refused() {
    let player = Player::new(vec![vec![Say("one"), STOP], vec![Hang]]);
    let agent = builder(&player).start();
    let refused = |outcome: Result<(), AgentError>, why: &str| match outcome {
        Err(AgentError::Refused(text)) => assert!(text.contains(why), "{text}"),
        other => panic!("{other:?}"),
    };
    refused(agent.continue_().in_time("the agent to take `continue_`").await, "nothing to continue from");
    agent.run("a").in_time("the end of the run").await.unwrap();
    refused(agent.continue_().in_time("the agent to take `continue_`").await, "nothing to continue from");
    agent.prompt("b", []).in_time("the agent to take `prompt`").await.unwrap();
    refused(agent.continue_().in_time("the agent to take `continue_`").await, "already running");
    let headless = Agent::builder().transport(Shared(player)).start();
    refused(headless.prompt("c", []).in_time("the agent to take `prompt`").await, "no model");
}

#[tokio::test]
async fn steering_by_itself_begins_a_run_one_at_a_time() {
    let player = Player::new(Vec::new());
    let agent = builder(&player).start();
    for text in ["s1", "s2"] {
        agent.steer(text, []).in_time("the agent to take `steer`").await.unwrap();
    }
    agent.continue_().in_time("the agent to take `continue_`").await.unwrap();
    agent.wait_for_idle().in_time("the end of the run").await.unwrap();
    let first = vec!["user s1".to_owned()];
    let second = ["user s1", "assistant Stop done", "user s2"].map(str::to_owned).to_vec();
    assert_eq!(asked(&player), [first, second]);
}

#[tokio::test]
async fn a_refused_message_comes_back_whole() {
    let player = Player::new(vec![vec![Hang]]);
    let agent = builder(&player).start();
    let mut events = agent.subscribe();
    let picture = Attachment::image("a.png", "image/png", b"png");
    agent.prompt("go", []).in_time("the agent to take `prompt`").await.unwrap();
    until(&agent, |state| state.is_streaming).await;
    agent.steer("look", [picture]).in_time("the agent to take `steer`").await.unwrap();
    agent.command(QueueCommand::TakeQueue).in_time("the agent to take `command`").await.unwrap();
    while let Some(event) = events.recv().in_time("an event").await {
        if let AgentEvent::Queue(QueueEvent::QueueReturned { texts, images }) = event {
            assert_eq!((texts, images.len()), (vec!["look".to_owned()], 1));
            return;
        }
    }
    panic!("nothing came back");
}

#[tokio::test]
async fn queues_wait_for_a_run_and_leave_as_their_mode_says() {
    for (mode, requests) in [(QueueMode::OneAtATime, 3), (QueueMode::All, 2)] {
        let player = Player::new(Vec::new());
        let agent = builder(&player).start();
        agent
            .set_queue_mode(Queue::FollowUp, mode)
            .in_time("the agent to take `set_queue_mode`")
            .await
            .unwrap();
        for text in ["x", "y"] {
            agent.follow_up(text, []).in_time("the agent to take `follow_up`").await.unwrap();
        }
        agent.steer("s", []).in_time("the agent to take `steer`").await.unwrap();
        assert!(asked(&player).is_empty());
        assert_eq!((agent.state().steering, agent.state().follow_up.len()), (vec!["s".to_owned()], 2));
        agent.prompt("go", []).in_time("the agent to take `prompt`").await.unwrap();
        agent.wait_for_idle().in_time("the end of the run").await.unwrap();
        let asked = asked(&player);
        assert_eq!(asked.len(), requests, "{mode:?}: {asked:?}");
        assert_eq!(asked[0], ["user s", "user go"]);
        let all = texts(&agent.state().messages);
        let (x, y) =
            (all.iter().position(|line| line == "user x"), all.iter().position(|line| line == "user y"));
        assert!(x < y && x.is_some(), "{all:?}");
    }
}

#[tokio::test]
async fn attachments_become_blocks_behind_the_text() {
    let player = Player::new(Vec::new());
    let sees = Model { input: vec!["text".into(), "image".into()], ..Model::clone(&model("eyes")) };
    let agent = builder(&player).model(sees).start();
    let picture = Attachment::image("a.png", "image/png", b"png");
    let paper = Attachment::document("a.pdf", "application/pdf", b"%PDF", Some("the text".into()));
    agent.prompt("look", [picture, paper]).in_time("the agent to take `prompt`").await.unwrap();
    agent.wait_for_idle().in_time("the end of the run").await.unwrap();
    let requests = player.requests.lock().unwrap();
    let Message::User(user) = requests[0].messages[0].as_ref() else { panic!("no user message") };
    let image = Block::Image { data: "cG5n".into(), mime_type: "image/png".into() };
    let text = Block::text("<document name=\"a.pdf\">\nthe text\n</document>");
    assert_eq!(user.content, UserContent::Blocks(vec![Block::text("look"), image, text]));
    assert!(user.attachments.is_empty(), "the model gets the blocks only");
    let state = agent.state();
    let Message::User(kept) = state.messages[0].as_ref() else { panic!("no user message") };
    let names: Vec<&str> = kept.attachments.iter().map(|file| file.file_name.as_str()).collect();
    assert_eq!(names, ["a.png", "a.pdf"]);
}

#[tokio::test]
async fn a_key_is_asked_for_before_every_request() {
    let player = Player::new(vec![vec![Call("a", "echo", json!({})), USE]]);
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let keys = KeyFn::new(move |provider: String| {
        let number = counted.fetch_add(1, Ordering::SeqCst);
        async move { Ok(Some(Secret::new(format!("{provider}-{number}")))) }
    });
    builder(&player).keys(keys).start().run("go").in_time("the end of the run").await.unwrap();
    let requests = player.requests.lock().unwrap();
    let keys: Vec<&str> = requests.iter().map(|request| request.key.as_ref().unwrap().expose()).collect();
    assert_eq!(keys, ["fake-0", "fake-1"]);
}

#[tokio::test]
async fn a_key_goes_to_its_own_provider_only() {
    let player = Player::new(Vec::new());
    let agent = builder(&player).key("sk-secret").start();
    agent.run("a").in_time("the end of the run").await.unwrap();
    let other = Model { provider: "other".into(), ..Model::clone(&model("b")) };
    agent.set_model(other).in_time("the agent to take `set_model`").await.unwrap();
    agent.run("b").in_time("the end of the run").await.unwrap();
    let requests = player.requests.lock().unwrap();
    let keys: Vec<Option<&str>> =
        requests.iter().map(|request| request.key.as_ref().map(Secret::expose)).collect();
    assert_eq!(keys, [Some("sk-secret"), None]);
}

#[tokio::test]
async fn dropping_the_last_clone_ends_the_agent() {
    let player = Player::new(vec![vec![Call("a", "deaf", json!({})), USE]]);
    let deaf = Arc::new(crate::fake::FakeTool::new("deaf", Manner::Deaf, false));
    let agent = builder(&player).tools(Toolbox::empty().with(deaf.clone())).start();
    let mut events = agent.subscribe();
    agent.prompt("go", []).in_time("the agent to take `prompt`").await.unwrap();
    until(&agent, |state| !state.pending_calls.is_empty()).await;
    let clone = agent.clone();
    drop(agent);
    assert!(clone.state().is_streaming);
    drop(clone);
    let mut reported = Vec::new();
    while let Some(event) = events.recv().in_time("an event").await {
        reported.push(event);
    }
    assert_eq!(brief(&reported).last().map(String::as_str), Some("stopped"));
    assert_eq!(deaf.alive.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_coding_agent_has_tools_a_prompt_a_directory_and_a_session() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("AGENTS.md"), "Speak like a pirate.").unwrap();
    let demo = tau::agent::demo::DemoTransport { pace: tau::agent::demo::Pace::NONE };
    let agent = CodingAgent::builder(dir.path())
        .agent(|agent| agent.model(tau::agent::catalogue::demo()).transport(demo))
        .append_system("And be brief.")
        .start();
    let state = agent.state();
    assert_eq!(state.tools, ["read", "bash", "jobs", "edit", "write", "ask_user"]);
    for part in ["Speak like a pirate.", "And be brief.", dir.path().to_str().unwrap()] {
        assert!(state.system.contains(part), "{part}: {}", state.system);
    }
    let mut events = agent.subscribe();
    agent.run("write").in_time("the end of the run").await.unwrap();
    assert!(dir.path().join(tau::agent::demo::FILE).exists());
    agent.bash("echo hello").in_time("the agent to take `bash`").await.unwrap();
    while !matches!(
        events.recv().in_time("an event").await,
        Some(AgentEvent::Shell(ShellEvent::BashEnd { .. }))
    ) {}
    agent.name_session("work").in_time("the agent to take `name_session`").await.unwrap();
    assert_eq!(agent.state().session.name.as_deref(), Some("work"));
    let before = agent.state().session.id;
    agent.new_session().in_time("the agent to take `new_session`").await.unwrap();
    assert_ne!(agent.state().session.id, before);
    assert!(agent.state().messages.is_empty());
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sum {
    /// The numbers to add.
    numbers: Vec<u32>,
}

#[tokio::test]
async fn a_closure_is_a_tool_and_its_arguments_are_checked() {
    let calls = vec![Call("a", "sum", json!({ "numbers": [1, 2, 3] })), Call("b", "sum", json!({})), USE];
    let player = Player::new(vec![calls, vec![Say("six"), STOP]]);
    let sum = function("sum", "Adds numbers.", |args: Sum, _| async move {
        Ok(args.numbers.iter().sum::<u32>().to_string())
    });
    // It changes nothing, so no approval is needed.
    let agent = builder(&player).permission_mode(PermissionMode::Ask).tool(sum.read_only()).start();
    assert_eq!(agent.run("add").in_time("the end of the run").await.unwrap().text(), "six");
    let results: Vec<String> = agent
        .state()
        .messages
        .iter()
        .filter_map(|message| match message.as_ref() {
            Message::ToolResult(result) => Some(format!("{:?}", result.content)),
            _ => None,
        })
        .collect();
    assert!(results.len() == 2 && results[0].contains("\"6\""), "{results:?}");
    // The other call lacks an argument, and is told which.
    assert!(results[1].contains("numbers"), "{results:?}");
}

#[tokio::test]
async fn a_closure_that_may_change_something_is_asked() {
    let player =
        Player::new(vec![vec![Call("a", "touch", json!({ "numbers": [] })), USE], vec![Say("done"), STOP]]);
    let touch = function("touch", "Changes something.", |_: Sum, _| async move { Ok("changed") });
    let agent = builder(&player).permission_mode(PermissionMode::Ask).tool(touch).start();
    let mut events = agent.subscribe();
    agent.prompt("go", []).await.unwrap();
    while let Some(event) = events.recv().in_time("the question").await {
        if let AgentEvent::Questions(QuestionEvent::ApprovalRequested { request }) = event {
            assert_eq!(request.tool_name, "touch");
            return;
        }
    }
    panic!("nobody was asked");
}

#[tokio::test]
async fn an_abort_returns_when_the_run_has_ended() {
    for _ in 0..20 {
        let player = Player::new(vec![vec![Say("so"), Hang]]);
        let agent = builder(&player).start();
        agent.prompt("go", []).await.unwrap();
        until(&agent, |state| state.is_streaming).await;
        agent.abort().in_time("the agent to abort").await.unwrap();
        assert!(!agent.state().is_streaming);
    }
}

#[tokio::test]
async fn a_small_program_of_the_documents_is_the_example() {
    let read =
        |path: &str| std::fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (document, example) = (read("docs/library.md"), read("examples/embed.rs"));
    let program = example.split_once("its terminal\")]\n\n").unwrap().1;
    assert!(document.contains(&format!("```rust\n{program}```\n")), "docs/library.md has another program");
}
