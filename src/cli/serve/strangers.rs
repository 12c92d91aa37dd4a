//! Connections that have not sent the token yet, and their limit.
//!
//! When there are too many, the oldest is closed: a client with the token sends it at once, so waiting
//! connections cannot lock it out.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Maximum number of open connections without a token.
const MAX_STRANGERS: usize = 128;

/// The connections without a token.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strangers(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    /// The number of the next connection. None is used twice: a connection that ends must not remove another.
    next: u64,
    /// The oldest first.
    open: VecDeque<(u64, CancellationToken)>,
}

impl Strangers {
    /// Adds a connection.
    pub(super) fn enter(&self) -> Stranger {
        let mut waiting = self.0.lock();
        let Waiting { next, open } = &mut *waiting;
        let (id, closed) = (*next, CancellationToken::new());
        *next = next.wrapping_add(1);
        open.push_back((id, closed.clone()));
        if open.len() > MAX_STRANGERS
            && let Some((_, oldest)) = open.pop_front()
        {
            oldest.cancel();
        }
        Stranger(Arc::new(Entry { id, closed, all: self.clone() }))
    }

    fn remove(&self, id: u64) {
        self.0.lock().open.retain(|(other, _)| *other != id);
    }
}

/// A connection, for the requests on it.
#[derive(Clone, Debug)]
pub(crate) struct Stranger(Arc<Entry>);

#[derive(Debug)]
struct Entry {
    id: u64,
    closed: CancellationToken,
    all: Strangers,
}

impl Stranger {
    /// Keeps this connection, because it has sent the token.
    pub(crate) fn is_known(&self) {
        self.0.all.remove(self.0.id);
    }

    /// Waits until the connection must be closed.
    pub(super) async fn wait_for_close(&self) {
        self.0.closed.cancelled().await;
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.all.remove(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_without_a_token_is_closed_and_no_other() {
        let strangers = Strangers::default();
        let known = strangers.enter();
        known.is_known();
        let mut waiting: Vec<Stranger> = (0..MAX_STRANGERS).map(|_| strangers.enter()).collect();
        assert!(waiting.iter().all(|one| !one.0.closed.is_cancelled()));
        drop(waiting.pop());
        waiting.extend([strangers.enter(), strangers.enter()]);
        let closed: Vec<bool> = waiting.iter().map(|one| one.0.closed.is_cancelled()).collect();
        assert!(closed[0] && !closed[1..].contains(&true) && !known.0.closed.is_cancelled());
        // One that was known leaves, and the newest stays counted.
        drop(waiting);
        let known = strangers.enter();
        known.is_known();
        let _newest = strangers.enter();
        drop(known);
        assert_eq!(strangers.0.lock().open.len(), 1);
    }
}
