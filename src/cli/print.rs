//! The print front end: prompts in, the final text out, for scripts and pipes.
//!
//! A fold over the agent's events. Standard output gets the text of each prompt's final answer
//! and nothing else; standard error gets what went wrong and, on a terminal, progress. It ends
//! by itself when the prompts are worked off, a limit is reached or a signal comes; how, is in
//! [`Exit`]. Where the agent comes from is not known here.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::exit::Exit;
use super::progress::{BEAT, Progress};
use super::prompts::Prompt;
use super::signals::Caught;
use crate::agent::engine::task::AgentHandle;
use crate::agent::protocol::command::{AgentCommand, QuestionAnswer, Queue};
use crate::agent::protocol::event::{AgentEvent, NoticeLevel, Question};
use crate::agent::protocol::message::{AssistantMessage, Message, StopReason};
use crate::agent::protocol::run::RunEnd;

/// What to print, and how far to go.
#[derive(Clone, Debug, Default)]
pub struct PrintOptions {
    /// Sent one after the other.
    pub prompts: Vec<Prompt>,
    /// Gets the text of the last answer too.
    pub output: Option<PathBuf>,
    /// Time for everything, at most.
    pub timeout: Option<Duration>,
}

/// Where text goes.
pub struct Streams {
    pub out: Box<dyn Write + Send>,
    /// Whether `out` is a terminal, to which no control character is sent.
    pub out_is_terminal: bool,
    pub progress: Progress,
}

impl Streams {
    /// Standard output and standard error.
    pub fn standard() -> Self {
        let (out, err) = (std::io::stdout(), std::io::stderr());
        let lively = err.is_terminal();
        Streams {
            out_is_terminal: out.is_terminal(),
            out: Box::new(out),
            progress: Progress::new(Box::new(err), lively),
        }
    }
}

/// An aborted run has this long to write its session and end its children.
const GRACE: Duration = Duration::from_millis(900);

/// Works off the prompts; how the program ends. `signals` gives the next signal each time it is
/// called; the first one aborts in order, the second ends at once.
pub async fn run(
    handle: AgentHandle,
    options: PrintOptions,
    streams: Streams,
    signals: impl AsyncFnMut() -> Caught,
) -> Exit {
    let mut session = Print {
        handle,
        signals,
        streams,
        deadline: options.timeout.map(|timeout| Instant::now() + timeout),
        stopping: None,
        ended: None,
        answer: None,
        refused: false,
        failed: false,
    };
    let exit = session.work(&options).await;
    session.shut_down(exit).await
}

struct Print<S> {
    handle: AgentHandle,
    signals: S,
    streams: Streams,
    deadline: Option<Instant>,
    /// Why the run is being aborted, and when waiting for it ends.
    stopping: Option<(Exit, Instant)>,
    /// A limit or the guard of the agent ended the run.
    ended: Option<Exit>,
    answer: Option<Arc<Message>>,
    /// A tool asked and nobody could answer.
    refused: bool,
    /// The agent said that something failed.
    failed: bool,
}

/// What woke the front end.
#[allow(clippy::large_enum_variant, reason = "one value lives at a time, and events are the common case")]
enum Woken {
    Event(Option<AgentEvent>),
    Signal(Caught),
    TimeUp,
    GraceOver,
    Beat,
}

impl<S: AsyncFnMut() -> Caught> Print<S> {
    async fn work(&mut self, options: &PrintOptions) -> Exit {
        if options.prompts.is_empty() {
            self.say("nothing to do: give a prompt as an argument or on standard input");
            return Exit::Usage;
        }
        let mut last = None;
        for prompt in &options.prompts {
            match self.prompt(prompt).await {
                Ok(text) => last = text.or(last),
                Err(exit) => return exit,
            }
        }
        if let (Some(path), Some(text)) = (&options.output, &last)
            && let Err(error) = write_answer(path, text)
        {
            self.say(&error);
            return Exit::Model;
        }
        if self.refused { Exit::Refused } else { Exit::Ok }
    }

    /// One prompt: the text of its final answer, which has been printed.
    async fn prompt(&mut self, prompt: &Prompt) -> Result<Option<String>, Exit> {
        (self.ended, self.answer, self.failed) = (None, None, false);
        let images = prompt.images.clone();
        let command = AgentCommand::Prompt { text: prompt.text.clone(), images, streaming: Queue::Steer };
        self.handle.commands.send(command).await.map_err(|_| Exit::Crash)?;
        self.settle().await?;
        if let Some((exit, _)) = self.stopping {
            return Err(exit);
        }
        if let Some(exit) = self.ended {
            return Err(exit);
        }
        self.judge()
    }

    /// Follows the events until nothing more comes by itself.
    async fn settle(&mut self) -> Result<(), Exit> {
        loop {
            match self.woken().await {
                Woken::Event(Some(AgentEvent::AgentSettled { .. })) => {
                    self.streams.progress.show(&AgentEvent::AgentSettled { aborted: false });
                    return Ok(());
                }
                Woken::Event(Some(event)) => self.fold(event),
                Woken::Event(None) => {
                    self.say("the agent ended unexpectedly; the session is kept (tau --continue)");
                    return Err(Exit::Crash);
                }
                Woken::Signal(caught) => {
                    let Some(exit) = caught.exit() else { continue };
                    if self.stopping.is_some() {
                        return Err(exit);
                    }
                    self.stop(exit);
                }
                Woken::TimeUp => {
                    self.say("stopped: the time is up (--timeout)");
                    self.stop(Exit::Limit);
                }
                Woken::GraceOver => return Ok(()),
                Woken::Beat => self.streams.progress.beat(),
            }
        }
    }

