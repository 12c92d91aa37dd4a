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

/// How long the head of a request may take, and how long a connection may wait for the next one.
const HEAD: Duration = Duration::from_secs(30);
/// The wait after a connection that could not be taken: there may be no descriptor for it.
const PAUSE: Duration = Duration::from_millis(200);

/// The socket that is listened on.
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Answers connections until it is stopped, and then what they are in the middle of.
pub(super) async fn accept(listener: Listener, router: Router, mut stopped: watch::Receiver<bool>) {
    let graceful = GracefulShutdown::new();
    loop {
        let connected = tokio::select! {
            // Without a sender the server has ended.
            _ = stopped.wait_for(|stopped| *stopped) => break,
            connected = next(&listener) => connected,
        };
        match connected {
            Ok(Connected::Tcp(stream, client)) => {
                // Small events would otherwise wait for each other.
                let _ = stream.set_nodelay(true);
                serve(stream, Some(client), &router, graceful.watcher());
            }
            Ok(Connected::Unix(stream)) => serve(stream, None, &router, graceful.watcher()),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    graceful.shutdown().await;
}

enum Connected {
    Tcp(tokio::net::TcpStream, SocketAddr),
    Unix(tokio::net::UnixStream),
}

async fn next(listener: &Listener) -> std::io::Result<Connected> {
    match listener {
        Listener::Tcp(listener) => {
            listener.accept().await.map(|(stream, client)| Connected::Tcp(stream, client))
        }
        Listener::Unix(listener) => listener.accept().await.map(|(stream, _)| Connected::Unix(stream)),
    }
}

/// Serves a connection in a task of its own.
fn serve<S>(stream: S, client: Option<SocketAddr>, router: &Router, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let router = router.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        if let Some(client) = client {
            request.extensions_mut().insert(ConnectInfo(client));
        }
        router.clone().oneshot(request)
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let connection = watcher.watch(server.serve_connection(TokioIo::new(stream), service));
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            // A client that left, or sent something else than HTTP.
            tracing::debug!(%error, "a connection ended");
        }
    });
}
