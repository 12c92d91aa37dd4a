//! The permission mode for work without a plan: the one in which an accepted plan is carried out by default.

use std::time::Duration;

use tokio::time::Instant;

use tau_protocol::approval::PermissionMode;

/// Time for which a mode must apply before it counts as the working mode: the key that switches passes through others
/// on its way.
const PASSED: Duration = Duration::from_secs(2);

/// The mode for work without a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkMode {
    mode: PermissionMode,
    /// Start time of the current mode.
    since: Instant,
}

impl WorkMode {
    /// The state at the start. A session that starts in plan mode asks before changes.
    pub(crate) fn new(mode: PermissionMode, now: Instant) -> Self {
        let mode = if mode == PermissionMode::Plan { PermissionMode::Ask } else { mode };
        WorkMode { mode, since: now }
    }

    /// Records a mode change.
    pub(crate) fn on_mode_change(&mut self, from: PermissionMode, now: Instant) {
        if from != PermissionMode::Plan && now.duration_since(self.since) >= PASSED {
            self.mode = from;
        }
        self.since = now;
    }

    /// The mode, as far as this ceiling allows.
    pub(crate) fn within(self, ceiling: PermissionMode) -> PermissionMode {
        self.mode.min(ceiling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key for the next mode passes through others: those are not the modes that were worked in.
    #[test]
    fn modes_that_a_key_passes_through_are_not_worked_in() {
        use PermissionMode::{Ask, Auto, Edits, Plan};
        for (start, steps, mode) in [
            (Plan, vec![], Ask),
            (Auto, vec![(5_000, Plan)], Auto),
            (Auto, vec![(9_000, Ask), (200, Edits), (200, Plan)], Auto),
            (Ask, vec![(9_000, Edits), (300, Plan)], Ask),
            (Ask, vec![(9_000, Edits), (3_000, Plan)], Edits),
            (Ask, vec![(9_000, Auto), (60_000, Plan), (9_000, Ask), (300, Edits), (300, Plan)], Auto),
        ] {
            let mut time = Instant::now();
            let (mut work, mut now) = (WorkMode::new(start, time), start);
            for (after, next) in &steps {
                time += Duration::from_millis(*after);
                work.on_mode_change(now, time);
                now = *next;
            }
            assert_eq!(work.within(Auto), mode, "{start:?} {steps:?}");
            assert_eq!(work.within(Ask), Ask);
        }
    }
}
