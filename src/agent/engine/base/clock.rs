//! The time: timestamps of messages.

pub(crate) use tau_tools::times::now;
use tokio::time::Instant;

/// Milliseconds since `start`.
pub(crate) fn millis_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
