//! What a request needs besides its fields: where replies go, and whether it is still wanted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;

use crate::app::request::{ShellReply, Ticket};

/// What a request needs besides its fields.
pub struct Call {
    ticket: Ticket,
    replies: mpsc::Sender<(Ticket, ShellReply)>,
    cancelled: Arc<AtomicBool>,
}

impl Call {
    /// A call whose replies go to `replies`.
    pub fn new(ticket: Ticket, replies: mpsc::Sender<(Ticket, ShellReply)>) -> Self {
        Call { ticket, replies, cancelled: Arc::default() }
    }

    /// The mark that is set when nobody waits any more.
    pub fn cancelled(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }

    /// Sends the last reply.
    pub(crate) async fn send_last(&self, reply: ShellReply) {
        let _ = self.replies.send((self.ticket, reply)).await;
    }

    /// Sends a reply that others follow; false when nobody waits any more.
    pub(crate) fn send_partial(&self, reply: ShellReply) -> bool {
        self.replies.blocking_send((self.ticket, reply)).is_ok() && !self.is_cancelled()
    }

    /// Whether nobody waits any more.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// The same call for a thread of its own.
    pub fn share(&self) -> Call {
        Call { ticket: self.ticket, replies: self.replies.clone(), cancelled: Arc::clone(&self.cancelled) }
    }
}
