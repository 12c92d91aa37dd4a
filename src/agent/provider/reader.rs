//! Converts the bytes of an answer to events with the parser and a decoder.
//!
//! Pure; `direct` feeds it from a connection, tests from recorded files. Keys are removed from failure
//! messages before these are shortened.

use super::classify::{Stray, stray};
use super::error_text::shorten;
use super::sse::{MAX_EVENT, STRAY, SseFrame, SseParser, TooLarge};
use super::{AnswerDecoder, Failure, FailureKind, StreamEvent};
use crate::secrets::Secrets;

/// Reads an answer.
pub struct AnswerReader {
    parser: SseParser,
    decoder: Box<dyn AnswerDecoder>,
    secrets: Secrets,
    /// The proxy that the answer comes through.
    proxy: Option<String>,
    /// Whether pieces of a block that arrive together become one event.
    joins: bool,
    ended: bool,
}

impl std::fmt::Debug for AnswerReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnswerReader").field("parser", &self.parser).field("ended", &self.ended).finish()
    }
}

impl AnswerReader {
    /// A reader of an answer in the format of `decoder`.
    pub fn new(decoder: Box<dyn AnswerDecoder>) -> Self {
        AnswerReader {
            parser: SseParser::default(),
            decoder,
            secrets: Secrets::default(),
            proxy: None,
            joins: false,
            ended: false,
        }
    }

    /// Removes these values from the messages of failures.
    pub fn without(self, secrets: Secrets) -> Self {
        AnswerReader { secrets, ..self }
    }

    /// Names this proxy if the answer is not one of the API.
    #[must_use]
    pub(crate) fn by_way_of(self, proxy: Option<String>) -> Self {
        AnswerReader { proxy, ..self }
    }

    /// Joins pieces of a block that arrive together, if `joins`.
    #[must_use]
    pub fn joining(self, joins: bool) -> Self {
        AnswerReader { joins, ..self }
    }

    /// Whether `Stop` or `Failed` was emitted; nothing follows.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Handles the next bytes; any split gives the same events.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) {
        if self.ended {
            return;
        }
        let AnswerReader { parser, decoder, ended, joins, .. } = self;
        let mut fresh = Vec::new();
        let parsed = parser.push(bytes, |frame| {
            if *joins {
                feed(decoder.as_mut(), ended, frame, &mut fresh);
                join(&mut fresh, out);
            } else {
                feed(decoder.as_mut(), ended, frame, out);
            }
        });
        if parsed.is_err() && !self.ended {
            self.too_large(out);
        }
        self.redact(out);
    }

    /// Handles the end of the body.
    pub fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        if self.ended {
            return;
        }
        let AnswerReader { parser, decoder, ended, .. } = self;
        let mut stray = None;
        let parsed: Result<(), TooLarge> = parser.finish(|frame| {
            if frame.event == STRAY {
                stray = Some(frame.data.clone());
            } else if is_complete(&frame.data) {
                feed(decoder.as_mut(), ended, frame, out);
            }
        });
        if parsed.is_err() && !self.ended {
            self.too_large(out);
        }
        if let Some(text) = stray {
            self.take_stray(text, out);
        }
        if !self.ended {
            self.decoder.finish(out);
            self.ended = true;
        }
        self.redact(out);
    }

    /// Removes keys from the message of the failure that ended the answer, then shortens it.
    fn redact(&self, out: &mut [StreamEvent]) {
        if let Some(StreamEvent::Failed(failure)) = out.last_mut() {
            failure.message = shorten(&self.secrets.redact(&failure.message));
        }
    }

    /// Interprets a body without events: an error, or a complete answer from a server that does not stream.
    fn take_stray(&mut self, text: String, out: &mut Vec<StreamEvent>) {
        if self.ended {
            return;
        }
        match stray(&self.secrets, &text) {
            Some(Stray::Error(failure)) => self.end_with(failure, out),
            Some(Stray::Page(mut failure)) => {
                if let Some(proxy) = &self.proxy {
                    failure.message = format!("{}, by way of {proxy}", failure.message);
                }
                self.fail(failure, out);
            }
            None if text.trim_start().starts_with('{') && is_complete(text.trim()) => {
                let frame = SseFrame { event: String::new(), data: text };
                feed(self.decoder.as_mut(), &mut self.ended, &frame, out);
            }
            None => {}
        }
    }

    /// Ends the answer with `failure`; open blocks are closed first. If only the last mark of the answer was
    /// missing, the answer stays complete.
    pub fn fail(&mut self, failure: Failure, out: &mut Vec<StreamEvent>) {
        if self.ended {
            return;
        }
        self.ended = true;
        self.decoder.finish(out);
        if let Some(StreamEvent::Failed(last)) = out.last_mut() {
            *last = failure;
        }
        self.redact(out);
    }

    /// Ends the answer with an error that the provider itself reported. It takes precedence over anything
    /// that looked like the end of the answer.
    fn end_with(&mut self, failure: Failure, out: &mut Vec<StreamEvent>) {
        self.ended = true;
        self.decoder.finish(out);
        if matches!(out.last(), Some(StreamEvent::Stop(_) | StreamEvent::Failed(_))) {
            out.pop();
        }
        out.push(StreamEvent::Failed(failure));
    }

    fn too_large(&mut self, out: &mut Vec<StreamEvent>) {
        let message = format!("the provider sent an event larger than {} MB", MAX_EVENT >> 20);
        let failure = Failure::new(FailureKind::Protocol, message);
        self.fail(failure, out);
    }
}

fn feed(decoder: &mut dyn AnswerDecoder, ended: &mut bool, frame: &SseFrame, out: &mut Vec<StreamEvent>) {
    if *ended {
        return;
    }
    let before = out.len();
    decoder.feed(frame, out);
    let is_end = |event: &StreamEvent| matches!(event, StreamEvent::Stop(_) | StreamEvent::Failed(_));
    if let Some(at) = out.iter().skip(before).position(is_end) {
        *ended = true;
        out.truncate(before + at + 1);
    }
}

/// Moves events to the end of `out`; pieces of one block become one event.
fn join(fresh: &mut Vec<StreamEvent>, out: &mut Vec<StreamEvent>) {
    for event in fresh.drain(..) {
        let is_joined = match (out.last_mut(), &event) {
            (Some(StreamEvent::Delta(last)), StreamEvent::Delta(next)) => last.join(next, usize::MAX),
            _ => false,
        };
        if !is_joined {
            out.push(event);
        }
    }
}

/// Whether the data of a last event without its blank line is more than a truncated piece.
fn is_complete(data: &str) -> bool {
    !data.trim_start().starts_with('{') || serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok()
}
