//! Serves commands, the user's shells and outgoing events during a wait.
//!
//! One task owns the conversation, so there are no locks; all its waits go through here.

use std::pin::pin;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::helper_role::{HelperRole, Rights};
use super::shell::Shells;
use super::state::Engine;
use super::{announce, ask_user, background_jobs, commands, delegation, gate, side_question};
use crate::engine::queries::undo_queries;
use tau_protocol::command::QuestionAnswer;
use tau_protocol::event::{Question, QuestionEvent};

/// Commands are no longer read while this many events are waiting to be sent.
const BACKLOG: usize = 1_024;

/// Awaits `work` while serving commands, the user's shells and the outbox. `work` is paused while events are
/// waiting to be sent, unless the run is to stop, which it must notice.
pub(crate) async fn attend<F: Future>(engine: &mut Engine, work: F) -> F::Output {
    let mut work = pin!(work);
    loop {
        receive_waiting(engine);
        let open = engine.outbox.is_empty() || engine.current.stop.is_cancelled();
        tokio::select! {
            () = serve(engine) => {}
            output = &mut work, if open => return output,
        }
    }
}

/// Like [`attend`], but returns `None` as soon as the run is to stop.
pub(crate) async fn attend_unless_stopped<F: Future>(engine: &mut Engine, work: F) -> Option<F::Output> {
    let stop = engine.current.stop.clone();
    attend(engine, stop.run_until_cancelled(work)).await
}

/// Does one thing: sends an event, receives a command, reports shell output, or handles a piece of the
/// session that was read. Cancel safe: there is no await between taking something and handling it.
pub(crate) async fn serve(engine: &mut Engine) {
    let receives = engine.outbox.len() < BACKLOG && !engine.current.shutting_down;
    let calm = engine.outbox.is_empty() || engine.shells.ending();
    let stopping = engine.current.stop.is_cancelled() || engine.current.shutting_down;
    let is_asked = engine.approvals.iter().next().is_some() || !engine.questions.is_empty();
    engine.goal.follow_pauses(is_asked);
    let deadline = engine.deadline().filter(|_| !stopping).map(|limit| limit.at);
    tokio::select! {
        () = engine.outbox.send_next(), if !engine.outbox.is_closed() => {
            if engine.outbox.is_closed() {
                engine.shut_down();
            }
        }
        command = engine.inbox.recv(), if receives => match command {
            Some(command) => commands::receive(engine, command),
            None => engine.shut_down(),
        },
        () = tau_tools::deadline::until(deadline), if deadline.is_some() => engine.time_up(),
        event = engine.shells.next(), if calm => commands::shell_event(engine, event),
        news = engine.jobs.next(), if calm => background_jobs::report(engine, news),
        news = engine.side.next(), if calm => side_question::report(engine, news),
        read = engine.history.next() => announce::history_read(engine, read),
        news = engine.undo.next() => undo_queries::report(engine, news),
        news = engine.mcp.next(), if calm => commands::mcp_news(engine, news),
        Some(request) = engine.user.next() => ask_user::take(engine, request),
        event = engine.helpers.next(calm || stopping) => delegation::take(engine, event),
        rights = next_rights(&mut engine.config.helper) => gate::take_rights(engine, rights),
    }
}

/// The next rights that a parent gives to its helper; pending for an agent without a parent. Cancel safe.
async fn next_rights(role: &mut Option<HelperRole>) -> Rights {
    if let Some(role) = role
        && role.rights.changed().await.is_ok()
    {
        return role.rights.borrow_and_update().clone();
    }
    std::future::pending().await
}

/// Receives every command that has already arrived, so that no other work overtakes it.
fn receive_waiting(engine: &mut Engine) {
    while !engine.current.shutting_down && engine.outbox.len() < BACKLOG {
        match engine.inbox.try_recv() {
            Ok(command) => commands::receive(engine, command),
            Err(mpsc::error::TryRecvError::Empty) => return,
            Err(mpsc::error::TryRecvError::Disconnected) => engine.shut_down(),
        }
    }
}

/// Stops the background jobs, within a moment or until `deadline`, and records how all have ended.
pub(crate) async fn end_jobs(engine: &mut Engine, deadline: Instant) {
    if let Some(ending) = background_jobs::ending(engine, deadline) {
        attend(engine, ending).await;
    }
    if !engine.jobs.jobs.all().is_empty() {
        background_jobs::record_ends(engine);
    }
}

/// Waits for the ends of helpers, which were stopped, at most until `deadline`.
pub(crate) async fn end_delegation(engine: &mut Engine, deadline: Instant) {
    while !engine.helpers.is_empty() && timeout_at(deadline, serve(engine)).await.is_ok() {}
}

/// Stops the user's commands and waits for them, at most until `deadline`.
pub(crate) async fn end_shells(engine: &mut Engine, deadline: Instant) {
    engine.shells.cancel();
    while !engine.shells.is_empty() {
        if timeout_at(deadline, serve(engine)).await.is_err() {
            (0..engine.shells.unreported_count()).for_each(|_| engine.undo.commands.end());
            engine.shells = Shells::default();
        }
    }
}

/// Asks the user. The question is cancelled when the run is to stop.
pub(crate) async fn ask(engine: &mut Engine, question: Question) -> QuestionAnswer {
    let (id, answer) = engine.questions.open();
    engine.emit(QuestionEvent::Asked { id: id.clone(), question });
    let answer = attend_unless_stopped(engine, answer).await;
    engine.questions.close(&id);
    match answer {
        Some(Ok(answer)) => answer,
        Some(Err(_)) | None => QuestionAnswer::Cancelled,
    }
}
