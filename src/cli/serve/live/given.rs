//! Answers that were given to questions, to tell whose counts when another one comes too late.

use std::collections::VecDeque;

use super::{LiveSession, LiveState};
use crate::serve::sender::Sender;
use tau_protocol::approval::ApprovalAnswer;
use tau_protocol::command::QuestionCommand;

/// Maximum number of remembered answers.
const REMEMBERED: usize = 64;

/// The last answers.
#[derive(Debug, Default)]
pub(super) struct GivenAnswers(VecDeque<GivenAnswer>);

#[derive(Debug)]
struct GivenAnswer {
    id: String,
    by: Sender,
    /// The decision, in words after its author.
    did: &'static str,
    /// Whether it cannot be refused.
    is_final: bool,
}

impl GivenAnswers {
    /// Remembers an answer, unless there is one that counts.
    pub(super) fn note(&mut self, by: &Sender, command: &QuestionCommand) {
        let (id, did, is_final) = match command {
            QuestionCommand::Answer { id, .. } => (id, "answered", true),
            QuestionCommand::AnswerApproval { id, answer } => match answer {
                ApprovalAnswer::Allow { .. } => (id, "allowed it", true),
                ApprovalAnswer::AllowExact { .. } | ApprovalAnswer::AllowAlways { .. } => {
                    (id, "allowed it", false)
                }
                ApprovalAnswer::Deny { .. } => (id, "denied it", true),
            },
        };
        if self.0.iter().any(|given| given.id == *id && given.is_final) {
            return;
        }
        self.0.retain(|given| given.id != *id);
        if self.0.len() >= REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(GivenAnswer { id: id.clone(), by: by.clone(), did, is_final });
    }
}

impl LiveSession {
    /// Remembers an answer of this sender that counts; returns why another one does not.
    pub fn claim_answer(&self, by: &Sender, command: &QuestionCommand) -> Result<(), String> {
        let mut state = self.state.lock();
        let LiveState { facts, given, .. } = &mut *state;
        let (id, is_open) = match command {
            QuestionCommand::Answer { id, .. } => (id, facts.mirror.asks(id)),
            QuestionCommand::AnswerApproval { id, .. } => {
                (id, facts.mirror.approvals.iter().any(|request| request.id == *id))
            }
        };
        let before = given.0.iter().find(|given| given.id == *id);
        // Programs are not told apart.
        let is_own = *by != Sender::Program && before.is_some_and(|given| given.by == *by);
        if is_own || is_open && before.is_none_or(|given| !given.is_final) {
            given.note(by, command);
            return Ok(());
        }
        let Some(GivenAnswer { by, did, .. }) = before else {
            return Err("your answer came too late: the question was withdrawn before".to_owned());
        };
        let who = match by {
            Sender::Here => "the session's own terminal",
            Sender::Screen(_) => "another attached terminal",
            Sender::Program => "a board, the page or a program",
        };
        Err(format!("your answer came too late: {who} had {did} first, and that counts"))
    }
}
