//! The program itself as a child of its clients: one following the older document, one that reads slowly,
//! and one that never stops sending commands.

use std::path::Path;
use std::process::Stdio;

use tokio::process::{Child, ChildStdout, Command};

use super::*;
use crate::support::dice::Dice;
use crate::support::program::{bare, body, calls, own_model, says, stalls};
use crate::support::server::{Act, Server};

fn serve(dir: &Path, server: &Server, arguments: &[&str]) -> Command {
    let mut command = bare(dir);
    command.args(arguments).args(own_model(&server.url()));
    // Tests of approvals choose another mode.
    command.env("TAU_PERMISSION_MODE", "auto");
    // Its complaints are not read.
    command.stdin(Stdio::piped()).stderr(Stdio::null());
    command
}

#[tokio::test]
async fn a_client_of_the_older_document_works_unchanged() {
    let Ok(version) =
        Command::new("python3").arg("--version").output().in_time("the end of the program").await
    else {
        println!("skipped: there is no python3 to run the client");
        return;
    };
    assert!(version.status.success());
    let dir = tempfile::tempdir().unwrap();
    let tool = calls("bash", &json!({"command": "echo from the tool"}));
    let acts =
        vec![says("one two three"), tool, says("done"), stalls("so far"), says("read"), says("in short")];
    let server = Server::start(acts).await;
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rpc/older_client.py");
    let mut command = Command::new("python3");
    command.arg(client).arg(env!("CARGO_BIN_EXE_tau"));
    command.args(own_model(&server.url()));
    command.env("TAU_PERMISSION_MODE", "auto");
    command.env("HOME", dir.path()).env("TAU_HOME", dir.path()).current_dir(dir.path()).kill_on_drop(true);
    let ended = timeout(Duration::from_secs(60), command.output()).await.expect("it does not end").unwrap();
    assert!(String::from_utf8_lossy(&ended.stdout).contains("all of it held"), "{ended:?}");
}

#[tokio::test]
async fn commands_do_not_inherit_ignored_signals() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(Vec::new()).await;
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' INT QUIT HUP TSTP USR1; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_tau")]);
    command.args(["--mode", "rpc"]).args(own_model(&server.url()));
    command.env("HOME", dir.path()).env("TAU_HOME", dir.path()).current_dir(dir.path()).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let request = b"{\"id\":\"1\",\"type\":\"bash\",\"command\":\"grep SigIgn /proc/self/status\"}\n";
    child.stdin.as_mut().unwrap().write_all(request).in_time("a reader of the input").await.unwrap();
    let mut records = BufReader::new(child.stdout.take().unwrap()).lines();
    let mask = async {
        loop {
            let record = records.next_line().in_time("a line").await.unwrap().expect("tau has ended");
            if let Some((_, mask)) = record.split_once("SigIgn:\\t") {
                return u64::from_str_radix(mask.get(..16).unwrap(), 16).unwrap();
            }
        }
    };
    let mask = timeout(Duration::from_secs(60), mask).await.expect("no output");
    // The C library ignores a signal above these for its own use.
    assert_eq!(mask & 0x7fff_ffff, 0, "{mask:x}");
}

/// Sends a command and returns its answer; skips other records.
async fn ask(
    input: &mut (impl AsyncWriteExt + Unpin),
    lines: &mut Lines<BufReader<ChildStdout>>,
    command: Value,
) -> Value {
    input.write_all(format!("{command}\n").as_bytes()).in_time("a reader of the input").await.unwrap();
    loop {
        let line = timeout(Duration::from_secs(60), lines.next_line()).await.expect("no answer came");
        let record: Value = serde_json::from_str(&line.unwrap().expect("tau has ended")).unwrap();
        if record["type"] == "response" {
            assert_eq!(record["command"], command["type"], "{record}");
            return record;
        }
    }
}

