//! The rpc front end: commands as lines on standard input, answers and events on standard output.
//!
//! A fold: `lines` reads records, `request` parses them, `commands` turns them into commands of the agent,
//! `events` turns its events into records; `state` holds the common state. This file moves bytes and ends the
//! program. The wire is specified in the project's RPC page.

mod answers;
mod commands;
mod events;
pub mod host;
pub mod lines;
mod partial;
pub(crate) mod request;
pub mod state;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use super::args::front_end::RpcEvents;
use crate::compose::profile::FrontEndProfile;
use crate::headless::batch::{BatchDriver, Stop};
use crate::process::exit::{Exit, warn};
use crate::process::outgoing::Outgoing;
use crate::process::signals::CaughtSignal;
use host::RpcHost;
use lines::{InputLine, LineReader, MAX_LEN};
use state::RpcState;
use tau_agent::engine::task::AgentHandle;
use tau_agent::{AgentCommand, AgentEvent};
use tau_protocol::command::TaskCommand;
use tau_protocol::event::{NoticeLevel, SettingsEvent, TaskEvent};
use tau_tools::deadline;

/// The composition of this front end's agents. All calls of a turn are run before a steering message is read:
/// that is the contract of the wire.
pub const PROFILE: FrontEndProfile = FrontEndProfile { asks_user: false, ..FrontEndProfile::OF_CLIENT };

/// Number of unwritten bytes from which the agent must wait.
const FULL: usize = 8 << 20;
/// Number of unwritten bytes from which commands are left unread, too.
const OVERFULL: usize = 64 << 20;
/// Number of pending commands for the agent from which no further ones are read.
const BACKLOG: usize = 1_024;

/// Serves a client until its input ends, its output is closed or a signal arrives; returns the program's end.
/// `signals` gives the next signal each time it is called.
pub async fn run(
    agent: AgentHandle,
    host: Box<dyn RpcHost>,
    events: RpcEvents,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    signals: impl AsyncFnMut() -> CaughtSignal,
) -> Exit {
    let task = agent.task.abort_handle();
    let mut service = RpcService {
        driver: BatchDriver::new(agent, None, signals),
        state: RpcState::new(host, events),
        lines: LineReader::new(input, MAX_LEN),
        out: Outgoing::new(output),
        reading: true,
    };
    let exit = service.serve().await;
    task.abort();
    exit
}

struct RpcService<R, W, S> {
    driver: BatchDriver<S>,
    state: RpcState,
    lines: LineReader<R>,
    out: Outgoing<W>,
    /// False once the input has ended.
    reading: bool,
}

/// A cause of waking the front end.
#[allow(clippy::large_enum_variant, reason = "one value lives at a time, and events are the common case")]
enum Wake {
    Line(std::io::Result<Option<InputLine>>),
    Event(Option<AgentEvent>),
    Written(std::io::Result<usize>),
    Sent(bool),
    Stop(Stop),
    Due,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin, S: AsyncFnMut() -> CaughtSignal> RpcService<R, W, S> {
    async fn serve(&mut self) -> Exit {
        self.consume_startup_events().await;
        loop {
            while let Some(record) = self.state.records.pop_front() {
                self.out.push(&record);
            }
            if self.state.stopped && self.out.waiting() == 0 {
                self.driver.jobs.lines().iter().for_each(|line| warn(line));
                self.driver.within(self.out.flush()).await;
                return self.exit();
            }
            match self.wake().await {
                Wake::Line(Ok(Some(line))) => commands::apply(&mut self.state, request::read(&line)),
                Wake::Line(_) => self.end_input(),
                Wake::Event(Some(event)) => {
                    warn_of(&event);
                    self.driver.jobs.take(&event);
                    events::apply(&mut self.state, event, Instant::now());
                }
                Wake::Event(None) => {
                    events::apply(&mut self.state, AgentEvent::Task(TaskEvent::Stopped), Instant::now());
                }
                Wake::Written(written) => {
                    if !self.out.take(written) {
                        self.end_input();
                    }
                }
                Wake::Sent(true) => {}
                Wake::Sent(false) => self.state.commands.clear(),
                Wake::Due => events::tick(&mut self.state, Instant::now()),
                Wake::Stop(Stop::Begin) => self.end_input(),
                Wake::Stop(Stop::Now) => return self.exit(),
            }
        }
    }

    /// Consumes the agent's start-up events without writing them: no command was read yet.
    async fn consume_startup_events(&mut self) {
        while let Some(event) = self.driver.agent.events.recv().await {
            let last = matches!(event, AgentEvent::Settings(SettingsEvent::ThinkingLevelChanged { .. }));
            warn_of(&event);
            events::apply(&mut self.state, event, Instant::now());
            if last || self.state.stopped {
                break;
            }
        }
        self.state.records.clear();
    }

    async fn wake(&mut self) -> Wake {
        let unwritten = self.out.waiting();
        let has_room = unwritten < FULL;
        let reads = self.reading && unwritten < OVERFULL && self.state.commands.len() < BACKLOG;
        let due = self.state.partial.as_ref().and_then(|partial| partial.due()).filter(|_| has_room);
        let AgentHandle { commands, events, .. } = &mut self.driver.agent;
        tokio::select! {
            stop = self.driver.stops.next() => Wake::Stop(stop),
            written = self.out.write(), if unwritten > 0 => Wake::Written(written),
            slot = commands.reserve(), if !self.state.commands.is_empty() => match slot {
                Ok(slot) => {
                    if let Some(command) = self.state.commands.pop_front() {
                        slot.send(command);
                    }
                    Wake::Sent(true)
                }
                Err(_) => Wake::Sent(false),
            },
            event = events.recv(), if has_room && !self.state.stopped => Wake::Event(event),
            line = self.lines.next(), if reads => Wake::Line(line),
            () = deadline::until(due) => Wake::Due,
        }
    }

    /// Closes the input: the agent ends once it has handled its commands.
    fn end_input(&mut self) {
        if std::mem::take(&mut self.reading) {
            self.driver.jobs.ending();
            self.state.commands.push_back(AgentCommand::Task(TaskCommand::Shutdown));
        }
    }

    fn exit(&self) -> Exit {
        match self.driver.stops.stopping() {
            Some(exit) => exit,
            None if self.out.is_unwritable() => Exit::Model,
            None if self.reading => Exit::Crash,
            None => Exit::Ok,
        }
    }
}

/// Prints notices on standard error, since no record carries them.
fn warn_of(event: &AgentEvent) {
    if let AgentEvent::Task(TaskEvent::Notice { level, text, hint }) = event
        && *level != NoticeLevel::Info
    {
        let hint = hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        warn(&format!("{text}{hint}"));
    }
}
