//! The body of an answer, read by a task of its own: [`ResponseBody`].
//!
//! A streamed answer arrives in hundreds of small pieces per second, and waking up for each costs more than
//! processing them. So the reader pauses while there is nothing to read, and passes on together what arrived
//! in the meantime; available data is read immediately. If the connection has its own thread, that thread
//! sleeps, and the pieces cause no wakeups; otherwise only the reader waits.

use std::time::Duration;

use futures_util::FutureExt;
use reqwest::Response;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::read_pace::ReadPace;
use super::worker::{Pause, Worker};
use super::{Failure, Peer, disconnect_failure, transport_failure};
use crate::provider::plan_limits;
use tau_protocol::plan_limits::PlanWindow;

/// The time that the connection has to return data it has received.
const DRAIN: Duration = Duration::from_millis(1);
/// The maximum bytes that are passed on together, unless a single piece is larger.
const TOGETHER: usize = 64 * 1024;
/// The maximum number of parts that wait to be taken; beyond that, reading stops.
const WAITING: usize = 2;

/// The body of an answer with a good status. Dropping it closes the connection.
#[derive(Debug)]
pub struct ResponseBody {
    parts: mpsc::Receiver<Part>,
    /// How much of the plan's limits is used, if the answer says so.
    pub(crate) plan: Vec<PlanWindow>,
    /// The proxy that it came through.
    pub(crate) proxy: Option<String>,
    _reader: AbortOnDropHandle<()>,
}

impl ResponseBody {
    /// Begins to read. `peer` is named in failures.
    pub(super) fn read(response: Response, peer: Peer, worker: &Worker, pace: ReadPace) -> Self {
        let (sender, parts) = mpsc::channel(WAITING);
        let pause = worker.pause();
        let plan = plan_of(&response);
        let proxy = peer.proxy().map(ToString::to_string);
        let reader = BodyReader { response, peer, pace, pause, flows: false };
        ResponseBody { parts, plan, proxy, _reader: worker.spawn(reader.run(sender)) }
    }

    /// The next bytes; `None` at the end. Available data is joined, including data that arrives within the
    /// pause set for the connections. Fails when the connection is lost or the encoding of the body is
    /// damaged.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        self.parts.recv().await.unwrap_or_else(|| Err(disconnect_failure()))
    }
}

/// How much of the plan's limits is used, by the headers of an answer.
pub(super) fn plan_of(response: &Response) -> Vec<PlanWindow> {
    let headers = response.headers().iter();
    let headers: Vec<(&str, &str)> =
        headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))).collect();
    plan_limits::of_headers(&headers, jiff::Timestamp::now().as_millisecond())
}

/// The result of a read: bytes, the end, or a failure.
type Part = Result<Option<Vec<u8>>, Failure>;

struct BodyReader {
    response: Response,
    peer: Peer,
    pace: ReadPace,
    pause: Pause,
    /// Whether a piece was ready on the connection's turn since the last pause.
    flows: bool,
}

/// The state after the gathered pieces.
enum Next {
    /// This has already arrived.
    Came(Part),
    /// More may have arrived: enough was gathered.
    MayHaveCome,
    /// Nothing has arrived yet.
    Nothing,
}

impl BodyReader {
    async fn run(mut self, parts: mpsc::Sender<Part>) {
        let mut part = self.piece().await;
        loop {
            let mut next = Next::MayHaveCome;
            if let Ok(Some(bytes)) = &mut part {
                next = self.gather(bytes).await;
                self.pace.on_read(bytes.len());
            }
            let ended = !matches!(part, Ok(Some(_)));
            if parts.send(part).await.is_err() || ended {
                return;
            }
            part = match (next, self.pace.pause()) {
                (Next::Came(part), _) => part,
                (Next::Nothing, Some(pause)) => {
                    self.flows = false;
                    self.pause.wait(pause).await;
                    self.piece().await
                }
                (Next::MayHaveCome | Next::Nothing, _) => self.piece().await,
            };
        }
    }

    /// Appends the pieces that have also arrived to `bytes`.
    async fn gather(&mut self, bytes: &mut Vec<u8>) -> Next {
        while bytes.len() < TOGETHER {
            match self.ready().await {
                None => return Next::Nothing,
                Some(Ok(Some(more))) => bytes.extend_from_slice(&more),
                Some(other) => return Next::Came(other),
            }
        }
        Next::MayHaveCome
    }

    /// A piece that has already arrived. Usually the connection returns it on its next turn; if it runs on
    /// another thread, soon after.
    async fn ready(&mut self) -> Option<Part> {
        tokio::task::yield_now().await;
        if let Some(piece) = self.piece().now_or_never() {
            self.flows = true;
            return Some(piece);
        }
        if self.flows || self.pause == Pause::Thread || self.pace.pause().is_none() {
            return None;
        }
        tokio::time::timeout(DRAIN, self.piece()).await.ok()
    }

    async fn piece(&mut self) -> Part {
        let piece = self.response.chunk().await.map_err(|error| transport_failure(&error, &self.peer))?;
        Ok(piece.map(Vec::from))
    }
}

#[cfg(test)]
mod tests {
    use reqwest::Body;
    use tokio::time::timeout;

    use super::*;

    /// An answer that has already arrived, in small pieces. A pause would take an hour.
    async fn read_at_once(worker: Worker, pieces: usize) {
        let piece = || Ok::<_, std::io::Error>(vec![b'x'; 1_600]);
        let body = Body::wrap_stream(futures_util::stream::iter((0..pieces).map(move |_| piece())));
        let pace = ReadPace::up_to(Duration::from_hours(1));
        let response = Response::from(http::Response::new(body));
        let mut body = ResponseBody::read(response, Peer::direct("x"), &worker, pace);
        let mut read = 0;
        while let Some(bytes) = timeout(Duration::from_secs(60), body.chunk()).await.unwrap().unwrap() {
            read += bytes.len();
        }
        assert_eq!(read, pieces * 1_600);
    }

    #[tokio::test]
    async fn what_has_come_already_is_read_without_a_pause() {
        for pieces in [1, 40, 41, 2_500] {
            read_at_once(Worker::default(), pieces).await;
            read_at_once(Worker::own_thread(), pieces).await;
        }
    }
}
