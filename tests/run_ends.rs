//! The line at the end of a run, and what else ends when a session is read again.

use std::sync::Arc;

use serde_json::json;
use tau::agent::AgentEvent;
use tau::agent::protocol::event::{RunEvent, SessionEvent, TaskEvent, TurnEvent};
use tau::agent::protocol::goal::{Goal, GoalState, ROUND};
use tau::agent::protocol::message::{
    AssistantMessage, BashExecution, Block, Cost, CustomMessage, Message, StopReason, ToolResultMessage,
    Usage,
};
use tau::agent::protocol::query::{HistoryPage, QueryAnswer};
use tau::app::Msg;
use tau::app::geometry::Size;
use tau::tools::delegate::HelperReport;
use tau::tools::{Content, Details};

use crate::harness::{Screen, assistant, call, frames, user};
use crate::panels::{has, shown};
fn answer(text: &str, output: u64) -> Arc<Message> {
    let usage = Usage {
        input: 1_000,
        cache_read: 200,
        output,
        cost: Cost { total: 0.012, ..Cost::default() },
        ..Usage::default()
    };
    let Message::Assistant(answer) = assistant(vec![Block::text(text)], StopReason::Stop) else { panic!() };
    Arc::new(Message::Assistant(AssistantMessage { usage, ..answer }))
}

fn calls(id: &str, output: u64) -> Arc<Message> {
    let Message::Assistant(said) = answer("", output).as_ref().clone() else { panic!() };
    let content = vec![Block::ToolCall(call(id, "bash", json!({"command": "true"})))];
    Arc::new(Message::Assistant(AssistantMessage { content, stop_reason: StopReason::ToolUse, ..said }))
}

fn result(id: &str) -> Arc<Message> {
    Arc::new(Message::ToolResult(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: "bash".into(),
        content: vec![Content::text("done")],
        details: Details::None,
        is_error: false,
        timestamp: 0,
        duration_ms: None,
        hooks: Vec::new(),
    }))
}

#[test]
fn a_run_ends_with_what_it_took() {
    let mut screen = Screen::new();
    screen.user("go");
    screen.run();
    screen.at += 16_000;
    for message in [calls("a", 300), answer("Done.", 40)] {
        screen.agent(TurnEvent::MessageStart { message: Arc::clone(&message) });
        screen.agent(TurnEvent::MessageEnd { message });
    }
    screen.settle();
    has(&mut screen, &["Done.\n\n  16s · ↑2.4k ↓340 · $0.024\n"]);
    frames(&mut screen, "run-end");
    // A run without usage that took no time has no line.
    screen.run();
    screen.settle();
    assert_eq!(shown(&mut screen).matches(" · ↑").count(), 1);
}

#[test]
fn a_prompt_that_waited_ends_the_run_before_it() {
    let mut screen = Screen::new();
    let answers = |screen: &mut Screen, message: Arc<Message>| {
        screen.agent(TurnEvent::MessageStart { message: Arc::clone(&message) });
        screen.agent(TurnEvent::MessageEnd { message });
    };
    screen.run();
    screen.user("first");
    screen.at += 5_000;
    answers(&mut screen, answer("One.", 40));
    screen.user("second");
    screen.at += 7_000;
    answers(&mut screen, calls("a", 300));
    // A steering message comes in the middle of a run.
    screen.user("steering");
    answers(&mut screen, answer("Two.", 40));
    screen.settle();
    has(&mut screen, &["One.\n\n  5.0s · ↑1.2k ↓40 · $0.012\n", "Two.\n\n  7.0s · ↑2.4k ↓340 · $0.024\n"]);
    assert_eq!(shown(&mut screen).matches(" · ↑").count(), 2);
}

#[test]
fn thoughts_of_a_session_from_a_file_are_over() {
    let mut screen = Screen::new();
    let thought = Block::Thinking { thinking: "Hm.".into(), thinking_signature: None, redacted: false };
    let message = assistant(vec![thought, Block::text("Yes.")], StopReason::Stop);
    let (session, titles) = Default::default();
    screen.agent(SessionEvent::SessionOpened { session, messages: vec![Arc::new(message)], titles });
    has(&mut screen, &["✻ thought\n  Hm.\n"]);
}

