//! A live session: an agent, the log of its events, and what is known of it, shared by all its clients.
//! What only attached screens have is in `attach`.

mod attach;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncGuard, mpsc, oneshot, watch};

use super::event_log::{EventLog, Following, Position};
use super::facts::Facts;
use super::opening::Opening;
use crate::protocol;
use crate::tui::services::Services;
use attach::Screens;
pub(crate) use attach::{Route, Screen};
use tau_agent::engine::task::AgentHandle;
use tau_agent::{AgentCommand, AgentEvent};
use tau_protocol::command::TaskCommand;
use tau_protocol::event::{QuestionEvent, SessionEvent, TaskEvent};
use tau_protocol::query::{Query, QueryAnswer};

/// A session that is open here.
#[derive(Debug)]
pub(crate) struct LiveSession {
    pub id: String,
    commands: mpsc::Sender<AgentCommand>,
    board: Mutex<Board>,
    /// The number of the last event.
    last: watch::Sender<Position>,
    ended: watch::Sender<bool>,
    tickets: AtomicU64,
    /// Held from the judgement of a prompt until the agent has taken it.
    prompting: AsyncMutex<()>,
    /// Clients that follow its events.
    clients: AtomicUsize,
    /// What becomes of it when it ends.
    fate: watch::Sender<Fate>,
    /// What its attached screens ask about its files and settings.
    services: Arc<Services>,
}

/// What all clients share.
#[derive(Debug)]
struct Board {
    log: EventLog,
    facts: Facts,
    opening: Opening,
    screens: Screens,
    queries: HashMap<u64, oneshot::Sender<Answer>>,
    used: Instant,
}

/// The answer to a query, and when it holds.
pub(crate) type Answer = (Result<QueryAnswer, String>, Moment);

/// A moment in the events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// The last event.
    pub last: Position,
    /// The position before everything that is not complete then.
    pub replay_from: Position,
}

/// The agent has ended.
#[derive(Debug)]
pub(crate) struct Ended;

/// What becomes of a session that ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It can be opened again.
    #[default]
    Closed,
    /// It is to be deleted, and whether that works is not known yet.
    BeingDeleted,
    Deleted,
    /// It was to be deleted, and why it was not.
    NotDeleted(String),
}

/// A client that follows the events; counted as long as it lives.
#[derive(Debug)]
pub(crate) struct Client(Arc<LiveSession>);

impl Drop for Client {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::Relaxed);
        self.0.touch();
    }
}

/// The end of a session, also after a panic: it wakes whoever waits for it, so that the session can be opened again.
struct Ending<F: FnOnce()> {
    live: Arc<LiveSession>,
    ended: Option<F>,
}

impl<F: FnOnce()> Drop for Ending<F> {
    fn drop(&mut self) {
        self.live.board.lock().queries.clear();
        if let Some(ended) = self.ended.take() {
            ended();
        }
        self.live.ended.send_replace(true);
    }
}

