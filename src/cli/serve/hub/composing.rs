//! Composes the agents of sessions: new ones, saved ones, and those that continue others.

use std::path::Path;
use std::sync::Arc;

use super::{NewSession, in_use};
use crate::commands::export as documents;
use crate::compose::Setup;
use crate::live::rights::{self, FlaggedMode};
use crate::process::exit::Refusal;
use crate::serve::problem::Problem;
use crate::services::Services;
use tau_agent::engine::config::AgentConfig;
use tau_agent::session::entry::Body;
use tau_agent::session::tail::TAIL;
use tau_agent::session::{Access, ForkRange, Session, SessionError, foreign};
use tau_protocol::approval::PermissionMode;
use tau_protocol::message::Message;
use tau_protocol::model::Model;
use tau_protocol::query::SessionSource;
use tau_protocol::session_row::SessionOrigin;
use tau_tools::paths::resolve;

/// An agent that can be started, and notices for the user.
pub(super) struct StartableAgent {
    pub(super) config: AgentConfig,
    pub(super) services: Services,
    pub(super) notices: Vec<String>,
}

pub(super) fn compose_new(
    base: &Setup,
    new: NewSession,
    model: Option<Arc<Model>>,
) -> Result<StartableAgent, Problem> {
    let cwd = new.cwd.unwrap_or_else(|| base.cwd.clone());
    let cwd = cwd.canonicalize().ok().filter(|dir| dir.is_dir()).ok_or_else(|| {
        Problem::refused(format!("cwd: {} is not a directory on the server", cwd.display()))
    })?;
    let setup = own_setup(base, &cwd)?;
    let dir = setup.session_dir();
    let mut session = match &new.parent {
        Some(parent) => Session::begin_after(dir.as_deref(), &setup.cwd, parent),
        None => Session::begin(dir.as_deref(), &setup.cwd, new.id),
    };
    if let Some(name) = &new.name {
        session.set_name(name).map_err(|error| Problem::failed(error.to_string()))?;
    }
    let mut composed = compose_agent(setup, session)?;
    let config = &mut composed.config;
    if let Some(model) = model {
        config.thinking = model.nearest(config.thinking);
        config.model = Some(model);
    }
    if let Some(level) = new.options.thinking {
        config.thinking = config.model.as_ref().map_or(level, |model| model.nearest(level));
    }
    if let Some(mode) = new.options.mode {
        config.behavior.choose_mode(mode).map_err(Problem::refused)?;
    }
    Ok(composed)
}

/// Gives a session the mode of its parent, as far as the server allows it.
pub(super) fn inherit(composed: &mut StartableAgent, mode: PermissionMode) {
    let behavior = &mut composed.config.behavior;
    behavior.permission_mode = mode.min(behavior.mode_ceiling);
}

pub(super) fn compose_saved_session(base: &Setup, path: &Path) -> Result<StartableAgent, Problem> {
    let session = Session::open_tail(path, Access::Write, TAIL).map_err(|error| match error {
        SessionError::Locked { owner, .. } => in_use(&owner.to_string()),
        other => Problem::failed(other.to_string()),
    })?;
    let cwd = session.info().cwd.clone();
    if !cwd.is_dir() {
        let text = format!("cannot continue this session: its directory {} is gone", cwd.display());
        return Err(Problem::conflict("directory-gone", text));
    }
    let mut session = session;
    session.survey();
    let mut base = base.clone();
    // The process of a screen opens it for the user of this machine.
    let flagged = if base.profile.is_client { FlaggedMode::Ignored } else { FlaggedMode::Holds };
    rights::restore(&mut base.args, &base.paths, &base.settings, &session.info().id, flagged);
    let setup = own_setup(&base, &cwd)?;
    compose_agent(setup.continuing(&session), session)
}

/// A session that continues one of another agent under its id. The agent's own file stays as it is.
pub(super) fn compose_foreign_session(
    base: &Setup,
    path: &Path,
    source: SessionOrigin,
    id: &str,
) -> Result<StartableAgent, Problem> {
    let cwd = foreign::places::directory(path, source).filter(|cwd| cwd.is_dir());
    let cwd = cwd.ok_or_else(|| {
        Problem::conflict("directory-gone", "cannot continue this session: its directory is gone")
    })?;
    let setup = own_setup(base, &cwd)?;
    let session = Session::begin_from(path, source, setup.session_dir().as_deref(), None)
        .map_err(|error| Problem::failed(error.to_string()))?;
    let session = session.under_id(id);
    compose_agent(setup.continuing(&session), session)
}

/// The settings of a session's directory.
fn own_setup(base: &Setup, cwd: &Path) -> Result<Setup, Problem> {
    base.of_session(cwd).map_err(|refusal| cannot_compose(&refusal))
}

pub(super) fn compose_agent(setup: Setup, session: Session) -> Result<StartableAgent, Problem> {
    let agent = setup.agent(session).map_err(|refusal| cannot_compose(&refusal))?;
    let notices = setup.notices.iter().cloned().chain(agent.notices).collect();
    let services = Services::of(setup, agent.prompt);
    Ok(StartableAgent { config: agent.config, services, notices })
}

/// A new session with the content of another, up to the user's message named by `before`, and the text of
/// that message.
pub(super) fn compose_fork(
    base: &Setup,
    source: &SessionSource,
    before: Option<&str>,
) -> Result<(StartableAgent, Option<String>), Problem> {
    let mut session = documents::read(source).map_err(Problem::failed)?;
    let text = before.map(|id| prompt_text(&session, id)).transpose()?;
    let mut base = base.clone();
    // What its flags take away from a session, they take away from its fork.
    let flagged = FlaggedMode::Ignored;
    rights::restore(&mut base.args, &base.paths, &base.settings, &session.info().id, flagged);
    let setup = own_setup(&base, &session.info().cwd)?;
    let range = before.map_or(ForkRange::All, ForkRange::Before);
    let fork = session.fork(setup.session_dir().as_deref(), range);
    let fork = fork.ok_or_else(|| Problem::refused("there is nothing to fork: the session is empty"))?;
    Ok((compose_agent(setup.continuing(&fork), fork)?, text))
}

/// The text of a message of the user.
fn prompt_text(session: &Session, id: &str) -> Result<String, Problem> {
    let text = session.tree().get(id).and_then(|entry| match &entry.body {
        Body::Message { message } => match message.as_ref() {
            Message::User(user) => Some(user.content.text()),
            _ => None,
        },
        _ => None,
    });
    text.ok_or_else(|| {
        let id: String = id.chars().take(64).collect();
        Problem::refused(format!("no message of the user has the id {id:?} in this session"))
    })
}

/// A new session in `cwd` with the content of the file.
pub(super) fn compose_copy(base: &Setup, cwd: &Path, file: &Path) -> Result<StartableAgent, Problem> {
    let setup = own_setup(base, cwd)?;
    let path = resolve(cwd, &file.to_string_lossy());
    let copy = Session::copy(&path, setup.session_dir().as_deref(), Some(cwd))
        .map_err(|error| Problem::refused(format!("cannot open the session: {error}")))?;
    compose_agent(setup.continuing(&copy), copy)
}

fn cannot_compose(refusal: &Refusal) -> Problem {
    Problem::refused(format!("the session cannot be started: {}", refusal.text))
}
