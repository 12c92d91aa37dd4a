//! The user's own commands, each in a terminal.

use tau::agent::protocol::command::ShellCommand;
use tau::agent::protocol::event::ShellEvent;
use tau::agent::protocol::message::BashExecution;

use super::*;

const SIZE: (u16, u16) = (91, 17);

fn bash(command: &str) -> AgentCommand {
    bash_in("b", command, Some(SIZE))
}

fn typed(data: &str) -> AgentCommand {
    AgentCommand::Shell(ShellCommand::BashInput { id: Some("b".into()), data: data.into() })
}

fn delta(event: &AgentEvent) -> Option<&str> {
    match event {
        AgentEvent::Shell(ShellEvent::BashExecutionUpdate { delta, .. }) => Some(delta),
        _ => None,
    }
}

/// Collects events until the command has ended: all its output, and its message.
async fn ended(bench: &mut Bench) -> (String, BashExecution) {
    let events = bench.until(|event| matches!(event, AgentEvent::Shell(ShellEvent::BashEnd { .. }))).await;
    let Some(AgentEvent::Shell(ShellEvent::BashEnd { message, .. })) = events.last() else {
        panic!("{events:?}")
    };
    (events.iter().filter_map(delta).collect(), message.clone())
}

/// Waits until the output so far contains `text`.
async fn shown(bench: &mut Bench, text: &str) {
    let mut so_far = String::new();
    while !so_far.contains(text) {
        so_far.push_str(delta(&bench.next().await).unwrap_or_default());
    }
}

/// Runs a command and checks the output as shown to the user, and as kept in the message.
async fn check(command: &str, seen: &str, kept: &str) {
    let mut bench = Bench::new(Vec::new());
    bench.send(bash(command)).await;
    let (output, message) = ended(&mut bench).await;
    assert_eq!((output.as_str(), message.output.as_str()), (seen, kept), "{command}");
}

#[tokio::test]
async fn people_see_a_terminal_and_the_model_plain_text() {
    check("test -t 0 && test -t 1 && test -t 2 && echo yes", "yes\r\n", "yes\n").await;
    check("stty size; tput cols", "17 91\r\n91\r\n", "17 91\n91\n").await;
    check("echo $TERM $PAGER $GIT_PAGER", "xterm-256color cat cat\r\n", "xterm-256color cat cat\n").await;
    check("printf '\\033[31mred\\033[0m'", "\x1b[31mred\x1b[0m", "red").await;
    check("printf '10%%\\r50%%\\r100%%\\n'", "10%\r50%\r100%\r\n", "100%\n").await;
    let drawn = "a\\033[?1049h\\033[2Jdrawn\\033[?1049lb";
    check(&format!("printf '{drawn}'"), "a\x1b[?1049h\x1b[2Jdrawn\x1b[?1049lb", "ab").await;
    check("(exec </dev/tty) && echo controlled", "controlled\r\n", "controlled\n").await;
    // Releasing the terminal is not the end.
    check("exec 3>&1 >/dev/null 2>&1 </dev/null 3>&-; sleep 0.4; echo back >/dev/tty", "back\r\n", "back\n")
        .await;
}

#[tokio::test]
async fn the_end_is_told_with_all_output_before_it() {
    for (command, code) in [("seq 20000; exit 3", Some(3)), ("seq 20000; kill -9 $$", None)] {
        let mut bench = Bench::new(Vec::new());
        bench.send(bash(command)).await;
        let (_, message) = ended(&mut bench).await;
        assert_eq!((message.exit_code, message.cancelled), (code, false));
        assert!(message.output.ends_with("19999\n20000\n"), "{}", message.output.len());
    }
}

