//! The json front end: prompts in, every event out, a line each.
//!
//! A fold over the agent's events. The session's header comes first, then the events as a numbering client of
//! `rpc` sees them, each with the time at which it was emitted, and at the end one record about the outcome.
//! Prompts come from the arguments, or as lines on standard input, in order.

pub mod input;
pub(crate) mod spending;

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::answer::{self, AnswerText};
use super::batch::{BatchDriver, BatchEvent, Stop};
use super::output_schema::{Output, OutputSchema, Violations};
use super::print::{CUT_OFF, NO_TEXT, NOBODY_DECIDES};
use super::prompts::CliPrompt;
use crate::compose::profile::FrontEndProfile;
use crate::process::exit::{Exit, report_output_failure, warn};
use crate::process::signals::CaughtSignal;
use crate::protocol;
use crate::rpc::lines::{InputLine, LineReader, MAX_LEN};
use input::InputCommand;
use spending::Spending;
use tau_agent::engine::task::AgentHandle;
use tau_agent::session::entry;
use tau_protocol::approval::ApprovalAnswer;
use tau_protocol::command::{AgentCommand, QuestionAnswer, QuestionCommand, RunCommand};
use tau_protocol::event::{
    AgentEvent, NoticeLevel, Question, QuestionEvent, QueueEvent, RunEvent, SettingsEvent, TaskEvent,
    TurnEvent,
};
use tau_protocol::message::{Message, StopReason};
use tau_protocol::run::RunEnd;
use tau_tools::invisible;

/// The composition of this front end's agents: like print mode's.
pub const PROFILE: FrontEndProfile = super::print::PROFILE;

/// The work to do, and its limits.
pub struct JsonOptions<R> {
    /// Whether a run that ended before its answer is continued, before all prompts.
    pub continues: bool,
    /// The prompts, sent one after another.
    pub prompts: Vec<CliPrompt>,
    /// The command that sets the goal before each prompt. Without prompts, tau works until it is reached.
    pub goal: Option<AgentCommand>,
    /// Lines with further prompts and interrupts; `None` when nothing is read.
    pub input: Option<R>,
    /// The session's header, a line of JSON without its end.
    pub header: String,
    /// A file for the text of the last answer.
    pub output: Option<PathBuf>,
    /// The required form of answers.
    pub schema: Option<OutputSchema>,
    /// Time limit for everything.
    pub timeout: Option<Duration>,
}

/// Runs the prompts; returns the program's end. `signals` gives the next signal each time it is called; the
/// first one aborts in order, the second ends at once.
pub async fn run<R: AsyncRead + Unpin>(
    agent: AgentHandle,
    options: JsonOptions<R>,
    out: impl AsyncWrite + Unpin,
    signals: impl AsyncFnMut() -> CaughtSignal,
) -> Exit {
    let pursues =
        options.goal.is_some() && !options.continues && options.prompts.is_empty() && options.input.is_none();
    let mut run = JsonRun {
        driver: BatchDriver::new(agent, options.timeout, signals),
        takes_lines: options.input.is_some(),
        lines: options.input.map(|input| LineReader::new(input, MAX_LEN)),
        prompts: options
            .continues
            .then_some(RunCommand::Continue.into())
            .into_iter()
            .chain(pursues.then_some(RunCommand::PursueGoal.into()))
            .chain(options.prompts.into_iter().map(Into::into))
            .collect(),
        goal: options.goal,
        out,
        answer: AnswerText::default(),
        schema: options.schema,
        checked: None,
        interrupts: 0,
        outcome: Exit::Ok,
        error: None,
        failed: None,
        refused: false,
        waiting: Vec::new(),
        asked: Vec::new(),
        limit: None,
        limited: false,
        unwritable: false,
        spending: Spending::default(),
    };
    if run.write(&options.header).await {
        run.consume_startup_events().await;
        run.work().await;
        run.keep(options.output).await;
    }
    run.finish().await
}

