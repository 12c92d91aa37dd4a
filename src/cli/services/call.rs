//! The context of a request: where replies go, cancellation, and the terminal's clipboard.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;

use crate::tui::questions::ClipboardAsk;
use tau_app::request::{ScreenReply, Ticket};

/// The context of a request besides its fields.
pub struct Call {
    ticket: Ticket,
    replies: mpsc::Sender<(Ticket, ScreenReply)>,
    asks: mpsc::Sender<ClipboardAsk>,
    cancelled: Arc<AtomicBool>,
}

impl Call {
    /// A call that sends replies to `replies`, and questions for the terminal to `asks`.
    pub(crate) fn new(
        ticket: Ticket,
        replies: mpsc::Sender<(Ticket, ScreenReply)>,
        asks: mpsc::Sender<ClipboardAsk>,
    ) -> Self {
        Call { ticket, replies, asks, cancelled: Arc::default() }
    }

    /// The flag that is set when the reply is no longer wanted.
    pub fn cancel_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }

    pub(crate) async fn send_last(&self, reply: ScreenReply) {
        let _ = self.replies.send((self.ticket, reply)).await;
    }

    /// Sends a reply that others follow; false when it is no longer wanted.
    pub(crate) fn send_partial(&self, reply: ScreenReply) -> bool {
        self.replies.blocking_send((self.ticket, reply)).is_ok() && !self.is_cancelled()
    }

    /// Like [`Call::send_partial`], from a task.
    pub(crate) async fn send_early(&self, reply: ScreenReply) {
        let _ = self.replies.send((self.ticket, reply)).await;
    }

    /// Whether the reply is no longer wanted.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub(crate) async fn ask_terminal(&self, ask: ClipboardAsk) {
        let _ = self.asks.send(ask).await;
    }

    /// An equivalent call for a separate thread.
    pub fn share(&self) -> Call {
        let (replies, asks) = (self.replies.clone(), self.asks.clone());
        Call { ticket: self.ticket, replies, asks, cancelled: Arc::clone(&self.cancelled) }
    }
}
