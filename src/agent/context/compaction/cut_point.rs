//! Chooses where to cut a context: which part is summarized, and which stays.
//!
//! Pure. A call is never separated from its result. The cut is before a user message if that keeps enough; a
//! turn that is too large for that is split.

use std::collections::HashMap;
use std::sync::Arc;

use super::size;
use tau_protocol::message::Message;

/// A message of the context and the entry it comes from.
pub(crate) type ContextItem = (Arc<str>, Arc<Message>);

/// How much to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The maximum tokens to keep; exceeded only if the last call and its result are larger.
    Tokens(u64),
    Nothing,
}

/// The index to cut `items` at: everything before it is summarized. `None` if nothing would be.
pub fn place(items: &[ContextItem], keep: Keep) -> Option<usize> {
    let Keep::Tokens(budget) = keep else {
        return Some(items.len()).filter(|len| *len > 0);
    };
    let sound = sound(items);
    let mut kept = 0;
    // The earliest places that fit, searching from the end.
    let (mut turn, mut any, mut last) = (None, None, None);
    for (at, (_, message)) in items.iter().enumerate().rev() {
        kept += size::of_message(message);
        if at == 0 || !sound.get(at).copied().unwrap_or_default() {
            continue;
        }
        last = last.or(Some(at));
        if kept <= budget {
            any = Some(at);
            if matches!(**message, Message::User(_)) {
                turn = Some((at, kept));
            }
        }
    }
    let complete = turn.filter(|(_, kept)| *kept >= budget / 2).map(|(at, _)| at);
    complete.or(any).or(last)
}

/// For each item, whether a cut before it separates no call from its result.
fn sound(items: &[ContextItem]) -> Vec<bool> {
    let mut sound = vec![true; items.len()];
    let mut called: HashMap<&str, usize> = HashMap::new();
    for (at, (_, message)) in items.iter().enumerate() {
        match message.as_ref() {
            Message::Assistant(answer) => {
                called.extend(answer.tool_calls().map(|call| (call.id.as_str(), at)));
            }
            Message::ToolResult(result) => {
                let from = called.get(result.tool_call_id.as_str()).copied().unwrap_or(at);
                let from = from.saturating_add(1).min(at);
                sound.iter_mut().take(at + 1).skip(from).for_each(|sound| *sound = false);
            }
            _ => {}
        }
    }
    sound
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `u` a user message, `a` an answer, `c` an answer with two calls, `1` and `2`
    /// their results; each 100 tokens, more with a digit `x` after it.
    fn items(script: &str) -> Vec<ContextItem> {
        let mut calls = 0;
        let message = |(at, letter): (usize, char)| {
            let text = "x".repeat(400 - 4 * 4);
            let block = serde_json::json!({"type": "text", "text": text});
            let answer = |content: serde_json::Value| {
                serde_json::json!({"role": "assistant", "content": content, "api": "x", "provider": "p",
                    "model": "m", "stopReason": "stop"})
            };
            let value = match letter {
                'u' => serde_json::json!({"role": "user", "content": text}),
                'a' => answer(serde_json::json!([block])),
                'c' => {
                    calls += 1;
                    let call = |n: u8| {
                        serde_json::json!({"type": "toolCall", "id": format!("{calls}-{n}"), "name": "t",
                            "arguments": {}})
                    };
                    answer(serde_json::json!([block, call(1), call(2)]))
                }
                n => serde_json::json!({"role": "toolResult", "toolCallId": format!("{calls}-{n}"),
                    "toolName": "t", "content": [block]}),
            };
            (Arc::from(at.to_string()), Arc::new(serde_json::from_value(value).unwrap()))
        };
        script.chars().enumerate().map(message).collect()
    }

    fn check(script: &str, keep: Keep, expected: Option<usize>) {
        assert_eq!(place(&items(script), keep), expected, "{script} {keep:?}");
    }

    #[test]
    fn a_cut_separates_nothing() {
        use Keep::{Nothing, Tokens};
        // Before a turn, where that keeps enough.
        check("uauaua", Tokens(450), Some(2));
        check("uauaua", Tokens(250), Some(4));
        // A large turn is split, never between a call and its results.
        check("uac12c12a", Tokens(450), Some(5));
        check("uac12c12a", Tokens(750), Some(2));
        check("uac12c12a", Tokens(350), Some(8));
        // The last user message is not enough to keep when there is space for more.
        check("uac12c12au", Tokens(600), Some(5));
        // An oversized result is kept with its call.
        check("uc12", Tokens(50), Some(1));
        check("uaua", Tokens(0), Some(3));
        check("u", Tokens(50), None);
        check("", Nothing, None);
        check("uc12", Nothing, Some(4));
        // A message between a call and its result does not separate them.
        check("uc1u2a", Tokens(250), Some(5));
        check("uc1u2", Tokens(250), Some(1));
    }
}
