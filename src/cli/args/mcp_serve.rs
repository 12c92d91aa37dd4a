//! The arguments of `tau mcp-serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;

use super::serve::ServedSessions;

const AFTER: &str = "\
Another agent starts sessions of tau, prompts them, waits for them and answers what they ask, with
tools of the Model Context Protocol: session_start, session_prompt, session_wait, session_answer and
session_stop. See docs/server.md.

Exit codes: 0 done, 2 usage, 3 configuration
To send the word as a prompt: tau -- mcp-serve";

/// The arguments of `tau mcp-serve`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau mcp-serve", bin_name = "tau mcp-serve", after_help = AFTER)]
#[command(about = "Serve sessions as MCP tools, on standard streams or over HTTP")]
pub struct McpServeArgs {
    /// Serve streamable HTTP at http://ADDR:PORT/mcp instead of the standard streams
    #[arg(long, value_name = "ADDR:PORT", value_parser = super::listen::parse)]
    pub listen: Option<SocketAddr>,
    /// Read the token from this file, instead of from TAU_SERVE_TOKEN
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub token_file: Option<PathBuf>,
    /// Also answer requests for this host name
    #[arg(long, value_name = "NAME", requires = "listen", value_parser = super::host_parser)]
    pub allow_host: Vec<String>,
    /// Sessions that may be open at a time
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = super::within::<u32>(1..=100_000), allow_negative_numbers = true)]
    pub max_sessions: u32,
    /// The flags about the served sessions.
    #[command(flatten)]
    pub sessions: ServedSessions,
}
