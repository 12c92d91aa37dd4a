//! Early ends of a run: limits, and a model that repeats itself.

use tau::agent::protocol::command::QuestionAnswer;
use tau::agent::protocol::event::{QuestionEvent, RunEvent, TurnEvent};
use tau::agent::protocol::message::Usage;
use tau::agent::protocol::model::Price;
use tau::agent::protocol::run::{OnRepeat, RunEnd, RunLimits};
use tau::agent::provider::scripted::{Script, ScriptedTransport, calls, says};
use tau::agent::provider::{Failure, FailureKind, StreamEvent};

use super::*;

/// Runs `go` to its end; returns the reason, and the events.
async fn ended(agent: &Agent) -> (Option<RunEnd>, Vec<String>) {
    let mut events = agent.subscribe();
    agent.prompt("go", []).in_time("the agent to take `prompt`").await.unwrap();
    agent.wait_for_idle().in_time("the end of the run").await.unwrap();
    agent.shutdown().in_time("the end").await;
    let mut reported = Vec::new();
    while let Some(event) = events.recv().in_time("an event").await {
        reported.push(event);
    }
    let reason = reported.iter().find_map(|event| match event {
        AgentEvent::Run(RunEvent::RunStopped { reason }) => Some(*reason),
        _ => None,
    });
    (reason, brief(&reported))
}

/// A model that costs a dollar per answer, and calls a tool each time.
fn dear(call: usize) -> Script {
    let mut events = calls(&[(&format!("c{call}"), "echo", json!({ "text": call.to_string() }))]);
    events.insert(0, StreamEvent::Usage(Usage { output: 1_000_000, ..Usage::default() }));
    events.into()
}

fn priced() -> Model {
    Model { cost: Some(Price { output: 1.0, ..Price::default() }), ..Model::clone(&model("dear")) }
}

async fn check(limits: RunLimits, scripts: Vec<Script>, reason: Option<RunEnd>, turns: usize) {
    let transport = ScriptedTransport::new(scripts);
    let agent = Agent::builder().model(priced()).tools(tools()).transport(transport).limits(limits).start();
    let (ended, reported) = ended(&agent).await;
    assert_eq!(ended, reason, "{limits:?}: {reported:?}");
    let answers = reported.iter().filter(|line| line.starts_with("end assistant")).count();
    assert_eq!(answers, turns, "{limits:?}: {reported:?}");
    let place = |wanted: &str| reported.iter().position(|line| line.starts_with(wanted));
    if reason.is_some() {
        assert!(place("ended by") < place("notice Warning stopped"), "{reported:?}");
        assert!(place("notice Warning stopped") < place("agent_end"), "{reported:?}");
    }
    assert!(place("agent_end") < place("settled"), "{reported:?}");
}

#[tokio::test]
async fn limits_end_a_run_with_a_clear_event() {
    let scripts = || (0..5).map(dear).chain([says("done").into()]).collect::<Vec<Script>>();
    check(RunLimits::default(), scripts(), None, 6).await;
    check(RunLimits { turns: Some(3), ..RunLimits::default() }, scripts(), Some(RunEnd::Turns), 3).await;
    check(RunLimits { dollars: Some(1.5), ..RunLimits::default() }, scripts(), Some(RunEnd::Dollars), 2)
        .await;
    // Unseen output was paid for, too: the failure precedes any content of the answer.
    let spent = StreamEvent::Usage(Usage { output: 1_000_000, ..Usage::default() });
    let failed = Failure { retry_after_ms: Some(1), ..Failure::new(FailureKind::Overloaded, "no") };
    let failing: Script = vec![spent, StreamEvent::Failed(failed)].into();
    let scripts = vec![failing, dear(0), dear(1), dear(2)];
    check(RunLimits { dollars: Some(2.5), ..RunLimits::default() }, scripts, Some(RunEnd::Dollars), 2).await;
    let slow: Script = Script(vec![tau::agent::provider::scripted::ScriptStep::Hang]);
    let time = Some(Duration::from_millis(150));
    check(RunLimits { time, ..RunLimits::default() }, vec![dear(0), slow], Some(RunEnd::Time), 2).await;
}

