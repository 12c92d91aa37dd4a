//! `tau worktree`: lists, makes, merges, removes and restores worktrees.

use std::path::Path;

use serde_json::{Value, json};

use super::table;
use crate::args::worktree::{WorktreeAction, WorktreeArgs};
use crate::compose;
use crate::compose::environment::paths;
use crate::process::exit::{Exit, fail, say, warn};
use crate::process::plain;
use crate::worktrees::snapshot::Ahead;
use crate::worktrees::{self, EnteredWorktree, Worktree, keep, session};
use tau_agent::settings::Paths;
use tau_tools::counted::pluralize;
use tau_tools::path_text;
use tau_tools::user_error::UserError;

/// Runs the command; returns the program's end.
pub(crate) fn run(args: &WorktreeArgs) -> Exit {
    let done = here().and_then(|(paths, cwd)| match &args.action {
        WorktreeAction::List { json: false } => list(&paths, &cwd),
        WorktreeAction::List { json: true } => list_as_json(&paths, &cwd),
        WorktreeAction::Add { name, from } => {
            let name = name.clone().unwrap_or_else(worktrees::new_name);
            worktrees::enter(&paths, &cwd, &name, from.as_deref()).map(|entered| folder(&entered))
        }
        WorktreeAction::Merge { name } => {
            let worktree = worktrees::find_by_name(&paths, &cwd, name)?;
            session::wait_or_refuse_open(&paths, &worktree)?;
            worktree.merge(&paths).map(|merged| merged.words(name) + "\n")
        }
        WorktreeAction::Remove { name } => {
            let worktree = worktrees::find_by_name(&paths, &cwd, name)?;
            session::wait_or_refuse_open(&paths, &worktree)?;
            worktree.remove(&paths).map(|removed| removed.words(name) + "\n")
        }
        WorktreeAction::Restore { name } => keep::restore(&paths, &cwd, name).map(|entered| folder(&entered)),
    });
    match done {
        Ok(text) => say(&text),
        Err(why) => fail(Exit::Config, &why),
    }
}

/// Says how to continue with the worktree that the program has worked in.
pub(crate) fn report_worktree() {
    let Ok((paths, cwd)) = here() else { return };
    if let Some(Worktree { name, .. }) = worktrees::around(&paths, &cwd) {
        warn(&format!("the worktree {name} stays: tau worktree merge {name}, or tau worktree remove {name}"));
    }
}

fn here() -> Result<(Paths, std::path::PathBuf), UserError> {
    let cwd = compose::here().map_err(|refusal| refusal.text)?;
    Ok((paths()?, cwd))
}

/// The folder of a worktree, as a line.
fn folder(entered: &EnteredWorktree) -> String {
    entered.notes.iter().for_each(|note| warn(note));
    format!("{}\n", plain::line(&entered.worktree.path.display().to_string()))
}

/// The commits and changes of a worktree, in words.
fn has(worktree: &Worktree, ahead: &Result<Ahead, UserError>) -> String {
    match ahead {
        _ if !worktree.exists() => worktree.missing_folder(),
        Ok(ahead) if ahead.is_nothing() => "nothing of its own".to_owned(),
        Ok(ahead) => {
            let (commits, changes) =
                (pluralize(ahead.commits, "commit"), pluralize(ahead.changes as u64, "change"));
            format!("{commits}, {changes}")
        }
        Err(why) => plain::line(why),
    }
}

fn list(paths: &Paths, cwd: &Path) -> Result<String, UserError> {
    let all = worktrees::all(paths, cwd)?;
    let row = |worktree: &Worktree| {
        let path = plain::line(&worktree.path.display().to_string());
        [worktree.name.clone(), has(worktree, &worktree.ahead()), path]
    };
    let mut rows: Vec<[String; 3]> = all.iter().map(row).collect();
    let removed = |name: String| {
        let restore = format!("tau worktree restore {name}");
        [name, "removed, its work is kept".to_owned(), restore]
    };
    rows.extend(keep::kept_names(cwd)?.into_iter().map(removed));
    if rows.is_empty() {
        warn("this repository has no worktrees of tau; `tau -w` makes one");
    }
    Ok(table::columns(&rows))
}

fn list_as_json(paths: &Paths, cwd: &Path) -> Result<String, UserError> {
    let row = |worktree: &Worktree| -> Value {
        let (exists, ahead) = (worktree.exists(), worktree.ahead());
        let (ahead, error) = match ahead {
            Ok(ahead) => (Some(ahead), None),
            Err(why) => (None, Some(why)),
        };
        json!({
            "name": worktree.name,
            "path": path_text::text(&worktree.path),
            "branch": worktree.branch(),
            "from": path_text::text(&worktree.from),
            "state": if exists { "present" } else { "missing" },
            "commits": ahead.as_ref().map(|ahead| ahead.commits),
            "changes": ahead.as_ref().map(|ahead| ahead.changes),
            "error": error.filter(|_| exists),
        })
    };
    let removed = |name: String| json!({ "name": name, "state": "removed" });
    let all = worktrees::all(paths, cwd)?;
    let rows: Vec<Value> =
        all.iter().map(row).chain(keep::kept_names(cwd)?.into_iter().map(removed)).collect();
    let text = serde_json::to_string_pretty(&rows).map_err(|error| error.to_string())?;
    Ok(text + "\n")
}
