//! A client of `tau --mode rpc` in some sixty lines: asks one question, prints the answer as it arrives and
//! the calls run meanwhile. `cargo run --example rpc_client -- target/debug/tau --model demo`

#![allow(clippy::print_stdout, reason = "an example talks to its terminal")]
#![allow(clippy::disallowed_methods, reason = "the agent is another process")]

use std::io::{BufRead, BufReader, Error, ErrorKind, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// An agent as a child process. The end of its input ends it.
struct Agent {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Agent {
    fn start(program: &str, arguments: &[String]) -> std::io::Result<Self> {
        let mut command = Command::new(program);
        command.args(["--mode", "rpc"]).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let (input, output) = child.stdin.take().zip(child.stdout.take()).ok_or(ErrorKind::BrokenPipe)?;
        Ok(Agent { child, input, output: BufReader::new(output) })
    }

    fn send(&mut self, command: &Value) -> std::io::Result<()> {
        writeln!(self.input, "{command}")
    }

    /// The next record: an answer, which has the id of its command, or an event.
    fn record(&mut self) -> std::io::Result<Value> {
        let mut line = String::new();
        match self.output.read_line(&mut line)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(serde_json::from_str(&line)?),
        }
    }
}

fn main() -> std::io::Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let program = if arguments.is_empty() { "tau".to_owned() } else { arguments.remove(0) };
    let mut agent = Agent::start(&program, &arguments)?;
    agent.send(&json!({ "id": "1", "type": "prompt", "message": "What is in this directory?" }))?;
    loop {
        let record = agent.record()?;
        let piece = &record["assistantMessageEvent"];
        match record["type"].as_str() {
            Some("response") if record["success"] == false => {
                return Err(Error::other(record["error"].to_string()));
            }
            Some("tool_execution_start") => println!("\n[{} {}]", record["toolName"], record["args"]),
            Some("agent_settled") => break println!(),
            _ if piece["type"] == "text_delta" => print!("{}", piece["delta"].as_str().unwrap_or_default()),
            _ => continue,
        }
        std::io::stdout().flush()?;
    }
    drop(agent.input);
    agent.child.wait().map(drop)
}
