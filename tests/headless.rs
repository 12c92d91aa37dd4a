//! The program without a screen, as other programs start it: real processes, real pipes, a server on
//! loopback, and an empty home folder.

mod action;
mod approvals;
mod blocked;
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

use crate::support::program::{Ended, bare, calls, own_model, run, says, stalls};
use crate::support::server::{Act, Server, stream};
use crate::time_limit::InTime;

/// A folder that is home and working directory, and a server.
struct Place {
    dir: tempfile::TempDir,
    server: Server,
}

impl Place {
    async fn new(acts: Vec<Act>) -> Self {
        Place { dir: tempfile::tempdir().unwrap(), server: Server::start(acts).await }
    }

    /// The program with the server as its provider.
    fn tau(&self, arguments: &[&str]) -> Command {
        let mut command = bare(self.dir.path());
        command.args(own_model(&self.server.url())).args(arguments);
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
