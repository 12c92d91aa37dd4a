//! The size of the model's context, in tokens: in total, and by kind of content.

use std::collections::BTreeMap;

use crate::context::compaction::size;
use crate::context::instruction_files::{TOLD, files_in_messages};
use crate::engine::state::Engine;
use tau_protocol::message::{Block, Message};
use tau_protocol::model::Model;
use tau_protocol::query::{ContextPart, ContextUsage};
use tau_tools::ToolSpec;

/// The size assumed for an unknown context window where one is needed.
pub(crate) const UNKNOWN: u64 = 1 << 40;

/// Tokens of the context.
pub(crate) fn total(engine: &Engine) -> u64 {
    size::of_context(engine.config.session.tree(), || overhead(engine))
}

/// Tokens of everything except the messages: the system prompt and the tools.
pub(crate) fn overhead(engine: &Engine) -> u64 {
    let tools = engine.config.tools.iter().map(|tool| of_tool(tool.spec()));
    size::of_text(&engine.system()) + tools.sum::<u64>()
}

/// The number of tokens above which the conversation is compacted.
pub(crate) fn limit(engine: &Engine, model: &Model) -> u64 {
    match model.context_window {
        0 => UNKNOWN,
        window => window - engine.config.compaction.reserve.min(window / 2),
    }
}

pub(super) fn of_tool(spec: &ToolSpec) -> u64 {
    size::of_text(&spec.name) + size::of_text(&spec.description) + size::of_text(&spec.parameters.to_string())
}

/// The content of the context, by kind. The total is the provider's count for the last answer plus an
/// estimate of later additions; it is divided among the kinds by their estimated sizes.
pub(crate) fn by_kind(engine: &Engine) -> ContextUsage {
    let mut parts = estimates(engine);
    let total = total(engine);
    divide(total, &mut parts);
    parts.sort_by(|a, b| b.tokens.cmp(&a.tokens).then_with(|| a.name.cmp(&b.name)));
    let model = engine.config.model.as_ref();
    let limit = model.map_or(0, |model| limit(engine, model));
    ContextUsage {
        parts,
        total,
        window: model.map_or(0, |model| model.context_window),
        limit: if engine.config.compaction.auto && limit != UNKNOWN { limit } else { 0 },
        instructions: instructions(engine),
    }
}

/// The instruction files that the model was given, by their names.
fn instructions(engine: &Engine) -> Vec<String> {
    let places = engine.config.behavior.instructions.as_ref();
    let of_prompt = places.map(|places| places.find(engine.cwd()).files).unwrap_or_default();
    let told = files_in_messages(&engine.config.session.context().messages);
    let paths = of_prompt.into_iter().map(|file| file.path).chain(told);
    paths.map(|path| path.display().to_string()).collect()
}

/// The parts of the context with their estimated sizes.
fn estimates(engine: &Engine) -> Vec<ContextPart> {
    let mut parts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut add = |name: &str, count: u64, tokens: u64| {
        let part = parts.entry(name.to_owned()).or_default();
        part.0 += count;
        part.1 += tokens;
    };
    add("system prompt", 0, size::of_text(&engine.system()));
    for tool in engine.config.tools.iter() {
        add("tool descriptions", 1, of_tool(tool.spec()));
    }
    for message in engine.config.session.context().messages {
        let tokens = size::of_message(&message);
        match message.as_ref() {
            Message::User(_) => add("your messages", 1, tokens),
            Message::Assistant(answer) => {
                let thinking = answer.content.iter().filter_map(|block| match block {
                    Block::Thinking { thinking, .. } => Some(size::of_text(thinking)),
                    _ => None,
                });
                let thinking: u64 = thinking.sum();
                if thinking > 0 {
                    add("thinking", 1, thinking);
                }
                add("answers and tool calls", 1, tokens.saturating_sub(thinking));
            }
            Message::ToolResult(result) => add(&format!("results of {}", result.tool_name), 1, tokens),
            Message::BashExecution(run) if run.exclude_from_context => {}
            Message::Application(_) => {}
            Message::BashExecution(_) => add("your commands", 1, tokens),
            Message::Custom(note) if note.custom_type == TOLD => {
                add("instructions of folders", 1, tokens);
            }
            Message::Custom(_) => add("extension messages", 1, tokens),
            Message::BranchSummary(_) => add("branch summaries", 1, tokens),
            Message::CompactionSummary(_) => add("compaction summary", 0, tokens),
        }
    }
    parts.into_iter().map(|(name, (count, tokens))| ContextPart { name, count, tokens }).collect()
}

/// Scales the parts so that they add up to `total`.
fn divide(total: u64, parts: &mut [ContextPart]) {
    let estimated: u128 = parts.iter().map(|part| u128::from(part.tokens)).sum();
    if estimated == 0 {
        return;
    }
    // Each part ends where its share of the running sum ends, so that rounding never adds up.
    let (mut sum, mut begin) = (0, 0);
    for part in parts {
        sum += u128::from(part.tokens);
        let end = u64::try_from(sum * u128::from(total) / estimated).unwrap_or(u64::MAX);
        part.tokens = end - begin;
        begin = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_add_up_to_the_total() {
        let part = |tokens| ContextPart { name: String::new(), count: 0, tokens };
        for (total, estimates) in [(100, vec![1, 1, 1]), (7, vec![1000, 3, 900]), (0, vec![5]), (9, vec![])] {
            let mut parts: Vec<ContextPart> = estimates.iter().copied().map(part).collect();
            divide(total, &mut parts);
            let sum: u64 = parts.iter().map(|part| part.tokens).sum();
            assert_eq!(sum, if parts.is_empty() { 0 } else { total }, "{estimates:?}");
        }
        let mut parts = [part(10), part(30)];
        divide(80, &mut parts);
        assert_eq!(parts.map(|part| part.tokens), [20, 60]);
    }
}
