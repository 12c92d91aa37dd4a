//! Event streams: the events of a session as the body of a response.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::event_log::{Following, Position, frame};
use super::live::{Answer, Client, KEEP_ALIVE, LiveSession};
use super::metrics::{Metrics, OpenStream};
use tau_protocol::command::{AgentCommand, RunCommand};

/// Bytes of frames that are sent to a connection at once.
const CHUNK: usize = 64 * 1024;
/// Maximum silence of a stream.
const QUIET: Duration = Duration::from_secs(15);

/// The events of a session for one client.
pub(crate) struct EventStream {
    session: Arc<LiveSession>,
    /// The position of the last event sent.
    position: Position,
    /// Written before the events.
    first: Option<Bytes>,
    until: Until,
    metrics: Arc<Metrics>,
    _client: Client,
    _counted: OpenStream,
}

/// The end of a stream.
enum Until {
    /// With the session.
    Session,
    /// With a run; `idle` is answered once nothing is running.
    Run { idle: oneshot::Receiver<Answer>, guard: AbortGuard },
    /// After the last event of a run.
    Event { last: Position, guard: AbortGuard },
    /// Now.
    Over,
}

impl Until {
    /// Whether a run was awaited and is over.
    fn is_run_over(&mut self) -> bool {
        match self {
            Until::Run { idle, .. } => idle.try_recv().is_ok(),
            Until::Session | Until::Event { .. } | Until::Over => false,
        }
    }
}

/// Aborts the run of a client that leaves before its end.
struct AbortGuard {
    session: Arc<LiveSession>,
    armed: bool,
}

impl Drop for AbortGuard {
    fn drop(&mut self) {
        if self.armed {
            self.session.send_soon(AgentCommand::Run(RunCommand::Abort));
        }
    }
}

/// A cause of waking a stream.
enum Wake {
    /// There are more events.
    More,
    /// There are no more events.
    Ended,
    /// The run is over; its last event.
    RunOver(Option<Position>),
    /// Nothing was sent for a while.
    Quiet,
}

/// Frames as the body of a response.
pub(super) fn event_stream(frames: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // Proxies would otherwise buffer small pieces.
        (header::HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, Body::from_stream(frames.map(Ok::<_, Infallible>))).into_response()
}

impl EventStream {
    /// The events after a position, as long as the session is open.
    pub fn live(
        session: &Arc<LiveSession>,
        position: Position,
        metrics: &Arc<Metrics>,
        counted: OpenStream,
    ) -> Self {
        EventStream {
            session: Arc::clone(session),
            position,
            first: None,
            until: Until::Session,
            metrics: Arc::clone(metrics),
            _client: session.client(),
            _counted: counted,
        }
    }

    /// Ends the stream with a run, which `idle` reports; a client that leaves before aborts it.
    pub fn of_run(mut self, idle: oneshot::Receiver<Answer>) -> Self {
        let session =
            self.session.read_facts(|facts, _| json!({ "type": "session", "session": facts.mirror.session }));
        self.first = Some(frame(None, &session));
        self.until =
            Until::Run { idle, guard: AbortGuard { session: Arc::clone(&self.session), armed: true } };
        self
    }

    /// Starts the stream with a record of the number of missed events.
    pub fn after_gap(mut self) -> Self {
        self.first = Some(gap(None));
        self
    }

    /// The stream as a response.
    pub fn into_response(self) -> Response {
        event_stream(futures_util::stream::unfold(self, async |mut stream| {
            let piece = stream.next().await?;
            Some((piece, stream))
        }))
    }

    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            if let Until::Over = self.until {
                return None;
            }
            let following = self.session.after(self.position, CHUNK);
            if following.position > self.position {
                return Some(self.piece(following));
            }
            if let Until::Event { last, guard } = &mut self.until
                && self.position >= *last
            {
                guard.armed = false;
                self.until = Until::Over;
                return Some(frame(None, &done_record(&self.session)));
            }
            match self.wake().await {
                Wake::More => {}
                Wake::Quiet => return Some(KEEP_ALIVE),
                Wake::RunOver(Some(last)) => {
                    if let Until::Run { guard, .. } = std::mem::replace(&mut self.until, Until::Over) {
                        self.until = Until::Event { last, guard };
                    }
                }
                Wake::Ended => {
                    let is_run_over = self.until.is_run_over();
                    self.until = Until::Over;
                    return is_run_over.then(|| frame(None, &done_record(&self.session)));
                }
                // The session is ending.
                Wake::RunOver(None) => self.until = Until::Session,
            }
        }
    }

    async fn wake(&mut self) -> Wake {
        let over = async {
            match &mut self.until {
                Until::Run { idle, .. } => idle.await.ok().map(|(_, moment)| moment.last),
                Until::Session | Until::Event { .. } | Until::Over => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            more = self.session.wait_after(self.position) => if more { Wake::More } else { Wake::Ended },
            last = over => Wake::RunOver(last),
            () = tokio::time::sleep(QUIET) => Wake::Quiet,
        }
    }

    /// The frames of events as one piece.
    fn piece(&mut self, following: Following) -> Bytes {
        self.position = following.position;
        self.metrics.count_sent_events(following.events.len() as u64, following.missed);
        let missed = (following.missed > 0).then(|| gap(Some(following.missed)));
        let frames: Vec<Bytes> =
            missed.into_iter().chain(following.events.into_iter().map(|kept| kept.frame())).collect();
        match frames.as_slice() {
            [only] => only.clone(),
            several => several.concat().into(),
        }
    }
}

/// The record in place of dropped events. For an earlier opening of the session their number is unknown.
fn gap(missed: Option<u64>) -> Bytes {
    frame(None, &json!({ "type": "gap", "missed": missed }))
}

/// The record at the end of a run.
fn done_record(session: &LiveSession) -> Value {
    session.read_facts(|facts, log| {
        let run = &facts.run;
        json!({
            "type": "done",
            "sessionId": session.id,
            "text": run.answer.text(),
            "stopReason": run.stop_reason,
            "aborted": run.aborted,
            "error": run.error,
            "usage": run.usage,
            "lastEventId": log.id(log.last()),
        })
    })
}
