//! Limits the pauses of an answer, and reports long ones.
//!
//! Pure: the time is passed in. Bytes without content (comments, pings) are not progress, with one exception:
//! providers hold back a call's arguments until a value is complete, and only ping in the meantime. A model
//! that thinks without showing it may take as long as for its first word.

use std::time::Duration;

use tokio::time::Instant;

use super::{Failure, FailureKind, StreamEvent};
use tau_protocol::event::Delta;
use tau_tools::counted::pluralize;

/// The time limits of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleLimits {
    /// The time limit for the first piece of an answer, from when the request is sent.
    pub first: Duration,
    /// The time limit between two pieces of an answer.
    pub idle: Duration,
    /// The time after which silence is reported, and then again after each tenth of it.
    pub report: Duration,
}

impl Default for IdleLimits {
    fn default() -> Self {
        IdleLimits {
            first: Duration::from_secs(300),
            idle: Duration::from_secs(60),
            report: Duration::from_secs(10),
        }
    }
}

/// The part of an answer that is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AwaitedPart {
    /// The first piece, or the beginning of a thought.
    First,
    /// The rest of a call.
    Call,
    /// Anything else.
    More,
}

/// The timer of an answer.
#[derive(Debug)]
pub(super) struct IdleTimer {
    limits: IdleLimits,
    awaited: AwaitedPart,
    /// The time when content last arrived.
    spoke: Instant,
    /// The time when any bytes last arrived.
    stirred: Instant,
    /// The time of the next report of silence.
    reports: Instant,
}

impl IdleTimer {
    /// A timer for an answer whose request is sent now.
    pub(super) fn new(limits: IdleLimits, now: Instant) -> Self {
        IdleTimer {
            limits,
            awaited: AwaitedPart::First,
            spoke: now,
            stirred: now,
            reports: now + limits.report,
        }
    }

    /// The time for the next call of [`IdleTimer::wake`].
    pub(super) fn wakes(&self) -> Instant {
        self.deadline().min(self.reports)
    }

    /// Records that bytes arrived, and their events.
    pub(super) fn note(&mut self, events: &[StreamEvent], now: Instant) {
        self.stirred = now;
        let mut news = events.iter().filter_map(|event| match event {
            StreamEvent::Thinking | StreamEvent::Delta(Delta::ThinkingStart { .. }) => {
                Some(AwaitedPart::First)
            }
            StreamEvent::Delta(Delta::ToolCallStart { .. } | Delta::ToolCallDelta { .. }) => {
                Some(AwaitedPart::Call)
            }
            StreamEvent::Delta(_) => Some(AwaitedPart::More),
            _ => None,
        });
        if let Some(last) = news.next_back() {
            self.awaited = last;
            self.spoke = now;
            self.reports = now + self.limits.report;
        }
    }

    /// The result of the silence so far: nothing, an event that reports it, or the end.
    pub(super) fn wake(&mut self, now: Instant) -> Option<Result<StreamEvent, Failure>> {
        let (deadline, silence) = (self.deadline(), now.saturating_duration_since(self.spoke));
        if now >= deadline {
            return Some(Err(silent(silence)));
        }
        if now < self.reports {
            return None;
        }
        self.reports = now + self.limits.report / 10;
        let limit = deadline.saturating_duration_since(self.spoke);
        Some(Ok(StreamEvent::Silent { idle_ms: ms(silence), limit_ms: ms(limit) }))
    }

    fn deadline(&self) -> Instant {
        let IdleLimits { first, idle, .. } = self.limits;
        match self.awaited {
            AwaitedPart::First => self.spoke + first,
            AwaitedPart::Call => (self.spoke + first.max(idle)).min(self.stirred + idle),
            AwaitedPart::More => self.spoke + idle,
        }
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn silent(silence: Duration) -> Failure {
    let message =
        format!("no data from the provider for {}", pluralize(silence.as_secs_f32().round(), "second"));
    Failure::new(FailureKind::Timeout, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: IdleLimits = IdleLimits {
        first: Duration::from_secs(300),
        idle: Duration::from_secs(60),
        report: Duration::from_secs(10),
    };

    /// After `last` and pings until `pings` seconds later, the answer ends at `end` seconds.
    fn check(last: Option<StreamEvent>, pings: u64, end: u64) {
        let start = Instant::now();
        let mut timer = IdleTimer::new(LIMITS, start);
        let events: Vec<StreamEvent> = last.clone().into_iter().collect();
        if !events.is_empty() {
            timer.note(&events, start);
        }
        let mut reported = Vec::new();
        for second in 0..1_000 {
            let now = start + Duration::from_secs(second);
            if second <= pings {
                timer.note(&[], now);
            }
            match timer.wake(now) {
                Some(Ok(StreamEvent::Silent { idle_ms, .. })) => reported.push(idle_ms / 1_000),
                Some(Err(failure)) => {
                    assert_eq!(second, end, "{last:?}");
                    assert!(failure.message.contains(&format!("{end} seconds")), "{failure}");
                    assert_eq!(reported, (10..end).collect::<Vec<_>>(), "{last:?}");
                    return;
                }
                _ => {}
            }
        }
        panic!("{last:?} never ended");
    }

    #[test]
    fn silence_is_reported_each_second_and_ends() {
        let content_index = 0;
        let delta = || "x".to_owned();
        check(None, 0, 300);
        check(None, 900, 300);
        let after = |delta| Some(StreamEvent::Delta(delta));
        check(after(Delta::TextDelta { content_index, delta: delta() }), 900, 60);
        check(after(Delta::ThinkingStart { content_index }), 0, 300);
        check(Some(StreamEvent::Thinking), 900, 300);
        check(after(Delta::ThinkingDelta { content_index, delta: delta() }), 0, 60);
        check(after(Delta::ToolCallDelta { content_index, delta: delta() }), 0, 60);
        check(after(Delta::ToolCallDelta { content_index, delta: delta() }), 100, 160);
        check(after(Delta::ToolCallDelta { content_index, delta: delta() }), 900, 300);
    }
}
