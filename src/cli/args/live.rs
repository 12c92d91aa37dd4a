//! The arguments of `tau logs`, `tau wait`, `tau stop`, `tau send`, `tau jobs` and `tau board`.

use clap::Parser;

const LOGS: &str = "\
Prints the text of the answers, oldest first. With --follow it continues until the run ends.

Exit codes: 0 done, 2 usage, 3 no such session
To send the word as a prompt: tau -- logs";

/// The arguments of `tau logs`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau logs", bin_name = "tau logs", about = "Print the answers of a session", after_help = LOGS)]
pub(crate) struct LogsArgs {
    /// The session: its ID, or the beginning or the last digits of it; ssh://HOST#ID on another machine
    #[arg(value_name = "ID")]
    pub id: String,
    /// Print what is answered until the run ends
    #[arg(short, long)]
    pub follow: bool,
}

const WAIT: &str = "\
Ends with the exit code of the session's last run, as tau -p would: see tau --help. A session that waits for
you is waited for; tau attach ID answers its questions.

Exit codes: those of tau -p; 0 too when no run is known, 3 no such session
To send the word as a prompt: tau -- wait";

/// The arguments of `tau wait`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau wait", bin_name = "tau wait", about = "Wait until a session's run has ended", after_help = WAIT)]
pub(crate) struct WaitArgs {
    /// The session: its ID, or the beginning or the last digits of it; ssh://HOST#ID on another machine
    #[arg(value_name = "ID")]
    pub id: String,
}

const STOP: &str = "\
Stops the run as Esc does: commands are ended, what was answered is saved. tau send ID TEXT continues.

Exit codes: 0 nothing runs, 2 usage, 3 no such session
To send the word as a prompt: tau -- stop";

/// The arguments of `tau stop`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau stop", bin_name = "tau stop", about = "Stop a session's run", after_help = STOP)]
pub(crate) struct StopArgs {
    /// The session: its ID, or the beginning or the last digits of it; ssh://HOST#ID on another machine
    #[arg(value_name = "ID")]
    pub id: String,
}

const SEND: &str = "\
A run that works gets the message after the calls of its current answer, as if you had typed it there. A
session at rest answers it, in the background if no terminal has it open. Piped text comes before TEXT;
without TEXT, or with -, it is the message.

Exit codes: 0 accepted and saved, 2 usage, 3 no such session, or the session cannot be saved
To send the word as a prompt: tau -- send";

/// The arguments of `tau send`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau send", bin_name = "tau send", about = "Send a message to a session", after_help = SEND)]
pub(crate) struct SendArgs {
    /// The session: its ID, or the beginning or the last digits of it; ssh://HOST#ID on another machine
    #[arg(value_name = "ID")]
    pub id: String,
    /// The message
    #[arg(value_name = "TEXT")]
    pub text: Vec<String>,
}

const JOBS: &str = "\
Oldest first: the number of the process, the last digits of its session's ID, its age, its processor
time, its memory, the tau that its command belongs to, or \"left over\" once that has ended, and its command
line. A process with a tau is in use there. They are found by their environment, after a crash of tau too.
A tau with an open session is not listed here, even if a command started it; see `tau sessions`.

Exit codes: 0 done, 1 a process did not end, 2 usage, 3 no such process
To send the word as a prompt: tau -- jobs";

/// The arguments of `tau jobs`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau jobs", bin_name = "tau jobs", about = "List the processes that commands of sessions left running", after_help = JOBS)]
pub(crate) struct JobsArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Stop these processes, and what they have started
    #[arg(long, value_name = "PID", num_args = 1.., conflicts_with = "json", value_parser = super::count_parser::<i32>, allow_negative_numbers = true)]
    pub stop: Vec<i32>,
}

const BOARD: &str = "\
Those that wait for you come first. Enter opens a session, a answers what waits in it, m sends a message,
x stops its run, h archives its result; Tab shows what is archived. /board or Ctrl+X l shows it in a session.
Those of machines that the setting `servers` names (ssh://HOST) are among them.

Exit codes: those of tau
To send the word as a prompt: tau -- board";

/// The arguments of `tau board`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau board", bin_name = "tau board", about = "Show all sessions that run, wait for you or have ended", after_help = BOARD)]
pub(crate) struct BoardArgs {}
