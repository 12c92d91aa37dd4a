//! The agent task against scripts: order of events, aborts, retries, queues, sessions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tau::agent::command::{Queue, SessionCommand};
use tau::agent::message::{Message, StopReason};
use tau::agent::provider::FailureKind;
use tau::agent::{AgentCommand, AgentEvent};
use tau::tools::{Content, Toolbox};

use crate::fake::Step::{Call, Cut, Fail, HalfCall, Hang, Panic, Say, Stop, Wait};
use crate::fake::{Bench, FakeTool, Manner, Player, Step, brief, files, model, prompt};

const STOP: Step = Stop(StopReason::Stop);
const USE: Step = Stop(StopReason::ToolUse);

fn text(text: &str) -> Value {
    json!({ "text": text })
}

fn ms(ms: u64) -> Value {
    json!({ "ms": ms })
}

/// A prompt `go` against scripts tells exactly these events.
async fn check(answers: Vec<Vec<Step>>, expected: &[&str]) {
    let mut bench = Bench::new(answers.clone());
    bench.prompt("go").await;
    let events = bench.settled().await;
    assert_eq!(brief(&events), expected, "{answers:?}");
}

#[tokio::test]
async fn events_come_in_the_order_of_the_wire() {
    check(
        vec![vec![Say("hello there"), STOP]],
        &[
            "agent_start",
            "turn_start",
            "start user",
            "end user go",
            "start assistant",
            "update",
            "end assistant Stop hello there",
            "turn_end 0",
            "agent_end 2",
            "settled",
        ],
    )
    .await;
    check(
        vec![
            vec![Say("first"), Call("a", "echo", text("x")), Call("b", "nosuch", json!({})), USE],
            vec![Say("ok"), STOP],
        ],
        &[
            "agent_start",
            "turn_start",
            "start user",
            "end user go",
            "start assistant",
            "update",
            "end assistant ToolUse first [a] [b]",
            "run a",
            "ran a",
            "run b",
            "ran b failed",
            "start result",
            "end result a",
            "start result",
            "end result b failed",
            "turn_end 2",
            "turn_start",
            "start assistant",
            "update",
            "end assistant Stop ok",
            "turn_end 0",
            "agent_end 5",
            "settled",
        ],
    )
    .await;
}

#[tokio::test]
async fn what_cannot_run_gets_a_result_that_says_why() {
    let cases = [
        (Call("a", "nosuch", json!({})), USE, "there is no tool named \"nosuch\"; the tools are: echo"),
        (Call("a", "echo", json!("{\"text\": ")), USE, "not a valid JSON object (EOF"),
        (Call("a", "echo", json!("[1]")), USE, "(not an object)"),
        (Call("a", "echo", text("cut")), Stop(StopReason::Length), "length limit"),
        (Call("a", "refuse", json!({})), USE, "no, try another path"),
        (Call("a", "crash", json!({})), USE, "the tool crashed: index out of bounds"),
    ];
    for (call, stop, expected) in cases {
        let mut bench = Bench::new(vec![vec![call.clone(), stop]]);
        bench.prompt("go").await;
        let results = results(&bench.settled().await);
        let [(id, true, told)] = results.as_slice() else { panic!("{call:?}: {results:?}") };
        assert!(id == "a" && told.contains(expected), "{call:?}: {told}");
    }
}

/// The results in events: id, whether an error, text.
fn results(events: &[AgentEvent]) -> Vec<(String, bool, String)> {
    let result = |event: &AgentEvent| match event {
        AgentEvent::MessageEnd { message } => match message.as_ref() {
            Message::ToolResult(result) => {
                let texts = result.content.iter().map(|content| match content {
                    Content::Text { text } => text.as_str(),
                    Content::Image { .. } => "",
                });
                let told = texts.collect::<Vec<_>>().join("\n");
                Some((result.tool_call_id.clone(), result.is_error, told))
            }
            _ => None,
        },
        _ => None,
    };
    events.iter().filter_map(result).collect()
}

