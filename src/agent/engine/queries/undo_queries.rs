//! The undo record of a call, and the results of undo work, which are found on other threads.

use crate::engine::base::undo_place::{CallUndo, UndoEvent};
use crate::engine::sessions::refusals;
use crate::engine::state::Engine;
use crate::undo::{CallStart, last_prompt};
use tau_protocol::event::{NoticeLevel, TaskEvent};
use tau_protocol::message::ToolCall;
use tau_protocol::query::QueryAnswer;

/// The undo record for a call.
pub(crate) fn of_call(engine: &Engine, call: &ToolCall) -> Option<CallUndo> {
    if let Some(role) = &engine.config.helper {
        return role.undo.clone();
    }
    let place = engine.undo.place.clone()?;
    let checkpoint = last_prompt(engine.config.session.tree());
    Some(CallUndo { place, start: CallStart { id: call.id.clone(), tool: call.name.clone(), checkpoint } })
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
        UndoEvent::Redoable { order, found } => refusals::stop_for_redo(engine, order, found),
    }
}

/// Tells the user which changes are not covered.
pub(crate) fn tell(engine: &mut Engine, notices: Vec<String>) {
    for notice in notices {
        engine.notice(NoticeLevel::Warning, notice, None);
    }
}
