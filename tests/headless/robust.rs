//! Conditions that must not stop the program, or only with a message: unread or full streams, truncated
//! answers, overflowing values, missing places.

use std::path::PathBuf;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::Child;

use super::*;

/// The largest number of seconds that a flag or a variable accepts.
const MAX_U64: &str = "18446744073709551615";

fn fifo(place: &Place) -> PathBuf {
    let path = place.dir.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    path
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id().unwrap() as i32).unwrap(), signal).unwrap();
}

/// The exit code, which must come soon.
async fn ends(child: &mut Child) -> Option<i32> {
    timeout(Duration::from_secs(20), child.wait()).await.expect("it does not end").unwrap().code()
}

/// The stream is cut twice after the first half, and the next request gets the whole answer.
fn cut_twice() -> Vec<Act> {
    let delta = json!({"choices": [{"index": 0, "delta": {"content": "first half, "}}]});
    let cut = || Act::Reset(stream(&format!("data: {delta}\n\n")));
    vec![cut(), cut(), says("first half, second half")]
}

#[tokio::test]
async fn an_answer_that_was_cut_is_written_once() {
    for mode in ["text", "json"] {
        let place = Place::new(cut_twice()).await;
        let ended = run(&mut place.tau(&["--mode", mode, "-o", "answer.txt", "go"]), None).await;
        assert_eq!(ended.code, 0, "{ended:?}");
        if mode == "text" {
            assert_eq!(ended.out, "first half, second half\n");
        }
        let written = std::fs::read_to_string(place.dir.path().join("answer.txt")).unwrap();
        assert_eq!(written, "first half, second half\n", "{mode}");
    }
}

/// Lines of JSON, all present before the first is read.
async fn lines(acts: Vec<Act>, lines: &[Value]) -> (Ended, Place) {
    let place = Place::new(acts).await;
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let ended = run(&mut place.tau(&["--json"]), Some(&text)).await;
    (ended, place)
}

#[tokio::test]
async fn every_line_is_sent_whatever_became_of_those_before() {
    let refusal = || {
        let body = br#"{"error":{"message":"no"}}"#;
        Act::Send(crate::support::server::answer("401 No", "content-type: application/json\r\n", body))
    };
    let message = |text: &str| json!({"type": "message", "content": text});
    let all = [message("a"), message("b"), message("c")];
    let cases = [
        (vec![refusal(), says("b"), says("c")], 1, "model error"),
        (vec![says("a"), says("b"), says("c")], 0, "done"),
        (vec![says("a"), says("b"), refusal()], 1, "model error"),
    ];
    for (acts, code, reason) in cases {
        let (ended, place) = lines(acts, &all).await;
        let end = ended.records().pop().unwrap();
        assert_eq!((ended.code, &end["reason"]), (code, &json!(reason)), "{ended:?}");
        assert_eq!(place.server.requests().len(), 3, "{ended:?}");
        assert_eq!(end["error"].is_string(), code != 0, "{end}");
    }
    let (ended, place) =
        lines(vec![says("whole")], &[message("a"), json!({"type": "interrupt"}), message("b")]).await;
    let end = ended.records().pop().unwrap();
    assert_eq!((ended.code, &end["reason"]), (0, &json!("done")), "{ended:?}");
    assert!(place.server.requests().last().unwrap().contains("\"b\""), "{ended:?}");
    assert!(ended.records().iter().any(|record| record["type"] == "interrupted"), "{ended:?}");
}

#[tokio::test]
async fn signals_end_a_write_that_nobody_reads() {
    for (caught, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let place = Place::new(vec![says(&"0123456789".repeat(40_000))]).await;
        let mut child = place.tau(&["-p", "go"]).spawn().unwrap();
        // The first bytes have been written, and no more fits.
        let mut out = child.stdout.take().unwrap();
        timeout(Duration::from_secs(30), out.read_exact(&mut [0; 10])).await.unwrap().unwrap();
        signal(&child, caught);
        assert_eq!(ends(&mut child).await, Some(code), "{caught:?}");

        let place = Place::new(vec![says("hello")]).await;
        let fifo = fifo(&place);
        let mut child = place.tau(&["-p", "-o", fifo.to_str().unwrap(), "go"]).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = timeout(Duration::from_secs(30), out.next_line()).await.unwrap().unwrap();
        assert_eq!(line.as_deref(), Some("hello"));
        signal(&child, caught);
        assert_eq!(ends(&mut child).await, Some(code), "{caught:?} at a FIFO");
    }
}

