//! Open questions to the user.

use std::collections::HashMap;

use tokio::sync::oneshot;

use crate::agent::protocol::command::QuestionAnswer;

/// Questions that are waiting for an answer.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    asked: u64,
    open: HashMap<String, oneshot::Sender<QuestionAnswer>>,
}

impl Questions {
    /// Opens a question: its id, and where the answer will arrive.
    pub(crate) fn open(&mut self) -> (String, oneshot::Receiver<QuestionAnswer>) {
        self.asked += 1;
        let id = format!("q{}", self.asked);
        let (sender, answer) = oneshot::channel();
        self.open.insert(id.clone(), sender);
        (id, answer)
    }

    /// Opens a question that has an id already.
    pub(crate) fn open_as(&mut self, id: String, answer: oneshot::Sender<QuestionAnswer>) {
        self.open.insert(id, answer);
    }

    /// Drops all questions that are open; their ids.
    pub(crate) fn close_all(&mut self) -> Vec<String> {
        let mut ids: Vec<String> = self.open.drain().map(|(id, _)| id).collect();
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
