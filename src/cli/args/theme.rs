//! The arguments of `tau theme`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

const AFTER: &str = "\
Every mistake is a line with the file, the line in it and what is wrong. A file without mistakes
is checked for pairs of colors that are hard to read, in full color and in 256 colors.

Exit codes: 0 nothing is wrong, 2 usage, 3 something is wrong or the file cannot be read
To send the word as a prompt: tau -- theme";

/// The arguments of `tau theme`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau theme", bin_name = "tau theme", about = "Check a theme file", after_help = AFTER)]
#[command(disable_help_subcommand = true)]
pub(crate) struct ThemeArgs {
    #[command(subcommand)]
    pub action: ThemeAction,
}

/// What `tau theme` does.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ThemeAction {
    /// Say what is wrong with a theme file, and which of its colors are hard to read
    Check {
        /// The theme's file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}
