//! Random requests to `tau proxy`.

use std::io::Read;
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use super::http::Server;
use super::{Dice, Place, Talk};

/// The maximum number of simultaneous answers.
const STREAMS: usize = 8;

struct Proxy {
    server: Server,
    streams: Vec<TcpStream>,
}

/// Creates a token and starts the server.
pub fn start(place: &Place, tau: &Path) -> Result<Box<dyn Talk>, String> {
    println!("\nproxy: tau proxy");
    let made = place.tau(tau, &["proxy", "add", "soak"]).stdin(Stdio::null()).output();
    let token = String::from_utf8(made.map_err(|error| error.to_string())?.stdout).unwrap_or_default();
    let server = Server::start(&mut place.tau(tau, &["proxy", "--listen", "127.0.0.1:0"]), token.trim())?;
    Ok(Box::new(Proxy { server, streams: Vec::new() }))
}

/// A request to this model.
fn call(id: &str) -> Value {
    let message = json!({"role": "user", "content": "go", "timestamp": 1});
    json!({
        "model": {"provider": "own", "id": id},
        "context": {"systemPrompt": "Be brief.", "messages": [message], "tools": []},
        "options": {"sessionId": "soak"},
    })
}

impl Talk for Proxy {
    fn act(&mut self, dice: &mut Dice) -> Result<(), String> {
        match dice.below(20) {
            0..10 => {
                let body = call(dice.pick(&["m", "n"]).unwrap_or(&"")).to_string();
                let mut stream = self.server.open("POST", "/api/stream", body.as_bytes())?;
                match dice.below(3) {
                    // Abandoned at once, or after the first bytes.
                    0 => return Ok(()),
                    1 => drop(stream.read(&mut [0; 256])),
                    _ => {}
                }
                self.streams.push(stream);
                if self.streams.len() > STREAMS {
                    self.streams.remove(0);
                }
            }
            10 => {
                // Read to its end, whatever it is.
                let body = call("m").to_string();
                let mut stream = self.server.open("POST", "/api/stream", body.as_bytes())?;
                let mut answer = Vec::new();
                stream.read_to_end(&mut answer).map_err(|error| format!("no answer: {error}"))?;
                self.server.answered += 1;
                if !answer.starts_with(b"HTTP/1.1 200") {
                    return Err(String::from_utf8_lossy(&answer).into_owned());
                }
            }
            11 => drop(self.streams.pop()),
            12 => drop(self.server.ask("GET", "/api/models", &Value::Null)?),
            13 => drop(self.server.ask("GET", "/api/usage", &Value::Null)?),
            14 => drop(self.server.ask("GET", "/health", &Value::Null)?),
            15 => drop(self.server.ask("POST", "/api/stream", &call("none"))?),
            16 => drop(self.server.ask("POST", "/api/stream", &json!({"model": 7}))?),
            17 => {
                let token = std::mem::replace(&mut self.server.token, "tau_proxy_wrong".to_owned());
                let (status, _) = self.server.ask("POST", "/api/stream", &call("m"))?;
                self.server.token = token;
                if status != 401 {
                    return Err(format!("a wrong token is answered with {status}"));
                }
            }
            18 => drop(self.server.ask("BREW", "/api/stream", &Value::Null)?),
            _ => {
                let line = dice.nonsense(b"POST /api/stream HTTP/1.1\r\ncontent-length: 999999999\r\n\r\n{");
                self.server.throw(&line)?;
            }
        }
        Ok(())
    }

    fn rest(&mut self) -> Result<(), String> {
        self.streams.clear();
        self.server.ask("GET", "/health", &Value::Null).map(drop)
    }

    fn pid(&self) -> u32 {
        self.server.pid()
    }

    fn answered(&self) -> usize {
        self.server.answered
    }
}
