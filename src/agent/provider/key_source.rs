//! The interface for sources of keys.
//!
//! Only the contract: `catalogue::keys` looks up keys in files and variables; programs that embed the agent
//! bring their own sources.

use std::future::Future;
use std::pin::Pin;

use super::Failure;
use crate::secrets::Secret;
use tau_protocol::model::Model;

/// A future of a key.
pub type KeyFuture<'a> = Pin<Box<dyn Future<Output = Result<Option<Secret>, Failure>> + Send + 'a>>;

/// A source of keys, asked again for each request, so keys may expire.
pub trait KeySource: Send + Sync {
    /// The key for this model; `None` if it needs no key. Fails with `FailureKind::Config` if a key is needed
    /// but not found; says what to set.
    fn key<'a>(&'a self, model: &'a Model) -> KeyFuture<'a>;

    /// Another key than `refused`, which the provider did not accept; `None` if there is no other. A source
    /// with keys that expire gets a new one here; the default asks for the key again.
    fn replacement_key<'a>(&'a self, model: &'a Model, refused: &'a Secret) -> KeyFuture<'a> {
        Box::pin(async move { Ok(self.key(model).await?.filter(|key| key != refused)) })
    }

    /// The address for requests to this model, if the source of its key names one in place of the model's.
    fn address(&self, _model: &Model) -> Option<String> {
        None
    }

    /// Advice for when the provider refuses the key for this model, as a sentence in lower case.
    fn advice(&self, _model: &Model) -> Option<String> {
        None
    }
}
