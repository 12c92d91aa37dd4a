//! The screen of `tau attach` beside the plain one: the echo of keys.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::terminal::Terminal;
use super::{Subject, echo};

const TOKEN: &str = "bench-token-0123456789";

/// A separate server on loopback.
struct Server {
    child: Child,
    url: String,
    _home: tempfile::TempDir,
}

impl Server {
    fn start(tau: &Subject) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut child = Command::new(&tau.path)
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "off", "--model", "demo"])
            .env("HOME", home.path())
            .env("TAU_HOME", home.path().join("tau"))
            .env("TAU_PERMISSION_MODE", "auto")
            .env("TAU_SERVE_TOKEN", TOKEN)
            .current_dir(home.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().trim_start_matches("listening on ").to_owned();
        Server { child, url, _home: home }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures the attached screen; the plain one is measured separately.
pub fn measure(tau: &Subject, keys: usize) {
    let server = Server::start(tau);
    let mut token = tempfile::NamedTempFile::new().unwrap();
    token.write_all(TOKEN.as_bytes()).unwrap();
    let file = token.path().to_string_lossy().into_owned();
    let attached = Subject { name: "attached".to_owned(), path: tau.path.clone(), args: Vec::new() };
    let args = ["attach", server.url.as_str(), "--new", "--token-file", file.as_str()];
    let mut terminal = Terminal::start(&tau.path, &args);
    terminal.wait_until(Duration::from_secs(30), |screen| screen.contents().contains("demo"));
    terminal.wait_quiet(Duration::from_millis(500), Duration::from_secs(10));
    echo(&mut terminal, &attached, keys, "idle");
}
