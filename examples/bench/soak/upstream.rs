//! A provider with random answers: texts, tool calls, slow and endless streams, errors.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use super::Dice;

/// How long a silent stream stays open, unless the client disconnects.
const STALL: Duration = Duration::from_secs(20);

/// Starts it on loopback; it ends with this program.
pub fn start(seed: u64) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let dice = Dice((seed + 1 + number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            std::thread::spawn(move || drop(answer(stream, dice, number)));
        }
    });
    address
}

fn answer(mut stream: TcpStream, mut dice: Dice, number: usize) -> std::io::Result<()> {
    let size = read(&mut stream)?;
    dice.below(7);
    let kind = dice.below(100);
    if kind >= 97 {
        let body = r#"{"error":{"message":"this request is not to my liking"}}"#;
        return write!(
            stream,
            "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    match kind {
        0..50 => stream.write_all(text(&format!("answer {number}")).as_bytes())?,
        50..60 => stream.write_all(text(&"many words, ".repeat(2_000)).as_bytes())?,
        60..70 => {
            for _ in 0..20 {
                stream.write_all(text("slowly ").as_bytes())?;
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        70..74 => {
            stream.write_all(text("and then").as_bytes())?;
            stream.set_read_timeout(Some(STALL))?;
            // The client ends it.
            let _ = stream.read(&mut [0])?;
            return Ok(());
        }
        _ => stream.write_all(call(&mut dice, number).as_bytes())?,
    }
    let reason = if kind >= 74 { "tool_calls" } else { "stop" };
    let usage = json!({"prompt_tokens": size / 4, "completion_tokens": 50});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage});
    write!(stream, "data: {end}\n\ndata: [DONE]\n\n")
}

/// Reads a request and returns the size of its body in bytes.
fn read(stream: &mut TcpStream) -> std::io::Result<usize> {
    let (mut seen, mut chunk) = (Vec::new(), [0; 16 * 1024]);
    loop {
        let count = stream.read(&mut chunk)?;
        seen.extend_from_slice(chunk.get(..count).unwrap_or_default());
        let Some(head) = seen.windows(4).position(|four| four == b"\r\n\r\n") else {
            if count == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            continue;
        };
        let text = String::from_utf8_lossy(seen.get(..head).unwrap_or_default()).to_lowercase();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
        if count == 0 || seen.len() >= head + 4 + length {
            return Ok(length);
        }
    }
}

fn text(text: &str) -> String {
    let mut events = String::new();
    let delta = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    write!(events, "data: {delta}\n\n").unwrap();
    events
}

/// A tool call, each a little different from the others.
fn call(dice: &mut Dice, number: usize) -> String {
    let (name, arguments): (&str, Value) = match dice.below(6) {
        0 => ("bash", json!({"command": format!("echo {number}")})),
        1 => ("bash", json!({"command": format!("seq {}", 5_000 + number % 100)})),
        2 => ("bash", json!({"command": format!("sleep 0.0{}", number % 10)})),
        3 => ("write", json!({"path": format!("file{}", number % 20), "content": format!("{number}\n")})),
        4 => ("read", json!({"path": format!("file{}", number % 25)})),
        _ => ("edit", json!({"path": format!("file{}", number % 20), "old_string": "1", "new_string": "2"})),
    };
    let function = json!({"name": name, "arguments": arguments.to_string()});
    let call = json!({"index": 0, "id": format!("c{number}"), "type": "function", "function": function});
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}))
}
