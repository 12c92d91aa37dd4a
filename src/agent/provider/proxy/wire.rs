//! Assistant events on the wire between an app server and this program: a JSON object an event.
//!
//! Pure, both ways. What the deltas of a block already said is not repeated at its end: the
//! reader joins them. What they did not say (a signature, arguments that came whole) is sent.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::protocol::event::Delta;
use crate::agent::protocol::message::{StopReason, ToolCall, Usage};
use crate::agent::provider::partial_json;
use crate::agent::provider::sse::SseFrame;
use crate::agent::provider::{AnswerDecoder, Failure, FailureKind, StreamEvent};

/// One event as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Wire {
    TextStart {
        content_index: usize,
    },
    TextDelta {
        content_index: usize,
        delta: String,
    },
    TextEnd {
        content_index: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
    },
    ThinkingStart {
        content_index: usize,
    },
    ThinkingDelta {
        content_index: usize,
        delta: String,
    },
    ThinkingEnd {
        content_index: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
    },
    #[serde(rename = "toolcall_start")]
    ToolCallStart {
        content_index: usize,
        id: String,
        tool_name: String,
    },
    #[serde(rename = "toolcall_delta")]
    ToolCallDelta {
        content_index: usize,
        delta: String,
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
    Done {
        reason: StopReason,
    },
    Error {
        failure: Failure,
    },
    /// An event of a later version.
    #[serde(other)]
    Unknown,
}

/// The text of the blocks that are open.
#[derive(Debug, Default)]
struct Joined(HashMap<usize, String>);

impl Joined {
    fn add(&mut self, place: usize, delta: &str) {
        self.0.entry(place).or_default().push_str(delta);
    }

    fn end(&mut self, place: usize) -> String {
        self.0.remove(&place).unwrap_or_default()
    }
}

/// Writes the events of one answer.
#[derive(Debug, Default)]
pub struct WireWriter {
    joined: Joined,
}

impl WireWriter {
    /// The data of the SSE event that stands for `event`: one line of JSON. None for what is of
    /// no concern to the other end, which keeps its own watch on silence.
    pub fn data(&mut self, event: StreamEvent) -> Option<String> {
        let wire = match event {
            StreamEvent::Delta(delta) => self.delta(delta),
            StreamEvent::Signature { content_index, signature, redacted } => {
                Wire::Signature { content_index, signature, redacted }
            }
            StreamEvent::Usage(usage) => Wire::Usage { usage },
            StreamEvent::ResponseId(id) => Wire::ResponseId { id },
            StreamEvent::Silent { .. } => return None,
            StreamEvent::Stop(reason) => Wire::Done { reason },
            StreamEvent::Failed(failure) => Wire::Error { failure },
        };
        // Only maps with keys that are no text could fail, and there are none.
        serde_json::to_string(&wire).ok()
    }

    fn delta(&mut self, delta: Delta) -> Wire {
        match delta {
            Delta::TextStart { content_index } => Wire::TextStart { content_index },
            Delta::ThinkingStart { content_index } => Wire::ThinkingStart { content_index },
            Delta::ToolCallStart { content_index, id, tool_name } => {
                Wire::ToolCallStart { content_index, id, tool_name }
            }
            Delta::TextDelta { content_index, delta } => {
                self.joined.add(content_index, &delta);
                Wire::TextDelta { content_index, delta }
            }
            Delta::ThinkingDelta { content_index, delta } => {
                self.joined.add(content_index, &delta);
                Wire::ThinkingDelta { content_index, delta }
            }
            Delta::ToolCallDelta { content_index, delta } => {
                self.joined.add(content_index, &delta);
                Wire::ToolCallDelta { content_index, delta }
            }
            Delta::TextEnd { content_index, content } => {
                let content = Some(content).filter(|content| *content != self.joined.end(content_index));
                Wire::TextEnd { content_index, content }
            }
            Delta::ThinkingEnd { content_index, content } => {
                let content = Some(content).filter(|content| *content != self.joined.end(content_index));
                Wire::ThinkingEnd { content_index, content }
            }
            Delta::ToolCallEnd { content_index, tool_call } => {
                let ToolCall { id, name, arguments, thought_signature } = tool_call;
                let told = partial_json::arguments(&self.joined.end(content_index));
                let arguments = Some(arguments).filter(|arguments| *arguments != told);
                Wire::ToolCallEnd { content_index, id, tool_name: name, arguments, thought_signature }
            }
        }
    }
}