#[tokio::test]
async fn calls_that_read_run_together_and_results_keep_their_order() {
    let look = Arc::new(FakeTool::new("look", Manner::Nap, true));
    let nap = Arc::new(FakeTool::new("nap", Manner::Nap, false));
    let tools = Toolbox::empty().with(look.clone()).with(nap.clone());
    let answer = vec![
        Call("a", "look", ms(120)),
        Call("b", "look", ms(40)),
        Call("c", "nap", ms(5)),
        Call("d", "nap", ms(5)),
        Call("e", "look", ms(5)),
        USE,
    ];
    let mut bench = Bench::with(Player::new(vec![answer]), |config| config.tools = tools);
    bench.prompt("go").await;
    let events = brief(&bench.settled().await);
    let ran: Vec<&str> = events
        .iter()
        .filter(|line| line.contains("ran ") || line.contains("run "))
        .map(String::as_str)
        .collect();
    let expected = ["run a", "run b", "ran b", "ran a", "run c", "ran c", "run d", "ran d", "run e", "ran e"];
    assert_eq!(ran, expected);
    let ended: Vec<&str> = events.iter().filter_map(|line| line.strip_prefix("end result ")).collect();
    assert_eq!(ended, ["a", "b", "c", "d", "e"]);
    let most = |tool: &FakeTool| tool.most.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!((most(&look), most(&nap)), (2, 1));
}

#[tokio::test]
async fn a_chatty_tool_is_shown_ten_times_a_second() {
    let mut bench = Bench::new(vec![vec![Call("a", "chatty", json!({})), USE]]);
    bench.prompt("go").await;
    let begun = Instant::now();
    let shown = brief(&bench.settled().await).iter().filter(|line| *line == "shows a").count();
    let most = begun.elapsed().as_millis() / 100 + 1;
    assert!(shown >= 2 && shown as u128 <= most, "{shown} updates, at most {most}");
}

/// Aborts when `stage` is seen: what follows has the shape of an aborted run, within a second.
async fn check_abort(answers: Vec<Vec<Step>>, stage: &str, expected: &[&str]) {
    let mut bench = Bench::new(answers);
    bench.prompt("go").await;
    if !stage.is_empty() {
        let seen = |event: &AgentEvent| brief(std::slice::from_ref(event)).iter().any(|line| line == stage);
        bench.until(seen).await;
    }
    let begun = Instant::now();
    bench.send(AgentCommand::Abort).await;
    let events = brief(&bench.settled().await);
    let ended: Vec<&str> = events.iter().map(String::as_str).filter(|line| *line != "update").collect();
    let rest = ended.split_at(ended.len() - expected.len()).1;
    assert_eq!(rest, expected, "at {stage:?}: {ended:?}");
    assert!(begun.elapsed() < Duration::from_secs(1), "took {:?}", begun.elapsed());
    bench.prompt("again").await;
    assert!(brief(&bench.settled().await).contains(&"settled".to_owned()));
}

#[tokio::test]
async fn an_abort_ends_every_stage_in_shape() {
    let end = ["turn_end 0", "agent_end 2", "settled aborted"];
    let empty = [&["start assistant", "end assistant Aborted"], &end[..]].concat();
    check_abort(vec![vec![Say("never"), STOP]], "", &empty).await;
    check_abort(vec![vec![Hang]], "end user go", &empty).await;
    let kept = [&["end assistant Aborted some"], &end[..]].concat();
    check_abort(vec![vec![Say("some"), Hang]], "update", &kept).await;
    check_abort(vec![vec![Say("some"), HalfCall("a"), Hang]], "update", &kept).await;
    let called = [
        "end assistant Aborted [a]",
        "run a",
        "ran a failed",
        "start result",
        "end result a failed",
        "turn_end 1",
        "agent_end 3",
        "settled aborted",
    ];
    check_abort(vec![vec![Call("a", "echo", json!({})), Hang]], "update", &called).await;
    for tool in ["nap", "deaf"] {
        let answer = vec![Call("a", tool, ms(60_000)), Call("b", "echo", json!({})), USE];
        let expected = [
            "ran a failed",
            "run b",
            "ran b failed",
            "start result",
            "end result a failed",
            "start result",
            "end result b failed",
            "turn_end 2",
            "agent_end 4",
            "settled aborted",
        ];
        check_abort(vec![answer], "run a", &expected).await;
    }
    let waiting = [&["retried 1 false", "start assistant", "end assistant Aborted"], &end[..]].concat();
    check_abort(vec![vec![Fail(FailureKind::Network, Some(20_000))]], "retry 1", &waiting).await;
}

