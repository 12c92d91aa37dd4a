//! `tau diff` and `tau undo`: shows and reverts the file changes of a session.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{export, table};
use crate::args::undo::{DiffArgs, SessionArgs, UndoArgs};
use crate::compose::environment::{self, Environment};
use crate::compose::{self, session_lookup};
use crate::live::others::Others;
use crate::process::confirmation::confirm;
use crate::process::exit::{Exit, Refusal, say, warn};
use crate::process::{plain, runtime};
use tau_agent::secrets::masking::Masking;
use tau_agent::secrets::vault::Vault;
use tau_agent::session::{Access, Session, list};
use tau_agent::undo::{Prompt, SessionUndo, prompts};
use tau_protocol::undo::{
    ChangeKind, ChangedFile, NotCovered, SessionChanges, UndoOrder, UndoPlan, UndoScope,
};

/// A session: its prompts, its undo data, and the way to the process that may have it open.
struct FoundSession {
    id: String,
    others: Others,
    masking: Masking,
    prompts: Vec<Prompt>,
    undo: Option<SessionUndo>,
}

/// Finds a session, or the last one of this directory.
fn find(of: &SessionArgs) -> Result<FoundSession, Refusal> {
    let environment = Environment::of_sessions(of.session_dir.as_deref())?;
    let root = environment.settings.session_root(&environment.paths);
    let file = match of.session.as_deref() {
        Some(wanted) => session_lookup::file_of(&root, wanted)?,
        None => {
            let cwd = compose::here()?;
            let newest = list::newest(&root, &cwd, true);
            newest.ok_or_else(|| {
                Refusal::config("no session in this directory; name one, see `tau --resume`")
            })?
        }
    };
    let session = Session::open_as(&file, Access::Read).map_err(Refusal::config)?;
    let options = environment::undo_options(&environment.settings, &environment.paths);
    let undo = SessionUndo::open_finished(&options, &session.info().id);
    let own = export::secrets(&environment.keys);
    let masking = Masking::new(Vault::new(environment.settings.mask_secrets(), &own));
    let others = Others::new(environment.paths, environment.settings.network());
    let id = session.info().id.clone();
    Ok(FoundSession { id, others, masking, prompts: prompts(session.tree()), undo })
}

/// Runs `tau diff`; returns the program's end.
pub fn diff(args: &DiffArgs) -> Exit {
    let found = find(&args.of);
    match found {
        Ok(FoundSession { undo, mut masking, .. }) => {
            let cwd = undo.as_ref().map(|undo| undo.cwd().to_owned()).unwrap_or_default();
            let mut changes = undo.map(|mut undo| undo.changes()).unwrap_or_default();
            changes.files.iter_mut().for_each(|file| masking.diff(&mut file.diff));
            let exit = say(&patch(&changes, &cwd));
            export::report_masked_secrets(masking.vault.count(), "standard output");
            if let Some(text) = uncovered_notice(&changes.not_covered) {
                warn(&text);
            }
            exit
        }
        Err(refusal) => refusal.fail(),
    }
}

/// The changes as a patch for `git apply` and `patch`; what is no change of a text is a comment. `cwd` is the directory
/// of the session.
fn patch(changes: &SessionChanges, cwd: &Path) -> String {
    let mut text = String::new();
    for file in &changes.files {
        let path = plain::line(&file.path);
        let (old, new) = match file.kind {
            ChangeKind::Created => ("/dev/null".to_owned(), format!("b/{path}")),
            ChangeKind::Removed => (format!("a/{path}"), "/dev/null".to_owned()),
            ChangeKind::Changed => (format!("a/{path}"), format!("b/{path}")),
        };
        // Writing to a string cannot fail.
        if let Some(remarks) = remarks(file) {
            let _ = writeln!(text, "# {path}: {remarks}");
        }
        let is_empty = file.diff.hunks.is_empty();
        if is_empty && (file.note.is_some() || file.kind == ChangeKind::Changed) {
            continue;
        }
        let _ = writeln!(text, "diff --git a/{path} b/{path}");
        text.push_str(match file.kind {
            ChangeKind::Created if is_executable(&cwd.join(&file.path)) => "new file mode 100755\n",
            ChangeKind::Created => "new file mode 100644\n",
            ChangeKind::Removed => "deleted file mode 100644\n",
            ChangeKind::Changed => "",
        });
        if !is_empty {
            let _ = write!(text, "--- {old}\n+++ {new}\n{}", plain::text(&file.diff.to_unified()));
        }
        if file.diff.cut {
            text.push_str("# more changes are not shown\n");
        }
    }
    text
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.permissions().mode() & 0o100 != 0)
}

