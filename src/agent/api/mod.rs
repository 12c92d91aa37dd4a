//! The agent as a library: a handle that front ends hold, share and listen to.
//!
//! [`Agent`] is thin: its methods are commands to the agent task, its state is a fold over the task's events,
//! and you can use both directly ([`Agent::command`], [`Agent::query`], [`Agent::subscribe`]). It never runs
//! a turn or touches a session itself. [`AgentBuilder`] sets what an agent starts with; [`CodingAgent`] is an
//! agent with the coding tools, their system prompt and a directory. [`spawn`] starts the task without a
//! handle that folds its events. All data types are in [`protocol`](tau_protocol).

mod builder;
mod coding;
pub mod events;
mod handle_state;
mod keys;
mod run_events;
mod runs;
mod state;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};

pub use super::engine::behavior::{Behavior, OnAsk};
pub use super::engine::config::{AgentConfig, FindModel, SessionPlace};
pub use super::engine::hooks::Hooks;
pub use super::engine::host::{Host, RuleEdit, SavedRule};
pub use super::engine::task::{AgentHandle, spawn};
pub use super::engine::tool_registry::ToolRegistry;
use super::protocol::approval::{ApprovalAnswer, PermissionMode};
use super::protocol::command::{AgentCommand, QuestionAnswer, Tuning};
use super::protocol::goal::GoalOrder;
use super::protocol::message::Message;
use super::protocol::mirror::SessionMirror;
use super::protocol::model::{Model, ThinkingBudgets, ThinkingLevel};
use super::protocol::query::{TypedQuery, ask};
use super::protocol::rules::{PermissionRules, RuleChange};
use super::protocol::run::RunLimits;
pub use builder::AgentBuilder;
pub use coding::{CodingAgent, CodingAgentBuilder};
pub use events::Events;
use handle_state::{AgentEnd, HandleState, PendingQuery, fold};
pub use keys::{EnvKeys, KeyFn, NoKeys, OneKey};
pub use run_events::{RunEvents, agent_loop, agent_loop_continue};
pub use state::AgentState;
use tau_protocol::command::{
    QuestionCommand, QueueCommand, RunCommand, SessionCommand, SettingsCommand, TaskCommand,
};
use tau_tools::Toolbox;
use tau_tools::user_error::UserError;

/// The reason a call of the handle failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// The agent task has ended: it was shut down, or it crashed.
    #[error("the agent has ended")]
    Ended,
    /// The agent cannot do this now; the text says what to do instead.
    #[error("{0}")]
    Refused(String),
    /// There is no answer; the text is the provider's message, or the agent's.
    #[error("{0}")]
    Failed(UserError),
}

/// A running agent. Clones share one agent; it ends, with everything it started, when the last clone is
/// dropped. All methods can be called at any time, also during a run; each returns once it has taken effect
/// and [`Agent::state`] shows it. Those that can fail do so with [`AgentError::Ended`] once the agent has ended.
///
/// ```
/// # async fn example() -> Result<(), tau_agent::api::AgentError> {
/// use tau_agent::api::Agent;
/// use tau_agent::catalogue;
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
    state: Arc<Mutex<HandleState>>,
    tools: ToolRegistry,
    tickets: AtomicU64,
    ended: watch::Receiver<bool>,
}

/// The first of the handle's own tickets; smaller ones are free for [`Agent::command`].
const FIRST_TICKET: u64 = 1 << 63;

impl Agent {
    /// Sets what an agent starts with; [`AgentBuilder::start`] starts it.
    pub fn builder() -> AgentBuilder {
        AgentBuilder::default()
    }

