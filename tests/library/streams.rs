//! Runs as streams, runs without a kept agent, and other settings and state.

use tau::agent::api::{agent_loop, agent_loop_continue};
use tau::agent::protocol::command::AgentCommand;
use tau::agent::protocol::event::{RunEvent, TurnEvent};
use tau::agent::protocol::message::ApplicationMessage;
use tau::agent::provider::WireRecord;
use tau::agent::session::Session;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::fake::Step::Wait;
use crate::support::server::{Act, Server, answer};

async fn all(mut events: tau::agent::api::RunEvents) -> Vec<AgentEvent> {
    let mut all = Vec::new();
    while let Some(event) = events.recv().in_time("an event of the run").await {
        all.push(event);
    }
    all
}

#[tokio::test]
async fn a_prompt_returns_the_events_of_its_run() {
    let player = Player::new(vec![
        vec![Call("a", "echo", json!({})), USE],
        vec![Say("one"), STOP],
        vec![Say("two"), STOP],
    ]);
    let agent = builder(&player).start();
    for (prompt, answer) in [("first", "one"), ("second", "two")] {
        let events =
            agent.prompt_stream(prompt, CancellationToken::new()).in_time("the start").await.unwrap();
        let events = all(events).await;
        let lines = brief(&events);
        assert_eq!(
            (lines[0].as_str(), lines.last().unwrap().as_str()),
            ("agent_start", "settled"),
            "{lines:?}"
        );
        assert!(lines.contains(&format!("end assistant Stop {answer}")), "{lines:?}");
        assert_eq!(lines.iter().filter(|line| *line == "agent_start").count(), 1);
    }
    let run = agent.prompt_stream("third", CancellationToken::new()).in_time("the start").await.unwrap();
    let messages = run.finish().in_time("the end of the run").await.unwrap();
    assert_eq!(texts(&messages), ["user third", "assistant Stop done"]);
}

#[tokio::test]
async fn a_token_cancels_the_run_and_no_other() {
    let player = Player::new(vec![vec![Say("some words"), Hang]]);
    let agent = builder(&player).start();
    let cancel = CancellationToken::new();
    let mut run = agent.prompt_stream("go", cancel.clone()).in_time("the start").await.unwrap();
    while !matches!(
        run.recv().in_time("an event").await.unwrap(),
        AgentEvent::Turn(TurnEvent::MessageUpdate { .. })
    ) {}
    let busy = agent.prompt_stream("more", CancellationToken::new()).await.unwrap_err();
    assert!(busy.to_string().contains("already running"), "{busy}");
    cancel.cancel();
    assert_eq!(brief(&all(run).await).last().unwrap(), "settled aborted");
    let late = agent.prompt_stream("more", cancel).await.unwrap_err();
    assert!(late.to_string().contains("cancelled before"), "{late}");
    let next = agent.prompt_stream("more", CancellationToken::new()).in_time("the start").await.unwrap();
    assert_eq!(brief(&all(next).await).last().unwrap(), "settled");
}

#[tokio::test]
async fn a_stream_ends_with_its_run_alone() {
    let player =
        Player::new(vec![vec![Say("some words"), Wait(300), STOP], vec![Say("two"), Wait(300), STOP]]);
    let agent = builder(&player).start();
    let blank = agent.prompt_stream(" ", CancellationToken::new()).await.unwrap_err();
    assert!(blank.to_string().contains("nothing to send"), "{blank}");
    let cancel = CancellationToken::new();
    let mut run = agent.prompt_stream("go", cancel.clone()).in_time("the start").await.unwrap();
    while !matches!(
        run.recv().in_time("an event").await.unwrap(),
        AgentEvent::Turn(TurnEvent::MessageUpdate { .. })
    ) {}
    // Messages that are returned during the run are not its prompt.
    agent.follow_up("and then", []).await.unwrap();
    agent.command(AgentCommand::Queue(QueueCommand::TakeQueue)).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = run.recv().in_time("an event").await {
        events.push(event);
    }
    assert_eq!(brief(&events).last().unwrap(), "settled");
    // Its token is no longer of use, though the stream is still there.
    let next = agent.prompt_stream("more", CancellationToken::new()).in_time("the start").await.unwrap();
    cancel.cancel();
    assert_eq!(brief(&all(next).await).last().unwrap(), "settled");
}

