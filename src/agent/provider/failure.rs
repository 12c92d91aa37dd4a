//! The failure of a request, as data: a closed kind, the provider's message, and a hint.

use serde::{Deserialize, Serialize};

/// Kinds of failure; each determines one behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FailureKind {
    /// Missing or wrong key (401, 403). Not retried.
    Auth,
    /// The model or the address does not exist (404). Not retried.
    NotFound,
    /// The provider does not accept the request (400, 422). Not retried.
    Request,
    /// The conversation does not fit the model's context. Handed to compaction.
    Overflow,
    /// The provider refuses to answer for policy reasons. Not retried.
    Refused,
    /// Too many requests in too short a time (429). Retried after the requested time.
    RateLimit,
    /// The provider is overloaded or broken (500, 502, 503, 529). Retried.
    Overloaded,
    /// No connection, reset, or the body ended early. Retried.
    Network,
    /// Nothing arrived for too long. Retried.
    Timeout,
    /// The answer cannot be parsed. Retried once.
    Protocol,
    /// Configuration: no model, no provider, no key. Not retried.
    Config,
    /// The user stopped it.
    Aborted,
}

/// A failure of a request or of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    pub kind: FailureKind,
    /// The provider's message, or tau's own; at most 2 KB, without keys.
    pub message: String,
    /// Advice to the user, as a sentence in lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The wait that the provider asks for, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl Failure {
    /// A failure of that kind, without a hint.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Failure { kind, message: message.into(), hint: None, retry_after_ms: None }
    }

    /// Adds advice to the user.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether a retry can help.
    pub fn retryable(&self) -> bool {
        matches!(
            self.kind,
            FailureKind::RateLimit
                | FailureKind::Overloaded
                | FailureKind::Network
                | FailureKind::Timeout
                | FailureKind::Protocol
        )
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}
