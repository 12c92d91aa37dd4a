//! `tau attempts`: compares attempts at a task, takes one or parts of several, and removes the copies.

use std::collections::BTreeMap;
use std::path::Path;

use crate::args::attempts::{AttemptsAction, AttemptsArgs};
use crate::attempts::hunks::{self, Choice};
use crate::attempts::{self, Attempt, Attempts, take, words};
use crate::compose;
use crate::compose::environment::paths;
use crate::process::exit::{Exit, fail, say, warn};
use crate::process::plain;
use tau_agent::settings::Paths;
use tau_tools::counted::pluralize;
use tau_tools::user_error::UserError;

/// Runs the command; returns the program's end.
pub(crate) fn run(args: &AttemptsArgs) -> Exit {
    let cwd = compose::here().map_err(|refusal| refusal.text);
    let done = cwd.and_then(|cwd| act(args, &paths()?, &cwd).map_err(String::from));
    match done {
        Ok(text) => say(&text),
        Err(why) => fail(Exit::Config, &why),
    }
}

fn act(args: &AttemptsArgs, paths: &Paths, cwd: &Path) -> Result<String, UserError> {
    match &args.action {
        None | Some(AttemptsAction::List { json: false }) => Ok(list(paths, cwd)),
        Some(AttemptsAction::List { json: true }) => {
            let text = serde_json::to_string_pretty(&attempts::all(paths, cwd));
            text.map(|text| text + "\n").map_err(|error| error.to_string().into())
        }
        Some(AttemptsAction::Diff { numbers, of }) => {
            diff(&attempts::find(paths, cwd, of.as_deref())?, numbers)
        }
        Some(AttemptsAction::Take { number, parts, of }) => {
            let found = attempts::find(paths, cwd, of.as_deref())?;
            let attempt = found.attempt(*number)?;
            let parts = hunks::parts(&found, attempt, parts, cwd)?;
            take_choices(paths, &found, &[Choice { attempt, parts }])
        }
        Some(AttemptsAction::Drop { of }) => {
            let found = attempts::find(paths, cwd, of.as_deref())?;
            let removed = format!("removed {}", pluralize(found.attempts.len() as u64, "attempt"));
            Ok(match take::sweep(paths, &found)? {
                0 => format!("{removed}\n"),
                stopped => format!("{removed}, stopped {}\n", pluralize(stopped as u64, "process")),
            })
        }
    }
}

fn list(paths: &Paths, cwd: &Path) -> String {
    let all = attempts::all(paths, cwd);
    if all.is_empty() {
        warn(&attempts::none_here(paths, cwd));
    }
    let text = |attempts: &Attempts| {
        let task = plain::line(attempts.task.lines().next().unwrap_or_default());
        let check = plain::line(&attempts.check);
        format!(
            "{}: {task} (until {check})\n{}",
            attempts.id,
            words::table(attempts, attempts.is_running(paths))
        )
    };
    all.iter().map(text).collect::<Vec<_>>().join("\n")
}

/// The changes of attempts, those of the same file one after another.
pub(crate) fn diff(found: &Attempts, numbers: &[u32]) -> Result<String, UserError> {
    let wanted: Vec<&Attempt> = match numbers {
        [] => found.attempts.iter().filter(|attempt| attempt.files.is_some()).collect(),
        numbers => numbers.iter().map(|number| found.attempt(*number)).collect::<Result<_, _>>()?,
    };
    let mut by_file: BTreeMap<String, String> = BTreeMap::new();
    for attempt in wanted {
        for (path, text) in hunks::numbered_patches(found, attempt)? {
            let of_file = by_file.entry(path).or_default();
            of_file.push_str(&format!("# attempt {}\n", attempt.number));
            of_file.push_str(&plain::text(&text));
        }
    }
    Ok(by_file.into_values().collect())
}

/// Takes an attempt, or parts of some; returns what was done.
pub(crate) fn take_choices(
    paths: &Paths,
    found: &Attempts,
    choices: &[Choice<'_>],
) -> Result<String, UserError> {
    let (session, files) = take::take(paths, found, choices)?;
    let (files, names) = (pluralize(files.len() as u64, "file"), take::names(choices));
    let mut text = format!("took {names}: {files}; `tau undo {session} --to 1` takes it back\n");
    if choices.iter().any(Choice::is_whole) {
        take::sweep(paths, found)?;
    } else {
        text.push_str("the attempts stay: take more, or remove them with `tau attempts drop`\n");
    }
    Ok(text)
}
