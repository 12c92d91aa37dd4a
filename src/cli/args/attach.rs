//! The arguments of `tau attach`.

use std::path::PathBuf;

use clap::Parser;

const AFTER: &str = "\
`tau attach ID` attaches to a session that runs in another terminal or in the background; tau board and
tau sessions list them. Without ID and address: the `tau serve` of yours that was started last on this machine.
For another server the token comes from --token-file, else from TAU_SERVE_TOKEN; without a session, the open
one used last, otherwise the newest saved one. Quitting detaches; the session continues.

ssh://[USER@]HOST[:PORT]/FOLDER runs your ssh, and attaches to the open session of that folder there, or
begins one; /~/FOLDER is below the home folder there, ssh://HOST#ID is a session. A broken connection comes
back. See docs/sessions.md.

Exit codes: 2 usage, 3 no server, no token or no such session; else those of signals
To send the word as a prompt: tau -- attach";

/// The arguments of `tau attach`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau attach", bin_name = "tau attach", after_help = AFTER)]
#[command(about = "Attach the screen to a session of another terminal, machine or server")]
pub struct AttachArgs {
    /// A session here, or a server: http://HOST:PORT, https://HOST, HOST:PORT, unix:PATH, ssh://HOST/FOLDER
    #[arg(value_name = "ID|URL")]
    pub url: Option<String>,
    /// The session: its id, its name, or the beginning of either
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
    /// The session, without an address or beside one
    #[arg(long = "session", value_name = "SESSION", conflicts_with = "session")]
    pub named: Option<String>,
    /// Start a new session there
    #[arg(long, conflicts_with_all = ["session", "named"])]
    pub new: bool,
    /// Read the token from this file
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Send the token and the session unencrypted, to another machine, over http://
    #[arg(long)]
    pub cleartext: bool,
    /// Record what happens on the screen, for --replay
    #[arg(long, value_name = "FILE", hide = true)]
    pub record: Option<PathBuf>,
}
