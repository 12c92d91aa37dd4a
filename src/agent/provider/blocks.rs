//! The blocks of an answer in flight: gives them their places and writes their events.
//!
//! Every decoder writes through this, so that the law of the events (`*_start` before deltas, then
//! `*_end`, an index never used twice, no empty block, no empty delta) is held in one place. A block
//! begins with its first piece of text, never before. The text of text and thinking is not kept
//! here: the assembler joins it. That of calls is, because decoders tell dialects apart by it.

use super::partial_json;
use super::{Failure, StreamEvent};
use crate::agent::protocol::event::Delta;
use crate::agent::protocol::message::{StopReason, ToolCall};

/// BlockIndex of a block in the message.
pub(super) type BlockIndex = usize;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Tool,
}

#[derive(Debug)]
struct Open {
    place: BlockIndex,
    kind: Kind,
    /// The JSON text of a call's arguments so far.
    arguments: String,
    id: String,
    name: String,
    signature: Option<String>,
}

/// Writes the events of the blocks of one answer.
#[derive(Debug, Default)]
pub(super) struct BlockWriter {
    next: BlockIndex,
    open: Vec<Open>,
    calls: usize,
}

impl BlockWriter {
    /// Whether a tool call has begun.
    pub(super) fn called(&self) -> bool {
        self.calls > 0
    }

    /// Whether nothing has begun yet.
    pub(super) fn is_empty(&self) -> bool {
        self.next == 0
    }

    /// Adds to the text block that is open, or begins one. Open thinking is closed before.
    pub(super) fn text(&mut self, text: &str, out: &mut Vec<StreamEvent>) -> Option<BlockIndex> {
        self.flow(Kind::Text, text, out)
    }

    /// Adds to the thinking block that is open, or begins one. Open text is closed before.
    pub(super) fn thinking(&mut self, text: &str, out: &mut Vec<StreamEvent>) -> Option<BlockIndex> {
        self.flow(Kind::Thinking, text, out)
    }

    /// Text and thinking that follow each other without separators.
    fn flow(&mut self, kind: Kind, text: &str, out: &mut Vec<StreamEvent>) -> Option<BlockIndex> {
        if text.is_empty() {
            return None;
        }
        let place = match self.current() {
            Some((place, open)) if open == kind => place,
            other => {
                if let Some((place, _)) = other {
                    self.close(place, out);
                }
                self.begin(kind, out)
            }
        };
        self.append(place, text, out);
        Some(place)
    }

    /// The open block of text or thinking that was begun last.
    fn current(&self) -> Option<(BlockIndex, Kind)> {
        let last = self.open.iter().rev().find(|open| open.kind != Kind::Tool)?;
        Some((last.place, last.kind))
    }

    /// Closes open text and thinking; calls stay open.
    pub(super) fn close_flow(&mut self, out: &mut Vec<StreamEvent>) {
        while let Some((place, _)) = self.current() {
            self.close(place, out);
        }
    }

    /// Begins a text block next to others that may be open.
    pub(super) fn begin_text(&mut self, out: &mut Vec<StreamEvent>) -> BlockIndex {
        self.begin(Kind::Text, out)
    }

    /// Begins a thinking block next to others that may be open.
    pub(super) fn begin_thinking(&mut self, out: &mut Vec<StreamEvent>) -> BlockIndex {
        self.begin(Kind::Thinking, out)
    }

    fn begin(&mut self, kind: Kind, out: &mut Vec<StreamEvent>) -> BlockIndex {
        let place = self.next;
        self.next += 1;
        out.push(StreamEvent::Delta(match kind {
            Kind::Text => Delta::TextStart { content_index: place },
            _ => Delta::ThinkingStart { content_index: place },
        }));
        self.open.push(Open {
            place,
            kind,
            arguments: String::new(),
            id: String::new(),
            name: String::new(),
            signature: None,
        });
        place
    }

