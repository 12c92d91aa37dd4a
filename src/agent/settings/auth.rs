//! `auth.json` and the order in which keys are looked for.

use std::future::Future;
use std::pin::Pin;

use crate::agent::model::Model;
use crate::agent::provider::Failure;
use crate::agent::secret::Secret;

/// A future of a key.
pub type KeyFuture<'a> = Pin<Box<dyn Future<Output = Result<Option<Secret>, Failure>> + Send + 'a>>;

/// Where the key for a request comes from; asked anew for each request, so keys may expire.
pub trait KeySource: Send + Sync {
    /// The key for this model; `None` when it needs none.
    ///
    /// # Errors
    /// `FailureKind::Config` when a key is needed and none is found; says what to set.
    fn key<'a>(&'a self, model: &'a Model) -> KeyFuture<'a>;
}
