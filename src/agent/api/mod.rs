//! The agent as a library: a handle that any front end can hold, share and listen to.
//!
//! [`Agent`] is thin: its methods are commands to the agent task, its state is a fold over the
//! task's events, and both are open to use directly ([`Agent::command`], [`Agent::subscribe`]).
//! It never runs a turn or touches a session itself. [`AgentBuilder`] says what an agent begins
//! with; [`CodingAgent`] is one with the coding tools, their system prompt and a directory.

mod builder;
mod coding;
mod events;
mod keys;
mod state;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot, watch};

use super::context::request;
use super::engine::behavior::{Budgets, QueueMode, Shelf, SteerMode};
use super::engine::limits::Limits;
use super::engine::task;
use super::engine::task::{AgentConfig, AgentHandle};
use super::protocol::attachment::Attachment;
use super::protocol::command::{AgentCommand, Answer, Queue, When};
use super::protocol::event::AgentEvent;
use super::protocol::message::{AssistantMessage, Message, StopReason};
use super::protocol::model::{Model, ThinkingLevel};
use crate::tools::Toolbox;
pub use builder::AgentBuilder;
pub use coding::{CodingAgent, CodingAgentBuilder};
pub use events::Events;
use events::Subscribers;
pub use keys::{EnvKeys, KeyFn, NoKeys, OneKey};
pub use state::AgentState;
use state::Fold;

/// Why a call of the handle failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// The agent task is no more: it was shut down, or it crashed.
    #[error("the agent has ended")]
    Ended,
    /// The agent is not in a state for this; says what to do.
    #[error("{0}")]
    Refused(String),
    /// The run gave no answer; the provider's words, or the agent's.
    #[error("{0}")]
    Failed(String),
}

/// A running agent. Clones are the same agent; it ends, with all it started, when the last one
/// is dropped. All methods may be called at any time, also during a run; each returns once the
/// agent has acted on it and [`Agent::state`] shows it.
///
/// ```
/// # async fn example() -> Result<(), tau::agent::api::AgentError> {
/// use tau::agent::api::Agent;
/// use tau::agent::catalogue;
///
/// let agent = Agent::builder().model(catalogue::demo()).system("You are brief.").start();
/// let mut events = agent.subscribe();
/// agent.prompt("help", []).await?;
/// agent.wait_for_idle().await?;
/// assert!(!agent.state().is_streaming);
/// assert!(events.recv().await.is_some());
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone)]
pub struct Agent {
    inner: Arc<Inner>,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("session", &self.state().session.id).finish_non_exhaustive()
    }
}

struct Inner {
    commands: mpsc::Sender<AgentCommand>,
    board: Arc<Mutex<Board>>,
    shelf: Shelf,
    marks: AtomicU64,
    ended: watch::Receiver<bool>,
}

/// What the events are folded into.
#[derive(Default)]
struct Board {
    fold: Fold,
    subscribers: Subscribers,
    /// Who waits for a mark, by its id.
    marks: HashMap<String, oneshot::Sender<()>>,
}

impl Board {
    fn take(&mut self, event: &AgentEvent) {
        if let AgentEvent::Marked { id } = event
            && let Some(waiting) = self.marks.remove(id)
        {
            // Who waited may have gone meanwhile.
            let _ = waiting.send(());
            return;
        }
        self.fold.take(event);
        self.subscribers.tell(event);
    }
}

