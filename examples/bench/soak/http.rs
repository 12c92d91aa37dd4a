//! A server over HTTP, and requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command};
use std::time::Duration;

use serde_json::Value;

use super::TIMEOUT;

/// A server. It is killed when this is dropped.
pub struct Server {
    child: Child,
    pub address: String,
    pub token: String,
    /// The number of answered requests.
    pub answered: usize,
}

impl Server {
    /// Starts it, and waits until it prints its address.
    pub fn start(command: &mut Command, token: &str) -> Result<Self, String> {
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("it has no output")?);
        let mut line = String::new();
        lines.read_line(&mut line).map_err(|error| error.to_string())?;
        let address = line.trim().rsplit_once("http://").map(|(_, address)| address.to_owned());
        // Its further output is not waited for.
        std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
        match address {
            Some(address) => Ok(Server { child, address, token: token.to_owned(), answered: 0 }),
            None => {
                let _ = child.kill();
                Err(format!("it says no address but {line:?}"))
            }
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request and returns the connection, on which the answer arrives.
    pub fn open(&self, method: &str, path: &str, body: &[u8]) -> Result<TcpStream, String> {
        let mut stream =
            TcpStream::connect(&self.address).map_err(|error| format!("no connection: {error}"))?;
        stream.set_read_timeout(Some(TIMEOUT)).map_err(|error| error.to_string())?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.address,
            self.token,
            body.len()
        );
        // A server that refuses a request may close before all of it is written.
        let _ = stream.write_all(&[head.as_bytes(), body].concat());
        Ok(stream)
    }

    /// Sends a request and reads the whole answer: its status and its body.
    pub fn ask(&mut self, method: &str, path: &str, body: &Value) -> Result<(u16, Value), String> {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let answer =
            read(&mut self.open(method, path, &body)?).map_err(|why| format!("{method} {path}: {why}"))?;
        self.answered += 1;
        let status = answer.split_whitespace().nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| format!("{method} {path}: no status in {answer:?}"))?;
        if status >= 500 && status != 503 {
            return Err(format!("{method} {path}: {answer}"));
        }
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Ok((status, serde_json::from_str(body).unwrap_or(Value::Null)))
    }

    /// Sends bytes that need not be a request; any answer is fine.
    pub fn throw(&self, bytes: &[u8]) -> Result<(), String> {
        let mut stream =
            TcpStream::connect(&self.address).map_err(|error| format!("no connection: {error}"))?;
        let _ = stream.set_read_timeout(Some(Duration::from_millis(5)));
        let _ = stream.write_all(bytes);
        let _ = stream.read(&mut [0; 512]);
        Ok(())
    }
}

/// Everything received, as text.
fn read(stream: &mut TcpStream) -> Result<String, String> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        // The server closed while an unwanted body was in transit.
        Err(_) if !bytes.is_empty() => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(format!("no answer: {error}")),
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
