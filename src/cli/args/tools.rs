//! The arguments of `tau tools`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

const AFTER: &str = "\
Your own tools are files tools/NAME.toml in the folder of config.toml; those of a project you trust
are in .tau/tools. See docs/extending.md.

Exit codes: 0 done, 1 the tool failed, 2 usage, 3 something is wrong in a file, 4 a rule denies it
To send the word as a prompt: tau -- tools";

/// The arguments of `tau tools`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau tools", bin_name = "tau tools", after_help = AFTER)]
#[command(about = "List tools, check files of your own, and run one", disable_help_subcommand = true)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ToolsArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Use the .tau/ settings and the tools of this directory
    #[arg(long)]
    pub trust: bool,
    #[command(subcommand)]
    pub action: Option<ToolsAction>,
}

/// What `tau tools` does besides listing.
#[derive(Clone, Debug, Subcommand)]
pub enum ToolsAction {
    /// Check the files of tools: these, or all that are used here
    Check {
        /// Use the .tau/ settings and the tools of this directory
        #[arg(long)]
        trust: bool,
        /// The files of tools
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Run a tool as the model would, and print its result
    Run {
        /// Its name in `tau tools`
        #[arg(value_name = "TOOL")]
        name: String,
        /// An argument of the tool; again for each value of a list
        #[arg(long = "arg", short = 'a', value_name = "NAME=VALUE", conflicts_with = "arguments")]
        values: Vec<String>,
        /// Write a picture of the result to FILE
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Use the .tau/ settings and the tools of this directory
        #[arg(long)]
        trust: bool,
        /// All arguments as a JSON object
        #[arg(value_name = "JSON")]
        arguments: Option<String>,
    },
}
