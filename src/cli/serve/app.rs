//! The state shared by all handlers.

use std::sync::Arc;

use super::elsewhere::Elsewhere;
use super::guard::Guard;
use super::hub::Hub;
use super::metrics::{Metrics, OpenStream};
use super::problem::Problem;
use crate::args::serve::LogFormat;

/// The state shared by all handlers; clones are equivalent.
#[derive(Clone)]
pub(crate) struct App(Arc<AppParts>);

/// The parts of an [`App`].
pub(crate) struct AppParts {
    pub hub: Arc<Hub>,
    pub guard: Guard,
    pub metrics: Arc<Metrics>,
    /// Maximum body of a request, in bytes.
    pub max_body: usize,
    /// Maximum number of open event streams.
    pub max_streams: u64,
    pub log: LogFormat,
    /// The way to sessions that other processes have open; none in such a process.
    pub elsewhere: Option<Elsewhere>,
}

impl App {
    /// The shared state with these parts.
    pub fn new(shared: AppParts) -> Self {
        App(Arc::new(shared))
    }

    /// The sessions.
    pub fn hub(&self) -> &Hub {
        &self.0.hub
    }

    /// The checks of requests.
    pub fn guard(&self) -> &Guard {
        &self.0.guard
    }

    /// The counters.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.0.metrics
    }

    /// Maximum body of a request, in bytes.
    pub fn max_body(&self) -> usize {
        self.0.max_body
    }

    /// The format of the request log.
    pub fn log(&self) -> LogFormat {
        self.0.log
    }

    /// The way to sessions that other processes have open.
    pub fn elsewhere(&self) -> Option<&Elsewhere> {
        self.0.elsewhere.as_ref()
    }

    /// Opens an event stream. Fails when too many are open.
    pub fn open_stream(&self) -> Result<OpenStream, Problem> {
        let most = self.0.max_streams;
        self.0.metrics.open_stream(most).ok_or_else(|| {
            Problem::unavailable(format!("{most} event streams are open; allow more with --max-streams"))
        })
    }
}