/// Facts about a change that no patch has.
fn remarks(file: &ChangedFile) -> Option<String> {
    let since = file.changed_since.then_some("changed since");
    let note = file.note.as_deref().map(plain::line);
    let all: Vec<&str> = note.as_deref().into_iter().chain(since).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

fn uncovered_notice(lost: &[NotCovered]) -> Option<String> {
    let line = |lost: &NotCovered| format!("{}: {}", plain::line(&lost.path), plain::line(&lost.reason));
    let lines: Vec<String> = lost.iter().map(line).collect();
    (!lines.is_empty()).then(|| format!("not covered: {}", lines.join("; ")))
}

/// Runs `tau undo`; returns the program's end.
pub fn undo(args: &UndoArgs) -> Result<Exit, Refusal> {
    let FoundSession { id, others, prompts, undo, .. } = find(&args.of)?;
    let Some(mut undo) = undo else { return Ok(say("this session changed no file\n")) };
    let Some(number) = args.to else { return Ok(say(&format_list(&mut undo, &prompts))) };
    let prompt = number
        .checked_sub(1)
        .and_then(|at| prompts.get(at))
        .ok_or_else(|| Refusal::usage(format!("there is no prompt {number}; `tau undo` lists them")))?;
    let plan = undo.plan(&prompts, &prompt.entry_id).unwrap_or_default();
    if plan.files.is_empty() && plan.conflicts.is_empty() {
        if let Some(text) = uncovered_notice(&plan.not_covered) {
            warn(&text);
        }
        return Ok(say("no file has to be restored\n"));
    }
    let alone = "nobody can be asked here; --yes restores without a question";
    if !args.yes && !confirm(&question(&plan, undo.cwd()), alone)? {
        return Ok(say("nothing was restored\n"));
    }
    let order = UndoOrder {
        entry_id: prompt.entry_id.clone(),
        scope: UndoScope::Files,
        otherwise: args.conflicts.into(),
        ..UndoOrder::default()
    };
    let there = runtime::on_this_thread()?.block_on(others.undo(&id, &order)).map_err(Refusal::config)?;
    let report = match there {
        Some(report) => report,
        None => undo.undo(&prompts, &order, None).map_err(Refusal::config)?,
    };
    for notice in undo.take_notices() {
        warn(&notice);
    }
    if let Some(text) = uncovered_notice(&plan.not_covered) {
        warn(&text);
    }
    let exit = say(&format!("{}\n", plain::line(&report.summary("restored"))));
    Ok(if report.failed.is_empty() { exit } else { Exit::Model })
}

/// The prompts by number, with the changes of each.
fn format_list(undo: &mut SessionUndo, prompts: &[Prompt]) -> String {
    let row = |(at, one): (usize, tau_protocol::undo::Checkpoint)| {
        let text: String =
            plain::line(one.text.lines().next().unwrap_or_default()).chars().take(50).collect();
        let files = match one.files.as_slice() {
            [] => "no files".to_owned(),
            [path] => plain::line(path),
            [path, rest @ ..] => format!("{} and {} more", plain::line(path), rest.len()),
        };
        [(at + 1).to_string(), text, files]
    };
    let rows: Vec<[String; 3]> = undo.checkpoints(prompts).into_iter().enumerate().map(row).collect();
    table::columns(&rows)
}

/// The question before it.
fn question(plan: &UndoPlan, cwd: &Path) -> String {
    let mut text = format!("In {}:\n", plain::line(&cwd.display().to_string()));
    for path in &plan.files {
        let _ = writeln!(text, "  restore {}", plain::line(path));
    }
    for conflict in &plan.conflicts {
        let merge = if conflict.mergeable { ", can be merged" } else { "" };
        let _ = writeln!(text, "  {} was {}{merge}", plain::line(&conflict.path), conflict.reason);
    }
    for lost in &plan.not_covered {
        let _ = writeln!(text, "  not covered: {} ({})", plain::line(&lost.path), plain::line(&lost.reason));
    }
    text + "Restore? [y/N] "
}
