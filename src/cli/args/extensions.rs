//! The arguments of `tau extensions`.

use clap::Parser;

const AFTER: &str = "\
Skills and prompt templates come from tau's own folders and those of other agents.
See docs/extending.md.

Exit codes: 0 done, 2 usage, 3 something is wrong in a file
To send the word as a prompt: tau -- extensions";

/// The arguments of `tau extensions`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau extensions", bin_name = "tau extensions", after_help = AFTER)]
#[command(about = "List skills and other extensions, and their problems")]
pub(crate) struct ExtensionsArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Use the .tau/ settings and the extensions of this directory
    #[arg(long)]
    pub trust: bool,
}
