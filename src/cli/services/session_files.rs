//! Requests about session files: lists, search, names, deleting, exporting.

use std::path::Path;

use super::Services;
use super::call::Call;
use crate::commands::export;
use crate::compose::session_lookup::places;
use crate::compose::sessions;
use crate::live::record;
use tau_agent::session::all::list_all;
use tau_agent::session::index::SessionIndex;
use tau_agent::session::search::{SearchLimits, SearchScope, SessionHit, search};
use tau_agent::session::tail::TAIL;
use tau_agent::session::{Access, Session};
use tau_app::request::{FoundSessions, ScreenReply, SessionRows};
use tau_protocol::query::SessionSource;
use tau_protocol::session_row::{FoundSession, SessionRow};
use tau_tools::counted::pluralize;
use tau_tools::user_error::UserError;

/// Number of session rows sent together.
const BATCH: usize = 64;
/// Maximum number of sessions found by a search.
const MOST_FOUND: usize = 1_000;

/// Renames a session in its file.
pub(super) fn rename(sessions: &Path, path: &Path, name: &str) -> Result<(), UserError> {
    let source = places(sessions).origin(path);
    if source.is_foreign() {
        return Err(format!(
            "not renamed: the session is of {}, whose files are not changed",
            source.program()
        )
        .into());
    }
    let named = Session::open_tail(path, Access::Write, TAIL).and_then(|mut session| {
        session.set_name(name)?;
        session.flush()
    });
    named.map_err(|error| UserError::new("could not rename the session").because(error))
}

impl Services {
    /// Sends rows as they are read; returns the last ones.
    pub(super) fn list_sessions(&self, call: &Call, all: bool) -> SessionRows {
        let mut rows = Vec::with_capacity(BATCH);
        let cwd = (!all).then_some(self.cwd.as_path());
        let mut known = SessionIndex::load(&self.index);
        let others = places(&self.sessions);
        let archived = record::archived_ids(&self.setup.lock().paths);
        list_all(&self.sessions, &others, cwd, &mut known, &mut |row| {
            rows.push(SessionRow { archived: row.source.is_own() && archived.contains(&row.id), ..row });
            if rows.len() == BATCH {
                let rows = std::mem::take(&mut rows);
                return call.send_partial(ScreenReply::Sessions(SessionRows {
                    rows,
                    done: false,
                    troubles: Vec::new(),
                }));
            }
            !call.is_cancelled()
        });
        if let Err(error) = known.save(&self.index) {
            tracing::warn!(%error, "the index of sessions could not be written");
        }
        SessionRows { rows, done: true, troubles: others.troubles() }
    }

    /// Searches what was said in sessions; sends each session as it is found.
    pub(super) fn search(&self, call: &Call, query: &str, all: bool) -> Result<FoundSessions, UserError> {
        let scope = SearchScope {
            root: &self.sessions,
            others: &places(&self.sessions),
            cwd: (!all).then_some(self.cwd.as_path()),
            index: &self.search_index,
            list_index: &self.index,
            secrets: &export::secrets(&self.keys),
        };
        let limits = SearchLimits { per_session: 1, total: MOST_FOUND };
        let done = search(&scope, query, limits, &mut |hit| {
            let of = |hit: SessionHit| FoundSession {
                path: hit.session.path,
                line: hit.text,
                entry: hit.entry,
                passage: hit.passage,
            };
            let reply = |hit| ScreenReply::Found(FoundSessions { found: vec![of(hit)], done: false });
            hit.is_none_or(|hit| call.send_partial(reply(hit))) && !call.is_cancelled()
        });
        done.map_err(UserError::of)?;
        Ok(FoundSessions { found: Vec::new(), done: true })
    }

    pub(super) fn write_export(
        &self,
        session: &SessionSource,
        file: Option<&Path>,
    ) -> Result<String, UserError> {
        let place = export::ExportTarget::for_file(file, &self.cwd);
        match export::write(session, &place, &export::secrets(&self.keys)) {
            Ok((file, 0)) => Ok(format!("exported to {}", file.display())),
            Ok((file, masked)) => {
                Ok(format!("exported to {}; {} masked", file.display(), pluralize(masked, "secret")))
            }
            Err(error) => Err(UserError::new("could not export the session").because(error)),
        }
    }

    pub(super) fn delete(&self, path: &Path) -> Result<String, UserError> {
        sessions::delete(&self.sessions, path)
    }
}
