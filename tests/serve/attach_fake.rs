//! `tau attach` to a fake server, which does things in an order that is rare with a real one.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;
use tokio::sync::Notify;

use super::attach::{attached_at, send};

/// The requests to the server, and when it should report that the session was closed.
#[derive(Default)]
struct Fake {
    streams: AtomicUsize,
    commands: AtomicUsize,
    closing: Notify,
}

impl Fake {
    /// Listens; returns its address.
    async fn start(self: &Arc<Self>) -> String {
        let (streaming, commanded) = (Arc::clone(self), Arc::clone(self));
        let stream = move || async move { streaming.stream() };
        let refuse = move || async move {
            commanded.commands.fetch_add(1, Ordering::SeqCst);
            let problem =
                json!({ "type": "urn:tau:problem:not-open", "detail": "the session s1 is not open" });
            (StatusCode::CONFLICT, Json(problem))
        };
        let router = Router::new()
            .route("/api/attach", post(|| async { Json(json!({ "id": "s1" })) }))
            .route("/api/sessions/s1/attach", get(stream).post(refuse));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }

    /// An empty session, which is closed in the end.
    fn stream(self: Arc<Self>) -> impl IntoResponse {
        self.streams.fetch_add(1, Ordering::SeqCst);
        let begin = "event: attached\ndata: {\"next\":0,\"known\":false}\n\nevent: opened\ndata: {\"id\":\"a-1\",\"events\":[]}\n\n";
        let end = "event: closed\ndata: {\"server_ends\":false}\n\n";
        let frames = futures_util::stream::unfold(0, move |sent| {
            let fake = Arc::clone(&self);
            async move {
                match sent {
                    0 => Some((Ok::<_, Infallible>(begin), 1)),
                    1 => {
                        fake.closing.notified().await;
                        Some((Ok(end), 2))
                    }
                    _ => None,
                }
            }
        });
        ([("content-type", "text/event-stream")], Body::from_stream(frames))
    }
}

// The server answers while this test waits for the screen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_screen_asks_by_itself_does_not_open_a_closed_session_again() {
    let fake = Arc::<Fake>::default();
    let url = fake.start().await;
    let screen = attached_at(&url, "a-token-of-a-test", "s1", 160);
    // Each is refused: the session has been closed, but its stream has not said so yet.
    while fake.commands.load(Ordering::SeqCst) < 3 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(fake.streams.load(Ordering::SeqCst), 1);
    fake.closing.notify_one();
    screen.wait_for("the session was closed on the server");
    assert_eq!(fake.streams.load(Ordering::SeqCst), 1);
    // Messages of the user do.
    send(&screen, "hello");
    while fake.streams.load(Ordering::SeqCst) < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
