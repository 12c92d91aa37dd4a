//! Without a terminal: `--help`, `--version`, and one turn of print mode against a loopback server; each
//! beside a minimal program.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{milliseconds, percentile, row};

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// Measures everything.
pub fn measure(tau: &Path, runs: usize) {
    let floor = median(runs, || Command::new("/bin/true"));
    row("floor", "a program that does nothing", milliseconds(floor));
    for flag in ["--version", "--help"] {
        let time = median(runs, || {
            let mut command = Command::new(tau);
            command.arg(flag);
            command
        });
        row("tau", flag, milliseconds(time));
    }
    let address = serve();
    let own = std::env::current_exe().unwrap();
    let floor = median(runs, || {
        let mut command = Command::new(&own);
        command.arg("--ask").arg(address.to_string());
        command
    });
    row("floor", "one request and its answer", milliseconds(floor));
    let home = std::env::temp_dir().join(format!("tau-bench-{}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    let time = median(runs, || {
        let mut command = Command::new(tau);
        command.args([
            "-p",
            "--base-url",
            &format!("http://{address}"),
            "--api-key",
            "x",
            "--model",
            "m",
            "hi",
        ]);
        command.env("TAU_HOME", &home).current_dir(&home);
        command
    });
    row("tau", "one turn of print mode", milliseconds(time));
    let _ = std::fs::remove_dir_all(&home);
}

/// The baseline of a turn: one request, whose answer is read to its end.
pub fn ask(address: &str) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    println!("{}", answer.len());
}

/// The median time from the start of a command to its end.
fn median(runs: usize, mut command: impl FnMut() -> Command) -> Duration {
    let mut times: Vec<Duration> = (0..runs.max(1))
        .map(|_| {
            let mut command = command();
            command.stdin(Stdio::null()).stdout(Stdio::null());
            let start = Instant::now();
            assert!(command.status().unwrap().success(), "{command:?}");
            start.elapsed()
        })
        .collect();
    percentile(&mut times, 50)
}

/// A server that gives every request the same answer.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // A client that disconnects does not affect the others.
            let _ = answer(stream);
        }
    });
    address
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    read_request(&mut stream)?;
    stream.write_all(ANSWER.as_bytes())
}

/// Reads a request to its end and returns its head.
pub fn read_request(stream: &mut TcpStream) -> std::io::Result<String> {
    read_whole_request(stream).map(|(head, _)| head)
}

/// Reads a request to its end and returns its head and its body.
pub fn read_whole_request(stream: &mut TcpStream) -> std::io::Result<(String, String)> {
    let mut request = Vec::new();
    let mut piece = [0; 1 << 16];
    loop {
        let count = stream.read(&mut piece)?;
        request.extend_from_slice(piece.get(..count).unwrap_or_default());
        let text = String::from_utf8_lossy(&request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if count == 0 || body.len() >= length.unwrap_or(0) {
            return Ok((head.to_owned(), body.to_owned()));
        }
    }
}
