//! Side questions in progress: requests beside the run, whose answers are no part of the conversation.

use std::future::pending;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use tau_protocol::message::Usage;

/// The maximum number of side questions at a time.
pub(crate) const MAX_QUESTIONS: usize = 4;

/// Something to report of a side question.
#[derive(Debug)]
pub(crate) enum SideNews {
    /// More of the answer.
    Delta { id: String, text: String },
    /// It has ended, with an error if there is no answer.
    Ended { id: String, usage: Usage, error: Option<String> },
}

/// The side questions in progress.
pub(crate) struct SidePlace {
    work: FuturesUnordered<BoxFuture<'static, SideNews>>,
    /// The token that stops each, by id.
    stops: Vec<(String, CancellationToken)>,
    sender: mpsc::UnboundedSender<SideNews>,
    written: mpsc::UnboundedReceiver<SideNews>,
}

impl Default for SidePlace {
    fn default() -> Self {
        let (sender, written) = mpsc::unbounded_channel();
        SidePlace { work: FuturesUnordered::new(), stops: Vec::new(), sender, written }
    }
}

impl SidePlace {
    /// Whether no more can be asked at the moment.
    pub(crate) fn is_full(&self) -> bool {
        self.stops.len() >= MAX_QUESTIONS
    }

    /// Starts one. `ask` gets the sender of the pieces of its answer, and what ends it.
    pub(crate) fn start<W>(
        &mut self,
        id: String,
        ask: impl FnOnce(mpsc::UnboundedSender<SideNews>, CancellationToken) -> W,
    ) where
        W: Future<Output = SideNews> + Send + 'static,
    {
        let stop = CancellationToken::new();
        self.work.push(Box::pin(ask(self.sender.clone(), stop.clone())));
        self.stops.push((id, stop));
    }

    pub(crate) fn stop(&self, id: &str) {
        self.stops.iter().filter(|(own, _)| own == id).for_each(|(_, stop)| stop.cancel());
    }

    pub(crate) fn stop_all(&self) {
        self.stops.iter().for_each(|(_, stop)| stop.cancel());
    }

    /// Whether the end of each was reported.
    pub(crate) fn is_empty(&self) -> bool {
        self.work.is_empty()
    }

    /// The next news; pending while nothing is asked. Cancel safe. The pieces of an answer come before its end.
    pub(crate) async fn next(&mut self) -> SideNews {
        tokio::select! {
            biased;
            Some(news) = self.written.recv() => news,
            Some(news) = self.work.next(), if !self.work.is_empty() => {
                if let SideNews::Ended { id, .. } = &news {
                    self.stops.retain(|(own, _)| own != id);
                }
                // What it wrote in the same moment comes first.
                match self.written.try_recv() {
                    Ok(earlier) => {
                        self.work.push(Box::pin(std::future::ready(news)));
                        earlier
                    }
                    Err(_) => news,
                }
            }
            else => pending().await,
        }
    }
}
