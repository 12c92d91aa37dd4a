//! The results of attempts, as a table and as JSON.

use serde_json::{Value, json};

use super::meter::SoFar;
use super::{Attempt, Attempts};
use crate::commands::table;
use crate::process::exit::Exit;
use crate::process::plain;
use crate::protocol;
use tau_tools::counted::pluralize;
use tau_tools::path_text;

/// The results as a table: number, outcome, time, cost, size of the difference, model, session.
pub(crate) fn table(attempts: &Attempts, is_running: bool) -> String {
    let cells = |attempt: &Attempt| cells(attempt, is_running);
    table::columns(&attempts.attempts.iter().map(cells).collect::<Vec<_>>())
}

/// The row of an attempt; `is_running` is whether those that have not ended are at work.
pub(crate) fn cells(attempt: &Attempt, is_running: bool) -> [String; 7] {
    let changed = attempt.changed;
    [
        attempt.number.to_string(),
        outcome(attempt, is_running).to_owned(),
        time(attempt.seconds),
        money(attempt.cost, attempt.estimated),
        match &attempt.unkept {
            Some(why) => format!("not kept: {}", plain::line(why)),
            None => format!("{} +{} -{}", pluralize(changed.files, "file"), changed.added, changed.removed),
        },
        plain::line(attempt.model.as_deref().unwrap_or_default()),
        attempt.session.clone(),
    ]
}

/// A cost in words; `None` is one that is not known.
pub(super) fn money(cost: Option<f64>, estimated: bool) -> String {
    let about = if estimated { "~" } else { "" };
    cost.map_or_else(|| "$?".to_owned(), |cost| format!("{about}${cost:.3}"))
}

/// How an attempt ended, in words.
fn outcome(attempt: &Attempt, is_running: bool) -> &'static str {
    match attempt.exit_code {
        _ if attempt.reached => "succeeded",
        None if is_running => "at work",
        None => "not finished",
        Some(code) => {
            Exit::TABLE.iter().find(|(_, known, _)| *known == code).map_or("ended", |(.., meaning)| *meaning)
        }
    }
}

pub(super) fn time(seconds: f64) -> String {
    let whole = seconds as u64;
    if whole < 60 { format!("{seconds:.1} s") } else { format!("{} min {} s", whole / 60, whole % 60) }
}

/// The record of the start of an attempt.
pub(super) fn start_record(attempts: &Attempts, attempt: &Attempt) -> Value {
    json!({
        "type": "attempt_start",
        "id": attempts.id,
        "attempt": attempt.number,
        "directory": path_text::text(&attempt.path),
        "model": attempt.model,
        "session": attempt.session,
    })
}

/// The record of an attempt that has come further.
pub(super) fn progress(number: usize, so_far: &SoFar) -> Value {
    let SoFar { rounds, dollars, estimated } = *so_far;
    let record = json!({ "type": "attempt_progress", "attempt": number, "rounds": rounds, "cost": dollars });
    with_mark(record, estimated)
}

/// A record of money, with the mark of what is estimated.
pub(super) fn with_mark(mut record: Value, estimated: bool) -> Value {
    if estimated {
        protocol::set(&mut record, "estimated", json!(true));
    }
    record
}

/// The record of the end of an attempt.
pub(super) fn end_record(attempt: &Attempt) -> Value {
    let record = json!({
        "type": "attempt_end",
        "attempt": attempt.number,
        "reached": attempt.reached,
        "exitCode": attempt.exit_code,
        "seconds": attempt.seconds,
        "cost": attempt.cost,
        "changed": attempt.changed,
        "commit": attempt.files,
        "unkept": attempt.unkept,
    });
    with_mark(record, attempt.estimated)
}
