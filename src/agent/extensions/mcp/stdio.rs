//! Messages over the standard streams of a server's process: one JSON object per line.
//!
//! Servers are not trusted to follow that. A line that is not a message is skipped, up to a limit; a line
//! without an end, or a flood of lines, never takes more than a bounded amount of memory or time.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

use super::lenient;
use super::trouble::Trouble;

/// The maximum length of a message, in bytes.
const MAX_LEN: usize = 16 * 1024 * 1024;
/// The maximum bytes of lines that are not messages before the server is given up; reset after each message.
const MAX_GARBAGE: usize = 1024 * 1024;
/// The maximum number of messages other than answers within [`PERIOD`]; further ones must wait.
const MAX_NEWS: u32 = 5_000;
/// See [`MAX_NEWS`].
const PERIOD: Duration = Duration::from_secs(1);

/// The streams of a server's process.
pub(super) struct StdioTransport {
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    stdout: BufReader<ChildStdout>,
    /// The start of a line whose end has not arrived.
    line: Vec<u8>,
    /// The messages of the last line that were not received yet.
    messages: VecDeque<RxJsonRpcMessage<RoleClient>>,
    garbage: usize,
    pace: Pace,
    /// Records why the server was given up.
    trouble: Arc<Trouble>,
}

impl StdioTransport {
    pub(super) fn new(stdin: ChildStdin, stdout: ChildStdout, trouble: Arc<Trouble>) -> Self {
        StdioTransport {
            stdin: Arc::new(Mutex::new(Some(stdin))),
            stdout: BufReader::with_capacity(64 * 1024, stdout),
            line: Vec::new(),
            messages: VecDeque::new(),
            garbage: 0,
            pace: Pace::default(),
            trouble,
        }
    }

    /// The next line, without its end; `None` at the end of the stream. Cancel safe: a partly read line is
    /// kept.
    async fn next_line(&mut self) -> Option<Vec<u8>> {
        loop {
            let (taken, ended) = {
                let available = match self.stdout.fill_buf().await {
                    Ok(available) if !available.is_empty() => available,
                    Ok(_) | Err(_) => return None,
                };
                let end = memchr::memchr(b'\n', available);
                let piece = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
                if self.line.len() + piece.len() > MAX_LEN {
                    self.trouble.set(format!("it sent a message of more than {} MB", MAX_LEN >> 20));
                    return None;
                }
                self.line.extend_from_slice(piece);
                (piece.len() + usize::from(end.is_some()), end.is_some())
            };
            self.stdout.consume(taken);
            if ended {
                return Some(std::mem::take(&mut self.line));
            }
        }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let stdin = Arc::clone(&self.stdin);
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            match stdin.lock().await.as_mut() {
                Some(stdin) => stdin.write_all(&line).await,
                None => Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            self.pace.wait().await;
            if let Some(message) = self.messages.pop_front() {
                if !matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) {
                    self.pace.count();
                }
                return Some(message);
            }
            let line = self.next_line().await?;
            let line = line.strip_prefix(b"\xEF\xBB\xBF".as_slice()).unwrap_or(&line).trim_ascii();
            if line.is_empty() {
                continue;
            }
            match parse(line) {
                Line::Messages(messages) => {
                    self.garbage = 0;
                    self.messages = messages.into();
                }
                Line::Unknown => self.pace.count(),
                Line::Garbage => {
                    self.garbage += line.len() + 64;
                    if self.garbage > MAX_GARBAGE {
                        self.trouble.set("what it writes to its standard output is not MCP".to_owned());
                        return None;
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.stdin.lock().await.take();
        Ok(())
    }
}

/// The kind of a line.
enum Line {
    Messages(Vec<RxJsonRpcMessage<RoleClient>>),
    /// A message of an unknown kind, which newer servers may send.
    Unknown,
    Garbage,
}

fn parse(line: &[u8]) -> Line {
    let messages =
        serde_json::from_slice(line).map_or_else(|_| lenient::messages(line), |message| vec![message]);
    if !messages.is_empty() {
        return Line::Messages(messages);
    }
    match serde_json::from_slice::<Value>(line) {
        Ok(value) if value.get("jsonrpc").is_some() => Line::Unknown,
        _ => Line::Garbage,
    }
}

/// The rate of unsolicited messages.
#[derive(Default)]
struct Pace {
    since: Option<Instant>,
    seen: u32,
}

impl Pace {
    fn count(&mut self) {
        let now = Instant::now();
        if self.since.is_none_or(|since| now.duration_since(since) >= PERIOD) {
            (self.since, self.seen) = (Some(now), 0);
        }
        self.seen = self.seen.saturating_add(1);
    }

    /// Waits while there are too many. Cancel safe.
    async fn wait(&self) {
        if let Some(since) = self.since.filter(|_| self.seen >= MAX_NEWS) {
            sleep_until(since + PERIOD).await;
        }
    }
}
