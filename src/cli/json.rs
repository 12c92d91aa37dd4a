//! The json front end: prompts in, every event out, a line each.
//!
//! A fold over the agent's events. The session's header comes first, then the events as a
//! numbering client of `rpc` sees them, each with the time at which it was told, and at the end
//! one record that says how it ended. Prompts come from the arguments, or as lines on standard
//! input, worked in order.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use super::exit::Exit;
use super::print::write_answer;
use super::prompts::Prompt;
use super::protocol;
use super::rpc::lines::{LONGEST, Line, Lines};
use super::signals::Caught;
use crate::agent::engine::task::AgentHandle;
use crate::agent::protocol::command::{AgentCommand, QuestionAnswer, Queue};
use crate::agent::protocol::event::{AgentEvent, NoticeLevel};
use crate::agent::protocol::message::{Message, StopReason};
use crate::agent::protocol::run::RunEnd;
use crate::agent::session::entry;

/// An aborted run has this long to write its session and end its children.
const GRACE: Duration = Duration::from_millis(900);

/// What to do, and how far to go.
pub struct JsonOptions<R> {
    /// Sent one after the other.
    pub prompts: Vec<Prompt>,
    /// Lines with further prompts and interrupts; none when nothing is read.
    pub input: Option<R>,
    /// The session's header, a line of JSON without its end.
    pub header: String,
    /// Gets the text of the last answer too.
    pub output: Option<PathBuf>,
    /// Time for everything, at most.
    pub timeout: Option<Duration>,
}

/// A line of input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// `{"type":"message","content":…}`
    Message(String),
    /// `{"type":"interrupt"}`: ends the prompt that is worked on.
    Interrupt,
}

/// What a line says.
///
/// # Errors
/// A sentence about what is wrong with it.
pub fn said(line: &Line) -> Result<Said, String> {
    let text = match line {
        Line::Record(text) => text,
        Line::TooLong => return Err("the line is longer than 64 MiB".into()),
    };
    let value: Value = serde_json::from_str(text).map_err(|error| format!("not a line of JSON: {error}"))?;
    match value.get("type").and_then(Value::as_str) {
        Some("interrupt") => Ok(Said::Interrupt),
        Some("message") => match value.get("content").and_then(Value::as_str) {
            Some(content) => Ok(Said::Message(content.to_owned())),
            None => Err("content must be a string".into()),
        },
        _ => Err("type must be message or interrupt".into()),
    }
}

/// Works off the prompts; how the program ends. `signals` gives the next signal each time it is
/// called; the first one aborts in order, the second ends at once.
pub async fn run<R: AsyncRead + Unpin>(
    handle: AgentHandle,
    options: JsonOptions<R>,
    out: impl AsyncWrite + Unpin,
    signals: impl AsyncFnMut() -> Caught,
) -> Exit {
    let mut work = Work {
        handle,
        lines: options.input.map(|input| Lines::new(input, LONGEST)),
        prompts: options.prompts.into(),
        out,
        signals,
        deadline: options.timeout.map(|timeout| Instant::now() + timeout),
        stopping: None,
        answer: None,
        interrupts: 0,
        outcome: Exit::Ok,
        error: None,
        refused: false,
        limited: false,
    };
    if work.write(&options.header).await {
        work.greeted().await;
        work.work().await;
        work.keep(options.output.as_deref());
    }
    work.finish().await
}

struct Work<R, W, S> {
    handle: AgentHandle,
    /// None once nothing more is read.
    lines: Option<Lines<R>>,
    prompts: VecDeque<Prompt>,
    out: W,
    signals: S,
    deadline: Option<Instant>,
    /// Why all of it is being ended, and when waiting for that ends.
    stopping: Option<(Exit, Instant)>,
    /// The text of the last answer that was complete.
    answer: Option<String>,
    /// Interrupts that have not been answered.
    interrupts: usize,
    /// How the last prompt ended.
    outcome: Exit,
    /// What went wrong with it.
    error: Option<String>,
    /// A tool asked and nobody could answer.
    refused: bool,
    /// True when the run was ended and the notice that says why comes next.
    limited: bool,
}

