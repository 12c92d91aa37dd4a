//! The arguments of `tau models`.

use clap::Parser;

use tau_agent::secrets::Secret;

const AFTER: &str = "\
A `?` stands for an unknown size or price. Prices are in US dollars per million tokens, for input
and output. KEY shows whether the provider can be used now; `tau auth` lists where keys are found.
models.toml in the configuration directory adds models to the list and changes them.

Exit codes: 0 done, 1 no provider answered, 2 usage, 3 no such model
To send the word as a prompt: tau -- models";

/// The arguments of `tau models`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau models", bin_name = "tau models", about = "List the models that --model accepts", after_help = AFTER)]
pub struct ModelsArgs {
    /// Only models whose provider, id or name contain these words
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    /// First ask every provider that has a key for its models
    #[arg(long)]
    pub refresh: bool,
    /// The models that the `tau proxy` at URL serves, asked for now
    #[arg(long, value_name = "URL", value_parser = super::address_parser, conflicts_with = "refresh", requires = "proxy_token")]
    pub proxy: Option<String>,
    /// Your token for --proxy; set TAU_PROXY_TOKEN to hide it from other users
    #[arg(long, value_name = "TOKEN", env = "TAU_PROXY_TOKEN", hide_env_values = true, value_parser = super::secret_parser)]
    pub proxy_token: Option<Secret>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
