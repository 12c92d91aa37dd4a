//! Runs of an agent: starting, steering, stopping and waiting for them, and the message queues.

use tokio_util::sync::CancellationToken;

use super::run_events::RunEvents;
use super::{Agent, AgentError, AgentState};
use crate::context::request;
use tau_protocol::attachment::Attachment;
use tau_protocol::command::{AgentCommand, Queue, QueueChange, QueueCommand, QueuedMessage, RunCommand};
use tau_protocol::message::{AssistantMessage, Message, StopReason, UserMessage};
use tau_protocol::query::ask;
use tau_protocol::run::{QueueMode, SteerMode};

impl Agent {
    /// Starts a run with a message. During a run it steers.
    ///
    /// # Errors
    /// When no model is set, or the agent has ended. Failures during the run are reported by its
    /// events.
    pub async fn prompt(
        &self,
        text: impl Into<String>,
        attachments: impl IntoIterator<Item = Attachment>,
    ) -> Result<(), AgentError> {
        self.prompt_message(UserMessage::with_attachments(text, attachments.into_iter().collect())).await
    }

    /// Starts a run with a complete message, for example one with attachments or in blocks. During a run it
    /// steers. A message without a timestamp gets the current time.
    pub async fn prompt_message(&self, message: impl Into<UserMessage>) -> Result<(), AgentError> {
        Self::ready(&self.state())?;
        self.act(RunCommand::PromptMessage { message: message.into(), streaming: Queue::Steer }).await
    }

    /// Starts a run with a message and returns the events of this run, from its start to its end. Cancelling
    /// `cancel` aborts the run, which then still reports how it ended.
    ///
    /// # Errors
    /// Fails like [`Agent::prompt`], and when the message is empty, a run is in progress, or `cancel` is cancelled
    /// already.
    pub async fn prompt_stream(
        &self,
        message: impl Into<UserMessage>,
        cancel: CancellationToken,
    ) -> Result<RunEvents, AgentError> {
        let message = message.into();
        self.run_events(
            AgentCommand::Run(RunCommand::PromptMessage { message, streaming: Queue::Steer }),
            cancel,
        )
        .await
    }

    /// Starts a run with a command, and follows it.
    pub(super) async fn run_events(
        &self,
        command: AgentCommand,
        cancel: CancellationToken,
    ) -> Result<RunEvents, AgentError> {
        let (state, events) = self.subscribe_with_state();
        Self::ready(&state)?;
        if state.is_streaming {
            return Err(AgentError::Refused("the agent is already running: steer it, or wait".into()));
        }
        if let AgentCommand::Run(RunCommand::PromptMessage { message, .. }) = &command
            && message.is_blank()
        {
            return Err(AgentError::Refused("there is nothing to send: give a prompt".into()));
        }
        if cancel.is_cancelled() {
            return Err(AgentError::Refused("the run was cancelled before it started".into()));
        }
        self.command(command).await?;
        Ok(RunEvents::new(self.clone(), events, cancel))
    }

    /// The number of messages that leave a queue at once.
    pub async fn queue_mode(&self, queue: Queue) -> Result<QueueMode, AgentError> {
        let state = self.query(ask::State).await?;
        Ok(if queue == Queue::Steer { state.steering_mode } else { state.follow_up_mode })
    }

    /// Starts a run with a message, waits for its end, and returns its last answer.
    ///
    /// # Errors
    /// When there is no answer, or it failed or was aborted.
    pub async fn run(&self, text: impl Into<String>) -> Result<AssistantMessage, AgentError> {
        let before = self.state().messages.len();
        self.prompt(text, []).await?;
        self.wait_for_idle().await?;
        let state = self.state();
        let answer = state.messages.iter().skip(before).rev().find_map(|message| match message.as_ref() {
            Message::Assistant(answer) => Some(answer.clone()),
            _ => None,
        });
        let failed = |error: Option<String>| {
            AgentError::Failed(error.unwrap_or_else(|| "the run ended without an answer".into()).into())
        };
        match answer {
            None => Err(failed(state.error)),
            Some(answer) if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) => {
                Err(failed(answer.error_message))
            }
            Some(answer) => Ok(answer),
        }
    }

    /// Continues a conversation whose last message is a user message or a tool result, or whose last answer
    /// failed. Also starts a run with the queued messages.
    ///
    /// # Errors
    /// When there is nothing to continue, no model is set, or a run is in progress; when the agent
    /// has ended.
    pub async fn continue_(&self) -> Result<(), AgentError> {
        let state = self.state();
        let waiting = !state.steering.is_empty() || !state.follow_up.is_empty();
        if state.is_streaming {
            return Err(AgentError::Refused("the agent is already running: steer it, or wait".into()));
        }
        if !waiting && !request::can_continue(&state.messages) {
            return Err(AgentError::Refused("nothing to continue from: send a prompt".into()));
        }
        Self::ready(&state)?;
        self.act(RunCommand::Continue).await
    }

    /// Fails if no model is set.
    fn ready(state: &AgentState) -> Result<(), AgentError> {
        let no_model = || AgentError::Refused("no model is set: call `set_model` first".into());
        state.model.as_ref().map(|_| ()).ok_or_else(no_model)
    }

    /// Stops the run, including the model, its tools and any wait before a retry, and returns when it has
    /// ended. Queued messages stay queued.
    pub async fn abort(&self) -> Result<(), AgentError> {
        self.command(RunCommand::Abort).await?;
        self.wait_for_idle().await
    }

    /// Waits until every requested run has ended.
    pub async fn wait_for_idle(&self) -> Result<(), AgentError> {
        self.query(ask::Idle).await
    }

    /// Queues a steering message: the model sees it when the current tool call has ended. If nothing is
    /// running, it waits for the next run.
    pub async fn steer(
        &self,
        text: impl Into<String>,
        attachments: impl IntoIterator<Item = Attachment>,
    ) -> Result<(), AgentError> {
        self.enqueue(text.into(), attachments, Queue::Steer).await
    }

    /// Queues a follow-up: it is delivered when the agent would stop. If nothing is running, it waits for the
    /// next run.
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
        let message = UserMessage::with_attachments(text, attachments.into_iter().collect());
        self.act(QueueCommand::EnqueueMessage { message, queue }).await
    }

    /// Sets the number of messages that leave a queue at once.
    pub async fn set_queue_mode(&self, queue: Queue, mode: QueueMode) -> Result<(), AgentError> {
        self.act(QueueCommand::SetQueueMode { queue, mode }).await
    }

    /// Sets how steering affects the tool calls of its turn.
    pub async fn set_steer_mode(&self, mode: SteerMode) -> Result<(), AgentError> {
        self.act(QueueCommand::SetSteerMode { mode }).await
    }

    /// Edits, moves, discards or sends a queued message. If it is no longer queued, nothing changes and
    /// [`QueueEvent::QueueChangeFailed`] is emitted.
    ///
    /// [`QueueEvent::QueueChangeFailed`]: crate::QueueEvent::QueueChangeFailed
    pub async fn change_queued_message(
        &self,
        message: QueuedMessage,
        change: QueueChange,
    ) -> Result<(), AgentError> {
        self.act(QueueCommand::ChangeQueued { message, change }).await
    }

    /// Discards the messages in a queue; in both if none is named.
    pub async fn clear_queue(&self, queue: Option<Queue>) -> Result<(), AgentError> {
        self.act(QueueCommand::ClearQueue { queue }).await
    }
}
