//! The saved sessions: tau's own, and those of other agents.

use std::path::PathBuf;
use std::time::Duration;

use super::{Hub, blocking, no_session};
use crate::compose::session_lookup::places;
use crate::live::{record, start};
use crate::serve::problem::Problem;
use tau_agent::session::foreign::places::ForeignPlaces;
use tau_agent::session::{all, foreign, is_session_id, list};
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

    /// The session of another agent with this id. Fails when no session has this id.
    pub async fn of_others(&self, id: &str) -> Result<(PathBuf, SessionOrigin), Problem> {
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
        self.file(id).await.is_ok() || self.of_others(id).await.is_ok()
    }

    /// The file of a saved session. Fails when no session has this id.
    pub async fn file(&self, id: &str) -> Result<PathBuf, Problem> {
        let (root, wanted) = (self.root.clone(), id.to_owned());
        let found = match is_session_id(id) {
            true => blocking(move || list::of_id(&root, &wanted)).await?,
            false => None,
        };
        found.ok_or_else(|| no_session(id))
    }
}
