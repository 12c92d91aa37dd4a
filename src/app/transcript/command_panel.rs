//! Panels of the person's commands: each with the screen of its terminal while it runs, and which
//! of them has the keyboard.
//!
//! What the screen shows is drawn; what scrolled out of it stands above, in bounded memory.

use std::collections::VecDeque;
use std::sync::Arc;

use super::panel::PanelOutput;
use super::{EntryBody, Transcript};
use crate::agent::protocol::message::BashExecution;
use crate::app::ansi::{self, AnsiLine};
use crate::app::geometry::EntryId;
use crate::app::msg::Millis;
use crate::app::printable::Printable;
use crate::tools::vt::{Modes, ScreenLine, TerminalScreen, ToCursor};

/// Lines above the screen that a panel keeps.
const KEPT_LINES: usize = 5_000;
/// Bytes of them.
const KEPT_BYTES: usize = 512 * 1024;
/// Of those, the ones looked at while output flows, so that a piece costs the same however much
/// came before.
const LOOKED_AT: usize = 200;
/// A screen for output that comes without one.
const USUAL: (u16, u16) = (80, 24);

/// How a command of the person ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    Exit(i32),
    Cancelled,
    Killed,
}

/// A command the person ran.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandPanel {
    pub command: Printable,
    /// True for `!!`: the model never sees it.
    pub private: bool,
    pub output: PanelOutput,
    pub since: Millis,
    /// How it ended.
    pub end: Option<CommandEnd>,
    /// Where all of its output is, when the message has only a part.
    pub whole: Option<Printable>,
    /// None once it has ended.
    terminal: Option<Box<Terminal>>,
}

/// The screen of a running command and what is above it.
#[derive(Clone, Debug, PartialEq)]
struct Terminal {
    screen: TerminalScreen,
    above: VecDeque<ScreenLine>,
    bytes: usize,
    /// Lines that fell off the front of `above`.
    dropped: u64,
    /// The whole screen was offered to the program that asked for it last.
    offered: bool,
}

impl Terminal {
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

    /// The last `most` lines above the screen, and those on it.
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

impl CommandPanel {
    /// A command that has begun, in a terminal of that many columns and rows or with a pipe.
    pub fn new(command: &str, private: bool, size: Option<(u16, u16)>, since: Millis) -> Self {
        let screen = match size {
            Some((columns, rows)) => TerminalScreen::new(columns, rows),
            None => TerminalScreen::for_pipe(USUAL.0, USUAL.1),
        };
        let terminal = Terminal { screen, above: VecDeque::new(), bytes: 0, dropped: 0, offered: false };
        CommandPanel {
            command: Printable::new(command),
            private,
            output: PanelOutput::None,
            since,
            end: None,
            whole: None,
            terminal: Some(Box::new(terminal)),
        }
    }

    /// A command of an earlier run.
    pub fn finished(message: &BashExecution) -> Self {
        let command = &message.command;
        let mut panel = CommandPanel::new(command, message.exclude_from_context, None, message.timestamp);
        panel.finish(message);
        panel
    }

    /// Takes output as it comes.
    pub fn append(&mut self, delta: &str) {
        if let Some(terminal) = &mut self.terminal {
            terminal.write(delta);
            self.output = terminal.output(LOOKED_AT);
        }
    }

    /// Takes the end. What was not seen as it came is taken from the message.
    pub fn finish(&mut self, message: &BashExecution) {
        self.end = Some(match message.exit_code {
            _ if message.cancelled => CommandEnd::Cancelled,
            Some(code) => CommandEnd::Exit(code),
            None => CommandEnd::Killed,
        });
        self.whole = message.full_output_path.as_deref().map(Printable::line);
        if let Some(terminal) = self.terminal.take() {
            self.output = terminal.output(KEPT_LINES);
        }
        if self.output == PanelOutput::None && !message.output.is_empty() {
            let lines = ansi::lines(&message.output).into();
            self.output = PanelOutput::Terminal { lines, hidden: 0, status: None };
        }
    }

    /// The screen, while it runs.
    pub fn screen(&self) -> Option<&TerminalScreen> {
        self.terminal.as_ref().map(|terminal| &terminal.screen)
    }
}

/// Who gave the keyboard away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FocusCause {
    /// The person, by a key.
    Person,
    /// It went to a full-screen program by itself, and comes back with the screen.
    Program,
}

/// The command that has the keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyboardOwner {
    pub entry: EntryId,
    pub by: FocusCause,
}

impl Transcript {
    pub(super) fn shell_start(&mut self, id: Option<String>, panel: CommandPanel) {
        let entry = self.push(EntryBody::Shell(Box::new(panel)));
        self.shells.push((id, entry));
    }

    pub(super) fn shell_output(&mut self, id: Option<&str>, delta: &str) {
        let Some(entry) = self.shell_of(id) else { return };
        self.on_shell(entry, |panel| panel.append(delta));
    }