    /// Starts an agent on the current tokio runtime.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(config: AgentConfig) -> Self {
        let mut state = HandleState::default();
        state.fold.mirror = SessionMirror {
            session: config.session.info().clone(),
            model: config.model.clone(),
            thinking: config.model.as_ref().map_or(config.thinking, |model| model.nearest(config.thinking)),
            mode: config.behavior.permission_mode,
            ..SessionMirror::default()
        };
        let agent = &mut state.fold.state;
        agent.system = Arc::clone(&config.system);
        agent.tools = config.tools.specs().into_iter().map(|spec| spec.name).collect();
        agent.messages = config.session.context().messages;
        let tools = config.behavior.tools.clone();
        let AgentHandle { commands, events, task } = spawn(config);
        let state = Arc::new(Mutex::new(state));
        let (sender, ended) = watch::channel(false);
        tokio::spawn(fold(AgentEnd { events, task }, Arc::clone(&state), sender));
        Agent {
            inner: Arc::new(Inner { commands, state, tools, tickets: AtomicU64::new(FIRST_TICKET), ended }),
        }
    }

    /// The current state of the agent.
    pub fn state(&self) -> AgentState {
        self.inner.state.lock().fold.snapshot()
    }

    /// Subscribes to every event from now on, in order. There may be several subscribers.
    pub fn subscribe(&self) -> Events {
        self.inner.state.lock().subscribers.add()
    }

    /// The current state of the agent and every later event: no event is missing between the two, and none is
    /// in both.
    pub fn subscribe_with_state(&self) -> (AgentState, Events) {
        let mut state = self.inner.state.lock();
        (state.fold.snapshot(), state.subscribers.add())
    }

    /// Sets the name of the conversation for provider caches from the next request on; `None` uses the id of
    /// its session, which does not change.
    pub async fn set_session_id(&self, id: Option<String>) -> Result<(), AgentError> {
        self.act(SettingsCommand::Tune(Tuning::ConversationId { id })).await
    }

    /// Uses this model from the next request on.
    pub async fn set_model(&self, model: impl Into<Arc<Model>>) -> Result<(), AgentError> {
        self.act(SettingsCommand::SetModel { model: model.into() }).await
    }

    /// Uses this thinking level from the next request on, or the closest that the model has.
    pub async fn set_thinking(&self, level: ThinkingLevel) -> Result<(), AgentError> {
        self.act(SettingsCommand::SetThinking { level }).await
    }

    /// Uses these thinking budgets, in tokens by level, if the wire format supports them.
    pub async fn set_budgets(&self, budgets: ThinkingBudgets) -> Result<(), AgentError> {
        self.act(SettingsCommand::SetBudgets { budgets }).await
    }

    /// Uses this sampling temperature from the next request on, from 0 to 2; `None` for the provider's own.
    pub async fn set_temperature(&self, temperature: Option<f64>) -> Result<(), AgentError> {
        self.act(SettingsCommand::Tune(Tuning::Temperature { temperature })).await
    }

    /// Sends this system prompt from the next request on.
    pub async fn set_system(&self, text: impl Into<String>) -> Result<(), AgentError> {
        let text = text.into();
        self.act(SettingsCommand::SetSystem { text: text.clone() }).await?;
        self.inner.state.lock().fold.state.system = text.into();
        Ok(())
    }

    /// Offers these tools, and no others, from the next request on.
    pub async fn set_tools(&self, tools: Toolbox) -> Result<(), AgentError> {
        let names: Vec<String> = tools.specs().into_iter().map(|spec| spec.name).collect();
        tools.iter().for_each(|tool| self.inner.tools.register(Arc::clone(tool)));
        self.act(SettingsCommand::SetTools { names: names.clone(), by_mode: false }).await?;
        self.inner.state.lock().fold.state.tools = names;
        Ok(())
    }

    /// Applies these limits immediately; a time limit applies from the next run on.
    pub async fn set_limits(&self, limits: RunLimits) -> Result<(), AgentError> {
        self.act(SettingsCommand::SetLimits { limits }).await
    }

    /// Sets the goal, a command that decides when a run is done; `None` ends it. The next run continues until the
    /// command succeeds.
    pub async fn set_goal(&self, goal: Option<GoalOrder>) -> Result<(), AgentError> {
        self.act(SessionCommand::SetGoal { goal }).await
    }

    /// Appends a message to the conversation; during a run, once the run has ended.
    pub async fn append_message(&self, message: impl Into<Arc<Message>>) -> Result<(), AgentError> {
        self.act(SessionCommand::AppendMessage { message: message.into() }).await
    }

    /// Continues from these messages instead of the current ones. Aborts a run first.
    pub async fn replace_messages(&self, messages: Vec<Arc<Message>>) -> Result<(), AgentError> {
        self.command(SessionCommand::ReplaceMessages { messages }).await?;
        self.wait_for_idle().await
    }

    /// Clears the conversation. Aborts a run first. The messages stay in the session file, as a
    /// branch.
    pub async fn clear_messages(&self) -> Result<(), AgentError> {
        self.replace_messages(Vec::new()).await
    }

    /// Aborts, empties the queues, and clears the conversation and the last error. Model, tools and
    /// settings stay.
    pub async fn reset(&self) -> Result<(), AgentError> {
        self.command(RunCommand::Abort).await?;
        self.command(QueueCommand::ClearQueue { queue: None }).await?;
        self.clear_messages().await?;
        self.inner.state.lock().fold.state.error = None;
        Ok(())
    }

    /// Answers an approval request (`QuestionEvent::ApprovalRequested`).
    pub async fn answer_approval(
        &self,
        id: impl Into<String>,
        answer: ApprovalAnswer,
    ) -> Result<(), AgentError> {
        self.act(QuestionCommand::AnswerApproval { id: id.into(), answer }).await
    }

    /// Applies this permission mode from now on. Something must listen for `QuestionEvent::ApprovalRequested`
    /// and answer the requests.
    pub async fn set_permission_mode(&self, mode: PermissionMode) -> Result<(), AgentError> {
        self.act(SettingsCommand::SetPermissionMode { mode }).await
    }

    /// Changes a permission rule, also in its file if it is in one, and returns all rules after the change.
    /// Waiting calls are judged again. [`ask::PermissionRules`] lists the rules without a change.
    ///
    /// # Errors
    /// When the change is invalid or cannot be saved, or the agent has ended.
    pub async fn change_rules(&self, change: RuleChange) -> Result<PermissionRules, AgentError> {
        let command = |ticket| AgentCommand::Settings(SettingsCommand::ChangeRules { ticket, change });
        self.request_answer::<ask::PermissionRules>(false, command).await
    }

    /// Answers a question (`QuestionEvent::Asked`).
    pub async fn answer(&self, id: impl Into<String>, answer: QuestionAnswer) -> Result<(), AgentError> {
        self.act(QuestionCommand::Answer { id: id.into(), answer }).await
    }

    /// Ends the agent: aborts everything that is running, completes the session file, and returns when
    /// everything it started has ended. Dropping all clones does the same in the background.
    pub async fn shutdown(&self) {
        // An error means that the agent has ended already.
        let _ = self.inner.commands.send(AgentCommand::Task(TaskCommand::Shutdown)).await;
        let _ = self.inner.ended.clone().wait_for(|ended| *ended).await;
    }

    /// Sends any command. Returns when the agent has received it, which may be before it takes effect.
    pub async fn command(&self, command: impl Into<AgentCommand>) -> Result<(), AgentError> {
        let command = command.into();
        self.inner.state.lock().fold.mirror.apply_command(&command);
        self.inner.commands.send(command).await.map_err(|_| AgentError::Ended)
    }

    /// Asks about the session: [`ask`] has a type for each question, which knows the type of its answer. The
    /// answer is as of all commands sent before.
    ///
    /// # Errors
    /// When there is no answer, or the agent has ended.
    pub async fn query<Q: TypedQuery>(&self, query: Q) -> Result<Q::Answer, AgentError> {
        self.ask(query, false).await
    }

    /// Loads every message on the current branch of the session into [`AgentState::messages`], and
    /// returns them. A session that was opened from a large file, or that was compacted, starts with
    /// the end of the conversation only, so that opening it is fast.
    pub async fn load_history(&self) -> Result<Vec<Arc<Message>>, AgentError> {
        self.ask(ask::History, true).await
    }

    /// Sends a command and waits until the state shows its effect.
    async fn act(&self, command: impl Into<AgentCommand>) -> Result<(), AgentError> {
        self.command(command).await?;
        self.query(ask::Sync).await
    }

    async fn ask<Q: TypedQuery>(&self, query: Q, loads_history: bool) -> Result<Q::Answer, AgentError> {
        let query = query.query();
        let command = |ticket| AgentCommand::Task(TaskCommand::Query { ticket, query });
        self.request_answer::<Q>(loads_history, command).await
    }

    /// Sends a command with a ticket, and waits for its answer.
    async fn request_answer<Q: TypedQuery>(
        &self,
        loads_history: bool,
        command: impl FnOnce(u64) -> AgentCommand,
    ) -> Result<Q::Answer, AgentError> {
        let ticket = self.inner.tickets.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.inner.state.lock().queries.insert(ticket, PendingQuery { answer: sender, loads_history });
        if *self.inner.ended.borrow() {
            return Err(AgentError::Ended);
        }
        self.command(command(ticket)).await?;
        let answer = answer.await.map_err(|_| AgentError::Ended)?.and_then(Q::take);
        answer.map_err(AgentError::Failed)
    }
}
