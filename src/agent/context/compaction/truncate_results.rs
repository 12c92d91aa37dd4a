//! Cuts a result that alone takes up a large part of the window to its two ends.
//!
//! Pure. The complete result stays in the session file: the cut is an edit of the context. This is quicker
//! and loses less than summarizing everything around such a result.

use std::sync::Arc;

use super::cut_point::ContextItem;
use super::size;
use super::transcript::ends;
use crate::session::entry::{Body, ContextReplacement};
use tau_protocol::message::{Message, UserContent};
use tau_tools::Content;

/// The share of the space, as a divisor, above which a result counts as huge.
const HUGE: u64 = 4;
/// The share of the space, as a divisor, that it is cut to.
const LEFT: u64 = 16;

/// Edits that cut the huge results in a window with `room` tokens.
pub fn edits(items: &[ContextItem], room: u64) -> Vec<Body> {
    let huge = |(id, message): &ContextItem| {
        let Message::ToolResult(result) = message.as_ref() else { return None };
        if size::of_message(message) <= room / HUGE {
            return None;
        }
        let text = result.content.iter().map(|content| match content {
            Content::Text { text } => text.as_str(),
            Content::Image { .. } => "[an image was here]",
        });
        let text = text.collect::<Vec<_>>().join("\n");
        Some(edit(id, &text, room / LEFT))
    };
    items.iter().filter_map(huge).collect()
}

fn edit(id: &Arc<str>, text: &str, tokens: u64) -> Body {
    let bytes = usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX);
    let kept = ends(text, bytes.min(text.len() / 2));
    let note = "[this result was too large for the context and was truncated; get the parts you need again]";
    let content = UserContent::Text(format!("{kept}\n\n{note}"));
    Body::ContextEdit { target_id: id.to_string(), replacement: Some(ContextReplacement { content }) }
}
