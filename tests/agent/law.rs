//! Every call in a history has exactly one result, whatever fails and whenever it is aborted.

use proptest::prelude::*;
use tau::agent::protocol::command::RunCommand;
use tau::agent::protocol::event::RunEvent;

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
        // A run that neither ends nor continues is aborted too.
        let wait = Duration::from_millis(if seen < abort_after { 60 } else { 20_000 });
        match tokio::time::timeout(wait, bench.agent.events.recv()).await {
            Ok(Some(AgentEvent::Run(RunEvent::AgentSettled { .. }))) => break,
            Ok(Some(_)) => seen += 1,
            Ok(None) => panic!("the agent has ended"),
            Err(_) => {
                assert!(seen < abort_after, "an abort did not end the run");
                seen = abort_after;
            }
        }
        if seen == abort_after {
            seen += 1;
            bench.send(RunCommand::Abort).await;
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
