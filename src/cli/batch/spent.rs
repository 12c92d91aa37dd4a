//! The cost of the runs of tasks, also of those that left no result, and how the last one of a task ended.
//!
//! The events of a task's last run say what it cost. Before the next one begins, that is added to a file beside them.

use std::fs;
use std::io::{self, BufRead as _, BufReader};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::results::{BatchFolder, TaskResult, last_line, tail};
use crate::compose::environment::paths;
use crate::live::commands::answer_in;
use crate::process::exit::Exit;
use crate::process::plain;
use tau_agent::session::list;
use tau_agent::session::unreported::usage_of_file;
use tau_agent::settings::Settings;
use tau_agent::settings::private_files::{read_capped, write_private};
use tau_protocol::message::{Message, Usage};
use tau_protocol::run::RunEnd;
use tau_protocol::usage::helper_usage;
use tau_tools::regular_files::open_regular;

/// Maximum size of the file of earlier runs, in bytes.
const MAX_SIZE: u64 = 4 * 1024;

/// The cost of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct BatchCost {
    /// US dollars, of the runs whose price is known.
    pub cost: f64,
    pub tokens: u64,
    /// The number of runs whose price is not known.
    pub unpriced: u32,
    /// Whether any of it is estimated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl BatchCost {
    /// Adds what others have cost.
    pub fn add(&mut self, other: BatchCost) {
        self.cost += other.cost;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.unpriced = self.unpriced.saturating_add(other.unpriced);
        self.estimated |= other.estimated;
    }

    /// US dollars, with the mark of what is estimated.
    pub fn money(&self, digits: usize) -> String {
        let about = if self.estimated { "~" } else { "" };
        format!("{about}${:.digits$}", self.cost)
    }

    fn of_usage(used: &Usage) -> Self {
        BatchCost::of(used.dollars(), used.total_tokens, used.estimated)
    }

    fn of(cost: Option<f64>, tokens: u64, estimated: bool) -> Self {
        BatchCost {
            cost: cost.unwrap_or_default(),
            tokens,
            unpriced: u32::from(cost.is_none() && tokens > 0),
            estimated,
        }
    }
}

/// The runs of a task before the last one.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Earlier {
    spent: BatchCost,
    /// The session of the last run that is counted in it.
    session: Option<String>,
}

/// The facts that are known of a run.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub exit: Option<u8>,
    /// The signal that ended it.
    pub signal: Option<u8>,
    pub reason: String,
    pub error: Option<String>,
    /// The limit that ended it.
    limit: Option<RunEnd>,
    pub cost: Option<f64>,
    pub tokens: u64,
    pub estimated: bool,
    pub text: String,
    pub session: Option<String>,
    /// The usage of its answers, which its end repeats.
    used: Usage,
    has_ended: bool,
}

impl Run {
    /// Notes what is to be known of an event.
    pub fn take(&mut self, line: &[u8]) {
        let Ok(mut event) = serde_json::from_slice::<Value>(line) else { return };
        let text = |name: &str| event.get(name).and_then(Value::as_str).map(str::to_owned);
        match text("type").as_deref() {
            Some("session") => self.session = text("id"),
            Some("message_end") => {
                if let Some(answer) = event.get("message").and_then(answer_in) {
                    self.text = tail(&answer);
                }
                let message = event.get_mut("message").map(Value::take).unwrap_or_default();
                match serde_json::from_value(message) {
                    Ok(Message::Assistant(answer)) => self.used.add(&answer.usage),
                    Ok(Message::ToolResult(result)) => {
                        self.used.add(&helper_usage(&result.details).unwrap_or_default());
                    }
                    _ => {}
                }
            }
            Some("end") => {
                self.has_ended = true;
                let code = event.get("exitCode").and_then(Value::as_u64);
                self.exit = code.and_then(|code| u8::try_from(code).ok());
                self.reason = text("reason").unwrap_or_default();
                self.error = text("error");
                let limit = event.get("limit").cloned().unwrap_or_default();
                self.limit = serde_json::from_value(limit).ok();
                self.cost = event.get("cost").and_then(Value::as_f64);
                let of_usage = |name| event.get("usage").and_then(|usage: &Value| usage.get(name));
                self.tokens = of_usage("totalTokens").and_then(Value::as_u64).unwrap_or_default();
                self.estimated = of_usage("estimated").and_then(Value::as_bool).unwrap_or_default();
            }
            _ => {}
        }
    }

    /// Its exit code, if its end says something about the task. A failure of the provider, the configuration or the
    /// machine does not, nor does a run that was stopped, or that no money of the day was left for.
    pub fn result(&self) -> Option<u8> {
        let ends = [Exit::Ok, Exit::Refused, Exit::Limit, Exit::Stuck, Exit::Invalid, Exit::GivenUp];
        self.exit.filter(|code| ends.iter().any(|exit| exit.code() == *code) && !self.is_day_spent())
    }

