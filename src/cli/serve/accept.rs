//! Connections: accepting them, a time limit for the head of each request, and their end.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tower::ServiceExt;

use super::strangers::{Stranger, Strangers};

/// Time limit for the head of a request, and for a connection between requests.
const HEAD: Duration = Duration::from_secs(30);
/// Delay after a connection that could not be accepted: there may be no descriptor for it.
const PAUSE: Duration = Duration::from_millis(200);

/// Raises the limit of open files, which connections count against, as far as possible.
pub(crate) fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
}

/// The listening socket.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Answers connections until it is stopped, then finishes the current requests. The routes are made with the
/// first connection.
pub(crate) async fn accept(listener: Listener, router: impl Fn() -> Router, stopped: watch::Receiver<bool>) {
    accept_within(listener, router, stopped, HEAD).await;
}

/// Accepts connections with this limit for the head of a request.
async fn accept_within(
    listener: Listener,
    router: impl Fn() -> Router,
    mut stopped: watch::Receiver<bool>,
    head: Duration,
) {
    let (graceful, strangers) = (GracefulShutdown::new(), Strangers::default());
    let mut made: Option<Router> = None;
    loop {
        let connected = tokio::select! {
            // Without a sender the server has ended.
            _ = stopped.wait_for(|stopped| *stopped) => break,
            connected = next(&listener) => connected,
        };
        match connected {
            Ok(ClientStream::Tcp(stream, client)) => {
                // Small events would otherwise wait for each other.
                let _ = stream.set_nodelay(true);
                let stranger = strangers.enter();
                let router = made.get_or_insert_with(&router);
                serve(stream, Some(client), stranger, router, graceful.watcher(), head);
            }
            Ok(ClientStream::Unix(stream)) => {
                let router = made.get_or_insert_with(&router);
                serve(stream, None, strangers.enter(), router, graceful.watcher(), head);
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    graceful.shutdown().await;
}

enum ClientStream {
    Tcp(tokio::net::TcpStream, SocketAddr),
    Unix(tokio::net::UnixStream),
}

async fn next(listener: &Listener) -> std::io::Result<ClientStream> {
    match listener {
        Listener::Tcp(listener) => {
            listener.accept().await.map(|(stream, client)| ClientStream::Tcp(stream, client))
        }
        Listener::Unix(listener) => listener.accept().await.map(|(stream, _)| ClientStream::Unix(stream)),
    }
}

/// Serves a connection in a separate task.
fn serve<S>(
    stream: S,
    client: Option<SocketAddr>,
    stranger: Stranger,
    router: &Router,
    watcher: Watcher,
    head: Duration,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let router = router.clone();
    let own = stranger.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(own.clone());
        if let Some(client) = client {
            request.extensions_mut().insert(ConnectInfo(client));
        }
        router.clone().oneshot(request)
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(head);
    let connection = watcher.watch(server.serve_connection(TokioIo::new(stream), service));
    tokio::spawn(async move {
        let ended = tokio::select! {
            ended = connection => ended,
            () = stranger.wait_for_close() => return,
        };
        if let Err(error) = ended {
            // The client left, or sent something other than HTTP.
            tracing::debug!(%error, "a connection ended");
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    #[tokio::test]
    async fn a_head_that_does_not_come_closes_its_connection_and_no_other() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", axum::routing::get(async || "here"));
        let (stop, stopped) = watch::channel(false);
        let limit = Duration::from_millis(50);
        let serving =
            tokio::spawn(accept_within(Listener::Tcp(listener), move || router.clone(), stopped, limit));
        let mut slow = TcpStream::connect(address).await.unwrap();
        slow.write_all(b"GET / HTTP/1.1\r\nhost: local").await.unwrap();
        let mut answer = Vec::new();
        // The connection ends, with or without an answer.
        let _ = slow.read_to_end(&mut answer).await;
        assert!(!String::from_utf8_lossy(&answer).contains("here"));
        let mut sound = TcpStream::connect(address).await.unwrap();
        sound.write_all(b"GET / HTTP/1.1\r\nhost: local\r\nconnection: close\r\n\r\n").await.unwrap();
        answer.clear();
        sound.read_to_end(&mut answer).await.unwrap();
        assert!(String::from_utf8_lossy(&answer).ends_with("here"));
        stop.send_replace(true);
        serving.await.unwrap();
    }
}
