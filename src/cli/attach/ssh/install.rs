//! Copies this tau to a machine that has none, if the user wants it.

use std::fs::File;
use std::io::IsTerminal;
use std::process::Stdio;

use super::child::{Asks, SshChild};
use super::connect::OtherMachine;
use super::scripts;
use crate::process::confirmation::is_yes;
use crate::process::exit::Refusal;
use crate::protocol::capital;
use tau_agent::settings::servers::SshAddress;
use tau_tools::regular_files::open_regular;

/// Asks whether to copy this tau to the machine, and does so. Fails if the user does not want it or cannot be
/// asked, or if it does not run there.
pub(super) fn offer(address: &SshAddress, other: &OtherMachine) -> Result<(), Refusal> {
    let machine = address.machine();
    let version = env!("CARGO_PKG_VERSION");
    let what = match other.others.as_str() {
        "" => format!("there is no tau on {machine}"),
        found => {
            format!("the tau on {machine} is another version or build than this one ({version}): {found}")
        }
    };
    let own = rustix::system::uname();
    let own = format!("{} {}", own.sysname().to_string_lossy(), own.machine().to_string_lossy());
    if other.kind != own {
        let there = if other.kind.trim().is_empty() { "another system" } else { &other.kind };
        return Err(Refusal::config(format!(
            "{what}, and this one is for {own}, not for {there}: install tau {version} there (docs/install.md)"
        )));
    }
    if !std::io::stdin().is_terminal() {
        return Err(Refusal::config(format!(
            "{what}; install tau {version} there, or attach from a terminal, where tau asks whether to copy this one"
        )));
    }
    let (program, size) = own_program().map_err(Refusal::config)?;
    let question = format!(
        "{}.\nCopy this one ({version}, {:.1} MB) to {} there? [y/N] ",
        capital(&what),
        size as f64 / 1e6,
        scripts::FOLDER_IN_WORDS
    );
    if !is_yes(&question)? {
        return Err(Refusal::config(format!(
            "nothing was copied; install tau {version} on {machine} to attach there"
        )));
    }
    copy(address, program, size)
}

fn copy(address: &SshAddress, program: File, size: u64) -> Result<(), Refusal> {
    let ssh = SshChild::start(address, &scripts::copy(size), Stdio::from(program), Asks::Terminal);
    let mut ssh = ssh.map_err(Refusal::config)?;
    let copied = ssh.line(&[scripts::COPIED], None);
    ssh.end();
    match copied {
        Some(_) => Ok(()),
        None => Err(Refusal::config(format!("the copy does not run on {}", address.machine()))),
    }
}

/// The program of this process, and its size in bytes.
fn own_program() -> std::io::Result<(File, u64)> {
    // The path of a program that was replaced leads nowhere; the kernel's way to it still does.
    let linux = std::path::Path::new("/proc/self/exe");
    let file = open_regular(linux).or_else(|_| open_regular(&std::env::current_exe()?))?;
    let size = file.metadata()?.len();
    Ok((file, size))
}
