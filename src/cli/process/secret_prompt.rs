//! Reads a secret line: from a terminal without echo, or from a pipe.

use std::io::{self, IsTerminal, Read, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use tau_agent::secrets::Secret;

/// Maximum length of a line, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// The first line of standard input; `None` when the user cancelled. `question` is shown on a terminal only.
/// Fails when the terminal's errors, and when the line is not text.
pub fn read(question: &str) -> io::Result<Option<Secret>> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        let mut text = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(stdin.take(MAX_BYTES)), &mut text)?;
        return Ok(Some(Secret::new(text)));
    }
    let mut err = io::stderr();
    write!(err, "{question}")?;
    err.flush()?;
    let quiet = Quiet::begin()?;
    let line = line(&mut stdin.lock());
    drop(quiet);
    writeln!(err)?;
    line
}

/// A terminal that shows nothing and delivers each byte at once, until this is dropped. Keys that would end
/// the program are read as bytes too, so that they never leave the terminal in this state.
pub(crate) struct Quiet(Termios);

impl Quiet {
    pub(crate) fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet)?;
        Ok(Quiet(before))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // There is nothing to restore when the terminal is gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// A line of bytes from keys.
fn line(input: &mut impl Read) -> io::Result<Option<Secret>> {
    let mut typed = Vec::new();
    let mut byte = [0];
    loop {
        if input.read(&mut byte)? == 0 {
            return Ok(None);
        }
        match byte {
            [b'\r' | b'\n'] => break,
            [0x03 | 0x1b | 0x1c] => return Ok(None),
            [0x04] if typed.is_empty() => return Ok(None),
            [0x08 | 0x7f] => drop(typed.pop()),
            [0x15] => typed.clear(),
            [other] => typed.push(other),
        }
        if typed.len() as u64 > MAX_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long for a key"));
        }
    }
    let text = String::from_utf8(typed)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the line is not UTF-8 text"));
    text.map(|text| Some(Secret::new(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_and_can_be_given_up() {
        let cases = [
            ("sk-1\rrest", Some("sk-1")),
            ("sk-12\x7f\n", Some("sk-1")),
            ("wrong\x15sk-1\n", Some("sk-1")),
            ("sk-1\x03\n", None),
            ("\x04", None),
            ("sk-1", None),
        ];
        for (keys, expected) in cases {
            let read = line(&mut keys.as_bytes()).unwrap();
            assert_eq!(read.as_ref().map(Secret::expose), expected, "{keys:?}");
        }
    }
}
