//! Notes what attempts spend, and which have reached their goals.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::headless::json::spending::Spending;
use tau_agent::engine::task::AgentHandle;
use tau_protocol::event::{AgentEvent, SessionEvent};
use tau_protocol::goal::GoalState;
use tau_protocol::session_meter::SessionMeter;

/// Number of events on their way to a front end.
const EVENTS: usize = 64;

/// The spending and the goal of one attempt.
#[derive(Clone, Debug, Default)]
pub(super) struct AttemptStats {
    pub spending: Spending,
    /// Counts helpers while they work, too.
    meter: SessionMeter,
    pub reached: bool,
    /// The number of rounds so far.
    pub rounds: u32,
}

impl AttemptStats {
    fn take(&mut self, event: &AgentEvent) {
        self.spending.take(event);
        self.meter.take(event);
        if let AgentEvent::Session(SessionEvent::GoalChanged { goal }) = event {
            self.reached = goal.as_ref().is_some_and(|goal| goal.state == GoalState::Reached);
            self.rounds = goal.as_ref().map_or(self.rounds, |goal| goal.rounds);
        }
    }
}

/// Tracks the progress of all attempts, to report what has changed.
#[derive(Debug, Default)]
pub(super) struct Progress(Vec<WatchedAttempt>);

#[derive(Debug)]
struct WatchedAttempt {
    known: Arc<Mutex<AttemptStats>>,
    has_ended: bool,
    reported: SoFar,
}

/// The rounds and the money that an attempt has needed so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SoFar {
    pub rounds: u32,
    pub dollars: f64,
    /// Whether any of it is estimated.
    pub estimated: bool,
}

impl Progress {
    /// Watches the next attempt.
    pub fn watch(&mut self, known: Arc<Mutex<AttemptStats>>) {
        self.0.push(WatchedAttempt { known, has_ended: false, reported: SoFar::default() });
    }

    /// Stops reporting this attempt.
    pub fn stop_watching(&mut self, index: usize) {
        if let Some(watched) = self.0.get_mut(index) {
            watched.has_ended = true;
        }
    }

    /// The attempts with progress since the last call, by their numbers.
    pub fn take_changes(&mut self) -> Vec<(usize, SoFar)> {
        let mut changed = Vec::new();
        for (index, watched) in self.0.iter_mut().enumerate().filter(|(_, watched)| !watched.has_ended) {
            let now = {
                let known = watched.known.lock();
                let used = known.meter.total();
                SoFar { rounds: known.rounds, dollars: used.cost.total, estimated: used.estimated }
            };
            if now != watched.reported {
                watched.reported = now;
                changed.push((index + 1, now));
            }
        }
        changed
    }
}

/// Counts the events of an agent, and forwards them to its front end.
pub(super) fn attach_meter(agent: AgentHandle) -> (AgentHandle, Arc<Mutex<AttemptStats>>) {
    let AgentHandle { commands, mut events, task } = agent;
    let (forward, passed) = mpsc::channel(EVENTS);
    let known = Arc::new(Mutex::new(AttemptStats::default()));
    let counted = Arc::clone(&known);
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            counted.lock().take(&event);
            if forward.send(event).await.is_err() {
                return;
            }
        }
    });
    (AgentHandle { commands, events: passed, task }, known)
}
