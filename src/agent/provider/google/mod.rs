//! The wire format `google-generative-ai`: `POST {base}/models/{id}:streamGenerateContent`.
//!
//! Source: ai.google.dev/api/generate-content; thought signatures:
//! ai.google.dev/gemini-api/docs/thought-signatures.

mod decode;
mod request;

use super::{AnswerDecoder, Failure, HttpRequest, ModelRequest, WireFormat};

/// The wire format.
pub struct Google;

impl WireFormat for Google {
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, Failure> {
        request::encode(request)
    }

    fn decoder(&self) -> Box<dyn AnswerDecoder> {
        Box::new(decode::GoogleDecoder::default())
    }
}
