//! Random requests to `tau serve`.

use std::net::TcpStream;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::http::Server;
use super::{Dice, Place, Talk};

/// The number of sessions used at the same time.
const SESSIONS: usize = 5;
/// The number of streams open at the same time.
const STREAMS: usize = 8;
const TOKEN: &str = "a-token-for-the-soak";

struct Serve {
    server: Server,
    work: PathBuf,
    sessions: Vec<String>,
    /// Event streams without a reader.
    streams: Vec<TcpStream>,
}

/// Starts the server.
pub fn start(place: &Place, tau: &Path) -> Result<Box<dyn Talk>, String> {
    println!("\nserve: tau serve");
    let arguments =
        ["serve", "--listen", "127.0.0.1:0", "--model", "own/m", "--rate", "100000", "--log", "off"];
    let server = Server::start(
        place.tau(tau, &arguments).env("TAU_PERMISSION_MODE", "auto").env("TAU_SERVE_TOKEN", TOKEN),
        TOKEN,
    )?;
    Ok(Box::new(Serve { server, work: place.path("work"), sessions: Vec::new(), streams: Vec::new() }))
}

impl Serve {
    fn ask(&mut self, method: &str, path: &str, body: Value) -> Result<Value, String> {
        self.server.ask(method, path, &body).map(|(_, body)| body)
    }

    /// Decides a waiting call.
    fn decide(&mut self, session: &str, dice: &mut Dice) -> Result<(), String> {
        let shown = self.ask("GET", &format!("/api/sessions/{session}"), Value::Null)?;
        let calls = shown["approvals"].as_array().cloned().unwrap_or_default();
        for call in calls {
            let id = call["id"].as_str().unwrap_or_default();
            let decision = json!({"decision": dice.pick(&["allow", "deny"])});
            self.ask("POST", &format!("/api/sessions/{session}/approvals/{id}"), decision)?;
        }
        Ok(())
    }

    fn follow(&mut self, stream: TcpStream) {
        self.streams.push(stream);
        if self.streams.len() > STREAMS {
            self.streams.remove(0);
        }
    }
}

impl Talk for Serve {
    fn act(&mut self, dice: &mut Dice) -> Result<(), String> {
        let session = dice.pick(&self.sessions).map_or("none", String::as_str).to_owned();
        let path = format!("/api/sessions/{session}");
        match dice.below(40) {
            0 | 1 if self.sessions.len() < SESSIONS => {
                let mode = dice.pick(&["auto", "auto", "ask"]);
                let made =
                    self.ask("POST", "/api/sessions", json!({"cwd": self.work, "permissionMode": mode}))?;
                let id = made["id"].as_str().ok_or_else(|| format!("no session but {made}"))?;
                self.sessions.push(id.to_owned());
            }
            2..12 => {
                let prompt =
                    json!({"prompt": "go", "detach": true, "streaming": dice.pick(&["steer", "followUp"])});
                self.ask("POST", &format!("{path}/prompt"), prompt)?;
            }
            12 | 13 => {
                let prompt = json!({"prompt": "go", "streaming": "steer"}).to_string();
                let stream = self.server.open("POST", &format!("{path}/prompt"), prompt.as_bytes())?;
                // Abandoned ones end their run.
                if dice.below(2) == 0 {
                    self.follow(stream);
                }
            }
            14..17 => {
                let after = if dice.below(2) == 0 { "" } else { "?after=none-1" };
                let stream = self.server.open("GET", &format!("{path}/events{after}"), b"")?;
                self.follow(stream);
            }
            17 | 18 => drop(self.streams.pop()),
            19..22 => drop(self.ask("POST", &format!("{path}/abort"), json!({}))?),
            22 | 23 => self.decide(&session, dice)?,
            24 => drop(self.ask("POST", &format!("{path}/steer"), json!({"text": "left"}))?),
            25 => drop(self.ask("POST", &format!("{path}/follow-up"), json!({"text": "then"}))?),
            26 => drop(self.ask("GET", &format!("{path}/history"), Value::Null)?),
            27 => {
                let format = dice.pick(&["html", "md", "jsonl", "pdf"]).unwrap_or(&"");
                self.ask("GET", &format!("{path}/export?format={format}"), Value::Null)?;
            }
            28 => {
                let change = json!({"name": "a name", "model": dice.pick(&["own/m", "own/n", "none"])});
                self.ask("PATCH", &path, change)?;
            }
            29 => drop(self.ask("GET", "/api/sessions?limit=20", Value::Null)?),
            30 => drop(self.ask("GET", &format!("{path}/commands"), Value::Null)?),
            31 => drop(self.ask("GET", "/api/models", Value::Null)?),
            32 => drop(self.ask("GET", "/metrics", Value::Null)?),
            33 => drop(self.ask("POST", &format!("{path}/close"), json!({}))?),
            34 if self.sessions.len() >= SESSIONS => {
                self.sessions.retain(|open| *open != session);
                self.ask("DELETE", &path, Value::Null)?;
            }
            35 => drop(self.ask("POST", &format!("{path}/questions/none"), json!({"confirmed": true}))?),
            36 => drop(self.ask("POST", &format!("{path}/prompt"), json!({"prompt": 7}))?),
            37 => drop(self.ask("BREW", "/api/%00", Value::Null)?),
            _ => {
                let line = dice.nonsense(b"POST /api/prompt HTTP/1.1\r\ncontent-length: 999999999\r\n\r\n{");
                self.server.throw(&line)?;
            }
        }
        Ok(())
    }

    fn rest(&mut self) -> Result<(), String> {
        self.streams.clear();
        for session in std::mem::take(&mut self.sessions) {
            // Closing it twice is refused, which is just as good.
            self.server.ask("POST", &format!("/api/sessions/{session}/close"), &json!({}))?;
        }
        Ok(())
    }

    fn pid(&self) -> u32 {
        self.server.pid()
    }

    fn answered(&self) -> usize {
        self.server.answered
    }
}