#[tokio::test]
async fn an_unknown_price_is_reported_if_the_cost_is_limited() {
    let wire =
        Model { api: tau::agent::protocol::model::Api::OpenaiCompletions, ..Model::clone(&model("m")) };
    let limits = RunLimits { dollars: Some(1.0), ..RunLimits::default() };
    let agent = builder(&Player::new(Vec::new())).model(wire).limits(limits).start();
    let (reason, reported) = ended(&agent).await;
    assert_eq!(reason, None);
    assert!(reported.iter().any(|line| line.contains("the price of m is unknown")), "{reported:?}");
}

/// A model that makes the same call forever; checks the end of the run with these answers of the user.
async fn check_repeats(on_repeat: OnRepeat, answers: &[QuestionAnswer], results: usize) {
    let player = Player::new(vec![vec![Call("a", "echo", json!({})), USE]; 20]);
    let agent = builder(&player).behavior(|behavior| behavior.on_repeat = on_repeat).start();
    let mut events = agent.subscribe();
    agent.prompt("go", []).in_time("the agent to take `prompt`").await.unwrap();
    let (mut answers, mut ran, mut reason) = (answers.iter(), 0, None);
    while let Some(event) = events.recv().in_time("an event").await {
        match event {
            AgentEvent::Questions(QuestionEvent::Asked { id, .. }) => agent
                .answer(id, answers.next().unwrap().clone())
                .in_time("the agent to take `answer`")
                .await
                .unwrap(),
            AgentEvent::Turn(TurnEvent::ToolExecutionEnd { .. }) => ran += 1,
            AgentEvent::Run(RunEvent::RunStopped { reason: why }) => reason = Some(why),
            AgentEvent::Run(RunEvent::AgentSettled { .. }) => break,
            _ => {}
        }
    }
    assert_eq!((ran, reason), (results, Some(RunEnd::Repeats)), "{on_repeat:?}");
    assert_eq!(answers.len(), 0);
}

#[tokio::test]
async fn a_model_that_repeats_itself_is_stopped_or_asked_about() {
    check_repeats(OnRepeat::Stop, &[], 5).await;
    check_repeats(OnRepeat::Ask, &[QuestionAnswer::Confirmed(false)], 5).await;
    check_repeats(OnRepeat::Ask, &[QuestionAnswer::Cancelled], 5).await;
    check_repeats(OnRepeat::Ask, &[QuestionAnswer::Confirmed(true), QuestionAnswer::Confirmed(false)], 10)
        .await;
}

#[tokio::test]
async fn an_abort_is_no_answer_to_the_question() {
    let player = Player::new(vec![vec![Call("a", "echo", json!({})), USE]; 20]);
    let agent = builder(&player).behavior(|behavior| behavior.on_repeat = OnRepeat::Ask).start();
    let mut events = agent.subscribe();
    agent.prompt("go", []).in_time("the agent to take `prompt`").await.unwrap();
    while let Some(event) = events.recv().in_time("an event").await {
        match event {
            AgentEvent::Questions(QuestionEvent::Asked { .. }) => {
                agent.abort().in_time("the agent to take `abort`").await.unwrap();
            }
            AgentEvent::Run(RunEvent::RunStopped { reason }) => panic!("reported as {reason:?}"),
            AgentEvent::Run(RunEvent::AgentSettled { aborted }) => return assert!(aborted),
            _ => {}
        }
    }
}

#[tokio::test]
async fn nothing_is_compacted_for_a_turn_that_will_not_come() {
    let long: &str = "word ".repeat(8_000).leak();
    let full = vec![Call("a", "echo", json!({ "text": long })), USE];
    for (turns, compactions) in [(Some(1), 0), (Some(2), 1)] {
        let player = Player::new(vec![full.clone(), vec![Say("sum"), STOP]]);
        let small = Model { context_window: 8_000, ..Model::clone(&model("small")) };
        let agent = builder(&player).model(small).limits(RunLimits { turns, ..RunLimits::default() }).start();
        let (_, reported) = ended(&agent).await;
        let begun = reported.iter().filter(|line| line.starts_with("compacts")).count();
        assert_eq!(begun, compactions, "{turns:?}: {reported:?}");
    }
}
