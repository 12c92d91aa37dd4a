//! Decides whether and when a failed request is retried.
//!
//! Pure: randomness comes in as a seed. The wait itself is in `retry_wait`.

use std::hash::{BuildHasher, RandomState};

use crate::provider::{Failure, FailureKind};
use tau_protocol::run::RetryMode;

/// The first wait, in milliseconds; each further one is twice as long.
const BASE_MS: u64 = 1_000;
/// The longest wait without asking the user, in milliseconds.
const CAP_MS: u64 = 30_000;
/// The number of retries after failures that are rarely transient.
const UNLIKELY: u32 = 1;

/// The retries of one request.
#[derive(Clone, Debug)]
pub(crate) struct Retries {
    max: u32,
    used: u32,
    mode: RetryMode,
    seed: u64,
}

/// The reaction to a failure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AfterFailure {
    /// Wait this many milliseconds, then send the request again.
    Wait(u64),
    /// Stop, with this error for the user.
    GiveUp(String),
}

impl Retries {
    /// At most `max` retries. `seed` spreads the waits of many clients.
    pub(crate) fn new(max: u32, mode: RetryMode, seed: u64) -> Self {
        Retries { max, used: 0, mode, seed }
    }

    /// Like `new`, but with a random seed.
    pub(crate) fn with_random_seed(max: u32, mode: RetryMode) -> Self {
        Self::new(max, mode, RandomState::new().hash_one(max))
    }

    /// The number of retries so far.
    pub(crate) fn count(&self) -> u32 {
        self.used
    }

    /// The maximum number of retries.
    pub(crate) fn max(&self) -> u32 {
        self.max
    }

    /// Decides how to react to a failure, and counts the retry if there is one.
    pub(crate) fn after(&mut self, failure: &Failure) -> AfterFailure {
        let unlikely = matches!(failure.kind, FailureKind::Protocol | FailureKind::Timeout);
        let max = if unlikely { self.max.min(UNLIKELY) } else { self.max };
        let is_long = failure.retry_after_ms.is_some_and(|asked| asked > CAP_MS);
        // A wait for a quota is repeated if the quota is used up again.
        let waits_for_quota = self.mode == RetryMode::WaitForQuota && is_long;
        if !failure.retryable() || (self.used >= max && !waits_for_quota) {
            return AfterFailure::GiveUp(self.last_words(failure));
        }
        match failure.retry_after_ms {
            Some(asked) if is_long && self.mode == RetryMode::Headless => AfterFailure::GiveUp(format!(
                "{failure}; the provider asks you to wait {}: send the prompt again after that, \
                     or use --wait-for-quota",
                span(asked)
            )),
            Some(asked) if waits_for_quota => AfterFailure::Wait(asked),
            asked => {
                self.used += 1;
                // A provider that asks for no wait (0, or a date that has passed) still gets one.
                AfterFailure::Wait(asked.filter(|ms| *ms > 0).unwrap_or_else(|| self.backoff()))
            }
        }
    }

    /// The error for the user; after retries it includes the number of attempts and what to do.
    fn last_words(&self, failure: &Failure) -> String {
        if self.used == 0 || !failure.retryable() || failure.hint.is_some() {
            return failure.to_string();
        }
        let attempts = self.used + 1;
        format!(
            "{failure} ({attempts} attempts failed: send the prompt again later, or choose another model)"
        )
    }

    /// `BASE_MS`, doubled with each retry, times a factor between three and five quarters.
    fn backoff(&mut self) -> u64 {
        let doubled = BASE_MS.saturating_mul(1 << self.used.saturating_sub(1).min(16));
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let half = doubled / 2;
        let jitter = (self.seed >> 33) % (half + 1);
        (doubled - half / 2 + jitter).min(CAP_MS)
    }
}

