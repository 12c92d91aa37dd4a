//! Figures of `tau serve`: the latency of events, and the cost of a session.
//!
//! ```text
//! cargo build --release && cargo run --release --example bench_serve
//! cargo run --release --example bench_serve -- --sessions 20 --clients 40 --seconds 5
//! ```
//!
//! The server is a separate process, with its own memory. Models are served by this program: each answers
//! with pieces of text at a steady pace, and each piece contains its time of sending. The latency of an
//! event is the time from there until a client here has read it, through the provider's stream, the agent,
//! the session file, the log of events and the client's stream.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program that measures, runs others and prints"
)]

use std::error::Error;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The parameters of the benchmark.
#[derive(Clone, Copy)]
struct Load {
    sessions: usize,
    clients: usize,
    seconds: u64,
    /// The number of pieces per second in each session.
    pace: u64,
}

const TOKEN: &str = "bench-token-0123456789";

fn main() -> Outcome<()> {
    // One thread, so that the server has the other cores.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(bench())
}

async fn bench() -> Outcome<()> {
    let number = |name: &str, usual: u64| -> u64 {
        let mut arguments = std::env::args().skip_while(|argument| argument != name).skip(1);
        arguments.next().and_then(|value| value.parse().ok()).unwrap_or(usual)
    };
    let load = Load {
        sessions: usize::try_from(number("--sessions", 200))?,
        clients: usize::try_from(number("--clients", 400))?,
        seconds: number("--seconds", 20),
        pace: number("--pace", 20),
    };
    let start = Instant::now();
    let model = TcpListener::bind("127.0.0.1:0").await?;
    let address = model.local_addr()?;
    tokio::spawn(answer_all(model, load, start));
    let home = tempfile::tempdir()?;
    let (mut child, server) = serve(&format!("http://{address}/v1"), home.path(), load).await?;
    let pid = child.id().ok_or("the server has ended")?;
    let base = memory(pid)?;

    let mut ids = Vec::new();
    for _ in 0..load.sessions {
        let made = request(&server, "POST", "/api/sessions", &json!({ "cwd": home.path() })).await?;
        ids.push(made["id"].as_str().ok_or("no session was made")?.to_owned());
    }
    let opened = memory(pid)?;
    let mut clients = Vec::new();
    for n in 0..load.clients {
        let id = ids.get(n % ids.len()).ok_or("no session")?;
        let stream = follow(&server, id).await?;
        clients.push(tokio::spawn(read(stream, start)));
    }
    for id in &ids {
        let body = json!({ "prompt": "go", "detach": true });
        request(&server, "POST", &format!("/api/sessions/{id}/prompt"), &body).await?;
    }
    tokio::time::sleep(Duration::from_secs(load.seconds.saturating_mul(9) / 10)).await;
    let streaming = memory(pid)?;
    let (mut latencies, mut lost) = (Vec::new(), 0);
    for client in clients {
        let mut seen = client.await??;
        lost += expected(load).saturating_sub(seen.len() as u64);
        latencies.append(&mut seen);
    }
    child.kill().await?;
    latencies.sort_unstable();
    let at = |share: f64| {
        let place = (latencies.len() as f64 * share) as usize;
        latencies.get(place.min(latencies.len().saturating_sub(1))).copied().unwrap_or_default()
    };
    let milliseconds = |micros: u64| format!("{:.1} ms", micros as f64 / 1_000.0);
    let a_session =
        |bytes: u64| format!("{:.2} MB", bytes.saturating_sub(base) as f64 / 1e6 / ids.len() as f64);
    println!("sessions, clients, events each      {}, {}, {}", load.sessions, load.clients, expected(load));
    println!("events received                     {}", latencies.len());
    println!("events lost                         {lost}");
    println!(
        "latency p50 / p99 / largest         {} / {} / {}",
        milliseconds(at(0.5)),
        milliseconds(at(0.99)),
        milliseconds(at(1.0))
    );
    println!("memory of the server before         {:.1} MB", base as f64 / 1e6);
    println!("memory a session, idle / streaming  {} / {}", a_session(opened), a_session(streaming));
    Ok(())
}

/// The number of pieces of text in each session.
fn expected(load: Load) -> u64 {
    load.seconds * load.pace
}

