//! Under construction: openai_responses.

use super::{Decoder, Failure, HttpRequest, ModelRequest, Provider};

/// The wire format.
pub struct OpenaiResponses;

impl Provider for OpenaiResponses {
    fn encode(&self, _request: &ModelRequest) -> Result<HttpRequest, Failure> {
        todo!()
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        todo!()
    }
}
