//! Attempts at work in the lists of live sessions: they can be seen there, not opened.

use super::{Attempt, Attempts};
use crate::live::record::{LiveRecord, Registered};
use tau_agent::settings::Paths;
use tau_protocol::live_session::LiveState;
use tau_protocol::title;

/// The records of attempts, in their order; those that have ended have none.
pub(super) struct Shown(Vec<Option<Registered>>);

impl Shown {
    /// Shows all of them. One that cannot be shown is missing in the lists.
    pub fn new(paths: &Paths, attempts: &Attempts) -> Self {
        let task = title::of(&attempts.task).unwrap_or_default();
        let record = |attempt: &Attempt| LiveRecord {
            id: attempt.session.clone(),
            pid: std::process::id(),
            directory: attempt.path.clone(),
            title: format!("attempt {}: {task}", attempt.number),
            state: LiveState::Running,
            model: attempt.model.clone(),
            changed: jiff::Timestamp::now().as_millisecond(),
            background: true,
            // Like a helper, it ends with whoever began it.
            parent: Some(attempts.session.clone().unwrap_or_else(|| attempts.id.clone())),
            ..LiveRecord::default()
        };
        Shown(attempts.attempts.iter().map(|attempt| Registered::new(paths, record(attempt)).ok()).collect())
    }

    /// Shows what attempts have cost so far: number, rounds, dollars.
    pub fn progress(&mut self, changed: &[(usize, u32, f64)]) {
        for (number, _, cost) in changed {
            if let Some(Some(shown)) = number.checked_sub(1).and_then(|index| self.0.get_mut(index)) {
                let changed = jiff::Timestamp::now().as_millisecond();
                let record = LiveRecord { cost: *cost, changed, ..shown.record().clone() };
                if let Err(error) = shown.update(record) {
                    tracing::warn!(%error, "the record of an attempt could not be written");
                }
            }
        }
    }

    /// Shows an attempt no longer, which has ended.
    pub fn ended(&mut self, index: usize) {
        self.0.get_mut(index).map(Option::take);
    }
}
