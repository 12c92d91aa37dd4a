//! The arguments of `tau sessions`.

use std::path::PathBuf;

use clap::Parser;

const AFTER: &str = "\
Newest first: the last digits of the ID, which name the session wherever one is asked for (tau
--session 4f2a), the program that wrote it (tau, claude, codex, opencode, pi), how long ago it was
used, how many messages it has, and its name or how it began. Sessions of other programs are only
read: --session continues them in a copy.

Exit codes: 0 done, 1 the output could not be written, 2 usage
To send the word as a prompt: tau -- sessions";

/// The arguments of `tau sessions`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau sessions", bin_name = "tau sessions", about = "List the sessions of this directory, those of other agents too", after_help = AFTER)]
pub(crate) struct SessionsArgs {
    /// Those of all directories
    #[arg(long)]
    pub all: bool,
    /// Also those of runs with --print
    #[arg(long)]
    pub print: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Directory of the session files
    #[arg(long, value_name = "DIR")]
    pub session_dir: Option<PathBuf>,
}