impl LiveSession {
    /// A session with the agent of this handle; what it reports is folded until it ends. `each` gets
    /// every event, and `ended` is called in the end.
    pub fn start(
        id: String,
        facts: Facts,
        agent: AgentHandle,
        services: Services,
        each: impl Fn(&AgentEvent) + Send + 'static,
        ended: impl FnOnce() + Send + 'static,
    ) -> Arc<Self> {
        let opening = tau_tools::ids::id().simple().to_string();
        // The last digits are the random ones.
        let opening = opening.get(opening.len().saturating_sub(10)..).unwrap_or_default().to_owned();
        let board = Board {
            log: EventLog::new(opening),
            opening: Opening::new(facts.mirror.session.clone(), facts.mirror.mode),
            facts,
            screens: Screens::default(),
            queries: HashMap::new(),
            used: Instant::now(),
        };
        let session = Arc::new(LiveSession {
            id,
            commands: agent.commands,
            board: Mutex::new(board),
            last: watch::Sender::new(0),
            ended: watch::Sender::new(false),
            tickets: AtomicU64::new(1),
            prompting: AsyncMutex::default(),
            clients: AtomicUsize::new(0),
            fate: watch::Sender::default(),
            services: Arc::new(services),
        });
        let ending = Ending { live: Arc::clone(&session), ended: Some(ended) };
        let (mut events, task) = (agent.events, agent.task);
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                each(&event);
                ending.live.take(event);
            }
            // A crash was reported as an event.
            let _ = task.await;
        });
        session
    }

    /// Takes an event: the answer to a query goes to whoever asked, everything else to all.
    fn take(&self, event: AgentEvent) {
        let mut board = self.board.lock();
        if let AgentEvent::Task(TaskEvent::Answered { ticket, answer }) = event {
            let last = board.log.last();
            let moment = Moment { last, replay_from: board.facts.replay_from(last) };
            if let Some(query) = board.queries.remove(&ticket) {
                // Whoever asked may have left.
                let _ = query.send((answer, moment));
            }
            return;
        }
        let last = board.log.last().saturating_add(1);
        board.facts.take(&event, last);
        board.opening.take(&event);
        let only = board.screens.addressee(&event);
        board.log.push(&record(&event), event, only);
        drop(board);
        self.last.send_replace(last);
    }

    /// A turn to judge and send a prompt: no other one is sent meanwhile.
    pub async fn prompting(&self) -> AsyncGuard<'_, ()> {
        self.prompting.lock().await
    }

    /// Adds an event that does not come from the agent.
    pub fn note(&self, event: AgentEvent) {
        self.take(event);
    }

    /// Reads the session facts and the position in the log under one lock.
    pub fn read_facts<T>(&self, read: impl FnOnce(&Facts, &EventLog) -> T) -> T {
        let board = self.board.lock();
        read(&board.facts, &board.log)
    }

    /// Sends a command.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn send(&self, command: AgentCommand) -> Result<(), Ended> {
        self.touch();
        self.commands.send(command).await.map_err(|_| Ended)
    }

    /// Sends a command from where nothing can wait.
    pub fn send_soon(self: &Arc<Self>, command: AgentCommand) {
        if let Err(mpsc::error::TrySendError::Full(command)) = self.commands.try_send(command) {
            let session = Arc::clone(self);
            tokio::spawn(async move { session.commands.send(command).await });
        }
    }

    /// Asks the agent; the answer, and the moment at which it holds.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn ask(&self, query: Query) -> Result<Answer, Ended> {
        let answer =
            self.begin_asking(|ticket| AgentCommand::Task(TaskCommand::Query { ticket, query })).await?;
        answer.await.map_err(|_| Ended)
    }

    /// Sends a command with a ticket; what gets its answer.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn begin_asking(
        &self,
        command: impl FnOnce(u64) -> AgentCommand,
    ) -> Result<oneshot::Receiver<Answer>, Ended> {
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.board.lock().queries.insert(ticket, sender);
        if *self.ended.borrow() {
            return Err(Ended);
        }
        self.send(command(ticket)).await?;
        Ok(answer)
    }

    /// Whether it still waits for the decision on a call.
    pub fn waits_for_approval(&self, id: &str) -> bool {
        self.read_facts(|facts, _| facts.mirror.approvals.iter().any(|request| request.id == id))
    }

    /// Notes that a question was answered; whether it waited.
    pub fn take_question(&self, id: &str) -> bool {
        let mut board = self.board.lock();
        let waited = board.facts.mirror.asks(id);
        board.facts.mirror.answered(id);
        board.opening.answered(id);
        if waited {
            // No event says so, and on every other screen the question is still open.
            let last = board.log.last();
            board
                .screens
                .tell_all(last, &AgentEvent::Questions(QuestionEvent::AskWithdrawn { id: id.to_owned() }));
        }
        waited
    }

    /// What its attached screens ask about its files and settings.
    pub fn services(&self) -> Arc<Services> {
        Arc::clone(&self.services)
    }

    /// The events after a position, of about `most` bytes.
    pub fn after(&self, position: Position, most: usize) -> Following {
        self.board.lock().log.after(position, most)
    }

    /// Waits until there is an event after this position, or none can come. False then.
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
        self.clients.fetch_add(1, Ordering::Relaxed);
        Client(Arc::clone(self))
    }

    /// Notes that somebody uses it.
    pub fn touch(&self) {
        self.board.lock().used = Instant::now();
    }

    /// When it was used last.
    pub fn used_at(&self) -> Instant {
        self.board.lock().used
    }

    /// For how long nobody has used it; `None` while somebody does, or it works.
    pub fn unused_for(&self) -> Option<Duration> {
        let board = self.board.lock();
        let is_used = board.facts.mirror.running || self.clients.load(Ordering::Relaxed) > 0;
        (!is_used).then(|| board.used.elapsed())
    }

    /// Clients that follow its events.
    pub fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    /// Ends the agent, and waits until its session file is complete and closed.
    pub async fn end(&self) {
        // It has ended if nobody takes the command.
        let _ = self.commands.send(AgentCommand::Task(TaskCommand::Shutdown)).await;
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// Ends the agent as [`Self::end`] does. Whoever is attached learns of the end once [`Self::settle`] was called.
    pub async fn end_to_delete(&self) {
        self.fate.send_replace(Fate::BeingDeleted);
        self.end().await;
    }

    /// Sets the outcome.
    pub fn set_outcome(&self, fate: Fate) {
        self.fate.send_replace(fate);
    }

    /// What has become of it; waits while it is being deleted.
    pub async fn fate(&self) -> Fate {
        let mut fate = self.fate.subscribe();
        let settled = fate.wait_for(|fate| *fate != Fate::BeingDeleted).await;
        settled.map(|fate| fate.clone()).unwrap_or_default()
    }

    /// Waits until all commands that were sent have taken effect; the moment then.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn caught_up(&self) -> Result<Moment, Ended> {
        self.ask(Query::Sync).await.map(|(_, moment)| moment)
    }

    /// Waits until nothing runs.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn idle(&self) -> Result<(), Ended> {
        self.ask(Query::Idle).await.map(drop)
    }
}

/// The record of an event: as `rpc` has it where `rpc` has one, else the event as it is.
fn record(event: &AgentEvent) -> Value {
    match event {
        // Its messages are in the history.
        AgentEvent::Session(SessionEvent::SessionOpened { session, .. }) => {
            serde_json::json!({ "type": "session_opened", "session": session })
        }
        AgentEvent::Task(TaskEvent::Stopped) => serde_json::json!({ "type": "session_closed" }),
        event => protocol::event(event).unwrap_or_else(|| serde_json::to_value(event).unwrap_or_default()),
    }
}

/// A frame without an event, which keeps connections open.
pub(crate) const KEEP_ALIVE: Bytes = Bytes::from_static(b": still here\n\n");