#[tokio::test]
async fn failures_are_retried_or_told() {
    let ok = vec![Say("ok"), STOP];
    let head = ["agent_start", "turn_start", "start user", "end user go"];
    let good = ["start assistant", "update", "end assistant Stop ok", "turn_end 0"];
    let bad = ["start assistant", "end assistant Error", "turn_end 0", "agent_end 2", "settled"];
    let join = |parts: &[&[&'static str]]| parts.concat();
    let short = |kind| vec![Fail(kind, Some(5))];
    let twice = vec![short(FailureKind::Overloaded), short(FailureKind::RateLimit), ok.clone()];
    check(
        twice,
        &join(&[&head, &["retry 1", "retry 2", "retried 2 true"], &good, &["agent_end 2", "settled"]]),
    )
    .await;
    let too_often = vec![short(FailureKind::Network); 4];
    check(too_often, &join(&[&head, &["retry 1", "retry 2", "retry 3", "retried 3 false"], &bad])).await;
    for kind in [FailureKind::Auth, FailureKind::Request, FailureKind::Overflow, FailureKind::Config] {
        check(vec![short(kind), ok.clone()], &join(&[&head, &bad])).await;
    }
    check(vec![vec![Fail(FailureKind::RateLimit, Some(90_000))]], &join(&[&head, &bad])).await;
    check(vec![vec![Panic], ok.clone()], &join(&[&head, &bad])).await;
    // A stream that is cut keeps its text, without its calls, in a turn of its own.
    let cut = vec![Say("half an"), Call("a", "echo", json!({})), Fail(FailureKind::Network, Some(5))];
    check(
        vec![cut, ok],
        &join(&[
            &head,
            &["start assistant", "update", "end assistant Error half an", "turn_end 0", "retry 1"],
            &["retried 1 true", "turn_start"],
            &good,
            &["agent_end 3", "settled"],
        ]),
    )
    .await;
}

#[tokio::test]
async fn the_words_of_a_failure_reach_the_person() {
    let cases = [
        (vec![Fail(FailureKind::RateLimit, Some(90_000))], "1 min 30 s"),
        (vec![Fail(FailureKind::Overflow, None)], "larger context"),
        (vec![Fail(FailureKind::Auth, None)], "it broke"),
        (vec![Panic], "the decoder fell over"),
    ];
    for (answer, expected) in cases {
        let mut bench = Bench::new(vec![answer]);
        bench.prompt("go").await;
        let events = bench.settled().await;
        let error = events.iter().find_map(|event| match event {
            AgentEvent::TurnEnd { message, .. } => match message.as_ref() {
                Message::Assistant(answer) => answer.error_message.clone(),
                _ => None,
            },
            _ => None,
        });
        assert!(error.as_deref().is_some_and(|text| text.contains(expected)), "{error:?}");
    }
}

#[tokio::test]
async fn a_cut_answer_goes_on_from_where_it_was() {
    let player = Player::new(vec![vec![Say("half an"), Fail(FailureKind::Network, Some(1))]]);
    let mut bench = Bench::on(player.clone());
    bench.prompt("go").await;
    bench.settled().await;
    let requests = player.requests.lock().unwrap();
    let told: Vec<String> = requests[1].messages.iter().map(|message| crate::fake::said(message)).collect();
    assert!(told[1].contains("half an"), "{told:?}");
    assert!(told[2].contains("cut off"), "{told:?}");
}

#[tokio::test]
async fn a_stream_that_just_ends_is_no_answer() {
    let mut bench = Bench::new(vec![vec![Say("half"), Cut]]);
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::AutoRetryStart { .. })).await;
    bench.send(AgentCommand::AbortRetry).await;
    let events = brief(&bench.settled().await);
    let expected = [
        "retried 1 false",
        "turn_start",
        "start assistant",
        "end assistant Error",
        "turn_end 0",
        "agent_end 3",
        "settled",
    ];
    assert_eq!(events, expected);
}

