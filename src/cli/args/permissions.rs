//! The arguments of `tau permissions`.

use clap::{Parser, Subcommand};

use tau_protocol::approval::PermissionMode;
use tau_tools::user_error::UserError;

const AFTER: &str = "\
Rules are in [permissions] of config.toml, in the lists allow, ask and deny:
  bash(cargo test *)   edit(src/**)   read(**/.env)   mcp__server__*
deny wins over ask, and ask over allow. See docs/permissions.md.

Exit codes: 0 done, 2 usage, 3 something is wrong in a file
To send the word as a prompt: tau -- permissions";

/// The arguments of `tau permissions`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau permissions", bin_name = "tau permissions", after_help = AFTER)]
#[command(about = "List permission rules, or explain what they say of a command")]
#[command(disable_help_subcommand = true)]
pub(crate) struct PermissionsArgs {
    #[command(subcommand)]
    pub action: Option<PermissionsAction>,
}

/// What `tau permissions` does besides listing.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum PermissionsAction {
    /// Say of a command, or of another tool's call, what would be allowed, asked or denied, and why
    Test {
        /// The tool: bash, edit, write, read, a custom tool, or any other
        #[arg(long, value_name = "TOOL", default_value = "bash")]
        tool: String,
        /// The permission mode: ask, edits, plan or auto; without it the one that is set
        #[arg(long, alias = "mode", value_name = "MODE", value_parser = mode_parser)]
        permission_mode: Option<PermissionMode>,
        /// Use the .tau/ settings of this directory
        #[arg(long)]
        trust: bool,
        /// The command, or the path that the tool is called with; of a custom tool its arguments as JSON
        #[arg(value_name = "COMMAND|PATH|JSON", allow_hyphen_values = true)]
        call: String,
    },
}

fn mode_parser(value: &str) -> Result<PermissionMode, UserError> {
    PermissionMode::from_name(value).ok_or_else(|| "use ask, edits, plan or auto".to_owned().into())
}
