//! A call on one file: its turn in the queue, its thread, its cancellation.
//!
//! File operations block, so they run on their own thread and check a token at every step. The token is
//! cancelled both when the call is aborted and when it is dropped.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::file_versions::Turn;
use super::{ToolContext, ToolError, paths};

/// The effect of an abort on the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnAbort {
    /// The call ends at once and the thread notices by itself. For work that changes nothing.
    Leave,
    /// The call ends with the thread, so that its answer is true: either the change was made or nothing was
    /// touched. The thread checks the token until the change is made.
    Wait,
}

/// The input of a call on one file. Other calls on the file wait as long as this or a copy of it lives.
#[derive(Clone, Debug)]
pub struct FileTask {
    /// The path as written by the model.
    pub given: String,
    /// The path to open.
    pub path: PathBuf,
    /// The key of [`super::file_versions`].
    pub key: PathBuf,
    pub context: ToolContext,
    /// Cancelled when the result is no longer needed.
    pub wanted: CancellationToken,
    _turn: Arc<Turn>,
}

impl FileTask {
    /// Waits for earlier calls on the same file to finish. Refused if the path is invalid.
    pub async fn begin(given: String, context: ToolContext) -> Result<Self, ToolError> {
        if given.trim().is_empty() || given.contains('\0') {
            return Err(ToolError::refused(
                "`path` is empty or contains a NUL character; pass the path of a file",
            ));
        }
        let path = paths::find(&context.cwd, &given);
        let key = key_of(path.clone()).await?;
        let turn = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(ToolError::aborted()),
            turn = context.file_versions.turn(&key) => turn,
        };
        let wanted = context.cancel.clone();
        Ok(FileTask { given, path, key, context, wanted, _turn: Arc::new(turn) })
    }

    /// Runs `work` on a thread. The turn moves to the thread: the next call waits for the work, not for its
    /// caller.
    pub async fn on_thread<T: Send + 'static>(
        &self,
        on_abort: OnAbort,
        work: impl FnOnce(&FileTask) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let cancel = &self.context.cancel;
        let wanted = cancel.child_token();
        let _no_longer_wanted = wanted.clone().drop_guard();
        let task = FileTask { wanted, ..self.clone() };
        let mut thread = tokio::task::spawn_blocking(move || work(&task));
        let answer = tokio::select! {
            answer = &mut thread => answer,
            () = cancel.cancelled(), if on_abort == OnAbort::Leave => return Err(ToolError::aborted()),
        };
        answer.unwrap_or_else(|_| {
            Err(ToolError::refused("the tool failed because of an internal error; try another approach"))
        })
    }

    /// Fails if the call was aborted. The error is [`ToolError::Aborted`].
    pub(crate) fn check_not_aborted(&self) -> Result<(), ToolError> {
        if self.wanted.is_cancelled() { Err(ToolError::aborted()) } else { Ok(()) }
    }
}

async fn key_of(path: PathBuf) -> Result<PathBuf, ToolError> {
    let find = move || paths::identity(Path::new(&path));
    tokio::task::spawn_blocking(find).await.map_err(|_| ToolError::aborted())
}
