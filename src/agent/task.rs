//! The agent task: commands in, events out, one owner of the conversation.
//!
//! One task owns the session, the queues and the run. While anything is awaited, commands are
//! served by the same task (see `Agent::attend`), so there is no lock and no second owner.
//! What a command does is in `act`; a run is `run`; the person's own commands are `shell`.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::ask::Questions;
use super::command::AgentCommand;
use super::compact::Room;
use super::conduct::Conduct;
use super::earlier::{self, Earlier};
use super::event::{AgentEvent, NoticeLevel};
use super::limits::{Limits, Meter, RunEnd};
use super::message::Message;
use super::model::{Model, ThinkingLevel};
use super::outbox::Outbox;
use super::provider::Transport;
use super::queue::Queues;
pub use super::retry::Patience;
use super::session::{Session, SessionError};
use super::settings::auth::KeySource;
use super::shell::Shells;
use super::{act, switch};
use crate::tools::Toolbox;
use crate::tools::ledger::Ledger;
use crate::tools::process::ChildEnv;
use crate::tools::scratch::Scratch;

/// Commands that may wait for the agent.
const COMMANDS: usize = 64;
/// Events that may wait for the front end.
const EVENTS: usize = 256;
/// Events beyond those after which commands, too, are left waiting.
const BACKLOG: usize = 1_024;
/// How long the end of the task may take, behind the end of a run: together under a second.
const END: Duration = Duration::from_millis(400);

/// How new sessions are begun, and where.
#[derive(Clone, Debug)]
pub struct SessionPlace {
    /// Folder for new session files; none keeps them in memory.
    pub dir: Option<PathBuf>,
    /// The directory new sessions run in.
    pub cwd: PathBuf,
}

/// Finds a model by provider and id.
pub type FindModel = dyn Fn(&str, &str) -> Option<Arc<Model>> + Send + Sync;

/// Everything an agent starts with.
pub struct AgentConfig {
    pub transport: Arc<dyn Transport>,
    pub keys: Arc<dyn KeySource>,
    pub tools: Toolbox,
    /// With none, the model of a resumed session is looked up.
    pub model: Option<Arc<Model>>,
    pub thinking: ThinkingLevel,
    pub session: Session,
    pub place: SessionPlace,
    /// The system prompt: byte-identical from turn to turn.
    pub system: Arc<str>,
    pub scratch: Arc<Scratch>,
    pub env: Arc<ChildEnv>,
    /// The shell of the person's own commands.
    pub shell: PathBuf,
    /// Timeout of shell calls that name none, in seconds.
    pub bash_timeout: Option<u64>,
    /// Finds the model a resumed session names.
    pub find_model: Arc<FindModel>,
    /// Retries of one request, at most.
    pub max_retries: u32,
    /// Whether somebody is there to end a long wait.
    pub patience: Patience,
    /// How far a run may go.
    pub limits: Limits,
    /// How the agent behaves where there is a choice.
    pub conduct: Conduct,
    /// When and how room is made in the context.
    pub room: Room,
}

/// The near end of a running agent. Dropping it ends the agent and everything it started.
pub struct AgentHandle {
    /// Bounded; `send` waits when the agent is behind.
    pub commands: mpsc::Sender<AgentCommand>,
    /// Bounded; the agent waits when nobody reads. Ends after `AgentEvent::Stopped`.
    pub events: mpsc::Receiver<AgentEvent>,
    pub task: JoinHandle<()>,
}

/// Starts the task on the current runtime. Its first event is `SessionOpened`; `ModelChanged`
/// (when there is a model) and `ThinkingLevelChanged` follow, so that a front end needs nothing
/// else to show where it stands.
pub fn spawn(config: AgentConfig) -> AgentHandle {
    let (commands, inbox) = mpsc::channel(COMMANDS);
    let (sender, events) = mpsc::channel(EVENTS);
    let agent = Agent::new(config, inbox, Outbox::new(sender.clone()));
    let task = tokio::spawn(async move {
        if let Err(panic) = AssertUnwindSafe(agent.live()).catch_unwind().await {
            let text = format!("the agent crashed: {}", panic_text(&*panic));
            let hint = "what was said is in the session file; start tau again with --continue";
            let notice = AgentEvent::Notice { level: NoticeLevel::Error, text, hint: Some(hint.into()) };
            for event in [notice, AgentEvent::Stopped] {
                if sender.send(event).await.is_err() {
                    return;
                }
            }
        }
    });
    AgentHandle { commands, events, task }
}

/// The words of a panic.
pub(super) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no reason given".into())
}

