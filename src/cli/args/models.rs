//! The arguments of `tau models`.

use clap::Parser;

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
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
