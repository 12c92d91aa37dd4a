//! The arguments of `tau sessions`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

const AFTER: &str = "\
Newest first: the last digits of the ID, which name the session wherever one is asked for (tau
--session 4f2a), the program that wrote it (tau, claude, codex, opencode, pi), how long ago it was
used, how many messages it has, and its name or how it began. Sessions of other programs are only
read: --session continues them in a copy.

tau sessions search finds words in all that was said in them, the output of tools included.

Exit codes: 0 done, 1 the output could not be written, 2 usage
To send the word as a prompt: tau -- sessions";

/// The arguments of `tau sessions`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau sessions", bin_name = "tau sessions", about = "List the sessions of this directory, those of other agents too", after_help = AFTER)]
#[command(disable_help_subcommand = true)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    pub action: Option<SessionsAction>,
    /// Those of all directories
    #[arg(long, global = true)]
    pub all: bool,
    /// Also those of runs with --print
    #[arg(long)]
    pub print: bool,
    /// Also those that you have archived
    #[arg(long)]
    pub archived: bool,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// Directory of the session files
    #[arg(long, global = true, value_name = "DIR", value_parser = super::folder())]
    pub session_dir: Option<PathBuf>,
}

const AFTER_SEARCH: &str = "\
Newest session first: its ID, the program that wrote it, its name or how it began, and below it each
message, call or result in which all words occur. A word is found by its beginning, in any case and
without accents, '\"two words\"' together. The first search reads all sessions, later ones what is new.

With --json: id, source, title, directory, entry (the ID of the entry) and text of each hit.

Exit codes: 0 done, 1 nothing was found or the output could not be written, 2 usage";

/// What `tau sessions` does instead of listing.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SessionsAction {
    /// Search all that was said, the output of tools included
    #[command(after_help = AFTER_SEARCH)]
    Search {
        /// A word that the text must contain
        #[arg(value_name = "WORD", required = true)]
        words: Vec<String>,
        /// Maximum number of hits
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = super::count_parser::<usize>, allow_negative_numbers = true)]
        limit: usize,
    },
}
