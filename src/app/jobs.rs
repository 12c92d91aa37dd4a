//! The user's running commands: the terminal of each, and the keyboard's owner.
//!
//! A terminal's screen is copied into the command's panel in the transcript; lines that scroll out of it are
//! kept, in bounded memory. When a command ends, its panel stays and its job goes.

use std::collections::VecDeque;
use std::sync::Arc;

use super::ansi::{self, AnsiLine};
use super::geometry::EntryId;
use super::msg::Millis;
use super::transcript::Transcript;
use super::transcript::command_panel::CommandPanel;
use super::transcript::panel::PanelOutput;
use tau_protocol::event::{AgentEvent, SessionEvent, ShellEvent};
use tau_tools::vt::{Modes, ScreenLine, TerminalScreen, ToCursor};

/// Maximum number of lines above the screen in a job.
const KEPT_LINES: usize = 5_000;
/// Maximum size of those lines, in bytes.
const KEPT_BYTES: usize = 512 * 1024;
/// Number of those lines that are drawn while output arrives, so that the cost of a piece of output does not
/// grow with earlier output.
const SHOWN_LINES: usize = 200;
/// Columns and rows of the screen for output from a pipe.
const PIPE_SIZE: (u16, u16) = (80, 24);

/// The reason why a command has the keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FocusCause {
    /// The user pressed a key.
    User,
    /// A full-screen program took it, and returns it with the screen.
    Program,
}

/// The command that has the keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyboardOwner {
    pub entry: EntryId,
    pub cause: FocusCause,
}

/// A running command. Its screen is plain data, so a job can be compared and replayed.
#[derive(Clone, Debug, PartialEq)]
struct Job {
    /// Its id in the agent.
    id: Option<String>,
    /// Its panel.
    entry: EntryId,
    terminal: JobTerminal,
}

/// The screen of a running command and the lines above it.
#[derive(Clone, Debug, PartialEq)]
struct JobTerminal {
    screen: TerminalScreen,
    above: VecDeque<ScreenLine>,
    bytes: usize,
    /// Lines that fell off the front of `above`.
    dropped: u64,
    /// The whole screen has been offered to the program since its last request.
    offered: bool,
}

impl JobTerminal {
    /// A terminal of that many columns and rows, or a pipe.
    fn new(size: Option<(u16, u16)>) -> Self {
        let screen = match size {
            Some((columns, rows)) => TerminalScreen::new(columns, rows),
            None => TerminalScreen::for_pipe(PIPE_SIZE.0, PIPE_SIZE.1),
        };
        JobTerminal { screen, above: VecDeque::new(), bytes: 0, dropped: 0, offered: false }
    }

    fn write(&mut self, text: &str) {
        self.screen.write(text);
        for line in self.screen.take_scrolled_off() {
            self.bytes += line.text.len();
            self.above.push_back(line);
        }
        while self.above.len() > KEPT_LINES || self.bytes > KEPT_BYTES {
            let Some(line) = self.above.pop_front() else { break };
            self.bytes -= line.text.len();
            self.dropped += u64::from(!line.continues);
        }
    }

    /// The last `most` lines above the screen, and the screen's lines.
    fn output(&self, most: usize) -> PanelOutput {
        let skipped = self.above.len().saturating_sub(most);
        let above = self.above.iter().skip(skipped).map(ansi::of_screen);
        let lines: Arc<[AnsiLine]> =
            above.chain(self.screen.lines(ToCursor::No).iter().map(ansi::of_screen)).collect();
        if lines.is_empty() {
            return PanelOutput::None;
        }
        PanelOutput::Terminal { lines, hidden: self.dropped + skipped as u64, status: None }
    }
}

/// The user's running commands, oldest first, and the keyboard's owner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Jobs {
    running: Vec<Job>,
    owner: Option<KeyboardOwner>,
}

