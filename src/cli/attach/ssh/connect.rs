//! Connects to a tau on another machine, and says what hinders it.

use std::process::Stdio;
use std::time::Duration;

use super::child::{Asks, SshChild};
use super::scripts;
use crate::attach::wire::relay::{MARK, SERVE};
use crate::attach::wire::{Hello, Welcome};
use crate::process::plain;
use tau_agent::settings::servers::SshAddress;
use tau_tools::user_error::UserError;

/// Maximum time in which a relay answers once the screen has the terminal.
const AGAIN: Duration = Duration::from_secs(30);

/// The outcome of an attempt.
#[derive(Debug)]
pub(super) enum Attempt {
    /// A relay answers.
    Answered(SshChild, Welcome),
    /// No tau there speaks the protocol of this one.
    NoTau(OtherMachine),
    /// ssh could not connect. The last line that it printed and that was not shown, if any.
    Failed(String),
}

/// A machine without a usable tau.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OtherMachine {
    /// Its system and processor, as `uname` has them.
    pub kind: String,
    /// The taus found there that speak another protocol.
    pub others: String,
}

impl OtherMachine {
    /// From the line of the search.
    fn read(line: &str) -> Self {
        let line = plain::line(line);
        let mut words = line.splitn(3, ' ');
        let kind = [words.next(), words.next()].map(Option::unwrap_or_default).join(" ");
        OtherMachine { kind, others: words.next().unwrap_or_default().trim().to_owned() }
    }
}

/// Starts ssh and sends the request. The error is a sentence.
pub(super) fn attempt(address: &SshAddress, hello: &Hello, asks: Asks) -> Result<Attempt, UserError> {
    let mut ssh = SshChild::start(address, &scripts::find(SERVE), Stdio::piped(), asks)?;
    let limit = (asks == Asks::Nobody).then_some(AGAIN);
    let answered = send(&mut ssh, hello).then(|| ssh.line(&scripts::ANSWERS, limit)).flatten();
    match answered {
        Some((MARK, line)) => Ok(Attempt::Answered(ssh, decode_welcome(&line)?)),
        Some((_, line)) => Ok(Attempt::NoTau(OtherMachine::read(&line))),
        None if limit.is_some() => Ok(Attempt::Failed(ssh.stop())),
        None => {
            ssh.end();
            Ok(Attempt::Failed(String::new()))
        }
    }
}

/// Asks a relay that has not found the session yet once more. The error is a sentence.
pub(super) fn ask_again(ssh: &mut SshChild, hello: &Hello) -> Result<Welcome, UserError> {
    let lost = || "the connection ended".to_owned();
    let line = send(ssh, hello).then(|| ssh.line(&[MARK], None)).flatten();
    decode_welcome(&line.ok_or_else(lost)?.1)
}

fn send(ssh: &mut SshChild, hello: &Hello) -> bool {
    serde_json::to_string(hello).is_ok_and(|line| ssh.send(&line).is_ok())
}

fn decode_welcome(line: &str) -> Result<Welcome, UserError> {
    serde_json::from_str(line)
        .map_err(|_| "the tau there answers in a way that this one does not understand".to_owned().into())
}