#[test]
fn a_session_from_a_file_shows_what_each_run_used() {
    let run = |n: &str| [Arc::new(user(n)), calls(n, 100), result(n), answer(n, 20)];
    let mut screen = Screen::new();
    let (session, titles) = Default::default();
    let messages = [run("second").to_vec(), run("third").to_vec()].concat();
    screen.agent(SessionEvent::SessionOpened { session, messages: messages[2..].to_vec(), titles });
    screen.agent(SessionEvent::HistoryAvailable { left: 9 });
    let ends = |screen: &mut Screen| -> Vec<String> {
        let shown = shown(screen);
        let ends = shown.lines().filter(|line| line.contains("↑")).filter(|line| !line.contains("Coder"));
        ends.map(|line| line.trim().to_owned()).collect()
    };
    assert_eq!(ends(&mut screen), ["↑1.2k ↓20 · $0.012", "↑2.4k ↓120 · $0.024"]);
    // Messages loaded above belong to the run that continues below.
    let earlier = |messages: Vec<Arc<Message>>, left| {
        AgentEvent::Task(TaskEvent::Answered {
            ticket: 0,
            answer: Ok(QueryAnswer::HistoryPage(HistoryPage { messages, left, ..HistoryPage::default() })),
        })
    };
    screen.agent(earlier(messages[..2].to_vec(), Some(4)));
    assert_eq!(ends(&mut screen), ["↑2.4k ↓120 · $0.024", "↑2.4k ↓120 · $0.024"]);
    screen.agent(earlier(run("first").to_vec(), None));
    screen.send(Msg::Resized(Size { width: 80, height: 60 }));
    assert_eq!(ends(&mut screen), ["↑2.4k ↓120 · $0.024"; 3]);
}

/// The line counts what was used before this screen came, and what helpers have used.
#[test]
fn a_run_that_was_joined_ends_with_all_that_it_took() {
    let mut screen = Screen::new();
    let report = HelperReport { input: 1_000, output: 100, cost: 0.5, ..HelperReport::default() };
    let Message::ToolResult(plain) = result("a").as_ref().clone() else { panic!() };
    let helped =
        Message::ToolResult(ToolResultMessage { details: Details::Helper(Box::new(report)), ..plain });
    let session = screen.model().status.mirror.session.clone();
    let messages = vec![Arc::new(user("go")), calls("a", 300), Arc::new(helped)];
    screen.agent(SessionEvent::SessionOpened { session, messages, titles: Default::default() });
    let start = AgentEvent::Run(RunEvent::AgentStart);
    screen.agent(TaskEvent::Earlier { ms: 9_000, event: Box::new(start) });
    let message = answer("Done.", 40);
    screen.agent(TurnEvent::MessageStart { message: Arc::clone(&message) });
    screen.agent(TurnEvent::MessageEnd { message });
    screen.settle();
    has(&mut screen, &["Done.\n\n  9.0s · ↑3.4k ↓440 · $0.524\n"]);
}

/// A run that pursues a goal has not ended where the model stopped, also while the command of the goal runs.
#[test]
fn a_run_with_a_goal_that_was_joined_ends_with_all_that_it_took() {
    let goal = Goal { state: GoalState::Active, ..Goal::new("make".to_owned(), Default::default()) };
    let check =
        Arc::new(Message::BashExecution(BashExecution { command: "make".into(), ..Default::default() }));
    let round = CustomMessage::new_hidden(ROUND, "[tau] Goal, round 2", None, 0);
    let first = vec![Arc::new(user("go")), answer("Done?", 40)];
    let second = vec![check, Arc::new(Message::Custom(round)), answer("Done again?", 40)];
    for messages in [first.clone(), [first, second].concat()] {
        let rounds = messages.iter().filter(|message| matches!(***message, Message::Assistant(_))).count();
        let mut screen = Screen::new();
        let session = screen.model().status.mirror.session.clone();
        screen.agent(SessionEvent::SessionOpened { session, messages, titles: Default::default() });
        screen.agent(SessionEvent::GoalChanged { goal: Some(goal.clone()) });
        let start = AgentEvent::Run(RunEvent::AgentStart);
        screen.agent(TaskEvent::Earlier { ms: 9_000, event: Box::new(start) });
        let message = answer("Done.", 40);
        screen.agent(TurnEvent::MessageStart { message: Arc::clone(&message) });
        screen.agent(TurnEvent::MessageEnd { message });
        screen.settle();
        let shown = shown(&mut screen);
        assert_eq!(shown.matches(" ↓").count(), 1, "{shown}");
        let cost = 0.012 * (rounds + 1) as f64;
        assert!(shown.contains(&format!("· ${cost:.3}\n")) && shown.contains("9.0s · "), "{shown}");
    }
}
