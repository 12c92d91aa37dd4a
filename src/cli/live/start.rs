//! Starts a session in the background, in a process of its own.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::process::exit::{Exit, fail, say};

/// The first argument of the process that has the session. Nobody types it.
pub(crate) const WORD: &str = "--live-host";

/// Starts `tau -b`: prints the session's id once its prompt is saved; returns the program's end.
/// `arguments` are those of the program, without its name.
pub(crate) fn run(arguments: &[OsString]) -> Exit {
    match begin(arguments) {
        Ok(id) => say(&format!("{id}\n")),
        Err(exit) => exit,
    }
}

/// Starts the process, which reports its own faults; returns the session's id, or the program's end.
pub(crate) fn begin(arguments: &[OsString]) -> Result<String, Exit> {
    let cannot = |error: std::io::Error| fail(Exit::Config, &format!("cannot start the session: {error}"));
    let program = std::env::current_exe().map_err(cannot)?;
    let mut command = Command::new(program);
    command.arg(WORD).args(arguments).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(cannot)?;
    let mut id = String::new();
    let out = child.stdout.take();
    let read = out.map(|out| BufReader::new(out).read_line(&mut id)).transpose().map_err(cannot)?;
    if read.is_some_and(|read| read > 0) {
        return Ok(id.trim().to_owned());
    }
    let status = child.wait().map_err(cannot)?;
    Err(status.code().and_then(|code| u8::try_from(code).ok()).map_or(Exit::Crash, Exit::Command))
}
