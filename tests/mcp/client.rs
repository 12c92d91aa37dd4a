//! A client of the real program in RPC mode, with servers in its `config.toml`.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::support::program::bare;
use crate::time_limit::InTime;

pub struct Client {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// The records that arrived before an awaited answer.
    seen: Vec<Value>,
    asked: u64,
    _child: Child,
}

impl Client {
    /// Starts tau with this `config.toml` and the model at `url`.
    pub fn start(place: &Path, config: &str, url: &str) -> Self {
        Self::start_in_mode(place, config, url, "auto")
    }

    /// Like [`Self::start`], in this permission mode.
    pub fn start_in_mode(place: &Path, config: &str, url: &str, mode: &str) -> Self {
        Self::start_with(place, config, url, mode, &[])
    }

    /// Like [`Self::start_in_mode`], with additional arguments.
    pub fn start_with(place: &Path, config: &str, url: &str, mode: &str, arguments: &[&str]) -> Self {
        let folder = place.join("config");
        crate::support::write(&folder.join("config.toml"), &config);
        let mut command = bare(place);
        command.env("TAU_HOME", &folder).env("TAU_PERMISSION_MODE", mode);
        command.args(["--base-url", url, "--api-key", "x", "--model", "m", "--mode", "rpc", "--no-session"]);
        command.args(arguments);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Client { input, output: BufReader::new(output).lines(), seen: Vec::new(), asked: 0, _child: child }
    }

    pub async fn send(&mut self, command: &Value) {
        self.input.write_all(format!("{command}\n").as_bytes()).in_time("a reader").await.unwrap();
    }

    /// The next record for which this holds; others stay for later.
    pub async fn until(&mut self, holds: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.seen.iter().position(&holds) {
            return self.seen.remove(at);
        }
        loop {
            let record = self.record().await;
            if holds(&record) {
                return record;
            }
            self.seen.push(record);
        }
    }

    /// The next record of this type.
    pub async fn event(&mut self, kind: &str) -> Value {
        self.until(|record| record["type"] == kind).await
    }

    /// Sends a command and returns its response; other records stay for later.
    pub async fn ask(&mut self, mut command: Value) -> Value {
        self.asked += 1;
        let id = json!(format!("ask-{}", self.asked));
        command["id"] = id.clone();
        self.send(&command).await;
        loop {
            let record = self.record().await;
            if record["type"] == "response" && record["id"] == id {
                return record;
            }
            self.seen.push(record);
        }
    }

    async fn record(&mut self) -> Value {
        let line = self.output.next_line().in_time("a record").await.unwrap();
        serde_json::from_str(&line.expect("the output has ended")).unwrap()
    }
}
