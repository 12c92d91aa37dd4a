//! Under construction: anthropic.

use super::{Decoder, Failure, HttpRequest, ModelRequest, Provider};

/// The wire format.
pub struct Anthropic;

impl Provider for Anthropic {
    fn encode(&self, _request: &ModelRequest) -> Result<HttpRequest, Failure> {
        todo!()
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        todo!()
    }
}
