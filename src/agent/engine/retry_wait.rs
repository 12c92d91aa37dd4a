//! The wait before a request is sent again.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::attend::attend_unless_stopped;
use super::retry::Retries;
use super::state::Engine;

/// How a wait ended.
pub(crate) enum WaitEnd {
    Elapsed,
    /// The user ended the wait: the request has failed.
    GivenUp,
    /// The run is to stop.
    Stopped,
}

/// Waits before a retry, while commands are served.
pub(crate) async fn wait(engine: &mut Engine, delay_ms: u64) -> WaitEnd {
    let given_up = CancellationToken::new();
    engine.current.retry_wait = given_up.clone();
    let wait = async move {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(delay_ms)) => WaitEnd::Elapsed,
            () = given_up.cancelled() => WaitEnd::GivenUp,
        }
    };
    attend_unless_stopped(engine, wait).await.unwrap_or(WaitEnd::Stopped)
}

/// The retries of one request.
pub(crate) fn retries(engine: &Engine) -> Retries {
    let max = if engine.auto_retry { engine.config.max_retries } else { 0 };
    Retries::seeded(max, engine.config.retry_mode)
}
