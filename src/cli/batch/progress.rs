//! The progress of a batch: a few lines that are drawn again on a terminal, a line for each end
//! otherwise, or JSON.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Instant;

use serde_json::{Value, json};

use super::report::{duration, why};
use super::runner::Outcome;
use super::spent::BatchCost;
use super::tasks::BatchTask;
use crate::process::exit::{Exit, say};
use crate::process::{plain, stderr};
use crate::tui::terminal;
use tau_view::wrap::truncate;

/// Rows for tasks that run.
const ROWS: usize = 20;

#[derive(Debug)]
pub(super) struct Progress {
    kind: Kind,
    started: Instant,
    total: usize,
    passed: usize,
    failed: usize,
    missing: usize,
    running: BTreeMap<String, (Instant, String)>,
    /// The number of lines on the terminal that are to be replaced.
    drawn: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Json,
    Terminal,
    Lines,
}

impl Progress {
    /// The progress of a batch with so many tasks; `passed` and `failed` have their results already.
    pub fn new(as_json: bool, total: usize, (passed, failed): (usize, usize)) -> Self {
        let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        let kind = match std::io::stderr().is_terminal() && !is_dumb {
            _ if as_json => Kind::Json,
            true => Kind::Terminal,
            false => Kind::Lines,
        };
        let (started, running) = (Instant::now(), BTreeMap::new());
        Progress { kind, started, total, passed, failed, missing: 0, running, drawn: 0 }
    }

    /// Whether it is drawn again as time passes.
    pub fn moves(&self) -> bool {
        self.kind == Kind::Terminal
    }

    /// Notes that a task begins; `cost` as for [`Self::draw`].
    pub fn report_start(&mut self, task: &BatchTask, cost: BatchCost) {
        self.running.insert(task.id.clone(), (Instant::now(), plain::line(&task.prompt)));
        self.tell(&json!({ "type": "started", "id": task.id }));
        self.draw(cost);
    }

    /// Notes the end of an attempt; `cost` as for [`Self::draw`]. Fails when nobody reads the JSON any more.
    pub fn report_end(&mut self, id: &str, outcome: &Outcome, cost: BatchCost) -> bool {
        self.running.remove(id);
        let line = match outcome {
            Outcome::Result(result) => {
                let word = if result.passed { "passed" } else { "failed" };
                *(if result.passed { &mut self.passed } else { &mut self.failed }) += 1;
                let more = if result.passed { String::new() } else { format!(": {}", why(result)) };
                format!("{word}  {id}  {}{more}", duration(result.seconds))
            }
            Outcome::Missing(why) | Outcome::DaySpent(why) | Outcome::Killed(_, why) => {
                self.missing += 1;
                format!("no result  {id}: {}", plain::line(why))
            }
        };
        self.wipe();
        if self.kind != Kind::Json {
            stderr::write(format!("{line}\n").as_bytes());
        }
        let told = match outcome {
            Outcome::Result(result) => self.tell(&json!({ "type": "ended", "result": result })),
            Outcome::Missing(why) | Outcome::DaySpent(why) | Outcome::Killed(_, why) => {
                self.tell(&json!({ "type": "missing", "id": id, "reason": why }))
            }
        };
        self.draw(cost);
        told
    }

    fn tell(&self, event: &Value) -> bool {
        self.kind != Kind::Json || say(&format!("{event}\n")) == Exit::Ok
    }

    /// The summary, in a line.
    fn summary(&self, cost: BatchCost) -> String {
        let done = self.passed + self.failed;
        let missing =
            if self.missing == 0 { String::new() } else { format!(", {} without a result", self.missing) };
        format!(
            "{done}/{} done: {} passed, {} failed{missing} · {} running · {} · {}",
            self.total,
            self.passed,
            self.failed,
            self.running.len(),
            cost.money(2),
            duration(self.started.elapsed().as_secs_f64())
        )
    }

    /// Draws the lines on a terminal again; `cost` is that of all runs so far.
    pub fn draw(&mut self, cost: BatchCost) {
        if self.kind != Kind::Terminal {
            return;
        }
        self.wipe();
        let size = terminal::size();
        let width = size.width.saturating_sub(1).max(20);
        let rows = ROWS.min(usize::from(size.height).saturating_sub(3));
        let mut lines: Vec<String> = self
            .running
            .iter()
            .take(rows)
            .map(|(id, (since, prompt))| {
                let line = format!("  {}  {id}  {prompt}", duration(since.elapsed().as_secs_f64()));
                truncate(&line, width).into_owned()
            })
            .collect();
        if self.running.len() > rows {
            lines.push(format!("  and {} more", self.running.len() - rows));
        }
        lines.push(truncate(&self.summary(cost), width).into_owned());
        self.drawn = lines.len();
        stderr::write((lines.join("\n") + "\n").as_bytes());
    }

    /// Removes the drawn lines.
    pub fn wipe(&mut self) {
        let drawn = std::mem::take(&mut self.drawn);
        if drawn > 0 {
            stderr::write(format!("\x1b[{drawn}A\r\x1b[J").as_bytes());
        }
    }
}
