//! A call on one file: its turn in the queue, its thread, its abort.
//!
//! File work blocks, so it runs on its own thread and asks a token at every step whether
//! it is still wanted. The token is cancelled by an abort and by the drop of the call alike.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::file_versions::Turn;
use super::{ToolContext, ToolError, paths};

/// What an abort does to the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnAbort {
    /// The call ends at once and the thread finds out by itself. For work that changes nothing.
    Leave,
    /// The call ends with the thread, so that its answer is true: either the change was made
    /// or nothing was touched. The thread looks at the token until the change is made.
    Wait,
}

/// A call on one file: what the work is given. As long as it or a copy of it lives, other calls on the
/// file wait.
#[derive(Clone, Debug)]
pub struct FileTask {
    /// The path as the model wrote it.
    pub given: String,
    /// The path to open.
    pub path: PathBuf,
    /// The key of [`super::file_versions`].
    pub key: PathBuf,
    pub context: ToolContext,
    /// Cancelled when the work is no longer wanted.
    pub wanted: CancellationToken,
    _turn: Arc<Turn>,
}

impl FileTask {
    /// Waits until calls on the same file that came before are done.
    ///
    /// # Errors
    /// A refusal when the path is not valid, and [`ToolError::Aborted`].
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

    /// Runs `work` on a thread. The turn goes with the thread: the next call waits for the work, not for
    /// who asked for it.
    ///
    /// # Errors
    /// Those of `work`, and [`ToolError::Aborted`].
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

    /// Fails when the call was aborted.
    ///
    /// # Errors
    /// [`ToolError::Aborted`].
    pub(crate) fn check_wanted(&self) -> Result<(), ToolError> {
        if self.wanted.is_cancelled() { Err(ToolError::aborted()) } else { Ok(()) }
    }
}

async fn key_of(path: PathBuf) -> Result<PathBuf, ToolError> {
    let find = move || paths::identity(Path::new(&path));
    tokio::task::spawn_blocking(find).await.map_err(|_| ToolError::aborted())
}
