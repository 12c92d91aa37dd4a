//! The background jobs of the agent, and work on them in progress.

use std::collections::HashMap;
use std::future::pending;
use std::path::PathBuf;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use tau_tools::jobs::{JobChange, JobRow, Jobs};

/// Something to report.
pub(crate) enum JobNews {
    Changed(JobChange),
    /// The answer to a query.
    Rows {
        ticket: u64,
        rows: Vec<JobRow>,
    },
    /// A job was to be stopped, and has processes that did not end.
    NotStopped {
        id: u32,
    },
}

/// The jobs of the agent, and work on them in progress.
pub(crate) struct JobPlace {
    pub(crate) jobs: Jobs,
    changes: mpsc::UnboundedReceiver<JobChange>,
    pub(crate) work: FuturesUnordered<BoxFuture<'static, Option<JobNews>>>,
    /// Ends what a helper has started, as soon as it is stopped.
    pub(crate) ending: Option<JoinHandle<()>>,
    /// The files of the sessions that were left, by id: the ends of their jobs are written there.
    pub(crate) left: HashMap<String, PathBuf>,
    /// Jobs that an earlier process of the open session started, until the model has been told how they ended.
    pub(crate) lost: Vec<OpenJob>,
    /// The jobs that the open session names.
    pub(crate) kept: Vec<OpenJob>,
}

/// A job whose end the model does not know, as the session keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenJob {
    pub(crate) id: u32,
    /// The first line of its command.
    pub(crate) command: String,
    /// The mark of its processes.
    pub(crate) mark: u64,
    /// How it ended, in words; empty while it runs.
    pub(crate) outcome: String,
}

impl Default for JobPlace {
    fn default() -> Self {
        let (jobs, changes) = Jobs::new();
        JobPlace {
            jobs,
            changes,
            work: FuturesUnordered::new(),
            ending: None,
            left: HashMap::new(),
            lost: Vec::new(),
            kept: Vec::new(),
        }
    }
}

impl JobPlace {
    /// The next news. Cancel safe.
    pub(crate) async fn next(&mut self) -> JobNews {
        loop {
            tokio::select! {
                Some(change) = self.changes.recv() => return JobNews::Changed(change),
                Some(news) = self.work.next(), if !self.work.is_empty() => {
                    if let Some(news) = news {
                        return news;
                    }
                }
                else => return pending().await,
            }
        }
    }
}
