//! Undo commands: going back to a prompt, forward again, and reverting one change.
//!
//! Files first, then the conversation. Only while nothing is running.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::branch;
use crate::engine::announce;
use crate::engine::attend::attend;
use crate::engine::base::clock::now;
use crate::engine::base::undo_place::CRASHED;
use crate::engine::queries::undo_queries::tell;
use crate::engine::state::Engine;
use crate::undo::{NOT_RECORDED, SessionUndo, prompts};
use tau_protocol::event::{NoticeLevel, SessionEvent};
use tau_protocol::message::{CustomMessage, Message};
use tau_protocol::undo::{RestoreReport, RevertOrder, UndoOrder, UndoScope};
use tau_tools::user_error::UserError;

/// The type of the message that tells the model that files were restored.
const NOTE: &str = "tau.undo";

/// The direction in which files are restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Back,
    Forward,
}

impl Direction {
    fn command(self) -> &'static str {
        match self {
            Direction::Back => "undo",
            Direction::Forward => "redo",
        }
    }

    /// The text about a finished restore, and how to reverse it; `moves` says whether the conversation moves,
    /// too.
    fn describe(self, report: &RestoreReport, moves: bool) -> String {
        let count = report.restored.len() + report.merged.len();
        let is_changed = count > 0;
        let changes = if report.restored.len() == 1 { "change" } else { "changes" };
        let them = if count > 1 { "them" } else { "it" };
        let (done, conversation, back) = match self {
            Direction::Back => ("undid", "took the conversation back", format!("; /redo restores {them}")),
            Direction::Forward => {
                ("brought back", "brought the conversation back", format!("; /undo undoes {them} again"))
            }
        };
        let files = report.summary(&format!("{done} the {changes} to"));
        let is_untouched = *report == RestoreReport::default();
        match (is_changed, moves) {
            (true, _) => files + &back,
            (false, true) if is_untouched => format!("{conversation}{back}"),
            (false, true) => format!("{conversation}, {files}{back}"),
            (false, false) => files,
        }
    }
}

/// Goes back to a prompt.
pub(crate) async fn undo(engine: &mut Engine, order: UndoOrder) {
    engine.load_all();
    let tree = engine.config.session.tree();
    let prompts = prompts(tree);
    let leaf = tree.leaf().map(|leaf| leaf.id.to_string()).filter(|_| order.scope.conversation());
    let scope = order.scope;
    let entry_id = order.entry_id.clone();
    let restored = carry_out(engine, move |undo| undo.undo(&prompts, &order, leaf)).await;
    let said = report(engine, restored, scope == UndoScope::Files, Direction::Back);
    if said.is_ok() && scope.conversation() {
        branch::go_to(engine, &entry_id, None).await;
    }
    // A message before the session opens would be lost with the old transcript.
    say(engine, said);
}

/// Reverses the last undo.
pub(crate) async fn redo(engine: &mut Engine, order: UndoOrder) {
    engine.load_all();
    let mut leaf = None;
    let restored = carry_out(engine, move |undo| undo.redo(&order)).await.map(|(report, was)| {
        leaf = was;
        report
    });
    let said = report(engine, restored, leaf.is_none(), Direction::Forward);
    if let Some(leaf) = leaf.filter(|_| said.is_ok()) {
        branch::go_to(engine, &leaf, None).await;
    }
    say(engine, said);
}

/// Reverts one hunk, or the whole change of a file.
pub(crate) async fn revert(engine: &mut Engine, order: RevertOrder) {
    let restored = carry_out(engine, move |undo| undo.revert(&order)).await;
    let said = report(engine, restored, true, Direction::Back);
    say(engine, said);
}

async fn carry_out<T: Send + 'static>(
    engine: &mut Engine,
    work: impl FnOnce(&mut SessionUndo) -> Result<T, UserError> + Send + 'static,
) -> Result<T, UserError> {
    let Some(place) = engine.undo.place.clone() else {
        return Err(NOT_RECORDED.into());
    };
    let thread = spawn_blocking(move || place.with(|undo| (work(undo), undo.take_notices())));
    match attend(engine, thread).await {
        Ok((result, notices)) => {
            tell(engine, notices);
            result
        }
        Err(_) => Err(CRASHED.into()),
    }
}

/// Reports the result and returns the text for the user. If the conversation stays, the model gets a note
/// too.
fn report(
    engine: &mut Engine,
    restored: Result<RestoreReport, UserError>,
    stays: bool,
    direction: Direction,
) -> Result<String, UserError> {
    let (report, error) = match restored {
        Ok(report) => (report, None),
        Err(error) => (RestoreReport::default(), Some(error)),
    };
    let changed: Vec<&str> = report.restored.iter().chain(&report.merged).map(String::as_str).collect();
    if stays && !changed.is_empty() {
        let note = CustomMessage::new_hidden(NOTE, note(&changed), None, now());
        announce::record_external(engine, Arc::new(Message::Custom(note)));
    }
    let said = match &error {
        Some(error) => Err(UserError::new(format!("cannot {}", direction.command())).because(error)),
        None => Ok(direction.describe(&report, !stays)),
    };
    engine.emit(SessionEvent::FilesRestored { report, error: error.map(String::from) });
    said
}

/// The note to the model about files that were restored.
fn note(changed: &[&str]) -> String {
    let files = match changed {
        [one] => format!("{one} is"),
        several => format!("{} are", several.join(", ")),
    };
    format!(
        "[tau] The user took changes back: {files} no longer as you left it. Read it again before you change it."
    )
}

fn say(engine: &mut Engine, said: Result<String, UserError>) {
    match said {
        Ok(text) => engine.notice(NoticeLevel::Info, text, None),
        Err(text) => {
            engine.notice(NoticeLevel::Error, text, Some("see /diff for what can be taken back"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_says_which_way() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let report = |restored: &[&str], merged: &[&str], kept: &[&str]| RestoreReport {
            restored: names(restored),
            merged: names(merged),
            kept: names(kept),
            failed: Vec::new(),
        };
        let (back, forward) = (Direction::Back, Direction::Forward);
        let cases = [
            (back, report(&["a"], &[], &[]), false, "undid the change to a; /redo restores it"),
            (
                back,
                report(&["a", "b"], &["c"], &["d"]),
                true,
                "undid the changes to 2 files, merged c, left as they are: d; /redo restores them",
            ),
            (back, report(&[], &[], &[]), true, "took the conversation back; /redo restores it"),
            (
                back,
                report(&[], &[], &["d"]),
                true,
                "took the conversation back, left as they are: d; /redo restores it",
            ),
            (back, report(&[], &[], &["d"]), false, "left as they are: d"),
            (back, report(&[], &[], &[]), false, "no file had to be changed"),
            (forward, report(&["a"], &[], &[]), true, "brought back the change to a; /undo undoes it again"),
            (forward, report(&[], &[], &[]), true, "brought the conversation back; /undo undoes it again"),
        ];
        for (direction, report, moves, expected) in cases {
            assert_eq!(direction.describe(&report, moves), expected);
        }
    }
}
