//! The arguments of `tau import`.

use clap::Parser;

const AFTER: &str = "\
Shows the set-ups of Claude Code, Codex, opencode, Gemini CLI and Cursor, what tau reads of them where
it is, and what its own files would get. Values of variables and headers are not shown. On a terminal
tau asks whether to write; what your files already say stays.

Exit codes: 0 done, 1 the output could not be written, 2 usage, 3 a file of tau that cannot be read
or written
To send the word as a prompt: tau -- import";

/// The arguments of `tau import`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau import", bin_name = "tau import", about = "Take over the set-ups of other agents", after_help = AFTER)]
pub struct ImportArgs {
    /// Write the changes without asking
    #[arg(long)]
    pub write: bool,
}
