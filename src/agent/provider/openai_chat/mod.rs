//! The wire format `openai-completions`: `POST {base}/chat/completions`.
//!
//! Spoken by OpenAI and by most others, each with a dialect. What a dialect needs in a request
//! is data in the model's quirks (`request` reads them); what it does in a stream is survived by
//! `decode` without knowing the provider. Source: platform.openai.com/docs/api-reference/chat.

mod decode;
mod reasoning;
mod request;
mod usage;

use super::{AnswerDecoder, Failure, HttpRequest, ModelRequest, WireFormat};

/// The wire format.
pub(crate) struct OpenaiChat;

impl WireFormat for OpenaiChat {
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, Failure> {
        request::encode(request)
    }

    fn decoder(&self) -> Box<dyn AnswerDecoder> {
        Box::new(decode::ChatDecoder::default())
    }
}
