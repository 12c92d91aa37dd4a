//! The arguments of `tau update`.

use clap::Parser;

const AFTER: &str = "\
Asks before it changes anything, and compares the SHA-256 of the download with that of the release.
The version before stays for --back. If a package manager installed tau, its command is printed, and
nothing is changed. Releases are looked for at the address that tau was built for, or `release_url`.

Exit codes: 0 done, or nothing to do, 1 the release cannot be used, 2 usage, 3 no address is known
To send the word as a prompt: tau -- update";

/// The arguments of `tau update`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau update", bin_name = "tau update", about = "Install the newest version, or go back", after_help = AFTER)]
pub struct UpdateArgs {
    /// Only say whether there is a newer version
    #[arg(long, conflicts_with_all = ["back", "yes"])]
    pub check: bool,
    /// Go back to the version before
    #[arg(long)]
    pub back: bool,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}
