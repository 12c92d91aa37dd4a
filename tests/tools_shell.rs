//! bash: order and limits of output, every way to end, and that nothing is left behind.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tau::tools::{Details, TerminalOutput, ToolError, ToolOutput, ToolProgress};
use tokio_util::sync::CancellationToken;

use crate::support::processes::{STUBBORN, alive, gone, kill, rare_sleep};
use crate::support::tool_bench::{Bench, text_of};
use crate::time_limit::SOON;

fn terminal(details: &Details) -> &TerminalOutput {
    match details {
        Details::Terminal(output) => output,
        other => panic!("{other:?}"),
    }
}

/// Numbers vary in the last line, but not before the parenthesis.
fn without_time(text: &str) -> &str {
    text.rsplit_once(" (").map_or(text, |(front, _)| front)
}

#[tokio::test]
async fn the_result_has_the_output_and_how_it_ended() {
    let bench = Bench::new();
    let cases = [
        ("echo hi", "hi\nexit code 0"),
        ("true", "(no output)\nexit code 0"),
        ("echo oops >&2; exit 3", "ERROR oops\nexit code 3"),
        ("printf half", "half\nexit code 0"),
        (
            "for n in 1 2 3; do echo out$n; echo err$n >&2; done",
            "out1\nerr1\nout2\nerr2\nout3\nerr3\nexit code 0",
        ),
        ("printf '\\033[31mred\\033[0m\\n'", "red\nexit code 0"),
        ("printf '10%%\\r50%%\\r100%%\\n'", "100%\nexit code 0"),
        ("printf 'a\\0b\\n'", "a\u{2400}b\nexit code 0"),
        ("printf 'a\\377b\\n'", "a\u{fffd}b\nexit code 0"),
        ("cat", "(no output)\nexit code 0"),
        ("echo $TAU_SESSION_ID $PAGER", "test-session cat\nexit code 0"),
        ("(exec </dev/tty) 2>/dev/null || echo no terminal", "no terminal\nexit code 0"),
        ("kill -9 $$", "ERROR (no output)\nended by signal 9 (SIGKILL)"),
    ];
    for (command, expected) in cases {
        let text = bench.text("bash", json!({"command": command})).await;
        assert_eq!(without_time(&text), expected, "{command}");
    }
    let text = bench.text("bash", json!({"command": "pwd -P"})).await;
    let cwd = fs::canonicalize(&bench.context.cwd).unwrap();
    assert!(text.starts_with(&format!("{}\n", cwd.display())), "{text}");
}

#[tokio::test]
async fn users_get_colours_and_numbers() {
    let bench = Bench::new();
    let output = bench.call("bash", json!({"command": "printf '\\033[31mred\\033[0m\\nx'"})).await.unwrap();
    let shown = terminal(&output.details);
    assert_eq!(
        (shown.text.as_str(), shown.exit_code, shown.total_lines),
        ("\x1b[31mred\x1b[0m\nx", Some(0), 2)
    );
    assert!(!shown.truncated && shown.full_output_path.is_none());
}

#[tokio::test]
async fn progress_shows_the_output_while_it_comes() {
    let mut bench = Bench::new();
    let (progress, mut watch) = ToolProgress::channel();
    bench.context.progress = progress;
    let call = bench.call("bash", json!({"command": "echo first; sleep 0.4; echo second"}));
    let seen = async {
        tokio::time::timeout(Duration::from_secs(20), watch.changed()).await.expect("no progress").unwrap();
        terminal(&watch.borrow_and_update().details).text.clone()
    };
    let (output, seen) = tokio::join!(call, seen);
    assert_eq!(seen, "first\n");
    assert!(text_of(&output.unwrap()).starts_with("first\nsecond\n"));
}