/// A time span in words, rounded up to seconds.
pub fn span(ms: u64) -> String {
    let seconds = ms.div_ceil(1_000);
    let parts = [(seconds / 3_600, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")];
    let named = parts.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = named.map(|(count, unit)| format!("{count} {unit}")).collect();
    if words.is_empty() { "0 s".to_owned() } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(kind: FailureKind, max: u32, seed: u64) -> Vec<u64> {
        let mut retries = Retries::new(max, RetryMode::Headless, seed);
        let failure = Failure::new(kind, "no");
        let mut waits = Vec::new();
        while let AfterFailure::Wait(ms) = retries.after(&failure) {
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
    fn the_last_of_several_failures_says_what_to_do() {
        let mut retries = Retries::new(2, RetryMode::Headless, 1);
        let failure = Failure::new(FailureKind::Overloaded, "The server had an error.");
        while let AfterFailure::Wait(_) = retries.after(&failure) {}
        let said = |retries: &mut Retries, failure: &Failure| match retries.after(failure) {
            AfterFailure::GiveUp(text) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            said(&mut retries, &failure),
            "The server had an error. (3 attempts failed: send the prompt again later, or choose another model)"
        );
        let hinted = failure.clone().hint("check your plan and billing with the provider");
        assert!(said(&mut retries, &hinted).ends_with("(check your plan and billing with the provider)"));
        assert_eq!(said(&mut Retries::new(0, RetryMode::Headless, 1), &failure), failure.message);
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
    fn a_wait_is_as_long_as_requested_and_never_zero() {
        let mut retries = Retries::new(3, RetryMode::Headless, 0);
        for (asked, least) in [(Some(0), 750), (Some(5_000), 5_000), (Some(1), 1)] {
            let failure = Failure { retry_after_ms: asked, ..Failure::new(FailureKind::RateLimit, "no") };
            let AfterFailure::Wait(ms) = retries.after(&failure) else { panic!("{asked:?}") };
            assert!((least..=5_000).contains(&ms), "{asked:?}: {ms}");
        }
    }

    #[test]
    fn waiting_for_a_quota_uses_up_no_retries() {
        let mut retries = Retries::new(1, RetryMode::WaitForQuota, 0);
        let failure = |ms| Failure { retry_after_ms: Some(ms), ..Failure::new(FailureKind::RateLimit, "no") };
        for _ in 0..20 {
            assert_eq!(retries.after(&failure(60_000)), AfterFailure::Wait(60_000));
        }
        assert_eq!(retries.after(&failure(1_000)), AfterFailure::Wait(1_000));
        assert!(matches!(retries.after(&failure(1_000)), AfterFailure::GiveUp(_)));
        assert_eq!(retries.after(&failure(60_000)), AfterFailure::Wait(60_000));
        let spent =
            Failure { retry_after_ms: Some(60_000), ..Failure::new(FailureKind::Request, "no credit") };
        assert!(matches!(retries.after(&spent), AfterFailure::GiveUp(_)));
    }

    #[test]
    fn a_long_wait_is_up_to_the_user() {
        let check = |mode, asked: u64, expected: Result<u64, &str>| {
            let mut failure = Failure::new(FailureKind::RateLimit, "slow down");
            failure.retry_after_ms = Some(asked);
            match (Retries::new(4, mode, 0).after(&failure), expected) {
                (AfterFailure::Wait(ms), Ok(expected)) => assert_eq!(ms, expected),
                (AfterFailure::GiveUp(text), Err(expected)) => {
                    assert!(text.contains("slow down") && text.contains(expected), "{text}");
                }
                (verdict, expected) => panic!("{mode:?}: {verdict:?} instead of {expected:?}"),
            }
        };
        check(RetryMode::Headless, 1_500, Ok(1_500));
        check(RetryMode::Headless, 125_000, Err("to wait 2 min 5 s:"));
        check(RetryMode::Headless, 7_200_000, Err("to wait 2 h:"));
        check(RetryMode::Headless, 125_000, Err("--wait-for-quota"));
        check(RetryMode::Interactive, 7_200_000, Ok(7_200_000));
        check(RetryMode::WaitForQuota, 7_200_000, Ok(7_200_000));
    }
}
