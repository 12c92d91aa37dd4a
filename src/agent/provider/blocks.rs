//! The blocks of an answer in flight: assigns their indexes and writes their events.
//!
//! Every decoder writes through this, so that the invariants of events (`*_start` before deltas, then
//! `*_end`, an index never used twice, no empty block, no empty delta) are enforced in one place. A block
//! begins with its first piece of text, never before. Thinking that arrives as text at the start of an answer
//! (`inline_thinking`) becomes a block of its own. Text and thinking are not stored here: the assembler joins
//! them. Arguments of calls are, because decoders tell dialects apart by them.

use super::inline_thinking::{InlineThinking, Piece};
use super::{Failure, StreamEvent, partial_json};
use tau_protocol::event::Delta;
use tau_protocol::message::{StopReason, ToolCall};

/// The index of a block as decoders know it.
pub(super) type BlockIndex = usize;

/// The kind of a block's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Tool,
}

#[derive(Debug)]
struct Open {
    place: BlockIndex,
    /// Its index in the message; a different one for the text after inline thinking.
    index: BlockIndex,
    /// Whether its start has been written.
    begun: bool,
    /// Splits thinking from the first text of an answer.
    parts: Option<InlineThinking>,
    kind: Kind,
    /// The JSON text of a call's arguments so far.
    arguments: String,
    id: String,
    name: String,
    signature: Option<String>,
}

impl Open {
    fn new(place: BlockIndex, kind: Kind) -> Self {
        let (arguments, id, name) = (String::new(), String::new(), String::new());
        Open { place, index: place, begun: false, parts: None, kind, arguments, id, name, signature: None }
    }

    /// Writes the start of text or thinking, if not yet done.
    fn start(&mut self, out: &mut Vec<StreamEvent>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let content_index = self.index;
        out.push(StreamEvent::Delta(match self.kind {
            Kind::Text => Delta::TextStart { content_index },
            _ => Delta::ThinkingStart { content_index },
        }));
    }

    fn write(&mut self, text: &str, out: &mut Vec<StreamEvent>) {
        if self.kind == Kind::Tool {
            self.arguments.push_str(text);
        }
        let (content_index, delta) = (self.index, text.to_owned());
        out.push(StreamEvent::Delta(match self.kind {
            Kind::Text => Delta::TextDelta { content_index, delta },
            Kind::Thinking => Delta::ThinkingDelta { content_index, delta },
            Kind::Tool => Delta::ToolCallDelta { content_index, delta },
        }));
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        let content_index = self.index;
        out.push(StreamEvent::Delta(match self.kind {
            Kind::Text => Delta::TextEnd { content_index, content: String::new() },
            Kind::Thinking => Delta::ThinkingEnd { content_index, content: String::new() },
            Kind::Tool => Delta::ToolCallEnd {
                content_index,
                tool_call: ToolCall {
                    id: std::mem::take(&mut self.id),
                    name: std::mem::take(&mut self.name),
                    arguments: partial_json::arguments(&self.arguments),
                    thought_signature: self.signature.take(),
                },
            },
        }));
    }
}

/// Writes the events of the blocks of one answer.
#[derive(Debug, Default)]
pub(super) struct BlockWriter {
    next: BlockIndex,
    open: Vec<Open>,
    calls: usize,
    /// Whether the answer has had a text block.
    said: bool,
    /// The text that was split from thinking: its block, and its index in the message.
    moved: Option<(BlockIndex, BlockIndex)>,
}

impl BlockWriter {
    /// Whether a tool call has begun.
    pub(super) fn has_calls(&self) -> bool {
        self.calls > 0
    }

    /// Whether nothing has begun yet.
    pub(super) fn is_empty(&self) -> bool {
        self.next == 0
    }

    /// Appends to the open text block, or begins one. Open thinking is closed before.
    pub(super) fn text(&mut self, text: &str, out: &mut Vec<StreamEvent>) -> Option<BlockIndex> {
        self.flow(Kind::Text, text, out)
    }

    /// Appends to the open thinking block, or begins one. Open text is closed before.
    pub(super) fn thinking(&mut self, text: &str, out: &mut Vec<StreamEvent>) -> Option<BlockIndex> {
        self.flow(Kind::Thinking, text, out)
    }

