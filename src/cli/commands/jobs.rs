//! `tau jobs`: the processes of commands of any session, whether a tau still has them or they are left over.

use serde_json::json;

use super::table;
use crate::args::CliArgs;
use crate::args::live::JobsArgs;
use crate::compose::environment::{Environment, OnBadConfig, paths};
use crate::live::record;
use crate::process::exit::{Exit, Refusal, fail, say, warn};
use crate::process::plain;
use tau_agent::session::list;
use tau_app::time_format;
use tau_tools::process::left::{self, LeftProcess};

/// Runs `tau jobs`; returns the program's end.
pub(crate) fn run(args: &JobsArgs) -> Exit {
    // `tau sessions` lists them.
    let hosts = paths().map(|paths| record::hosts(&paths)).unwrap_or_default();
    let mut all = left::all_beside(&hosts);
    if !args.stop.is_empty() {
        return stop(&all, &args.stop);
    }
    name_sessions(&mut all);
    if args.json {
        let rows: Vec<String> = all.iter().map(|process| as_json(process).to_string()).collect();
        return say(&if rows.is_empty() {
            "[]\n".to_owned()
        } else {
            format!("[\n{}\n]\n", rows.join(",\n"))
        });
    }
    if all.is_empty() {
        warn("no process that tau started is running");
    }
    let rows: Vec<[String; 7]> = all.iter().map(row).collect();
    say(&table::columns(&rows))
}

/// Finds the sessions of processes that have dropped their environment.
fn name_sessions(all: &mut [LeftProcess]) {
    let mut unnamed = all.iter_mut().filter(|process| process.session.is_empty()).peekable();
    if unnamed.peek().is_none() {
        return;
    }
    let Ok(environment) = Environment::read(&CliArgs::without_arguments(), OnBadConfig::Warn) else { return };
    let ids = list::ids(&environment.settings.session_root(&environment.paths));
    for process in unnamed {
        let own = ids.iter().find(|id| process.is_of(id));
        process.session = own.cloned().unwrap_or_default();
    }
}

fn as_json(process: &LeftProcess) -> serde_json::Value {
    json!({
        "pid": process.pid,
        "command": process.name,
        "session": (!process.session.is_empty()).then_some(&process.session),
        "seconds": process.age.as_secs(),
        "cpuSeconds": process.cpu.as_secs_f64(),
        "memory": process.memory,
        "state": "running",
        "tau": process.tau,
    })
}

fn row(process: &LeftProcess) -> [String; 7] {
    let session = process.session.get(process.session.len().saturating_sub(4)..).unwrap_or_default();
    let age = i64::try_from(process.age.as_millis()).unwrap_or(i64::MAX);
    [
        process.pid.to_string(),
        plain::line(session),
        time_format::age(age),
        format!("cpu {:.1} s", process.cpu.as_secs_f64()),
        format!("{} MB", process.memory / 1_000_000),
        process.tau.map_or_else(|| "left over".to_owned(), |tau| format!("tau {tau}")),
        plain::line(&process.name),
    ]
}

/// Stops the processes with these numbers. A number without a process keeps none of the others running: it may have
/// ended since it was listed.
fn stop(all: &[LeftProcess], wanted: &[i32]) -> Exit {
    let stopped: Vec<LeftProcess> =
        all.iter().filter(|process| wanted.contains(&process.pid)).cloned().collect();
    let ended = left::stop(&stopped);
    let unknown = wanted.iter().find(|pid| !stopped.iter().any(|process| process.pid == **pid));
    match (unknown, ended) {
        (_, false) => fail(Exit::Model, "not every process has ended; `tau jobs` lists what is left"),
        (Some(pid), true) => {
            let text = format!("tau started no process {pid}; `tau jobs` lists them");
            Refusal::config(text).fail()
        }
        (None, true) => Exit::Ok,
    }
}
