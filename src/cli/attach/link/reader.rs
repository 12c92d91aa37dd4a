//! Reads the frames of a session's stream and decodes them.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::attach::reach::Trouble;
use crate::attach::server::Server;
use crate::attach::wire::{EventBatch, Greeting, StreamEnd, StreamRequest, frame};
use tau_agent::provider::http::tau_server::ServerStream;
use tau_agent::provider::sse::{SseFrame, SseParser};

/// Maximum silence of a stream: the server sends a sign of life three times as often.
const SILENCE: Duration = Duration::from_secs(45);
/// How long the server may be silent before the user is warned.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// Capacity of the queue of frames.
const WAITING: usize = 16;

/// A decoded frame.
#[derive(Debug)]
pub(super) enum LinkEvent {
    /// The stream is open.
    Attached(Greeting),
    /// The session as a whole.
    Opened(EventBatch),
    Happened(EventBatch),
    /// The session was closed.
    Closed(StreamEnd),
    /// The stream ended, or could not be opened.
    Lost(Trouble),
    /// Nothing is heard; the reason.
    Silent(String),
}

/// How long nothing was heard of a server.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// The time at which a command has not been accepted for long.
    pub due: Option<Instant>,
    /// The reason that the server gave for that.
    pub busy: Option<String>,
    /// The last report of a silence that lasts.
    pub told: Option<String>,
}

/// A stream that is being read; dropping it closes the connection.
#[derive(Debug)]
pub(super) struct Reader {
    heard: mpsc::Receiver<LinkEvent>,
    _task: AbortOnDropHandle<()>,
}

impl Reader {
    /// Opens the stream and starts reading; `opens` is whether to open a session that no process has open.
    pub(super) fn start(server: Arc<Server>, session: String, joining: StreamRequest, opens: bool) -> Self {
        let (sender, heard) = mpsc::channel(WAITING);
        let task = tokio::spawn(async move {
            let stream = async {
                server.find_process(&session, opens).await?;
                let mut stream = pin!(server.stream(&session, &joining));
                match timeout(PATIENCE, &mut stream).await {
                    Ok(stream) => stream,
                    Err(_) => {
                        // The receiver may be gone.
                        let _ = sender.send(LinkEvent::Silent(server.silence(&session))).await;
                        stream.await
                    }
                }
            };
            let end = match stream.await {
                Ok(stream) => read(stream, &sender, &|| server.suspension(&session)).await,
                Err(trouble) => Some(LinkEvent::Lost(trouble)),
            };
            if let Some(end) = end {
                // The receiver may be gone.
                let _ = sender.send(end).await;
            }
        });
        Reader { heard, _task: AbortOnDropHandle::new(task) }
    }

    /// The next frame. Cancel safe.
    pub(super) async fn next(&mut self) -> LinkEvent {
        let ended = || LinkEvent::Lost(Trouble::Unreachable("the connection ended".to_owned()));
        self.heard.recv().await.unwrap_or_else(ended)
    }
}

/// Reads to the end; returns the final report, if the stream gave none. While nothing comes, `suspension` is asked
/// whether anything can.
async fn read(
    mut stream: ServerStream,
    sender: &mpsc::Sender<LinkEvent>,
    suspension: &(impl Fn() -> Option<String> + Sync),
) -> Option<LinkEvent> {
    let mut parser = SseParser::default();
    loop {
        let piece = {
            let (mut piece, mut is_told) = (pin!(timeout(SILENCE, stream.chunk())), false);
            loop {
                tokio::select! {
                    piece = &mut piece => break piece,
                    () = sleep(PATIENCE), if !is_told => {
                        if let Some(why) = suspension() {
                            is_told = true;
                            // The receiver may be gone.
                            let _ = sender.send(LinkEvent::Silent(why)).await;
                        }
                    }
                }
            }
        };
        let bytes = match piece {
            Ok(Ok(Some(bytes))) => bytes,
            Ok(Ok(None)) => return Some(connection_loss("the connection was closed")),
            Ok(Err(failure)) => return Some(connection_loss(&failure.message)),
            Err(_) => return Some(connection_loss("the server has gone silent")),
        };
        let mut frames = Vec::new();
        let parsed = parser.push(&bytes, |frame| frames.push(decode_frame(frame)));
        for heard in frames {
            let is_last = matches!(heard, LinkEvent::Closed(_) | LinkEvent::Lost(_));
            if sender.send(heard).await.is_err() || is_last {
                return None;
            }
        }
        if parsed.is_err() {
            return Some(connection_loss("the server sent more than fits"));
        }
    }
}

fn connection_loss(why: &str) -> LinkEvent {
    LinkEvent::Lost(Trouble::Unreachable(why.to_owned()))
}

/// Decodes a frame.
fn decode_frame(sse: &SseFrame) -> LinkEvent {
    let data = sse.data.as_str();
    let heard = match sse.event.as_str() {
        frame::ATTACHED => serde_json::from_str(data).map(LinkEvent::Attached),
        frame::OPENED => serde_json::from_str(data).map(LinkEvent::Opened),
        frame::EVENTS => serde_json::from_str(data).map(LinkEvent::Happened),
        frame::CLOSED => serde_json::from_str(data).map(LinkEvent::Closed),
        _ => return connection_loss("the server sent something other than a session"),
    };
    heard.unwrap_or_else(|error| {
        tracing::warn!(%error, "an event of the server was not understood");
        LinkEvent::Lost(Trouble::Refused(
            "the server sent what this tau does not understand; use the same version of tau on both sides"
                .to_owned(),
        ))
    })
}

/// The next frame, if there is a stream.
pub(super) async fn hear(reader: Option<&mut Reader>) -> LinkEvent {
    match reader {
        Some(reader) => reader.next().await,
        None => std::future::pending().await,
    }
}
