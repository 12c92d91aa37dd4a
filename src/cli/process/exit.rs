//! The end of the program: exit codes shared by every front end, and its final messages.
//!
//! The table is printed at the end of `--help` and in the README.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use super::masking::mask_addresses;
use super::{plain, stderr};
use tau_protocol::message::StopReason;
use tau_protocol::run::RunEnd;

/// The way in which the program ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exit {
    /// Everything was done.
    #[default]
    Ok,
    /// The model or its provider failed, or the output could not be written.
    Model,
    /// The arguments are invalid.
    Usage,
    /// No model, no key, or a file of tau that cannot be read.
    Config,
    /// A tool needed an answer, and there was no user to give it.
    Refused,
    /// Turns, rounds, time, money or the length of an answer ran out.
    Limit,
    /// The model made the same call again and again, and there was no user to ask.
    Stuck,
    /// The answer is not valid against the schema of `--output-schema`.
    Invalid,
    /// The model stopped trying to reach the goal.
    GivenUp,
    /// A fault in tau itself.
    Crash,
    /// The terminal was closed (SIGHUP).
    HungUp,
    /// The user stopped it (SIGINT).
    Aborted,
    /// The system stopped it (SIGTERM).
    Terminated,
    /// Another signal of this number stopped it, such as SIGQUIT.
    Signal(u8),
    /// The command that `tau sandbox` ran ended with this code.
    Command(u8),
}

impl Exit {
    /// Every end with a fixed code, with its meaning, in the order of the codes.
    pub const TABLE: [(Exit, u8, &'static str); 13] = [
        (Exit::Ok, 0, "done"),
        (Exit::Model, 1, "model error"),
        (Exit::Usage, 2, "usage"),
        (Exit::Config, 3, "configuration"),
        (Exit::Refused, 4, "tool refused"),
        (Exit::Limit, 5, "limit reached"),
        (Exit::Stuck, 6, "model repeats itself"),
        (Exit::Invalid, 7, "bad answer"),
        (Exit::GivenUp, 8, "goal given up"),
        (Exit::Crash, 101, "crash"),
        (Exit::HungUp, 129, "hangup"),
        (Exit::Aborted, 130, "aborted"),
        (Exit::Terminated, 143, "terminated"),
    ];

    /// The rows of the documented table: code and meaning. The last is [`Exit::Signal`].
    pub fn rows() -> impl Iterator<Item = (String, &'static str)> {
        let other = ("128+n".to_owned(), Self::OTHER_SIGNAL);
        Self::TABLE.iter().map(|(_, code, meaning)| (code.to_string(), *meaning)).chain([other])
    }

    const OTHER_SIGNAL: &'static str = "ended by signal n";

    /// The meaning of this end, in a few words.
    pub fn meaning(self) -> &'static str {
        let row = Self::TABLE.iter().find(|(exit, ..)| *exit == self);
        row.map_or(Self::OTHER_SIGNAL, |(.., meaning)| *meaning)
    }

    /// The code the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Exit::Signal(number) => return 128_u8.saturating_add(number),
            Exit::Command(code) => return code,
            _ => {}
        }
        let row = Self::TABLE.iter().find(|(exit, ..)| *exit == self);
        row.map_or(1, |(_, code, _)| *code)
    }
}

/// The end for a run that a limit or the loop guard stopped.
impl From<RunEnd> for Exit {
    fn from(end: RunEnd) -> Exit {
        match end {
            RunEnd::Repeats => Exit::Stuck,
            RunEnd::Turns
            | RunEnd::Time
            | RunEnd::Dollars
            | RunEnd::Day
            | RunEnd::Tokens
            | RunEnd::Rounds => Exit::Limit,
            RunEnd::GivenUp => Exit::GivenUp,
        }
    }
}

/// The end for a run whose last answer ended in this way, if that answer has a text.
impl From<StopReason> for Exit {
    fn from(reason: StopReason) -> Exit {
        match reason {
            StopReason::Stop | StopReason::ToolUse | StopReason::Other => Exit::Ok,
            StopReason::Length => Exit::Limit,
            StopReason::Error => Exit::Model,
            StopReason::Aborted => Exit::Aborted,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// The reason why the program cannot start: the message, and the exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub exit: Exit,
    pub text: String,
}

impl Refusal {
    /// The arguments are wrong.
    pub fn usage(error: impl std::fmt::Display) -> Self {
        Refusal { exit: Exit::Usage, text: error.to_string() }
    }

    /// The configuration is wrong, or the machine does not allow the request.
    pub fn config(error: impl std::fmt::Display) -> Self {
        Refusal { exit: Exit::Config, text: error.to_string() }
    }

    /// Prints it; returns the program's end.
    pub fn fail(&self) -> Exit {
        fail(self.exit, &self.text)
    }
}

impl From<Result<Exit, Refusal>> for Exit {
    fn from(end: Result<Exit, Refusal>) -> Self {
        end.unwrap_or_else(|refusal| refusal.fail())
    }
}

/// Prints the reason for the program's end, and returns the end. Every message has this one form:
/// `tau: what failed: why; what to do`.
pub fn fail(exit: Exit, reason: &str) -> Exit {
    warn(reason);
    exit
}

/// Prints a warning for the user on standard error. Never waits for a reader.
pub(crate) fn warn(text: &str) {
    let lines: Vec<String> =
        text.lines().map(|line| plain::line(&mask_addresses(&without_numbers(line)))).collect();
    stderr::write(format!("tau: {}\n", lines.join("\n")).as_bytes());
}

/// A message without the numbers of the system's errors, such as ` (os error 2)`.
pub(crate) fn without_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    kept
}

/// Writes text to standard output; returns the program's end. A closed reader is no failure.
pub fn say(text: &str) -> Exit {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => report_output_failure(&error),
        _ => Exit::Ok,
    }
}

/// Reports that standard output cannot be written; returns the program's end.
pub(crate) fn report_output_failure(error: &std::io::Error) -> Exit {
    fail(Exit::Model, &format!("cannot write to standard output: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_system_errors_are_left_out() {
        let text = "a: No such file or directory (os error 2); b: denied (os error 13)";
        assert_eq!(without_numbers(text), "a: No such file or directory; b: denied");
    }

    #[test]
    fn the_codes_are_those_that_are_documented() {
        let codes: Vec<u8> = Exit::TABLE.iter().map(|(exit, ..)| exit.code()).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 101, 129, 130, 143]);
        assert_eq!(Exit::Signal(3).code(), 131);
    }
}
