//! Summarizes a branch of the conversation that is being abandoned.
//!
//! Like a compaction, it shows the model a transcript and asks for a summary. Unlike one, it replaces
//! nothing: the summary is the first entry on the branch where the conversation continues.

use std::sync::Arc;

use serde_json::Value;

use super::CompactionEnd;
use super::summarize::summarize;
use crate::context::compaction::file_ops::FileOps;
use crate::context::compaction::transcript;
use crate::engine::queries::context_usage;
use crate::engine::state::Engine;
use tau_protocol::message::{Message, Usage};

/// The task for the model.
const TASK: &str = include_str!("branch_summary.md");
/// The maximum bytes of a tool result in the transcript.
const RESULT_BYTES: usize = 2_000;
/// The maximum length of a summary, in tokens.
const SUMMARY_TOKENS: u64 = 4_096;

/// The summary of `messages`, the files they are about, and its cost.
pub(crate) async fn summarize_branch(
    engine: &mut Engine,
    messages: &[Arc<Message>],
    instructions: Option<&str>,
) -> Result<(String, Value, Usage), CompactionEnd> {
    let Some(model) = engine.config.model.clone() else {
        return Err(CompactionEnd::Failed("no model selected".to_owned()));
    };
    let budget = context_usage::limit(engine, &model).saturating_sub(SUMMARY_TOKENS);
    let transcript = transcript::text(messages, RESULT_BYTES, budget);
    let mut request = format!("<conversation>\n{transcript}\n</conversation>\n\n{}", TASK.trim_end());
    if let Some(focus) = instructions.map(str::trim).filter(|focus| !focus.is_empty()) {
        request.push_str(&format!("\n\nThe user asks for this in the summary: {focus}"));
    }
    let max = if model.max_tokens == 0 { SUMMARY_TOKENS } else { SUMMARY_TOKENS.min(model.max_tokens) };
    match summarize(engine, &model, request, max).await {
        None => Err(CompactionEnd::Aborted),
        Some(Err(failure)) => Err(CompactionEnd::Failed(failure.to_string())),
        Some(Ok(answer)) => {
            let mut files = FileOps::of_details(None);
            files.note(messages);
            let summary = answer.text.trim().to_owned() + &files.text();
            Ok((summary, files.details(), answer.usage))
        }
    }
}
