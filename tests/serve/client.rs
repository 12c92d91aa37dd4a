//! The server as a process, and a client that speaks HTTP/1.1 to it.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::process::{Child, Command};

use crate::support::program::{bare, models_file};
use crate::support::server::Server;
use crate::time_limit::InTime;

/// A running `tau serve`.
pub struct Served {
    pub child: Child,
    pub address: String,
    pub token: String,
    pub dir: tempfile::TempDir,
}

/// A complete response.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Fails unless the status is this one.
    #[track_caller]
    pub fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }
}

/// An event of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    pub id: Option<String>,
    pub name: String,
    pub data: Value,
}

/// An open event stream.
pub struct Stream {
    reader: BufReader<TcpStream>,
    /// The rest of the chunk.
    text: String,
    /// The id of the last event.
    last: Option<String>,
}

impl Served {
    /// Starts it with these arguments, in a folder that is its home.
    pub async fn start(arguments: &[&str]) -> Self {
        Served::in_dir(tempfile::tempdir().unwrap(), arguments).await
    }

    /// Starts it in this folder.
    pub async fn in_dir(dir: tempfile::TempDir, arguments: &[&str]) -> Self {
        let command = command(dir.path(), &["--listen", "127.0.0.1:0"], arguments);
        let (child, address, token) = ready(command).await;
        Served { child, address, token, dir }
    }

    /// Starts it with the model `own/m` at this provider, in auto mode.
    pub async fn with_model(provider: &Server) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("models.toml"), models_file(&provider.url(), "")).unwrap();
        let mut command = command(dir.path(), &["--listen", "127.0.0.1:0"], &["--log", "off"]);
        command.env("TAU_HOME", dir.path()).env("TAU_PERMISSION_MODE", "auto");
        let (child, address, token) = ready(command).await;
        Served { child, address, token, dir }
    }

    /// The address, in the form for `tau attach`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sends a request; without a body if it is null.
    pub async fn send(&self, method: &str, path: &str, body: &Value) -> Reply {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers = format!(
            "host: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n",
            self.address, self.token
        );
        self.raw(method, path, &headers, body.as_bytes()).await
    }

    /// Sends a request with these headers.
    pub async fn raw(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Reply {
        let mut socket = TcpStream::connect(&self.address).await.unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
            body.len()
        );
        socket.write_all(&[head.as_bytes(), body].concat()).await.unwrap();
        reply(socket).await
    }

    /// Opens an event stream with a request.
    pub async fn stream(&self, method: &str, path: &str, extra: &str, body: &Value) -> Stream {
        let socket = TcpStream::connect(&self.address).await.unwrap();
        self.stream_with(socket, method, path, extra, body).await
    }

    /// Opens the event stream at a path with this socket.
    pub async fn stream_on(&self, socket: TcpSocket, path: &str) -> Stream {
        let socket = socket.connect(self.address.parse().unwrap()).await.unwrap();
        self.stream_with(socket, "GET", path, "", &Value::Null).await
    }

    async fn stream_with(
        &self,
        mut socket: TcpStream,
        method: &str,
        path: &str,
        extra: &str,
        body: &Value,
    ) -> Stream {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n{extra}content-type: \
             application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            self.token,
            body.len()
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut reader = BufReader::new(socket);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = reader.read_line(&mut head).in_time("a head").await.unwrap();
            assert!(read > 0, "no head: {head}");
        }
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        Stream { reader, text: String::new(), last: None }
    }

    /// The events of a session from now on.
    pub async fn events(&self, id: &str) -> Stream {
        self.stream("GET", &format!("/api/sessions/{id}/events"), "", &Value::Null).await
    }

    /// Ends it with a signal; returns its exit and its output on standard error.
    pub async fn end(mut self) -> (Option<i32>, String) {
        let pid = rustix::process::Pid::from_raw(self.child.id().unwrap().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let mut err = String::new();
        let mut pipe = self.child.stderr.take().unwrap();
        pipe.read_to_string(&mut err).in_time("the end of the server").await.unwrap();
        let status = self.child.wait().in_time("the end of the server").await.unwrap();
        (status.code(), err)
    }
}

/// The command `tau serve` with only the demo model configured.
pub fn command(dir: &Path, place: &[&str], arguments: &[&str]) -> Command {
    let mut command = bare(dir);
    command.arg("serve").args(place).args(["--model", "demo"]).args(arguments);
    command.env("TAU_DEMO_SPEED", "max").env("TAU_PERMISSION_MODE", "auto").stderr(Stdio::piped());
    command
}

/// Starts it, and reads its output once it is ready: process, address, token.
pub async fn ready(mut command: Command) -> (Child, String, String) {
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (mut address, mut token) = (String::new(), String::new());
    while address.is_empty() || token.is_empty() {
        let Some(line) = lines.next_line().in_time("the address").await.unwrap() else {
            let mut err = String::new();
            let mut pipe = child.stderr.take().unwrap();
            pipe.read_to_string(&mut err).in_time("the error").await.unwrap();
            panic!("it did not start: {err}");
        };
        if let Some(found) = line.strip_prefix("listening on ") {
            let (found, linked) = found.split_once("/#token=").unwrap_or((found, ""));
            address = found.trim_start_matches("http://").to_owned();
            token = linked.to_owned();
        } else if let Some(found) = line.strip_prefix("token ") {
            token = found.to_owned();
        }
    }
    (child, address, token)
}

/// Starts a server whose token is known and not printed.
pub async fn ready_with(mut command: Command, token: &str) -> Child {
    assert!(!token.is_empty());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next_line().in_time("the address").await.unwrap();
    assert!(line.is_some_and(|line| line.starts_with("listening on ")));
    child
}

/// Reads a response up to the end of the connection.
pub async fn reply(mut socket: impl AsyncReadExt + Unpin) -> Reply {
    let mut bytes = Vec::new();
    // A server that refuses a body may reset the connection after its answer.
    let _ = socket.read_to_end(&mut bytes).in_time("a response").await;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { joined(body) } else { body.to_owned() };
    Reply { status, head: head.to_owned(), body }
}

/// The chunks of a body without their sizes.
fn joined(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        body.push_str(&after[..size]);
        rest = after[size..].strip_prefix("\r\n").unwrap_or_default();
        if size == 0 {
            break;
        }
    }
    body
}

impl Stream {
    /// The next event; `None` at the end. Comments are skipped.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            while let Some((frame, rest)) = self.text.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
                if let Some(data) = field("data: ") {
                    let data = serde_json::from_str(data).unwrap();
                    let name = field("event: ").unwrap().to_owned();
                    let id = field("id: ").map(str::to_owned);
                    self.last = id.clone().or(self.last.take());
                    return Some(Frame { id, name, data });
                }
            }
            let mut size = String::new();
            if self.reader.read_line(&mut size).in_time("an event").await.unwrap_or(0) == 0 {
                return None;
            }
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            let mut chunk = vec![0; size + 2];
            if size == 0 || self.reader.read_exact(&mut chunk).in_time("an event").await.is_err() {
                return None;
            }
            self.text.push_str(std::str::from_utf8(&chunk[..size]).unwrap());
        }
    }

    /// The id of the last event.
    pub fn last_id(&self) -> &str {
        self.last.as_deref().expect("an event")
    }

    /// Events up to and including the first with this name.
    pub async fn until(&mut self, name: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            let is_last = frame.name == name;
            frames.push(frame);
            if is_last {
                return frames;
            }
        }
        panic!("no {name} in {frames:#?}");
    }
}
