//! The arguments of `tau completions` and `tau man`.

use clap::Parser;
use clap_complete::Shell;

const AFTER: &str = "\
For this session, in bash: source <(tau completions bash)
Permanently:
  bash  tau completions bash >~/.local/share/bash-completion/completions/tau
  zsh   tau completions zsh >~/.zfunc/_tau       (a directory in $fpath)
  fish  tau completions fish >~/.config/fish/completions/tau.fish";

/// The arguments of `tau completions`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau completions", bin_name = "tau completions", about = "Print the completion script of a shell", after_help = AFTER)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// `tau man` takes no arguments.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau man", bin_name = "tau man", about = "Print the man page, in roff")]
pub(crate) struct ManArgs;
