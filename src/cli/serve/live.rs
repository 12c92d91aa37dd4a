//! A live session: an agent, its event log and facts, shared by all its clients. State of attached screens is
//! in `attach`.

mod attach;
mod given;
mod local;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncGuard, mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::event_log::{EventLog, Following, Position};
use super::facts::Facts;
use super::opening::Opening;
use super::sender::Sender;
use crate::services::Services;
use attach::Screens;
pub(crate) use attach::{Route, Screen};
use given::GivenAnswers;
use tau_agent::engine::live_helper::LiveHelper;
use tau_agent::engine::task::AgentHandle;
use tau_agent::{AgentCommand, AgentEvent};
use tau_protocol::command::{QuestionAnswer, QuestionCommand, TaskCommand};
use tau_protocol::event::{QuestionEvent, RunEvent, SettingsEvent, ShellEvent, TaskEvent, TurnEvent};
use tau_protocol::query::{QueryAnswer, TypedQuery, ask};
use tau_tools::user_error::UserError;

/// The first ticket of clients' queries: those of a screen in this process are lower.
const FIRST_TICKET: u64 = 1 << 62;
/// The next ticket. An agent passes on the answers of its helpers, so no two sessions share one.
static NEXT_TICKET: AtomicU64 = AtomicU64::new(FIRST_TICKET);

/// A session that is open here.
#[derive(Debug)]
pub(crate) struct LiveSession {
    pub id: String,
    /// The place of a helper's session.
    pub helper: Option<HelperOf>,
    commands: mpsc::Sender<AgentCommand>,
    state: Mutex<LiveState>,
    /// The number of the last event.
    last: watch::Sender<Position>,
    ended: watch::Sender<bool>,
    /// Held from the check of a prompt until the agent has accepted it.
    prompting: AsyncMutex<()>,
    /// The number of clients that follow its events.
    clients: AtomicUsize,
    /// The outcome of its end.
    fate: watch::Sender<Fate>,
    /// Counts changes of what lists show.
    changes: watch::Sender<u64>,
    /// Whether all events are kept for clients: false in a screen's process until the first client comes.
    is_logged: AtomicBool,
    /// The screen in this process that owns the agent.
    local: Option<mpsc::UnboundedSender<AgentEvent>>,
    /// The services for its attached screens: its files and settings.
    services: Arc<Services>,
}

/// The place of a helper's session.
#[derive(Clone, Debug)]
pub(crate) struct HelperOf {
    /// The id of its parent's session.
    pub parent: String,
    /// Its name and its task.
    pub title: String,
}

/// The state shared by all clients.
#[derive(Debug)]
struct LiveState {
    log: EventLog,
    facts: Facts,
    opening: Opening,
    screens: Screens,
    given: GivenAnswers,
    queries: HashMap<u64, oneshot::Sender<Answer>>,
    awaited: Vec<EventWait>,
    used: Instant,
}

/// The wait for an event, which may have left the log before it is read there.
#[derive(Debug)]
struct EventWait {
    is_it: fn(&AgentEvent) -> bool,
    sender: oneshot::Sender<AgentEvent>,
}

/// The answer to a query, and its moment in the events.
pub(crate) type Answer = (Result<QueryAnswer, UserError>, Moment);

/// A moment in the events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// The last event.
    pub last: Position,
    /// The position before everything incomplete at that moment.
    pub replay_from: Position,
}

/// The agent has ended.
#[derive(Debug)]
pub(crate) struct AgentEnded;

/// The outcome of a session's end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It can be opened again.
    #[default]
    Closed,
    /// Its deletion is pending.
    BeingDeleted,
    Deleted,
    /// Its deletion failed, for this reason.
    NotDeleted(String),
}

/// A client that follows the events; counted during its lifetime.
#[derive(Debug)]
pub(crate) struct Client(Arc<LiveSession>);

impl Drop for Client {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::Relaxed);
        self.0.touch();
        self.0.count_change();
    }
}

