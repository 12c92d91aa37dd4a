//! Provider failures: which are retried, and what is kept.

use tau::agent::AgentEvent;
use tau::agent::api::AgentConfig;
use tau::agent::protocol::command::{RunCommand, TaskCommand};
use tau::agent::protocol::event::{RunEvent, TaskEvent, TurnEvent};
use tau::agent::protocol::message::Message;
use tau::agent::protocol::run::RetryMode;
use tau::agent::provider::FailureKind;
use tau::agent::session::Session;

use super::*;

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
    for kind in [FailureKind::Auth, FailureKind::Request, FailureKind::Config] {
        check(vec![short(kind), ok.clone()], &join(&[&head, &bad])).await;
    }
    check(vec![vec![Fail(FailureKind::RateLimit, Some(90_000))]], &join(&[&head, &bad])).await;
    check(vec![vec![Panic], ok.clone()], &join(&[&head, &bad])).await;
    // A stream that is cut keeps the received part in a separate turn; its calls are answered, not run.
    let cut = vec![Say("half an"), Call("a", "echo", json!({})), Fail(FailureKind::Network, Some(5))];
    check(
        vec![cut, ok],
        &join(&[
            &head,
            &["start assistant", "update", "end assistant Error half an [a]", "run a", "ran a failed"],
            &["start result", "end result a failed", "turn_end 1", "retry 1"],
            &["retried 1 true", "turn_start"],
            &good,
            &["agent_end 4", "settled"],
        ]),
    )
    .await;
}

/// If nothing comes after a cut, what had come stays, in the answer that takes the place of the cut one.
#[tokio::test]
async fn what_had_come_before_a_cut_stays_when_nothing_comes_after_it() {
    let cut = || vec![Say("half an"), Call("a", "echo", json!({})), Fail(FailureKind::Network, Some(1))];
    let nothing = || vec![Fail(FailureKind::Network, Some(1))];
    for (answers, reason) in [
        (vec![cut(), vec![Hang]], StopReason::Aborted),
        (vec![cut(), nothing(), nothing(), nothing()], StopReason::Error),
        (vec![cut(), nothing(), vec![Fail(FailureKind::Auth, None)]], StopReason::Error),
    ] {
        let mut bench = Bench::new(answers);
        bench.prompt("go").await;
        let mut waits = 0;
        let last = loop {
            match bench.next().await {
                AgentEvent::Run(RunEvent::AutoRetryStart { .. }) => waits += 1,
                AgentEvent::Turn(TurnEvent::MessageEnd { message }) if waits > 0 => break message,
                _ => {}
            }
            if waits == 1 && reason == StopReason::Aborted {
                waits += 1;
                bench.send(RunCommand::Abort).await;
            }
        };
        let Message::Assistant(answer) = last.as_ref() else { panic!("{last:?}") };
        assert_eq!((answer.text().as_str(), answer.stop_reason), ("half an", reason), "{answer:?}");
        assert_eq!(answer.tool_calls().count(), 0, "{answer:?}");
    }
}

#[tokio::test]
async fn the_words_of_a_failure_reach_the_user() {
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
            AgentEvent::Turn(TurnEvent::TurnEnd { message, .. }) => match message.as_ref() {
                Message::Assistant(answer) => answer.error_message.clone(),
                _ => None,
            },
            _ => None,
        });
        assert!(error.as_deref().is_some_and(|text| text.contains(expected)), "{error:?}");
    }
}

#[tokio::test]
async fn after_a_cut_the_request_is_what_it_was() {
    let cut = || vec![Say("half an"), Call("a", "echo", json!({})), Fail(FailureKind::Network, Some(1))];
    let player = Player::new(vec![cut(), cut(), vec![Say("whole"), STOP], vec![Say("more"), STOP]]);
    let mut bench = Bench::on(player.clone());
    bench.prompt("go").await;
    bench.settled().await;
    bench.prompt("on").await;
    bench.settled().await;
    let requests = player.requests.lock().unwrap();
    let said = |at: usize| -> Vec<String> {
        requests[at].messages.iter().map(|message| crate::fake::said(message)).collect()
    };
    assert_eq!((said(1), said(2)), (said(0), said(0)));
    assert_eq!(said(3).len(), 3, "{:?}", said(3));
    assert!(said(3)[1].contains("whole"), "{:?}", said(3));
}

#[tokio::test]
async fn what_the_user_answers_of_a_failed_answer_stays() {
    let player =
        Player::new(vec![vec![Say("half an"), Fail(FailureKind::Request, None)], vec![Say("whole"), STOP]]);
    let mut bench = Bench::on(player.clone());
    bench.prompt("go").await;
    bench.settled().await;
    bench.prompt("more of it").await;
    bench.settled().await;
    let requests = player.requests.lock().unwrap();
    let said: Vec<String> = requests[1].messages.iter().map(|message| crate::fake::said(message)).collect();
    assert!(said[1].contains("half an") && said[2].contains("more of it"), "{said:?}");
}

#[tokio::test]
async fn a_stream_that_just_ends_is_no_answer() {
    let mut bench = Bench::new(vec![vec![Say("half"), Cut]]);
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::Run(RunEvent::AutoRetryStart { .. }))).await;
    bench.send(RunCommand::AbortRetry).await;
    let events = brief(&bench.settled().await);
    let expected = [
        "retried 1 false", "turn_start", "start assistant", "end assistant Error half", "turn_end 0",
        "agent_end 3", "settled",
    ];
    assert_eq!(events, expected);
}

#[tokio::test]
async fn a_wait_for_a_quota_continues_after_a_restart() {
    let spent = vec![Fail(FailureKind::RateLimit, Some(60_000))];
    let waits = |config: &mut AgentConfig| config.retry_mode = RetryMode::WaitForQuota;
    let mut bench = Bench::with(Player::new(vec![spent]), waits);
    bench.prompt("go").await;
    let delay = |event: Option<&AgentEvent>| match event {
        Some(AgentEvent::Run(RunEvent::AutoRetryStart { delay_ms, .. })) => *delay_ms,
        other => panic!("{other:?}"),
    };
    let is_wait = |event: &AgentEvent| matches!(event, AgentEvent::Run(RunEvent::AutoRetryStart { .. }));
    assert_eq!(delay(bench.until(is_wait).await.last()), 60_000);
    let (session, dir) = bench.reopened().await.unwrap();
    let path = session.info().file.clone().unwrap();
    drop(session);

    // A mode that does not wait for quota asks again at once.
    for (mode, asks) in [(RetryMode::WaitForQuota, false), (RetryMode::Headless, true)] {
        let player = Player::new(Vec::new());
        let mut bench = Bench::with(player.clone(), |config| {
            config.retry_mode = mode;
            config.session = Session::open(&path).unwrap();
        });
        bench.prompt("again").await;
        if asks {
            bench.settled().await;
        } else {
            let left = delay(bench.until(is_wait).await.last());
            assert!((40_000..60_000).contains(&left), "{left}");
            bench.send(RunCommand::AbortRetry).await;
            let events = bench.settled().await;
            let said = brief(&events);
            assert!(said.iter().any(|line| line.starts_with("end assistant Error")), "{said:?}");
        }
        assert_eq!(player.requests.lock().unwrap().len(), usize::from(asks), "{mode:?}");
        bench.send(TaskCommand::Shutdown).await;
        bench.until(|event| *event == AgentEvent::Task(TaskEvent::Stopped)).await;
    }
    drop(dir);
}
