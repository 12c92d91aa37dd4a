//! A server on loopback: the files of a folder, and a model that always gives the same answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const ANSWER: &str = concat!(
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"installed and answering\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n"
);

/// The server; it ends with the test's process.
pub(super) struct Site {
    url: String,
    /// The request lines and headers so far.
    seen: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// Serves the files of a folder.
    pub(super) fn of(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (folder, seen) = (folder.to_owned(), Arc::new(Mutex::new(Vec::new())));
        let log = Arc::clone(&seen);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (folder, log) = (folder.clone(), Arc::clone(&log));
                std::thread::spawn(move || answer(socket, &folder, &log));
            }
        });
        Site { url, seen }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// The heads of the requests so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

/// Answers one request and closes the connection.
fn answer(socket: TcpStream, folder: &Path, log: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(socket);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        head.push_str(&line);
    }
    std::io::copy(&mut (&mut reader).take(length), &mut std::io::sink()).ok()?;
    log.lock().ok()?.push(head.clone());
    let path = head.split(' ').nth(1)?.to_owned();
    let mut socket = reader.into_inner();
    if path == "/v1/chat/completions" {
        let kind = "Content-Type: text/event-stream\r\nConnection: close";
        write!(socket, "HTTP/1.1 200 OK\r\n{kind}\r\n\r\n{ANSWER}").ok()?;
        return Some(());
    }
    // As servers of releases do: to the file by way of another address.
    if let Some(rest) = path.strip_prefix("/moved/") {
        let to = format!("Location: /{rest}\r\nContent-Length: 0\r\nConnection: close");
        write!(socket, "HTTP/1.1 302 Found\r\n{to}\r\n\r\n").ok()?;
        return Some(());
    }
    let file: PathBuf = folder.join(path.trim_start_matches('/'));
    match std::fs::read(file) {
        Ok(bytes) => {
            let length = format!("Content-Length: {}\r\nConnection: close", bytes.len());
            write!(socket, "HTTP/1.1 200 OK\r\n{length}\r\n\r\n").ok()?;
            socket.write_all(&bytes).ok()
        }
        Err(_) => {
            write!(socket, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").ok()
        }
    }
}
