//! The arguments of `tau mcp`.

use clap::{Parser, Subcommand};

const AFTER: &str = "\
Servers are tables [mcp.NAME] in config.toml, and mcpServers in mcp.json beside it; in projects you
trust, .tau/config.toml and .mcp.json. See docs/mcp.md.

A login opens your browser, waits for it to come back, and saves the tokens, which are renewed as long
as the server allows. Only your user can read them.

Exit codes: 0 done, 1 the server cannot be used, 2 usage, 3 something is wrong in a file
To send the word as a prompt: tau -- mcp";

/// The arguments of `tau mcp`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau mcp", bin_name = "tau mcp")]
#[command(about = "List, add, remove and test MCP servers, and log in to them")]
#[command(after_help = AFTER, disable_help_subcommand = true)]
pub struct McpArgs {
    #[command(subcommand)]
    pub action: McpAction,
}

/// What `tau mcp` does.
#[derive(Clone, Debug, Subcommand)]
pub enum McpAction {
    /// List the servers that are configured, and where
    List {
        /// Use the servers of this directory
        #[arg(long)]
        trust: bool,
    },
    /// Add a server to your config.toml; one of that name must be removed first
    Add {
        /// The name that its tools are called by
        #[arg(value_name = "NAME")]
        name: String,
        /// A variable for its program; $OTHER takes the value from your environment
        #[arg(long = "env", short = 'e', value_name = "NAME=VALUE")]
        variables: Vec<String>,
        /// A header of every request to its URL
        #[arg(long = "header", value_name = "NAME: VALUE")]
        headers: Vec<String>,
        /// Taken as other agents write it: the server at a URL is `http`, a program `stdio`
        #[arg(long, short = 't', value_name = "TRANSPORT", hide = true)]
        transport: Option<String>,
        /// Its URL, or its program and arguments
        #[arg(value_name = "URL|COMMAND", required = true, num_args = 1.., trailing_var_arg = true)]
        #[arg(allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// Remove a server from your config.toml
    Remove {
        /// Its name in `tau mcp list`
        #[arg(value_name = "SERVER")]
        name: String,
    },
    /// Start a server, and list its tools
    Test {
        /// Its name in `tau mcp list`
        #[arg(value_name = "SERVER")]
        name: String,
        /// Use the servers of this directory
        #[arg(long)]
        trust: bool,
    },
    /// Log in to a server at a URL, in your browser
    Login {
        /// Its name in `tau mcp list`
        #[arg(value_name = "SERVER")]
        name: String,
        /// Only print the address to open, as on a machine without a browser
        #[arg(long)]
        no_browser: bool,
        /// Use the servers of this directory
        #[arg(long)]
        trust: bool,
    },
    /// Forget the login at a server
    Logout {
        /// Its name in `tau mcp list`
        #[arg(value_name = "SERVER")]
        name: String,
        /// Use the servers of this directory
        #[arg(long)]
        trust: bool,
    },
}
