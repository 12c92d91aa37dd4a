//! Checks a key with a real request, as small as possible.
//!
//! Used by `/login` and by `tau auth check`. Nothing is stored here.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

use tau_agent::provider::direct::Direct;
use tau_agent::provider::{Failure, FailureKind, ModelRequest, StreamEvent, Transport};
use tau_agent::secrets::Secret;
use tau_protocol::message::{Message, UserContent, UserMessage};
use tau_protocol::model::{Model, ThinkingLevel};

/// Time limit for the provider.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The result of a check.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KeyCheck {
    /// The provider answered, or refused for other reasons.
    Accepted,
    /// The provider rejects the key; its message.
    Rejected(String),
    /// The check failed, for this reason.
    Unknown(String),
}

/// Sends a word to the provider's default model.
pub(crate) async fn check_key(direct: &Direct, model: Arc<Model>, key: Option<Secret>) -> KeyCheck {
    let hello = Message::User(UserMessage::new(UserContent::Text("hello".to_owned())));
    let request = ModelRequest {
        thinking: model.nearest(ThinkingLevel::Off),
        key: key.clone(),
        max_tokens: Some(16),
        ..ModelRequest::new(model, vec![Arc::new(hello)])
    };
    let mut stream = direct.stream(request, CancellationToken::new());
    let first = async {
        while let Some(event) = stream.next().await {
            match event {
                StreamEvent::Failed(failure) => return judge(failure, key.as_ref()),
                StreamEvent::Delta(_) | StreamEvent::Stop(_) => return KeyCheck::Accepted,
                _ => {}
            }
        }
        KeyCheck::Unknown("the provider sent nothing".to_owned())
    };
    let silent = || KeyCheck::Unknown(format!("no answer within {} seconds", TIMEOUT.as_secs()));
    tokio::time::timeout(TIMEOUT, first).await.unwrap_or_else(|_| silent())
}

/// A provider checks the key first, so any other complaint means that the key is valid.
fn judge(failure: Failure, key: Option<&Secret>) -> KeyCheck {
    let words = key.map_or(failure.message.clone(), |key| key.redact(&failure.message));
    match failure.kind {
        FailureKind::Auth => KeyCheck::Rejected(words),
        FailureKind::RateLimit | FailureKind::Overflow | FailureKind::Refused => KeyCheck::Accepted,
        _ => KeyCheck::Unknown(words),
    }
}
