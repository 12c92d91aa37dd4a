//! The arguments of `tau attempts`.

use clap::{Parser, Subcommand};

const AFTER: &str = "\
tau -n 3 --until COMMAND TASK makes attempts. Without a command this lists those of this directory. PART is a file
that an attempt changes, or some of its hunks: src/a.rs:1,3; `tau attempts diff` numbers them.

Exit codes: 0 done, 2 usage, 3 not possible
To send the word as a prompt: tau -- attempts";

/// The arguments of `tau attempts`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau attempts", bin_name = "tau attempts", about = "Compare attempts at a task and take one", after_help = AFTER)]
#[command(disable_help_subcommand = true)]
pub struct AttemptsArgs {
    /// The action.
    #[command(subcommand)]
    pub action: Option<AttemptsAction>,
}

/// What `tau attempts` does.
#[derive(Clone, Debug, Subcommand)]
pub enum AttemptsAction {
    /// List the attempts of this directory
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what attempts have changed, file by file; all of them if none is named
    Diff {
        /// Numbers of attempts
        #[arg(value_name = "N", value_parser = super::count_parser::<u32>, allow_negative_numbers = true)]
        numbers: Vec<u32>,
        /// The attempts with this id, not the newest
        #[arg(long, value_name = "ID")]
        of: Option<String>,
    },
    /// Apply an attempt to this directory, and remove all copies; or only parts of it, and keep them
    Take {
        /// The number of the attempt
        #[arg(value_name = "N", value_parser = super::count_parser::<u32>, allow_negative_numbers = true)]
        number: u32,
        /// Files or hunks
        #[arg(value_name = "PART")]
        parts: Vec<String>,
        /// The attempts with this id, not the newest
        #[arg(long, value_name = "ID")]
        of: Option<String>,
    },
    /// Remove all copies without taking anything
    Drop {
        /// The attempts with this id, not the newest
        #[arg(long, value_name = "ID")]
        of: Option<String>,
    },
}
