//! Floods, binary output, and processes that will not end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tau::agent::protocol::command::ShellCommand;
use tau::agent::protocol::event::{ShellEvent, TaskEvent};
use tau::agent::protocol::message::BashExecution;
use tau::agent::{AgentCommand, AgentEvent};
use tau::tools::Toolbox;
use tau::tools::scratch::Scratch;

use super::{Rack, alone, bounded, full};
use crate::support::processes::{STUBBORN, alive, gone, kill, rare_sleep};
use crate::time_limit::SOON;

/// The maximum number of bytes of output files in these tests.
const ROOM: u64 = 64 << 20;

fn small_scratch() -> Rack {
    Rack::with(|config| config.scratch = Arc::new(Scratch::with_limit(&std::env::temp_dir(), ROOM)))
}

/// Checks that no control characters except line ends and tabs reach the model.
fn assert_plain(text: &str) {
    let odd = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    assert!(odd.is_none() && text.len() < 52 * 1024, "{odd:?} in {} bytes", text.len());
}

#[test]
fn floods_of_output_stay_in_bounds() {
    bounded("torture::output::floods_of_output_stay_in_bounds", 40_000, async {
        let size: u64 = if full() { 10 << 30 } else { 300 << 20 };
        let mut rack = small_scratch();
        let most = Duration::from_secs(if full() { 400 } else { 60 });
        let endless = format!("head -c {size} /dev/zero | tr '\\0' x");
        for flood in
            [format!("yes 'a line of text' | head -c {size}"), format!("head -c {size} /dev/zero"), endless]
        {
            let text = rack.fine("bash", json!({"command": flood}), most).await;
            assert!(text.contains("omitted here; only the first part of the output ("), "{:.300}", text);
            assert!(text.contains("the space for temporary files is used up"), "{:.300}", text);
            assert_plain(&text);
        }
        let answer = rack.call("bash", json!({"command": "yes", "timeout": 1})).await;
        assert!(answer.failed && answer.text.contains("timed out after 1 s"), "{:.200}", answer.text);
        assert!(answer.took < SOON, "{:?}", answer.took);
    });
}

#[tokio::test]
async fn binary_output_reaches_the_model_as_text() {
    let mut rack = small_scratch();
    let most = Duration::from_secs(20);
    for command in
        ["head -c 3000000 /dev/urandom", "head -c 20000 /bin/bash", "printf '\\033]0;x\\007\\033[2J\\0\\377'"]
    {
        let text = rack.fine("bash", json!({"command": command}), most).await;
        assert_plain(&text);
        assert!(text.contains("exit code 0"), "{command}");
    }
}

#[tokio::test]
async fn daemons_and_holders_of_the_pipe_do_not_hold_the_call() {
    let nap = rare_sleep();
    let cases = [
        (format!("sleep {nap} & echo on"), true),
        (format!("(setsid sleep {nap} &); echo on"), true),
        // It holds the pipe until it has its own output.
        (
            format!(
                "nohup sleep {nap} >/dev/null 2>&1 & until [ /proc/$!/fd/1 -ef /dev/null ]; do :; done; echo on"
            ),
            false,
        ),
        (format!("setsid -f sleep {nap} >/dev/null 2>&1 </dev/null; echo on"), false),
        (format!("exec 5>&1; (exec >/dev/null 2>&1; sleep {nap}) & echo on"), true),
    ];
    let mut rack = Rack::new();
    for (command, named) in cases {
        let text = rack.fine("bash", json!({"command": command}), Duration::from_millis(1_500)).await;
        assert!(text.starts_with("on\n") && text.contains("exit code 0"), "{text}");
        assert_eq!(text.contains("is still running in the background"), named, "{command}: {text}");
        assert!(!alive(&nap).is_empty(), "{command}: it was left on purpose");
        kill(&nap).await;
    }
}

#[tokio::test]
async fn stopped_and_regrouped_children_end_with_the_abort_and_with_the_timeout() {
    for command in STUBBORN {
        let nap = rare_sleep();
        let command = command.replace("NAP", &nap);
        let mut rack = Rack::new();
        rack.begin(&[("bash", json!({"command": command}))]).await;
        rack.running().await;
        tokio::time::sleep(Duration::from_millis(250)).await;
        let aborted = Instant::now();
        rack.abort().await;
        let answers = rack.end().await;
        assert!(answers.len() == 1 && answers[0].failed, "{command}: {answers:?}");
        gone(&nap).await;
        assert!(aborted.elapsed() < SOON, "{command}: {:?}", aborted.elapsed());
    }
    let nap = rare_sleep();
    let command =
        format!("setsid sh -c 'trap \"\" TERM; sleep {nap}; sleep {nap}' & kill -STOP $!; sleep {nap}");
    let mut rack = Rack::new();
    let answer = rack.call("bash", json!({"command": command, "timeout": 1})).await;
    assert!(answer.failed && answer.took < SOON, "{answer:?}");
    gone(&nap).await;
}

