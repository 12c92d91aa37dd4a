//! Open questions to the user.

use std::collections::HashMap;

use tokio::sync::oneshot;

use tau_protocol::command::QuestionAnswer;
use tau_tools::user::UserRequest;

/// Questions that are waiting for an answer.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    asked: u64,
    open: HashMap<String, oneshot::Sender<QuestionAnswer>>,
    of_tools: HashMap<String, UserRequest>,
}

impl Questions {
    /// Whether no question is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.of_tools.is_empty()
    }

    /// Opens a question; returns its id and the receiver of the answer.
    pub(crate) fn open(&mut self) -> (String, oneshot::Receiver<QuestionAnswer>) {
        let id = self.next_id();
        let (sender, answer) = oneshot::channel();
        self.open.insert(id.clone(), sender);
        (id, answer)
    }

    /// Opens a question of a tool and returns its id.
    pub(crate) fn open_request(&mut self, request: UserRequest) -> String {
        let id = self.next_id();
        self.of_tools.insert(id.clone(), request);
        id
    }

    /// Removes the tool request that this question belongs to; `None` for any other question.
    pub(crate) fn take_request(&mut self, id: &str) -> Option<UserRequest> {
        self.of_tools.remove(id)
    }

    fn next_id(&mut self) -> String {
        self.asked += 1;
        format!("q{}", self.asked)
    }

    /// Opens a question that already has an id.
    pub(crate) fn open_as(&mut self, id: String, answer: oneshot::Sender<QuestionAnswer>) {
        self.open.insert(id, answer);
    }

    /// Drops all open questions and returns their ids.
    pub(crate) fn close_all(&mut self) -> Vec<String> {
        let mut ids: Vec<String> = self.open.drain().map(|(id, _)| id).collect();
        ids.extend(self.of_tools.drain().map(|(id, _)| id));
        ids.sort();
        ids
    }

    /// Drops a question that is no longer waiting.
    pub(crate) fn close(&mut self, id: &str) {
        self.open.remove(id);
    }

    /// Delivers an answer; one to a question that is not open is dropped.
    pub(crate) fn answer(&mut self, id: &str, answer: QuestionAnswer) {
        if let Some(waiting) = self.open.remove(id) {
            // The receiver may be gone by now.
            let _ = waiting.send(answer);
        }
    }
}