    /// Appends text or thinking in a stream without separators.
    fn flow(&mut self, kind: Kind, text: &str, out: &mut Vec<StreamEvent>) -> Option<BlockIndex> {
        if text.is_empty() {
            return None;
        }
        let continues = |place, open| if self.is_parted(place) { kind == Kind::Text } else { open == kind };
        let place = match self.current() {
            Some((place, open)) if continues(place, open) => place,
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

    /// Whether this is the first text, which may currently contain thinking.
    fn is_parted(&self, place: BlockIndex) -> bool {
        self.open.iter().any(|open| open.place == place && open.parts.is_some())
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
        let first = kind == Kind::Text && !std::mem::replace(&mut self.said, true);
        let mut open = Open::new(place, kind);
        match first {
            // Its beginning decides its kind.
            true => open.parts = Some(InlineThinking::default()),
            false => open.start(out),
        }
        self.open.push(open);
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
        let open =
            Open { id: id.to_owned(), name: name.to_owned(), begun: true, ..Open::new(place, Kind::Tool) };
        self.open.push(open);
        place
    }

    /// Appends to an open block. Nothing happens if it is closed or `text` is empty.
    pub(super) fn append(&mut self, place: BlockIndex, text: &str, out: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        let Some(open) = self.find(place) else { return };
        match &mut open.parts {
            None => open.write(text, out),
            Some(parts) => {
                let pieces = parts.push(text);
                self.write_parts(place, pieces, out);
            }
        }
    }

    /// Writes the pieces of a split text: thinking keeps its index, and the text after it gets a new one.
    fn write_parts(
        &mut self,
        place: BlockIndex,
        pieces: impl IntoIterator<Item = Piece>,
        out: &mut Vec<StreamEvent>,
    ) {
        for piece in pieces {
            let next = self.next;
            let Some(open) = self.find(place) else { return };
            let (kind, text) = match piece {
                Piece::Thinking(text) => (Kind::Thinking, text),
                Piece::Text(text) => (Kind::Text, text),
            };
            if open.begun && open.kind != kind {
                open.end(out);
                (open.begun, open.index) = (false, next);
                self.moved = Some((place, next));
                self.next += 1;
            }
            let Some(open) = self.find(place) else { return };
            open.kind = kind;
            open.start(out);
            open.write(&text, out);
        }
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
        redacted: Redaction,
        out: &mut Vec<StreamEvent>,
    ) {
        if signature.is_empty() {
            return;
        }
        let moved = self.moved.filter(|(from, _)| *from == place);
        let mut content_index = moved.map_or(place, |(_, to)| to);
        if let Some(open) = self.find(place) {
            open.signature = Some(signature.to_owned());
            open.start(out);
            content_index = open.index;
        }
        let redacted = redacted == Redaction::Yes;
        out.push(StreamEvent::Signature { content_index, signature: signature.to_owned(), redacted });
    }

    fn find(&mut self, place: BlockIndex) -> Option<&mut Open> {
        self.open.iter_mut().rev().find(|open| open.place == place)
    }

    pub(super) fn close(&mut self, place: BlockIndex, out: &mut Vec<StreamEvent>) {
        let rest = self.find(place).and_then(|open| open.parts.as_mut()?.finish());
        self.write_parts(place, rest, out);
        let Some(at) = self.open.iter().position(|open| open.place == place) else { return };
        let mut open = self.open.remove(at);
        if open.begun {
            open.end(out);
        }
    }

    /// Closes all blocks and reports the end of the answer: with calls, a stop becomes a tool use.
    pub(super) fn stop(&mut self, reason: StopReason, out: &mut Vec<StreamEvent>) {
        self.close_all(out);
        let reason = match reason {
            StopReason::Length => StopReason::Length,
            _ if self.has_calls() => StopReason::ToolUse,
            _ => StopReason::Stop,
        };
        out.push(StreamEvent::Stop(reason));
    }

    /// Closes all blocks and reports the failure of the answer.
    pub(super) fn fail(&mut self, failure: Failure, out: &mut Vec<StreamEvent>) {
        self.close_all(out);
        out.push(StreamEvent::Failed(failure));
    }

    /// Closes all blocks in order.
    pub(super) fn close_all(&mut self, out: &mut Vec<StreamEvent>) {
        self.open.sort_by_key(|open| open.place);
        while let Some(place) = self.open.first().map(|open| open.place) {
            self.close(place, out);
        }
    }
}

/// Whether a thinking block's text is kept by the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Redaction {
    Yes,
    No,
}
