//! Opening a session where that is not possible as it is: the person is asked how.
//!
//! Another tau may have it open, or its directory may be gone. A session that was opened to be
//! looked at is written to by nobody here: what is said in it begins a copy. Without a person to
//! ask, `switch` refuses instead.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::questions;
use super::session_commands;
use super::task::Agent;
use crate::agent::protocol::command::{AgentCommand, Answer};
use crate::agent::protocol::event::{NoticeLevel, Question};
use crate::agent::session::lock::Life;
use crate::agent::session::tail::TAIL;
use crate::agent::session::{Access, ForkRange, Owner, Session, SessionError};

const LOOK: &str = "look only; what you send goes on in a copy";
const FORK: &str = "fork: go on in a copy now";
const TAKE_OVER: &str = "take over: its owner has ended";
const CANCEL: &str = "cancel";

/// Opens the file, after asking how where that is needed; none when the person wants none of it,
/// or it cannot be opened at all, which has been told.
pub(crate) async fn open(agent: &mut Agent, path: &Path) -> Option<Session> {
    let session = match session_commands::open(agent, path).await {
        Err(SessionError::Locked { owner, .. }) => in_use(agent, path, &owner).await?,
        Err(error) => return refused(agent, &error),
        Ok(session) => session,
    };
    if session.info().cwd.is_dir() { Some(session) } else { gone(agent, path, session).await }
}

fn refused(agent: &mut Agent, error: &SessionError) -> Option<Session> {
    session_commands::refused(agent, error);
    None
}

async fn in_use(agent: &mut Agent, path: &Path, owner: &Owner) -> Option<Session> {
    let mut options = vec![LOOK.to_owned(), FORK.to_owned()];
    if owner.life() == Life::Ended {
        options.push(TAKE_OVER.to_owned());
    }
    let title = format!("this session is in use by another tau ({owner})");
    let session = match choose(agent, title, options).await.as_str() {
        LOOK => Session::open_tail(path, Access::Read, TAIL),
        FORK => Session::copy(path, agent.config.place.dir.as_deref(), None),
        TAKE_OVER => Session::open_tail(path, Access::TakeOver, TAIL),
        _ => return None,
    };
    session.map_or_else(|error| refused(agent, &error), Some)
}

async fn gone(agent: &mut Agent, path: &Path, session: Session) -> Option<Session> {
    let here = agent.config.place.cwd.clone();
    let go_on = format!("go on, with commands in {}", here.display());
    let fork = format!("fork: a new session of {}", here.display());
    let title = format!("the directory of this session, {}, is gone", session.info().cwd.display());
    match choose(agent, title, vec![go_on.clone(), fork.clone()]).await {
        choice if choice == go_on => Some(session),
        choice if choice == fork => {
            drop(session);
            let copy = Session::copy(path, agent.config.place.dir.as_deref(), Some(&here));
            copy.map_or_else(|error| refused(agent, &error), Some)
        }
        _ => None,
    }
}

/// What the person chooses; [`CANCEL`] when nothing.
async fn choose(agent: &mut Agent, title: String, mut options: Vec<String>) -> String {
    options.push(CANCEL.to_owned());
    // What stopped the last run is not to answer this.
    agent.stop = CancellationToken::new();
    match questions::ask(agent, Question::Select { title, options }).await {
        Answer::Value(choice) => choice,
        Answer::Confirmed(_) | Answer::Cancelled => CANCEL.to_owned(),
    }
}

/// Makes the session ready for a command: one that is only looked at becomes a copy before it is
/// written to, and a large one is read whole when the model is to be told all of it.
pub(crate) fn prepare(agent: &mut Agent, command: &AgentCommand) {
    let speaks = matches!(
        command,
        AgentCommand::Prompt { .. } | AgentCommand::Continue | AgentCommand::Compact { .. }
    );
    if !speaks {
        return;
    }
    let looked_at = agent.config.session.is_read_only();
    if looked_at || !agent.config.session.context_is_loaded() {
        agent.complete();
    }
    if looked_at
        && let Some(copy) = agent.config.session.fork(agent.config.place.dir.as_deref(), ForkRange::All)
    {
        agent.config.session = copy;
        session_commands::opened(agent);
        let text = "the session is in use elsewhere: this goes on in a copy";
        agent.notice(NoticeLevel::Info, text, None);
    }
}
