//! Sessions in the background of Claude Code, next to those of tau: `claude --bg` has what `tau -b` has.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::many::WAITING;
use super::process::Usage;
use super::{Options, Subject, milliseconds, percentile, pipes, row};

/// The time in which sessions that have answered come to rest.
const SETTLING: Duration = Duration::from_secs(20);
const KEY: &str = "sk-ant-bench";

/// Measures sessions that wait for the next prompt: the time of a start, the memory of all their processes, the CPU.
pub fn measure(claude: &Subject, options: &Options) {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().canonicalize().unwrap();
    let known = json!({
        "hasCompletedOnboarding": true,
        "customApiKeyResponses": { "approved": [KEY], "rejected": [] },
        "projects": { work.display().to_string(): { "hasTrustDialogAccepted": true } },
    });
    std::fs::write(home.path().join(".claude.json"), known.to_string()).unwrap();
    let base = format!("http://{}", serve());
    let mut times: Vec<Duration> = (0..WAITING)
        .map(|_| {
            let mut command = Command::new(&claude.path);
            command.args(["--bg", "hello"]).env("HOME", &work).current_dir(&work).stdin(Stdio::null());
            command.env("ANTHROPIC_BASE_URL", &base).env("ANTHROPIC_API_KEY", KEY);
            command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").stdout(Stdio::null());
            let start = Instant::now();
            assert!(command.status().unwrap().success());
            start.elapsed()
        })
        .collect();
    row("claude", "claude --bg, to the prompt, p50", milliseconds(percentile(&mut times, 50)));
    std::thread::sleep(SETTLING);
    let pids = processes(&work);
    let sum = |of: fn(u32) -> u64| pids.iter().map(|pid| of(*pid)).sum::<u64>();
    let own = sum(Usage::own_memory) as f64 / 1024.0 / WAITING as f64;
    row("claude", &format!("{WAITING} idle, own memory, each"), format!("{own:.1} MB"));
    row("claude", &format!("{WAITING} idle, processes"), pids.len().to_string());
    let (time, before) = (Duration::from_secs(options.idle), sum(cpu));
    std::thread::sleep(time);
    let used = Duration::from_millis(sum(cpu).saturating_sub(before));
    row("claude", &format!("{WAITING} idle, cpu of {} s", time.as_secs()), milliseconds(used));
    for pid in processes(&work) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// The CPU time of a process, in milliseconds.
fn cpu(pid: u32) -> u64 {
    u64::try_from(Usage::of(pid).cpu.as_millis()).unwrap()
}

/// The processes of this home directory.
fn processes(home: &Path) -> Vec<u32> {
    let entry = format!("HOME={}", home.display());
    let has_home = |pid: &u32| {
        let variables = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
    };
    let names = std::fs::read_dir("/proc").unwrap().flatten();
    names.filter_map(|name| name.file_name().to_str()?.parse().ok()).filter(has_home).collect()
}

/// A model that answers every prompt with a word.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // A client that disconnects does not affect the others.
            std::thread::spawn(|| drop(answer(stream)));
        }
    });
    address
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let (head, body) = pipes::read_whole_request(&mut stream)?;
    let usage = json!({ "input_tokens": 10, "output_tokens": 2 });
    let message = |content: Value, stop: Value| {
        json!({
            "id": "m", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": stop, "stop_sequence": null, "usage": usage,
        })
    };
    let is_streamed = serde_json::from_str(&body).is_ok_and(|body: Value| body["stream"] == true);
    let (kind, body) = match () {
        () if !head.starts_with("POST ") => ("application/json", json!({}).to_string()),
        () if !is_streamed => {
            let text = json!([{ "type": "text", "text": "done" }]);
            ("application/json", message(text, json!("end_turn")).to_string())
        }
        () => {
            let events = [
                json!({ "type": "message_start", "message": message(json!([]), Value::Null) }),
                json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "done" } }),
                json!({ "type": "content_block_stop", "index": 0 }),
                json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": usage }),
                json!({ "type": "message_stop" }),
            ];
            let line = |event: &Value| {
                format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
            };
            ("text/event-stream", events.iter().map(line).collect())
        }
    };
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n");
    stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes())
}