impl Jobs {
    /// Applies an event. The panels of commands are entries of the transcript.
    pub fn fold(&mut self, event: &AgentEvent, transcript: &mut Transcript, now: Millis) {
        match event {
            AgentEvent::Shell(ShellEvent::BashStart {
                id,
                command,
                exclude_from_context,
                size,
                without_sandbox,
            }) => {
                let panel = CommandPanel {
                    without_sandbox: *without_sandbox,
                    ..CommandPanel::new(command, *exclude_from_context, now)
                };
                let entry = transcript.push_command(panel);
                self.running.push(Job { id: id.clone(), entry, terminal: JobTerminal::new(*size) });
            }
            AgentEvent::Shell(ShellEvent::BashExecutionUpdate { id, delta }) => {
                let Some(job) = self.job_mut(id.as_deref()) else { return };
                job.terminal.write(delta);
                // A search covers all kept lines.
                let most = if transcript.find.is_some() { KEPT_LINES } else { SHOWN_LINES };
                let output = job.terminal.output(most);
                transcript.edit_command(job.entry, |panel| panel.output = output);
            }
            AgentEvent::Shell(ShellEvent::BashEnd { id, message }) => {
                let Some(at) = self.running.iter().position(|job| job.id == *id) else { return };
                let Job { entry, terminal, .. } = self.running.remove(at);
                let output = terminal.output(KEPT_LINES);
                transcript.edit_command(entry, |panel| panel.finish(output, message));
            }
            // Another session: the panels of the one before are gone.
            AgentEvent::Session(SessionEvent::SessionOpened { .. }) => {
                let is_shown = |entry| transcript.index_of(entry).is_some();
                self.running.retain(|job| is_shown(job.entry));
                self.owner = self.owner.filter(|owner| is_shown(owner.entry));
            }
            _ => {}
        }
    }

    /// Puts all kept lines into the panels of running commands, for a search.
    pub(crate) fn show_kept_lines(&self, transcript: &mut Transcript) {
        for job in &self.running {
            let output = job.terminal.output(KEPT_LINES);
            transcript.edit_command(job.entry, |panel| panel.output = output);
        }
    }

    /// The number of running commands.
    pub fn count(&self) -> usize {
        self.running.len()
    }

    /// The panel of the most recently started command.
    pub fn newest(&self) -> Option<EntryId> {
        self.running.last().map(|job| job.entry)
    }

    /// Whether the command of this panel is running.
    pub(crate) fn is_running(&self, entry: EntryId) -> bool {
        self.job(entry).is_some()
    }

    /// The agent's id of the running command in this panel.
    pub fn id(&self, entry: EntryId) -> Option<Option<String>> {
        self.job(entry).map(|job| job.id.clone())
    }

    /// The command that has the keyboard.
    pub fn owner(&self) -> Option<KeyboardOwner> {
        self.owner
    }

    /// The screen of the command that has the keyboard, while it runs.
    pub fn keyboard_screen(&self) -> Option<&TerminalScreen> {
        Some(&self.job(self.owner?.entry)?.terminal.screen)
    }

    /// The keyboard modes that the command with the keyboard requested.
    pub(crate) fn keyboard_modes(&self) -> Modes {
        self.keyboard_screen().map(TerminalScreen::modes).unwrap_or_default()
    }

    /// Gives the keyboard to a command, or takes it back.
    pub(crate) fn set_owner(&mut self, owner: Option<KeyboardOwner>, transcript: &mut Transcript) {
        let before = std::mem::replace(&mut self.owner, owner);
        // Panels show the keyboard's owner.
        for owner in before.iter().chain(&owner) {
            transcript.edit_command(owner.entry, |_| {});
        }
    }

    /// The panel of a program that has just asked for the whole screen. Each request is returned
    /// once.
    pub(crate) fn take_screen_request(&mut self) -> Option<EntryId> {
        self.running.iter_mut().rev().find_map(|job| {
            let is_full = job.terminal.screen.is_full();
            let asks = is_full && !job.terminal.offered;
            job.terminal.offered = is_full;
            asks.then_some(job.entry)
        })
    }

    /// The terminals' answers to their programs, by command id.
    pub fn take_answers(&mut self) -> Vec<(Option<String>, String)> {
        let answers = self.running.iter_mut().map(|job| (job.id.clone(), job.terminal.screen.take_answers()));
        answers.filter(|(_, answer)| !answer.is_empty()).collect()
    }

    /// Resizes each screen to the size from `wanted`; the ids of resized ones, and their new sizes.
    pub fn fit(
        &mut self,
        wanted: impl Fn(&TerminalScreen) -> (u16, u16),
        transcript: &mut Transcript,
    ) -> Vec<(Option<String>, (u16, u16))> {
        let mut changed = Vec::new();
        for job in &mut self.running {
            let size = wanted(&job.terminal.screen);
            if size == job.terminal.screen.size() {
                continue;
            }
            job.terminal.screen.resize(size.0, size.1);
            job.terminal.write("");
            let output = job.terminal.output(SHOWN_LINES);
            transcript.edit_command(job.entry, |panel| panel.output = output);
            changed.push((job.id.clone(), size));
        }
        changed
    }

    fn job(&self, entry: EntryId) -> Option<&Job> {
        self.running.iter().find(|job| job.entry == entry)
    }

    fn job_mut(&mut self, id: Option<&str>) -> Option<&mut Job> {
        self.running.iter_mut().find(|job| job.id.as_deref() == id)
    }
}