#[tokio::test]
async fn queued_messages_come_at_their_moment() {
    let answers = vec![
        vec![Call("a", "nap", ms(300)), Call("b", "echo", text("x")), USE],
        vec![Say("one"), STOP],
        vec![Say("two"), STOP],
        vec![Say("three"), STOP],
    ];
    let mut bench = Bench::new(answers);
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::ToolExecutionStart { .. })).await;
    for (text, streaming) in [("later", Queue::FollowUp), ("s1", Queue::Steer), ("s2", Queue::Steer)] {
        bench.send(AgentCommand::Prompt { text: text.into(), images: Vec::new(), streaming }).await;
    }
    let events = brief(&bench.settled().await);
    let ends: Vec<&str> = events.iter().filter_map(|line| line.strip_prefix("end ")).collect();
    let expected = [
        "result a",
        "result b",
        "user s1",
        "assistant Stop one",
        "user s2",
        "assistant Stop two",
        "user later",
        "assistant Stop three",
    ];
    assert_eq!(ends, expected);
    assert_eq!(events.iter().filter(|line| *line == "queue [] []").count(), 1);
}

#[tokio::test]
async fn an_abort_leaves_the_queue_and_the_next_run_takes_it() {
    let mut bench = Bench::new(vec![vec![Hang]]);
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::TurnStart)).await;
    bench.prompt("kept").await;
    bench.send(AgentCommand::Abort).await;
    bench.settled().await;
    bench.prompt("next").await;
    let events = brief(&bench.settled().await);
    let ends: Vec<&str> = events.iter().filter_map(|line| line.strip_prefix("end ")).collect();
    assert_eq!(ends, ["user kept", "user next", "assistant Stop done"]);
    bench.send(AgentCommand::TakeQueue).await;
    assert_eq!(bench.next().await, AgentEvent::QueueReturned { texts: Vec::new() });
}

