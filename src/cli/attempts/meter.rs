//! Counts the spending of all attempts, and notes which have reached their goals.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};

use crate::headless::json::spending::Spending;
use tau_agent::engine::task::AgentHandle;
use tau_protocol::event::{AgentEvent, SessionEvent};
use tau_protocol::goal::GoalState;

/// Number of events on their way to a front end.
const EVENTS: usize = 64;

/// The spending of all attempts, and its limit.
#[derive(Debug)]
pub(super) struct Budget {
    /// US dollars.
    most: Option<f64>,
    spent: Mutex<Vec<f64>>,
    pub used_up: Notify,
}

impl Budget {
    /// A budget of so many dollars, for so many attempts.
    pub fn new(most: Option<f64>, count: usize) -> Self {
        Budget { most, spent: Mutex::new(vec![0.0; count]), used_up: Notify::new() }
    }

    /// Notes what an attempt has spent so far.
    fn note(&self, index: usize, dollars: f64) {
        let mut spent = self.spent.lock();
        if let Some(own) = spent.get_mut(index) {
            *own = dollars;
        }
        if self.most.is_some_and(|most| spent.iter().sum::<f64>() >= most) {
            self.used_up.notify_one();
        }
    }
}

/// The spending and the goal of one attempt.
#[derive(Clone, Debug, Default)]
pub(super) struct AttemptStats {
    pub spending: Spending,
    pub reached: bool,
    /// The number of rounds so far.
    pub rounds: u32,
}

/// Tracks the progress of all attempts, to report what has changed.
#[derive(Debug, Default)]
pub(super) struct Progress(Vec<WatchedAttempt>);

#[derive(Debug)]
struct WatchedAttempt {
    known: Arc<Mutex<AttemptStats>>,
    has_ended: bool,
    /// The rounds and dollars reported last.
    reported: (u32, f64),
}

impl Progress {
    /// Watches the next attempt.
    pub fn watch(&mut self, known: Arc<Mutex<AttemptStats>>) {
        self.0.push(WatchedAttempt { known, has_ended: false, reported: (0, 0.0) });
    }

    /// Stops reporting this attempt.
    pub fn stop_watching(&mut self, index: usize) {
        if let Some(watched) = self.0.get_mut(index) {
            watched.has_ended = true;
        }
    }

    /// The attempts with progress since the last call: number, rounds, dollars.
    pub fn take_changes(&mut self) -> Vec<(usize, u32, f64)> {
        let mut changed = Vec::new();
        for (index, watched) in self.0.iter_mut().enumerate().filter(|(_, watched)| !watched.has_ended) {
            let now = {
                let known = watched.known.lock();
                (known.rounds, known.spending.dollars())
            };
            if now != watched.reported {
                watched.reported = now;
                changed.push((index + 1, now.0, now.1));
            }
        }
        changed
    }
}

/// Counts the events of an agent, and forwards them to its front end.
pub(super) fn attach_meter(
    agent: AgentHandle,
    index: usize,
    budget: Arc<Budget>,
) -> (AgentHandle, Arc<Mutex<AttemptStats>>) {
    let AgentHandle { commands, mut events, task } = agent;
    let (forward, passed) = mpsc::channel(EVENTS);
    let known = Arc::new(Mutex::new(AttemptStats::default()));
    let counted = Arc::clone(&known);
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            let dollars = {
                let mut known = counted.lock();
                known.spending.take(&event);
                if let AgentEvent::Session(SessionEvent::GoalChanged { goal }) = &event {
                    known.reached = goal.as_ref().is_some_and(|goal| goal.state == GoalState::Reached);
                    known.rounds = goal.as_ref().map_or(known.rounds, |goal| goal.rounds);
                }
                known.spending.dollars()
            };
            budget.note(index, dollars);
            if forward.send(event).await.is_err() {
                return;
            }
        }
    });
    (AgentHandle { commands, events: passed, task }, known)
}
