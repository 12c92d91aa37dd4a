//! An answer of 20,000 tokens sent by a server as fast as possible, in typical chunks of eight events (1.6
//! kB): time and CPU, on the screen and in print mode.

use std::fmt::Write as _;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::process::Usage;
use super::terminal::Terminal;
use super::{Subject, TIMEOUT, milliseconds, percentile, pipes, row, stream, submit, wait_ready};

/// The number of tokens in the answer.
const TOKENS: usize = 20_000;
/// The number of events in a chunk.
const TOGETHER: usize = 8;
/// The last word of the answer.
const END: &str = "finis";

/// Measures how long the answer takes to the screen, and through print mode.
pub fn measure(subject: &Subject, runs: usize) {
    let address = serve();
    let base = format!("http://{address}");
    let mut times = Vec::new();
    let mut busy = Vec::new();
    for _ in 0..runs {
        let home = tempfile::tempdir().unwrap();
        let args = stream::arguments(subject, home.path(), &base);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut terminal = Terminal::start_in(home, &subject.path, &args);
        wait_ready(&mut terminal);
        let before = Usage::of(terminal.pid());
        let start = submit(&mut terminal, "go");
        if terminal.wait_until(TIMEOUT, |screen| screen.contents().contains(END)) {
            times.push(start.elapsed());
            busy.push(Usage::of(terminal.pid()).cpu.saturating_sub(before.cpu));
        }
    }
    if times.is_empty() {
        return row(&subject.name, "burst on the screen", "is not shown".to_owned());
    }
    row(&subject.name, "burst on the screen, time p50", milliseconds(percentile(&mut times, 50)));
    row(&subject.name, "burst on the screen, cpu p50", milliseconds(percentile(&mut busy, 50)));
    if subject.name != "tau" {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let mut printed = Vec::new();
    for _ in 0..runs {
        let start = Instant::now();
        let mut command = Command::new(&subject.path);
        command.args(["-p", "--base-url", &base, "--api-key", "x", "--model", "m", "hi"]);
        command.env("TAU_HOME", home.path()).current_dir(home.path()).stdin(Stdio::null());
        let output = command.output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains(END), "{output:?}");
        printed.push(start.elapsed());
    }
    row(&subject.name, "burst in print mode, time p50", milliseconds(percentile(&mut printed, 50)));
}

fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let chunks = chunks();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // A client that disconnects does not affect the others.
            let _ = answer(stream, &chunks);
        }
    });
    address
}

/// The answer in HTTP chunks.
fn chunks() -> Vec<String> {
    let text = include_str!("stream_markdown.md");
    let tokens = std::iter::repeat(text).flat_map(stream::tokens).take(TOKENS).chain([END]);
    let mut events =
        tokens.map(|token| event(&serde_json::json!({ "content": token }), None)).collect::<Vec<_>>();
    events.push(event(&serde_json::json!({}), Some("stop")));
    events.push("data: [DONE]\n\n".to_owned());
    let chunk = |events: &[String]| {
        let mut chunk = String::new();
        let body = events.concat();
        let _ = write!(chunk, "{:x}\r\n{body}\r\n", body.len());
        chunk
    };
    events.chunks(TOGETHER).map(chunk).chain(["0\r\n\r\n".to_owned()]).collect()
}

fn event(delta: &serde_json::Value, finish_reason: Option<&str>) -> String {
    let event = serde_json::json!({
        "id": "chatcmpl-b8f1c2d3e4a5968778695a4b3c2d1e0f", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish_reason }],
    });
    format!("data: {event}\n\n")
}

fn answer(mut stream: TcpStream, chunks: &[String]) -> std::io::Result<()> {
    if pipes::read_request(&mut stream)?.starts_with("GET ") {
        return stream::list_models(&mut stream);
    }
    stream.set_nodelay(true)?;
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
    )?;
    chunks.iter().try_for_each(|chunk| stream.write_all(chunk.as_bytes()))
}
