//! The program without a screen, as other programs start it: real processes, real pipes, a server on
//! loopback, and an empty home folder.

mod action;
mod approvals;
mod command_words;
mod continued;
mod editors;
mod empty_ends;
mod ends;
mod inputs;
mod instructions;
mod left_out;
mod network;
mod pictures;
mod recorded;
mod refused;
mod robust;
mod schema;
mod secrets;
mod undone;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use crate::faults::server::{Act, Server, stream};
use crate::time_limit::InTime;

/// A folder that is home and working directory, and a server.
struct Place {
    dir: tempfile::TempDir,
    server: Server,
}

/// The exit of a process and its output.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ended {
    fn records(&self) -> Vec<Value> {
        let record = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.out.lines().map(record).collect()
    }
}

impl Place {
    async fn new(acts: Vec<Act>) -> Self {
        Place { dir: tempfile::tempdir().unwrap(), server: Server::start(acts).await }
    }

    /// The program with the server as its provider.
    fn tau(&self, arguments: &[&str]) -> Command {
        let mut command = bare(self.dir.path());
        command.args(["--base-url", &self.server.url(), "--api-key", "x", "--model", "m"]).args(arguments);
        command
    }
}

impl Place {
    /// The program with a model at the server that has these facts.
    fn own(&self, facts: &str) -> Command {
        let config = self.dir.path().join("config");
        std::fs::create_dir_all(&config).unwrap();
        let provider = "base_url = \"URL\"\napi = \"openai-completions\"\napi_key = \"x\"";
        let text = format!("[vendors.own]\n{provider}\n[[vendors.own.models]]\nid = \"m\"\n{facts}\n");
        std::fs::write(config.join("models.toml"), text.replace("URL", &self.server.url())).unwrap();
        let mut command = bare(self.dir.path());
        command.env("TAU_HOME", &config).args(["--model", "own/m"]);
        command
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

/// A chat answer that begins with this and then stalls.
pub fn stalls(text: &str) -> Act {
    let delta = serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    Act::Stall(stream(&format!("data: {delta}\n\n")))
}