/// Reads one answer.
#[derive(Debug, Default)]
pub struct WireDecoder {
    joined: Joined,
    ended: bool,
}

impl AnswerDecoder for WireDecoder {
    fn feed(&mut self, frame: &SseFrame, out: &mut Vec<StreamEvent>) {
        if self.ended {
            return;
        }
        let event = match serde_json::from_str(&frame.data) {
            Ok(wire) => self.event(wire),
            Err(error) => {
                let text = format!("the app server sent what is no event: {error}");
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

impl WireDecoder {
    fn event(&mut self, wire: Wire) -> Option<StreamEvent> {
        let delta = match wire {
            Wire::TextStart { content_index } => Delta::TextStart { content_index },
            Wire::ThinkingStart { content_index } => Delta::ThinkingStart { content_index },
            Wire::ToolCallStart { content_index, id, tool_name } => {
                Delta::ToolCallStart { content_index, id, tool_name }
            }
            Wire::TextDelta { content_index, delta } => {
                self.joined.add(content_index, &delta);
                Delta::TextDelta { content_index, delta }
            }
            Wire::ThinkingDelta { content_index, delta } => {
                self.joined.add(content_index, &delta);
                Delta::ThinkingDelta { content_index, delta }
            }
            Wire::ToolCallDelta { content_index, delta } => {
                self.joined.add(content_index, &delta);
                Delta::ToolCallDelta { content_index, delta }
            }
            Wire::TextEnd { content_index, content } => {
                let joined = self.joined.end(content_index);
                Delta::TextEnd { content_index, content: content.unwrap_or(joined) }
            }
            Wire::ThinkingEnd { content_index, content } => {
                let joined = self.joined.end(content_index);
                Delta::ThinkingEnd { content_index, content: content.unwrap_or(joined) }
            }
            Wire::ToolCallEnd { content_index, id, tool_name, arguments, thought_signature } => {
                let joined = self.joined.end(content_index);
                let arguments = arguments.unwrap_or_else(|| partial_json::arguments(&joined));
                let tool_call = ToolCall { id, name: tool_name, arguments, thought_signature };
                Delta::ToolCallEnd { content_index, tool_call }
            }
            Wire::Signature { content_index, signature, redacted } => {
                return Some(StreamEvent::Signature { content_index, signature, redacted });
            }
            Wire::Usage { usage } => return Some(StreamEvent::Usage(usage)),
            Wire::ResponseId { id } => return Some(StreamEvent::ResponseId(id)),
            Wire::Done { reason } => return Some(StreamEvent::Stop(reason)),
            Wire::Error { failure } => return Some(StreamEvent::Failed(failure)),
            Wire::Unknown => return None,
        };
        Some(StreamEvent::Delta(delta))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::provider::reader::AnswerReader;
    use crate::agent::provider::scripted::{calls, says, text_block};

    /// What is written is read as it was, and the text is written once.
    fn check(events: Vec<StreamEvent>) {
        let mut writer = WireWriter::default();
        let lines: Vec<String> = events.iter().filter_map(|event| writer.data(event.clone())).collect();
        let body: String = lines.iter().map(|line| format!("data: {line}\n\n")).collect();
        let mut reader = AnswerReader::new(Box::new(WireDecoder::default()));
        let mut read = Vec::new();
        body.as_bytes().chunks(7).for_each(|bytes| reader.push(bytes, &mut read));
        reader.finish(&mut read);
        assert_eq!(read, events, "{body}");
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
