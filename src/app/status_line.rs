//! The status line: its template, and the output of the user's command.
//!
//! The command gets the facts of the session and runs again when they have changed, one run at a time and at
//! most once in [`INTERVAL`].

use super::ansi::{self, AnsiLine};
use super::msg::Millis;
use super::status_facts::StatusFacts;
use tau_protocol::status_template::StatusTemplate;
use tau_tools::user_error::UserError;

/// Minimum time between two starts of the command, in milliseconds.
pub(crate) const INTERVAL: Millis = 1_000;

/// The status line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusLine {
    pub template: StatusTemplate,
    /// The user's command, if there is one.
    pub command: Option<StatusCommand>,
}

impl StatusLine {
    /// A status line that has not shown anything yet.
    pub(crate) fn new(template: StatusTemplate, has_command: bool) -> Self {
        StatusLine { template, command: has_command.then(StatusCommand::default) }
    }
}

/// The state of the user's command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusCommand {
    /// The first line of its output, or the error.
    pub line: AnsiLine,
    /// The facts of its last run.
    pub(crate) asked: Option<StatusFacts>,
    pub(crate) asked_at: Millis,
    pub(crate) running: bool,
    /// It must run again as soon as allowed.
    pub(crate) due: bool,
}

impl StatusCommand {
    /// Stores its output.
    pub(crate) fn take(&mut self, printed: &Result<String, UserError>) {
        self.running = false;
        let text = printed.as_deref().unwrap_or_else(|error| error);
        self.line = ansi::lines(text.lines().next().unwrap_or("")).into_iter().next().unwrap_or_default();
    }
}
