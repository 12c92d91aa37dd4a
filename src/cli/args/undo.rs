//! The arguments of `tau diff` and `tau undo`.

use std::path::PathBuf;

use clap::Parser;

use tau_protocol::undo::ConflictChoice;

const AFTER_DIFF: &str = "\
Lists the session's changes that are still in the files, as a patch. What tau could not record is
listed on standard error.

Exit codes: 0 done, 1 the output could not be written, 2 usage, 3 no such session
To send the word as a prompt: tau -- diff";

/// Which session is meant.
#[derive(Clone, Debug, clap::Args)]
pub struct SessionArgs {
    /// An id, its beginning or last digits, or a path; by default the last session of this directory
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
    /// Directory of the session files
    #[arg(long, value_name = "DIR", value_parser = super::folder())]
    pub session_dir: Option<PathBuf>,
}

/// The arguments of `tau diff`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau diff", bin_name = "tau diff", about = "Show what a session changed in files", after_help = AFTER_DIFF)]
pub struct DiffArgs {
    #[command(flatten)]
    pub of: SessionArgs,
}

const AFTER_UNDO: &str = "\
Without --to the prompts are listed, with what each changed. Files are restored as they were before
prompt N. A file that something else has changed as well stays as it is, unless --conflicts says
otherwise: `old` restores it, `merge` takes out only what the agent changed where that is possible.
The conversation stays as it is; /undo in tau takes it back too.

Exit codes: 0 done, 1 a file could not be restored, 2 usage, 3 no such session, or it is at work
To send the word as a prompt: tau -- undo";

/// The arguments of `tau undo`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau undo", bin_name = "tau undo", about = "Restore files as they were before a prompt", after_help = AFTER_UNDO)]
pub struct UndoArgs {
    #[command(flatten)]
    pub of: SessionArgs,
    /// The prompt to go back to, as numbered in the list
    #[arg(long, value_name = "N", value_parser = super::count_parser::<usize>, allow_negative_numbers = true)]
    pub to: Option<usize>,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
    /// Files that were changed since: keep, old or merge
    #[arg(long, value_name = "CHOICE", value_enum, default_value = "keep", hide_possible_values = true)]
    pub conflicts: ConflictFlag,
}

/// The treatment of files that something else has changed as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ConflictFlag {
    Keep,
    Old,
    Merge,
}

impl From<ConflictFlag> for ConflictChoice {
    fn from(flag: ConflictFlag) -> Self {
        match flag {
            ConflictFlag::Keep => ConflictChoice::Keep,
            ConflictFlag::Old => ConflictChoice::Old,
            ConflictFlag::Merge => ConflictChoice::Merge,
        }
    }
}