/// Starts the server, with the model at `url`, and returns its address.
async fn serve(url: &str, home: &std::path::Path, load: Load) -> Outcome<(Child, String)> {
    let program = std::env::current_exe()?;
    let dir = program.parent().and_then(|dir| dir.parent()).ok_or("no directory")?;
    let program: PathBuf = dir.join("tau");
    let (sessions, streams) = (load.sessions.to_string(), load.clients.to_string());
    let mut child = Command::new(program)
        .args(["serve", "--listen", "127.0.0.1:0", "--log", "off", "--rate", "1000000"])
        .args(["--base-url", url, "--model", "m", "--api-key", "x"])
        .args(["--max-sessions", &sessions, "--max-streams", &streams])
        .env("HOME", home)
        .env("TAU_PERMISSION_MODE", "auto")
        .env("TAU_SERVE_TOKEN", TOKEN)
        .current_dir(home)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let out = child.stdout.take().ok_or("no output")?;
    let line = BufReader::new(out).lines().next_line().await?.ok_or("the server did not start")?;
    Ok((child, line.trim_start_matches("listening on http://").to_owned()))
}

/// Resident memory of a process, in bytes.
fn memory(pid: u32) -> Outcome<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no memory")?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024)
}

fn head(server: &str, method: &str, path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: {server}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: \
         application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

async fn request(server: &str, method: &str, path: &str, body: &Value) -> Outcome<Value> {
    let mut socket = TcpStream::connect(server).await?;
    socket.write_all(head(server, method, path, &body.to_string()).as_bytes()).await?;
    let mut text = String::new();
    socket.read_to_string(&mut text).await?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or("no response")?;
    if !head.contains(" 20") {
        return Err(text.into());
    }
    Ok(serde_json::from_str(body)?)
}

/// Opens the event stream of a session.
async fn follow(server: &str, id: &str) -> Outcome<BufReader<TcpStream>> {
    let mut socket = TcpStream::connect(server).await?;
    socket.write_all(head(server, "GET", &format!("/api/sessions/{id}/events"), "").as_bytes()).await?;
    let mut reader = BufReader::new(socket);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        if reader.read_line(&mut line).await? == 0 {
            return Err("no event stream".into());
        }
    }
    Ok(reader)
}

/// Reads events up to the end of the run; returns the latency of each piece, in microseconds.
async fn read(mut stream: BufReader<TcpStream>, start: Instant) -> Outcome<Vec<u64>> {
    let (mut latencies, mut line) = (Vec::new(), String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 || line.starts_with("event: agent_settled") {
            return Ok(latencies);
        }
        let now = micros(start);
        if line.contains("\"text_delta\"") {
            // Several pieces may have been joined on the way.
            let pieces = line.split('@').skip(1).filter_map(|piece| piece.split(';').next());
            latencies.extend(pieces.filter_map(|at| Some(now.saturating_sub(at.parse().ok()?))));
        }
    }
}

fn micros(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// Answers every request with pieces of text that contain their time of sending.
async fn answer_all(listener: TcpListener, load: Load, start: Instant) {
    while let Ok((socket, _)) = listener.accept().await {
        tokio::spawn(async move {
            // A broken connection is a lost event.
            let _ = answer(socket, load, start).await;
        });
    }
}

async fn answer(socket: TcpStream, load: Load, start: Instant) -> Outcome<()> {
    socket.set_nodelay(true)?;
    let mut reader = BufReader::new(socket);
    let (mut line, mut length) = (String::new(), 0);
    while line != "\r\n" {
        line.clear();
        reader.read_line(&mut line).await?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse()?;
        }
    }
    reader.read_exact(&mut vec![0; length]).await?;
    let mut socket = reader.into_inner();
    socket
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        .await?;
    let mut pace = tokio::time::interval(Duration::from_micros(1_000_000 / load.pace.max(1)));
    for _ in 0..expected(load) {
        pace.tick().await;
        let piece = json!({ "choices": [{ "index": 0, "delta": { "content": format!("@{}; some words of an answer ", micros(start)) } }] });
        socket.write_all(format!("data: {piece}\n\n").as_bytes()).await?;
    }
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    socket.write_all(format!("data: {end}\n\ndata: [DONE]\n\n").as_bytes()).await?;
    Ok(())
}
