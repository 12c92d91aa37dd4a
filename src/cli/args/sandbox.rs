//! The arguments of `tau sandbox`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;
use clap::builder::PossibleValuesParser;

const AFTER: &str = "\
Your settings apply where no flag is given. A level of `off` there is taken as workspace-write.
The command gets your environment without keys; `pass_env` in config.toml lists exceptions.
docs/sandbox.md says what is promised. What this machine cannot enforce is a warning.

Exit codes: those of the command; 2 usage, 3 it cannot be started
To send the word as a prompt: tau -- sandbox";

/// The arguments of `tau sandbox`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau sandbox", bin_name = "tau sandbox", about = "Run a command in the sandbox", after_help = AFTER)]
#[command(override_usage = "tau sandbox [OPTIONS] -- COMMAND [ARGUMENT]...")]
pub(crate) struct SandboxArgs {
    /// How much it may change
    #[arg(long, value_name = "LEVEL", value_parser = PossibleValuesParser::new(["off", "read-only", "workspace-write"]))]
    pub sandbox: Option<String>,
    /// Whether it can use the network
    #[arg(long, value_name = "ON|OFF", value_parser = PossibleValuesParser::new(["on", "off"]))]
    pub network: Option<String>,
    /// Something else it may change; can be given several times
    #[arg(long, value_name = "PATH")]
    pub writable: Vec<String>,
    /// Work in DIR
    #[arg(short = 'C', long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// The command and its arguments.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}
