//! The arguments of `tau uninstall`.

use clap::Parser;

const AFTER: &str = "\
Without --purge only the program goes, and what tau has written stays. If a package manager installed
tau, its command is printed. With --purge everything that tau has written is listed with its size,
and you choose what is removed. It does not go to the trash.

Exit codes: 0 done, 1 something could not be removed, 2 usage, 3 tau is running
To send the word as a prompt: tau -- uninstall";

/// The arguments of `tau uninstall`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau uninstall", bin_name = "tau uninstall", about = "Remove tau, and with --purge all it has written", after_help = AFTER)]
pub struct UninstallArgs {
    /// Also settings, keys, sessions, undo data and caches
    #[arg(long)]
    pub purge: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}
