//! Under construction: openai_chat.

use super::{Decoder, Failure, HttpRequest, ModelRequest, Provider};

/// The wire format.
pub struct OpenaiChat;

impl Provider for OpenaiChat {
    fn encode(&self, _request: &ModelRequest) -> Result<HttpRequest, Failure> {
        todo!()
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        todo!()
    }
}
