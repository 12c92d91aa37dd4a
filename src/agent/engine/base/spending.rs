//! Limits of cost over more than one run: of the session, and of all sessions in 24 hours.

use parking_lot::Mutex;

use crate::settings::spending::SpendingLimits;
use tau_protocol::run::RunEnd;

/// A limit that is reached.
#[derive(Debug)]
pub(crate) struct SpentLimit {
    pub(crate) end: RunEnd,
    /// The reason, as a part of a sentence, and what to do about it.
    pub(crate) why: String,
    pub(crate) hint: &'static str,
}

/// These limits, and what the session has cost before a run.
#[derive(Debug)]
pub(crate) struct SessionSpending {
    limits: SpendingLimits,
    before: Mutex<f64>,
}

impl SessionSpending {
    pub(crate) fn new(limits: SpendingLimits, before: f64) -> Self {
        SessionSpending { limits, before: Mutex::new(before) }
    }

    /// The cost of the session when the run began.
    pub(crate) fn before(&self) -> f64 {
        *self.before.lock()
    }

    /// Adds to the cost of the session before the run.
    pub(crate) fn add_before(&self, dollars: f64) {
        *self.before.lock() += dollars;
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.limits.is_limited()
    }

    /// Records the cost of a request.
    pub(crate) fn add(&self, dollars: f64) {
        if let Some(shared) = &self.limits.shared {
            shared.add(dollars);
        }
        if let Some(log) = self.limits.log.as_ref().filter(|_| dollars > 0.0) {
            log.add(dollars);
        }
    }

    /// The limit that is reached when the run has cost so much.
    pub(crate) fn reached_limit(&self, of_run: f64) -> Option<SpentLimit> {
        let SpendingLimits { session, day, log, shared } = &self.limits;
        if let Some(why) = shared.as_ref().and_then(|shared| shared.reached_limit()) {
            return Some(SpentLimit { end: RunEnd::Dollars, why, hint: "raise it, or take what they have" });
        }
        let spent = self.before() + of_run;
        if let Some(most) = session.filter(|most| spent >= *most) {
            return Some(SpentLimit {
                end: RunEnd::Dollars,
                why: format!("this session has cost ${spent:.4}; session_cost allows ${most}"),
                hint: "raise session_cost in config.toml and continue with `tau -c`, or begin a new session",
            });
        }
        let most = (*day)?;
        let spent = match log.as_ref()?.last_day() {
            Ok(spent) => spent,
            Err(error) => {
                return Some(SpentLimit {
                    end: RunEnd::Day,
                    why: format!("day_cost cannot be kept, as costs cannot be recorded: {error}"),
                    hint: "make the file readable and writable, or remove day_cost from config.toml",
                });
            }
        };
        (spent >= most).then(|| SpentLimit {
            end: RunEnd::Day,
            why: format!("your sessions have cost ${spent:.4} in 24 hours; day_cost allows ${most}"),
            hint: "raise day_cost in config.toml and continue with `tau -c`, or wait",
        })
    }
}