/// The end of a session, even after a panic: it wakes everything that waits for it, so that the session can
/// be opened again.
struct Ending<F: FnOnce()> {
    live: Arc<LiveSession>,
    ended: Option<F>,
}

impl<F: FnOnce()> Drop for Ending<F> {
    fn drop(&mut self) {
        if let Some(ended) = self.ended.take() {
            ended();
        }
        self.live.close();
    }
}

impl LiveSession {
    /// A session with the agent of this handle, whose events are folded until it ends. `each` gets every
    /// event, and `ended` is called at the end.
    pub fn start(
        facts: Facts,
        agent: AgentHandle,
        services: Arc<Services>,
        changes: watch::Sender<u64>,
        each: impl Fn(&AgentEvent) + Send + 'static,
        ended: impl FnOnce() + Send + 'static,
    ) -> Arc<Self> {
        let session = Arc::new(Self::new(facts, agent.commands, services, changes));
        session.follow(agent.events, Some(agent.task), each, ended);
        session
    }

    /// The session of a helper, whose events are folded until it ends; `ended` is called then.
    pub fn of_helper(
        helper: LiveHelper,
        services: Arc<Services>,
        changes: watch::Sender<u64>,
        ended: impl FnOnce() + Send + 'static,
    ) -> Arc<Self> {
        let LiveHelper { session, parent, title, thinking, mode, commands, events } = helper;
        let mut live = Self::new(Facts::new(session, thinking, mode, mode), commands, services, changes);
        live.helper = Some(HelperOf { parent, title });
        live.is_logged.store(false, Ordering::Relaxed);
        let live = Arc::new(live);
        live.follow(events, None, |_| {}, ended);
        live
    }

    /// A session of which no events were folded yet.
    fn new(
        facts: Facts,
        commands: mpsc::Sender<AgentCommand>,
        services: Arc<Services>,
        changes: watch::Sender<u64>,
    ) -> Self {
        Self::with_opening(facts, Opening::default(), commands, services, changes)
    }

    fn with_opening(
        facts: Facts,
        opening: Opening,
        commands: mpsc::Sender<AgentCommand>,
        services: Arc<Services>,
        changes: watch::Sender<u64>,
    ) -> Self {
        let name = tau_tools::ids::id().simple().to_string();
        // The last digits are the random ones.
        let name = name.get(name.len().saturating_sub(10)..).unwrap_or_default().to_owned();
        LiveSession {
            id: facts.mirror.session.id.clone(),
            helper: None,
            commands,
            state: Mutex::new(LiveState {
                log: EventLog::new(name),
                opening,
                facts,
                screens: Screens::default(),
                given: GivenAnswers::default(),
                queries: HashMap::new(),
                awaited: Vec::new(),
                used: Instant::now(),
            }),
            last: watch::Sender::new(0),
            ended: watch::Sender::new(false),
            prompting: AsyncMutex::default(),
            clients: AtomicUsize::new(0),
            fate: watch::Sender::default(),
            changes,
            is_logged: AtomicBool::new(true),
            local: None,
            services,
        }
    }

