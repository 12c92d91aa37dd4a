//! An answer that streams at 200 tokens per second from a loopback server: CPU time, bytes written to the
//! terminal, and the echo of keys meanwhile.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::process::Usage;
use super::terminal::Terminal;
use super::{Subject, TIMEOUT, echo_of, pipes, row, submit, wait_ready};

/// The time between two tokens.
const TOKEN: Duration = Duration::from_millis(5);
/// The measured time, after the answer has filled the screen.
const MEASURED: Duration = Duration::from_secs(10);

/// The streamed texts: a name, and a piece that is repeated.
const ANSWERS: [(&str, &str, &str); 3] = [
    ("text", "", include_str!("stream_text.md")),
    ("markdown", "", include_str!("stream_markdown.md")),
    ("code", "```rust\n", include_str!("stream_code.rs.txt")),
];

/// Measures the cost of the screen while an answer streams.
pub fn measure(subject: &Subject, keys: usize) {
    for (name, head, piece) in ANSWERS {
        let (address, asked) = serve(head, piece);
        let base = format!("http://{address}");
        let home = tempfile::tempdir().unwrap();
        let args = arguments(subject, home.path(), &base);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut terminal = Terminal::start_in(home, &subject.path, &args);
        wait_ready(&mut terminal);
        submit(&mut terminal, "go");
        terminal.wait_until(TIMEOUT, |_| asked.try_recv().is_ok());
        // The screen is full and scrolls.
        terminal.wait_until(Duration::from_secs(4), |_| false);
        let streams = terminal.received();
        terminal.wait_until(Duration::from_millis(500), |_| false);
        if terminal.received() < streams + 100 {
            let screen = terminal.contents();
            row(&subject.name, &format!("stream of {name}"), "does not stream:".to_owned());
            println!("{}", screen.trim());
            continue;
        }
        let (before, bytes, start) = (Usage::of(terminal.pid()), terminal.received(), Instant::now());
        terminal.wait_until(MEASURED, |_| false);
        let (after, elapsed) = (Usage::of(terminal.pid()), start.elapsed());
        let busy = after.running.saturating_sub(before.running).as_secs_f64() / elapsed.as_secs_f64();
        let tokens = elapsed.as_secs_f64() / TOKEN.as_secs_f64();
        row(&subject.name, &format!("stream of {name}, cpu of one core"), format!("{:.2} %", 100.0 * busy));
        let written = (terminal.received() - bytes) as f64 / tokens;
        row(&subject.name, &format!("stream of {name}, bytes per token"), format!("{written:.0}"));
        let waits = after.wakes_since(&before) / elapsed.as_secs_f64();
        row(&subject.name, &format!("stream of {name}, wake-ups a second"), format!("{waits:.0}"));
        // The stream's frames are few, so it takes many keys to coincide with them.
        echo_of(&mut terminal, subject, 5 * keys, &format!("streaming {name}"));
    }
}

/// True if there is a known way to point a program at the server.
pub fn can_stream(name: &str) -> bool {
    matches!(name, "tau" | "zerostack")
}

/// The arguments that make a program use the server.
pub fn arguments(subject: &Subject, home: &Path, base: &str) -> Vec<String> {
    if subject.name == "tau" {
        return ["--base-url", base, "--api-key", "x", "--model", "m"].map(str::to_owned).to_vec();
    }
    configure_zerostack(home, base);
    Vec::new()
}

/// Writes the configuration that makes zerostack use the server.
fn configure_zerostack(home: &Path, base: &str) {
    let folder = home.join(".local/share/zerostack");
    std::fs::create_dir_all(&folder).unwrap();
    let config = format!(
        "provider = \"bench\"\nmodel = \"m\"\n\n[custom_providers.bench]\nprovider_type = \"openai\"\n\
         base_url = \"{base}\"\napi_key_env = \"BENCH_KEY\"\napi_style = \"completions\"\nmodel = \"m\"\n"
    );
    std::fs::write(folder.join("config.toml"), config).unwrap();
    // Without it the program asks whether to write one.
    std::fs::write(home.join("ARCHITECTURE.md"), "Nothing.\n").unwrap();
}

/// A server whose answer to every prompt is an endless stream of tokens, and a channel that reports
/// requests.
fn serve(head: &'static str, piece: &'static str) -> (SocketAddr, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (asks, asked) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let asks = asks.clone();
            // The measured client disconnects in the middle.
            std::thread::spawn(move || drop(answer(stream, head, piece, &asks)));
        }
    });
    (address, asked)
}

fn answer(mut stream: TcpStream, head: &str, piece: &str, asks: &mpsc::Sender<()>) -> std::io::Result<()> {
    if pipes::read_request(&mut stream)?.starts_with("GET ") {
        return list_models(&mut stream);
    }
    let _ = asks.send(());
    stream.set_nodelay(true)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    let mut due = Instant::now();
    for token in tokens(head).chain(std::iter::repeat(piece).flat_map(tokens)) {
        let event = serde_json::json!({
            "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{ "index": 0, "delta": { "content": token }, "finish_reason": null }],
        });
        stream.write_all(format!("data: {event}\n\n").as_bytes())?;
        due += TOKEN;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

/// Answers with the list of models.
pub fn list_models(stream: &mut TcpStream) -> std::io::Result<()> {
    let models = r#"{"object":"list","data":[{"id":"m","object":"model","created":1,"owned_by":"bench"}]}"#;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ";
    stream.write_all(format!("{head}{}\r\n\r\n{models}", models.len()).as_bytes())
}

/// Pieces of about four characters, as tokenizers cut text: a word with the blank before it.
pub fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?.len_utf8();
        let next = rest.bytes().skip(first).position(|byte| matches!(byte, b' ' | b'\n'));
        let next = next.map_or(rest.len(), |at| first + at);
        let mut end = next.min(first + 5);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (token, tail) = rest.split_at(end);
        rest = tail;
        Some(token)
    })
}
