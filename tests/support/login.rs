//! A login that waits for the browser, and an obedient browser.

use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use super::program::Ended;
use super::time_limit::InTime;

/// The answer to a GET: its status, its `location` and its body.
pub async fn fetch(url: &str) -> (u16, Option<String>, String) {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).in_time("a connection").await.unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).in_time("an answer").await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let location = head.lines().find_map(|line| line.strip_prefix("location: ")).map(str::to_owned);
    (status, location, body.to_owned())
}

/// A `tau login` that waits, the address it printed, and what it says later.
pub struct Login {
    pub child: Child,
    pub page: String,
    said: tokio::task::JoinHandle<String>,
}

impl Login {
    pub async fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let page = loop {
            let line = lines.next_line().in_time("the address").await.unwrap();
            let line = line.expect("it has ended without an address");
            if line.starts_with("http") {
                break line;
            }
        };
        let said = tokio::spawn(async move {
            let mut said = String::new();
            while let Ok(Some(line)) = lines.next_line().await {
                said += &(line + "\n");
            }
            said
        });
        Login { child, page, said }
    }

    /// The address to which the authorization server sends the browser.
    pub async fn target(&self) -> String {
        let (status, target, body) = fetch(&self.page).await;
        assert_eq!(status, 303, "{} {body}", self.page);
        target.unwrap()
    }

    pub async fn end(self) -> Ended {
        let output = self.child.wait_with_output().in_time("the end of the login").await.unwrap();
        let out = self.said.in_time("the output").await.unwrap();
        Ended {
            code: output.status.code().unwrap(),
            out,
            err: String::from_utf8_lossy(&output.stderr).into(),
        }
    }
}

/// Every file below a folder, as text.
pub fn all_text(folder: &Path, but: &str) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &all_text(&path, but);
        } else if !path.to_string_lossy().contains(but) {
            text += &String::from_utf8_lossy(&std::fs::read(path).unwrap());
        }
    }
    text
}
