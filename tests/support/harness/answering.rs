//! A server whose model always gives the same answer.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

/// Starts it; each answer takes this long. Returns its address, for `--base-url`.
pub fn answering(takes: Duration, text: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let choice = serde_json::json!({"index": 0, "delta": {"content": text}, "finish_reason": "stop"});
    let events = format!("data: {}\n\ndata: [DONE]\n\n", serde_json::json!({"choices": [choice]}));
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let events = events.clone();
            std::thread::spawn(move || {
                let mut request = vec![0; 1 << 20];
                let _ = socket.read(&mut request);
                std::thread::sleep(takes);
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                let _ = socket.write_all(format!("{head}{events}").as_bytes());
            });
        }
    });
    format!("http://{address}/v1")
}
