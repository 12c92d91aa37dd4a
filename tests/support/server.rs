//! A loopback server that acts as told on each connection, and records requests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The action on a connection once its request has been read.
#[derive(Clone, Debug)]
pub enum Act {
    /// Sends these bytes and closes.
    Send(Vec<u8>),
    /// Sends these bytes, with PLACEHOLDER replaced by the last secret placeholder of the request, and
    /// closes.
    Quote(Vec<u8>),
    /// Sends these bytes and resets the connection.
    Reset(Vec<u8>),
    /// Sends these bytes, then nothing, forever.
    Stall(Vec<u8>),
    /// Sends the first bytes, and the others once notified.
    Hold(Vec<u8>, Arc<tokio::sync::Notify>, Vec<u8>),
    /// Sends these bytes one by one.
    Bytewise(Vec<u8>),
}

/// The server.
#[derive(Clone)]
pub struct Server {
    pub address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// A server with these acts, one per connection; the last one repeats.
    pub async fn start(acts: Vec<Act>) -> Self {
        Self::choosing(move |n, _| acts.get(n).or(acts.last()).unwrap().clone()).await
    }

    /// A server whose act depends on the number of the connection, and on the request.
    pub async fn choosing(choose: impl Fn(usize, &str) -> Act + Send + Sync + 'static) -> Self {
        let choose = Arc::new(choose);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = Server { address, requests: Arc::default() };
        let requests = Arc::clone(&server.requests);
        tokio::spawn(async move {
            for n in 0.. {
                let Ok((mut socket, _)) = listener.accept().await else { return };
                let (choose, requests) = (Arc::clone(&choose), Arc::clone(&requests));
                tokio::spawn(async move {
                    let request = read_request(&mut socket).await;
                    let act = match choose(n, &request) {
                        Act::Quote(bytes) => Act::Send(quoting(&bytes, &request)),
                        act => act,
                    };
                    requests.lock().unwrap().push(request);
                    perform(socket, act).await;
                });
            }
        });
        server
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// The head and body of a request.
async fn read_request(socket: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    let mut whole = None;
    while whole.is_none_or(|whole| bytes.len() < whole) {
        if socket.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            break;
        }
        if whole.is_none() {
            let text = String::from_utf8_lossy(&bytes);
            whole = text.find("\r\n\r\n").map(|end| {
                let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
                end + 4 + length.map_or(0, |length| length.parse::<usize>().unwrap())
            });
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn quoting(bytes: &[u8], request: &str) -> Vec<u8> {
    let placeholder = request.rfind("[secret ").and_then(|at| request[at..].split_inclusive(']').next());
    String::from_utf8_lossy(bytes).replace("PLACEHOLDER", placeholder.unwrap_or_default()).into_bytes()
}

async fn perform(mut socket: TcpStream, act: Act) {
    let _ = socket.set_nodelay(true);
    match act {
        Act::Send(bytes) | Act::Quote(bytes) => {
            let _ = socket.write_all(&bytes).await;
            let _ = socket.shutdown().await;
            // Closing with unread bytes would be a reset.
            let _ = socket.read(&mut [0; 64]).await;
        }
        Act::Hold(first, told, rest) => {
            let _ = socket.write_all(&first).await;
            told.notified().await;
            let _ = socket.write_all(&rest).await;
            let _ = socket.shutdown().await;
            let _ = socket.read(&mut [0; 64]).await;
        }
        Act::Reset(bytes) => {
            let _ = socket.write_all(&bytes).await;
            // The bytes must be read before the reset drops them.
            tokio::time::sleep(Duration::from_millis(100)).await;
            let _ = socket.set_zero_linger();
        }
        Act::Stall(bytes) => {
            let _ = socket.write_all(&bytes).await;
            std::future::pending::<()>().await;
        }
        Act::Bytewise(bytes) => {
            for byte in bytes {
                let _ = socket.write_all(&[byte]).await;
                tokio::task::yield_now().await;
            }
        }
    }
}

/// An address on which nothing listens, and on which nothing can while the socket is kept.
pub fn closed_port() -> (tokio::net::TcpSocket, std::net::SocketAddr) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(std::net::SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

/// An answer without a length, which ends with the connection.
pub fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n");
    [head.as_bytes(), body].concat()
}

/// An event stream.
pub fn stream(body: &str) -> Vec<u8> {
    answer("200 OK", "content-type: text/event-stream\r\n", body.as_bytes())
}
