//! When a failed request is tried again, and after how long.
//!
//! Pure: randomness comes in as a seed. The wait itself, and telling of it, is `turn`'s.

use std::hash::{BuildHasher, RandomState};

use super::provider::{Failure, FailureKind};

/// The first wait, in milliseconds; each further one is twice as long.
const BASE_MS: u64 = 1_000;
/// The longest wait, in milliseconds. A provider that asks for more is not waited for.
const CAP_MS: u64 = 30_000;
/// Tries again after failures that rarely pass by themselves.
const DOUBTFUL: u32 = 1;

/// The retries of one request.
#[derive(Clone, Debug)]
pub(super) struct Retries {
    max: u32,
    used: u32,
    seed: u64,
}

/// What to do about a failure.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    /// Wait this many milliseconds, then try again.
    Wait(u64),
    /// Stop. The text is what the person is told.
    GiveUp(String),
}

impl Retries {
    /// At most `max` of them. `seed` spreads the waits of many clients.
    pub(super) fn new(max: u32, seed: u64) -> Self {
        Retries { max, used: 0, seed }
    }

    /// The same with a seed of its own.
    pub(super) fn seeded(max: u32) -> Self {
        Self::new(max, RandomState::new().hash_one(max))
    }

    /// Retries begun so far.
    pub(super) fn used(&self) -> u32 {
        self.used
    }

    /// Retries at most.
    pub(super) fn max(&self) -> u32 {
        self.max
    }

    /// Judges a failure; counts the retry when there is to be one.
    pub(super) fn after(&mut self, failure: &Failure) -> Verdict {
        let doubtful = matches!(failure.kind, FailureKind::Protocol | FailureKind::Timeout);
        let max = if doubtful { self.max.min(DOUBTFUL) } else { self.max };
        if !failure.retryable() || self.used >= max {
            return Verdict::GiveUp(failure.to_string());
        }
        match failure.retry_after_ms {
            Some(asked) if asked > CAP_MS => Verdict::GiveUp(format!(
                "{failure}; the provider asks to wait {}, so send the prompt again then",
                span(asked)
            )),
            asked => {
                self.used += 1;
                Verdict::Wait(asked.unwrap_or_else(|| self.backoff()))
            }
        }
    }

    /// `BASE_MS` doubled each time, between three and five quarters of it.
    fn backoff(&mut self) -> u64 {
        let doubled = BASE_MS.saturating_mul(1 << self.used.saturating_sub(1).min(16));
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let half = doubled / 2;
        let jitter = (self.seed >> 33) % (half + 1);
        (doubled - half / 2 + jitter).min(CAP_MS)
    }
}

/// Milliseconds in words, rounded up to seconds.
fn span(ms: u64) -> String {
    let seconds = ms.div_ceil(1_000);
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(kind: FailureKind, max: u32, seed: u64) -> Vec<u64> {
        let mut retries = Retries::new(max, seed);
        let failure = Failure::new(kind, "no");
        let mut waits = Vec::new();
        while let Verdict::Wait(ms) = retries.after(&failure) {
            waits.push(ms);
        }
        waits
    }

    #[test]
    fn waits_double_within_their_jitter() {
        for seed in 0..200 {
            let waits = waits(FailureKind::Overloaded, 8, seed);
            assert_eq!(waits.len(), 8);
            for (n, wait) in waits.iter().enumerate() {
                let middle = 1_000_u64 << n;
                let low = (middle * 3 / 4).min(CAP_MS);
                let high = (middle * 5 / 4).min(CAP_MS);
                assert!((low..=high).contains(wait), "wait {n} is {wait}");
            }
        }
        assert_ne!(waits(FailureKind::Network, 4, 1), waits(FailureKind::Network, 4, 2));
    }

    #[test]
    fn kinds_differ() {
        let cases = [
            (FailureKind::Auth, 0),
            (FailureKind::Request, 0),
            (FailureKind::Overflow, 0),
            (FailureKind::Config, 0),
            (FailureKind::RateLimit, 4),
            (FailureKind::Network, 4),
            (FailureKind::Timeout, 1),
            (FailureKind::Protocol, 1),
        ];
        for (kind, expected) in cases {
            assert_eq!(waits(kind, 4, 7).len(), expected, "{kind:?}");
        }
    }

    #[test]
    fn the_provider_is_obeyed_up_to_the_cap() {
        let mut failure = Failure::new(FailureKind::RateLimit, "slow down");
        failure.retry_after_ms = Some(1_500);
        assert_eq!(Retries::new(4, 0).after(&failure), Verdict::Wait(1_500));
        failure.retry_after_ms = Some(125_000);
        let Verdict::GiveUp(text) = Retries::new(4, 0).after(&failure) else { panic!("waited") };
        assert!(text.contains("slow down") && text.contains("2 min 5 s"), "{text}");
    }
}
