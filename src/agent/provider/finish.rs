//! Interprets the words that providers use for the end of an answer, in all formats.
//!
//! Gateways pass on the words of the providers they use, so one table serves every decoder. Other words must
//! not count as the end of an answer: the calls of such an answer would run.

use super::blocks::BlockWriter;
use super::{Failure, FailureKind, StreamEvent};
use tau_protocol::message::StopReason;

/// The meaning of a word for the end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    /// The answer is complete.
    Stop,
    /// It was cut by its length limit.
    Length,
    /// It was cut because the context is full.
    Full,
    /// It was withheld for policy reasons.
    Blocked,
    /// The provider failed.
    Broken,
    /// The model's output cannot be parsed.
    Malformed,
    /// An unknown word.
    Unknown,
}

/// Complete words, in lower case and with `_`.
const WORDS: &[(&str, Finish)] = &[
    ("stop", Finish::Stop),
    ("stop_sequence", Finish::Stop),
    ("end_turn", Finish::Stop),
    ("pause_turn", Finish::Stop),
    ("tool_calls", Finish::Stop),
    ("tool_use", Finish::Stop),
    ("function_call", Finish::Stop),
    ("completed", Finish::Stop),
    ("length", Finish::Length),
    ("max_tokens", Finish::Length),
    ("max_output_tokens", Finish::Length),
    ("model_length", Finish::Length),
    ("model_context_window_exceeded", Finish::Full),
    ("context_length_exceeded", Finish::Full),
    ("content_filter", Finish::Blocked),
    ("refusal", Finish::Blocked),
    ("safety", Finish::Blocked),
    ("sensitive", Finish::Blocked), // Z.AI
    // Google
    ("recitation", Finish::Blocked),
    ("language", Finish::Blocked),
    ("blocklist", Finish::Blocked),
    ("prohibited_content", Finish::Blocked),
    ("spii", Finish::Blocked),
    ("image_safety", Finish::Blocked),
    ("image_prohibited_content", Finish::Blocked),
    ("image_recitation", Finish::Blocked),
    ("model_armor", Finish::Blocked),
];

/// Parts of words that no complete answer ends with: `error` (OpenRouter), `network_error` (Z.AI),
/// `insufficient_system_resource` (DeepSeek), `abort` (vLLM), …
const FRAGMENTS: &[(&str, Finish)] = &[
    ("malformed", Finish::Malformed),
    ("error", Finish::Broken),
    ("fail", Finish::Broken),
    ("abort", Finish::Broken),
    ("cancel", Finish::Broken),
    ("timeout", Finish::Broken),
    ("overload", Finish::Broken),
    ("insufficient", Finish::Broken),
    ("unavailable", Finish::Broken),
];

impl Finish {
    /// The meaning of `word`. A remark after a colon, as in `content_filter: SPII`, is ignored.
    pub(super) fn from_name(word: &str) -> Self {
        let word = word.trim().to_ascii_lowercase().replace('-', "_");
        let whole = word.split(':').next().unwrap_or_default().trim_end();
        let known = WORDS.iter().find(|(known, _)| *known == whole);
        let meaning = known.or_else(|| FRAGMENTS.iter().find(|(part, _)| word.contains(part)));
        meaning.map_or(Finish::Unknown, |(_, meaning)| *meaning)
    }

    /// Ends the answer accordingly. `reported` is the provider's word; an unknown one is a stop.
    pub(super) fn end(self, reported: &str, blocks: &mut BlockWriter, out: &mut Vec<StreamEvent>) {
        let (kind, message) = match self {
            Finish::Stop | Finish::Unknown => return blocks.stop(StopReason::Stop, out),
            Finish::Length => return blocks.stop(StopReason::Length, out),
            Finish::Full if !blocks.is_empty() => return blocks.stop(StopReason::Length, out),
            Finish::Full => {
                (FailureKind::Overflow, "the context window is full: no space is left for an answer")
            }
            Finish::Blocked => (FailureKind::Refused, "the provider blocked the answer"),
            Finish::Broken => (FailureKind::Overloaded, "the provider aborted the answer"),
            Finish::Malformed => (FailureKind::Protocol, "the model gave no answer"),
        };
        let failure = Failure::new(kind, format!("{message} ({reported})"));
        blocks.fail(
            match self {
                Finish::Blocked => failure.hint("rephrase the prompt or choose another model"),
                _ => failure,
            },
            out,
        );
    }
}
