//! Waits for a time limit that may not exist.

use tokio::time::Instant;

/// Sleeps until the instant; forever without one. Cancel safe.
pub async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
