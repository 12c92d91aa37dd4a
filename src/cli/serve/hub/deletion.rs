//! Deletes sessions, open here or not.

use axum::http::StatusCode;

use super::{Hub, blocking, in_use};
use crate::serve::far_attempts;
use crate::serve::live::Fate;
use crate::serve::problem::Problem;
use tau_agent::session::lock;
use tau_protocol::session_row::SessionOrigin;

impl Hub {
    /// Closes a session and moves its file to the trash, or deletes it where there is no trash. Its followers
    /// learn of the end once that is done. Fails when there is no such session, another tau uses it, or the
    /// file cannot be removed.
    pub async fn delete(&self, id: &str) -> Result<(), Problem> {
        let (hub, id) = (self.own.upgrade(), id.to_owned());
        let hub = hub.ok_or_else(super::about_to_end)?;
        // A client that leaves in the meantime does not stop it halfway.
        let deletion = tokio::spawn(async move { hub.close_and_remove(&id).await });
        deletion.await.map_err(|error| Problem::failed(error.to_string()))?
    }

    async fn close_and_remove(&self, id: &str) -> Result<(), Problem> {
        let _opening = self.opening.lock().await;
        if let Ok((_, source)) = self.saved_place(id).await
            && source != SessionOrigin::Tau
        {
            let text = format!("this is a session of {}; delete it there", source.program());
            return Err(Problem::conflict("foreign", text));
        }
        let live = self.find(id);
        if let Some(live) = &live {
            far_attempts::end(live).await;
            live.end_to_delete().await;
        }
        let removed = self.remove(id, live.is_some()).await;
        if let Some(live) = live {
            live.set_outcome(match &removed {
                Ok(()) => Fate::Deleted,
                Err(problem) => Fate::NotDeleted(problem.detail.clone()),
            });
        }
        removed
    }

    /// Removes the file of a session that is no longer open here.
    async fn remove(&self, id: &str, was_open: bool) -> Result<(), Problem> {
        let path = match self.file(id).await {
            // A session without messages has no file.
            Err(problem) if was_open && problem.status == StatusCode::NOT_FOUND.as_u16() => return Ok(()),
            other => other?,
        };
        blocking(move || {
            let _lock = lock::lock_for_deletion(&path).map_err(|owner| in_use(&owner.to_string()))?;
            if trash::delete(&path).is_ok() {
                return Ok(());
            }
            std::fs::remove_file(&path)
                .map_err(|error| Problem::failed(format!("cannot delete the session: {error}")))
        })
        .await?
    }
}
