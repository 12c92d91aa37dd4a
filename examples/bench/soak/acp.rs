//! Random requests of an editor.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::pipes::Pipes;
use super::{Dice, Place, TIMEOUT, Talk};

/// The maximum number of open sessions.
const SESSIONS: usize = 5;
/// The maximum number of requests that wait for their answers.
const AT_ONCE: usize = 16;

struct Acp {
    pipes: Pipes,
    work: PathBuf,
    /// Unanswered requests: their methods, and their sessions.
    waiting: HashMap<u64, (String, Value, Instant)>,
    next: u64,
    answered: usize,
    sessions: Vec<String>,
    closed: Vec<String>,
    /// Requests for permission: their ids, and the options.
    asked: Vec<(Value, Vec<String>)>,
}

/// Starts tau for an editor.
pub fn start(place: &Place, tau: &Path) -> Result<Box<dyn Talk>, String> {
    println!("\nacp: tau acp");
    let pipes = Pipes::start(&mut place.tau(tau, &["acp", "--model", "own/m"]))?;
    let (waiting, next, answered) = (HashMap::new(), 1, 0);
    let (sessions, closed, asked) = (Vec::new(), Vec::new(), Vec::new());
    let mut acp = Acp { pipes, work: place.path("work"), waiting, next, answered, sessions, closed, asked };
    acp.send("initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}))?;
    acp.catch_up(0)?;
    Ok(Box::new(acp))
}

impl Acp {
    fn send(&mut self, method: &str, params: &Value) -> Result<(), String> {
        let id = self.next;
        self.next += 1;
        self.waiting.insert(id, (method.to_owned(), params["sessionId"].clone(), Instant::now()));
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    fn notify(&mut self, method: &str, params: &Value) -> Result<(), String> {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    fn write(&mut self, record: &Value) -> Result<(), String> {
        self.pipes.write(record.to_string().as_bytes())
    }

    fn take(&mut self, record: &Value) {
        if record["method"] == "session/request_permission" {
            let options = record["params"]["options"].as_array().into_iter().flatten();
            let options = options.filter_map(|option| option["optionId"].as_str()).map(str::to_owned);
            self.asked.push((record["id"].clone(), options.collect()));
        } else if record.get("method").is_none()
            && let Some((method, session, _)) = record["id"].as_u64().and_then(|id| self.waiting.remove(&id))
        {
            self.answered += 1;
            let opened = match method.as_str() {
                "session/new" => record["result"]["sessionId"].as_str(),
                "session/load" | "session/resume" if record.get("result").is_some() => session.as_str(),
                _ => None,
            };
            self.sessions.extend(opened.map(str::to_owned));
        }
    }

    fn answer(&mut self, dice: usize) -> Result<(), String> {
        let Some((id, options)) = self.asked.pop() else { return Ok(()) };
        let outcome = match options.get(dice % (options.len() + 1)) {
            Some(option) => json!({"outcome": "selected", "optionId": option}),
            None => json!({"outcome": "cancelled"}),
        };
        self.write(&json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": outcome}}))
    }

    fn prompts(&self) -> usize {
        self.waiting.values().filter(|(method, ..)| method == "session/prompt").count()
    }

    fn cancel_all(&mut self) -> Result<(), String> {
        for session in self.sessions.clone() {
            self.notify("session/cancel", &json!({"sessionId": session}))?;
        }
        Ok(())
    }

    /// Reads pending messages, and waits until at most `most` requests are unanswered. A prompt may wait for
    /// the user or for a silent provider, so prompts are cancelled then.
    fn catch_up(&mut self, most: usize) -> Result<(), String> {
        let mut quiet = Instant::now();
        loop {
            let wait = if self.waiting.len() > most { 100 } else { 0 };
            match self.pipes.next(Duration::from_millis(wait))? {
                Some(record) => self.take(&record),
                None if self.waiting.len() <= most => break,
                None => {}
            }
            if self.waiting.len() > most && quiet.elapsed() > Duration::from_millis(200) {
                quiet = Instant::now();
                self.answer(0)?;
                if self.prompts() > 0 {
                    self.cancel_all()?;
                }
            }
            if let Some((method, ..)) = self.waiting.values().find(|(.., since)| since.elapsed() > TIMEOUT) {
                return Err(format!("{method} was not answered within {TIMEOUT:?}"));
            }
        }
        Ok(())
    }
}

impl Talk for Acp {
    fn act(&mut self, dice: &mut Dice) -> Result<(), String> {
        self.catch_up(AT_ONCE)?;
        if dice.below(2) == 0 && !self.asked.is_empty() {
            return self.answer(dice.below(12));
        }
        let session = dice.pick(&self.sessions).map_or("none", String::as_str).to_owned();
        let closed = dice.pick(&self.closed).unwrap_or(&session).clone();
        let place = json!({"sessionId": closed, "cwd": self.work, "mcpServers": []});
        let one = json!({"sessionId": session});
        match dice.below(40) {
            0 | 1 if self.sessions.len() < SESSIONS => {
                self.send("session/new", &json!({"cwd": self.work, "mcpServers": []}))
            }
            2..20 => {
                let prompt = json!([{"type": "text", "text": "go"}]);
                self.send("session/prompt", &json!({"sessionId": session, "prompt": prompt}))
            }
            20..25 => self.notify("session/cancel", &one),
            25..28 => {
                let mode = dice.pick(&["auto", "ask", "plan", "none"]);
                self.send("session/set_mode", &json!({"sessionId": session, "modeId": mode}))
            }
            28 => self.send("session/list", &json!({})),
            29 => self.send("session/load", &place),
            30 => self.send("session/resume", &place),
            31 if self.sessions.len() >= SESSIONS => {
                self.sessions.retain(|open| *open != session);
                self.closed.push(session);
                self.closed = self.closed.split_off(self.closed.len().saturating_sub(SESSIONS));
                self.send("session/close", &one)
            }
            36 => self.send("session/delete", &json!({"sessionId": closed})),
            32 => self.send(
                "session/set_config_option",
                &json!({"sessionId": session, "configId": "model", "value": "own/n"}),
            ),
            33 => self.send("session/new", &json!({"cwd": "relative", "mcpServers": 7})),
            34 => self.send("_own/method", &one),
            35 => self.write(&json!({"jsonrpc": "2.0", "id": "nobody", "result": {}})),
            _ => {
                let whole = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": one}).to_string();
                let line = dice.nonsense(whole.as_bytes());
                self.pipes.write(&line)
            }
        }
    }

    fn rest(&mut self) -> Result<(), String> {
        self.cancel_all()?;
        self.catch_up(0)?;
        self.closed.clear();
        for session in std::mem::take(&mut self.sessions) {
            self.send("session/close", &json!({"sessionId": session}))?;
        }
        self.asked.clear();
        self.catch_up(0)
    }

    fn pid(&self) -> u32 {
        self.pipes.pid()
    }

    fn answered(&self) -> usize {
        self.answered
    }
}