#[tokio::test]
async fn large_output_is_cut_in_the_middle_and_kept_whole_in_a_file() {
    let bench = Bench::new();
    for (lines, name) in [(10_000, "from memory"), (300_000, "spilled")] {
        let output = bench.call("bash", json!({"command": format!("seq {lines}")})).await.unwrap();
        let text = text_of(&output);
        assert!(text.len() < 50 * 1024, "{name}");
        assert!(text.starts_with("1\n2\n3\n") && text.contains(&format!("\n{lines}\nexit code 0")), "{name}");
        let shown = terminal(&output.details);
        assert_eq!((shown.total_lines, shown.truncated), (lines, lines > 100_000), "{name}");
        assert!(shown.text.len() <= 64 * 1024 && shown.text.ends_with(&format!("{lines}\n")));
        let path = shown.full_output_path.as_deref().unwrap();
        let whole: String = (1..=lines).map(|n| format!("{n}\n")).collect();
        assert!(fs::read_to_string(path).unwrap() == whole, "{name}");
        let left_out = lines as usize - (text.lines().count() - 2);
        assert!(text.contains(&format!("[… {left_out} lines omitted here; the full output (")), "{name}");
        assert!(text.contains(&format!("is in {path} …]")), "{name}");
    }
    let text = bench.text("bash", json!({"command": "head -c 3000000 /dev/zero | tr '\\0' x"})).await;
    assert!(
        text.len() < 50 * 1024 && text.contains("[… a part omitted here; the full output (2.9 MB) is in")
    );
}

#[tokio::test]
async fn endless_output_is_ended_by_the_timeout_in_bounded_memory() {
    let bench = Bench::new();
    let started = Instant::now();
    let error = bench.call("bash", json!({"command": "yes", "timeout": 1})).await.unwrap_err();
    assert!(started.elapsed() < SOON);
    let ToolError::Refused { message, details } = error else { panic!("{error}") };
    assert!(
        message
            .ends_with("\ntimed out after 1 s and was killed; set a longer `timeout` if it needs more time"),
        "{message:.200}"
    );
    assert!(message.len() < 50 * 1024 && terminal(&details).signal.is_some());
}

#[tokio::test]
async fn a_background_child_that_holds_the_pipe_is_named_and_keeps_running() {
    let bench = Bench::new();
    let nap = rare_sleep();
    let command = format!("(until [ -e go ]; do sleep 0.05; done; echo later; exec sleep {nap}) & echo now");
    let started = Instant::now();
    let text = bench.text("bash", json!({"command": command})).await;
    assert!(
        text.starts_with("now\nprocess ") && text.contains("is still running in the background"),
        "{text}"
    );
    let (_, path) = text.split_once("later output goes to ").unwrap();
    let path = Path::new(path.lines().next().unwrap()).to_path_buf();
    bench.put("go", "");
    while !fs::read_to_string(&path).unwrap().ends_with("later\n") {
        assert!(started.elapsed() < SOON);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "now\nlater\n");
    assert_eq!(alive(&format!("sleep {nap}")).len(), 1, "it was not killed");
    kill(&nap).await;
}

#[tokio::test]
async fn a_daemon_with_its_own_output_does_not_hold_the_call() {
    let bench = Bench::new();
    let nap = rare_sleep();
    let started = Instant::now();
    // It holds the pipe until it has its own output.
    let wait = "until [ /proc/$!/fd/1 -ef /dev/null ]; do :; done";
    let command = format!("setsid sleep {nap} >/dev/null 2>&1 & {wait}; echo ok");
    let text = bench.text("bash", json!({"command": command})).await;
    assert_eq!(without_time(&text), "ok\nexit code 0");
    assert!(started.elapsed() < SOON);
    kill(&nap).await;
}

/// Runs `test` on every stubborn command, three at a time.
async fn each_stubborn<F: Future<Output = ()> + Send + 'static>(test: fn(String, String) -> F) {
    for commands in STUBBORN.chunks(3) {
        let runs: Vec<_> = commands
            .iter()
            .map(|command| {
                let nap = rare_sleep();
                tokio::spawn(test(command.replace("NAP", &nap), nap))
            })
            .collect();
        for run in runs {
            run.await.unwrap();
        }
    }
}

