//! The print front end: prompts in, the final text out, for scripts and pipes.
//!
//! A fold over the agent's events. Standard output gets the text of each prompt's final answer and nothing
//! else; standard error gets errors and, on a terminal, progress. It ends when the prompts are done, a limit
//! is reached or a signal arrives; [`Exit`] tells which. The agent's origin is not known here.

use std::io::{ErrorKind, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use super::answer::{self, AnswerText};
use super::batch::{BatchDriver, BatchEvent, Stop};
use super::output_schema::OutputSchema;
use super::progress::{BEAT, Liveliness, ProgressLine};
use super::prompts::CliPrompt;
use crate::compose::environment::{Connections, OnBadConfig};
use crate::compose::profile::FrontEndProfile;
use crate::process::exit::{Exit, warn, without_numbers};
use crate::process::plain;
use crate::process::signals::CaughtSignal;
use crate::process::stderr::Stderr;
use crate::process::stopped_jobs::StoppedJobs;
use tau_agent::engine::base::retry::span;
use tau_agent::engine::behavior::OnAsk;
use tau_agent::engine::event_hooks::HOOK_STOPPED;
use tau_protocol::run::{OnRepeat, RetryMode, SteerMode};
use tau_tools::{deadline, invisible};

use tau_agent::engine::task::AgentHandle;
use tau_app::geometry::Motion;
use tau_app::slash;
use tau_protocol::approval::{ApprovalAnswer, ApprovalRequest};
use tau_protocol::command::{AgentCommand, QuestionAnswer, QuestionCommand, RunCommand};
use tau_protocol::event::{
    AgentEvent, CompactionReason, NoticeLevel, Question, QuestionEvent, QueueEvent, RunEvent, SessionEvent,
    TaskEvent, TurnEvent,
};
use tau_protocol::goal::GoalState;
use tau_protocol::message::{Message, StopReason};

/// The reason for denying a call that a user would have to decide.
pub(crate) const NOBODY_DECIDES: &str = "nobody is there to approve it. Allow it with a rule; a protected path with \
    `unprotected`; what only the mode asks about with --permission-mode auto (docs/permissions.md)";

/// The composition of this front end's agents.
pub const PROFILE: FrontEndProfile = FrontEndProfile {
    on_bad_config: OnBadConfig::Refuse,
    retry: RetryMode::Headless,
    steer: SteerMode::SkipRemaining,
    on_repeat: OnRepeat::Stop,
    on_ask: OnAsk::Allow,
    asks_user: false,
    is_client: true,
    prints: true,
    connections: Connections::WithAgent,
};

/// The output to print, and its limits.
#[derive(Clone, Debug, Default)]
pub struct PrintOptions {
    /// Whether a run that ended before its answer is continued, before all prompts.
    pub continues: bool,
    /// The prompts, sent one after another.
    pub prompts: Vec<CliPrompt>,
    /// The command that sets the goal before each prompt. Without prompts, tau works until it is reached.
    pub goal: Option<AgentCommand>,
    /// A file for the text of the last answer.
    pub output: Option<PathBuf>,
    /// The required form of answers.
    pub schema: Option<OutputSchema>,
    /// Time limit for everything.
    pub timeout: Option<Duration>,
    /// Whether other agents work in this process, too.
    pub is_one_of_several: bool,
}

/// The streams for text.
pub struct PrintStreams {
    pub out: Box<dyn AsyncWrite + Unpin + Send>,
    /// Whether `out` is a terminal, to which no control character is sent.
    pub out_is_terminal: bool,
    pub progress: ProgressLine,
}

impl PrintStreams {
    /// Standard output and standard error.
    pub fn standard(motion: Motion) -> Self {
        let term = std::env::var("TERM").unwrap_or_default();
        let lively = Liveliness::new(std::io::stderr().is_terminal(), motion, &term);
        PrintStreams {
            out_is_terminal: std::io::stdout().is_terminal(),
            out: Box::new(tokio::io::stdout()),
            progress: ProgressLine::new(Box::new(Stderr), lively),
        }
    }
}

/// Runs the prompts; returns the program's end. `signals` gives the next signal each time it is called; the
/// first one aborts in order, the second ends at once.
pub async fn run(
    agent: AgentHandle,
    options: PrintOptions,
    streams: PrintStreams,
    signals: impl AsyncFnMut() -> CaughtSignal,
) -> Exit {
    let mut session = PrintRun {
        driver: BatchDriver::new(agent, options.timeout, signals),
        streams,
        ended: None,
        answer: AnswerText::default(),
        outcome: None,
        refused: false,
        failed: false,
        reached: false,
        waiting: None,
        is_stopped_by_hook: false,
    };
    if options.is_one_of_several {
        session.driver.jobs = StoppedJobs::of_one();
    }
    let exit = session.work(&options).await;
    let exit = session.driver.stops.stopping().unwrap_or(exit);
    if session.driver.stops.timed_out() {
        session.say("stopped: the time limit was reached (--timeout)");
    }
    let exit = session.driver.shut_down(exit).await;
    let driver = &session.driver;
    let is_told = (driver.stops.stopping().is_some() || driver.has_named) && !options.is_one_of_several;
    session.driver.jobs.cost_line().filter(|_| is_told).iter().for_each(|line| warn(line));
    exit
}

/// Length of a wait that is reported to the user, and the interval of reports after that.
const LONG_WAIT: Duration = Duration::from_secs(30);
const REPORTS: Duration = Duration::from_mins(1);

/// A wait until the provider takes requests again, which may consist of several.
struct Waiting {
    /// The end of the current one.
    until: Instant,
    /// Its reason, until it has been reported.
    reason: Option<String>,
    /// Time of the next report, if the wait lasts that long.
    due: Instant,
}

impl Waiting {
    /// The wait that begins now, or continues an earlier one that a further refusal has made longer.
    fn begin_or_extend(earlier: Option<Self>, now: Instant, delay: Duration, reason: String) -> Self {
        let until = now.checked_add(delay).unwrap_or(now);
        let first = if delay >= LONG_WAIT { now } else { now + LONG_WAIT };
        match earlier {
            None => Waiting { until, reason: Some(reason), due: first },
            Some(waiting) if waiting.reason.is_some() => {
                Waiting { until, due: waiting.due.min(first), ..waiting }
            }
            Some(waiting) => Waiting { until, ..waiting },
        }
    }

    /// Time of the next report, if it comes before the end.
    fn tells(&self) -> Option<Instant> {
        (self.due < self.until).then_some(self.due)
    }

    /// Counts a report; returns the reason, the first time.
    fn record_report(&mut self, now: Instant) -> Option<String> {
        self.due = now + REPORTS;
        self.reason.take()
    }
}

/// The reason why an answer that reached the model's limit is not used.
pub(crate) const CUT_OFF: &str = "the answer is incomplete: the model reached its output limit";

/// The error for an answer without text.
pub(crate) const NO_TEXT: &str = "the model ended without an answer";

/// The text of a final answer.
enum FinalAnswer {
    Fully(String),
    /// The model reached its output limit.
    CutOff(String),
    /// The goal was reached without an answer.
    Nothing,
}

struct PrintRun<S> {
    driver: BatchDriver<S>,
    streams: PrintStreams,
    /// A limit or the loop guard of the agent ended the run.
    ended: Option<Exit>,
    answer: AnswerText,
    /// The end of the last answer, and its error.
    outcome: Option<(StopReason, Option<String>)>,
    /// A tool asked a question, and there was no user to answer it.
    refused: bool,
    /// The agent reported an error.
    failed: bool,
    /// The goal was reached.
    reached: bool,
    /// The wait for a provider that refuses requests.
    waiting: Option<Waiting>,
    /// A hook ended the run, and a notice has said so.
    is_stopped_by_hook: bool,
}

impl<S: AsyncFnMut() -> CaughtSignal> PrintRun<S> {
    async fn work(&mut self, options: &PrintOptions) -> Exit {
        let prompts = options.prompts.iter().cloned().map(AgentCommand::from);
        let continued = options.continues.then_some(RunCommand::Continue.into());
        let mut commands: Vec<_> = continued.into_iter().chain(prompts).collect();
        if commands.is_empty() && options.goal.is_some() {
            commands.push(RunCommand::PursueGoal.into());
        }
        if commands.is_empty() {
            self.say("no prompt: pass one as an argument or pipe it in");
            return Exit::Usage;
        }
        let mut last = None;
        for command in commands {
            self.reached = false;
            if let Some(goal) = &options.goal {
                // An agent that has ended takes no prompt either.
                let _ = self.driver.agent.commands.send(goal.clone()).await;
            }
            match self.prompt(command, options.schema.as_ref()).await {
                Ok(text) => last = Some(text),
                Err(exit) => return exit,
            }
        }
        if let (Some(path), Some(text)) = (&options.output, last) {
            match self.driver.within(answer::write(path.clone(), text)).await {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    self.say(&error);
                    return Exit::Model;
                }
                None => return self.exit_after_stop(),
            }
        }
        if self.refused { Exit::Refused } else { Exit::Ok }
    }

    /// The program's end after it was stopped.
    fn exit_after_stop(&self) -> Exit {
        self.driver.stops.stopping().unwrap_or(Exit::Aborted)
    }

    /// Runs one prompt: returns the text of its final answer, which has been printed.
    async fn prompt(&mut self, prompt: AgentCommand, schema: Option<&OutputSchema>) -> Result<String, Exit> {
        let printed = match (self.ask(prompt).await?, schema) {
            // The command succeeded before the model was asked.
            (FinalAnswer::Nothing, _) => return self.driver.stops.stopping().map_or(Ok(String::new()), Err),
            (FinalAnswer::Fully(text), None) if invisible::is_blank(&text) => {
                Err((Exit::Model, String::new(), NO_TEXT.to_owned()))
            }
            (FinalAnswer::Fully(text), None) => Ok(text),
            (FinalAnswer::Fully(text), Some(schema)) => self.validate_or_repair(text, schema).await,
            (FinalAnswer::CutOff(text), _) => Err((Exit::Limit, text, CUT_OFF.to_owned())),
        };
        match printed {
            Ok(text) => {
                self.print(&text).await?;
                self.driver.stops.stopping().map_or(Ok(text), Err)
            }
            Err((exit, ..)) if self.driver.stops.stopping().is_some() => Err(exit),
            Err((exit, text, why)) => {
                if !text.is_empty() {
                    self.print(&text).await?;
                }
                self.say(&why);
                Err(exit)
            }
        }
    }

    /// The JSON of an answer, which may take one more prompt; else the program's end, the text to print, and
    /// its faults.
    async fn validate_or_repair(
        &mut self,
        text: String,
        schema: &OutputSchema,
    ) -> Result<String, (Exit, String, String)> {
        let violations = match schema.check(&text) {
            Ok(output) => return Ok(output.text),
            Err(violations) => violations,
        };
        self.say(&format!("asking for a valid answer once more: {}", violations.summary()));
        let prompt = CliPrompt { text: violations.repair_prompt(), images: Vec::new() };
        match self.ask(prompt.into()).await {
            Ok(FinalAnswer::Fully(second)) => match schema.check(&second) {
                Ok(output) => Ok(output.text),
                Err(violations) => Err((Exit::Invalid, second, violations.failure())),
            },
            Ok(FinalAnswer::CutOff(second)) => Err((Exit::Limit, second, CUT_OFF.to_owned())),
            Ok(FinalAnswer::Nothing) => Err((Exit::Invalid, text, violations.failure())),
            Err(exit) => Err((exit, text, violations.failure())),
        }
    }

    /// Sends a prompt and follows it to its end; returns the text of its final answer.
    async fn ask(&mut self, prompt: AgentCommand) -> Result<FinalAnswer, Exit> {
        (self.ended, self.outcome, self.failed) = (None, None, false);
        self.answer = AnswerText::default();
        self.driver.agent.commands.send(prompt).await.map_err(|_| Exit::Crash)?;
        self.settle().await?;
        if let Some(exit) = self.driver.stops.stopping() {
            return Err(exit);
        }
        let Some(exit) = self.ended else { return self.judge() };
        // It may have answered although its goal was not reached.
        if let Some((StopReason::Stop, None)) = self.outcome
            && let Some(text) = self.answer.text().map(str::to_owned)
        {
            match self.print(&text).await {
                // A closed reader.
                Ok(()) | Err(Exit::Ok) => {}
                Err(exit) => return Err(exit),
            }
        }
        Err(exit)
    }

    /// Follows the events until the agent has settled.
    async fn settle(&mut self) -> Result<(), Exit> {
        loop {
            let beat = self.streams.progress.moves();
            let tells = self.waiting.as_ref().and_then(Waiting::tells);
            let event = tokio::select! {
                biased;
                event = self.driver.next() => event,
                () = deadline::until(tells) => {
                    self.tell_wait();
                    continue;
                }
                () = tokio::time::sleep(BEAT), if beat => {
                    self.streams.progress.beat();
                    continue;
                }
            };
            match event {
                BatchEvent::Agent(Some(AgentEvent::Run(RunEvent::AgentSettled { aborted }))) => {
                    self.streams.progress.show(&AgentEvent::Run(RunEvent::AgentSettled { aborted: false }));
                    if aborted && self.ended.is_none() && self.driver.stops.stopping().is_none() {
                        self.ended = Some(Exit::Aborted);
                        if !self.is_stopped_by_hook {
                            self.say("stopped from another process");
                        }
                    }
                    return Ok(());
                }
                BatchEvent::Agent(Some(event)) => self.fold(event),
                BatchEvent::Agent(None) => {
                    self.say(
                        "the agent ended unexpectedly; the session is saved: continue it with tau --continue",
                    );
                    return Err(Exit::Crash);
                }
                BatchEvent::Stop(Stop::Begin) => self.driver.abort(),
                BatchEvent::Stop(Stop::Now) => return Err(self.exit_after_stop()),
            }
        }
    }

    fn fold(&mut self, event: AgentEvent) {
        self.streams.progress.show(&event);
        match event {
            AgentEvent::Turn(TurnEvent::MessageEnd { message }) => {
                self.answer.add(&message);
                if let Message::Assistant(answer) = message.as_ref() {
                    self.outcome = Some((answer.stop_reason, answer.error_message.clone()));
                }
            }
            // The failed answer says it where that was too long.
            AgentEvent::Run(RunEvent::CompactionEnd { error_message: Some(why), reason, .. })
                if reason != CompactionReason::Overflow =>
            {
                self.say(&format!("the conversation could not be compacted: {why}"));
            }
            AgentEvent::Run(RunEvent::AutoRetryStart { delay_ms, error_message, .. }) => {
                self.await_provider(Duration::from_millis(delay_ms), error_message);
            }
            AgentEvent::Run(RunEvent::AutoRetryEnd { .. })
            | AgentEvent::Turn(TurnEvent::MessageStart { .. }) => self.waiting = None,
            AgentEvent::Session(SessionEvent::GoalChanged { goal: Some(goal) }) => {
                self.reached |= goal.state == GoalState::Reached;
            }
            AgentEvent::Run(RunEvent::RunStopped { reason }) => self.ended = Some(reason.into()),
            // A notice has said why.
            AgentEvent::Queue(QueueEvent::PromptRefused { .. }) => self.failed = true,
            AgentEvent::Questions(QuestionEvent::Asked { id, question }) => self.decline(id, &question),
            AgentEvent::Questions(QuestionEvent::ApprovalRequested { request }) => self.deny(&request),
            AgentEvent::Task(TaskEvent::Notice { level, text, hint }) if level != NoticeLevel::Info => {
                self.failed |= level == NoticeLevel::Error;
                self.is_stopped_by_hook |= text.starts_with(HOOK_STOPPED);
                // There are no slash commands here.
                let hint = hint.filter(|hint| !slash::names_command(hint));
                let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
                self.say(&format!("{text}{hint}"));
            }
            _ => {}
        }
    }

    /// Begins a wait, or continues one.
    fn await_provider(&mut self, delay: Duration, reason: String) {
        let now = Instant::now();
        let waiting = Waiting::begin_or_extend(self.waiting.take(), now, delay, reason);
        let is_due = waiting.due <= now;
        self.waiting = Some(waiting);
        if is_due {
            self.tell_wait();
        }
    }

    /// Reports the remaining wait until the provider accepts requests again.
    fn tell_wait(&mut self) {
        let now = Instant::now();
        let Some(waiting) = &mut self.waiting else { return };
        let (left, reason) = (waiting.until.saturating_duration_since(now), waiting.record_report(now));
        if let Some(reason) = reason {
            self.say(&reason);
        }
        let left = span(u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
        self.say(&format!("waiting until the provider takes requests again, in {left}"));
    }

    /// Denies a call, because there is no user to decide.
    fn deny(&mut self, request: &ApprovalRequest) {
        self.refused = true;
        let ApprovalRequest { id, tool_name, title, reasons, .. } = request;
        let why = reasons.first().map(|reason| reason.text.as_str()).unwrap_or_default();
        let shown = if why.is_empty() { String::new() } else { format!(" ({why})") };
        self.say(&format!("denied {tool_name} {title}{shown}: {NOBODY_DECIDES}"));
        let reason =
            if why.is_empty() { NOBODY_DECIDES.to_owned() } else { format!("{why}; {NOBODY_DECIDES}") };
        let answer = ApprovalAnswer::Deny { reason: Some(reason), stop: false };
        self.driver.send_soon(QuestionCommand::AnswerApproval { id: id.clone(), answer });
    }

    /// Declines a question, because there is no user to ask.
    fn decline(&mut self, id: String, question: &Question) {
        let answer = match question {
            Question::Select { title, .. } | Question::Confirm { title, .. } => {
                self.refused = true;
                self.say(&format!("refused: there is nobody to ask: {title}"));
                QuestionAnswer::Cancelled
            }
            Question::User { .. } | Question::Plan { .. } => QuestionAnswer::Unavailable,
            // The server decides on the consequences.
            Question::Form { server, .. } | Question::Url { server, .. } => {
                self.say(&format!("declined a question of MCP server {server}: there is nobody to ask"));
                QuestionAnswer::Declined
            }
        };
        self.driver.send_soon(QuestionCommand::Answer { id, answer });
    }

    /// Interprets the final answer.
    fn judge(&mut self) -> Result<FinalAnswer, Exit> {
        let Some((stop_reason, error)) = self.outcome.take() else {
            if self.reached {
                return Ok(FinalAnswer::Nothing);
            }
            if !self.failed {
                self.say("the model gave no answer");
            }
            return Err(Exit::Model);
        };
        let text = || self.answer.text().unwrap_or_default().to_owned();
        match Exit::from(stop_reason) {
            Exit::Ok => Ok(FinalAnswer::Fully(text())),
            Exit::Limit => Ok(FinalAnswer::CutOff(text())),
            exit => {
                if stop_reason == StopReason::Error {
                    self.say(error.as_deref().unwrap_or("the model failed"));
                }
                Err(exit)
            }
        }
    }

    /// Prints the text of the answer. A closed reader is no failure.
    async fn print(&mut self, text: &str) -> Result<(), Exit> {
        if text.is_empty() {
            self.say("the model's answer has no text");
            return Ok(());
        }
        let shown = if self.streams.out_is_terminal { plain::text(text) } else { text.to_owned() };
        let out = &mut self.streams.out;
        let write = async {
            out.write_all(answer::ensure_trailing_newline(&shown).as_bytes()).await?;
            out.flush().await
        };
        match self.driver.within(write).await {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) if error.kind() == ErrorKind::BrokenPipe => Err(Exit::Ok),
            Some(Err(error)) => {
                self.say(&format!("cannot write the answer to standard output: {error}"));
                Err(Exit::Model)
            }
            None => Err(self.exit_after_stop()),
        }
    }

    fn say(&mut self, text: &str) {
        self.streams.progress.say(&format!("tau: {}", without_numbers(text)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits for a provider are reported once they have taken half a minute, however many they consist of.
    #[test]
    fn long_waits_are_reported_however_short_each_is() {
        for (delay, count, expected) in [(31, 6, 4), (20, 10, 3), (20, 1, 0), (300, 1, 5), (5, 2, 0)] {
            let (mut now, mut waiting, mut reports, mut reasons) = (Instant::now(), None, 0, 0);
            for _ in 0..count {
                let delay = Duration::from_secs(delay);
                let mut next =
                    Waiting::begin_or_extend(waiting.take(), now, delay, "the quota is used up".into());
                let mut due = (next.due <= now).then_some(now).or(next.tells());
                while let Some(at) = due {
                    reports += 1;
                    reasons += usize::from(next.record_report(at).is_some());
                    due = next.tells();
                }
                now += delay;
                waiting = Some(next);
            }
            assert_eq!((reports, reasons), (expected, usize::from(expected > 0)), "{delay} s, {count}");
        }
    }
}
