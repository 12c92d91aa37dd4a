//! The saved sessions: tau's own, and those of other agents.

use std::path::PathBuf;
use std::time::Duration;

use super::{Hub, blocking, no_session};
use crate::compose::session_lookup::places;
use crate::live::{record, start};
use crate::serve::live::LiveSession;
use crate::serve::problem::Problem;
use tau_agent::session::foreign::places::ForeignPlaces;
use tau_agent::session::{all, foreign, is_session_id, list};
use tau_protocol::query::{SessionSource, ask};
use tau_protocol::session_row::{SessionOrigin, SessionRow};

impl Hub {
    /// The saved sessions, newest first; of `cwd`, or all.
    pub async fn saved_sessions(&self, cwd: Option<PathBuf>) -> Result<Vec<SessionRow>, Problem> {
        let (root, index) = (self.root.clone(), self.setup.paths.session_index());
        blocking(move || all::rows(&root, &ForeignPlaces::default(), cwd.as_deref(), &index)).await
    }

    /// Like [`Hub::saved_sessions`], with the sessions of other agents that were not continued here.
    pub async fn saved_and_foreign_sessions(&self, cwd: Option<PathBuf>) -> Result<Vec<SessionRow>, Problem> {
        let (root, index) = (self.root.clone(), self.setup.paths.session_index());
        blocking(move || all::rows_once(&root, &places(&root), cwd.as_deref(), &index)).await
    }

    /// The place of a saved session: tau's own, or that of another agent. Fails when no session has this id.
    pub async fn saved_place(&self, id: &str) -> Result<(PathBuf, SessionOrigin), Problem> {
        if let Ok(path) = self.file(id).await {
            return Ok((path, SessionOrigin::Tau));
        }
        let (root, wanted) = (self.root.clone(), id.to_owned());
        let found = match is_session_id(id) {
            true => {
                blocking(move || {
                    let mut found = places(&root).with_id(&wanted, None);
                    // Only the whole id counts here.
                    found.retain(|(path, source)| {
                        foreign::places::row_of(path, *source).is_some_and(|row| row.id == wanted)
                    });
                    found
                })
                .await?
            }
            false => Vec::new(),
        };
        found.into_iter().next().ok_or_else(|| no_session(id))
    }

    /// The source that a session is read from, open or not; `None` if it is open and has no messages yet. Does not open
    /// it. Fails when no session has this id.
    pub async fn source(&self, id: &str) -> Result<Option<SessionSource>, Problem> {
        match self.find(id) {
            Some(live) => source_of_live(&live).await,
            None => self.saved_place(id).await.map(|(path, _)| Some(SessionSource::File(path))),
        }
    }

    /// Opens a saved session for an attached screen; returns its id. The process of a session opens no other one: its
    /// rights and limits are those of its own. Fails like [`Hub::open`].
    pub async fn open_for_screen(&self, row: SessionRow) -> Result<String, Problem> {
        let is_server = self.limits.idle != Duration::MAX;
        if is_server || self.find(&row.id).is_some() || !row.cwd.is_dir() {
            return self.open(&row.id).await.map(|live| live.id.clone());
        }
        match record::of(&self.setup.paths, &row.id).filter(|found| found.is_live) {
            Some(found) => Ok(found.record.id),
            None => blocking(move || start::open(&row.cwd, Some(&row.id))).await?.map_err(Problem::refused),
        }
    }

    /// Whether there is a saved session with this id, of any agent.
    pub async fn is_saved(&self, id: &str) -> bool {
        self.saved_place(id).await.is_ok()
    }

    /// The file of a saved session of tau. Fails when no session has this id.
    pub(super) async fn file(&self, id: &str) -> Result<PathBuf, Problem> {
        let (root, wanted) = (self.root.clone(), id.to_owned());
        let found = match is_session_id(id) {
            true => blocking(move || list::of_id(&root, &wanted)).await?,
            false => None,
        };
        found.ok_or_else(|| no_session(id))
    }
}

/// The source of an open session: its file, or what it holds as long as it has none.
pub(super) async fn source_of_live(live: &LiveSession) -> Result<Option<SessionSource>, Problem> {
    let file = live.read_facts(|facts, _| facts.mirror.session.file.clone());
    match file.filter(|file| file.exists()) {
        Some(file) => Ok(Some(SessionSource::File(file))),
        None => Ok(live.ask(ask::Source).await?.0.ok()),
    }
}
