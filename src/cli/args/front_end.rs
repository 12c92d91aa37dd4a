//! The front end selected by the arguments and the standard streams.

use clap::ValueEnum;

/// The format of standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputMode {
    /// The final answer, as text.
    Text,
    /// Every event, a line each.
    Json,
    /// A conversation of commands and events, a line each.
    Rpc,
}

/// A front end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontEnd {
    /// The full screen.
    Screen,
    /// The final answer, as text.
    Print,
    /// Events as lines.
    Json,
    /// Commands and events as lines.
    Rpc,
}

/// The standard streams that are terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StandardStreams {
    pub stdin: bool,
    pub stdout: bool,
}

impl StandardStreams {
    /// The streams of this process.
    pub fn here() -> Self {
        use std::io::IsTerminal;
        StandardStreams { stdin: std::io::stdin().is_terminal(), stdout: std::io::stdout().is_terminal() }
    }
}

/// The clients that get the events and fields of the older RPC document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RpcEvents {
    /// Those that do not number their commands.
    #[default]
    Auto,
    /// No client.
    Plain,
    /// Every client.
    All,
}
