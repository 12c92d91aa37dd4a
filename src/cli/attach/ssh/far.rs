//! Commands for sessions of other machines: `tau logs`, `wait`, `stop` and `send` with `ssh://HOST#ID`. The tau there
//! carries them out; its output is foreign text.

use std::io::Read;
use std::process::Stdio;

use super::child::{Asks, SshChild};
use super::{NO_CONNECTION, scripts};
use crate::attach::wire::relay::{MARK, RUN};
use crate::attach::wire::{FarCommand, FarWord};
use crate::process::exit::{Exit, Refusal, say};
use crate::process::plain;
use tau_agent::settings::servers::{SCHEME, SshAddress};

/// The exit code of an ssh that has failed itself.
const OF_SSH: i32 = 255;
/// The size of the pieces of output that are read, in bytes.
const PIECE: usize = 16 * 1024;

/// Carries out a command for a session of another machine; returns its end, or `None` where `id` names a session
/// of this one.
pub(crate) fn run(id: &str, word: impl FnOnce() -> FarWord) -> Option<Exit> {
    id.starts_with(SCHEME).then(|| there(id, word()).unwrap_or_else(|refusal| refusal.fail()))
}

fn there(text: &str, command: FarWord) -> Result<Exit, Refusal> {
    let address = SshAddress::read(text)
        .map_err(|why| Refusal::usage(format!("{:?} is not an ssh address: {why}", plain::line(text))))?;
    let Some(id) = address.session.clone() else {
        return Err(Refusal::usage(format!("name a session there: {address}#ID; tau board lists them")));
    };
    let cannot = |why: &str| Refusal::config(format!("cannot reach {}: {why}", address.machine()));
    let far = FarCommand { id, machine: address.to_string(), command };
    let line = serde_json::to_string(&far).map_err(Refusal::config)?;
    let ssh = SshChild::start(&address, &scripts::find(RUN), Stdio::piped(), Asks::Terminal);
    let mut ssh = ssh.map_err(|error| cannot(&error))?;
    let answered = ssh.send(&line).is_ok().then(|| ssh.line(&scripts::ANSWERS, None)).flatten();
    match answered {
        Some((MARK, _)) => {}
        Some(_) => {
            return Err(cannot(&format!(
                "this version of tau is not installed there; tau attach {address} copies it"
            )));
        }
        None => {
            ssh.end();
            return Err(cannot(NO_CONNECTION));
        }
    }
    let printed = ssh.output.as_mut().map_or(Exit::Ok, print);
    if printed != Exit::Ok {
        return Ok(printed);
    }
    match ssh.end() {
        Some(OF_SSH) | None => Err(cannot("the connection ended")),
        Some(code) => Ok(u8::try_from(code).map_or(Exit::Crash, Exit::Command)),
    }
}

/// Prints the output as it arrives.
fn print(output: &mut impl Read) -> Exit {
    let (mut piece, mut rest) = (vec![0; PIECE], Vec::new());
    loop {
        let count = match output.read(&mut piece) {
            Ok(count) if count > 0 => count,
            _ => return say(&plain::text(&String::from_utf8_lossy(&rest))),
        };
        rest.extend_from_slice(piece.get(..count).unwrap_or_default());
        let whole = whole(&rest);
        let printed = say(&plain::text(&String::from_utf8_lossy(rest.get(..whole).unwrap_or_default())));
        if printed != Exit::Ok {
            return printed;
        }
        rest.drain(..whole);
    }
}

/// The number of bytes before a character that is not complete yet.
fn whole(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Ok(_) | Err(_) => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_not_cut() {
        assert_eq!(whole("aé".as_bytes()), 3);
        assert_eq!(whole(b"a\xc3"), 1);
        assert_eq!(whole(b"a\xff"), 2);
    }
}
