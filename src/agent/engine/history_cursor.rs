//! How far back a session has been sent to the front end.

use std::future::pending;
use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::agent::session::SessionError;
use crate::agent::session::paging::FilePage;

/// How far back a session has been sent, and the page that is being read.
#[derive(Default)]
pub(crate) struct HistoryCursor {
    /// The first entry that was sent.
    pub(crate) first_sent: Option<Arc<str>>,
    /// A piece of the file that is being read because a page was requested.
    pub(crate) reading: Option<JoinHandle<Result<FilePage, SessionError>>>,
    /// The queries that are waiting for that page.
    pub(crate) tickets: Vec<u64>,
}

impl HistoryCursor {
    /// The piece that is being read, or why it cannot be; pending while nothing is read. Cancel safe.
    pub(crate) async fn next(&mut self) -> Result<FilePage, String> {
        let Some(reading) = &mut self.reading else { return pending().await };
        let read = reading.await;
        self.reading = None;
        match read {
            Ok(piece) => piece.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }
}
