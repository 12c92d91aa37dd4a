//! The print front end against an agent that is a list of events.

use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::*;
use crate::headless::batch::GRACE;
use tau_protocol::command::{RunCommand, TaskCommand};
use tau_protocol::event::{QuestionEvent, RunEvent, TaskEvent, TurnEvent};
use tau_protocol::message::{AssistantMessage, Block};
use tau_protocol::model::Api;
use tau_protocol::run::RunEnd;

/// A writer that can be read afterwards.
#[derive(Clone, Default)]
struct Pad(Arc<Mutex<Vec<u8>>>);

impl Pad {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }
}

impl Write for Pad {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl AsyncWrite for Pad {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Poll::Ready(Write::write(&mut *self, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn answer(text: &str, stop_reason: StopReason) -> Arc<Message> {
    let error_message = (stop_reason == StopReason::Error).then(|| "overloaded\x1b[31m".to_owned());
    Arc::new(Message::Assistant(AssistantMessage {
        content: vec![Block::text(text)],
        api: Api::Scripted,
        provider: "test".into(),
        model: "test".into(),
        stop_reason,
        error_message,
        ..AssistantMessage::default()
    }))
}

/// A turn with the answer `text` that ends with `stop_reason`.
fn turn(text: &str, stop_reason: StopReason) -> Vec<AgentEvent> {
    let message = answer(text, stop_reason);
    vec![
        AgentEvent::Turn(TurnEvent::TurnStart),
        AgentEvent::Turn(TurnEvent::MessageEnd { message: Arc::clone(&message) }),
        AgentEvent::Turn(TurnEvent::TurnEnd { message, tool_results: Vec::new() }),
    ]
}

fn settled_events() -> Vec<AgentEvent> {
    vec![AgentEvent::Run(RunEvent::AgentSettled { aborted: false })]
}

/// An agent that answers the n-th prompt with the n-th script, settles when it is aborted, and logs the
/// commands that it got. A script that does not settle waits for the abort.
fn agent(scripts: Vec<Vec<AgentEvent>>) -> (AgentHandle, Arc<Mutex<Vec<String>>>) {
    let (commands, mut inbox) = mpsc::channel(8);
    let (outbox, events) = mpsc::channel(4);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let task = tokio::spawn(async move {
        let mut scripts = scripts.into_iter();
        while let Some(command) = inbox.recv().await {
            let name = match &command {
                AgentCommand::Run(RunCommand::Prompt { text, .. }) => text.clone(),
                other => serde_json::to_value(other).unwrap()["type"].as_str().unwrap().to_owned(),
            };
            log.lock().push(name);
            let reply = match command {
                AgentCommand::Run(RunCommand::Prompt { .. }) => scripts.next().unwrap(),
                AgentCommand::Run(RunCommand::Abort) => {
                    vec![AgentEvent::Run(RunEvent::AgentSettled { aborted: true })]
                }
                AgentCommand::Task(TaskCommand::Shutdown) => break,
                _ => Vec::new(),
            };
            for event in reply {
                outbox.send(event).await.unwrap();
            }
        }
        let _ = outbox.send(AgentEvent::Task(TaskEvent::Stopped)).await;
    });
    (AgentHandle { commands, events, task }, seen)
}

struct Ran {
    exit: Exit,
    out: String,
    err: String,
    commands: Vec<String>,
}

async fn no_signal() -> CaughtSignal {
    std::future::pending().await
}

async fn run_with(
    prompts: &[&str],
    scripts: Vec<Vec<AgentEvent>>,
    change: impl FnOnce(&mut PrintOptions, &mut PrintStreams),
    signals: impl AsyncFnMut() -> CaughtSignal,
) -> Ran {
    let (out, err) = (Pad::default(), Pad::default());
    let prompts = prompts.iter().map(|text| CliPrompt { text: (*text).to_owned(), images: Vec::new() });
    let mut options = PrintOptions { prompts: prompts.collect(), ..PrintOptions::default() };
    let mut streams = PrintStreams {
        out: Box::new(out.clone()),
        out_is_terminal: false,
        progress: ProgressLine::new(Box::new(err.clone()), Liveliness::Quiet),
    };
    change(&mut options, &mut streams);
    let (handle, commands) = agent(scripts);
    let exit = run(handle, options, streams, signals).await;
    let commands = commands.lock().clone();
    Ran { exit, out: out.text(), err: err.text(), commands }
}

async fn check(scripts: Vec<Vec<AgentEvent>>, exit: Exit, out: &str, err: &str) {
    let prompts = &["a", "b"][..scripts.len()];
    let ran = run_with(prompts, scripts, |_, _| {}, no_signal).await;
    assert_eq!((ran.exit, ran.out.as_str()), (exit, out), "{}", ran.err);
    assert!(ran.err.contains(err) && ran.err.is_empty() == err.is_empty(), "{:?}", ran.err);
    assert!(!ran.err.contains('\x1b'), "{:?}", ran.err);
}

#[tokio::test]
async fn each_end_of_an_answer_has_its_output_and_code() {
    let stop = |text| [turn(text, StopReason::Stop), settled_events()].concat();
    check(vec![stop("four")], Exit::Ok, "four\n", "").await;
    check(vec![stop("four\n"), stop("six")], Exit::Ok, "four\nsix\n", "").await;
    let called = [turn("let me look", StopReason::ToolUse), stop("found")].concat();
    check(vec![called], Exit::Ok, "found\n", "").await;
    let failed = [turn("", StopReason::Error), settled_events()].concat();
    check(vec![failed.clone(), stop("never")], Exit::Model, "", "overloaded").await;
    let retried = [turn("", StopReason::Error), stop("then")].concat();
    check(vec![retried], Exit::Ok, "then\n", "").await;
    // A cut stream, and the next attempt; a stopped answer, and its end.
    let again = [turn("first half, ", StopReason::Error), stop("first half, second half")].concat();
    check(vec![again], Exit::Ok, "first half, second half\n", "").await;
    let continued = [turn("first half, ", StopReason::Aborted), stop("second half")].concat();
    check(vec![continued], Exit::Ok, "first half, second half\n", "").await;
    let cut = [turn("half", StopReason::Length), settled_events()].concat();
    check(vec![cut], Exit::Limit, "half\n", "output limit").await;
    check(vec![settled_events()], Exit::Model, "", "no answer").await;
    check(vec![stop("")], Exit::Model, "", "ended without an answer").await;
    check(vec![], Exit::Usage, "", "no prompt").await;
    let question = Question::Confirm { title: "run rm -rf?".into(), message: String::new() };
    let asked =
        [vec![AgentEvent::Questions(QuestionEvent::Asked { id: "1".into(), question })], stop("no")].concat();
    check(vec![asked], Exit::Refused, "no\n", "run rm -rf?").await;
    let notice = AgentEvent::Task(TaskEvent::Notice {
        level: NoticeLevel::Error,
        text: "no model is set".into(),
        hint: Some("use --model".into()),
    });
    check(vec![[vec![notice], settled_events()].concat()], Exit::Model, "", "no model is set (use --model)")
        .await;
}

#[tokio::test]
async fn limits_end_the_run() {
    for (reason, exit) in [(RunEnd::Turns, Exit::Limit), (RunEnd::Repeats, Exit::Stuck)] {
        let stopped = vec![AgentEvent::Run(RunEvent::RunStopped { reason })];
        let ended = [turn("one", StopReason::ToolUse), stopped, settled_events()].concat();
        let ran = run_with(&["a", "b"], vec![ended], |_, _| {}, no_signal).await;
        assert_eq!((ran.exit, ran.out.as_str()), (exit, ""), "{}", ran.err);
        assert_eq!(ran.commands, ["a", "shutdown"]);
    }

    let time =
        |options: &mut PrintOptions, _: &mut PrintStreams| options.timeout = Some(Duration::from_millis(20));
    let ran = run_with(&["a"], vec![vec![AgentEvent::Run(RunEvent::AgentStart)]], time, no_signal).await;
    assert_eq!((ran.exit, ran.commands.join(" ").as_str()), (Exit::Limit, "a abort shutdown"), "{}", ran.err);
}

#[tokio::test]
async fn a_signal_aborts_in_order_and_a_second_one_at_once() {
    for (caught, exit) in
        [(CaughtSignal::Interrupt, Exit::Aborted), (CaughtSignal::Terminate, Exit::Terminated)]
    {
        let mut left = 1;
        let once = async || {
            if left == 0 {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            left -= 1;
            caught
        };
        let ran =
            run_with(&["a", "b"], vec![vec![AgentEvent::Run(RunEvent::AgentStart)]], |_, _| {}, once).await;
        assert_eq!(ran.exit, exit);
        assert_eq!(ran.commands, ["a", "abort", "shutdown"]);
    }
    // An agent that hears nothing: the second signal does not wait for it.
    let (commands, _inbox) = mpsc::channel(8);
    let (_outbox, events) = mpsc::channel(1);
    let task = tokio::spawn(std::future::pending());
    let start = Instant::now();
    let prompts = vec![CliPrompt { text: "a".into(), images: Vec::new() }];
    let streams = PrintStreams {
        out: Box::new(Pad::default()),
        out_is_terminal: false,
        progress: ProgressLine::new(Box::new(Pad::default()), Liveliness::Quiet),
    };
    let options = PrintOptions { prompts, ..PrintOptions::default() };
    let always = async || CaughtSignal::Interrupt;
    assert_eq!(run(AgentHandle { commands, events, task }, options, streams, always).await, Exit::Aborted);
    assert!(start.elapsed() < GRACE, "{:?}", start.elapsed());
}

#[tokio::test]
async fn the_answer_is_raw_in_a_pipe_and_harmless_on_a_terminal() {
    let text = "a\tb\r\n\x1b]52;c;eA==\x07日本\x1b[31m\u{61c}\u{115f}\u{3164}\u{ffa0}\u{180e}";
    let script = || vec![[turn(text, StopReason::Stop), settled_events()].concat()];
    let ran = run_with(&["a"], script(), |_, _| {}, no_signal).await;
    assert_eq!(ran.out, format!("{text}\n"));
    let ran = run_with(&["a"], script(), |_, streams| streams.out_is_terminal = true, no_signal).await;
    assert_eq!(ran.out, "a\tb\n]52;c;eA==日本[31m\n");
}

#[tokio::test]
async fn a_closed_pipe_is_no_error_and_a_file_gets_the_last_answer() {
    let stop = |text| [turn(text, StopReason::Stop), settled_events()].concat();
    let closed =
        |_: &mut PrintOptions, streams: &mut PrintStreams| streams.out = Box::new(tokio::io::duplex(1).0);
    let ran = run_with(&["a", "b"], vec![stop("one")], closed, no_signal).await;
    assert_eq!((ran.exit, ran.err.as_str()), (Exit::Ok, ""));
    assert_eq!(ran.commands, ["a", "shutdown"]);

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("answer");
    let output = |options: &mut PrintOptions, _: &mut PrintStreams| options.output = Some(file.clone());
    let ran = run_with(&["a", "b"], vec![stop("one"), stop("two")], output, no_signal).await;
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Ok, "one\ntwo\n"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "two\n");
}

#[tokio::test]
async fn progress_is_for_terminals_and_carries_no_foreign_escapes() {
    let call = AgentEvent::Turn(TurnEvent::ToolExecutionStart {
        tool_call_id: "1".into(),
        tool_name: "bash".into(),
        args: json!({"command": "printf '\u{1b}[31m'"}),
    });
    let script = || vec![[vec![call.clone()], turn("done", StopReason::Stop), settled_events()].concat()];
    for lively in [Liveliness::Quiet, Liveliness::Lines, Liveliness::Moving] {
        let err = Pad::default();
        let watched = |_: &mut PrintOptions, streams: &mut PrintStreams| {
            streams.progress = ProgressLine::new(Box::new(err.clone()), lively);
        };
        run_with(&["a"], script(), watched, no_signal).await;
        assert_eq!(err.text().contains("bash"), lively != Liveliness::Quiet, "{:?}", err.text());
        assert!(!err.text().contains("\x1b[31m"), "{:?}", err.text());
    }
}

/// Waits for a provider are reported once they have taken half a minute, however many they consist of.
#[test]
fn long_waits_are_reported_however_short_each_is() {
    for (delay, count, expected) in [(31, 6, 4), (20, 10, 3), (20, 1, 0), (300, 1, 5), (5, 2, 0)] {
        let (mut now, mut waiting, mut reports, mut reasons) = (Instant::now(), None, 0, 0);
        for _ in 0..count {
            let delay = Duration::from_secs(delay);
            let mut next =
                Waiting::begin_or_extend(waiting.take(), now, delay, "the quota is used up".into());
            let mut due = (next.due <= now).then_some(now).or(next.tells());
            while let Some(at) = due {
                reports += 1;
                reasons += usize::from(next.record_report(at).is_some());
                due = next.tells();
            }
            now += delay;
            waiting = Some(next);
        }
        assert_eq!((reports, reasons), (expected, usize::from(expected > 0)), "{delay} s, {count}");
    }
}
