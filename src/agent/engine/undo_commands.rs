//! Going back to a prompt, forward again, and reverting one change: files first, then the
//! conversation. Only while nothing runs.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::announce;
use super::attend::attend;
use super::branch;
use super::clock::now;
use super::state::Engine;
use super::undo_place::CRASHED;
use super::undo_queries::tell;
use crate::agent::protocol::event::{AgentEvent, NoticeLevel};
use crate::agent::protocol::message::{CustomMessage, Message, UserContent};
use crate::agent::protocol::undo::{RestoreReport, RevertOrder, UndoOrder, UndoScope};
use crate::agent::undo::{SessionUndo, prompts};

/// The type of the message that tells the model that files went back.
const NOTE: &str = "tau.undo";

/// Goes back to a prompt.
pub(crate) async fn undo(engine: &mut Engine, order: UndoOrder) {
    engine.load_all();
    let tree = engine.config.session.tree();
    let prompts = prompts(tree);
    let leaf = tree.leaf().map(|leaf| leaf.id.to_string()).filter(|_| order.scope.conversation());
    let scope = order.scope;
    let entry_id = order.entry_id.clone();
    let restored = carry_out(engine, move |undo| undo.undo(&prompts, &order, leaf)).await;
    let said = report(engine, restored, scope == UndoScope::Files);
    if said.is_ok() && scope.conversation() {
        branch::go_to(engine, &entry_id, None).await;
    }
    // What is said before the session opens would be lost with the old transcript.
    say(engine, said);
}

/// Takes the last undo back.
pub(crate) async fn redo(engine: &mut Engine, order: UndoOrder) {
    engine.load_all();
    let mut leaf = None;
    let restored = carry_out(engine, move |undo| undo.redo(&order)).await.map(|(report, was)| {
        leaf = was;
        report
    });
    let said = report(engine, restored, leaf.is_none());
    if let Some(leaf) = leaf.filter(|_| said.is_ok()) {
        branch::go_to(engine, &leaf, None).await;
    }
    say(engine, said);
}

/// Takes back one hunk, or the whole change of a file.
pub(crate) async fn revert(engine: &mut Engine, order: RevertOrder) {
    let restored = carry_out(engine, move |undo| undo.revert(&order)).await;
    let said = report(engine, restored, true);
    say(engine, said);
}

async fn carry_out<T: Send + 'static>(
    engine: &mut Engine,
    work: impl FnOnce(&mut SessionUndo) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let Some(place) = engine.undo.place.clone() else {
        return Err("what this session changes is not kept".to_owned());
    };
    let thread = spawn_blocking(move || place.with(|undo| (work(undo), undo.take_notices())));
    match attend(engine, thread).await {
        Ok((result, notices)) => {
            tell(engine, notices);
            result
        }
        Err(_) => Err(CRASHED.to_owned()),
    }
}

/// Reports how it went and returns the text for the user. If the conversation stays, the model gets a
/// note too.
fn report(
    engine: &mut Engine,
    restored: Result<RestoreReport, String>,
    stays: bool,
) -> Result<String, String> {
    let (report, error) = match restored {
        Ok(report) => (report, None),
        Err(error) => (RestoreReport::default(), Some(error)),
    };
    let changed: Vec<&str> = report.restored.iter().chain(&report.merged).map(String::as_str).collect();
    if stays && !changed.is_empty() {
        let note = CustomMessage {
            custom_type: NOTE.to_owned(),
            content: UserContent::Text(note(&changed)),
            display: false,
            details: None,
            timestamp: now(),
        };
        announce::record_external(engine, Arc::new(Message::Custom(note)));
    }
    let said = match &error {
        Some(error) => Err(format!("cannot undo: {error}")),
        None => Ok(report.summary()),
    };
    engine.emit(AgentEvent::FilesRestored { report, error });
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

fn say(engine: &mut Engine, said: Result<String, String>) {
    match said {
        Ok(text) => engine.notice(NoticeLevel::Info, text, None),
        Err(text) => {
            engine.notice(NoticeLevel::Error, text, Some("see /diff for what can be taken back"));
        }
    }
}