#[tokio::test]
async fn stopped_and_regrouped_children_end_with_their_job() {
    for command in STUBBORN {
        let nap = rare_sleep();
        let command = command.replace("NAP", &nap);
        let mut rack = Rack::with(|config| config.tools = Toolbox::all());
        let moved = rack.call("bash", json!({"command": command, "timeout": 1})).await;
        assert!(!moved.failed && moved.text.contains("job 1"), "{command}: {moved:?}");
        let stopped = rack.call("jobs", json!({"job": 1, "stop": true})).await;
        assert!(!stopped.failed, "{command}: {stopped:?}");
        gone(&nap).await;
    }
}

#[test]
fn without_a_terminal_a_command_of_the_user_runs_with_a_pipe() {
    let name = "torture::output::without_a_terminal_a_command_of_the_user_runs_with_a_pipe";
    // If there is only /dev/null, no terminal can be opened.
    let hide = ["unshare", "--mount", "sh", "-c", "mount --bind /dev/null /dev/ptmx && exec \"$0\" \"$@\""];
    match alone(name, &hide) {
        Some(true) => {}
        Some(false) => return,
        None => return println!("notice: {name} skipped: terminals cannot be hidden here"),
    }
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let mut rack = Rack::new();
        let command = "test -t 1 || echo piped; read line || echo no input; seq 3; exit 4".to_owned();
        let id = Some("b".to_owned());
        let bash = AgentCommand::Shell(ShellCommand::Bash { id, command, exclude_from_context: false, size: Some((80, 24)), without_sandbox: false });
        rack.bench.send(bash).await;
        let events = rack.bench.until(|event| matches!(event, AgentEvent::Shell(ShellEvent::BashEnd { .. }))).await;
        let warned = events.iter().any(|event| {
            matches!(event, AgentEvent::Task(TaskEvent::Notice { text, hint: Some(_), .. }) if text.contains("cannot open a terminal"))
        });
        assert!(warned, "{events:?}");
        let seen: String = events
            .iter()
            .filter_map(|event| match event {
                AgentEvent::Shell(ShellEvent::BashExecutionUpdate { delta, .. }) => Some(delta.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(seen, "piped\r\nno input\r\n1\r\n2\r\n3\r\n");
        let Some(AgentEvent::Shell(ShellEvent::BashEnd { message, .. })) = events.last() else { panic!("{events:?}") };
        assert_eq!(message.output, "piped\nno input\n1\n2\n3\n");
        assert_eq!((message.exit_code, message.cancelled), (Some(4), false));
    });
}

/// A user command in a terminal; returns its message.
async fn in_terminal(rack: &mut Rack, command: &str) -> BashExecution {
    let (id, command) = (Some("b".to_owned()), command.to_owned());
    let size = Some((80, 24));
    rack.bench
        .send(ShellCommand::Bash { id, command, exclude_from_context: false, size, without_sandbox: false })
        .await;
    let events =
        rack.bench.until(|event| matches!(event, AgentEvent::Shell(ShellEvent::BashEnd { .. }))).await;
    match events.into_iter().last() {
        Some(AgentEvent::Shell(ShellEvent::BashEnd { message, .. })) => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_of_a_persons_command_is_plain_text_and_all_of_it() {
    let mut rack = small_scratch();
    let colours = "for i in $(seq 30000); do printf '\\033[3%dmline %d\\033[m\\n' $((i % 8)) $i; done";
    let bars = "for i in $(seq 300); do printf 'a %d\\nb %d\\n\\033[2A' $i $i; done; printf '\\n\\n'";
    let message = in_terminal(&mut rack, &format!("{colours}; {bars}")).await;
    assert_plain(&message.output);
    assert!(message.truncated && message.output.ends_with("line 30000\na 300\nb 300\n"), "{message:?}");
    let whole = std::fs::read_to_string(message.full_output_path.expect("a file")).unwrap();
    let expected: String = (1..=30_000).map(|n| format!("line {n}\n")).collect();
    assert!(whole == expected + "a 300\nb 300\n", "{}", whole.len());
}
