//! The wire format `openai-completions`: `POST {base}/chat/completions`.
//!
//! Used by OpenAI and most others, each with a dialect. The needs of a dialect in requests are data in the
//! model's quirks (`request` reads them); its peculiarities in streams are handled by `decode` without
//! knowing the provider. Source: platform.openai.com/docs/api-reference/chat.

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