/// What woke the front end.
#[allow(clippy::large_enum_variant, reason = "one value lives at a time, and events are the common case")]
enum Woken {
    Event(Option<AgentEvent>),
    Line(Option<Line>),
    Signal(Caught),
    TimeUp,
    GraceOver,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin, S: AsyncFnMut() -> Caught> Work<R, W, S> {
    /// Passes over what the agent tells at its start, which is about no prompt.
    async fn greeted(&mut self) {
        while let Some(event) = self.handle.events.recv().await {
            match event {
                AgentEvent::ThinkingLevelChanged { .. } | AgentEvent::Stopped => return,
                AgentEvent::Notice { .. } => drop(self.tell(&event).await),
                _ => {}
            }
        }
    }

    /// Prompt after prompt, until none is left and none can come.
    async fn work(&mut self) {
        loop {
            let next = match self.prompts.pop_front() {
                Some(prompt) => prompt,
                None if self.lines.is_none() || self.stopping.is_some() => return,
                None => {
                    if !self.step().await {
                        return;
                    }
                    continue;
                }
            };
            (self.outcome, self.error) = (Exit::Ok, None);
            let Prompt { text, images } = next;
            let prompt = AgentCommand::Prompt { text, images, streaming: Queue::Steer };
            if self.handle.commands.send(prompt).await.is_err() || !self.settled().await {
                return;
            }
            // As in print: after a failure the next argument is not sent. Who writes lines decides
            // for themselves.
            if self.lines.is_none() && !matches!(self.outcome, Exit::Ok | Exit::Refused) {
                return;
            }
        }
    }

    /// Follows a prompt to its end. False when nothing further is to be done.
    async fn settled(&mut self) -> bool {
        loop {
            match self.woken().await {
                Woken::Event(Some(event)) => {
                    let settled = matches!(event, AgentEvent::AgentSettled { .. });
                    let refused = matches!(event, AgentEvent::QueueReturned { .. });
                    if !self.tell(&event).await {
                        return false;
                    }
                    if settled || refused {
                        return self.answer_interrupts().await && self.stopping.is_none();
                    }
                }
                other => {
                    if !self.other(other, true).await {
                        return false;
                    }
                }
            }
        }
    }

    /// One thing while no prompt is worked on. False when nothing further is to be done.
    async fn step(&mut self) -> bool {
        match self.woken().await {
            Woken::Event(Some(event)) => self.tell(&event).await,
            other => self.other(other, false).await && self.stopping.is_none(),
        }
    }

    async fn woken(&mut self) -> Woken {
        let stopping = self.stopping.map(|(_, end)| end);
        let deadline = self.deadline.filter(|_| stopping.is_none());
        let line = async {
            match &mut self.lines {
                Some(lines) => lines.next().await.ok().flatten(),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            caught = (self.signals)() => Woken::Signal(caught),
            () = sleep_until(stopping) => Woken::GraceOver,
            () = sleep_until(deadline) => Woken::TimeUp,
            event = self.handle.events.recv() => Woken::Event(event),
            line = line => Woken::Line(line),
        }
    }

    /// Deals with what is no event. False when nothing further is to be done.
    async fn other(&mut self, woken: Woken, working: bool) -> bool {
        match woken {
            Woken::Line(Some(line)) => return self.line(&line, working).await,
            Woken::Line(None) => self.lines = None,
            Woken::Signal(caught) => {
                let Some(exit) = caught.exit() else { return true };
                let again = self.stopping.is_some();
                self.stop(exit);
                return !again && working;
            }
            Woken::TimeUp => {
                self.error = Some("the time is up (--timeout)".into());
                self.stop(Exit::Limit);
            }
            Woken::GraceOver => return false,
            Woken::Event(_) => {
                self.outcome = Exit::Crash;
                self.error = Some("the agent ended unexpectedly".into());
                return false;
            }
        }
        true
    }

    async fn line(&mut self, line: &Line, working: bool) -> bool {
        match said(line) {
            Ok(Said::Message(text)) => {
                self.prompts.push_back(Prompt { text, images: Vec::new() });
                true
            }
            Ok(Said::Interrupt) => {
                self.interrupts += 1;
                if working {
                    let _ = self.handle.commands.try_send(AgentCommand::Abort);
                    true
                } else {
                    self.answer_interrupts().await
                }
            }
            Err(error) => self.record(json!({ "type": "error", "error": error })).await,
        }
    }

    async fn answer_interrupts(&mut self) -> bool {
        for _ in 0..std::mem::take(&mut self.interrupts) {
            if !self.record(json!({ "type": "interrupted" })).await {
                return false;
            }
        }
        true
    }

    fn stop(&mut self, exit: Exit) {
        if self.stopping.is_none() {
            self.stopping = Some((exit, Instant::now() + GRACE));
            let _ = self.handle.commands.try_send(AgentCommand::Abort);
        }
    }

    /// Writes an event, if it is one for others, and notes what it means for the end.
    async fn tell(&mut self, event: &AgentEvent) -> bool {
        match event {
            AgentEvent::TurnEnd { message, .. } => self.judge(message),
            AgentEvent::RunStopped { reason } => {
                self.outcome = if *reason == RunEnd::Repeats { Exit::Stuck } else { Exit::Limit };
                self.limited = true;
            }
            AgentEvent::AgentSettled { aborted: true } if self.outcome != Exit::Limit => {
                self.outcome = Exit::Aborted;
            }
            AgentEvent::Notice { level, text, hint } if *level != NoticeLevel::Info => {
                let hint = hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
                super::fail(Exit::Ok, &format!("{text}{hint}"));
                if *level == NoticeLevel::Error {
                    (self.outcome, self.error) = (Exit::Model, Some(text.clone()));
                } else if self.limited {
                    self.error = Some(text.clone());
                }
                self.limited = false;
            }
            AgentEvent::Asked { id, .. } => {
                (self.refused, self.error) = (true, Some("nobody can be asked".into()));
                let answer = AgentCommand::Answer { id: id.clone(), answer: QuestionAnswer::Cancelled };
                let _ = self.handle.commands.try_send(answer);
            }
            _ => {}
        }
        match protocol::event(event) {
            Some(record) => self.record(record).await,
            None => true,
        }
    }

    fn judge(&mut self, message: &Message) {
        let Message::Assistant(answer) = message else { return };
        let error = answer.error_message.clone();
        match answer.stop_reason {
            StopReason::Error => (self.outcome, self.error) = (Exit::Model, error),
            StopReason::Aborted => self.outcome = Exit::Aborted,
            StopReason::Length => {
                (self.outcome, self.error) = (Exit::Limit, Some("the answer was cut off".into()));
            }
            StopReason::Stop | StopReason::ToolUse | StopReason::Other => {
                self.outcome = Exit::Ok;
                self.answer = Some(answer.text());
            }
        }
    }

    /// Writes the last answer to the file that was named, when all went well.
    fn keep(&mut self, output: Option<&Path>) {
        let good = self.stopping.is_none() && self.outcome == Exit::Ok;
        if let (Some(path), Some(text), true) = (output, &self.answer, good)
            && let Err(error) = write_answer(path, text)
        {
            (self.outcome, self.error) = (Exit::Model, Some(error));
        }
    }

    /// Writes a record with the time. False when nobody reads any more.
    async fn record(&mut self, mut record: Value) -> bool {
        protocol::set(&mut record, "timestamp", json!(entry::iso(entry::now())));
        self.write(&record.to_string()).await
    }

    /// Writes a record; a reader that stalls holds up everything but a signal.
    async fn write(&mut self, json: &str) -> bool {
        let record = protocol::record(json);
        let mut rest = record.as_bytes();
        while !rest.is_empty() {
            let end = self.stopping.map(|(_, end)| end);
            let written = tokio::select! {
                written = self.out.write(rest) => written,
                () = sleep_until(end) => return false,
                caught = (self.signals)() => {
                    let again = self.stopping.is_some();
                    caught.exit().into_iter().for_each(|exit| self.stop(exit));
                    if again && caught.exit().is_some() {
                        return false;
                    }
                    continue;
                }
            };
            match written {
                Ok(count) if count > 0 => rest = rest.get(count..).unwrap_or_default(),
                Ok(_) => return false,
                Err(error) => {
                    if error.kind() != ErrorKind::BrokenPipe {
                        super::fail(Exit::Ok, &format!("an event cannot be written: {error}"));
                    }
                    return false;
                }
            }
        }
        true
    }

    /// Hands over what the output holds back, until a signal or the end of a grace.
    async fn flush(&mut self) {
        let end = self.stopping.map(|(_, end)| end);
        tokio::select! {
            // A reader that has gone is no failure.
            _ = self.out.flush() => {}
            () = sleep_until(end) => {}
            _ = (self.signals)() => {}
        }
    }

    /// Ends the agent and says how it ended.
    async fn finish(mut self) -> Exit {
        let _ = self.handle.commands.try_send(AgentCommand::Shutdown);
        let exit = match (self.stopping, self.outcome) {
            (Some((exit, _)), _) => exit,
            (None, Exit::Ok) if self.refused => Exit::Refused,
            (None, outcome) => outcome,
        };
        let patience = if exit == Exit::Ok { 5 * GRACE } else { GRACE };
        let events = &mut self.handle.events;
        let ended = async { while events.recv().await.is_some_and(|event| event != AgentEvent::Stopped) {} };
        tokio::select! {
            _ = (self.signals)() => {}
            _ = tokio::time::timeout(patience, ended) => {}
        }
        self.handle.task.abort();
        let mut end = json!({ "type": "end", "reason": exit.meaning(), "exitCode": exit.code() });
        if let Some(error) = self.error.take() {
            protocol::set(&mut end, "error", json!(error));
        }
        self.record(end).await;
        self.flush().await;
        exit
    }
}

async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