#[tokio::test]
async fn taking_the_queue_empties_it() {
    let mut bench = Bench::new(vec![vec![Wait(200), Say("ok"), STOP]]);
    bench.prompt("go").await;
    for (text, streaming) in [("b", Queue::FollowUp), ("a", Queue::Steer)] {
        bench.send(AgentCommand::Prompt { text: text.into(), images: Vec::new(), streaming }).await;
    }
    bench.send(AgentCommand::TakeQueue).await;
    let events = brief(&bench.settled().await);
    assert!(events.contains(&r#"returned ["a", "b"]"#.to_owned()), "{events:?}");
    assert!(events.contains(&"agent_end 2".to_owned()), "{events:?}");
}

#[tokio::test]
async fn a_model_that_repeats_itself_is_warned_then_stopped() {
    let same = vec![Call("a", "echo", text("same")), USE];
    let mut bench = Bench::new(vec![same; 9]);
    bench.prompt("go").await;
    let events = bench.settled().await;
    let warned: Vec<bool> = results(&events).iter().map(|(_, _, text)| text.contains("same call")).collect();
    assert_eq!(warned, [false, false, true, true, true]);
    assert!(brief(&events).iter().any(|line| line.starts_with("notice Warning stopped: the model repeats")));
    // Equal ids of the provider's are told apart.
    let ids: Vec<String> = results(&events).into_iter().map(|(id, ..)| id).collect();
    assert_eq!(ids, ["a", "a_2", "a_3", "a_4", "a_5"]);
}

#[tokio::test]
async fn answers_of_a_run_are_limited() {
    let answers = (0..9).map(|n| vec![Call("a", "echo", json!({ "text": n.to_string() })), USE]);
    let mut bench = Bench::with(Player::new(answers.collect()), |config| config.max_turns = Some(3));
    bench.prompt("go").await;
    let events = brief(&bench.settled().await);
    assert_eq!(events.iter().filter(|line| *line == "turn_start").count(), 3);
    assert!(events.iter().any(|line| line.contains("stopped after 3 answers")), "{events:?}");
}

#[tokio::test]
async fn a_message_is_on_disk_before_its_end_is_told() {
    let answers = vec![vec![Say("the answer"), Call("a", "echo", text("the result")), USE]];
    let mut bench = Bench::new(answers);
    bench.prompt("the question").await;
    let mut ends = 0;
    loop {
        match bench.next().await {
            AgentEvent::MessageEnd { message } => {
                ends += 1;
                let written = std::fs::read_to_string(&files(&bench.dir)[0]).unwrap();
                let messages: Vec<Message> = written
                    .lines()
                    .filter_map(|line| serde_json::from_str::<Value>(line).unwrap().get("message").cloned())
                    .map(|message| serde_json::from_value(message).unwrap())
                    .collect();
                assert!(messages.contains(&message), "{message:?} is not in {written}");
            }
            AgentEvent::AgentSettled { .. } => break,
            _ => {}
        }
    }
    assert_eq!(ends, 4);
}

#[tokio::test]
async fn without_a_model_the_text_comes_back() {
    let mut bench = Bench::with(Player::new(Vec::new()), |config| config.model = None);
    bench.prompt("lost?").await;
    let events = bench.until(|event| matches!(event, AgentEvent::QueueReturned { .. })).await;
    assert_eq!(brief(&events), ["notice Error no model is chosen", r#"returned ["lost?"]"#]);
}

#[tokio::test]
async fn settings_count_from_the_next_request_on() {
    let answers = vec![vec![Wait(100), Call("a", "echo", json!({})), USE]];
    let player = Player::new(answers);
    let mut bench = Bench::on(player.clone());
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::TurnStart)).await;
    bench.send(AgentCommand::SetModel { model: model("second") }).await;
    bench.send(AgentCommand::SetThinking { level: tau::agent::model::ThinkingLevel::High }).await;
    bench.settled().await;
    let used: Vec<(String, &str)> = player
        .requests
        .lock()
        .unwrap()
        .iter()
        .map(|request| (request.model.id.clone(), request.thinking.name()))
        .collect();
    assert_eq!(used, [("first".to_owned(), "medium"), ("second".to_owned(), "high")]);
}

#[tokio::test]
async fn a_reader_that_stalls_loses_nothing_and_can_abort() {
    let mut answer = vec![Say("many words"); 400];
    answer.push(Hang);
    let mut bench = Bench::new(vec![answer]);
    bench.prompt("go").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    bench.send(AgentCommand::Abort).await;
    let events = bench.settled().await;
    let told: String = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::MessageUpdate {
                assistant_message_event: tau::agent::event::Delta::TextDelta { delta, .. },
                ..
            } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    let kept = events.iter().rev().find_map(|event| match event {
        AgentEvent::TurnEnd { message, .. } => match message.as_ref() {
            Message::Assistant(answer) => Some(answer.text()),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(Some(told), kept);
}

#[tokio::test]
async fn dropping_the_handle_ends_what_runs() {
    let deaf = Arc::new(FakeTool::new("deaf", Manner::Deaf, false));
    let tools = Toolbox::empty().with(deaf.clone());
    let answers = vec![vec![Call("a", "deaf", json!({})), USE]];
    let mut bench = Bench::with(Player::new(answers), |config| config.tools = tools);
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::ToolExecutionStart { .. })).await;
    let Bench { agent, dir: _dir } = bench;
    drop((agent.commands, agent.events));
    tokio::time::timeout(Duration::from_secs(2), agent.task).await.expect("still runs").unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(deaf.alive.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn sessions_change_after_the_run_has_ended() {
    let mut bench = Bench::new(vec![vec![Hang]]);
    bench.prompt("in the first").await;
    bench.until(|event| matches!(event, AgentEvent::TurnStart)).await;
    bench.send(AgentCommand::SetModel { model: model("second") }).await;
    bench.send(AgentCommand::Session(SessionCommand::Name { name: " a\nname ".into() })).await;
    bench.send(AgentCommand::Session(SessionCommand::New)).await;
    bench.prompt("in the second").await;
    let first = bench.settled().await;
    assert!(first.contains(&AgentEvent::SessionInfoChanged { name: Some("a name".into()) }));
    assert_eq!(brief(&first).last().map(String::as_str), Some("settled aborted"));
    let second = bench.settled().await;
    assert!(matches!(&second[0], AgentEvent::SessionOpened { messages, .. } if messages.is_empty()));
    assert!(brief(&second).contains(&"end user in the second".to_owned()));
    let [one, two] = files(&bench.dir).try_into().unwrap();
    let paths = [one, two];
    bench.send(AgentCommand::SetModel { model: model("third") }).await;
    let with = |text: &str| {
        paths.iter().find(|path| std::fs::read_to_string(path).unwrap().contains(text)).unwrap().clone()
    };
    bench.send(AgentCommand::Session(SessionCommand::Open { path: with("in the first") })).await;
    let opened = bench.until(|event| matches!(event, AgentEvent::SessionOpened { .. })).await;
    let Some(AgentEvent::SessionOpened { session, messages }) = opened.last() else { panic!() };
    assert_eq!((session.name.as_deref(), messages.len()), (Some("a name"), 2));
    let restored = bench.next().await;
    assert!(matches!(&restored, AgentEvent::ModelChanged { model } if model.id == "second"), "{restored:?}");
    let missing = bench.dir.path().join("none.jsonl");
    bench.send(AgentCommand::Session(SessionCommand::Open { path: missing })).await;
    assert!(brief(&[bench.next().await])[0].starts_with("notice Error the session cannot be opened"));
}

#[tokio::test]
async fn going_on_needs_something_to_go_on_from() {
    let mut bench = Bench::new(vec![vec![Say("half"), Hang], vec![Say("rest"), STOP]]);
    bench.send(AgentCommand::Continue).await;
    let events = bench.until(|event| matches!(event, AgentEvent::Notice { .. })).await;
    assert_eq!(brief(&events), ["notice Warning there is nothing to go on from"]);
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::MessageUpdate { .. })).await;
    bench.send(AgentCommand::Abort).await;
    bench.settled().await;
    bench.send(AgentCommand::Continue).await;
    assert!(brief(&bench.settled().await).contains(&"end assistant Stop rest".to_owned()));
}

#[tokio::test]
async fn shutdown_during_a_run_completes_the_session() {
    let mut bench = Bench::new(vec![vec![Say("some"), Hang]]);
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::MessageUpdate { .. })).await;
    bench.send(AgentCommand::Shutdown).await;
    let events = brief(&bench.until(|event| *event == AgentEvent::Stopped).await);
    let expected = ["end assistant Aborted some", "turn_end 0", "agent_end 2", "settled aborted", "stopped"];
    let ended: Vec<&str> = events.iter().map(String::as_str).filter(|line| *line != "update").collect();
    assert_eq!(ended, expected);
}

#[tokio::test]
async fn a_killed_session_is_mended_when_it_is_opened() {
    let mut bench = Bench::new(vec![vec![Call("a", "deaf", json!({})), Call("b", "echo", json!({})), USE]]);
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::ToolExecutionStart { .. })).await;
    bench.agent.task.abort();
    while bench.agent.events.recv().await.is_some() {}
    let path = files(&bench.dir)[0].clone();
    let mut next = Bench::new(Vec::new());
    next.send(AgentCommand::Session(SessionCommand::Open { path })).await;
    next.next().await;
    let opened = next.until(|event| matches!(event, AgentEvent::SessionOpened { .. })).await;
    let Some(AgentEvent::SessionOpened { messages, .. }) = opened.last() else { panic!() };
    let told: Vec<String> = messages.iter().map(|message| crate::fake::said(message)).collect();
    assert_eq!(told[2..], ["result a failed", "result b failed"]);
}