#[tokio::test]
async fn output_that_cannot_be_written_is_a_failure() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full");
    if full().is_err() {
        println!("skipped: this system has no /dev/full");
        return;
    }
    for mode in ["text", "json", "rpc"] {
        let place = Place::new(vec![says("hello")]).await;
        let mut command = place.tau(&["--mode", mode]);
        let input = if mode == "rpc" { "{\"id\":\"1\",\"type\":\"get_state\"}\n" } else { "go\n" };
        let ended = run(command.stdout(full().unwrap()), Some(input)).await;
        assert_eq!(ended.code, 1, "{mode}: {ended:?}");
        assert!(ended.err.starts_with("tau: cannot write"), "{mode}: {ended:?}");
    }
    for arguments in [&["--help"][..], &["models"], &["man"]] {
        let dir = tempfile::tempdir().unwrap();
        let ended = run(bare(dir.path()).args(arguments).stdout(full().unwrap()), None).await;
        assert_eq!(ended.code, 1, "{arguments:?}: {ended:?}");
    }
}

/// More notices than a pipe holds: settings in nested untrusted directories.
fn nested(place: &Place) -> PathBuf {
    let mut dir = place.dir.path().join("repository");
    std::fs::create_dir_all(dir.join(".git")).unwrap();
    for _ in 0..38 {
        dir.push("d".repeat(95));
        std::fs::create_dir_all(dir.join(".tau")).unwrap();
        std::fs::write(dir.join(".tau/config.toml"), "thinking = 'low'\n").unwrap();
    }
    dir
}

#[tokio::test]
async fn notices_that_nobody_reads_hold_up_nothing() {
    let place = Place::new(vec![says("hello")]).await;
    let mut command = place.tau(&["--mode", "rpc", "--no-session"]);
    let mut child = command.current_dir(nested(&place)).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(b"{\"id\":\"1\",\"type\":\"get_state\"}\n")
        .in_time("a reader of the input")
        .await
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let answer = timeout(Duration::from_secs(30), lines.next_line()).await.expect("it is held up").unwrap();
    assert!(answer.unwrap().contains("\"success\":true"));
    drop(input);
    assert_eq!(ends(&mut child).await, Some(0));
    let mut notices = String::new();
    child.stderr.take().unwrap().read_to_string(&mut notices).in_time("the end of the stream").await.unwrap();
    assert!(notices.len() > 60_000 && notices.starts_with("tau: ignoring "), "{} bytes", notices.len());
}

#[tokio::test]
async fn the_longest_timeouts_are_accepted() {
    let cases = ["", "TAU_CONNECT_TIMEOUT", "TAU_FIRST_TOKEN_TIMEOUT", "TAU_IDLE_TIMEOUT"];
    for variable in cases {
        for mode in ["text", "json"] {
            let place = Place::new(vec![says("hello")]).await;
            let mut command = place.tau(&["--mode", mode, "go"]);
            match variable {
                "" => command.args(["--timeout", MAX_U64]),
                name => command.env(name, MAX_U64),
            };
            let ended = run(&mut command, None).await;
            assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{variable}: {ended:?}");
        }
    }
}

