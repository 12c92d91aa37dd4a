//! The arguments of `tau serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};

use super::CliArgs;
use super::setting_flags::SettingFlags;

const AFTER: &str = "\
When the server is ready, it prints the link of its page. The token comes from --token-file, else
from TAU_SERVE_TOKEN; else it is random, and part of the link. See docs/server.md.

Exit codes: 2 usage, 3 something is wrong in a file, or the address is taken; else those of signals
To send the word as a prompt: tau -- serve";

/// The arguments of `tau serve`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau serve", bin_name = "tau serve", after_help = AFTER)]
#[command(about = "Serve sessions over HTTP: prompts in, events out")]
pub struct ServeArgs {
    /// Listen on this address; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:4180", value_parser = super::listen::parse)]
    pub listen: SocketAddr,
    /// Listen on this Unix socket instead
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Read the token from this file
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Also answer requests for this host name
    #[arg(long, value_name = "NAME", value_parser = super::host_parser)]
    pub allow_host: Vec<String>,
    /// Also let pages of this origin send requests
    #[arg(long, value_name = "URL", value_parser = super::origin_parser)]
    pub allow_origin: Vec<String>,
    /// Sessions that may be open at a time
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = super::within::<u32>(1..=100_000), allow_negative_numbers = true)]
    pub max_sessions: u32,
    /// Event streams that may be open at a time
    #[arg(long, value_name = "N", default_value_t = 1_024, value_parser = super::within::<u32>(1..=100_000), allow_negative_numbers = true)]
    pub max_streams: u32,
    /// Largest body of a request, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 32 << 20, value_parser = super::within::<u64>(1_024..=1 << 30), allow_negative_numbers = true)]
    pub max_body: u64,
    /// Requests a second from one address; four seconds' worth may come at once
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = super::within::<u32>(1..=1_000_000), allow_negative_numbers = true)]
    pub rate: u32,
    /// Close a session that nobody has used for so long
    #[arg(long, value_name = "SECS", default_value_t = 1_800, value_parser = super::within::<u64>(1..=1 << 31), allow_negative_numbers = true)]
    pub idle: u64,
    /// When stopped, let runs continue for so long before they are aborted
    #[arg(long, value_name = "SECS", default_value_t = 10, value_parser = super::within::<u64>(0..=86_400), allow_negative_numbers = true)]
    pub grace: u64,
    /// How requests are logged on standard error
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub log: LogFormat,
    /// The flags about the served sessions.
    #[command(flatten)]
    pub sessions: ServedSessions,
}

/// The flags about served sessions.
#[derive(Args, Clone, Debug)]
pub struct ServedSessions {
    /// The directory of sessions that name none
    #[arg(short = 'C', long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Use the .tau/ settings of the directories of sessions
    #[arg(long)]
    pub trust: bool,
    /// The flags that set settings.
    #[command(flatten)]
    pub settings: SettingFlags<false>,
}

impl ServedSessions {
    /// The arguments of the program that they stand for.
    pub(crate) fn program_args(&self) -> CliArgs {
        CliArgs {
            settings: SettingFlags(self.settings.0.clone()),
            cwd: self.cwd.clone(),
            trust: self.trust,
            ..CliArgs::without_arguments()
        }
    }
}

/// How requests are logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line of text for each request.
    #[default]
    Text,
    /// A JSON object for each request.
    Json,
    /// Not at all.
    Off,
}
