//! The arguments of `tau worktree`.

use clap::{Parser, Subcommand};

const AFTER: &str = "\
tau -w [NAME] makes a worktree and works in it, or continues there. Nothing is thrown away: what a removed
worktree had, also what was not committed, stays in the repository, and `tau worktree restore` brings it back.

Exit codes: 0 done, 2 usage, 3 not possible
To send the word as a prompt: tau -- worktree";

/// The arguments of `tau worktree`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau worktree", bin_name = "tau worktree", about = "List, merge and remove worktrees", after_help = AFTER)]
#[command(disable_help_subcommand = true)]
pub struct WorktreeArgs {
    /// The action.
    #[command(subcommand)]
    pub action: WorktreeAction,
}

/// What `tau worktree` does.
#[derive(Clone, Debug, Subcommand)]
pub enum WorktreeAction {
    /// List the worktrees of this repository, and what each has
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a worktree on a branch of its own, and print its folder
    Add {
        /// Its name, and that of its branch; without it, tau makes one up
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// Start at this commit or branch; `default` is the default branch of the repository
        #[arg(long, value_name = "COMMIT")]
        from: Option<String>,
    },
    /// Merge a worktree into the branch of the folder that it was made from, and remove it
    Merge {
        /// Its name in `tau worktree list`
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Remove a worktree, and keep what it has in the repository
    Remove {
        /// Its name in `tau worktree list`
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Make a removed worktree again, with its uncommitted files
    Restore {
        /// Its name in `tau worktree list`
        #[arg(value_name = "NAME")]
        name: String,
    },
}