#[tokio::test]
async fn what_is_missing_is_named_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    for mode in ["text", "json"] {
        let mut command = bare(dir.path());
        command.args(["--mode", mode, "--model", "demo", "hello"]).env("TMPDIR", "/nowhere/at/all");
        let ended = run(&mut command, None).await;
        assert_eq!((ended.code, ended.out.as_str()), (3, ""), "{ended:?}");
        assert!(ended.err.contains("/nowhere/at/all") && ended.err.contains("TMPDIR"), "{ended:?}");

        let mut command = bare(dir.path());
        let ended = run(command.args(["--mode", mode, "--model", "claude-haiku-4-5", "hello"]), None).await;
        assert_eq!((ended.code, ended.out.as_str()), (3, ""), "{ended:?}");
        let hint = "set ANTHROPIC_API_KEY, or save one with `tau auth set anthropic`";
        assert!(ended.err.contains(hint) && !ended.err.contains("/login"), "{ended:?}");
    }
}

#[tokio::test]
async fn only_a_file_is_replayed() {
    let place = Place::new(vec![says("")]).await;
    let fifo = fifo(&place);
    for path in ["/dev/zero", fifo.to_str().unwrap(), "."] {
        let started = Instant::now();
        let ended = run(bare(place.dir.path()).args(["--replay", path]), None).await;
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{ended:?}");
        assert!(ended.err.contains(path) && ended.err.contains("not a regular file"), "{ended:?}");
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}

#[tokio::test]
async fn messages_keep_the_fields_of_other_programs() {
    let place = Place::new(vec![says("")]).await;
    let cwd = place.dir.path().canonicalize().unwrap();
    let message = json!({"role": "user", "content": [{"type": "text", "text": "hi", "mark": 1}], "timestamp": 5, "mood": {"of": ["theirs"]}});
    let header = json!({"type": "session", "version": 3, "id": "theirs", "timestamp": "2026-01-02T03:04:05.000Z", "cwd": cwd});
    let entry = json!({"type": "message", "id": "a", "parentId": null, "timestamp": "2026-01-02T03:04:05.000Z", "extra": true, "message": message});
    std::fs::write(place.dir.path().join("theirs.jsonl"), format!("{header}\n{entry}\n")).unwrap();
    let asks = "{\"id\":\"1\",\"type\":\"get_messages\"}\n{\"id\":\"2\",\"type\":\"get_entries\"}\n";
    let ended = run(&mut place.tau(&["--mode", "rpc", "--session", "theirs.jsonl"]), Some(asks)).await;
    let records = ended.records();
    assert_eq!(records[0]["data"]["messages"], json!([message]), "{ended:?}");
    assert_eq!(records[1]["data"]["entries"][0], entry, "{ended:?}");
}

#[tokio::test]
async fn scratch_folders_of_dead_processes_are_removed_by_every_front_end() {
    let lines = Some("{\"type\":\"message\",\"content\":\"hello\"}\n");
    let cases: [(&[&str], Option<&str>); 6] = [
        (&["-p", "hello"], None),
        (&["--json"], lines),
        (&["--mode", "rpc"], Some("")),
        (&["acp"], Some("")),
        (&["serve", "--listen", "127.0.0.1:0"], None),
        (&["mcp-serve"], Some("")),
    ];
    for (arguments, input) in cases {
        let dir = tempfile::tempdir().unwrap();
        let temporary = dir.path().join("temporary");
        let [old, young] = ["a", "b"].map(|end| temporary.join(format!("tau-scratch-{}-{end}", 0x3fff_fff0)));
        for folder in [&old, &young] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let long_ago = std::time::SystemTime::now() - Duration::from_secs(4 * 24 * 60 * 60);
        std::fs::File::open(&old).unwrap().set_modified(long_ago).unwrap();
        let mut command = bare(dir.path());
        command.args(arguments).args(["--model", "demo"]).env("TMPDIR", &temporary);
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = command.spawn().unwrap();
        // Open until the end: the program waits for more.
        let mut pipe = child.stdin.take();
        if let (Some(pipe), Some(input)) = (&mut pipe, input) {
            pipe.write_all(input.as_bytes()).await.unwrap();
        }
        let sweep = async {
            while old.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        sweep.in_time(&format!("the sweep of {arguments:?}")).await;
        assert!(young.exists(), "{arguments:?}");
        child.kill().await.unwrap();
    }
}
