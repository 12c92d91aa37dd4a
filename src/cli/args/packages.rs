//! The arguments of `tau add` and `tau remove`.

use clap::Parser;

const AFTER_ADD: &str = "\
SOURCE is a folder, an archive (.tar.gz .tgz .tar.xz .tar .zip .skill) or its URL,
a repository (github:OWNER/NAME or a git URL, with #BRANCH), or npm:NAME. It holds a plugin of
Claude Code, skills, or skills/ prompts/ tools/. You see what it contains before it is added.
Nothing updates by itself: `tau add --update NAME` asks its source again.

Exit codes: 0 done, 1 not added, 2 usage, 3 it cannot be used
To send the word as a prompt: tau -- add";

/// The arguments of `tau add`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau add", bin_name = "tau add", about = "Add a package of extensions", after_help = AFTER_ADD)]
pub struct AddArgs {
    /// Where the package is; with --update, the packages to update (default: all)
    #[arg(value_name = "SOURCE")]
    pub sources: Vec<String>,
    /// The plugin to add from a marketplace
    #[arg(long, value_name = "NAME", conflicts_with = "update")]
    pub plugin: Option<String>,
    /// Fetch packages that you have from their sources again
    #[arg(long)]
    pub update: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

const AFTER_REMOVE: &str = "\
`tau extensions` lists the packages. To turn one off and keep it: /extensions.

Exit codes: 0 done, 2 usage, 3 it was not removed
To send the word as a prompt: tau -- remove";

/// The arguments of `tau remove`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau remove", bin_name = "tau remove", about = "Remove a package of extensions", after_help = AFTER_REMOVE)]
pub struct RemoveArgs {
    /// The packages
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
}
