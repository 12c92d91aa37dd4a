//! The wire format `anthropic-messages`: `POST {base}/v1/messages`.
//!
//! Source: docs.claude.com/en/api/messages and docs.claude.com/en/build-with-claude/streaming.

mod decode;
mod request;

use super::{AnswerDecoder, Failure, HttpRequest, ModelRequest, WireFormat};

/// The wire format.
pub struct Anthropic;

impl WireFormat for Anthropic {
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, Failure> {
        request::encode(request)
    }

    fn decoder(&self) -> Box<dyn AnswerDecoder> {
        Box::new(decode::AnthropicDecoder::default())
    }
}
