//! The arguments of `tau doctor`.

use clap::Parser;

const AFTER: &str = "\
Nothing is changed, no provider is asked and no key is shown. Servers are looked for on this machine
only. A problem keeps tau from working; advice does not.

Exit codes: 0 usable, 2 usage, 3 there is a problem
To send the word as a prompt: tau -- doctor";

/// The arguments of `tau doctor`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau doctor", bin_name = "tau doctor", about = "Check the terminal, the clipboard, models, files and limits", after_help = AFTER)]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
