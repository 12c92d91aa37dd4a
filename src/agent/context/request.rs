//! Turns a session's messages into the messages of a request.
//!
//! Pure. The session provides the messages, and `provider::handoff` adapts them to a model; this module adds
//! only the rules of the loop: failed answers make way for the next attempt, and a note marks a stopped
//! answer.

use std::sync::Arc;

use crate::provider::handoff;
use tau_protocol::message::{Message, StopReason, UserContent, UserMessage};
use tau_protocol::model::Model;

/// The message that asks the model to continue an answer that was cut off.
const CONTINUE: &str = "[your answer above was cut off; continue where it stopped, without repeating it]";

/// The messages for a request to `model`. The last is never the model's own: some providers would treat it as
/// the beginning of the answer, others refuse it.
pub fn for_request(messages: &[Arc<Message>], model: &Model) -> Vec<Arc<Message>> {
    let mut sent = handoff::for_model(&without_attempts(messages), model);
    if let Some(Message::Assistant(last)) = sent.last().map(Arc::as_ref) {
        let content = UserContent::Text(CONTINUE.into());
        sent.push(Arc::new(Message::User(UserMessage {
            timestamp: last.timestamp,
            ..UserMessage::new(content)
        })));
    }
    sent
}

/// Leaves out failed answers, with the results of their calls, unless the user has answered them: the next
/// attempt replaces them.
fn without_attempts(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut kept: Vec<Arc<Message>> = Vec::with_capacity(messages.len());
    // The start of the failed answer.
    let mut failed: Option<usize> = None;
    for message in messages {
        match message.as_ref() {
            Message::Assistant(answer) => {
                if let Some(first) = failed.take() {
                    kept.truncate(first);
                }
                failed = (answer.stop_reason == StopReason::Error).then_some(kept.len());
            }
            Message::ToolResult(_) | Message::Application(_) => {}
            _ => failed = None,
        }
        kept.push(Arc::clone(message));
    }
    if let Some(first) = failed {
        kept.truncate(first);
    }
    kept
}

/// Whether a conversation can continue without anything new: its last message needs an answer, or its last
/// answer failed, was stopped, or has calls that a killed program left without results.
pub fn can_continue(messages: &[Arc<Message>]) -> bool {
    match messages.iter().rev().map(Arc::as_ref).find(|message| !matches!(message, Message::Application(_))) {
        Some(Message::Assistant(answer)) => {
            let cut_short = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
            cut_short || answer.tool_calls().next().is_some()
        }
        Some(Message::BashExecution(run)) => !run.exclude_from_context,
        Some(_) => true,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_protocol::message::{AssistantMessage, BashExecution, Block};

    fn user_message(text: &str) -> Arc<Message> {
        Arc::new(Message::User(UserMessage {
            timestamp: 1,
            ..UserMessage::new(UserContent::Text(text.into()))
        }))
    }

    fn answer(text: &str, stop_reason: StopReason) -> Arc<Message> {
        let model = Model::default();
        Arc::new(Message::Assistant(AssistantMessage {
            content: vec![Block::text(text)],
            api: model.api,
            provider: model.provider,
            model: model.id,
            stop_reason,
            timestamp: 2,
            ..AssistantMessage::default()
        }))
    }

    fn bash_message(exclude_from_context: bool) -> Arc<Message> {
        let run = serde_json::json!({ "command": "ls", "excludeFromContext": exclude_from_context });
        let run: BashExecution = serde_json::from_value(run).unwrap();
        Arc::new(Message::BashExecution(run))
    }

    fn check(messages: &[Arc<Message>], continues: bool, sent: usize) {
        assert_eq!(can_continue(messages), continues, "{messages:?}");
        let request = for_request(messages, &Model::default());
        assert_eq!(request.len(), sent, "{messages:?}");
        let own = request.last().is_some_and(|last| matches!(**last, Message::Assistant(_)));
        assert!(!own, "{request:?}");
    }

    #[test]
    fn a_request_never_ends_with_the_model() {
        check(&[], false, 0);
        check(&[user_message("a")], true, 1);
        check(&[user_message("a"), answer("b", StopReason::Stop)], false, 3);
        check(&[user_message("a"), answer("b", StopReason::Aborted)], true, 3);
        check(&[user_message("a"), answer("b", StopReason::Error)], true, 1);
        check(&[user_message("a"), answer("b", StopReason::Error), answer("c", StopReason::Stop)], false, 3);
        check(&[user_message("a"), answer("b", StopReason::Error), user_message("c")], true, 3);
        check(&[user_message("a"), answer("", StopReason::Aborted)], true, 1);
        check(&[user_message("a"), answer("b", StopReason::Stop), bash_message(false)], true, 3);
        check(&[user_message("a"), answer("b", StopReason::Stop), bash_message(true)], false, 3);
    }
}
