//! The report of a batch: how many tasks passed, what they cost, how long they took.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::results::TaskResult;
use super::spent::BatchCost;
use super::tasks::BatchTask;
use crate::commands::table;
use crate::process::plain;
use tau_tools::counted::pluralize;

/// Tasks of each kind that the text names.
const NAMED: usize = 20;

/// The results of the tasks so far, and why others have none.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    pub results: Vec<TaskResult>,
    /// The tasks without a result, with the reason if an attempt was made.
    pub missing: Vec<(String, Option<String>)>,
    /// The cost of all runs.
    spent: BatchCost,
}

impl Report {
    /// Of these tasks, in their order.
    pub fn new(
        tasks: &[BatchTask],
        mut results: HashMap<String, TaskResult>,
        mut reasons: HashMap<String, String>,
        spent: &HashMap<String, BatchCost>,
    ) -> Self {
        let mut report = Report::default();
        for task in tasks {
            spent.get(&task.id).iter().for_each(|spent| report.spent.add(**spent));
            match results.remove(&task.id) {
                Some(result) => report.results.push(result),
                None => report.missing.push((task.id.clone(), reasons.remove(&task.id))),
            }
        }
        report
    }

    /// The number of tasks that passed.
    pub fn passed_count(&self) -> usize {
        self.results.iter().filter(|result| result.passed).count()
    }

    /// Whether every task has passed.
    pub fn is_perfect(&self) -> bool {
        self.missing.is_empty() && self.passed_count() == self.results.len()
    }

    fn seconds(&self) -> f64 {
        self.results.iter().fold(0.0, |sum, result| sum + result.seconds)
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let passed = self.passed_count();
        let missing = self.missing.iter().map(|(id, why)| json!({ "id": id, "reason": why }));
        json!({
            "type": "report",
            "tasks": self.results.len() + self.missing.len(),
            "passed": passed,
            "failed": self.results.len() - passed,
            "missing": missing.collect::<Vec<_>>(),
            "passRate": rate(passed, self.results.len()),
            "cost": self.spent.cost,
            "estimated": self.spent.estimated,
            "unpriced": self.spent.unpriced,
            "tokens": self.spent.tokens,
            "seconds": self.seconds(),
            "results": self.results,
        })
    }

    /// As text.
    pub fn text(&self) -> String {
        let (passed, with) = (self.passed_count(), self.results.len());
        let all = with + self.missing.len();
        let mut text = format!(
            "{}: {passed} passed, {} failed, {} without a result\n",
            pluralize(all as u64, "task"),
            with - passed,
            self.missing.len()
        );
        if let Some(rate) = rate(passed, with) {
            text += &format!("pass rate {:.1} %\n", rate * 100.0);
        }
        let BatchCost { cost, tokens, unpriced, .. } = self.spent;
        let money = self.spent.money(4);
        let cost = match unpriced {
            0 => format!("cost {money}"),
            _ if cost == 0.0 => "cost not known".to_owned(),
            some => format!("cost {money}, without {} whose price is not known", pluralize(some, "run")),
        };
        text += &format!("{cost}, {}\n", pluralize(tokens, "token"));
        if let Some(slowest) = self.results.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds)) {
            let (sum, longest) = (duration(self.seconds()), duration(slowest.seconds));
            text += &format!("time {sum} in total, {longest} for the longest ({})\n", slowest.id);
        }
        let failed = self.results.iter().filter(|result| !result.passed);
        let failed: Vec<[String; 2]> = failed.map(|result| [result.id.clone(), why(result)]).collect();
        let missing = self.missing.iter();
        let missing: Vec<[String; 2]> = missing
            .map(|(id, why)| [id.clone(), plain::line(why.as_deref().unwrap_or("not tried yet"))])
            .collect();
        let uncollected =
            self.results.iter().filter_map(|result| Some((&result.id, result.uncollected.as_deref()?)));
        let uncollected: Vec<[String; 2]> =
            uncollected.map(|(id, what)| [id.clone(), plain::line(what)]).collect();
        let tables = [
            ("failed", failed),
            ("without a result", missing),
            ("changes that were not collected", uncollected),
        ];
        for (title, rows) in tables {
            if rows.is_empty() {
                continue;
            }
            text += &format!(
                "\n{title}:\n{}",
                table::columns(rows.get(..NAMED.min(rows.len())).unwrap_or_default())
            );
            if rows.len() > NAMED {
                text += &format!("and {} more\n", rows.len() - NAMED);
            }
        }
        text
    }
}

/// The reason of a failed task, in a few words.
pub(super) fn why(result: &TaskResult) -> String {
    let text = match &result.check {
        Some(check) => {
            let end = match (check.exit_code, check.signal) {
                (Some(code), _) => format!("exited with {code}"),
                (None, Some(signal)) => format!("was ended by signal {signal}"),
                (None, None) => "did not end in time".to_owned(),
            };
            format!("the check {end} (run: {})", result.reason)
        }
        None => result.error.clone().unwrap_or_else(|| result.reason.clone()),
    };
    plain::line(&text)
}

fn rate(passed: usize, all: usize) -> Option<f64> {
    (all > 0).then(|| passed as f64 / all as f64)
}

/// Seconds in words: `42s`, `3m12s`, `2h05m`.
pub(super) fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h{minutes:02}m"),
    }
}
