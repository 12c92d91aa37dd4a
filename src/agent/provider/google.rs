//! Under construction: google.

use super::{Decoder, Failure, HttpRequest, ModelRequest, Provider};

/// The wire format.
pub struct Google;

impl Provider for Google {
    fn encode(&self, _request: &ModelRequest) -> Result<HttpRequest, Failure> {
        todo!()
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        todo!()
    }
}