#[tokio::test]
async fn loops_run_without_an_agent_that_is_kept() {
    let player = Player::new(vec![vec![Say("four"), STOP], vec![Say("five"), STOP]]);
    let (history, cancel) = (vec![user_message("two and two?")], CancellationToken::new());
    let run =
        agent_loop_continue(builder(&player), history.clone(), cancel.clone()).in_time("the start").await;
    let mut messages = history;
    messages.extend(run.unwrap().finish().in_time("the end").await.unwrap());
    assert_eq!(texts(&messages), ["user two and two?", "assistant Stop four"]);
    let prompts = vec!["and one?".into(), "please".into()];
    let run =
        agent_loop(builder(&player), messages, prompts, cancel.clone()).in_time("the start").await.unwrap();
    let added = run.finish().in_time("the end").await.unwrap();
    assert_eq!(texts(&added), ["user and one?", "user please", "assistant Stop five"]);
    assert_eq!(asked(&player)[1].len(), 4, "{:?}", asked(&player));

    let nothing = agent_loop(builder(&player), Vec::new(), Vec::new(), cancel.clone()).await.unwrap_err();
    assert!(nothing.to_string().contains("nothing to send"), "{nothing}");
    let answered = agent_loop_continue(builder(&player), added, cancel.clone()).await.unwrap_err();
    assert!(answered.to_string().contains("nothing to continue"), "{answered}");
    cancel.cancel();
    assert!(agent_loop(builder(&player), Vec::new(), vec!["go".into()], cancel).await.is_err());
}

#[tokio::test]
async fn a_message_can_be_sent_as_a_value() {
    let player = Player::new(Vec::new());
    let agent = builder(&player).start();
    let message = UserMessage { timestamp: 7, ..UserMessage::with_blocks("look", vec![Block::text("here")]) };
    agent.prompt_message(message.clone()).in_time("the agent to take it").await.unwrap();
    agent.wait_for_idle().in_time("the end of the run").await.unwrap();
    assert_eq!(*agent.state().messages[0], Message::User(message));
}

#[tokio::test]
async fn the_state_at_a_subscription_and_its_events_are_the_whole() {
    let player = Player::new(vec![vec![Say("one"), STOP]]);
    let agent = builder(&player).start();
    agent.run("first").in_time("the end of the run").await.unwrap();
    let (state, mut events) = agent.subscribe_with_state();
    assert_eq!(texts(&state.messages), ["user first", "assistant Stop one"]);
    agent.run("second").in_time("the end of the run").await.unwrap();
    let mut ended = Vec::new();
    while let Some(event) = events.recv().in_time("an event").await {
        if let AgentEvent::Turn(TurnEvent::MessageEnd { message }) = &event {
            ended.push(said(message));
        }
        if matches!(event, AgentEvent::Run(RunEvent::AgentSettled { .. })) {
            break;
        }
    }
    assert_eq!(ended, ["user second", "assistant Stop done"]);
}

#[tokio::test]
async fn queue_modes_temperature_and_the_name_of_the_conversation_can_be_changed() {
    let player = Player::new(Vec::new());
    let agent = builder(&player).temperature(0.5).start();
    assert_eq!(agent.queue_mode(Queue::Steer).await, Ok(QueueMode::OneAtATime));
    agent.set_queue_mode(Queue::FollowUp, QueueMode::All).await.unwrap();
    assert_eq!(agent.queue_mode(Queue::FollowUp).await, Ok(QueueMode::All));
    assert_eq!(agent.queue_mode(Queue::Steer).await, Ok(QueueMode::OneAtATime));
    agent.run("one").in_time("the end of the run").await.unwrap();
    agent.set_temperature(Some(1.5)).await.unwrap();
    agent.set_session_id(Some("mine".into())).await.unwrap();
    agent.run("two").in_time("the end of the run").await.unwrap();
    agent.set_temperature(None).await.unwrap();
    agent.set_session_id(None).await.unwrap();
    agent.run("three").in_time("the end of the run").await.unwrap();
    let requests = player.requests.lock().unwrap();
    let sent: Vec<_> =
        requests.iter().map(|request| (request.temperature, request.session_id.clone())).collect();
    let own = agent.state().session.id;
    assert_eq!(sent, [(Some(0.5), own.clone()), (Some(1.5), "mine".into()), (None, own)]);
}

