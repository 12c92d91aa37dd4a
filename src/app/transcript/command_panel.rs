//! Panels of the user's commands. The terminal of a running one is in [`crate::jobs`].

use super::hidden_secrets::HiddenSecrets;
use super::panel::PanelOutput;
use super::{EntryBody, Transcript, arguments};
use crate::ansi;
use crate::geometry::EntryId;
use crate::msg::Millis;
use crate::printable::Printable;
use tau_protocol::message::BashExecution;

/// The end of the user's command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    Exit(i32),
    Cancelled,
    Killed,
    /// It ended, and nobody knows how.
    Unknown,
}

/// A command of the user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandPanel {
    pub command: Printable,
    /// True for `!!`: the model never sees it.
    pub private: bool,
    /// True if the user asked to run it without the sandbox.
    pub without_sandbox: bool,
    /// The command as entered, for running it again.
    pub(crate) source: String,
    pub output: PanelOutput,
    /// The secrets in its output.
    pub secrets: HiddenSecrets,
    pub since: Millis,
    /// Its duration in milliseconds; unknown for commands of earlier runs.
    pub took: Option<Millis>,
    pub end: Option<CommandEnd>,
    /// The file with the complete output, when the message has only a part.
    pub full_output: Option<Printable>,
    /// The sandbox's refusal, and its rule.
    pub blocked: Option<Printable>,
}

impl CommandPanel {
    /// A command that has just started.
    pub fn new(command: &str, private: bool, since: Millis) -> Self {
        CommandPanel {
            command: arguments::command(command),
            private,
            source: command.to_owned(),
            since,
            ..CommandPanel::default()
        }
    }

    /// A command of an earlier run.
    pub fn from_execution(message: &BashExecution) -> Self {
        let mut panel = CommandPanel::new(&message.command, message.exclude_from_context, message.timestamp);
        panel.finish(PanelOutput::None, message);
        panel
    }

    /// Records the end; `seen` is the output received so far. Without any, the message has it.
    pub fn finish(&mut self, seen: PanelOutput, message: &BashExecution) {
        self.took = Some(message.timestamp - self.since).filter(|took| *took > 0);
        self.end = Some(match message.exit_code {
            _ if message.cancelled => CommandEnd::Cancelled,
            Some(code) => CommandEnd::Exit(code),
            None if message.exit_unknown => CommandEnd::Unknown,
            None => CommandEnd::Killed,
        });
        self.full_output = message.full_output_path.as_deref().map(Printable::line);
        self.blocked = message.blocked.as_ref().map(|it| super::panel::sandbox_refusal(it, it.is_certain()));
        self.output = seen;
        if self.output == PanelOutput::None && !message.output.is_empty() {
            let lines = ansi::lines(&message.output).into();
            self.output = PanelOutput::Terminal { lines, hidden: 0, status: None };
        }
        self.secrets = HiddenSecrets::of([message.output.as_str()]);
    }
}

impl Transcript {
    /// Appends the panel of a command that has just started.
    pub(crate) fn push_command(&mut self, panel: CommandPanel) -> EntryId {
        self.push(EntryBody::Command(Box::new(panel)))
    }

    /// Changes the panel of a command, if it still exists.
    pub(crate) fn edit_command(&mut self, entry: EntryId, change: impl FnOnce(&mut CommandPanel)) {
        self.edit(entry, |body| {
            if let EntryBody::Command(panel) = body {
                change(panel);
            }
        });
    }

    /// The panel of a command.
    pub fn command(&self, entry: EntryId) -> Option<&CommandPanel> {
        match &self.entries.get(self.index_of(entry)?)?.body {
            EntryBody::Command(panel) => Some(panel),
            _ => None,
        }
    }
}