async fn due(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Milliseconds since 1970.
pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// What the agent does at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Idle,
    /// Between the start of a run and its end.
    Running,
    /// Between the end of a run and its settling.
    Settling,
    /// The person asked for a compaction.
    Compacting,
    /// Another session is taken up.
    Switching,
}

/// What the task owns.
pub(super) struct Agent {
    pub(super) config: AgentConfig,
    pub(super) outbox: Outbox,
    inbox: mpsc::Receiver<AgentCommand>,
    pub(super) queues: Queues,
    pub(super) shells: Shells,
    pub(super) ledger: Arc<Ledger>,
    /// Cancelled to stop the run in progress.
    pub(super) stop: CancellationToken,
    /// Cancelled to end a wait before a retry.
    pub(super) give_up: CancellationToken,
    pub(super) phase: Phase,
    /// Commands that wait for the end of the run.
    pub(super) later: VecDeque<AgentCommand>,
    /// Whether a request that failed in passing is sent again.
    pub(super) auto_retry: bool,
    /// True once the task is to end.
    pub(super) stopping: bool,
    /// True while the session cannot be written, which is told once.
    pub(super) unwritten: bool,
    /// Messages that came during a run and are not of it.
    pub(super) after_run: Vec<Arc<Message>>,
    /// Questions that the person has not answered.
    pub(super) questions: Questions,
    /// Marks to be told when nothing is left to do.
    pub(super) marks: Vec<String>,
    /// When the time of the run is up.
    pub(super) deadline: Option<Instant>,
    /// What the present run has used, making room included.
    pub(super) meter: Meter,
    /// The limit or the guard that ended the run.
    pub(super) ended_by: Option<RunEnd>,
    /// How far back the session has been told.
    pub(super) earlier: Earlier,
}

impl Agent {
    fn new(config: AgentConfig, inbox: mpsc::Receiver<AgentCommand>, outbox: Outbox) -> Self {
        let queues = Queues::with_modes(config.conduct.steering, config.conduct.follow_up);
        config.conduct.shelf.stock(&config.tools);
        Agent {
            config,
            outbox,
            inbox,
            queues,
            shells: Shells::default(),
            ledger: Arc::default(),
            stop: CancellationToken::new(),
            give_up: CancellationToken::new(),
            phase: Phase::Idle,
            later: VecDeque::new(),
            auto_retry: true,
            stopping: false,
            unwritten: false,
            after_run: Vec::new(),
            questions: Questions::default(),
            marks: Vec::new(),
            deadline: None,
            meter: Meter::default(),
            ended_by: None,
            earlier: Earlier::default(),
        }
    }

    /// Lives until `Shutdown` or until the handle is dropped.
    async fn live(mut self) {
        switch::greet(&mut self);
        while !self.stopping {
            match self.later.pop_front() {
                Some(command) => act::begin(&mut self, command).await,
                None => {
                    self.tell_marks();
                    self.serve().await;
                }
            }
        }
        let deadline = Instant::now() + END;
        self.end_shells(deadline).await;
        self.flush();
        if self.config.session.owes() {
            let text = "the end of this session could not be written and is lost";
            self.notice(NoticeLevel::Error, text, Some("what stands in its file can be gone on with"));
        }
        self.emit(AgentEvent::Stopped);
        while !self.outbox.is_empty() && timeout_at(deadline, self.outbox.tend()).await.is_ok() {}
    }

    /// Awaits `work` while commands, the person's shells and the outbox are served. While events
    /// wait for room `work` rests, unless the run is to stop: then it must be seen to.
    pub(super) async fn attend<F: Future>(&mut self, work: F) -> F::Output {
        let mut work = pin!(work);
        loop {
            self.act_on_waiting();
            let open = self.outbox.is_empty() || self.stop.is_cancelled();
            tokio::select! {
                () = self.serve() => {}
                output = &mut work, if open => return output,
            }
        }
    }

    /// As [`Agent::attend`], but ends with none as soon as the run is to stop.
    pub(super) async fn attend_unless_stopped<F: Future>(&mut self, work: F) -> Option<F::Output> {
        let stop = self.stop.clone();
        self.attend(stop.run_until_cancelled(work)).await
    }

