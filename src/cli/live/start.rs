//! Starts a session in the background, in a process of its own.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::exit::{Exit, fail};
use tau_tools::user_error::UserError;

/// The first argument of the process that has the session. Nobody types it.
pub(crate) const WORD: &str = "--live-host";

/// The word after [`WORD`] for a session that is opened again with what was kept of its rights.
pub(crate) const AGAIN: &str = "--live-again";

/// Maximum length of what a started process says about itself, in bytes.
const MAX_LINE: u64 = 64 * 1024;

/// The first argument of a process that opens a session for a client which is about to attach.
pub(crate) const OPEN: &str = "--live-open";

/// Starts the process, which reports its own faults; returns the session's id, or the program's end. Its standard
/// input, which is a part of its prompt, is `text`, else that of this process.
pub(crate) fn begin(arguments: &[OsString], text: Option<&str>) -> Result<String, Exit> {
    let cannot = |error: std::io::Error| fail(Exit::Config, &format!("cannot start the session: {error}"));
    let program = std::env::current_exe().map_err(cannot)?;
    let mut command = Command::new(program);
    command.arg(WORD).args(arguments).stdout(Stdio::piped());
    if text.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().map_err(cannot)?;
    if let Some((mut stdin, text)) = child.stdin.take().zip(text) {
        // One that ends without reading it says why.
        let _ = stdin.write_all(text.as_bytes());
    }
    let mut id = String::new();
    let out = child.stdout.take();
    let read = out.map(|out| BufReader::new(out).read_line(&mut id)).transpose().map_err(cannot)?;
    if read.is_some_and(|read| read > 0) {
        return Ok(id.trim().to_owned());
    }
    let status = child.wait().map_err(cannot)?;
    Err(status.code().and_then(|code| u8::try_from(code).ok()).map_or(Exit::Crash, Exit::Command))
}

/// Starts a process that has a session of this directory open, and waits for clients; returns the session's id.
/// The session is the one of this id, which is begun if there is none, or a new one. The error is a sentence.
pub(crate) fn open(directory: &Path, id: Option<&str>) -> Result<String, UserError> {
    let cannot = |error: std::io::Error| format!("cannot start the session: {error}");
    let program = std::env::current_exe().map_err(cannot)?;
    let mut command = Command::new(program);
    command.arg(OPEN).args(id).current_dir(directory);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(cannot)?;
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out.take(MAX_LINE)).read_line(&mut line).map_err(cannot)?;
    }
    if !line.trim().is_empty() {
        // It may end before this process.
        std::thread::spawn(move || drop(child.wait()));
        return Ok(line.trim().to_owned());
    }
    let mut said = Vec::new();
    if let Some(err) = child.stderr.take() {
        err.take(MAX_LINE).read_to_end(&mut said).map_err(cannot)?;
    }
    let _ = child.wait();
    let said = String::from_utf8_lossy(&said);
    let why = said.lines().rev().find_map(|line| line.strip_prefix("tau: "));
    Err(why.unwrap_or("cannot start the session: its process ended").to_owned().into())
}
