//! Assistant events between an app server and this program: one JSON object per event.
//!
//! Pure, both ways. The events are those of the agent ([`Delta`]), unchanged. Only the ends of blocks have
//! their own form, because the content of a block's deltas is not repeated there: the reader joins them.
//! Content without deltas (arguments that arrived at once) is sent.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::provider::sse::SseFrame;
use crate::provider::{AnswerDecoder, Failure, FailureKind, StreamEvent, partial_json};
use tau_protocol::event::Delta;
use tau_protocol::message::{StopReason, ToolCall, Usage};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum WireEvent {
    TextEnd {
        content_index: usize,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        content: String,
    },
    ThinkingEnd {
        content_index: usize,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        content: String,
    },
    #[serde(rename = "toolcall_end")]
    ToolCallEnd {
        content_index: usize,
        id: String,
        tool_name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thought_signature: Option<String>,
    },
    Signature {
        content_index: usize,
        signature: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redacted: bool,
    },
    Usage {
        usage: Usage,
    },
    ResponseId {
        id: String,
    },
    /// The model thinks without showing it.
    Thinking,
    Done {
        reason: StopReason,
    },
    Error {
        failure: Failure,
    },
    /// Starts and deltas of blocks.
    #[serde(untagged)]
    Delta(Delta),
}

/// Every `type` that this version knows. An event of another type is from a later version and is skipped; an
/// unreadable one of these is a failure.
const KNOWN: &[&str] = tau_tools::words!(
    "text_start text_delta text_end thinking_start thinking_delta thinking_end toolcall_start \
     toolcall_delta toolcall_end signature usage response_id thinking done error"
);

/// The state of open blocks: whether text arrived, and the arguments of calls.
#[derive(Debug, Default)]
struct OpenBlocks {
    texts: HashMap<usize, bool>,
    arguments: HashMap<usize, String>,
}

impl OpenBlocks {
    fn note(&mut self, delta: &Delta) {
        match delta {
            Delta::TextDelta { content_index, .. } | Delta::ThinkingDelta { content_index, .. } => {
                self.texts.insert(*content_index, true);
            }
            Delta::ToolCallDelta { content_index, delta } => {
                self.arguments.entry(*content_index).or_default().push_str(delta);
            }
            _ => {}
        }
    }

    /// The content for the end of a block; empty if deltas carried it.
    fn rest(&mut self, content_index: usize, content: String) -> String {
        if self.texts.remove(&content_index).is_some() { String::new() } else { content }
    }

    /// The arguments carried by the deltas of a call.
    fn arguments(&mut self, content_index: usize) -> Value {
        partial_json::arguments(&self.arguments.remove(&content_index).unwrap_or_default())
    }
}

/// Encodes the events of an answer.
#[derive(Debug, Default)]
pub struct WireWriter {
    open: OpenBlocks,
}

impl WireWriter {
    /// The data of the SSE event for `event`: one line of JSON. `None` for events that the other end does not
    /// need, which has its own idle timeout.
    pub fn data(&mut self, event: StreamEvent) -> Option<String> {
        let wire = match event {
            StreamEvent::Delta(delta) => self.delta(delta),
            StreamEvent::Signature { content_index, signature, redacted } => {
                WireEvent::Signature { content_index, signature, redacted }
            }
            StreamEvent::Usage(usage) => WireEvent::Usage { usage },
            StreamEvent::ResponseId(id) => WireEvent::ResponseId { id },
            // The plan is that of the server's owner.
            StreamEvent::Silent { .. } | StreamEvent::Plan(_) => return None,
            StreamEvent::Thinking => WireEvent::Thinking,
            StreamEvent::Stop(reason) => WireEvent::Done { reason },
            StreamEvent::Failed(failure) => WireEvent::Error { failure },
        };
        // Only maps with keys other than strings could fail, and there are none.
        serde_json::to_string(&wire).ok()
    }

    fn delta(&mut self, delta: Delta) -> WireEvent {
        self.open.note(&delta);
        match delta {
            Delta::TextEnd { content_index, content } => {
                WireEvent::TextEnd { content_index, content: self.open.rest(content_index, content) }
            }
            Delta::ThinkingEnd { content_index, content } => {
                WireEvent::ThinkingEnd { content_index, content: self.open.rest(content_index, content) }
            }
            Delta::ToolCallEnd { content_index, tool_call } => {
                let ToolCall { id, name, arguments, thought_signature } = tool_call;
                let sent = self.open.arguments(content_index);
                let arguments = Some(arguments).filter(|arguments| *arguments != sent);
                WireEvent::ToolCallEnd { content_index, id, tool_name: name, arguments, thought_signature }
            }
            other => WireEvent::Delta(other),
        }
    }
}

/// Decodes an answer.
#[derive(Debug, Default)]
pub struct WireDecoder {
    open: OpenBlocks,
    ended: bool,
}

impl AnswerDecoder for WireDecoder {
    fn feed(&mut self, frame: &SseFrame, out: &mut Vec<StreamEvent>) {
        if self.ended {
            return;
        }
        let event = match serde_json::from_str(&frame.data) {
            Ok(wire) => Some(self.event(wire)),
            Err(_) if is_of_a_later_version(&frame.data) => None,
            Err(error) => {
                let text = format!("the app server sent an invalid event: {error}");
                Some(StreamEvent::Failed(Failure::new(FailureKind::Protocol, text)))
            }
        };
        self.ended |= matches!(event, Some(StreamEvent::Stop(_) | StreamEvent::Failed(_)));
        out.extend(event);
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        if !std::mem::replace(&mut self.ended, true) {
            let text = "the app server ended the stream before the answer was complete";
            out.push(StreamEvent::Failed(Failure::new(FailureKind::Network, text)));
        }
    }
}

