//! Points in time as numbers.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub fn now() -> i64 {
    millis(SystemTime::now())
}

/// Seconds since 1970.
pub fn seconds_now() -> i64 {
    now() / 1_000
}

/// A time in milliseconds since 1970; 0 for one before.
pub fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