    /// Folds the agent's events from now on, until it ends. `each` gets every event, and `ended` is called at
    /// the end.
    pub fn follow(
        self: &Arc<Self>,
        mut events: mpsc::Receiver<AgentEvent>,
        task: Option<JoinHandle<()>>,
        each: impl Fn(&AgentEvent) + Send + 'static,
        ended: impl FnOnce() + Send + 'static,
    ) {
        let ending = Ending { live: Arc::clone(self), ended: Some(ended) };
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                each(&event);
                ending.live.take(event);
            }
            if let Some(task) = task {
                // A crash was reported as an event.
                let _ = task.await;
            }
        });
    }

    /// Handles an event: the answer to a query goes to its sender, everything else to all.
    fn take(&self, event: AgentEvent) {
        let mut state = self.state.lock();
        if let AgentEvent::Task(TaskEvent::Answered { ticket, answer }) = event {
            let last = state.log.last();
            let moment = Moment { last, replay_from: state.facts.replay_from(last) };
            if let Some(query) = state.queries.remove(&ticket) {
                // The sender may have left.
                let _ = query.send((answer, moment));
            }
            return;
        }
        drop(state);
        self.fold(&event);
    }

    /// Folds an event other than an answer; returns whether the screen in this process gets it.
    fn fold(&self, event: &AgentEvent) -> bool {
        let only = self.state.lock().screens.addressee(event);
        let is_for_here = only.as_ref().is_none_or(|only| *only == Sender::Here);
        self.log(event, only);
        is_for_here
    }

    /// Folds an event, which of all screens only that of this sender gets, if one is named.
    fn log(&self, event: &AgentEvent, only: Option<Sender>) {
        let mut state = self.state.lock();
        let last = state.log.last().saturating_add(1);
        let cost = state.facts.meter.total().cost.total;
        state.facts.take(event, last);
        let is_listed = is_listed(event) || state.facts.meter.total().cost.total > cost;
        state.opening.take(event);
        let is_over = |wait: &mut EventWait| (wait.is_it)(event) || wait.sender.is_closed();
        for wait in state.awaited.extract_if(.., is_over) {
            // Whoever waited may have left.
            let _ = wait.sender.send(event.clone());
        }
        // Whoever comes next begins with what is incomplete now.
        let is_incomplete = state.facts.replay_from(last) < last;
        match self.is_logged.load(Ordering::Relaxed) || is_incomplete {
            true => state.log.push(event.clone(), only),
            false => state.log.skip(),
        }
        drop(state);
        self.last.send_replace(last);
        if is_listed {
            self.count_change();
        }
    }

    fn count_change(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// A turn to check and send a prompt: no other one is sent during it.
    pub async fn prompting(&self) -> AsyncGuard<'_, ()> {
        self.prompting.lock().await
    }

    /// Notes that something else than the agent has ended which used the session.
    pub fn is_free(&self) {
        self.touch();
        self.count_change();
    }

    /// Adds an event from a source other than the agent.
    pub fn note(&self, event: AgentEvent) {
        self.take(event);
    }

    /// Reads the session facts and the position in the log under one lock.
    pub fn read_facts<T>(&self, read: impl FnOnce(&Facts, &EventLog) -> T) -> T {
        let state = self.state.lock();
        read(&state.facts, &state.log)
    }

    /// Sends a command of another program. Fails when the session has ended: its agent may work in another one by now.
    pub async fn send(&self, command: impl Into<AgentCommand>) -> Result<(), AgentEnded> {
        self.send_from(Sender::Program, command.into()).await
    }

    /// Returns an error if a message with this text is certainly refused. Fails when the agent has ended.
    pub async fn check_command(&self, text: &str) -> Result<Result<(), UserError>, AgentEnded> {
        Ok(self.ask(ask::Sendable { text: text.to_owned() }).await?.0)
    }

    /// The place for a command in the agent's queue.
    async fn slot(&self) -> Result<mpsc::Permit<'_, AgentCommand>, AgentEnded> {
        self.is_logged.store(true, Ordering::Relaxed);
        self.touch();
        let slot = self.commands.reserve().await.map_err(|_| AgentEnded)?;
        if *self.ended.borrow() { Err(AgentEnded) } else { Ok(slot) }
    }

    /// Sends a command from a context that cannot wait. One for a session that has ended is dropped.
    pub fn send_soon(self: &Arc<Self>, command: AgentCommand) {
        match self.commands.try_reserve() {
            Ok(slot) if !*self.ended.borrow() => slot.send(command),
            Ok(_) | Err(mpsc::error::TrySendError::Closed(())) => {}
            Err(mpsc::error::TrySendError::Full(())) => {
                let session = Arc::clone(self);
                tokio::spawn(async move { session.send(command).await });
            }
        }
    }

    /// Sends a query to the agent; returns the answer, and its moment in the events. Fails when the agent has
    /// ended.
    pub async fn ask<Q: TypedQuery>(
        &self,
        query: Q,
    ) -> Result<(Result<Q::Answer, UserError>, Moment), AgentEnded> {
        let query = query.query();
        let answer =
            self.begin_asking(|ticket| AgentCommand::Task(TaskCommand::Query { ticket, query })).await?;
        let (answer, moment) = answer.await.map_err(|_| AgentEnded)?;
        Ok((answer.and_then(Q::take), moment))
    }

    /// Sends a command with a ticket; returns the receiver of its answer. Fails when the agent has ended.
    pub async fn begin_asking(
        &self,
        command: impl FnOnce(u64) -> AgentCommand,
    ) -> Result<oneshot::Receiver<Answer>, AgentEnded> {
        let ticket = NEXT_TICKET.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.state.lock().queries.insert(ticket, sender);
        let sent = self.send(command(ticket)).await;
        if sent.is_err() {
            self.state.lock().queries.remove(&ticket);
        }
        sent.map(|()| answer)
    }

    /// Sends a command; returns the first later event of this kind. Fails when the agent has ended.
    pub async fn first_after(
        &self,
        command: AgentCommand,
        is_it: fn(&AgentEvent) -> bool,
    ) -> Result<AgentEvent, AgentEnded> {
        let (sender, found) = oneshot::channel();
        self.state.lock().awaited.push(EventWait { is_it, sender });
        self.send(command).await?;
        found.await.map_err(|_| AgentEnded)
    }

    /// Whether it still waits for the decision on a call.
    pub fn waits_for_approval(&self, id: &str) -> bool {
        self.read_facts(|facts, _| facts.mirror.approvals.iter().any(|request| request.id == id))
    }

    /// Answers a question; returns whether it was open. Fails when the session has ended.
    pub async fn answer_question(&self, id: String, answer: QuestionAnswer) -> Result<bool, AgentEnded> {
        // First, so that a client that leaves takes no question with it.
        let slot = self.slot().await?;
        let was_open = self.take_question(&id);
        if was_open {
            let command = QuestionCommand::Answer { id, answer }.into();
            self.note_sender(Sender::Program, &command);
            slot.send(command);
        }
        Ok(was_open)
    }

    /// Records that a question was answered; returns whether it was open.
    pub fn take_question(&self, id: &str) -> bool {
        let was_open = self.withdraw(id);
        if was_open {
            self.tell_local(id);
        }
        was_open
    }

    /// Records that a question was answered, and tells the attached screens; returns whether it was open.
    fn withdraw(&self, id: &str) -> bool {
        let was_open = {
            let mut state = self.state.lock();
            let was_open = state.facts.mirror.asks(id);
            state.facts.mirror.remove_question(id);
            was_open
        };
        if was_open {
            // The agent does not report it, and on every other screen the question is still open.
            self.log(&QuestionEvent::AskWithdrawn { id: id.to_owned() }.into(), None);
        }
        was_open
    }

    /// The services for its attached screens: its files and settings.
    pub fn services(&self) -> Arc<Services> {
        Arc::clone(&self.services)
    }

    /// The events after a position, of about `most` bytes.
    pub fn after(&self, position: Position, most: usize) -> Following {
        self.state.lock().log.after(position, most)
    }

    /// Waits until there is an event after this position, or none can follow. False then.
    pub async fn wait_after(&self, position: Position) -> bool {
        let (mut last, mut ended) = (self.last.subscribe(), self.ended.subscribe());
        tokio::select! {
            biased;
            found = last.wait_for(|last| *last > position) => found.is_ok(),
            _ = ended.wait_for(|ended| *ended) => *self.last.borrow() > position,
        }
    }

    /// Counts a client that follows the events.
    pub fn client(self: &Arc<Self>) -> Client {
        self.is_logged.store(true, Ordering::Relaxed);
        self.clients.fetch_add(1, Ordering::Relaxed);
        self.count_change();
        Client(Arc::clone(self))
    }

    /// Records that it is in use.
    pub fn touch(&self) {
        self.state.lock().used = Instant::now();
    }

    /// Time of its last use.
    pub fn last_use(&self) -> Instant {
        self.state.lock().used
    }

    /// Time since its last use; `None` while it has clients, works, or has background jobs.
    pub fn idle_time(&self) -> Option<Duration> {
        let state = self.state.lock();
        let is_used = state.facts.is_at_work()
            || self.clients.load(Ordering::Relaxed) > 0
            || self.services.hosted.is_at_work();
        (!is_used).then(|| state.used.elapsed())
    }

    /// The number of clients that follow its events.
    pub fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    /// Ends the agent, and waits until its session file is complete and closed.
    pub async fn end(&self) {
        // If the command is not accepted, it has already ended.
        let _ = self.commands.send(AgentCommand::Task(TaskCommand::Shutdown)).await;
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// Ends the agent like [`Self::end`]. Attached clients learn of the end once [`Self::set_outcome`] was called.
    pub async fn end_to_delete(&self) {
        self.fate.send_replace(Fate::BeingDeleted);
        self.end().await;
    }

    /// Sets the outcome.
    pub fn set_outcome(&self, fate: Fate) {
        self.fate.send_replace(fate);
    }

    /// The outcome of its end; waits while it is being deleted.
    pub async fn fate(&self) -> Fate {
        let mut fate = self.fate.subscribe();
        let settled = fate.wait_for(|fate| *fate != Fate::BeingDeleted).await;
        settled.map(|fate| fate.clone()).unwrap_or_default()
    }

    /// Waits until all commands sent so far have taken effect; returns that moment. Fails when the agent has
    /// ended.
    pub async fn sync(&self) -> Result<Moment, AgentEnded> {
        self.ask(ask::Sync).await.map(|(_, moment)| moment)
    }

    /// Saves everything sent so far in the session's file; returns an error if it cannot be written. Fails when the agent
    /// has ended.
    pub async fn flush(&self) -> Result<Result<(), UserError>, AgentEnded> {
        self.ask(ask::Stored).await.map(|(stored, _)| stored)
    }

    /// Saves what is in memory only; returns whether everything is saved. Until then, it counts as work.
    pub async fn save(&self) -> bool {
        // One that has ended has said how.
        let unsaved = self.flush().await.ok().and_then(Result::err);
        let is_saved = unsaved.is_none();
        let mut state = self.state.lock();
        state.facts.unsaved = unsaved.map(|why| why.to_string());
        let was_saving = std::mem::replace(&mut state.facts.is_saving, !is_saved);
        drop(state);
        if was_saving == is_saved {
            self.count_change();
        }
        is_saved
    }

    /// Sets why other processes cannot find it, or that they can; returns whether that is news.
    pub fn set_unreachable(&self, why: Option<String>) -> bool {
        let unreachable = &mut self.state.lock().facts.unreachable;
        let is_news = *unreachable != why;
        *unreachable = why;
        is_news
    }

    /// Waits until nothing is running. Fails when the agent has ended.
    pub async fn idle(&self) -> Result<(), AgentEnded> {
        self.ask(ask::Idle).await.map(drop)
    }
}

/// Whether an event changes what lists show of a session, besides its cost.
fn is_listed(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::Run(event) => matches!(
            event,
            RunEvent::AgentStart
                | RunEvent::AgentSettled { .. }
                | RunEvent::AutoRetryStart { .. }
                | RunEvent::AutoRetryEnd { .. }
                | RunEvent::CompactionStart { .. }
                | RunEvent::CompactionEnd { .. }
        ),
        AgentEvent::Turn(event) => matches!(event, TurnEvent::MessageEnd { .. }),
        AgentEvent::Questions(_) | AgentEvent::Session(_) => true,
        AgentEvent::Settings(event) => {
            matches!(event, SettingsEvent::ModelChanged { .. } | SettingsEvent::PermissionModeChanged { .. })
        }
        AgentEvent::Shell(event) => !matches!(event, ShellEvent::BashExecutionUpdate { .. }),
        AgentEvent::Queue(_) | AgentEvent::Task(_) => false,
    }
}

/// A frame without an event, which keeps connections open.
pub(crate) const KEEP_ALIVE: Bytes = Bytes::from_static(b": still here\n\n");