    /// Begins a tool call.
    pub(super) fn begin_call(&mut self, id: &str, name: &str, out: &mut Vec<StreamEvent>) -> BlockIndex {
        let place = self.next;
        self.next += 1;
        self.calls += 1;
        out.push(StreamEvent::Delta(Delta::ToolCallStart {
            content_index: place,
            id: id.to_owned(),
            tool_name: name.to_owned(),
        }));
        self.open.push(Open {
            place,
            kind: Kind::Tool,
            arguments: String::new(),
            id: id.to_owned(),
            name: name.to_owned(),
            signature: None,
        });
        place
    }

    /// Adds to an open block. Nothing happens when it is closed or `text` is empty.
    pub(super) fn append(&mut self, place: BlockIndex, text: &str, out: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        let Some(open) = self.find(place) else { return };
        if open.kind == Kind::Tool {
            open.arguments.push_str(text);
        }
        let delta = text.to_owned();
        out.push(StreamEvent::Delta(match open.kind {
            Kind::Text => Delta::TextDelta { content_index: place, delta },
            Kind::Thinking => Delta::ThinkingDelta { content_index: place, delta },
            Kind::Tool => Delta::ToolCallDelta { content_index: place, delta },
        }));
    }

    /// The arguments of an open call so far.
    pub(super) fn arguments(&self, place: BlockIndex) -> &str {
        let open = self.open.iter().rev().find(|open| open.place == place);
        open.map_or("", |open| &open.arguments)
    }

    /// Signs a block, open or closed.
    pub(super) fn sign(
        &mut self,
        place: BlockIndex,
        signature: &str,
        redacted: Redacted,
        out: &mut Vec<StreamEvent>,
    ) {
        if signature.is_empty() {
            return;
        }
        if let Some(open) = self.find(place) {
            open.signature = Some(signature.to_owned());
        }
        let redacted = redacted == Redacted::Yes;
        out.push(StreamEvent::Signature { content_index: place, signature: signature.to_owned(), redacted });
    }

    fn find(&mut self, place: BlockIndex) -> Option<&mut Open> {
        self.open.iter_mut().rev().find(|open| open.place == place)
    }

    /// Closes a block.
    pub(super) fn close(&mut self, place: BlockIndex, out: &mut Vec<StreamEvent>) {
        let Some(at) = self.open.iter().position(|open| open.place == place) else { return };
        let open = self.open.remove(at);
        let content_index = place;
        out.push(StreamEvent::Delta(match open.kind {
            Kind::Text => Delta::TextEnd { content_index, content: String::new() },
            Kind::Thinking => Delta::ThinkingEnd { content_index, content: String::new() },
            Kind::Tool => Delta::ToolCallEnd {
                content_index,
                tool_call: ToolCall {
                    id: open.id,
                    name: open.name,
                    arguments: partial_json::arguments(&open.arguments),
                    thought_signature: open.signature,
                },
            },
        }));
    }

    /// Closes all blocks and says how the answer ended: calls make a stop a tool use.
    pub(super) fn stop(&mut self, reason: StopReason, out: &mut Vec<StreamEvent>) {
        self.close_all(out);
        let reason = match reason {
            StopReason::Length => StopReason::Length,
            _ if self.called() => StopReason::ToolUse,
            _ => StopReason::Stop,
        };
        out.push(StreamEvent::Stop(reason));
    }

    /// Closes all blocks and says why the answer failed.
    pub(super) fn fail(&mut self, failure: Failure, out: &mut Vec<StreamEvent>) {
        self.close_all(out);
        out.push(StreamEvent::Failed(failure));
    }

    /// Closes all blocks, in their order.
    pub(super) fn close_all(&mut self, out: &mut Vec<StreamEvent>) {
        self.open.sort_by_key(|open| open.place);
        while let Some(place) = self.open.first().map(|open| open.place) {
            self.close(place, out);
        }
    }
}

/// Whether a thinking block's text is kept by the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Redacted {
    Yes,
    No,
}