    async fn woken(&mut self) -> Woken {
        let stopping = self.stopping.map(|(_, end)| end);
        let deadline = self.deadline.filter(|_| stopping.is_none());
        let beat = self.streams.progress.moves();
        tokio::select! {
            biased;
            caught = (self.signals)() => Woken::Signal(caught),
            () = sleep_until(stopping) => Woken::GraceOver,
            () = sleep_until(deadline) => Woken::TimeUp,
            event = self.handle.events.recv() => Woken::Event(event),
            () = tokio::time::sleep(BEAT), if beat => Woken::Beat,
        }
    }

    fn fold(&mut self, event: AgentEvent) {
        self.streams.progress.show(&event);
        match event {
            AgentEvent::MessageEnd { message } if matches!(*message, Message::Assistant(_)) => {
                self.answer = Some(message);
            }
            AgentEvent::RunStopped { reason: RunEnd::Repeats } => self.ended = Some(Exit::Stuck),
            AgentEvent::RunStopped { .. } => self.ended = Some(Exit::Limit),
            AgentEvent::Asked { id, question } => self.decline(id, &question),
            AgentEvent::Notice { level, text, hint } if level != NoticeLevel::Info => {
                self.failed |= level == NoticeLevel::Error;
                let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
                self.say(&format!("{text}{hint}"));
            }
            _ => {}
        }
    }

    /// Nobody is here to be asked.
    fn decline(&mut self, id: String, question: &Question) {
        self.refused = true;
        let (Question::Select { title, .. } | Question::Confirm { title, .. }) = question;
        self.say(&format!("refused, since nobody can be asked: {title}"));
        let answer = AgentCommand::Answer { id, answer: QuestionAnswer::Cancelled };
        let _ = self.handle.commands.try_send(answer);
    }

    fn stop(&mut self, exit: Exit) {
        self.stopping = Some((exit, Instant::now() + GRACE));
        let _ = self.handle.commands.try_send(AgentCommand::Abort);
    }

    /// What the final answer means; its text is printed.
    fn judge(&mut self) -> Result<Option<String>, Exit> {
        let Some(Message::Assistant(answer)) = self.answer.take().map(Arc::unwrap_or_clone) else {
            if !self.failed {
                self.say("the model gave no answer");
            }
            return Err(Exit::Model);
        };
        match answer.stop_reason {
            StopReason::Error => {
                self.say(&format!(
                    "error: {}",
                    answer.error_message.as_deref().unwrap_or("the model failed")
                ));
                Err(Exit::Model)
            }
            StopReason::Aborted => Err(Exit::Aborted),
            StopReason::Length => {
                self.print(&answer)?;
                self.say("the answer is not whole: the model's output limit was reached");
                Err(Exit::Limit)
            }
            StopReason::Stop | StopReason::ToolUse | StopReason::Other => self.print(&answer).map(Some),
        }
    }

    /// Prints the text of an answer. A reader that has left is told nothing more.
    fn print(&mut self, answer: &AssistantMessage) -> Result<String, Exit> {
        let text = answer.text();
        if text.is_empty() {
            self.say("the model's answer has no text");
            return Ok(text);
        }
        let shown = if self.streams.out_is_terminal { harmless(&text) } else { text.clone() };
        let out = &mut self.streams.out;
        match out.write_all(line_ended(&shown).as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Ok(text),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Exit::Ok),
            Err(error) => {
                self.say(&format!("the answer cannot be written: {error}"));
                Err(Exit::Model)
            }
        }
    }

    /// Ends the agent: its session file is complete and its children are gone, or the grace is
    /// over, or another signal came.
    async fn shut_down(mut self, exit: Exit) -> Exit {
        let _ = self.handle.commands.try_send(AgentCommand::Shutdown);
        let patience = if exit == Exit::Ok { 5 * GRACE } else { GRACE };
        let AgentHandle { mut events, mut task, .. } = self.handle;
        let ended = async {
            while events.recv().await.is_some() {}
            (&mut task).await
        };
        let panicked = tokio::select! {
            _ = (self.signals)() => false,
            ended = tokio::time::timeout(patience, ended) => matches!(ended, Ok(Err(error)) if error.is_panic()),
        };
        task.abort();
        if panicked { Exit::Crash } else { exit }
    }

    fn say(&mut self, text: &str) {
        self.streams.progress.say(&format!("tau: {text}"));
    }
}

async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// Writes an answer to the file that `--output` names.
///
/// # Errors
/// A sentence that names the file.
pub fn write_answer(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, line_ended(text)).map_err(|error| format!("{}: {error}", path.display()))
}

fn line_ended(text: &str) -> String {
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

/// `text` without anything that a terminal would obey; lines and tabs stay.
fn harmless(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let cells: Vec<String> = line.split('\t').map(super::tui::terminal::plain).collect();
        cells.join("\t")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