fn is_of_a_later_version(data: &str) -> bool {
    let value: Value = serde_json::from_str(data).unwrap_or_default();
    value.get("type").and_then(Value::as_str).is_some_and(|name| !KNOWN.contains(&name))
}

impl WireDecoder {
    fn event(&mut self, wire: WireEvent) -> StreamEvent {
        StreamEvent::Delta(match wire {
            WireEvent::Delta(delta) => {
                self.open.note(&delta);
                delta
            }
            WireEvent::TextEnd { content_index, content } => Delta::TextEnd { content_index, content },
            WireEvent::ThinkingEnd { content_index, content } => {
                Delta::ThinkingEnd { content_index, content }
            }
            WireEvent::ToolCallEnd { content_index, id, tool_name, arguments, thought_signature } => {
                let sent = self.open.arguments(content_index);
                let arguments = arguments.unwrap_or(sent);
                let tool_call = ToolCall { id, name: tool_name, arguments, thought_signature };
                Delta::ToolCallEnd { content_index, tool_call }
            }
            WireEvent::Signature { content_index, signature, redacted } => {
                return StreamEvent::Signature { content_index, signature, redacted };
            }
            WireEvent::Usage { usage } => return StreamEvent::Usage(usage),
            WireEvent::ResponseId { id } => return StreamEvent::ResponseId(id),
            WireEvent::Thinking => return StreamEvent::Thinking,
            WireEvent::Done { reason } => return StreamEvent::Stop(reason),
            WireEvent::Error { failure } => return StreamEvent::Failed(failure),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::assemble::Assembler;
    use crate::provider::reader::AnswerReader;
    use crate::provider::scripted::{calls, says, text_block};
    use tau_protocol::message::AssistantMessage;
    use tau_protocol::model::Model;

    fn message(events: &[StreamEvent]) -> AssistantMessage {
        let mut assembler = Assembler::new(&Model::default(), 0);
        events.iter().for_each(|event| assembler.feed(event));
        assembler.message()
    }

    /// Events survive encoding and decoding, and text is encoded only once.
    fn check(events: Vec<StreamEvent>) {
        let mut writer = WireWriter::default();
        let lines: Vec<String> = events.iter().filter_map(|event| writer.data(event.clone())).collect();
        let body: String = lines.iter().map(|line| format!("data: {line}\n\n")).collect();
        let mut reader = AnswerReader::new(Box::new(WireDecoder::default()));
        let mut read = Vec::new();
        body.as_bytes().chunks(7).for_each(|bytes| reader.push(bytes, &mut read));
        reader.finish(&mut read);
        assert_eq!(message(&read), message(&events), "{body}");
        let ends = |event: &&StreamEvent| {
            matches!(event, StreamEvent::Delta(Delta::TextEnd { .. } | Delta::ThinkingEnd { .. }))
        };
        let others = |events: &[StreamEvent]| -> Vec<StreamEvent> {
            events.iter().filter(|event| !ends(event)).cloned().collect()
        };
        assert_eq!(others(&read), others(&events), "{body}");
        assert!(body.matches("the words").count() <= 1, "{body}");
    }

    #[test]
    fn events_go_there_and_back() {
        check(says("the words"));
        check(calls(&[("a", "bash", serde_json::json!({ "command": "ls" }))]));
        let call = ToolCall {
            id: "x".into(),
            name: "read".into(),
            arguments: serde_json::json!("{\"path\": "),
            thought_signature: Some("sig".into()),
        };
        let mut events = text_block(0, "the words");
        events.extend([
            StreamEvent::ResponseId("r1".into()),
            StreamEvent::Thinking,
            StreamEvent::Signature { content_index: 0, signature: "s".into(), redacted: false },
            StreamEvent::Delta(Delta::ToolCallStart {
                content_index: 1,
                id: "x".into(),
                tool_name: "read".into(),
            }),
            StreamEvent::Delta(Delta::ToolCallEnd { content_index: 1, tool_call: call }),
            StreamEvent::Usage(Usage { input: 3, output: 4, ..Usage::default() }),
            StreamEvent::Failed(Failure {
                retry_after_ms: Some(7),
                ..Failure::new(FailureKind::RateLimit, "slow")
            }),
        ]);
        check(events);
    }

    #[test]
    fn faults_end_the_answer() {
        let cases = [
            ("data: {\"type\":\"text_delta\",\"contentIndex\":0}\n\n", FailureKind::Protocol),
            ("data: {\"type\":\"done\",\"reason\":7}\n\n", FailureKind::Protocol),
            ("data: {\"type\":\"text_start\",\"contentIndex\":0}\n\n", FailureKind::Network),
            ("data: nonsense\n\n", FailureKind::Protocol),
            ("data: {\"type\":\"marvel\",\"x\":1}\n\n", FailureKind::Network),
        ];
        for (body, kind) in cases {
            let mut reader = AnswerReader::new(Box::new(WireDecoder::default()));
            let mut read = Vec::new();
            reader.push(body.as_bytes(), &mut read);
            reader.finish(&mut read);
            let Some(StreamEvent::Failed(failure)) = read.last() else { panic!("{body}: {read:?}") };
            assert_eq!(failure.kind, kind, "{body}");
        }
    }
}
