//! The arguments of `tau proxy`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

const AFTER: &str = "\
The proxy holds the API keys; anyone with a token can use models through it:
  TAU_PROXY_TOKEN=TOKEN tau --proxy http://HOST:8302 --model MODEL
Tokens and their limits are in proxy.toml in the folder of config.toml, which is read again when it
changes. Only hashes of tokens are kept. See docs/proxy.md.

Exit codes: 0 done, 2 usage, 3 something is wrong in a file, or the address is taken
To send the word as a prompt: tau -- proxy";

/// The arguments of `tau proxy`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau proxy", bin_name = "tau proxy", after_help = AFTER, disable_help_subcommand = true)]
#[command(about = "Serve models to clients that have a token and no key")]
#[command(args_conflicts_with_subcommands = true)]
pub struct ProxyArgs {
    /// Where to listen
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8302", value_parser = super::listen::parse)]
    pub listen: SocketAddr,
    /// The file of tokens, instead of proxy.toml in the folder of config.toml
    #[arg(long, value_name = "FILE", global = true)]
    pub tokens: Option<PathBuf>,
    #[command(subcommand)]
    pub action: Option<ProxyAction>,
}

/// What `tau proxy` does besides serving.
#[derive(Clone, Debug, Subcommand)]
pub enum ProxyAction {
    /// Make a token and print it, once
    Add {
        /// Whom or what the token is for
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        limits: LimitArgs,
    },
    /// Remove a token; requests with it are refused at once
    Remove {
        /// Whom or what the token is for
        #[arg(value_name = "CLIENT")]
        name: String,
    },
    /// List the tokens with their limits, and what was used
    List,
}

/// What a token allows.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct LimitArgs {
    /// A model, or all of a provider as PROVIDER/*; again for each (by default all)
    #[arg(long = "allow", value_name = "PROVIDER/MODEL")]
    pub models: Vec<String>,
    /// Requests in a minute
    #[arg(long, value_name = "N", value_parser = super::count_parser::<u32>, allow_negative_numbers = true)]
    pub requests_per_minute: Option<u32>,
    /// Requests at the same time
    #[arg(long, value_name = "N", value_parser = super::count_parser::<u32>, allow_negative_numbers = true)]
    pub at_once: Option<u32>,
    /// Tokens of models in a day (UTC), in and out
    #[arg(long, value_name = "N", value_parser = super::count_parser::<u64>, allow_negative_numbers = true)]
    pub tokens_per_day: Option<u64>,
    /// US dollars in a day (UTC)
    #[arg(long, value_name = "USD", value_parser = super::dollars_parser, allow_negative_numbers = true)]
    pub dollars_per_day: Option<f64>,
}
