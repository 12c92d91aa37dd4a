//! A process that reads and writes lines of JSON.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::Value;

/// The process. It is killed when this is dropped.
pub struct Pipes {
    child: Child,
    input: ChildStdin,
    lines: Receiver<Value>,
}

impl Pipes {
    /// Starts it. A thread reads its output, so that it never has to wait.
    pub fn start(command: &mut Command) -> Result<Self, String> {
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("it has no pipes".to_owned());
        };
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // Invalid JSON is noticed by the code that waits for an answer.
                let value = serde_json::from_str(&line).unwrap_or(Value::String(line));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Ok(Pipes { child, input, lines })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes a line.
    pub fn write(&mut self, line: &[u8]) -> Result<(), String> {
        let line = [line, b"\n"].concat();
        self.input.write_all(&line).map_err(|error| format!("it does not read any more: {error}"))
    }

    /// The next line, if it arrives in time.
    pub fn next(&mut self, patience: Duration) -> Result<Option<Value>, String> {
        match self.lines.recv_timeout(patience) {
            Ok(Value::String(line)) => Err(format!("not a line of JSON: {line}")),
            Ok(value) => Ok(Some(value)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(format!("it has ended: {:?}", self.child.try_wait())),
        }
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