fn open(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Folds the events until the agent has ended.
async fn fold(handle: AgentEnd, board: Arc<Mutex<Board>>, ended: watch::Sender<bool>) {
    let AgentEnd { mut events, task } = handle;
    while let Some(event) = events.recv().await {
        open(&board).take(&event);
    }
    // A crash was told as an event.
    let _ = task.await;
    let mut board = open(&board);
    board.fold.take(&AgentEvent::Stopped);
    board.marks.clear();
    board.subscribers.end();
    ended.send_replace(true);
}

/// The far end of a handle, without its commands: those are the agent's life line.
struct AgentEnd {
    events: mpsc::Receiver<AgentEvent>,
    task: tokio::task::JoinHandle<()>,
}

impl Agent {
    /// What an agent begins with; [`AgentBuilder::start`] starts it.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::default()
    }

    /// Starts an agent on the current tokio runtime.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(config: AgentConfig) -> Self {
        let mut board = Board::default();
        let state = &mut board.fold.state;
        state.system = Arc::clone(&config.system);
        state.model.clone_from(&config.model);
        state.thinking =
            config.model.as_ref().map_or(config.thinking, |model| model.nearest(config.thinking));
        state.tools = config.tools.specs().into_iter().map(|spec| spec.name).collect();
        state.messages = config.session.context().messages;
        state.session = config.session.info().clone();
        let shelf = config.conduct.shelf.clone();
        let AgentHandle { commands, events, task } = task::spawn(config);
        let board = Arc::new(Mutex::new(board));
        let (sender, ended) = watch::channel(false);
        tokio::spawn(fold(AgentEnd { events, task }, Arc::clone(&board), sender));
        Agent { inner: Arc::new(Inner { commands, board, shelf, marks: AtomicU64::new(0), ended }) }
    }

    /// The agent as it is now.
    pub fn state(&self) -> AgentState {
        self.board().fold.snapshot()
    }

    /// Every event from now on, in order. There may be several subscribers.
    pub fn subscribe(&self) -> Events {
        self.board().subscribers.add()
    }

    /// Starts a run with a message. During a run it steers.
    ///
    /// # Errors
    /// When no model is set, or the agent has ended. What goes wrong in the run is told by its
    /// events.
    pub async fn prompt(
        &self,
        text: impl Into<String>,
        attachments: impl IntoIterator<Item = Attachment>,
    ) -> Result<(), AgentError> {
        Self::ready(&self.state())?;
        let images = attachments.into_iter().map(Attachment::block).collect();
        self.act(AgentCommand::Prompt { text: text.into(), images, streaming: Queue::Steer }).await
    }

    /// Starts a run with a message, waits for its end, and gives the last answer in it.
    ///
    /// # Errors
    /// When there is none, or it failed or was aborted.
    pub async fn run(&self, text: impl Into<String>) -> Result<AssistantMessage, AgentError> {
        let before = self.state().messages.len();
        self.prompt(text, []).await?;
        self.wait_for_idle().await?;
        let state = self.state();
        let answer = state.messages.iter().skip(before).rev().find_map(|message| match message.as_ref() {
            Message::Assistant(answer) => Some(answer.clone()),
            _ => None,
        });
        let failed =
            |error: Option<String>| AgentError::Failed(error.unwrap_or_else(|| "no answer came".into()));
        match answer {
            None => Err(failed(state.error)),
            Some(answer) if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) => {
                Err(failed(answer.error_message))
            }
            Some(answer) => Ok(answer),
        }
    }

    /// Goes on from a conversation whose last message is the person's or a tool result, or whose
    /// last answer failed; also with what waits in the queues.
    ///
    /// # Errors
    /// When there is nothing to go on from, no model, or a run already; when the agent has ended.
    pub async fn continue_(&self) -> Result<(), AgentError> {
        let state = self.state();
        let waiting = !state.steering.is_empty() || !state.follow_up.is_empty();
        if state.is_streaming {
            return Err(AgentError::Refused("the agent is working already: steer it, or wait".into()));
        }
        if !waiting && !request::can_go_on(&state.messages) {
            return Err(AgentError::Refused("there is nothing to go on from: send a prompt".into()));
        }
        Self::ready(&state)?;
        self.act(AgentCommand::Continue).await
    }

    /// Whether there is a model to ask.
    fn ready(state: &AgentState) -> Result<(), AgentError> {
        let none = || AgentError::Refused("no model is set: call `set_model` first".into());
        state.model.as_ref().map(|_| ()).ok_or_else(none)
    }

    /// Stops the run: the model, its tools, a wait before a retry. The queues stay as they are.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn abort(&self) -> Result<(), AgentError> {
        self.act(AgentCommand::Abort).await
    }

    /// Waits until every run that was asked for has ended.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn wait_for_idle(&self) -> Result<(), AgentError> {
        self.mark(When::Idle).await
    }

    /// Puts a message into the run: it is looked at when the present tool call has ended. While
    /// nothing runs it waits for the next run.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn steer(
        &self,
        text: impl Into<String>,
        attachments: impl IntoIterator<Item = Attachment>,
    ) -> Result<(), AgentError> {
        self.enqueue(text.into(), attachments, Queue::Steer).await
    }

    /// Puts a message behind the run: it is delivered when the agent would stop. While nothing
    /// runs it waits for the next run.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn follow_up(
        &self,
        text: impl Into<String>,
        attachments: impl IntoIterator<Item = Attachment>,
    ) -> Result<(), AgentError> {
        self.enqueue(text.into(), attachments, Queue::FollowUp).await
    }

    async fn enqueue(
        &self,
        text: String,
        attachments: impl IntoIterator<Item = Attachment>,
        queue: Queue,
    ) -> Result<(), AgentError> {
        let images = attachments.into_iter().map(Attachment::block).collect();
        self.act(AgentCommand::Enqueue { text, images, queue }).await
    }

    /// How many messages leave a queue at once.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn set_queue_mode(&self, queue: Queue, mode: QueueMode) -> Result<(), AgentError> {
        self.act(AgentCommand::SetQueueMode { queue, mode }).await
    }

    /// What steering does to the calls of its turn.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn set_steer_mode(&self, mode: SteerMode) -> Result<(), AgentError> {
        self.act(AgentCommand::SetSteerMode { mode }).await
    }

    /// Throws away what waits in a queue; in both, without one.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn clear_queue(&self, queue: Option<Queue>) -> Result<(), AgentError> {
        self.act(AgentCommand::ClearQueue { queue }).await
    }

    /// Uses this model from the next request on.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn set_model(&self, model: impl Into<Arc<Model>>) -> Result<(), AgentError> {
        self.act(AgentCommand::SetModel { model: model.into() }).await
    }

    /// Thinks this hard from the next request on, as near as the model has it.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn set_thinking(&self, level: ThinkingLevel) -> Result<(), AgentError> {
        self.act(AgentCommand::SetThinking { level }).await
    }

    /// Thinks within these budgets, in tokens by level, where the wire format takes any.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn set_budgets(&self, budgets: Budgets) -> Result<(), AgentError> {
        self.act(AgentCommand::SetBudgets { budgets }).await
    }

    /// Sends this system prompt from the next request on.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn set_system(&self, text: impl Into<String>) -> Result<(), AgentError> {
        let text = text.into();
        self.act(AgentCommand::SetSystem { text: text.clone() }).await?;
        self.board().fold.state.system = text.into();
        Ok(())
    }

    /// Offers these tools, and no others, from the next request on.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn set_tools(&self, tools: Toolbox) -> Result<(), AgentError> {
        let names: Vec<String> = tools.specs().into_iter().map(|spec| spec.name).collect();
        tools.iter().for_each(|tool| self.inner.shelf.put(Arc::clone(tool)));
        self.act(AgentCommand::SetTools { names: names.clone() }).await?;
        self.board().fold.state.tools = names;
        Ok(())
    }

    /// Holds these limits from now on; a limit of time from the next run on.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn set_limits(&self, limits: Limits) -> Result<(), AgentError> {
        self.act(AgentCommand::SetLimits { limits }).await
    }

    /// Adds a message to the conversation; during a run, when it has ended.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn append_message(&self, message: impl Into<Arc<Message>>) -> Result<(), AgentError> {
        self.act(AgentCommand::AppendMessage { message: message.into() }).await
    }

    /// Goes on from these messages in place of the present ones. A run is aborted first.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn replace_messages(&self, messages: Vec<Arc<Message>>) -> Result<(), AgentError> {
        self.command(AgentCommand::ReplaceMessages { messages }).await?;
        self.wait_for_idle().await
    }

    /// Forgets the conversation. A run is aborted first. In a session file it stays as a branch.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn clear_messages(&self) -> Result<(), AgentError> {
        self.replace_messages(Vec::new()).await
    }

    /// Aborts, empties the queues and forgets the conversation and the last error. Model, tools
    /// and settings stay.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn reset(&self) -> Result<(), AgentError> {
        self.command(AgentCommand::Abort).await?;
        self.command(AgentCommand::ClearQueue { queue: None }).await?;
        self.clear_messages().await?;
        self.board().fold.state.error = None;
        Ok(())
    }

    /// Answers a question (`AgentEvent::Asked`).
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn answer(&self, id: impl Into<String>, answer: Answer) -> Result<(), AgentError> {
        self.act(AgentCommand::Answer { id: id.into(), answer }).await
    }

    /// Ends the agent: aborts what runs, completes the session file, and returns when all that it
    /// started is gone. Dropping all clones does the same in the background.
    pub async fn shutdown(&self) {
        // An error means that the agent has ended already.
        let _ = self.inner.commands.send(AgentCommand::Shutdown).await;
        let _ = self.inner.ended.clone().wait_for(|ended| *ended).await;
    }

    /// Sends any command. Returns when it was taken, which may be before it is acted on.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn command(&self, command: AgentCommand) -> Result<(), AgentError> {
        self.inner.commands.send(command).await.map_err(|_| AgentError::Ended)
    }

    /// Sends a command and waits until the state shows it.
    async fn act(&self, command: AgentCommand) -> Result<(), AgentError> {
        self.command(command).await?;
        self.mark(When::Now).await
    }

    async fn mark(&self, when: When) -> Result<(), AgentError> {
        let id = format!("mark {}", self.inner.marks.fetch_add(1, Ordering::Relaxed));
        let (sender, told) = oneshot::channel();
        self.board().marks.insert(id.clone(), sender);
        if *self.inner.ended.borrow() {
            return Err(AgentError::Ended);
        }
        self.command(AgentCommand::Mark { id, when }).await?;
        told.await.map_err(|_| AgentError::Ended)
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        open(&self.inner.board)
    }
}
