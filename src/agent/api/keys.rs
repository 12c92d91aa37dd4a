//! Sources of keys for programs that embed the agent; a key is looked up before every request.
//!
//! tau itself uses one that reads its files and runs commands: `catalogue::keys`.

use crate::catalogue::keys::{KeyFuture, KeySource};
use crate::catalogue::{PROVIDERS, is_loopback};
use crate::provider::{Failure, FailureKind};
use crate::secrets::Secret;
use tau_protocol::model::{Api, Model};

/// No keys, for servers that need none and for transports with their own keys.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKeys;

impl KeySource for NoKeys {
    fn key<'a>(&'a self, _model: &'a Model) -> KeyFuture<'a> {
        Box::pin(async { Ok(None) })
    }
}

/// Keys from the environment: the variable of each provider, for example `OPENAI_API_KEY`.
#[derive(Clone, Copy, Debug, Default)]
pub struct EnvKeys;

impl KeySource for EnvKeys {
    fn key<'a>(&'a self, model: &'a Model) -> KeyFuture<'a> {
        Box::pin(async move {
            let provider = PROVIDERS.iter().find(|provider| provider.id == model.provider);
            let Some(provider) = provider.filter(|_| model.api != Api::Scripted) else {
                return Ok(None);
            };
            let env = provider.env;
            if env.is_empty() {
                let text = format!(
                    "{} needs a login or the credentials of a cloud, which only tau's own keys have",
                    model.provider
                );
                return Err(Failure::new(FailureKind::Config, text));
            }
            match std::env::var(env).map(Secret::new) {
                Ok(key) if !key.is_empty() => Ok(Some(key)),
                _ if is_loopback(&model.base_url) => Ok(None),
                _ => Err(Failure::new(FailureKind::Config, format!("no API key for {}", model.provider))
                    .hint(format!("set {}", provider.env))),
            }
        })
    }
}

/// One key for one provider. Models of other providers get theirs from the environment.
#[derive(Clone, Debug)]
pub struct OneKey {
    /// The provider the key is for: `Model::provider`.
    pub provider: String,
    pub key: Secret,
}

impl KeySource for OneKey {
    fn key<'a>(&'a self, model: &'a Model) -> KeyFuture<'a> {
        if model.provider == self.provider {
            Box::pin(async { Ok(Some(self.key.clone())) })
        } else {
            EnvKeys.key(model)
        }
    }
}

/// A function that returns a key for the named provider, called before every request: for tokens
/// that expire.
///
/// ```
/// use tau_agent::api::KeyFn;
/// use tau_agent::secrets::Secret;
///
/// async fn fresh_token(provider: &str) -> Secret {
///     Secret::new(format!("token for {provider}"))
/// }
/// let keys = KeyFn::new(|provider: String| async move { Ok(Some(fresh_token(&provider).await)) });
/// # let _: &dyn tau_agent::catalogue::keys::KeySource = &keys;
/// ```
#[derive(Clone, Copy)]
pub struct KeyFn<F>(F);

impl<F> std::fmt::Debug for KeyFn<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyFn(…)")
    }
}

impl<F, K> KeyFn<F>
where
    F: Fn(String) -> K + Send + Sync,
    K: Future<Output = Result<Option<Secret>, Failure>> + Send + 'static,
{
    /// Uses the keys that `find` returns.
    pub fn new(find: F) -> Self {
        KeyFn(find)
    }
}

impl<F, K> KeySource for KeyFn<F>
where
    F: Fn(String) -> K + Send + Sync,
    K: Future<Output = Result<Option<Secret>, Failure>> + Send + 'static,
{
    fn key<'a>(&'a self, model: &'a Model) -> KeyFuture<'a> {
        Box::pin((self.0)(model.provider.clone()))
    }
}