struct JsonRun<R, W, S> {
    driver: BatchDriver<S>,
    /// Whether prompts come as lines, whose writer decides on the consequences of a failure.
    takes_lines: bool,
    /// `None` once reading has ended.
    lines: Option<LineReader<R>>,
    prompts: VecDeque<AgentCommand>,
    /// Sets the goal before each prompt.
    goal: Option<AgentCommand>,
    out: W,
    answer: AnswerText,
    schema: Option<OutputSchema>,
    /// The last answer, checked by the schema.
    checked: Option<Result<Output, Violations>>,
    /// The number of unanswered interrupts.
    interrupts: usize,
    /// The outcome of the last prompt.
    outcome: Exit,
    /// The error of the last prompt.
    error: Option<String>,
    /// The outcome and the error of the first prompt that failed.
    failed: Option<(Exit, Option<String>)>,
    /// A tool asked a question, and there was no user to answer it.
    refused: bool,
    /// The calls that await a decision.
    waiting: Vec<String>,
    /// The pending questions of MCP servers.
    asked: Vec<String>,
    /// The limit that ended the last run, if one did.
    limit: Option<RunEnd>,
    /// True when a limit ended the run and the notice with the reason follows.
    limited: bool,
    /// True once a record could not be written although a reader may want it.
    unwritable: bool,
    /// The cost of all answers.
    spending: Spending,
}