mod law_of_results {
    //! Every call in a history has exactly one result, whatever fails and whenever it is aborted.

    use proptest::prelude::*;

    use super::*;

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            Just(Say("words")),
            Just(Call("a", "echo", json!({}))),
            Just(Call("b", "look", ms(3))),
            Just(Call("", "refuse", json!({}))),
            Just(Call("c", "crash", json!({}))),
            Just(Call("d", "deaf", json!({}))),
            Just(Call("e", "nosuch", json!({}))),
            Just(Call("f", "echo", json!("{"))),
            Just(HalfCall("g")),
            Just(Fail(FailureKind::Network, Some(1))),
            Just(Fail(FailureKind::Request, None)),
            Just(Wait(2)),
            Just(Cut),
        ]
    }

    fn answer() -> impl Strategy<Value = Vec<Step>> {
        let end = prop_oneof![
            Just(USE),
            Just(STOP),
            Just(Stop(StopReason::Length)),
            Just(Stop(StopReason::Error)),
            Just(Hang)
        ];
        (prop::collection::vec(step(), 0..5), end).prop_map(|(mut steps, end)| {
            steps.push(end);
            steps
        })
    }

    async fn hold(answers: Vec<Vec<Step>>, abort_after: usize) {
        let mut bench = Bench::new(answers);
        bench.prompt("go").await;
        let mut seen = 0;
        loop {
            // What neither ends nor goes on is aborted too.
            let wait = Duration::from_millis(if seen < abort_after { 60 } else { 5_000 });
            match tokio::time::timeout(wait, bench.agent.events.recv()).await {
                Ok(Some(AgentEvent::AgentSettled { .. })) => break,
                Ok(Some(_)) => seen += 1,
                Ok(None) => panic!("the agent has ended"),
                Err(_) => {
                    assert!(seen < abort_after, "an abort did not end the run");
                    seen = abort_after;
                }
            }
            if seen == abort_after {
                seen += 1;
                bench.send(AgentCommand::Abort).await;
            }
        }
        let (session, _dir) = bench.reopened().await.expect("no session file");
        lawful(&session.context().messages);
    }

    fn lawful(messages: &[Arc<Message>]) {
        let mut open: Vec<String> = Vec::new();
        let mut known = std::collections::HashSet::new();
        for message in messages {
            match message.as_ref() {
                Message::Assistant(answer) => {
                    assert_eq!(open, Vec::<String>::new(), "calls without results: {messages:?}");
                    for call in answer.tool_calls() {
                        assert!(known.insert(call.id.clone()), "{} is used twice", call.id);
                        open.push(call.id.clone());
                    }
                }
                Message::ToolResult(result) => {
                    assert!(!open.is_empty() && open.remove(0) == result.tool_call_id, "{messages:?}");
                }
                _ => assert_eq!(open, Vec::<String>::new(), "{messages:?}"),
            }
        }
        assert_eq!(open, Vec::<String>::new(), "calls without results: {messages:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn every_call_has_one_result(
            answers in prop::collection::vec(answer(), 1..4),
            abort_after in 1_usize..40,
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(hold(answers, abort_after));
        }
    }
}

#[tokio::test]
async fn a_prompt_and_an_abort_in_one_breath_cancel() {
    let player = Player::new(Vec::new());
    let mut bench = Bench::on(player.clone());
    bench.agent.commands.try_send(prompt("go")).unwrap();
    bench.agent.commands.try_send(AgentCommand::Abort).unwrap();
    let events = brief(&bench.settled().await);
    assert_eq!(events.last().map(String::as_str), Some("settled aborted"));
    assert!(player.requests.lock().unwrap().is_empty());
}
