//! Records why a server ended: its standard error, and faults in its output.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::settings::mcp_servers::{McpServer, McpTransport};

/// The number of lines of standard error that are kept.
const LINES: usize = 20;
/// The maximum length of a line, in bytes.
const MAX_LEN: usize = 500;

/// The shortest value that is hidden, in bytes: a shorter one may be a word.
const MIN_LEN: usize = 6;
/// Shown in place of a value that may be a key.
const HIDDEN: &str = "…";

/// Beginnings of lines that say nothing about the cause.
const USELESS: [&str; 4] =
    ["Node.js v", "npm error A complete log", "npm ERR! A complete log", "note: run with `RUST_BACKTRACE"];

/// The longest wait for the end of standard error once a server has ended.
const SETTLING: Duration = Duration::from_millis(500);

/// The possible reasons for a server's end.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    known: Mutex<TroubleFacts>,
    /// Cancelled once standard error is read to its end.
    complete: CancellationToken,
    /// Values from the server's settings, which may be keys.
    hidden: Vec<String>,
}

#[derive(Debug, Default)]
struct TroubleFacts {
    why: Option<String>,
    /// The exit status of its process.
    status: Option<String>,
    lines: VecDeque<String>,
}

impl Trouble {
    /// Makes the record of a server that has not started yet.
    pub(super) fn of(server: &McpServer) -> Self {
        let values = match &server.transport {
            McpTransport::Stdio { env, .. } => env,
            McpTransport::Http { headers, .. } => headers,
        };
        let hidden = values.values().filter(|value| value.len() >= MIN_LEN).cloned().collect();
        Trouble { hidden, ..Trouble::default() }
    }

    /// Records a fault in its output; the first counts.
    pub(super) fn set(&self, why: String) {
        self.known.lock().why.get_or_insert(why);
    }

    /// Records the exit status of its process.
    pub(super) fn record_exit_status(&self, status: String) {
        self.known.lock().status.get_or_insert(status);
    }

    /// The fault, or the exit status and the most telling line of standard error.
    pub(super) fn text(&self) -> Option<String> {
        let known = self.known.lock();
        if known.why.is_some() {
            return known.why.clone();
        }
        let is_useful = |line: &&String| {
            !line.trim().is_empty() && !USELESS.iter().any(|useless| line.starts_with(useless))
        };
        let mut useful = known.lines.iter().filter(is_useful);
        let said = useful.clone().find(|line| is_error(line)).or_else(|| useful.next_back());
        match (&known.status, said) {
            (Some(status), Some(said)) => Some(format!("{status}, {said}")),
            (status, said) => status.as_ref().or(said).cloned(),
        }
    }

    /// The last lines of standard error.
    #[cfg(test)]
    pub(super) fn lines(&self) -> Vec<String> {
        self.known.lock().lines.iter().cloned().collect()
    }

    /// Reads standard error to its end, and keeps the last lines.
    pub(super) async fn read(&self, stderr: impl AsyncRead + Unpin) {
        let mut stderr = BufReader::new(stderr);
        let mut line: Vec<u8> = Vec::new();
        loop {
            let (taken, ended) = match stderr.fill_buf().await {
                Ok(available) if !available.is_empty() => {
                    let end = memchr::memchr(b'\n', available);
                    let piece = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
                    let fits = MAX_LEN.saturating_sub(line.len()).min(piece.len());
                    line.extend_from_slice(piece.get(..fits).unwrap_or_default());
                    (piece.len() + usize::from(end.is_some()), end.is_some())
                }
                Ok(_) | Err(_) => break,
            };
            stderr.consume(taken);
            if ended {
                self.keep(&std::mem::take(&mut line));
            }
        }
        self.keep(&line);
        self.complete.cancel();
    }

    /// Waits a moment for the last lines to arrive.
    pub(super) async fn wait_for_lines(&self) {
        // Other processes may hold the stream open.
        let _ = timeout(SETTLING, self.complete.cancelled()).await;
    }

    fn keep(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(line).trim_end().to_owned();
        let text = self.hidden.iter().fold(text, |text, value| text.replace(value, HIDDEN));
        if text.is_empty() {
            return;
        }
        let mut known = self.known.lock();
        if known.lines.len() >= LINES {
            known.lines.pop_front();
        }
        known.lines.push_back(text);
    }
}

/// Whether a line names an error: `Error: …`, `[error] …`, `npm error 404 …`. npm's first one is only a code.
fn is_error(line: &str) -> bool {
    let line = line.to_lowercase();
    match line.strip_prefix("npm error ").or_else(|| line.strip_prefix("npm err! ")) {
        Some(rest) => !rest.starts_with("code "),
        None => line.split("error").skip(1).any(|rest| rest.starts_with([':', ']', '!'])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_most_telling_line_is_said() {
        let node = "node:internal/errors:496\n    throw err;\n    ^\n\nError: Cannot find module 'nothere'\n\
                    Require stack:\n- /tmp/[eval]\n    at Module._load (node:internal/x:1) {\n  \
                    code: 'MODULE_NOT_FOUND'\n}\n\nNode.js v20.20.2\n";
        let npm = "npm error code E404\nnpm error 404 Not Found - GET https://npm.test/nothere\nnpm error 404\n\
                   npm error A complete log of this run can be found in: /home/me/.npm/_logs/x.log\n";
        let rust = "thread 'main' panicked at src/main.rs:2:5:\nno port\n\
                    note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
        for (text, expected) in [
            (node, "Error: Cannot find module 'nothere'"),
            (npm, "npm error 404 Not Found - GET https://npm.test/nothere"),
            (&npm.replace("npm error", "npm ERR!"), "npm ERR! 404 Not Found - GET https://npm.test/nothere"),
            (rust, "no port"),
            (
                "  File \"errors.py\", line 1\nModuleNotFoundError: No module named 'x'\n",
                "ModuleNotFoundError: No module named 'x'",
            ),
            ("starting\n[error] no database\nbye\n", "[error] no database"),
            ("starting\nno error so far\nport 80 is taken\n", "port 80 is taken"),
            ("Node.js v20.20.2\n", ""),
        ] {
            let trouble = Trouble::default();
            trouble.read(text.as_bytes()).await;
            assert_eq!(trouble.text().unwrap_or_default(), expected, "{text}");
        }
    }

    #[tokio::test]
    async fn the_end_of_what_was_written_is_kept() {
        let trouble = Trouble::default();
        let text: String = (0..100).map(|n| format!("line {n}\n")).collect();
        trouble.read((text + &"x".repeat(4000) + "\n\n").as_bytes()).await;
        let lines = trouble.lines();
        assert_eq!((lines.len(), lines[0].as_str(), lines[19].len()), (20, "line 81", 500));
        trouble.set("first".to_owned());
        trouble.set("second".to_owned());
        assert_eq!(trouble.text().as_deref(), Some("first"));
    }
}
