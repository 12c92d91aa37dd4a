//! The rpc front end: commands as lines on standard input, answers and events on standard output.
//!
//! A fold: `lines` reads records, `request` understands them, `carry` turns them into commands
//! of the agent, `tell` turns its events into records; `desk` holds what lies between. This file
//! moves bytes and ends the program. The wire is specified in the project's RPC page.

mod answers;
mod commands;
mod events;
pub mod lines;
pub mod models;
mod partial;
mod request;
pub mod state;

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use super::exit::Exit;
use super::signals::Caught;
use crate::agent::AgentCommand;
use crate::agent::AgentEvent;
use crate::agent::engine::task::AgentHandle;
use crate::agent::protocol::event::NoticeLevel;
use commands::carry;
use events::{tell, tick};
use lines::{LONGEST, Lines};
use models::Models;
use state::{Desk, RpcEvents};

/// Unwritten bytes from which on the agent is left waiting.
const FULL: usize = 8 << 20;
/// Unwritten bytes from which on commands, too, are left unread.
const OVERFULL: usize = 64 << 20;
/// Commands for the agent from which on no further ones are read.
const BACKLOG: usize = 1_024;
/// How long the end may take after a signal.
const GRACE: Duration = Duration::from_millis(900);

/// Serves a client until its input ends, its output is closed or a signal comes; how the program
/// ends. `signals` gives the next signal each time it is called.
pub async fn run(
    handle: AgentHandle,
    models: Box<dyn Models>,
    events: RpcEvents,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    signals: impl AsyncFnMut() -> Caught,
) -> Exit {
    let task = handle.task.abort_handle();
    let mut service = Service {
        handle,
        desk: Desk::new(models, events),
        lines: Lines::new(input, LONGEST),
        output,
        signals,
        unwritten: Unwritten::default(),
        reading: true,
        listening: true,
        ending: None,
    };
    let exit = service.serve().await;
    task.abort();
    exit
}

/// Bytes on their way out.
#[derive(Debug, Default)]
struct Unwritten {
    bytes: Vec<u8>,
    written: usize,
}

impl Unwritten {
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.written..).unwrap_or_default()
    }

    fn push(&mut self, line: &str) {
        self.bytes.extend_from_slice(line.as_bytes());
    }

    /// Forgets what was written, moving the rest down seldom enough to cost nothing.
    fn advance(&mut self, count: usize) {
        self.written += count;
        if self.written * 2 >= self.bytes.len() {
            self.bytes.drain(..self.written.min(self.bytes.len()));
            self.written = 0;
            self.bytes.shrink_to(1 << 20);
        }
    }
}

struct Service<R, W, S> {
    handle: AgentHandle,
    desk: Desk,
    lines: Lines<R>,
    output: W,
    signals: S,
    unwritten: Unwritten,
    /// False once the input has ended.
    reading: bool,
    /// False once the output is closed.
    listening: bool,
    /// How the program ends, and until when the end is waited for, once a signal has come.
    ending: Option<(Exit, Instant)>,
}

/// What woke the front end.
#[allow(clippy::large_enum_variant, reason = "one value lives at a time, and events are the common case")]
enum Woken {
    Line(std::io::Result<Option<lines::Line>>),
    Event(Option<AgentEvent>),
    Written(std::io::Result<usize>),
    Sent(bool),
    Signal(Caught),
    Due,
    GraceOver,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin, S: AsyncFnMut() -> Caught> Service<R, W, S> {
    async fn serve(&mut self) -> Exit {
        self.greeted().await;
        loop {
            while let Some(record) = self.desk.records.pop_front() {
                if self.listening {
                    self.unwritten.push(&record);
                }
            }
            if self.desk.stopped && self.unwritten.rest().is_empty() {
                self.flush().await;
                return self.exit();
            }
            match self.woken().await {
                Woken::Line(Ok(Some(line))) => carry(&mut self.desk, request::read(&line)),
                Woken::Line(_) => self.end_input(),
                Woken::Event(Some(event)) => {
                    complain(&event);
                    tell(&mut self.desk, event, Instant::now());
                }
                Woken::Event(None) => tell(&mut self.desk, AgentEvent::Stopped, Instant::now()),
                Woken::Written(Ok(count)) if count > 0 => self.unwritten.advance(count),
                Woken::Written(_) => self.end_output(),
                Woken::Sent(true) => {}
                Woken::Sent(false) => self.desk.commands.clear(),
                Woken::Due => tick(&mut self.desk, Instant::now()),
                Woken::GraceOver => return self.exit(),
                Woken::Signal(caught) => {
                    let Some(exit) = caught.exit() else { continue };
                    if self.ending.is_some() {
                        return exit;
                    }
                    self.ending = Some((exit, Instant::now() + GRACE));
                    self.end_input();
                }
            }
        }
    }

    /// Takes what the agent tells at its start, of which nothing is written: no command was
    /// read yet.
    async fn greeted(&mut self) {
        while let Some(event) = self.handle.events.recv().await {
            let last = matches!(event, AgentEvent::ThinkingLevelChanged { .. });
            complain(&event);
            tell(&mut self.desk, event, Instant::now());
            if last || self.desk.stopped {
                break;
            }
        }
        self.desk.records.clear();
    }

    async fn woken(&mut self) -> Woken {
        let unwritten = self.unwritten.rest();
        let room = unwritten.len() < FULL;
        let reads = self.reading && unwritten.len() < OVERFULL && self.desk.commands.len() < BACKLOG;
        let due = self.desk.partial.as_ref().and_then(|partial| partial.due()).filter(|_| room);
        let grace = self.ending.map(|(_, until)| until);
        tokio::select! {
            caught = (self.signals)() => Woken::Signal(caught),
            () = sleep_until(grace) => Woken::GraceOver,
            written = self.output.write(unwritten), if !unwritten.is_empty() => Woken::Written(written),
            room = self.handle.commands.reserve(), if !self.desk.commands.is_empty() => match room {
                Ok(room) => {
                    if let Some(command) = self.desk.commands.pop_front() {
                        room.send(command);
                    }
                    Woken::Sent(true)
                }
                Err(_) => Woken::Sent(false),
            },
            event = self.handle.events.recv(), if room && !self.desk.stopped => Woken::Event(event),
            line = self.lines.next(), if reads => Woken::Line(line),
            () = sleep_until(due) => Woken::Due,
        }
    }

    /// Hands over what the output itself holds back; after a signal no longer than its grace.
    async fn flush(&mut self) {
        let grace = self.ending.map(|(_, until)| until);
        tokio::select! {
            // A reader that has gone is no failure.
            _ = self.output.flush() => {}
            () = sleep_until(grace) => {}
        }
    }

    /// Nothing more is asked: the agent ends once it has taken what was.
    fn end_input(&mut self) {
        if std::mem::take(&mut self.reading) {
            self.desk.commands.push_back(AgentCommand::Shutdown);
        }
    }

    /// Nobody listens any more.
    fn end_output(&mut self) {
        self.listening = false;
        self.unwritten = Unwritten::default();
        self.end_input();
    }

    fn exit(&self) -> Exit {
        match self.ending {
            Some((exit, _)) => exit,
            None if self.reading => Exit::Crash,
            None => Exit::Ok,
        }
    }
}

/// Says on standard error what people should know and no record tells.
fn complain(event: &AgentEvent) {
    if let AgentEvent::Notice { level, text, hint } = event
        && *level != NoticeLevel::Info
    {
        let hint = hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        super::fail(Exit::Ok, &format!("{text}{hint}"));
    }
}

async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