/// A cause of waking the front end.
#[allow(clippy::large_enum_variant, reason = "one value lives at a time, and events are the common case")]
enum Wake {
    Batch(BatchEvent),
    Line(Option<InputLine>),
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin, S: AsyncFnMut() -> CaughtSignal> JsonRun<R, W, S> {
    /// Skips the agent's start-up events, which belong to no prompt.
    async fn consume_startup_events(&mut self) {
        while let Some(event) = self.driver.agent.events.recv().await {
            self.spending.take(&event);
            match event {
                AgentEvent::Settings(SettingsEvent::ThinkingLevelChanged { .. })
                | AgentEvent::Task(TaskEvent::Stopped) => return,
                AgentEvent::Task(TaskEvent::Notice { .. }) => drop(self.emit(&event).await),
                _ => {}
            }
        }
    }

    /// Runs prompt after prompt, until there can be no further one.
    async fn work(&mut self) {
        loop {
            let next = match self.prompts.pop_front() {
                Some(prompt) => prompt,
                None if self.lines.is_none() || self.driver.stops.stopping().is_some() => return,
                None => {
                    if !self.step().await {
                        return;
                    }
                    continue;
                }
            };
            self.note_failure();
            (self.outcome, self.error) = (Exit::Ok, None);
            // With arguments, any refusal counts in the end; each line is judged by itself.
            self.refused &= !self.takes_lines;
            let earlier = std::mem::take(&mut self.answer);
            if let Some(goal) = self.goal.clone()
                && self.driver.agent.commands.send(goal).await.is_err()
            {
                return;
            }
            let continues = self.prompt(next).await && self.validate_answer().await;
            if self.answer.text().is_none() {
                self.answer = earlier;
            }
            if !continues {
                return;
            }
            // Like in print mode: after a failure the next argument is not sent.
            if !self.takes_lines && !matches!(self.outcome, Exit::Ok | Exit::Refused) {
                return;
            }
        }
    }

    /// Keeps the outcome of the first line that failed, for the end of everything.
    fn note_failure(&mut self) {
        // The writer intended to end an interrupted prompt.
        if !matches!(self.outcome, Exit::Ok | Exit::Aborted) && self.failed.is_none() {
            self.failed = Some((self.outcome, self.error.clone()));
        }
    }

    /// Sends a prompt and follows it to its end. False when no work is left.
    async fn prompt(&mut self, prompt: AgentCommand) -> bool {
        self.driver.agent.commands.send(prompt).await.is_ok() && self.follow_prompt().await
    }

    /// Checks the answer against the schema, if any; asks once more if it is invalid, and reports the result.
    /// False when no work is left.
    async fn validate_answer(&mut self) -> bool {
        self.checked = self.check();
        if let Some(Err(violations)) = &self.checked {
            let prompt = CliPrompt { text: violations.repair_prompt(), images: Vec::new() };
            if !self.prompt(prompt.into()).await {
                return false;
            }
            self.checked = self.check().or(self.checked.take());
        }
        if let Some(Err(violations)) = &self.checked
            && self.outcome == Exit::Ok
        {
            (self.outcome, self.error) = (Exit::Invalid, Some(violations.failure()));
        }
        let mut record = json!({ "type": "output" });
        self.put_output_into(&mut record);
        self.checked.is_none() || self.record(record).await
    }

    /// The answer checked by the schema. `None` without one, or without a complete answer.
    fn check(&self) -> Option<Result<Output, Violations>> {
        let schema = self.schema.as_ref().filter(|_| self.outcome == Exit::Ok)?;
        self.answer.text().map(|text| schema.check(text))
    }

    fn put_output_into(&self, record: &mut Value) {
        match &self.checked {
            Some(Ok(output)) => protocol::set(record, "output", output.value.clone()),
            Some(Err(violations)) => protocol::set(record, "outputError", json!(violations.failure())),
            None => {}
        }
    }

    /// Follows a prompt to its end. False when no work is left.
    async fn follow_prompt(&mut self) -> bool {
        let mut has_begun = false;
        loop {
            match self.wake().await {
                Wake::Batch(BatchEvent::Agent(Some(event))) => {
                    has_begun |= matches!(event, AgentEvent::Run(RunEvent::AgentStart));
                    let settled = matches!(event, AgentEvent::Run(RunEvent::AgentSettled { .. }));
                    // A prompt that is returned before its run has begun has none.
                    let returned = matches!(event, AgentEvent::Queue(QueueEvent::QueueReturned { .. }));
                    let is_taken_back = returned && !has_begun;
                    if !self.emit(&event).await {
                        return false;
                    }
                    if is_taken_back && self.outcome == Exit::Ok {
                        self.outcome = Exit::Aborted;
                    }
                    if settled || is_taken_back {
                        return self.answer_interrupts().await && self.driver.stops.stopping().is_none();
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

    /// Handles one event while no prompt is in progress. False when no work is left.
    async fn step(&mut self) -> bool {
        match self.wake().await {
            Wake::Batch(BatchEvent::Agent(Some(event))) => self.emit(&event).await,
            other => self.other(other, false).await && self.driver.stops.stopping().is_none(),
        }
    }

    async fn wake(&mut self) -> Wake {
        let line = async {
            match &mut self.lines {
                Some(lines) => lines.next().await.ok().flatten(),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            event = self.driver.next() => Wake::Batch(event),
            line = line => Wake::Line(line),
        }
    }

    /// Handles a wake other than an event. False when no work is left.
    async fn other(&mut self, wake: Wake, in_progress: bool) -> bool {
        match wake {
            Wake::Line(Some(line)) => return self.line(&line, in_progress).await,
            Wake::Line(None) => {
                self.lines = None;
                self.deny_waiting();
                self.decline_questions();
            }
            Wake::Batch(BatchEvent::Stop(Stop::Begin)) => {
                self.driver.abort();
                return in_progress;
            }
            Wake::Batch(BatchEvent::Stop(Stop::Now)) => return false,
            Wake::Batch(BatchEvent::Agent(_)) => {
                self.outcome = Exit::Crash;
                self.error = Some("the agent ended unexpectedly".into());
                return false;
            }
        }
        true
    }

    async fn line(&mut self, line: &InputLine, in_progress: bool) -> bool {
        match input::parse(line) {
            Ok(InputCommand::Message(text)) if text.trim().is_empty() => {
                self.refuse("the message is empty: give a text").await
            }
            Ok(InputCommand::Message(text)) => {
                self.prompts.push_back(CliPrompt { text, images: Vec::new() }.into());
                true
            }
            Ok(InputCommand::Interrupt) => {
                self.interrupts += 1;
                if in_progress {
                    self.driver.abort();
                    true
                } else {
                    self.answer_interrupts().await
                }
            }
            Ok(InputCommand::Approval(id, _)) if !self.waiting.contains(&id) => {
                self.refuse(&format!("no call with the id {} is waiting for a decision", json!(id))).await
            }
            Ok(InputCommand::Approval(id, answer)) => {
                self.answer_approval(id, answer);
                true
            }
            Ok(InputCommand::Answer(id, _)) if !self.asked.contains(&id) => {
                self.refuse(&format!("no question with the id {} is waiting for an answer", json!(id))).await
            }
            Ok(InputCommand::Answer(id, answer)) => {
                self.answer_question(id, answer);
                true
            }
            Err(error) => self.refuse(&error).await,
        }
    }

    /// Reports the fault in a line.
    async fn refuse(&mut self, error: &str) -> bool {
        self.record(json!({ "type": "error", "error": error })).await
    }

    fn answer_approval(&mut self, id: String, answer: ApprovalAnswer) {
        self.driver.send_soon(QuestionCommand::AnswerApproval { id, answer });
    }

    fn answer_question(&mut self, id: String, answer: QuestionAnswer) {
        self.asked.retain(|asked| *asked != id);
        self.driver.send_soon(QuestionCommand::Answer { id, answer });
    }

    /// Declines the questions of MCP servers that cannot be answered.
    fn decline_questions(&mut self) {
        for id in std::mem::take(&mut self.asked) {
            self.answer_question(id, QuestionAnswer::Declined);
        }
    }

    /// Denies the pending calls that cannot be decided.
    fn deny_waiting(&mut self) {
        for id in std::mem::take(&mut self.waiting) {
            (self.refused, self.error) = (true, Some(NOBODY_DECIDES.into()));
            let answer = ApprovalAnswer::Deny { reason: Some(NOBODY_DECIDES.into()), stop: false };
            self.answer_approval(id, answer);
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

    /// Writes an event, if it is public, and notes its effect on the outcome.
    async fn emit(&mut self, event: &AgentEvent) -> bool {
        self.spending.take(event);
        match event {
            AgentEvent::Turn(TurnEvent::MessageEnd { message }) => self.answer.add(message),
            AgentEvent::Turn(TurnEvent::TurnEnd { message, .. }) => self.judge(message),
            AgentEvent::Run(RunEvent::RunStopped { reason }) => {
                (self.outcome, self.limit) = ((*reason).into(), Some(*reason));
                self.limited = true;
            }
            AgentEvent::Run(RunEvent::AgentSettled { aborted: true }) if self.outcome != Exit::Limit => {
                self.outcome = Exit::Aborted;
            }
            AgentEvent::Task(TaskEvent::Notice { level, text, hint }) if *level != NoticeLevel::Info => {
                let hint = hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
                warn(&format!("{text}{hint}"));
                if *level == NoticeLevel::Error {
                    (self.outcome, self.error) = (Exit::Model, Some(text.clone()));
                } else if self.limited {
                    self.error = Some(text.clone());
                }
                self.limited = false;
            }
            AgentEvent::Queue(QueueEvent::PromptRefused { reason, .. }) => {
                (self.outcome, self.error) = (Exit::Model, Some(reason.clone()));
            }
            AgentEvent::Questions(QuestionEvent::ApprovalRequested { request }) => {
                self.waiting.push(request.id.clone());
                if self.lines.is_none() {
                    self.deny_waiting();
                }
            }
            AgentEvent::Questions(QuestionEvent::ApprovalEnded { id, .. }) => {
                self.waiting.retain(|waiting| waiting != id);
            }
            AgentEvent::Questions(QuestionEvent::Asked {
                id,
                question: Question::Form { .. } | Question::Url { .. },
            }) => {
                self.asked.push(id.clone());
                if self.lines.is_none() {
                    self.decline_questions();
                }
            }
            AgentEvent::Questions(QuestionEvent::AskWithdrawn { id }) => {
                self.asked.retain(|asked| asked != id);
            }
            AgentEvent::Questions(QuestionEvent::Asked {
                id,
                question: Question::User { .. } | Question::Plan { .. },
            }) => {
                self.answer_question(id.clone(), QuestionAnswer::Unavailable);
            }
            AgentEvent::Questions(QuestionEvent::Asked { id, .. }) => {
                (self.refused, self.error) = (true, Some("there is nobody to ask".into()));
                let answer = QuestionAnswer::Cancelled;
                self.driver.send_soon(QuestionCommand::Answer { id: id.clone(), answer });
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
        self.outcome = answer.stop_reason.into();
        let has_calls = answer.stop_reason == StopReason::ToolUse;
        match self.outcome {
            Exit::Model => self.error.clone_from(&answer.error_message),
            Exit::Limit => self.error = Some(CUT_OFF.into()),
            Exit::Ok if !has_calls && invisible::is_blank(&answer.text()) => {
                (self.outcome, self.error) = (Exit::Model, Some(NO_TEXT.into()));
            }
            _ => {}
        }
    }

    /// Writes the last answer to the output file, on success.
    async fn keep(&mut self, output: Option<PathBuf>) {
        let good = self.driver.stops.stopping().is_none() && self.outcome == Exit::Ok;
        let text = match &self.checked {
            Some(Ok(output)) => Some(output.text.as_str()),
            _ => self.answer.text(),
        };
        if let (Some(path), Some(text), true) = (output, text, good) {
            let written = self.driver.within(answer::write(path, text.to_owned())).await;
            if let Some(Err(error)) = written {
                warn(&error);
                (self.outcome, self.error) = (Exit::Model, Some(error.into()));
            }
        }
    }

    /// Writes a record with the time. False when the reader is gone.
    async fn record(&mut self, mut record: Value) -> bool {
        protocol::set(&mut record, "timestamp", json!(entry::iso(entry::now())));
        self.write(&record.to_string()).await
    }

    /// Writes a record; a stalled reader delays everything but the end.
    async fn write(&mut self, json: &str) -> bool {
        let record = protocol::record(json);
        let written = self.driver.within(self.out.write_all(record.as_bytes())).await;
        self.is_written(written)
    }

    fn is_written(&mut self, written: Option<io::Result<()>>) -> bool {
        match written {
            Some(Ok(())) => true,
            Some(Err(error)) => {
                // A closed reader is no failure.
                if error.kind() != ErrorKind::BrokenPipe && !std::mem::replace(&mut self.unwritable, true) {
                    report_output_failure(&error);
                }
                false
            }
            None => false,
        }
    }

    /// Ends the agent and writes the outcome.
    async fn finish(mut self) -> Exit {
        if let (Exit::Ok, Some((exit, error))) = (self.outcome, self.failed.take()) {
            (self.outcome, self.error) = (exit, error);
        }
        let exit = match (self.driver.stops.stopping(), self.outcome) {
            (Some(exit), _) => exit,
            (None, Exit::Ok) if self.refused => Exit::Refused,
            (None, outcome) => outcome,
        };
        if self.driver.stops.timed_out() {
            self.error = Some("the time limit was reached (--timeout)".into());
        }
        let exit = self.driver.shut_down(exit).await;
        let mut end = json!({ "type": "end", "reason": exit.meaning(), "exitCode": exit.code() });
        if let Some(error) = self.error.take() {
            protocol::set(&mut end, "error", json!(error));
        }
        if let Some(limit) = self.limit.filter(|limit| Exit::from(*limit) == exit) {
            protocol::set(&mut end, "limit", json!(limit));
        }
        self.put_output_into(&mut end);
        self.spending.put_into(&mut end);
        self.record(end).await;
        let flushed = self.driver.within(self.out.flush()).await;
        self.is_written(flushed);
        if self.unwritable && exit == Exit::Ok { Exit::Model } else { exit }
    }
}