#[tokio::test]
async fn messages_of_an_application_stay_in_the_session_and_reach_no_model() {
    let fields = json!({ "url": "https://example.com", "seen": true });
    let fields = fields.as_object().unwrap().clone();
    for role in ["user", "assistant", "toolResult", "system", ""] {
        assert_eq!(ApplicationMessage::new(role, fields.clone()), None, "{role:?}");
    }
    let mut own = ApplicationMessage::new("bookmark", fields).unwrap();
    own.timestamp = 5;
    let own = Message::Application(own);
    let dir = tempfile::tempdir().unwrap();
    let player = Player::new(Vec::new());
    let agent = builder(&player).session_dir(dir.path()).cwd(dir.path()).start();
    agent.run("one").in_time("the end of the run").await.unwrap();
    agent.append_message(own.clone()).in_time("the message to be taken").await.unwrap();
    assert_eq!(agent.continue_().await.unwrap_err().to_string(), "nothing to continue from: send a prompt");
    agent.run("two").in_time("the end of the run").await.unwrap();
    assert_eq!(*agent.state().messages[2], own);
    assert_eq!(asked(&player)[1], ["user one", "assistant Stop done", "user two"]);
    let file = agent.state().session.file.unwrap();
    agent.shutdown().in_time("the end").await;

    let text = std::fs::read_to_string(&file).unwrap();
    let line = r#""message":{"role":"bookmark","timestamp":5,"url":"https://example.com","seen":true}"#;
    assert!(text.contains(line), "{text}");
    let session = Session::open(&file).unwrap();
    let again = builder(&player).session(session).start();
    assert_eq!(*again.state().messages[2], own);
    again.run("three").in_time("the end of the run").await.unwrap();
    assert_eq!(asked(&player)[2].len(), 5);
}

#[tokio::test]
async fn a_listener_gets_requests_and_answers_without_keys() {
    let events = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi sk-very-secret-key-1\"}}]}\n\n\
                  data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let fine = Act::Send(answer("200 OK", "content-type: text/event-stream\r\n", events.as_bytes()));
    let refusal = br#"{"error":{"message":"the key sk-very-secret-key-1 is wrong"}}"#;
    let refused = Act::Send(answer("401 Unauthorized", "content-type: application/json\r\n", refusal));
    let server = Server::start(vec![fine, refused]).await;
    let model = Model { id: "m".into(), provider: "own".into(), base_url: server.url(), ..Model::default() };
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = Arc::clone(&heard);
    let agent = Agent::builder()
        .model(model)
        .key("sk-very-secret-key-1")
        .wire_listener(move |record| kept.lock().unwrap().push(record))
        .start();
    agent.run("hello").in_time("the end of the run").await.unwrap();
    agent.run("hello").in_time("the end of the run").await.unwrap_err();
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 4, "{heard:?}");
    assert!(!format!("{heard:?}").contains("sk-very-secret"), "{heard:?}");
    let [
        WireRecord::Request { id: first, url, headers, body },
        WireRecord::Response { id: same, body: answer, error: None },
        WireRecord::Request { id: second, .. },
        WireRecord::Response { id: again, error: Some(error), .. },
    ] = heard.as_slice()
    else {
        panic!("{heard:?}");
    };
    assert!(first == same && second == again && first != second);
    assert!(url.starts_with(&server.url()) && body["messages"].is_array());
    assert!(headers.iter().any(|(name, value)| name == "authorization" && value == "***"), "{headers:?}");
    assert!(answer.contains("data: [DONE]") && error.contains("is wrong"), "{answer} {error}");
}
