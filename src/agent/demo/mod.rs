//! The built-in demo model: scripted, not an AI, and it says so.
//!
//! A transport like any other, so the real loop and the real tools run in the real directory. The text comes
//! from `script`, a pure function of the request; here it becomes a stream with pauses, so that you can watch
//! it arrive. The model itself is in `catalogue`, and `provider::scripted::Router` sends its requests here.

mod long;
mod script;

use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::protocol::event::Delta;
use super::protocol::message::{Message, StopReason, ToolCall, Usage};
use super::provider::{EventStream, ModelRequest, StreamEvent, Transport};
pub use script::FILE;
use script::{ScriptPart, ScriptSpeed, ScriptedAnswer};

/// The maximum length of a piece of a streamed word, in characters.
const PIECE: usize = 8;

/// The pauses of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Before an answer.
    pub first: Duration,
    /// Before each piece of it.
    pub piece: Duration,
}

impl Pace {
    /// No pauses, for tests and benchmarks.
    pub const NONE: Pace = Pace { first: Duration::ZERO, piece: Duration::ZERO };

    /// These pauses at another speed.
    fn at(self, speed: ScriptSpeed) -> Pace {
        match speed {
            ScriptSpeed::Normal => self,
            ScriptSpeed::Slow => Pace { piece: self.piece * 20, ..self },
            ScriptSpeed::Immediate => Pace { piece: Duration::ZERO, ..self },
        }
    }
}

impl Default for Pace {
    /// About as fast as a quick model.
    fn default() -> Self {
        Pace { first: Duration::from_millis(200), piece: Duration::from_millis(8) }
    }
}

/// The transport of the demo model.
#[derive(Clone, Copy, Debug, Default)]
pub struct DemoTransport {
    pub pace: Pace,
}

impl Transport for DemoTransport {
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> EventStream {
        let answer = script::answer(&request);
        let pace = self.pace.at(answer.speed);
        let events = stream::iter(events(&request, answer).into_iter().enumerate());
        let paced = events.then(move |(place, event)| async move {
            let pause = match (place, &event) {
                (0, _) => pace.first,
                (_, StreamEvent::Delta(_)) => pace.piece,
                _ => Duration::ZERO,
            };
            if !pause.is_zero() {
                sleep(pause).await;
            }
            event
        });
        Box::pin(paced.take_until(cancel.cancelled_owned()))
    }
}

fn events(request: &ModelRequest, answer: ScriptedAnswer) -> Vec<StreamEvent> {
    let mut events = Vec::new();
    let mut usage = Usage { input: tokens(request), ..Usage::default() };
    let (mut calls, mut failed) = (false, None);
    for (content_index, part) in answer.parts.into_iter().enumerate() {
        let before = events.len();
        match part {
            ScriptPart::Think(text) => think(&mut events, content_index, text),
            ScriptPart::Say(text) => say(&mut events, content_index, text),
            ScriptPart::Call(call) => {
                calls = true;
                ask(&mut events, content_index, call);
            }
            ScriptPart::Fail(failure) => failed = Some(failure),
        }
        usage.output += (events.len() - before) as u64;
    }
    usage.total_tokens = usage.input + usage.output;
    events.push(StreamEvent::Usage(usage));
    events.push(match failed {
        Some(failure) => StreamEvent::Failed(failure),
        None if calls => StreamEvent::Stop(StopReason::ToolUse),
        None => StreamEvent::Stop(StopReason::Stop),
    });
    events
}

fn think(events: &mut Vec<StreamEvent>, content_index: usize, content: String) {
    events.push(StreamEvent::Delta(Delta::ThinkingStart { content_index }));
    for delta in pieces(&content) {
        events.push(StreamEvent::Delta(Delta::ThinkingDelta { content_index, delta }));
    }
    events.push(StreamEvent::Delta(Delta::ThinkingEnd { content_index, content }));
}

fn say(events: &mut Vec<StreamEvent>, content_index: usize, content: String) {
    events.push(StreamEvent::Delta(Delta::TextStart { content_index }));
    for delta in pieces(&content) {
        events.push(StreamEvent::Delta(Delta::TextDelta { content_index, delta }));
    }
    events.push(StreamEvent::Delta(Delta::TextEnd { content_index, content }));
}

fn ask(events: &mut Vec<StreamEvent>, content_index: usize, tool_call: ToolCall) {
    let (id, tool_name) = (tool_call.id.clone(), tool_call.name.clone());
    events.push(StreamEvent::Delta(Delta::ToolCallStart { content_index, id, tool_name }));
    for delta in pieces(&tool_call.arguments.to_string()) {
        events.push(StreamEvent::Delta(Delta::ToolCallDelta { content_index, delta }));
    }
    events.push(StreamEvent::Delta(Delta::ToolCallEnd { content_index, tool_call }));
}

/// A text in the pieces a model might send it in: words with the space after them, long ones split.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    for word in text.split_inclusive(char::is_whitespace) {
        let mut piece = String::new();
        for (place, character) in word.chars().enumerate() {
            if place > 0 && place % PIECE == 0 {
                pieces.push(std::mem::take(&mut piece));
            }
            piece.push(character);
        }
        pieces.push(piece);
    }
    pieces
}

/// A rough token count of the request: four characters per token.
fn tokens(request: &ModelRequest) -> u64 {
    let characters: usize = request.messages.iter().map(|message| size(message)).sum();
    ((request.system.len() + characters) / 4) as u64
}

fn size(message: &Message) -> usize {
    match message {
        Message::User(user) => user.content.text().len(),
        Message::Assistant(answer) => answer.text().len(),
        Message::ToolResult(result) => {
            let texts = result.content.iter().map(|content| match content {
                tau_tools::Content::Text { text } => text.len(),
                tau_tools::Content::Image { data, .. } => data.len(),
            });
            texts.sum()
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_make_the_text() {
        for text in [include_str!("hello.md"), "日本語日本語日本語日本語 x", ""] {
            assert_eq!(pieces(text).concat(), text);
            assert!(pieces(text).iter().all(|piece| !piece.is_empty()));
        }
    }
}
