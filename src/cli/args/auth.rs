//! The arguments of `tau auth`.

use clap::{Parser, Subcommand};

const AFTER: &str = "\
tau looks for a key in --api-key, the provider's environment variable, auth.json, models.toml or
config.toml, in this order.

Exit codes: 0 done, 1 a key was rejected or could not be checked, 2 usage, 3 no key, no such
provider, or an unusable file
To send the word as a prompt: tau -- auth";

/// The arguments of `tau auth`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau auth", bin_name = "tau auth", about = "Manage the API keys of providers", after_help = AFTER)]
#[command(disable_help_subcommand = true)]
pub struct AuthArgs {
    #[command(subcommand)]
    pub action: Option<AuthAction>,
}

/// What `tau auth` does.
#[derive(Clone, Debug, Subcommand)]
pub enum AuthAction {
    /// List the providers, and where each key is found (the default)
    List,
    /// Save a key, read from standard input, to auth.json: tau auth set PROVIDER <FILE
    Set {
        /// Its name in `tau auth list`
        #[arg(value_name = "PROVIDER")]
        provider: String,
        /// Accepted only to be refused without being repeated.
        #[arg(hide = true)]
        key: Vec<String>,
    },
    /// Remove a key from auth.json
    Remove {
        /// Its name in `tau auth list`
        #[arg(value_name = "PROVIDER")]
        provider: String,
    },
    /// Check a key with a small real request; without PROVIDER, check every key
    Check {
        /// Its name in `tau auth list`
        #[arg(value_name = "PROVIDER")]
        provider: Option<String>,
    },
}