#[tokio::test]
async fn a_command_ends_with_its_shell() {
    // Warms up lazily loaded parts.
    check("true", "", "").await;
    for command in ["true", "sleep 60 &", "setsid sleep 60 & echo on"] {
        let mut bench = Bench::new(Vec::new());
        bench.send(bash(command)).await;
        bench.until(|event| matches!(event, AgentEvent::Shell(ShellEvent::BashStart { .. }))).await;
        let begun = Instant::now();
        ended(&mut bench).await;
        assert!(begun.elapsed() < SOON, "{command}: {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn what_is_typed_reaches_the_command() {
    let mut bench = Bench::new(Vec::new());
    bench
        .send(bash(
            "printf 'name? '; read name; stty -echo; echo \"hello $name\"; read secret; echo ${#secret}",
        ))
        .await;
    shown(&mut bench, "name? ").await;
    bench.send(typed("wör")).await;
    bench.send(typed("ld\r")).await;
    shown(&mut bench, "hello wörld").await;
    bench.send(typed("hidden\r")).await;
    let (output, message) = ended(&mut bench).await;
    assert!(!output.contains("hidden") && message.output.ends_with("hello wörld\n6\n"), "{message:?}");
}

#[tokio::test]
async fn keys_of_the_terminal_end_what_runs_in_it() {
    // Without `exec` the shell itself may miss a key that arrives while it starts the next program.
    for (key, command, code) in [("\x03", "echo on; exec sleep 60", None), ("\x04", "echo on; cat", Some(0))]
    {
        let mut bench = Bench::new(Vec::new());
        let begun = Instant::now();
        bench.send(bash(command)).await;
        shown(&mut bench, "on").await;
        bench.send(typed(key)).await;
        let (_, message) = ended(&mut bench).await;
        assert_eq!(message.exit_code.filter(|code| *code < 128), code, "{command}: {message:?}");
        assert!(!message.cancelled && begun.elapsed() < SOON);
    }
}

#[tokio::test]
async fn a_new_size_is_told() {
    let mut bench = Bench::new(Vec::new());
    bench.send(bash("trap 'stty size; exit' WINCH; echo on; while true; do sleep 0.02; done")).await;
    shown(&mut bench, "on").await;
    bench.send(ShellCommand::BashResize { id: Some("b".into()), size: (40, 12) }).await;
    let (_, message) = ended(&mut bench).await;
    assert!(message.output.ends_with("12 40\n"), "{message:?}");
}

#[tokio::test]
async fn input_for_nobody_changes_nothing() {
    let mut bench = Bench::new(Vec::new());
    bench.send(typed("x")).await;
    bench.send(bash("true")).await;
    ended(&mut bench).await;
    bench.send(typed("x")).await;
    bench.prompt("go").await;
    let lines = brief(&bench.settled().await);
    assert!(!lines.iter().any(|line| line.starts_with("notice")), "{lines:?}");
}

#[tokio::test]
async fn input_that_is_never_read_holds_up_nothing() {
    let mut bench = Bench::new(Vec::new());
    bench.send(bash("stty raw -echo; echo on; sleep 60")).await;
    shown(&mut bench, "on").await;
    for _ in 0..300 {
        bench.send(typed(&"x".repeat(4096))).await;
    }
    bench.prompt("go").await;
    bench.settled().await;
    bench.send(ShellCommand::AbortBash).await;
    let (_, message) = ended(&mut bench).await;
    assert!(message.cancelled);
}

// Two threads, as in the program: on one, a flood would starve the test's clock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abort_ends_all_of_it_and_a_flood_is_bounded() {
    for command in ["sleep 60 & sleep 60", "trap '' TERM HUP INT; yes", "bash -i", "setsid sleep 60 & yes"] {
        let mut bench = Bench::new(Vec::new());
        let begun = Instant::now();
        bench.send(bash(command)).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        bench.send(ShellCommand::AbortBash).await;
        let (_, message) = ended(&mut bench).await;
        assert!(message.cancelled && message.output.len() <= 50 * 1024, "{command}");
        assert!(begun.elapsed() < SOON, "{command}: {:?}", begun.elapsed());
    }
}
