//! A run as a stream of its events, and one-off runs without a permanent agent.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::{Stream, StreamExt};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Agent, AgentBuilder, AgentError, Events};
use tau_protocol::command::{AgentCommand, Queue, QueueCommand, RunCommand};
use tau_protocol::event::{AgentEvent, QueueEvent, RunEvent};
use tau_protocol::message::{Message, UserMessage};

/// The events of one run, in order. Ends after `RunEvent::AgentSettled`, or when the run could not start.
/// Also a [`Stream`]. Dropping it does not end the run unless this is the last handle of the agent.
#[derive(Debug)]
pub struct RunEvents {
    events: Events,
    agent: Agent,
    /// The messages of the run, once it has ended.
    messages: Option<Vec<Arc<Message>>>,
    /// Whether the run has begun: a message that is returned before that is its prompt.
    begun: bool,
    ended: bool,
    /// Ends the task that waits for the cancellation, which may come later and must not abort another run.
    watch: Option<DropGuard>,
}

impl RunEvents {
    /// Follows the run that `agent` is about to start.
    pub(super) fn new(agent: Agent, events: Events, cancel: CancellationToken) -> Self {
        let dropped = CancellationToken::new();
        let (watched, stopping) = (dropped.clone(), agent.clone());
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = watched.cancelled() => {}
                () = cancel.cancelled() => {
                    // An agent that has ended has nothing left to abort.
                    let _ = stopping.command(RunCommand::Abort).await;
                }
            }
        });
        let watch = Some(dropped.drop_guard());
        RunEvents { events, agent, messages: None, begun: false, ended: false, watch }
    }

    /// The next event; `None` after the end of the run.
    pub async fn recv(&mut self) -> Option<AgentEvent> {
        self.next().await
    }

    /// The agent that runs.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    fn end(&mut self) {
        self.ended = true;
        self.watch = None;
    }

    /// Follows the run to its end and returns its messages, including those that started it.
    ///
    /// # Errors
    /// When the run did not start, or the agent has ended.
    pub async fn finish(mut self) -> Result<Vec<Arc<Message>>, AgentError> {
        while self.next().await.is_some() {}
        let error = || self.agent.state().error.unwrap_or_else(|| "the run did not start".into());
        self.messages.take().ok_or_else(|| AgentError::Failed(error().into()))
    }
}

impl Stream for RunEvents {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let next = Pin::new(&mut self.events).poll_next(context);
        match &next {
            Poll::Ready(Some(AgentEvent::Run(RunEvent::AgentStart))) => self.begun = true,
            Poll::Ready(Some(AgentEvent::Run(RunEvent::AgentEnd { messages, .. }))) => {
                self.messages = Some(messages.clone());
            }
            Poll::Ready(Some(AgentEvent::Run(RunEvent::AgentSettled { .. })) | None) => self.end(),
            // The text of a refused prompt is returned.
            Poll::Ready(Some(AgentEvent::Queue(QueueEvent::QueueReturned { .. }))) if !self.begun => {
                self.end();
            }
            Poll::Ready(Some(_)) | Poll::Pending => {}
        }
        next
    }
}

/// Runs once: `messages` is the conversation so far, and `prompts` are added to it. The agent ends when the
/// stream is dropped, and leaves no session file unless `agent` has a session folder.
///
/// # Errors
/// When there is no model or no prompt, or `cancel` is cancelled already.
pub async fn agent_loop(
    agent: AgentBuilder,
    messages: Vec<Arc<Message>>,
    mut prompts: Vec<UserMessage>,
    cancel: CancellationToken,
) -> Result<RunEvents, AgentError> {
    let Some(last) = prompts.pop() else {
        return Err(AgentError::Refused("there is nothing to send: give a prompt".into()));
    };
    let agent = with_history(agent, messages).await?;
    // Messages in this queue go before the prompt.
    for message in prompts {
        agent.act(AgentCommand::Queue(QueueCommand::EnqueueMessage { message, queue: Queue::Steer })).await?;
    }
    agent
        .run_events(
            AgentCommand::Run(RunCommand::PromptMessage { message: last, streaming: Queue::Steer }),
            cancel,
        )
        .await
}

/// Like [`agent_loop`], but runs from `messages` without a prompt: the last is a user message, a tool result,
/// or an answer that failed.
///
/// # Errors
/// When there is no model or nothing to continue from, or `cancel` is cancelled already.
pub async fn agent_loop_continue(
    agent: AgentBuilder,
    messages: Vec<Arc<Message>>,
    cancel: CancellationToken,
) -> Result<RunEvents, AgentError> {
    if !crate::context::request::can_continue(&messages) {
        return Err(AgentError::Refused("nothing to continue from: send a prompt".into()));
    }
    let agent = with_history(agent, messages).await?;
    agent.run_events(AgentCommand::Run(RunCommand::Continue), cancel).await
}

async fn with_history(agent: AgentBuilder, messages: Vec<Arc<Message>>) -> Result<Agent, AgentError> {
    let agent = agent.start();
    if !messages.is_empty() {
        agent.replace_messages(messages).await?;
    }
    Ok(agent)
}
