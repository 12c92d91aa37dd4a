//! The body of an answer, read by a task of its own: [`ResponseBody`].
//!
//! An answer that streams comes in hundreds of small pieces a second, and waking up for each costs
//! more than all that is done with it. So the reader pauses between reads, and hands on together
//! what came meanwhile. Where the connection has a thread to itself, that thread sleeps, and the
//! pieces wake nobody; elsewhere only the reader waits.

use std::time::Duration;

use futures_util::FutureExt;
use reqwest::Response;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::read_pace::ReadPace;
use super::worker::{Pause, Worker};
use super::{Failure, closed, transport_failure};

/// How long the connection may take to hand out what it has received.
const DRAIN: Duration = Duration::from_millis(1);
/// Bytes that are handed on together at most, if no single piece is larger.
const TOGETHER: usize = 64 * 1024;
/// Parts that may wait to be taken; then reading stops.
const WAITING: usize = 2;

/// The body of an answer with a good status. Dropping it closes the connection.
#[derive(Debug)]
pub struct ResponseBody {
    parts: mpsc::Receiver<Part>,
    _reader: AbortOnDropHandle<()>,
}

impl ResponseBody {
    /// Begins to read. `host` is named in failures.
    pub(super) fn read(response: Response, host: String, worker: &Worker, pace: ReadPace) -> Self {
        let (sender, parts) = mpsc::channel(WAITING);
        let pause = worker.pause();
        let reader = BodyReader { response, host, pace, pause, flows: false };
        ResponseBody { parts, _reader: worker.spawn(reader.run(sender)) }
    }

    /// The next bytes; `None` at the end. Of an answer in many small pieces those of up to
    /// 48 milliseconds come together, or of as many as the connections were made with.
    ///
    /// # Errors
    /// When the connection is lost or the encoding of the body is damaged.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        self.parts.recv().await.unwrap_or_else(|| Err(closed()))
    }
}

/// What a read gave: bytes, the end, or a failure.
type Part = Result<Option<Vec<u8>>, Failure>;

struct BodyReader {
    response: Response,
    host: String,
    pace: ReadPace,
    pause: Pause,
    /// A piece was ready on the connection's turn since the last pause.
    flows: bool,
}

impl BodyReader {
    async fn run(mut self, parts: mpsc::Sender<Part>) {
        let mut next = self.piece().await;
        loop {
            let mut later = None;
            if let Ok(Some(bytes)) = &mut next {
                later = self.gather(bytes).await;
            }
            let ended = !matches!(next, Ok(Some(_)));
            if parts.send(next).await.is_err() || ended {
                return;
            }
            next = match (later, self.pace.pause()) {
                (Some(later), _) => later,
                (None, None) => self.piece().await,
                (None, Some(pause)) => {
                    self.flows = false;
                    self.pause.wait(pause).await;
                    self.piece().await
                }
            };
        }
    }

    /// Adds to `bytes` the small pieces that have come as well; what does not belong to them.
    async fn gather(&mut self, bytes: &mut Vec<u8>) -> Option<Part> {
        while self.pace.pause().is_some() && bytes.len() < TOGETHER {
            match self.ready().await? {
                Ok(Some(more)) => bytes.extend_from_slice(&more),
                other => return Some(other),
            }
        }
        None
    }

    /// A piece that has come already. Usually the connection hands it out when it gets a turn; where
    /// it runs on another thread, soon after.
    async fn ready(&mut self) -> Option<Part> {
        tokio::task::yield_now().await;
        if let Some(piece) = self.piece().now_or_never() {
            self.flows = true;
            return Some(piece);
        }
        if self.flows || self.pause == Pause::Thread {
            return None;
        }
        tokio::time::timeout(DRAIN, self.piece()).await.ok()
    }

    async fn piece(&mut self) -> Part {
        let piece = self.response.chunk().await.map_err(|error| transport_failure(&error, &self.host))?;
        self.pace.took(piece.as_ref().map_or(0, |bytes| bytes.len()));
        Ok(piece.map(Vec::from))
    }
}
