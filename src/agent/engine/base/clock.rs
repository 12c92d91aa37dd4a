//! The time: timestamps of messages, and waits for a point in time.

pub(crate) use tau_tools::times::now;
use tokio::time::Instant;

/// Returns at `deadline`; never returns without one.
pub(crate) async fn due(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Milliseconds since `start`.
pub(crate) fn millis_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
