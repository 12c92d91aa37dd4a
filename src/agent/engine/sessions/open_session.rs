//! Opens a session file, asking the user how if that is not possible directly.
//!
//! Another tau may have it open, or its directory may be gone. A session opened read-only is never written
//! to: a message sent in it starts a copy. Front ends without a user refuse instead.

use std::path::Path;

use tokio::time::{Duration, sleep};

use crate::engine::announce;
use crate::engine::attend::{ask, attend};
use crate::engine::state::Engine;
use crate::session::lock::Life;
use crate::session::tail::TAIL;
use crate::session::{Access, ForkRange, Owner, Session, SessionError};
use tau_protocol::command::{AgentCommand, QuestionAnswer, RunCommand};
use tau_protocol::event::{NoticeLevel, Question};
use tau_protocol::session_row::SessionOrigin;

const READ_ONLY: &str = "Open read-only; what you send continues in a copy";
const FORK: &str = "Fork: continue in a copy now";
const TAKE_OVER: &str = "Take over: its owner has ended";
const CANCEL: &str = "Cancel";

/// The time to wait before a lock is tried again.
const LOCK_RETRY: Duration = Duration::from_millis(20);

/// Opens a session file. A child process between fork and exec still holds the lock of a file that was
/// closed; a lock without an apparent owner is therefore tried again.
pub(crate) async fn open(engine: &mut Engine, path: &Path) -> Result<Session, SessionError> {
    for _ in 0..10 {
        match Session::open_tail(path, Access::Write, TAIL) {
            Err(SessionError::Locked { owner, .. }) if owner.pid == 0 => {
                attend(engine, sleep(LOCK_RETRY)).await;
            }
            other => return other,
        }
    }
    Session::open_tail(path, Access::Write, TAIL)
}

/// Opens the file, after asking the user how if necessary. `None` if the user cancels or the file cannot be
/// opened, which is reported. A file of another program is copied.
pub(crate) async fn open_or_ask(engine: &mut Engine, path: &Path, source: SessionOrigin) -> Option<Session> {
    let opened = match source.is_foreign() {
        true => Session::begin_from(path, source, engine.config.place.dir.as_deref(), None),
        false => open(engine, path).await,
    };
    let session = match opened {
        Err(SessionError::Locked { owner, .. }) => in_use(engine, path, &owner).await?,
        Err(error) => return report_refusal(engine, &error),
        Ok(session) => session,
    };
    match session.info().cwd.is_dir() {
        true => Some(session),
        false => resolve_missing_directory(engine, path, source, session).await,
    }
}

fn report_refusal(engine: &mut Engine, error: &SessionError) -> Option<Session> {
    announce::report_session_refusal(engine, error);
    None
}

async fn in_use(engine: &mut Engine, path: &Path, owner: &Owner) -> Option<Session> {
    let mut options = vec![READ_ONLY.to_owned(), FORK.to_owned()];
    if owner.life() == Life::Ended {
        options.push(TAKE_OVER.to_owned());
    }
    let title = format!("This session is in use by another tau ({owner}).");
    let session = match choose(engine, title, options).await.as_str() {
        READ_ONLY => Session::open_tail(path, Access::Read, TAIL),
        FORK => Session::copy(path, engine.config.place.dir.as_deref(), None),
        TAKE_OVER => Session::open_tail(path, Access::TakeOver, TAIL),
        _ => return None,
    };
    session.map_or_else(|error| report_refusal(engine, &error), Some)
}

async fn resolve_missing_directory(
    engine: &mut Engine,
    path: &Path,
    source: SessionOrigin,
    session: Session,
) -> Option<Session> {
    let here = engine.config.place.cwd.clone();
    let run_here = format!("Continue, running commands in {}", here.display());
    let fork = format!("Fork: a new session in {}", here.display());
    let title = format!("The directory of this session, {}, no longer exists.", session.info().cwd.display());
    match choose(engine, title, vec![run_here.clone(), fork.clone()]).await {
        choice if choice == run_here && session.is_read_only() => Some(session),
        choice if choice == run_here && session.info().file.as_ref().is_some_and(|file| file.exists()) => {
            let moved = session.move_to(engine.config.place.dir.as_deref(), &here);
            moved.map_or_else(|error| report_refusal(engine, &error), Some)
        }
        // A session that is not in a file of tau yet begins here.
        choice if choice == run_here || choice == fork => {
            drop(session);
            let copy = Session::begin_from(path, source, engine.config.place.dir.as_deref(), Some(&here));
            copy.map_or_else(|error| report_refusal(engine, &error), Some)
        }
        _ => None,
    }
}

/// The user's choice; [`CANCEL`] if none was made.
async fn choose(engine: &mut Engine, title: String, mut options: Vec<String>) -> String {
    options.push(CANCEL.to_owned());
    // An earlier cancellation must not answer this question.
    engine.begin();
    match ask(engine, Question::Select { title, options }).await {
        QuestionAnswer::Value(choice) => choice,
        QuestionAnswer::Confirmed(_)
        | QuestionAnswer::Form(_)
        | QuestionAnswer::Answers(_)
        | QuestionAnswer::PlanAccepted { .. }
        | QuestionAnswer::PlanRejected { .. }
        | QuestionAnswer::Unavailable
        | QuestionAnswer::Declined
        | QuestionAnswer::Cancelled => CANCEL.to_owned(),
    }
}

/// Prepares the session for a command: a read-only session becomes a copy before it is written to,
/// and a large one is read completely if the model needs all of it.
pub(crate) fn prepare(engine: &mut Engine, command: &AgentCommand) {
    let AgentCommand::Run(command) = command else { return };
    let sends = match command {
        RunCommand::Prompt { .. }
        | RunCommand::PromptMessage { .. }
        | RunCommand::Continue
        | RunCommand::Compact { .. } => true,
        RunCommand::SendQueued => !engine.queues.is_empty(),
        RunCommand::PursueGoal => engine.goal.goal.is_some(),
        RunCommand::Abort | RunCommand::AbortRetry => false,
    };
    if !sends {
        return;
    }
    announce::finish_survey(engine);
    let read_only = engine.config.session.is_read_only();
    if read_only {
        engine.load_all();
    }
    engine.load_context();
    if read_only
        && let Some(copy) = engine.config.session.fork(engine.config.place.dir.as_deref(), ForkRange::Known)
    {
        // It was reported if a part of it could not be read.
        engine.config.session = copy;
        announce::report_session(engine);
        let text = "the session is in use elsewhere: continuing in a copy";
        engine.notice(NoticeLevel::Info, text, None);
    }
}
