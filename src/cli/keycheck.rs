//! Tries a key with a real request, as small as one can be.
//!
//! Used by `/login` and by `tau auth check`. Nothing is kept here.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::agent::protocol::message::{Message, UserContent, UserMessage};
use crate::agent::protocol::model::{Model, ThinkingLevel};
use crate::agent::provider::direct::Direct;
use crate::agent::provider::{Failure, FailureKind, ModelRequest, StreamEvent, Transport};
use crate::agent::secrets::Secret;

/// How long the provider may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// What became of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Tried {
    /// The provider answered, or had other reasons not to.
    Taken,
    /// The provider does not take the key; its words.
    Refused(String),
    /// It could not be found out; why.
    Unknown(String),
}

/// Sends a word to the model.
pub async fn try_key(direct: &Direct, model: Arc<Model>, key: Option<Secret>) -> Tried {
    let hello = Message::User(UserMessage { content: UserContent::Text("hello".to_owned()), timestamp: 0 });
    let request = ModelRequest {
        thinking: model.nearest(ThinkingLevel::Off),
        model,
        key: key.clone(),
        system: "".into(),
        messages: vec![Arc::new(hello)],
        tools: Arc::new([]),
        max_tokens: Some(16),
        temperature: None,
        session_id: String::new(),
    };
    let mut stream = direct.stream(request, CancellationToken::new());
    let first = async {
        while let Some(event) = stream.next().await {
            match event {
                StreamEvent::Failed(failure) => return judge(failure, key.as_ref()),
                StreamEvent::Delta(_) | StreamEvent::Stop(_) => return Tried::Taken,
                _ => {}
            }
        }
        Tried::Unknown("the provider said nothing".to_owned())
    };
    let silent = || Tried::Unknown(format!("no answer within {} seconds", PATIENCE.as_secs()));
    tokio::time::timeout(PATIENCE, first).await.unwrap_or_else(|_| silent())
}

/// A provider looks at the key first, so whatever else it finds fault with says that the key is
/// a good one.
fn judge(failure: Failure, key: Option<&Secret>) -> Tried {
    let words = key.map_or(failure.message.clone(), |key| key.redact(&failure.message));
    match failure.kind {
        FailureKind::Auth => Tried::Refused(words),
        FailureKind::RateLimit | FailureKind::Overflow | FailureKind::Refused => Tried::Taken,
        _ => Tried::Unknown(words),
    }
}
