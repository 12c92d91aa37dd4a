//! Sums up a branch of the conversation that is left.
//!
//! Like a compaction it shows the model a text and asks for a summary; unlike one it replaces
//! nothing: the summary is the first thing on the branch that is gone on with.

use std::sync::Arc;

use serde_json::Value;

use super::{Ending, limit, summarize};
use crate::agent::context::compaction::file_ops::FileOps;
use crate::agent::context::compaction::transcript;
use crate::agent::engine::task::Agent;
use crate::agent::protocol::message::{Message, Usage};

/// What the model is to do.
const TASK: &str = include_str!("branch_summary.md");
/// Bytes of a result in the text that is summed up.
const RESULT_BYTES: usize = 2_000;
/// Longest summary, in tokens.
const ANSWER: u64 = 4_096;

/// The summary of `messages`, the files they are about, and what it cost.
pub(in crate::agent) async fn sum_up(
    agent: &mut Agent,
    messages: &[Arc<Message>],
    instructions: Option<&str>,
) -> Result<(String, Value, Usage), Ending> {
    let Some(model) = agent.config.model.clone() else {
        return Err(Ending::Failed("no model is chosen".to_owned()));
    };
    let room = limit(agent, &model).saturating_sub(ANSWER);
    let shown = transcript::text(messages, RESULT_BYTES, room);
    let mut request = format!("<conversation>\n{shown}\n</conversation>\n\n{}", TASK.trim_end());
    if let Some(wish) = instructions.map(str::trim).filter(|wish| !wish.is_empty()) {
        request.push_str(&format!("\n\nThe person asks of this summary: {wish}"));
    }
    let most = if model.max_tokens == 0 { ANSWER } else { ANSWER.min(model.max_tokens) };
    match summarize::patiently(agent, &model, request, most).await {
        None => Err(Ending::Aborted),
        Some(Err(failure)) => Err(Ending::Failed(failure.to_string())),
        Some(Ok(answer)) => {
            let mut touched = FileOps::of_details(None);
            touched.note(messages);
            let summary = answer.text.trim().to_owned() + &touched.text();
            Ok((summary, touched.details(), answer.usage))
        }
    }
}
