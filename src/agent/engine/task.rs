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

use super::behavior::Conduct;
use super::compact::Room;
use super::history_paging;
use super::history_paging::Earlier;
use super::limits::{Limits, Meter, RunEnd};
use super::outbox::Outbox;
use super::questions::Questions;
use super::queue::Queues;
pub use super::retry::Patience;
use super::shell::Shells;
use super::{commands, session_commands};
use crate::agent::protocol::command::AgentCommand;
use crate::agent::protocol::event::{AgentEvent, NoticeLevel};
use crate::agent::protocol::message::Message;
use crate::agent::protocol::model::{Model, ThinkingLevel};
use crate::agent::provider::Transport;
use crate::agent::session::{Session, SessionError};
use crate::agent::settings::auth::KeySource;
use crate::tools::Toolbox;
use crate::tools::file_versions::FileVersions;
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
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
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
pub(crate) fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// What the agent does at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
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
pub(crate) struct Agent {
    pub(crate) config: AgentConfig,
    pub(crate) outbox: Outbox,
    inbox: mpsc::Receiver<AgentCommand>,
    pub(crate) queues: Queues,
    pub(crate) shells: Shells,
    pub(crate) file_versions: Arc<FileVersions>,
    /// Cancelled to stop the run in progress.
    pub(crate) stop: CancellationToken,
    /// Cancelled to end a wait before a retry.
    pub(crate) give_up: CancellationToken,
    pub(crate) phase: Phase,
    /// Commands that wait for the end of the run.
    pub(crate) later: VecDeque<AgentCommand>,
    /// Whether a request that failed in passing is sent again.
    pub(crate) auto_retry: bool,
    /// True once the task is to end.
    pub(crate) stopping: bool,
    /// True while the session cannot be written, which is told once.
    pub(crate) unwritten: bool,
    /// Messages that came during a run and are not of it.
    pub(crate) after_run: Vec<Arc<Message>>,
    /// Questions that the person has not answered.
    pub(crate) questions: Questions,
    /// Marks to be told when nothing is left to do.
    pub(crate) marks: Vec<String>,
    /// When the time of the run is up.
    pub(crate) deadline: Option<Instant>,
    /// What the present run has used, making room included.
    pub(crate) meter: Meter,
    /// The limit or the guard that ended the run.
    pub(crate) ended_by: Option<RunEnd>,
    /// How far back the session has been told.
    pub(crate) earlier: Earlier,
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
            file_versions: Arc::default(),
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
        session_commands::greet(&mut self);
        while !self.stopping {
            match self.later.pop_front() {
                Some(command) => commands::begin(&mut self, command).await,
                None => {
                    self.tell_marks();
                    self.serve().await;
                }
            }
        }
        let deadline = Instant::now() + END;
        self.end_shells(deadline).await;
        self.flush();
        if self.config.session.has_unsaved() {
            let text = "the end of this session could not be written and is lost";
            self.notice(NoticeLevel::Error, text, Some("what stands in its file can be gone on with"));
        }
        self.emit(AgentEvent::Stopped);
        while !self.outbox.is_empty() && timeout_at(deadline, self.outbox.tend()).await.is_ok() {}
    }

    /// Awaits `work` while commands, the person's shells and the outbox are served. While events
    /// wait for room `work` rests, unless the run is to stop: then it must be seen to.
    pub(crate) async fn attend<F: Future>(&mut self, work: F) -> F::Output {
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
    pub(crate) async fn attend_unless_stopped<F: Future>(&mut self, work: F) -> Option<F::Output> {
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
                Some(command) => commands::act(self, command),
                None => self.shut(),
            },
            () = due(deadline), if deadline.is_some() => self.time_up(),
            happening = self.shells.next(), if calm => commands::shell(self, happening),
            piece = self.earlier.next() => history_paging::take(self, piece),
        }
    }

    /// Acts on every command that is there already, so that none is overtaken by other work.
    fn act_on_waiting(&mut self) {
        while !self.stopping && self.outbox.len() < BACKLOG {
            match self.inbox.try_recv() {
                Ok(command) => commands::act(self, command),
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
    pub(crate) fn shut(&mut self) {
        self.stopping = true;
        self.stop.cancel();
        self.shells.cancel();
    }

    /// Ends the person's commands and waits for them, at most until `deadline`.
    pub(crate) async fn end_shells(&mut self, deadline: Instant) {
        self.shells.cancel();
        while !self.shells.is_empty() {
            if timeout_at(deadline, self.serve()).await.is_err() {
                self.shells = Shells::default();
            }
        }
    }

    /// Tells the front end.
    pub(crate) fn emit(&mut self, event: AgentEvent) {
        self.outbox.push(event);
    }

    /// Tells people something that is no message.
    pub(crate) fn notice(&mut self, level: NoticeLevel, text: impl Into<String>, hint: Option<&str>) {
        self.emit(AgentEvent::Notice { level, text: text.into(), hint: hint.map(str::to_owned) });
    }

    /// Appends a message to the session.
    pub(crate) fn record(&mut self, message: Arc<Message>) {
        let written = self.config.session.append(message);
        self.written(written);
    }

    /// Appends what came from outside during a run or a compaction.
    pub(crate) fn record_waiting(&mut self) {
        for message in std::mem::take(&mut self.after_run) {
            self.record(message.clone());
            commands::tell_whole(self, message);
        }
    }

    /// Reads what has not been read yet of a large session.
    pub(crate) fn complete(&mut self) {
        if let Err(error) = self.config.session.complete() {
            let text = format!("the earlier part of the session cannot be read: {error}");
            self.notice(NoticeLevel::Error, text, Some("the conversation goes on with what is known of it"));
        }
    }

    /// Brings the session to disk.
    pub(crate) fn flush(&mut self) {
        let flushed = self.config.session.flush();
        // Only this proves that nothing waits any more; an append may just have been put off.
        self.unwritten &= flushed.is_err();
        self.written(flushed);
    }

    /// Tells of a failed write, once until everything could be written again.
    pub(crate) fn written(&mut self, result: Result<(), SessionError>) {
        for remark in self.config.session.take_warnings() {
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
    pub(crate) fn cwd(&self) -> &Path {
        let own = &self.config.session.info().cwd;
        if own.is_dir() { own } else { &self.config.place.cwd }
    }

    /// Makes the system prompt anew, where it is made of something.
    pub(crate) fn renew_prompt(&mut self) {
        if let Some(system) = self.config.conduct.hooks.prompt_anew(self.cwd()) {
            self.config.system = system;
        }
    }

    /// The thinking level in force: what was asked for, as near as the model has it.
    pub(crate) fn thinking(&self) -> ThinkingLevel {
        let asked = self.config.thinking;
        self.config.model.as_ref().map_or(asked, |model| model.nearest(asked))
    }
}
