//! Prompts on standard input of JSON mode: a session that grows, and is compacted.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::pipes::Pipes;
use super::{Dice, Place, TIMEOUT, Talk};

/// The maximum number of waiting prompts.
const AT_ONCE: usize = 4;
/// An id that does not exist.
const NOBODY: &str = "none";

struct JsonLines {
    pipes: Pipes,
    sessions: PathBuf,
    /// The numbers sent and answered: prompts, interrupts, lines that are not commands.
    prompts: (usize, usize),
    interrupts: (usize, usize),
    mistakes: (usize, usize),
    approvals: Vec<String>,
}

/// Starts tau in JSON mode.
pub fn start(place: &Place, tau: &Path) -> Result<Box<dyn Talk>, String> {
    println!("\njson: tau --json");
    let arguments = ["--json", "--model", "own/m", "--permission-mode", "ask"];
    let mut pipes = Pipes::start(&mut place.tau(tau, &arguments))?;
    // The first line determines that lines follow.
    pipes.write(br#"{"type":"message","content":"go"}"#)?;
    let (interrupts, mistakes, approvals) = ((0, 0), (0, 0), Vec::new());
    let sessions = place.path("home").join("sessions");
    Ok(Box::new(JsonLines { pipes, sessions, prompts: (1, 0), interrupts, mistakes, approvals }))
}

impl JsonLines {
    fn take(&mut self, record: &Value) {
        let id = |record: &Value| record["id"].as_str().map(str::to_owned);
        match record["type"].as_str() {
            Some("agent_settled") => self.prompts.1 += 1,
            Some("interrupted") => self.interrupts.1 += 1,
            Some("error") if !is_late(record) => self.mistakes.1 += 1,
            Some("approval_requested") => self.approvals.extend(id(&record["request"])),
            Some("approval_ended") => self.approvals.retain(|waiting| Some(waiting) != id(record).as_ref()),
            _ => {}
        }
    }

    fn send(&mut self, record: &Value) -> Result<(), String> {
        self.pipes.write(record.to_string().as_bytes())
    }

    fn interrupt(&mut self) -> Result<(), String> {
        self.interrupts.0 += 1;
        self.send(&json!({"type": "interrupt"}))
    }

    /// Waits until at most `most` prompts are unanswered, ending slow ones.
    fn catch_up(&mut self, most: usize) -> Result<(), String> {
        let (since, mut quiet) = (Instant::now(), Instant::now());
        loop {
            match self.pipes.next(Duration::from_millis(if self.prompts.0 - self.prompts.1 > most {
                100
            } else {
                0
            }))? {
                Some(record) => self.take(&record),
                None if self.prompts.0 - self.prompts.1 <= most => return Ok(()),
                None => {}
            }
            for id in std::mem::take(&mut self.approvals) {
                let decision = if id.len() % 2 == 0 { "allow" } else { "deny" };
                self.send(&json!({"type": "approval", "id": id, "decision": decision}))?;
            }
            if quiet.elapsed() > Duration::from_millis(300) && self.prompts.0 - self.prompts.1 > most {
                quiet = Instant::now();
                self.interrupt()?;
            }
            if since.elapsed() > TIMEOUT {
                return Err(format!("{:?} prompts (sent, ended) after {TIMEOUT:?}", self.prompts));
            }
        }
    }
}

impl Talk for JsonLines {
    fn act(&mut self, dice: &mut Dice) -> Result<(), String> {
        self.catch_up(AT_ONCE)?;
        match dice.below(20) {
            0..12 => {
                self.prompts.0 += 1;
                self.send(&json!({"type": "message", "content": "go"}))
            }
            12..15 => self.interrupt(),
            15 => {
                self.mistakes.0 += 1;
                self.send(&json!({"type": "approval", "id": NOBODY, "decision": "allow"}))
            }
            16 => {
                self.mistakes.0 += 1;
                self.send(&json!({"type": "answer", "id": NOBODY, "declined": true}))
            }
            17 => {
                self.mistakes.0 += 1;
                self.send(&json!({"type": "message", "content": 7}))
            }
            _ => {
                // Nothing that could be a command by chance.
                self.mistakes.0 += 1;
                self.pipes.write(&[b"{", dice.nonsense(b"[1, 2, 3]").as_slice()].concat())
            }
        }
    }

    fn rest(&mut self) -> Result<(), String> {
        self.catch_up(0)?;
        let since = Instant::now();
        while self.interrupts.0 != self.interrupts.1 || self.mistakes.0 != self.mistakes.1 {
            if let Some(record) = self.pipes.next(Duration::from_millis(100))? {
                self.take(&record);
            }
            if since.elapsed() > TIMEOUT {
                let (interrupts, mistakes) = (self.interrupts, self.mistakes);
                return Err(format!("interrupts {interrupts:?} and mistakes {mistakes:?} (sent, answered)"));
            }
        }
        Ok(())
    }

    /// One session, whose entries are in memory: about one and a quarter times its file.
    fn kept(&self) -> u64 {
        size(&self.sessions) / 1024 * 5 / 4
    }

    fn pid(&self) -> u32 {
        self.pipes.pid()
    }

    fn answered(&self) -> usize {
        self.prompts.1 + self.interrupts.1 + self.mistakes.1
    }
}

/// True if a decision came after its call had ended.
fn is_late(record: &Value) -> bool {
    let error = record["error"].as_str().unwrap_or_default();
    error.starts_with("no call with the id") && !error.contains(NOBODY)
}

/// The total size of the files in a folder, in bytes.
fn size(folder: &Path) -> u64 {
    let inside = std::fs::read_dir(folder).into_iter().flatten().flatten();
    inside
        .map(|entry| match entry.metadata() {
            Ok(facts) if facts.is_dir() => size(&entry.path()),
            Ok(facts) => facts.len(),
            Err(_) => 0,
        })
        .sum()
}