#[tokio::test]
async fn an_abort_ends_every_process_within_two_seconds() {
    each_stubborn(|command, nap| async move {
        // One success in five is enough: a busy machine is slow now and then.
        for attempt in 1..=5 {
            let bench = Bench::new();
            let cancel = bench.context.cancel.clone();
            let abort = async {
                tokio::time::sleep(Duration::from_millis(250)).await;
                cancel.cancel();
                Instant::now()
            };
            let (answer, aborted) = tokio::join!(bench.call("bash", json!({"command": command})), abort);
            let took = aborted.elapsed();
            let Err(ToolError::Aborted { message, .. }) = answer else { panic!("{command}: {answer:?}") };
            assert!(message.contains("aborted by the user after"), "{message}");
            assert_eq!(alive(&nap), [], "{command}");
            if took < Duration::from_millis(2_500) {
                break;
            }
            assert!(attempt < 5, "{command}: {took:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn output_before_an_abort_is_kept() {
    let bench = Bench::new();
    let cancel = bench.context.cancel.clone();
    let file = bench.path("begun");
    let abort = async {
        while !file.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        cancel.cancel();
    };
    let command =
        "trap 'echo cleaned up; exit 1' TERM; echo begun; touch begun; while true; do sleep 0.05; done";
    let (answer, ()) = tokio::join!(bench.call("bash", json!({"command": command})), abort);
    let Err(ToolError::Aborted { message, details }) = answer else { panic!("{answer:?}") };
    assert!(
        message.starts_with("begun\n") && message.contains("cleaned up\naborted by the user"),
        "{message}"
    );
    assert!(terminal(&details).text.starts_with("begun\n"));
}

#[tokio::test]
async fn dropping_the_call_kills_at_once() {
    each_stubborn(|command, nap| async move {
        let bench = Bench::new();
        let call = bench.call("bash", json!({"command": command}));
        assert!(tokio::time::timeout(Duration::from_millis(250), call).await.is_err());
        gone(&nap).await;
    })
    .await;
}

#[tokio::test]
async fn aborts_at_random_moments_leave_no_process() {
    let bench = Bench::new();
    let nap = rare_sleep();
    let command = format!("setsid sleep {nap} & sleep {nap} | sleep {nap}");
    for round in 0..40u64 {
        let mut context = bench.context.clone();
        context.cancel = CancellationToken::new();
        let cancel = context.cancel.clone();
        let tools = tau::tools::Toolbox::standard();
        let call = tools.get("bash").unwrap().run(json!({"command": command}), context);
        let abort = async {
            tokio::time::sleep(Duration::from_micros(round * 300)).await;
            cancel.cancel();
        };
        let (answer, ()) = tokio::join!(call, abort);
        assert!(matches!(answer, Err(ToolError::Aborted { .. })), "{answer:?}");
    }
    gone(&nap).await;
}

#[test]
fn a_command_has_no_blocked_signals() {
    let on_a_thread_that_blocks_signals = || {
        nix::sys::signal::SigSet::all().thread_block().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            Bench::new().text("bash", json!({"command": "grep SigBlk /proc/self/status"})).await
        })
    };
    let text = std::thread::spawn(on_a_thread_that_blocks_signals).join().unwrap();
    assert!(text.starts_with("SigBlk:\t0000000000000000\n"), "{text}");
}

#[tokio::test]
async fn nothing_waits_after_a_small_command() {
    let bench = Bench::new();
    let mut quickest = Duration::MAX;
    for _ in 0..50 {
        let started = Instant::now();
        bench.call("bash", json!({"command": "true"})).await.unwrap();
        quickest = quickest.min(started.elapsed());
    }
    // Less than any of the waits, and more than the fastest takes on a busy machine.
    assert!(quickest < Duration::from_millis(100), "{quickest:?}");
}

#[tokio::test]
async fn secrets_and_odd_commands_stay_out() {
    let mut bench = Bench::new();
    let variables = [("PATH", "/usr/bin:/bin"), ("API_KEY", "k"), ("PLAIN", "sk-very-secret")];
    let variables = variables.map(|(name, value)| (name.into(), value.into()));
    let secrets = ["sk-very-secret".to_owned()];
    bench.context.env =
        Arc::new(tau::tools::process::ChildEnv::from_variables(variables, &secrets, &[], "s"));
    let text = bench.text("bash", json!({"command": "env"})).await;
    assert!(!text.contains("API_KEY") && !text.contains("sk-very-secret"), "{text}");
    let text = bench.text("bash", json!({"command": format!("true {}", "x".repeat(200_000))})).await;
    assert!(text.starts_with("ERROR the command is 200005 bytes long"), "{text}");
    fs::remove_dir(&*bench.context.cwd).unwrap();
    let text = bench.text("bash", json!({"command": "true"})).await;
    assert!(
        text.starts_with("The working directory") && text.contains("no longer exists, so this ran in"),
        "{text}"
    );
}

#[tokio::test]
async fn a_shell_that_is_not_there_is_said() {
    let bench = Bench::new();
    let bash = tau::tools::bash::Bash::with_shell("/nonexistent/shell");
    let answer: Result<ToolOutput, ToolError> =
        tau::tools::AnyTool::run(&bash, json!({"command": "true"}), bench.context.clone()).await;
    assert_eq!(answer.unwrap_err().to_string(), "cannot start /nonexistent/shell: it does not exist");
}
