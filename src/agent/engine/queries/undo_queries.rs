//! Queries about undo: prompts to go back to, and changes of the session.
//!
//! The answers are found on other threads.

use crate::engine::base::undo_place::{CallUndo, UndoEvent};
use crate::engine::state::Engine;
use crate::undo::{CallStart, last_prompt, prompts};
use tau_protocol::event::{NoticeLevel, TaskEvent};
use tau_protocol::message::ToolCall;
use tau_protocol::query::{Query, QueryAnswer};

/// The undo record for a call.
pub(crate) fn of_call(engine: &Engine, call: &ToolCall) -> Option<CallUndo> {
    let place = engine.undo.place.clone()?;
    let checkpoint = last_prompt(engine.config.session.tree());
    Some(CallUndo { place, start: CallStart { id: call.id.clone(), tool: call.name.clone(), checkpoint } })
}

/// Starts to answer a query about changes; `false` if it is another kind of query.
pub(crate) fn answer(engine: &mut Engine, ticket: u64, query: &Query) -> bool {
    match query {
        Query::Changes => engine.undo.answer(ticket, |undo| Ok(QueryAnswer::Changes(undo.changes()))),
        Query::Checkpoints => {
            engine.load_all();
            let prompts = prompts(engine.config.session.tree());
            engine.undo.answer(ticket, move |undo| Ok(QueryAnswer::Checkpoints(undo.checkpoints(&prompts))));
        }
        Query::UndoPlan { entry_id } => {
            engine.load_all();
            let prompts = prompts(engine.config.session.tree());
            let entry_id = entry_id.clone();
            engine.undo.answer(ticket, move |undo| {
                let plan = match &entry_id {
                    Some(entry_id) => undo.plan(&prompts, entry_id).ok_or("no such prompt on this branch"),
                    None => undo.redo_plan().ok_or("there is nothing to redo"),
                };
                Ok(QueryAnswer::UndoPlan(plan?))
            });
        }
        _ => return false,
    }
    true
}

/// Reports a result of undo work.
pub(crate) fn report(engine: &mut Engine, news: UndoEvent) {
    match news {
        UndoEvent::Answer { ticket, mut answer } => {
            if let Ok(QueryAnswer::Changes(changes)) = answer.as_mut() {
                let masking = &mut engine.config.behavior.masking;
                changes.files.iter_mut().for_each(|file| masking.diff(&mut file.diff));
            }
            engine.emit(TaskEvent::Answered { ticket, answer: *answer });
        }
        UndoEvent::Notices(notices) => tell(engine, notices),
    }
}

/// Tells the user which changes are not covered.
pub(crate) fn tell(engine: &mut Engine, notices: Vec<String>) {
    for notice in notices {
        engine.notice(NoticeLevel::Warning, notice, None);
    }
}
