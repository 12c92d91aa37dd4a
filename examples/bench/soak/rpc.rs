//! Random commands of RPC mode.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::pipes::Pipes;
use super::{Dice, Place, TIMEOUT, Talk};

/// Commands that need no fields.
const PLAIN: [&str; 26] = [
    "abort", "abort", "clear_queue", "get_state", "get_messages", "get_last_assistant_text", "get_commands",
    "get_resources", "get_session_stats", "cycle_model", "get_available_models", "cycle_thinking_level",
    "get_available_thinking_levels", "abort_retry", "abort_bash", "get_fork_messages", "get_entries",
    "get_tree", "get_checkpoints", "get_changes", "get_undo_plan", "get_extensions", "get_permission_rules",
    "redo", "clone", "nonsense",
];
/// The maximum number of commands that wait for their answers.
const AT_ONCE: usize = 16;

struct Rpc {
    pipes: Pipes,
    /// Unanswered commands, by id.
    waiting: HashMap<u64, (String, Instant)>,
    next: u64,
    answered: usize,
    /// Calls waiting for a decision.
    approvals: Vec<String>,
    /// The entries of prompts, and files of sessions, seen so far.
    entries: Vec<String>,
    files: Vec<String>,
    is_streaming: bool,
}

/// Starts tau in RPC mode.
pub fn start(place: &Place, tau: &Path) -> Result<Box<dyn Talk>, String> {
    println!("\nrpc: tau --mode rpc");
    let pipes = Pipes::start(&mut place.tau(tau, &["--mode", "rpc", "--model", "own/m"]))?;
    let (waiting, next, answered) = (HashMap::new(), 1, 0);
    let (approvals, entries, files) = (Vec::new(), Vec::new(), Vec::new());
    Ok(Box::new(Rpc { pipes, waiting, next, answered, approvals, entries, files, is_streaming: false }))
}

impl Rpc {
    fn send(&mut self, mut command: Value) -> Result<(), String> {
        let kind = command.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        command["id"] = json!(self.next);
        self.waiting.insert(self.next, (kind, Instant::now()));
        self.next += 1;
        self.pipes.write(command.to_string().as_bytes())
    }

    fn take(&mut self, record: &Value) {
        let text = |name: &str| record.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "response" => {
                let id = record.get("id").and_then(Value::as_u64);
                if id.and_then(|id| self.waiting.remove(&id)).is_some() {
                    self.answered += 1;
                }
                let data = record.get("data").unwrap_or(&Value::Null);
                if let Some(file) = data.get("sessionFile").and_then(Value::as_str) {
                    self.files.push(file.to_owned());
                    self.files = self.files.split_off(self.files.len().saturating_sub(20));
                }
                for message in data.get("messages").and_then(Value::as_array).into_iter().flatten() {
                    self.entries.extend(message.get("entryId").and_then(Value::as_str).map(str::to_owned));
                }
                self.entries = self.entries.split_off(self.entries.len().saturating_sub(20));
                if let Some(is_streaming) = data.get("isStreaming").and_then(Value::as_bool) {
                    self.is_streaming = is_streaming || data["isCompacting"] == true;
                }
            }
            "approval_requested" => {
                self.approvals.extend(record["request"]["id"].as_str().map(str::to_owned));
            }
            "approval_ended" => self.approvals.retain(|id| id != text("id")),
            _ => {}
        }
    }

    /// Reads pending messages, and waits until at most `most` commands are unanswered.
    fn catch_up(&mut self, most: usize) -> Result<(), String> {
        loop {
            let patience = if self.waiting.len() > most { TIMEOUT } else { Duration::ZERO };
            match self.pipes.next(patience)? {
                Some(record) => self.take(&record),
                None if self.waiting.len() <= most => break,
                None => return Err(format!("nothing came for {TIMEOUT:?}: {:?}", self.waiting)),
            }
        }
        match self.waiting.values().find(|(_, since)| since.elapsed() > TIMEOUT) {
            Some((kind, _)) => Err(format!("{kind} was not answered within {TIMEOUT:?}")),
            None => Ok(()),
        }
    }

    fn command(&self, dice: &mut Dice) -> Value {
        let entry = dice.pick(&self.entries).map_or("none", String::as_str).to_owned();
        let file = dice.pick(&self.files).map_or("/none", String::as_str).to_owned();
        let queues = [Value::Null, json!("steer"), json!("followUp")];
        match dice.below(40) {
            0..10 => json!({"type": "prompt", "message": "go", "streamingBehavior": dice.pick(&queues)}),
            10 => json!({"type": "steer", "message": "left"}),
            11 => json!({"type": "follow_up", "message": "then"}),
            12 => json!({"type": "set_model", "provider": "own", "modelId": dice.pick(&["m", "n", "none"])}),
            13 => json!({"type": "set_thinking_level", "level": dice.pick(&["off", "high", "much"])}),
            14 => json!({"type": "set_steering_mode", "mode": dice.pick(&["all", "one-at-a-time"])}),
            15 => json!({"type": "set_auto_compaction", "enabled": dice.below(4) > 0}),
            16 => json!({"type": "set_permission_mode", "mode": dice.pick(&["auto", "auto", "ask", "plan"])}),
            17 => {
                json!({"type": "bash", "command": dice.pick(&["echo hi", "seq 9999", "sleep 20", "false"])})
            }
            18 => json!({"type": "compact"}),
            19 => json!({"type": "fork", "entryId": entry}),
            20 => json!({"type": "undo", "entryId": entry, "scope": "both"}),
            21 => json!({"type": "switch_session", "sessionPath": file}),
            22 | 23 => json!({"type": "new_session"}),
            24 => json!({"type": "set_session_name", "name": "a name"}),
            25 => json!({"type": "export_html", "outputPath": "export.html"}),
            _ => json!({"type": dice.pick(&PLAIN)}),
        }
    }
}

impl Talk for Rpc {
    fn act(&mut self, dice: &mut Dice) -> Result<(), String> {
        self.catch_up(AT_ONCE)?;
        if dice.below(2) == 0
            && let Some(id) = self.approvals.pop()
        {
            let decision = dice.pick(&["allow", "deny"]);
            return self.send(json!({"type": "answer_approval", "approvalId": id, "decision": decision}));
        }
        let command = self.command(dice);
        if dice.below(20) == 0 {
            let line = dice.nonsense(command.to_string().as_bytes());
            return self.pipes.write(&line);
        }
        self.send(command)
    }

    fn rest(&mut self) -> Result<(), String> {
        let since = Instant::now();
        loop {
            for kind in ["abort_bash", "clear_queue", "abort", "get_state"] {
                self.send(json!({"type": kind}))?;
            }
            self.catch_up(0)?;
            if !self.is_streaming && self.approvals.is_empty() {
                break;
            }
            if since.elapsed() > TIMEOUT {
                return Err(format!("it does not come to rest; calls that wait: {:?}", self.approvals));
            }
        }
        self.send(json!({"type": "set_permission_mode", "mode": "auto"}))?;
        self.send(json!({"type": "set_auto_compaction", "enabled": true}))?;
        self.send(json!({"type": "new_session"}))?;
        self.catch_up(0)
    }

    fn pid(&self) -> u32 {
        self.pipes.pid()
    }

    fn answered(&self) -> usize {
        self.answered
    }
}
