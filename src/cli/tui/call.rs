//! What a request needs besides its fields: where replies go, whether it is still wanted, and a way to
//! ask the terminal for its clipboard.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;

use super::questions::ClipboardAsk;
use tau_app::request::{ShellReply, Ticket};

/// What a request needs besides its fields.
pub struct Call {
    ticket: Ticket,
    replies: mpsc::Sender<(Ticket, ShellReply)>,
    asks: mpsc::Sender<ClipboardAsk>,
    cancelled: Arc<AtomicBool>,
}

impl Call {
    /// A call whose replies go to `replies`, and questions for the terminal to `asks`.
    pub(crate) fn new(
        ticket: Ticket,
        replies: mpsc::Sender<(Ticket, ShellReply)>,
        asks: mpsc::Sender<ClipboardAsk>,
    ) -> Self {
        Call { ticket, replies, asks, cancelled: Arc::default() }
    }

    /// The flag that is set when the reply is no longer wanted.
    pub fn cancelled(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }

    /// Sends the last reply.
    pub(crate) async fn send_last(&self, reply: ShellReply) {
        let _ = self.replies.send((self.ticket, reply)).await;
    }

    /// Sends a reply that others follow; false when it is no longer wanted.
    pub(crate) fn send_partial(&self, reply: ShellReply) -> bool {
        self.replies.blocking_send((self.ticket, reply)).is_ok() && !self.is_cancelled()
    }

    /// Whether the reply is no longer wanted.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Asks the terminal for its clipboard.
    pub(crate) async fn ask_terminal(&self, ask: ClipboardAsk) {
        let _ = self.asks.send(ask).await;
    }

    /// The same call for a thread of its own.
    pub fn share(&self) -> Call {
        let (replies, asks) = (self.replies.clone(), self.asks.clone());
        Call { ticket: self.ticket, replies, asks, cancelled: Arc::clone(&self.cancelled) }
    }
}
