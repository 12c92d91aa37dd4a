//! Limits of cost over more than one run: of the session, and of all sessions in 24 hours.

use crate::settings::spending::SpendingLimits;

/// These limits, for one run.
#[derive(Debug)]
pub(crate) struct RunSpending {
    limits: SpendingLimits,
    /// The cost of the session when the run began.
    before: f64,
}

impl RunSpending {
    pub(crate) fn new(limits: SpendingLimits, before: f64) -> Self {
        RunSpending { limits, before }
    }

    /// Records the cost of a request.
    pub(crate) fn add(&self, dollars: f64) {
        if let Some(log) = self.limits.log.as_ref().filter(|_| dollars > 0.0) {
            log.add(dollars);
        }
    }

    /// The limit that is reached when the run has cost so much, as a notice and what to do about it.
    pub(crate) fn reached(&self, of_run: f64) -> Option<(String, &'static str)> {
        let SpendingLimits { session, day, log } = &self.limits;
        let spent = self.before + of_run;
        if let Some(most) = session.filter(|most| spent >= *most) {
            let text = format!("stopped: this session has cost ${spent:.4}; session_cost allows ${most}");
            return Some((
                text,
                "raise session_cost in config.toml and continue with `tau -c`, or begin a session with /new",
            ));
        }
        let most = (*day)?;
        let spent = log.as_ref()?.last_day();
        (spent >= most).then(|| {
            let text =
                format!("stopped: your sessions have cost ${spent:.4} in 24 hours; day_cost allows ${most}");
            (text, "raise day_cost in config.toml and continue with `tau -c`, or wait")
        })
    }
}
