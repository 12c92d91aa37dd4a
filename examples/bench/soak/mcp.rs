//! Random calls of the tools of `tau mcp-serve`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::pipes::Pipes;
use super::{Dice, Place, TIMEOUT, Talk};

/// The maximum number of sessions that the server keeps open.
const SESSIONS: usize = 4;
/// The maximum number of requests that wait for their answers.
const AT_ONCE: usize = 8;

struct Mcp {
    pipes: Pipes,
    work: PathBuf,
    waiting: HashMap<u64, (String, Instant)>,
    next: u64,
    answered: usize,
    sessions: Vec<String>,
    /// Calls waiting for a decision, with their sessions.
    approvals: Vec<(String, String)>,
}

/// Starts the server on pipes.
pub fn start(place: &Place, tau: &Path) -> Result<Box<dyn Talk>, String> {
    println!("\nmcp: tau mcp-serve");
    let pipes = Pipes::start(&mut place.tau(tau, &["mcp-serve", "--model", "own/m", "--max-sessions", "4"]))?;
    let (waiting, next, answered) = (HashMap::new(), 1, 0);
    let (sessions, approvals) = (Vec::new(), Vec::new());
    let mut mcp = Mcp { pipes, work: place.path("work"), waiting, next, answered, sessions, approvals };
    let client = json!({"name": "soak", "version": "1"});
    mcp.send(
        "initialize",
        &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}),
    )?;
    mcp.catch_up(0)?;
    mcp.pipes.write(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
    Ok(Box::new(mcp))
}

impl Mcp {
    fn send(&mut self, method: &str, params: &Value) -> Result<(), String> {
        let id = self.next;
        self.next += 1;
        let name = params["name"].as_str().unwrap_or(method);
        self.waiting.insert(id, (name.to_owned(), Instant::now()));
        let record = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.pipes.write(record.to_string().as_bytes())
    }

    fn call(&mut self, name: &str, arguments: &Value) -> Result<(), String> {
        let token = self.next;
        let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": token}});
        self.send("tools/call", &params)
    }

    fn take(&mut self, record: &Value) {
        let Some((name, _)) = record["id"].as_u64().and_then(|id| self.waiting.remove(&id)) else { return };
        self.answered += 1;
        let state = &record["result"]["structuredContent"];
        let Some(session) = state["sessionId"].as_str() else { return };
        if name == "session_start" {
            self.sessions.push(session.to_owned());
            self.sessions = self.sessions.split_off(self.sessions.len().saturating_sub(SESSIONS));
        }
        for call in state["approvals"].as_array().into_iter().flatten() {
            self.approvals.extend(call["id"].as_str().map(|id| (session.to_owned(), id.to_owned())));
        }
    }

    fn catch_up(&mut self, most: usize) -> Result<(), String> {
        loop {
            let wait = if self.waiting.len() > most { TIMEOUT } else { Duration::ZERO };
            match self.pipes.next(wait)? {
                Some(record) => self.take(&record),
                None if self.waiting.len() <= most => break,
                None => return Err(format!("nothing came for {TIMEOUT:?}: {:?}", self.waiting)),
            }
        }
        match self.waiting.values().find(|(_, since)| since.elapsed() > TIMEOUT) {
            Some((name, _)) => Err(format!("{name} was not answered within {TIMEOUT:?}")),
            None => Ok(()),
        }
    }
}

impl Talk for Mcp {
    fn act(&mut self, dice: &mut Dice) -> Result<(), String> {
        self.catch_up(AT_ONCE)?;
        if dice.below(2) == 0
            && let Some((session, id)) = self.approvals.pop()
        {
            let decision = dice.pick(&["allow", "deny", "deny_and_stop"]);
            let answer = json!({"sessionId": session, "id": id, "decision": decision, "waitSeconds": 0});
            return self.call("session_answer", &answer);
        }
        let session = dice.pick(&self.sessions).map_or("none", String::as_str).to_owned();
        let one = json!({"sessionId": session});
        match dice.below(30) {
            0 => {
                let mode = dice.pick(&["auto", "auto", "ask"]);
                self.call("session_start", &json!({"cwd": self.work, "permissionMode": mode}))
            }
            1..14 => {
                let wait = usize::from(dice.below(30) == 0);
                self.call(
                    "session_prompt",
                    &json!({"sessionId": session, "prompt": "go", "waitSeconds": wait}),
                )
            }
            14..18 => self.call("session_wait", &json!({"sessionId": session, "waitSeconds": 0})),
            18..21 => self.call("session_stop", &one),
            21 => self.call("session_fly", &one),
            22 => self.call("session_prompt", &json!({"prompt": 7})),
            23 => self.send("tools/list", &json!({})),
            24 => self.send("ping", &json!({})),
            25 => {
                let last = json!({"requestId": self.next - 1});
                let record = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": last});
                // A cancelled request need not be answered.
                self.waiting.remove(&(self.next - 1));
                self.pipes.write(record.to_string().as_bytes())
            }
            _ => {
                let line = dice.nonsense(one.to_string().as_bytes());
                self.pipes.write(&line)
            }
        }
    }

    fn rest(&mut self) -> Result<(), String> {
        self.catch_up(0)?;
        for session in self.sessions.clone() {
            self.call("session_stop", &json!({"sessionId": session}))?;
        }
        self.catch_up(0)?;
        self.approvals.clear();
        // The oldest are closed for these, which hold nothing yet.
        self.sessions.clear();
        for _ in 0..SESSIONS {
            self.call("session_start", &json!({"cwd": self.work, "permissionMode": "auto"}))?;
            self.catch_up(0)?;
        }
        Ok(())
    }

    /// The session and the journal of its changes; only a new session closes one.
    fn session_files(&self) -> u64 {
        2 * SESSIONS as u64
    }

    fn pid(&self) -> u32 {
        self.pipes.pid()
    }

    fn answered(&self) -> usize {
        self.answered
    }
}
