//! Answers whose frames are JSON objects, as all providers send them.

use serde_json::Value;

use super::classify::from_error;
use super::json::read_object;
use super::sse::SseFrame;
use super::{AnswerDecoder, Failure, FailureKind, StreamEvent};

/// A decoder of objects. The frames and the end of the stream are handled for it.
pub(super) trait ObjectDecoder: Send {
    /// Whether `Stop` or `Failed` was emitted.
    fn has_ended(&self) -> bool;

    /// Handles an object, of which only the first character was checked. `event` is the name of its frame.
    fn object(&mut self, text: &str, event: &str, out: &mut Vec<StreamEvent>) -> serde_json::Result<()>;

    /// Handles `[DONE]`.
    fn on_done(&mut self, _out: &mut Vec<StreamEvent>) {}

    /// Closes open blocks and emits `Failed`.
    fn fail(&mut self, failure: Failure, out: &mut Vec<StreamEvent>);

    /// Handles the end of a stream that has not ended the answer.
    fn end(&mut self, out: &mut Vec<StreamEvent>);
}

impl<T: ObjectDecoder> AnswerDecoder for T {
    fn feed(&mut self, frame: &SseFrame, out: &mut Vec<StreamEvent>) {
        let text = frame.data.trim();
        if self.has_ended() {
        } else if text.starts_with('{') {
            if let Err(failure) = read_object(text, |text| self.object(text, &frame.event, out)) {
                self.fail(failure, out);
            }
        } else if text == "[DONE]" {
            self.on_done(out);
        } else if frame.event == "error" {
            self.fail(from_error(&Value::String(frame.data.clone())), out);
        }
        // No decoder reads other data: nothing, a word, a number.
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) {
        if !self.has_ended() {
            self.end(out);
        }
    }
}

/// The failure of a stream that ends without its last part.
pub(super) fn cut_off(missing: &str) -> Failure {
    Failure::new(FailureKind::Network, format!("the answer was cut off: the stream ended without {missing}"))
}
