//! Token counts of chat completions, in all their dialects.

use serde_json::Value;

use super::super::json::count;
use tau_protocol::message::Usage;

/// The counts of a `usage` object; `None` if it holds no numbers.
///
/// Cached tokens occur in four places; cache writes and cached reads are inside `prompt_tokens`. Reasoning is
/// inside `completion_tokens` for every provider but xAI, which the sum reveals.
pub(super) fn read(value: &Value) -> Option<Usage> {
    let field = |path: &str| value.pointer(path).and_then(count);
    let prompt = field("/prompt_tokens")?;
    let completion = field("/completion_tokens").unwrap_or(0);
    let cache_read = field("/prompt_tokens_details/cached_tokens")
        .or_else(|| field("/prompt_cache_hit_tokens"))
        .or_else(|| field("/cached_tokens"))
        .or_else(|| field("/cache_read_input_tokens"))
        .unwrap_or(0);
    let cache_write = field("/prompt_tokens_details/cache_write_tokens")
        .or_else(|| field("/cache_creation_input_tokens"))
        .unwrap_or(0);
    let reasoning = field("/completion_tokens_details/reasoning_tokens").unwrap_or(0);
    let outside = reasoning > 0
        && field("/total_tokens")
            == prompt.checked_add(completion).and_then(|sum| sum.checked_add(reasoning));
    let output = if outside { completion.saturating_add(reasoning) } else { completion };
    // One provider counts more tokens as cached than there were; input is never negative.
    let input = prompt.saturating_sub(cache_read.saturating_add(cache_write));
    Some(Usage { input, output, cache_read, cache_write, ..Usage::default() })
}
