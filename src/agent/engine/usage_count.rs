//! What is known of the usage of a session, while the rest of its file is counted.

use std::future::pending;
use std::io;

use tokio::task::JoinHandle;

use crate::agent::session::usage::UsageSum;

/// What is known of the usage of the session, while the rest is counted.
#[derive(Default)]
pub(crate) struct UsageCount {
    pub(crate) known: UsageSum,
    /// The rest is being counted.
    pub(crate) counting: Option<JoinHandle<io::Result<UsageSum>>>,
}

impl UsageCount {
    /// What the part that had not been read has used; pending while nothing is counted. Cancel safe.
    pub(crate) async fn next(&mut self) -> io::Result<UsageSum> {
        let Some(counting) = &mut self.counting else { return pending().await };
        let counted = counting.await;
        self.counting = None;
        counted.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}
