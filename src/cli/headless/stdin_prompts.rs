//! Prompts on standard input: piped text, or lines of JSON.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::{Errno, ioctl_fionread};

use super::json::input;
use super::prompts::{self, CliPrompt};
use crate::process::exit::warn;
use crate::rpc::lines::{InputLine, MAX_LEN};
use tau_tools::user_error::UserError;

/// Time for which standard input may be silent before a notice explains what tau waits for.
const SILENCE: Duration = Duration::from_secs(3);

/// Prompts from the arguments and from standard input.
pub(crate) struct JsonPrompts {
    /// The prompts from the arguments; piped text is joined to the first, or is a prompt by itself.
    pub prompts: Vec<CliPrompt>,
    /// The first line, if lines of JSON are piped in: it had to be read to detect them. They come after the
    /// arguments.
    pub first_line: Option<Vec<u8>>,
}

/// The prompts for print mode. Fails when a file or standard input cannot be read, or is too large.
pub fn text(arguments: &[String]) -> Result<Vec<CliPrompt>, UserError> {
    prompts::gather(arguments, read_stdin_if_piped()?)
}

/// The message of `tau send`: piped text, then that of the arguments; `-` stands for what is piped. Fails when
/// standard input cannot be read, or is too large.
pub(crate) fn message(arguments: &[String]) -> Result<String, UserError> {
    let given = match arguments {
        [dash] if dash == "-" => String::new(),
        words => words.join(" "),
    };
    // Typed on a terminal, until it ends.
    let typed = || prompts::read_piped_text(io::stdin());
    let piped =
        if given.is_empty() && io::stdin().is_terminal() { Some(typed()?) } else { read_stdin_if_piped()? };
    let parts = [piped.unwrap_or_default(), given];
    let parts: Vec<&str> = parts.iter().map(|part| part.trim_end()).filter(|part| !part.is_empty()).collect();
    Ok(parts.join("\n\n"))
}

/// Whether there is text on standard input. Waits for its first byte, and reads none.
pub(crate) fn has_text() -> bool {
    let stdin = io::stdin();
    let Ok(stat) = fstat(&stdin) else { return false };
    let kind = FileType::from_raw_mode(stat.st_mode);
    if !kind.is_fifo() && !kind.is_socket() {
        return kind.is_file() && stat.st_size > 0;
    }
    warning_of_silence(|| {
        let mut input = [PollFd::new(&stdin, PollFlags::IN)];
        while poll(&mut input, None) == Err(Errno::INTR) {}
        ioctl_fionread(&stdin).is_ok_and(|count| count > 0)
    })
}

/// The text on standard input, if it is not a terminal.
fn read_stdin_if_piped() -> Result<Option<String>, UserError> {
    let stdin = io::stdin();
    match stdin.is_terminal() {
        true => Ok(None),
        false => warning_of_silence(|| prompts::read_piped_text(stdin)).map(Some),
    }
}

/// The prompts for json mode. Piped input is lines of JSON if its first line is a valid one, else text.
pub fn json(arguments: &[String]) -> Result<JsonPrompts, UserError> {
    let mut stdin = io::stdin();
    if stdin.is_terminal() {
        return Ok(JsonPrompts { prompts: prompts::gather(arguments, None)?, first_line: None });
    }
    warning_of_silence(|| {
        let first = first_line(&mut stdin).map_err(|error| format!("cannot read standard input: {error}"))?;
        let trimmed = String::from_utf8_lossy(&first).trim().to_owned();
        if input::parse(&InputLine::Record(trimmed)).is_ok() {
            return Ok(JsonPrompts { prompts: prompts::gather(arguments, None)?, first_line: Some(first) });
        }
        let piped = prompts::read_piped_text(Read::chain(io::Cursor::new(first), stdin))?;
        Ok(JsonPrompts { prompts: prompts::gather(arguments, Some(piped))?, first_line: None })
    })
}

/// Reads standard input, with a notice when it stays silent. Programs that start others often leave it open
/// without any input, and tau would seem to hang.
fn warning_of_silence<T>(read: impl FnOnce() -> T) -> T {
    let (done, waiting) = mpsc::channel::<()>();
    let notice = move || {
        if waiting.recv_timeout(SILENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            warn("waiting for standard input to end (add </dev/null if there is nothing to read)");
        }
    };
    // Files and /dev/null never stay silent. Only the notice is lost where no thread can be created.
    let kind = fstat(io::stdin()).map(|stdin| FileType::from_raw_mode(stdin.st_mode));
    if kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket()) {
        let _ = std::thread::Builder::new().name("stdin notice".to_owned()).spawn(notice);
    }
    let read = read();
    drop(done);
    read
}

/// The first line that is not blank, with its end. It is read byte by byte, to leave the rest to the next
/// reader.
fn first_line(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while line.len() < MAX_LEN {
        match input.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => line.extend_from_slice(&byte),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if byte == *b"\n" {
            if !line.trim_ascii().is_empty() {
                break;
            }
            line.clear();
        }
    }
    Ok(line)
}
