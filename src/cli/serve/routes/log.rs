//! The log of requests, a line each on standard error. It contains neither tokens nor query strings.

use std::net::IpAddr;
use std::time::Duration;

use serde_json::json;

use crate::args::serve::LogFormat;
use crate::process::{plain, stderr};
use tau_agent::session::entry::{iso, now};

/// Maximum length of a path, in characters.
const PATH: usize = 200;

/// An answered request.
pub(super) struct Line<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub status: u16,
    /// Until the response began.
    pub time: Duration,
    pub client: Option<IpAddr>,
}

/// Writes a request to the log.
pub(super) fn write(format: LogFormat, line: &Line<'_>) {
    let path: String = plain::line(line.path).chars().take(PATH).collect();
    let method: String = line.method.chars().take(20).collect();
    let milliseconds = line.time.as_micros() as f64 / 1_000.0;
    let at = iso(now());
    let text = match format {
        LogFormat::Off => return,
        LogFormat::Text => format!("{at} {} {method} {path} {milliseconds:.1} ms\n", line.status),
        LogFormat::Json => {
            let client = line.client.map(|client| client.to_string());
            let record = json!({
                "time": at, "level": level(line.status), "message": "request", "method": method,
                "path": path, "status": line.status, "milliseconds": milliseconds, "client": client,
            });
            format!("{record}\n")
        }
    };
    stderr::write(text.as_bytes());
}

fn level(status: u16) -> &'static str {
    match status {
        500.. => "error",
        400.. => "warn",
        _ => "info",
    }
}
