//! What all handlers share.

use std::sync::Arc;

use super::guard::Guard;
use super::hub::Hub;
use super::metrics::Metrics;
use super::metrics::OpenStream;
use super::problem::Problem;
use crate::args::serve::LogFormat;

/// Shared by all handlers; clones are the same.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

/// What an [`App`] is made from.
pub(crate) struct Shared {
    pub hub: Arc<Hub>,
    pub guard: Guard,
    pub metrics: Arc<Metrics>,
    /// Largest body of a request, in bytes.
    pub max_body: usize,
    /// Event streams that may be open at a time.
    pub max_streams: u64,
    pub log: LogFormat,
}

impl App {
    /// What all handlers share.
    pub fn new(shared: Shared) -> Self {
        App(Arc::new(shared))
    }

    /// The sessions.
    pub fn hub(&self) -> &Hub {
        &self.0.hub
    }

    /// Who may send requests.
    pub fn guard(&self) -> &Guard {
        &self.0.guard
    }

    /// The counters.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.0.metrics
    }

    /// Largest body of a request, in bytes.
    pub fn max_body(&self) -> usize {
        self.0.max_body
    }

    /// How requests are logged.
    pub fn log(&self) -> LogFormat {
        self.0.log
    }

    /// Opens an event stream.
    ///
    /// # Errors
    /// When too many are open.
    pub fn open_stream(&self) -> Result<OpenStream, Problem> {
        let most = self.0.max_streams;
        self.0.metrics.open_stream(most).ok_or_else(|| {
            Problem::unavailable(format!("{most} event streams are open; allow more with --max-streams"))
        })
    }
}
