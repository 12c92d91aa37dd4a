//! Writes large output to a file, on its own thread so that reading and writing overlap.

use std::path::PathBuf;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::paths;
use crate::scratch::{Scratch, SpillFile};

/// Pieces in transit between reader and writer; times the reader's piece size, the memory used.
const UNDER_WAY: usize = 4;

/// The location of the full output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpillLocation {
    /// The file, if there is one.
    pub path: Option<PathBuf>,
    /// The reason why the file is incomplete or missing.
    pub trouble: Option<String>,
}

/// Output that may be written to a file.
#[derive(Debug, Default)]
pub(crate) enum Spill {
    /// All output is in memory.
    #[default]
    Nothing,
    /// A thread is writing the file.
    Writing { path: PathBuf, pieces: mpsc::Sender<Vec<u8>>, thread: JoinHandle<Option<String>> },
    /// The file cannot be written, for this reason.
    Failed(String),
}

impl Spill {
    /// Whether there is a file, or there cannot be one.
    pub fn is_begun(&self) -> bool {
        !matches!(self, Spill::Nothing)
    }

    /// Creates a file with the output captured so far, unless there is one.
    pub async fn begin(&mut self, scratch: &Scratch, so_far: &[&[u8]]) {
        if self.is_begun() {
            return;
        }
        match scratch.create("bash") {
            Ok(file) => {
                let path = file.path().to_path_buf();
                let (pieces, queue) = mpsc::channel(UNDER_WAY);
                let thread = tokio::task::spawn_blocking(move || write_all(file, queue));
                *self = Spill::Writing { path, pieces, thread };
                for part in so_far {
                    self.write(part).await;
                }
            }
            Err(error) => *self = Spill::Failed(paths::reason(&error)),
        }
    }

    /// Passes the next piece to the writer, if there is one. Waits while the writer is behind.
    pub async fn write(&self, piece: &[u8]) {
        if let Spill::Writing { pieces, .. } = self
            && !piece.is_empty()
        {
            // A closed queue means that the writer has failed; `finish` reports it.
            pieces.send(piece.to_vec()).await.ok();
        }
    }

    /// The reason why there is no file.
    pub fn trouble(&self) -> Option<&str> {
        match self {
            Spill::Failed(reason) => Some(reason),
            _ => None,
        }
    }

    /// The path of the file while it is being written.
    pub fn path(&self) -> Option<&PathBuf> {
        match self {
            Spill::Writing { path, .. } => Some(path),
            _ => None,
        }
    }

    /// Waits until everything is written.
    pub async fn finish(self) -> SpillLocation {
        match self {
            Spill::Nothing => SpillLocation::default(),
            Spill::Failed(reason) => SpillLocation { path: None, trouble: Some(reason) },
            Spill::Writing { path, pieces, thread } => {
                drop(pieces);
                let trouble = thread.await.unwrap_or_else(|_| Some("the writer failed".into()));
                SpillLocation { path: Some(path), trouble }
            }
        }
    }
}

/// Writes until the end or the first failure, and returns the failure.
fn write_all(mut file: SpillFile, mut queue: mpsc::Receiver<Vec<u8>>) -> Option<String> {
    while let Some(piece) = queue.blocking_recv() {
        if let Err(error) = file.append(&piece) {
            let full = error.kind() == std::io::ErrorKind::FileTooLarge;
            let reason =
                if full { "the space for temporary files is used up".into() } else { paths::reason(&error) };
            return Some(reason);
        }
    }
    None
}