    pub(super) fn shell_end(&mut self, id: Option<&str>, message: &BashExecution) {
        let Some(entry) = self.shell_of(id) else { return };
        self.shells.retain(|(_, known)| *known != entry);
        self.on_shell(entry, |panel| panel.finish(message));
    }

    fn shell_of(&self, id: Option<&str>) -> Option<EntryId> {
        self.shells.iter().find(|(known, _)| known.as_deref() == id).map(|(_, entry)| *entry)
    }

    fn on_shell(&mut self, entry: EntryId, change: impl FnOnce(&mut CommandPanel)) {
        self.edit(entry, |body| {
            if let EntryBody::Shell(panel) = body {
                change(panel);
            }
        });
    }

    /// Commands of the person that still run.
    pub fn running_shells(&self) -> usize {
        self.shells.len()
    }

    /// The panel of a command of the person.
    pub fn shell(&self, entry: EntryId) -> Option<&CommandPanel> {
        match &self.entries.get(self.index_of(entry)?)?.body {
            EntryBody::Shell(panel) => Some(panel),
            _ => None,
        }
    }

    /// The id by which the agent knows a running command; none once it has ended.
    pub fn shell_id(&self, entry: EntryId) -> Option<Option<String>> {
        self.shells.iter().find(|(_, known)| *known == entry).map(|(id, _)| id.clone())
    }

    /// The command that has the keyboard.
    pub fn holder(&self) -> Option<KeyboardOwner> {
        self.holder
    }

    /// The panel of the command that has the keyboard, and its screen.
    pub fn held(&self) -> Option<(&CommandPanel, &TerminalScreen)> {
        let panel = self.shell(self.holder?.entry)?;
        Some((panel, panel.screen()?))
    }

    /// Gives the keyboard to a command, or takes it back.
    pub fn give_keyboard(&mut self, holder: Option<KeyboardOwner>) {
        let before = std::mem::replace(&mut self.holder, holder);
        // Who has the keyboard is shown in the panel.
        for holder in before.iter().chain(&holder) {
            self.on_shell(holder.entry, |_| {});
        }
    }

    /// The running command that began last.
    pub fn newest_shell(&self) -> Option<EntryId> {
        self.shells.last().map(|(_, entry)| *entry)
    }

    /// A program that has just asked for the whole screen. It is told once each time.
    pub fn wants_screen(&mut self) -> Option<EntryId> {
        let running: Vec<EntryId> = self.shells.iter().map(|(_, entry)| *entry).collect();
        running.into_iter().rev().find(|entry| {
            let mut asks = false;
            self.on_terminal(*entry, |terminal| {
                asks = terminal.screen.is_full() && !terminal.offered;
                terminal.offered = terminal.screen.is_full();
            });
            asks
        })
    }

    /// What the terminals have to answer to their programs, by the commands' ids.
    pub fn take_answers(&mut self) -> Vec<(Option<String>, String)> {
        let running = self.shells.clone();
        let answers = running.into_iter().map(|(id, entry)| {
            let mut answer = String::new();
            self.on_terminal(entry, |terminal| answer = terminal.screen.take_answers());
            (id, answer)
        });
        answers.filter(|(_, answer)| !answer.is_empty()).collect()
    }

    /// Gives each running command the size that `wanted` says for its screen; the ids of those
    /// whose size is another now, and which.
    pub fn fit_shells(
        &mut self,
        wanted: impl Fn(&TerminalScreen) -> (u16, u16),
    ) -> Vec<(Option<String>, (u16, u16))> {
        let mut changed = Vec::new();
        for (id, entry) in self.shells.clone() {
            let size = self
                .shell(entry)
                .and_then(CommandPanel::screen)
                .map(|screen| (screen.size(), wanted(screen)));
            let Some((_, size)) = size.filter(|(now, wanted)| now != wanted) else { continue };
            self.on_shell(entry, |panel| {
                if let Some(terminal) = &mut panel.terminal {
                    terminal.screen.resize(size.0, size.1);
                    terminal.write("");
                    panel.output = terminal.output(LOOKED_AT);
                }
            });
            changed.push((id, size));
        }
        changed
    }

    /// What the command that has the keyboard asked of it.
    pub fn keyboard_modes(&self) -> Modes {
        self.held().map(|(_, screen)| screen.modes()).unwrap_or_default()
    }

    /// For what is not seen in the panel.
    fn on_terminal(&mut self, entry: EntryId, change: impl FnOnce(&mut Terminal)) {
        let Some(index) = self.index_of(entry) else { return };
        if let Some(EntryBody::Shell(panel)) = self.entries.get_mut(index).map(|entry| &mut entry.body)
            && let Some(terminal) = &mut panel.terminal
        {
            change(terminal);
        }
    }
}