/// A session runs in its own directory: only the project settings of that one apply.
#[tokio::test]
async fn a_session_of_another_directory_brings_its_settings() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().canonicalize().unwrap();
    let (here, there) = (home.join("here"), home.join("there"));
    for place in [&here, &there] {
        std::fs::create_dir_all(place.join(".tau")).unwrap();
    }
    std::fs::write(here.join(".tau/config.toml"), "tools = ['read', 'ls']\n").unwrap();
    let settings = "tools = ['read', 'bash']\nbash_timeout = 1\nauto_compact = false\n";
    std::fs::write(there.join(".tau/config.toml"), settings).unwrap();
    std::fs::write(there.join(".tau/SYSTEM.md"), "The role over there.").unwrap();
    let other = home.join("other.jsonl");
    let header = json!({"type": "session", "version": 3, "id": "0199f2aa", "cwd": there,
        "timestamp": "2026-01-02T03:04:05.000Z"});
    std::fs::write(&other, format!("{header}\n")).unwrap();
    let server = Server::start(vec![
        says("here"),
        calls("bash", &json!({"command": "sleep 30; echo late"})),
        says("there"),
        says("back"),
    ])
    .await;
    let mut command = serve(&home, &server, &["--mode", "rpc", "--trust"]);
    let mut child = command.current_dir(&here).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let state = ask(&mut input, &mut lines, json!({"type": "get_state"})).await["data"].clone();
    assert_eq!(state["autoCompactionEnabled"], json!(true), "{state}");
    let mut prompts = async |switch: Option<&Value>| {
        if let Some(path) = switch {
            let command = json!({"type": "switch_session", "sessionPath": path});
            let switched = ask(&mut input, &mut lines, command).await;
            assert_eq!(switched["success"], json!(true), "{switched}");
        }
        ask(&mut input, &mut lines, json!({"type": "prompt", "message": "go"})).await;
        loop {
            let line =
                timeout(Duration::from_secs(60), lines.next_line()).await.expect("the run does not end");
            let record: Value = serde_json::from_str(&line.unwrap().expect("tau has ended")).unwrap();
            if record["type"] == "agent_settled" {
                break;
            }
        }
        ask(&mut input, &mut lines, json!({"type": "get_state"})).await["data"].clone()
    };
    let first = prompts(None).await;
    let over_there = prompts(Some(&json!(other))).await;
    assert_eq!(over_there["autoCompactionEnabled"], json!(false), "{over_there}");
    let back = prompts(Some(&first["sessionFile"])).await;
    assert_eq!(back["autoCompactionEnabled"], json!(true), "{back}");
    drop(input);
    assert!(
        timeout(Duration::from_secs(60), child.wait()).await.expect("tau does not end").unwrap().success()
    );

    let bodies: Vec<Value> = server.requests().iter().map(|request| body(request)).collect();
    let tools = |body: &Value| -> Vec<String> {
        let tools = body["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let offered: Vec<Vec<String>> = bodies.iter().map(tools).collect();
    assert_eq!(offered, [["read", "ls"], ["read", "bash"], ["read", "bash"], ["read", "ls"]]);
    let role = |body: &Value| body["messages"][0]["content"].as_str().unwrap().starts_with("The role over");
    assert_eq!(bodies.iter().map(role).collect::<Vec<_>>(), [false, true, true, false]);
    let result = bodies[2]["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(result.contains("timed out") && !result.contains("late"), "{result}");
}

/// The resident memory of a process, in KiB; `None` if it is unknown.
fn resident(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()?)).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// The number of open files and child processes; `None` if unknown.
fn holds(child: &Child) -> Option<(usize, usize)> {
    let id = child.id()?;
    let files = std::fs::read_dir(format!("/proc/{id}/fd")).ok()?.count();
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    Some((files, children.split_whitespace().count()))
}

/// Pieces of ten kilobytes: more than twice what is buffered for a reader.
const PIECES: usize = 2_000;

#[tokio::test]
#[ignore = "twenty megabytes take an unoptimised build most of a minute"]
async fn a_process_whose_reader_is_slow_keeps_a_bounded_amount() {
    let dir = tempfile::tempdir().unwrap();
    let piece = "0123456789".repeat(1_000);
    let delta = json!({"choices": [{"index": 0, "delta": {"content": piece}}]});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let body = format!("data: {delta}\n\n").repeat(PIECES) + &format!("data: {end}\n\ndata: [DONE]\n\n");
    let server = Server::start(vec![Act::Send(crate::support::server::stream(&body))]).await;
    let mut child = serve(dir.path(), &server, &["--mode", "rpc"]).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let prompt = b"{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"go\"}\n";
    child.stdin.as_mut().unwrap().write_all(prompt).in_time("a reader of the input").await.unwrap();
    let mut read = vec![0; 1 << 10];
    let mut seen = Vec::new();
    // A kilobyte at a time, then nothing for a while.
    for _ in 0..20 {
        use tokio::io::AsyncReadExt;
        let count = output.read(&mut read).in_time("bytes").await.unwrap();
        seen.extend_from_slice(&read[..count]);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    if let Some(kept) = resident(&child) {
        println!("{kept} KiB are kept");
        assert!(kept < 64 << 10, "{} MiB are kept for a reader that does not read", kept >> 10);
    }
    let told = text_of(seen, output).await;
    assert_eq!(told.len(), piece.len() * PIECES, "something was lost");
    drop(child.stdin.take());
    assert!(child.wait().in_time("the end of the program").await.unwrap().success());
}

/// The text of the events, up to the end of the run.
async fn text_of(seen: Vec<u8>, output: ChildStdout) -> String {
    use tokio::io::AsyncReadExt;
    let mut lines = BufReader::with_capacity(1 << 20, std::io::Cursor::new(seen).chain(output)).lines();
    let mut told = String::new();
    while let Some(line) = timeout(Duration::from_secs(60), lines.next_line()).await.unwrap().unwrap() {
        let record: Value = serde_json::from_str(&line).unwrap();
        told.push_str(record["assistantMessageEvent"]["delta"].as_str().unwrap_or_default());
        if record["type"] == "agent_settled" {
            break;
        }
    }
    told
}

/// A command that may be sent at any time, and usually succeeds.
fn any_command(dice: &mut Dice, file: &str) -> Value {
    let list = [
        json!({"type": "prompt", "message": "continue"}),
        json!({"type": "prompt", "message": "and this", "streamingBehavior": "followUp"}),
        json!({"type": "steer", "message": "turn"}),
        json!({"type": "clear_queue"}),
        json!({"type": "abort"}),
        json!({"type": "bash", "command": "echo out; sleep 0.02"}),
        json!({"type": "bash", "command": "sleep 60"}),
        json!({"type": "abort_bash"}),
        json!({"type": "compact"}),
        json!({"type": "new_session"}),
        json!({"type": "switch_session", "sessionPath": file}),
        json!({"type": "clone"}),
        json!({"type": "fork", "entryId": "nosuch"}),
        json!({"type": "cycle_thinking_level"}),
        json!({"type": "set_session_name", "name": "a name"}),
        json!({"type": "get_state"}),
        json!({"type": "get_messages"}),
        json!({"type": "get_session_stats"}),
        json!({"type": "get_tree"}),
        json!({"type": "nosuch"}),
    ];
    list[dice.below(list.len())].clone()
}

/// Endless commands, compressed: `TAU_SOAK` sets the number of rounds of a hundred.
#[tokio::test]
async fn random_commands_leak_nothing() {
    let rounds: usize = std::env::var("TAU_SOAK").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let dir = tempfile::tempdir().unwrap();
    let acts = vec![calls("bash", &json!({"command": "echo tool"})), says("words "), says("more words")];
    let acts: Vec<Act> = acts.into_iter().cycle().take(3_000.max(rounds * 60)).collect();
    let server = Server::start(acts).await;
    let mut child = serve(dir.path(), &server, &["--mode", "rpc"]).spawn().unwrap();
    let mut lines = BufReader::with_capacity(1 << 20, child.stdout.take().unwrap()).lines();
    let mut dice = Dice::new(11);
    let mut input = child.stdin.take().unwrap();
    let mut ask = async |command: Value, id: usize| {
        let mut command = command;
        command["id"] = json!(id);
        input.write_all(format!("{command}\n").as_bytes()).in_time("a reader of the input").await.unwrap();
    };
    ask(json!({"type": "get_state"}), 0).await;
    let first: Value =
        serde_json::from_str(&lines.next_line().in_time("a line").await.unwrap().unwrap()).unwrap();
    let file = first["data"]["sessionFile"].as_str().unwrap().to_owned();
    let mut figures = Vec::new();
    let mut id = 0;
    for _ in 0..rounds {
        for _ in 0..100 {
            id += 1;
            ask(any_command(&mut dice, &file), id).await;
        }
        // Everything comes to rest, in a separate session.
        for command in ["clear_queue", "abort_bash", "abort", "new_session", "get_state"] {
            id += 1;
            ask(json!({"type": command}), id).await;
        }
        loop {
            let line = timeout(Duration::from_secs(60), lines.next_line()).await.expect("it does not answer");
            let record: Value = serde_json::from_str(&line.unwrap().expect("it has ended")).unwrap();
            if record["type"] == "response" && record["id"] == json!(id) {
                assert_eq!(record["success"], json!(true), "{record}");
                break;
            }
        }
        figures.push((resident(&child), holds(&child)));
    }
    drop(input);
    assert!(child.wait().in_time("the end of the program").await.unwrap().success());
    println!("resident KiB, open files and children, a round each: {figures:?}");
    let (Some((Some(early), Some(held))), Some((Some(late), Some(holding)))) =
        (figures.get(figures.len() / 4).copied(), figures.last().copied())
    else {
        println!("skipped: this system does not tell what a process holds");
        return;
    };
    assert!(late < early + (24 << 10), "memory grows: {figures:?}");
    assert!(holding.0 <= held.0 + 2 && holding.1 == 0, "files or processes are left: {figures:?}");
}

/// No mode was chosen: the client is asked, and cannot raise it. A chosen mode is the ceiling.
#[tokio::test]
async fn a_client_is_asked_and_cannot_raise_the_mode() {
    for (chosen, higher) in [(None, "auto"), (Some("ask"), "auto"), (Some("plan"), "ask"), (Some("auto"), "")]
    {
        let dir = tempfile::tempdir().unwrap();
        let server =
            Server::start(vec![calls("bash", &json!({"command": "touch made"})), says("done")]).await;
        let mut command = serve(dir.path(), &server, &["--mode", "rpc"]);
        command.env_remove("TAU_PERMISSION_MODE");
        if let Some(mode) = chosen {
            command.args(["--permission-mode", mode]);
        }
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut records = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut ask = async |record: Value, until: &str| {
            input.write_all(format!("{record}\n").as_bytes()).in_time("a reader").await.unwrap();
            loop {
                let line = records.next_line().in_time(until).await.unwrap().expect("tau has ended");
                let record: Value = serde_json::from_str(&line).unwrap();
                if record["type"] == until {
                    return record;
                }
            }
        };
        let set = |mode: &str| json!({"id": "1", "type": "set_permission_mode", "mode": mode});
        if !higher.is_empty() {
            let answer = ask(set(higher), "response").await;
            let error = answer["error"].as_str().unwrap_or_default();
            assert!(answer["success"] == false && error.contains("cannot be raised"), "{chosen:?}: {answer}");
        }
        assert_eq!(ask(set("plan"), "response").await["success"], true);
        if let Some(chosen) = chosen {
            assert_eq!(ask(set(chosen), "response").await["success"], true, "back to {chosen}");
        } else {
            assert_eq!(ask(set("ask"), "response").await["success"], true);
            ask(json!({"type": "prompt", "message": "go"}), "approval_requested").await;
            assert!(!dir.path().join("made").exists());
        }
    }
}
