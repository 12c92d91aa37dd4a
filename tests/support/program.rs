//! The program without a screen: a process with an empty home, its end, and chat answers for it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use super::server::{Act, stream};

/// The exit of a process and its output.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ended {
    /// Its lines of JSON.
    pub fn records(&self) -> Vec<Value> {
        let record = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.out.lines().map(record).collect()
    }
}

/// The program with nothing configured.
pub fn bare(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("HOME", dir).env("PATH", path).current_dir(dir);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// Runs it to its end, with this input.
pub async fn run(command: &mut Command, input: Option<&str>) -> Ended {
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().unwrap();
    if let (Some(text), Some(mut pipe)) = (input, child.stdin.take()) {
        // A program that does not read its input is not a failure of the test.
        let _ = tokio::io::AsyncWriteExt::write_all(&mut pipe, text.as_bytes()).await;
    }
    let output = timeout(Duration::from_secs(60), child.wait_with_output()).await.expect("it does not end");
    let output = output.unwrap();
    Ended {
        code: output.status.code().expect("an exit code"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A chat answer with this text.
pub fn says(text: &str) -> Act {
    let delta = serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    let end = serde_json::json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    Act::Send(stream(&format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n")))
}

/// A chat answer that calls a tool.
pub fn calls(name: &str, arguments: &Value) -> Act {
    let function = serde_json::json!({"name": name, "arguments": arguments.to_string()});
    let call = serde_json::json!({"index": 0, "id": "c1", "type": "function", "function": function});
    let delta = serde_json::json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
    let end = serde_json::json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    Act::Send(stream(&format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n")))
}

/// A chat answer with these calls, which used this many tokens.
pub fn calls_all(calls: &[(&str, Value)], tokens: u64) -> Act {
    let call = |(index, (name, arguments)): (usize, &(&str, Value))| {
        let function = serde_json::json!({"name": name, "arguments": arguments.to_string()});
        serde_json::json!({"index": index, "id": format!("c{index}"), "type": "function", "function": function})
    };
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    let delta = serde_json::json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]});
    used(&delta, "tool_calls", tokens)
}

/// A chat answer with this text, which used this many tokens.
pub fn says_using(text: &str, tokens: u64) -> Act {
    let delta = serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    used(&delta, "stop", tokens)
}

fn used(delta: &Value, reason: &str, tokens: u64) -> Act {
    let usage = serde_json::json!({"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens});
    let end = serde_json::json!({
        "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage
    });
    Act::Send(stream(&format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n")))
}

/// A chat answer that begins with this and then stalls.
pub fn stalls(text: &str) -> Act {
    let delta = serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    Act::Stall(stream(&format!("data: {delta}\n\n")))
}