    /// Does one thing: sends an event, acts on a command, passes on what a shell did or what was
    /// read of the session. Cancel safe: whatever it takes it also deals with, without an await between.
    async fn serve(&mut self) {
        let heard = self.outbox.len() < BACKLOG && !self.stopping;
        let calm = self.outbox.is_empty() || self.shells.ending();
        let deadline = self.deadline;
        tokio::select! {
            () = self.outbox.tend(), if !self.outbox.deaf() => {
                if self.outbox.deaf() {
                    self.shut();
                }
            }
            command = self.inbox.recv(), if heard => match command {
                Some(command) => act::act(self, command),
                None => self.shut(),
            },
            () = due(deadline), if deadline.is_some() => self.time_up(),
            happening = self.shells.next(), if calm => act::shell(self, happening),
            piece = self.earlier.next() => earlier::take(self, piece),
        }
    }

    /// Acts on every command that is there already, so that none is overtaken by other work.
    fn act_on_waiting(&mut self) {
        while !self.stopping && self.outbox.len() < BACKLOG {
            match self.inbox.try_recv() {
                Ok(command) => act::act(self, command),
                Err(mpsc::error::TryRecvError::Empty) => return,
                Err(mpsc::error::TryRecvError::Disconnected) => self.shut(),
            }
        }
    }

    /// Ends the run because its time is over.
    fn time_up(&mut self) {
        self.deadline = None;
        if !self.stop.is_cancelled() {
            self.ended_by = Some(RunEnd::Time);
            self.stop.cancel();
        }
    }

    /// Tells the marks that wait until nothing is left to do.
    fn tell_marks(&mut self) {
        for id in std::mem::take(&mut self.marks) {
            self.emit(AgentEvent::Marked { id });
        }
    }

    /// Begins the end of the task.
    pub(super) fn shut(&mut self) {
        self.stopping = true;
        self.stop.cancel();
        self.shells.cancel();
    }

    /// Ends the person's commands and waits for them, at most until `deadline`.
    pub(super) async fn end_shells(&mut self, deadline: Instant) {
        self.shells.cancel();
        while !self.shells.is_empty() {
            if timeout_at(deadline, self.serve()).await.is_err() {
                self.shells = Shells::default();
            }
        }
    }

    /// Tells the front end.
    pub(super) fn emit(&mut self, event: AgentEvent) {
        self.outbox.push(event);
    }

    /// Tells people something that is no message.
    pub(super) fn notice(&mut self, level: NoticeLevel, text: impl Into<String>, hint: Option<&str>) {
        self.emit(AgentEvent::Notice { level, text: text.into(), hint: hint.map(str::to_owned) });
    }

    /// Appends a message to the session.
    pub(super) fn record(&mut self, message: Arc<Message>) {
        let written = self.config.session.append(message);
        self.written(written);
    }

    /// Appends what came from outside during a run or a compaction.
    pub(super) fn record_waiting(&mut self) {
        for message in std::mem::take(&mut self.after_run) {
            self.record(message.clone());
            act::tell_whole(self, message);
        }
    }

    /// Reads what has not been read yet of a large session.
    pub(super) fn complete(&mut self) {
        if let Err(error) = self.config.session.complete() {
            let text = format!("the earlier part of the session cannot be read: {error}");
            self.notice(NoticeLevel::Error, text, Some("the conversation goes on with what is known of it"));
        }
    }

    /// Brings the session to disk.
    pub(super) fn flush(&mut self) {
        let flushed = self.config.session.flush();
        // Only this proves that nothing waits any more; an append may just have been put off.
        self.unwritten &= flushed.is_err();
        self.written(flushed);
    }

    /// Tells of a failed write, once until everything could be written again.
    pub(super) fn written(&mut self, result: Result<(), SessionError>) {
        for remark in self.config.session.take_remarks() {
            self.notice(NoticeLevel::Warning, remark, Some("look after the disk, and who else works on it"));
        }
        if let (Err(error), false) = (result, self.unwritten) {
            self.unwritten = true;
            let text = format!("the session cannot be written: {error}");
            let hint = "the conversation goes on in memory; every message tries again, so making room helps";
            self.notice(NoticeLevel::Error, text, Some(hint));
        }
    }

    /// Where tools and the person's commands run: the session's directory, which never changes;
    /// where that is gone, the directory the agent was started in.
    pub(super) fn cwd(&self) -> &Path {
        let own = &self.config.session.info().cwd;
        if own.is_dir() { own } else { &self.config.place.cwd }
    }

    /// Makes the system prompt anew, where it is made of something.
    pub(super) fn renew_prompt(&mut self) {
        if let Some(system) = self.config.conduct.hooks.prompt_anew(self.cwd()) {
            self.config.system = system;
        }
    }

    /// The thinking level in force: what was asked for, as near as the model has it.
    pub(super) fn thinking(&self) -> ThinkingLevel {
        let asked = self.config.thinking;
        self.config.model.as_ref().map_or(asked, |model| model.nearest(asked))
    }
}
