//! Messages sent during a run.

use super::*;
use tau::agent::protocol::command::{QueueCommand, RunCommand, SessionCommand};
use tau::agent::protocol::event::{QueueEvent, ShellEvent, TurnEvent};
use tau::agent::protocol::goal::GoalOrder;

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
    bench.until(|event| matches!(event, AgentEvent::Turn(TurnEvent::ToolExecutionStart { .. }))).await;
    for (text, streaming) in [("later", Queue::FollowUp), ("s1", Queue::Steer), ("s2", Queue::Steer)] {
        bench.send(RunCommand::Prompt { text: text.into(), images: Vec::new(), streaming }).await;
    }
    let events = brief(&bench.settled().await);
    let ends: Vec<&str> = events.iter().filter_map(|line| line.strip_prefix("end ")).collect();
    let expected = [
        "result a", "result b failed", "user s1", "assistant Stop one", "user s2", "assistant Stop two",
        "user later", "assistant Stop three",
    ];
    assert_eq!(ends, expected);
    assert_eq!(events.iter().filter(|line| *line == "queue [] []").count(), 1);
}

#[tokio::test]
async fn an_abort_leaves_the_queue_and_the_next_run_takes_it() {
    let mut bench = Bench::new(vec![vec![Hang]]);
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::Turn(TurnEvent::TurnStart))).await;
    bench.prompt("kept").await;
    bench.send(RunCommand::Abort).await;
    bench.settled().await;
    bench.prompt("next").await;
    let events = brief(&bench.settled().await);
    let ends: Vec<&str> = events.iter().filter_map(|line| line.strip_prefix("end ")).collect();
    assert_eq!(ends, ["user kept", "user next", "assistant Stop done"]);
    bench.send(QueueCommand::TakeQueue).await;
    assert_eq!(
        bench.next().await,
        AgentEvent::Queue(QueueEvent::QueueReturned { texts: Vec::new(), images: Vec::new() })
    );
}

#[tokio::test]
async fn taking_the_queue_empties_it() {
    let mut bench = Bench::new(vec![vec![Wait(200), Say("ok"), STOP]]);
    bench.prompt("go").await;
    for (text, streaming) in [("b", Queue::FollowUp), ("a", Queue::Steer)] {
        bench.send(RunCommand::Prompt { text: text.into(), images: Vec::new(), streaming }).await;
    }
    bench.send(QueueCommand::TakeQueue).await;
    let events = brief(&bench.settled().await);
    assert!(events.contains(&r#"returned ["a", "b"]"#.to_owned()), "{events:?}");
    assert!(events.contains(&"agent_end 2".to_owned()), "{events:?}");
}

#[tokio::test]
async fn a_queued_message_is_changed_and_sent_at_once() {
    let mut bench = Bench::new(vec![vec![Hang], vec![Say("one"), STOP], vec![Say("two"), STOP]]);
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::Turn(TurnEvent::TurnStart))).await;
    for text in ["a", "b"] {
        let streaming = Queue::FollowUp;
        bench.send(RunCommand::Prompt { text: text.into(), images: Vec::new(), streaming }).await;
    }
    let message = |index, text: &str| QueuedMessage { queue: Queue::FollowUp, index, text: text.into() };
    let change = QueueChange::Replace { text: "B".into(), images: Vec::new() };
    bench.send(QueueCommand::ChangeQueued { message: message(1, "b"), change }).await;
    let change = QueueChange::Remove;
    let gone =
        AgentCommand::Queue(QueueCommand::ChangeQueued { message: message(0, "c"), change: change.clone() });
    bench.send(gone).await;
    let failed =
        bench.until(|event| matches!(event, AgentEvent::Queue(QueueEvent::QueueChangeFailed { .. }))).await;
    assert_eq!(
        failed.last(),
        Some(&AgentEvent::Queue(QueueEvent::QueueChangeFailed { message: message(0, "c"), change }))
    );
    assert!(brief(&failed).contains(&r#"queue [] ["a", "B"]"#.to_owned()), "{failed:?}");
    bench.send(QueueCommand::ChangeQueued { message: message(1, "B"), change: QueueChange::SendNow }).await;
    bench.settled().await;
    let events = brief(&bench.settled().await);
    let ends: Vec<&str> = events.iter().filter_map(|line| line.strip_prefix("end ")).collect();
    assert_eq!(ends, ["user B", "assistant Stop one", "user a", "assistant Stop two"]);
}

/// A message that arrives while the command of the goal runs is not left in the queue, even if the goal is reached.
#[tokio::test]
async fn what_is_queued_while_a_goal_is_checked_is_delivered() {
    for queue in [Queue::Steer, Queue::FollowUp] {
        let mut bench = Bench::new(vec![vec![Say("one"), STOP], vec![Say("two"), STOP]]);
        let goal = GoalOrder { command: "until test -e go; do sleep 0.05; done".into(), limits: None };
        bench.send(SessionCommand::SetGoal { goal: Some(goal) }).await;
        bench.prompt("work").await;
        bench.until(|event| matches!(event, AgentEvent::Shell(ShellEvent::BashStart { .. }))).await;
        bench.send(QueueCommand::Enqueue { text: "more".into(), images: Vec::new(), queue }).await;
        bench.until(|event| matches!(event, AgentEvent::Queue(QueueEvent::QueueUpdate { .. }))).await;
        std::fs::write(bench.dir.path().join("go"), "").unwrap();
        let events = brief(&bench.settled().await);
        let ends: Vec<&str> = events.iter().filter_map(|line| line.strip_prefix("end ")).collect();
        assert_eq!(ends, ["user more", "assistant Stop two"], "{queue:?}: {events:?}");
    }
}
