//! The wire format `openai-responses`: `POST {base}/responses`.
//!
//! Nothing is stored at the provider: the entire conversation is sent, with the original (encrypted)
//! reasoning items. Source: platform.openai.com/docs/api-reference/responses.

mod decode;
mod request;

use super::{AnswerDecoder, Failure, HttpRequest, ModelRequest, WireFormat};

/// The wire format.
pub struct OpenaiResponses;

impl WireFormat for OpenaiResponses {
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, Failure> {
        request::encode(request)
    }

    fn decoder(&self) -> Box<dyn AnswerDecoder> {
        Box::new(decode::ResponsesDecoder::default())
    }
}
