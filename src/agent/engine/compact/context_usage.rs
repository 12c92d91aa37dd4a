//! What fills the model's context, by kind, largest first.
//!
//! Sizes of the parts are estimates, like all sizes here; the total is what the provider counted
//! for the last answer and an estimate of what came after.

use std::collections::BTreeMap;

use super::{UNKNOWN, limit, size_now};
use crate::agent::context::compaction::size;
use crate::agent::engine::task::Agent;
use crate::agent::protocol::event::{Weight, Weights};
use crate::agent::protocol::message::{Block, Message};

/// The parts of the present context.
pub(in crate::agent) fn weigh(agent: &Agent) -> Weights {
    let mut parts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut add = |name: &str, count: u64, tokens: u64| {
        let part = parts.entry(name.to_owned()).or_default();
        part.0 += count;
        part.1 += tokens;
    };
    add("system prompt", 0, size::of_text(&agent.config.system));
    for spec in agent.config.tools.specs() {
        let tokens = size::of_text(&spec.name)
            + size::of_text(&spec.description)
            + size::of_text(&spec.parameters.to_string());
        add("descriptions of tools", 1, tokens);
    }
    for message in agent.config.session.context().messages {
        let tokens = size::of_message(&message);
        match message.as_ref() {
            Message::User(_) => add("your messages", 1, tokens),
            Message::Assistant(answer) => {
                let thought = answer.content.iter().filter_map(|block| match block {
                    Block::Thinking { thinking, .. } => Some(size::of_text(thinking)),
                    _ => None,
                });
                let thought: u64 = thought.sum();
                if thought > 0 {
                    add("thinking", 1, thought);
                }
                add("answers and calls", 1, tokens.saturating_sub(thought));
            }
            Message::ToolResult(result) => add(&format!("results of {}", result.tool_name), 1, tokens),
            Message::BashExecution(run) if run.exclude_from_context => {}
            Message::BashExecution(_) => add("your commands", 1, tokens),
            Message::Custom(_) => add("notes", 1, tokens),
            Message::BranchSummary(_) => add("summaries of branches", 1, tokens),
            Message::CompactionSummary(_) => add("summary of the earlier part", 0, tokens),
        }
    }
    let mut parts: Vec<Weight> =
        parts.into_iter().map(|(name, (count, tokens))| Weight { name, count, tokens }).collect();
    parts.sort_by(|a, b| b.tokens.cmp(&a.tokens).then_with(|| a.name.cmp(&b.name)));
    let model = agent.config.model.as_ref();
    let limit = model.map_or(0, |model| limit(agent, model));
    Weights {
        parts,
        total: size_now(agent),
        window: model.map_or(0, |model| model.context_window),
        limit: if agent.config.room.auto && limit != UNKNOWN { limit } else { 0 },
    }
}