    /// Whether the limit of 24 hours has ended it.
    pub fn is_day_spent(&self) -> bool {
        self.limit == Some(RunEnd::Day)
    }

    /// Why it has left no result: its error, else what it `said` last; the end of one that was stopped says more.
    pub fn why(self, said: impl FnOnce() -> Option<String>) -> Option<String> {
        let is_stopped = self.exit.is_none_or(|code| code > 128);
        let reason = Some(self.reason).filter(|reason| !reason.is_empty());
        self.error.or_else(|| if is_stopped { reason.or_else(said) } else { said().or(reason) })
    }

    fn cost_so_far(&self) -> BatchCost {
        match self.has_ended {
            true => BatchCost::of(self.cost, self.tokens, self.estimated),
            false => {
                // What it told last, while its batch was being killed, is in its session only.
                let kept = self.session.as_deref().and_then(usage_of_session);
                BatchCost::of_usage(&kept.unwrap_or(self.used))
            }
        }
    }
}

/// The usage of a session of this machine; `None` if it has none with this ID.
fn usage_of_session(id: &str) -> Option<Usage> {
    let paths = paths().ok()?;
    let root = Settings::load_leniently(&paths).0.session_root(&paths);
    usage_of_file(&list::of_id(&root, id)?)
}

impl BatchFolder {
    /// The last run of a task; `None` if it was never begun.
    fn last_run(&self, id: &str) -> Option<Run> {
        let mut run = Run::default();
        let lines = BufReader::new(open_regular(&self.run_file(id)).ok()?).split(b'\n');
        lines.map_while(Result::ok).for_each(|line| run.take(&line));
        Some(run)
    }

    fn earlier_file(&self, id: &str) -> std::path::PathBuf {
        self.run_file(id).with_extension("earlier.json")
    }

    fn earlier(&self, id: &str) -> Earlier {
        let bytes = read_capped(&self.earlier_file(id), MAX_SIZE).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Counts the last run as an earlier one, before its events are replaced. Fails with errors of the file system.
    pub fn begin_another(&self, id: &str) -> io::Result<()> {
        let Some(run) = self.last_run(id) else { return Ok(()) };
        let mut earlier = self.earlier(id);
        if run.session.is_none() || run.session == earlier.session {
            return Ok(());
        }
        earlier.spent.add(run.cost_so_far());
        earlier.session = run.session;
        write_private(&self.earlier_file(id), &serde_json::to_vec(&earlier)?)
    }

    /// The cost of all runs of a task.
    pub fn task_cost(&self, id: &str, result: Option<&TaskResult>) -> BatchCost {
        let Earlier { mut spent, session } = self.earlier(id);
        match result {
            Some(result) => spent.add(BatchCost {
                unpriced: u32::from(result.cost.is_none()),
                ..BatchCost::of(result.cost, result.tokens, result.estimated)
            }),
            None => {
                let run = self.last_run(id).filter(|run| run.session.is_some() && run.session != session);
                run.iter().for_each(|run| spent.add(run.cost_so_far()));
            }
        }
        spent
    }

    /// The cost of all runs of a task that runs on this machine; `None` if its session has nothing yet.
    pub fn cost_at_work(&self, id: &str) -> Option<BatchCost> {
        let mut first = Vec::new();
        BufReader::new(open_regular(&self.run_file(id)).ok()?).read_until(b'\n', &mut first).ok()?;
        let mut run = Run::default();
        run.take(&first);
        let Earlier { mut spent, session } = self.earlier(id);
        if run.session != session {
            let used = usage_of_session(run.session.as_deref()?)?;
            spent.add(BatchCost::of_usage(&used));
        }
        Some(spent)
    }

    /// Notes why an attempt at a task ended before its tau ran, in place of what is known of the run before.
    pub fn note_failure(&self, id: &str, why: &str) {
        let write = || {
            self.begin_another(id)?;
            match fs::remove_file(self.run_file(id)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => fs::write(self.error_file(id), format!("tau: {}\n", plain::line(why))),
            }
        };
        if let Err(error) = write() {
            tracing::warn!(%error, "the end of a task could not be noted");
        }
    }

    /// Why a task without a result has none; `None` if it was never begun.
    pub fn why_missing(&self, id: &str) -> Option<String> {
        let lock = self.lock_file(id);
        if lock.exists() && matches!(self.claim(id), Ok(None)) {
            return Some("it is at work".to_owned());
        }
        let Some(run) = self.last_run(id) else { return last_line(&self.error_file(id)) };
        if run.result().is_some() {
            return Some("it was stopped before its check had ended".to_owned());
        }
        let is_cut = run.session.is_some() && !run.has_ended;
        let why = if is_cut { None } else { run.why(|| last_line(&self.error_file(id))) };
        Some(why.unwrap_or_else(|| "it was killed".to_owned()))
    }
}
