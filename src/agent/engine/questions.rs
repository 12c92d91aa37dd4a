//! Questions to the person: asked as an event, answered by a command with the same id.

use std::collections::HashMap;

use tokio::sync::oneshot;

use super::task::Agent;
use crate::agent::protocol::command::Answer;
use crate::agent::protocol::event::{AgentEvent, Question};

/// Questions that wait for an answer.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    asked: u64,
    open: HashMap<String, oneshot::Sender<Answer>>,
}

impl Questions {
    /// Passes an answer on; one that nobody waits for is dropped.
    pub(crate) fn answer(&mut self, id: &str, answer: Answer) {
        if let Some(waiting) = self.open.remove(id) {
            // Who asked may have gone meanwhile.
            let _ = waiting.send(answer);
        }
    }
}

/// Asks, and waits for the answer while commands are served. The end of the run cancels.
pub(crate) async fn ask(agent: &mut Agent, question: Question) -> Answer {
    agent.questions.asked += 1;
    let id = format!("q{}", agent.questions.asked);
    let (sender, answer) = oneshot::channel();
    agent.questions.open.insert(id.clone(), sender);
    agent.emit(AgentEvent::Asked { id: id.clone(), question });
    let answer = agent.attend_unless_stopped(answer).await;
    agent.questions.open.remove(&id);
    match answer {
        Some(Ok(answer)) => answer,
        Some(Err(_)) | None => Answer::Cancelled,
    }
}
