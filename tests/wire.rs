//! The real program against a loopback server that speaks each wire format: the screen shows the answer,
//! runs the model's call, and sends its result back.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::screen::Screen;
use crate::time_limit::RunInTime;

/// A request as read by the server.
#[derive(Clone, Debug)]
struct Seen {
    head: String,
    body: Value,
}

/// A server that answers each request with the next body; the last one repeats.
struct Server {
    base: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    fn start(bodies: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        std::thread::spawn(move || {
            for (index, stream) in listener.incoming().enumerate() {
                let body = bodies.get(index).or(bodies.last()).cloned().unwrap_or_default();
                if let Some(request) = answer(stream.unwrap(), &body) {
                    kept.lock().unwrap().push(request);
                }
            }
        });
        Server { base, seen }
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, body: &str) -> Option<Seen> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 16 * 1024];
    let (head, length) = loop {
        let size = stream.read(&mut chunk).ok().filter(|size| *size > 0)?;
        bytes.extend_from_slice(&chunk[..size]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let lower = head.to_ascii_lowercase();
            let length =
                lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
            break (head.to_owned(), length.unwrap_or(0));
        }
    };
    let start = head.len() + 4;
    while bytes.len() < start + length {
        let size = stream.read(&mut chunk).ok().filter(|size| *size > 0)?;
        bytes.extend_from_slice(&chunk[..size]);
    }
    let request = Seen { head, body: serde_json::from_slice(&bytes[start..start + length]).unwrap() };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()?;
    Some(request)
}

fn data(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("data: {line}\n\n")).collect()
}

fn named(lines: &[Value]) -> String {
    let event = |line: &Value| format!("event: {}\ndata: {line}\n\n", line["type"].as_str().unwrap());
    lines.iter().map(event).collect()
}

const COMMAND: &str = r#"{"command":"echo from-the-tool"}"#;

fn chat() -> Vec<String> {
    let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let end = |reason: &str| json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    let call = json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "bash", "arguments": COMMAND}}]});
    vec![
        data(&[delta(json!({"content": "I look."})), delta(call), end("tool_calls")]) + "data: [DONE]\n\n",
        data(&[delta(json!({"content": "All **done** here."})), end("stop")]) + "data: [DONE]\n\n",
    ]
}

fn anthropic() -> Vec<String> {
    let start = json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant",
        "content": [], "model": "m", "usage": {"input_tokens": 3, "output_tokens": 1}}});
    let text = |index: u8, text: &str| {
        vec![
            json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}),
            json!({"type": "content_block_stop", "index": index}),
        ]
    };
    let end = |reason: &str| {
        vec![
            json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}}),
            json!({"type": "message_stop"}),
        ]
    };
    let call = vec![
        json!({"type": "content_block_start", "index": 1,
            "content_block": {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": COMMAND}}),
        json!({"type": "content_block_stop", "index": 1}),
    ];
    let first = [vec![start.clone()], text(0, "I look."), call, end("tool_use")].concat();
    let second = [vec![start], text(0, "All **done** here."), end("end_turn")].concat();
    vec![named(&first), named(&second)]
}

/// The format, the path of its requests, the header of its key, the answers, and the place of the tool's
/// result in the second request.
type Wire = (&'static str, &'static str, &'static str, Vec<String>, &'static str);

fn wires() -> [Wire; 2] {
    [
        (
            "openai-completions",
            "/chat/completions",
            "authorization: bearer sk-loopback-key",
            chat(),
            "/messages",
        ),
        ("anthropic-messages", "/v1/messages", "x-api-key: sk-loopback-key", anthropic(), "/messages"),
    ]
}

#[test]
fn the_screen_works_over_the_wire() {
    for (api, path, key, bodies, history) in wires() {
        let server = Server::start(bodies);
        let base = server.base.as_str();
        let args = ["--api", api, "--base-url", base, "--model", "m", "--api-key", "sk-loopback-key"];
        let screen = Screen::start(&args, 100, 40);
        screen.wait_for("ask for something");
        screen.type_keys("continue then\r");
        screen.wait_for("All done here.");
        let shown = screen.text();
        for part in ["▌ continue then", "I look.", "● bash", "echo from-the-tool", "│ from-the-tool"] {
            assert!(shown.contains(part), "{api}: no {part:?} in\n{shown}");
        }
        let seen = server.seen();
        assert_eq!(seen.len(), 2, "{api}");
        for request in &seen {
            assert!(request.head.starts_with(&format!("POST {path} ")), "{api}: {}", request.head);
            assert!(request.head.to_ascii_lowercase().contains(key), "{api}: {}", request.head);
        }
        let sent = seen[1].body.pointer(history).unwrap().to_string();
        assert!(sent.contains("from-the-tool") && sent.contains("continue then"), "{api}: {sent}");
        assert!(!screen.text().contains("sk-loopback"), "{api}");
    }
}

#[test]
fn print_works_over_the_wire() {
    for (api, _, _, bodies, _) in wires() {
        let server = Server::start(bodies);
        let home = tempfile::tempdir().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_tau"))
            .args(["-p", "continue then", "--api", api, "--base-url", &server.base, "--model", "m"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .env("TAU_HOME", home.path().join("tau"))
            .current_dir(home.path())
            .stdin(std::process::Stdio::null())
            .output_in_time();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "All **done** here.\n", "{api}: {told}");
        assert_eq!(output.status.code(), Some(0), "{api}: {told}");
    }
}
