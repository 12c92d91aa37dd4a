//! Reports requests to providers and their answers for debugging, without keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::{Headers, HttpRequest};
use crate::secrets::Secrets;

/// The maximum bytes of an answer that are reported.
const MAX_SIZE: usize = 8 * 1024 * 1024;
/// Replaces the value of a header that may hold a key.
const HIDDEN: &str = "***";

/// A message on the wire. Keys are masked in it.
#[derive(Clone, Debug, PartialEq)]
pub enum WireRecord {
    /// A request as it is sent. Headers that may hold a key are masked.
    Request {
        /// Identifies the request in this process.
        id: u64,
        url: String,
        headers: Vec<(String, String)>,
        body: Value,
    },
    /// The complete answer: its body as read, at most 8 MB, and the error if it failed or was stopped.
    Response { id: u64, body: String, error: Option<String> },
}

/// Receives every request to a provider and its answer.
#[derive(Clone)]
pub struct WireListener(Arc<dyn Fn(WireRecord) + Send + Sync>);

tau_tools::debug_fields!(WireListener {});

impl WireListener {
    /// Calls `listen` with each record on the thread of the request: it must not block.
    pub fn new(listen: impl Fn(WireRecord) + Send + Sync + 'static) -> Self {
        WireListener(Arc::new(listen))
    }

    /// Reports a request, and returns the record of its answer.
    pub(super) fn report_request(&self, request: &HttpRequest, secrets: &Secrets) -> AnswerRecord {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let masked = |(name, value): &(String, String)| {
            let value = if Headers::may_hold_key(name) { HIDDEN } else { value };
            (name.clone(), value.to_owned())
        };
        let body = secrets.redact(&request.body.to_string());
        (self.0)(WireRecord::Request {
            id,
            url: secrets.redact(&request.url),
            headers: request.headers.0.iter().map(masked).collect(),
            // A key in a body is inside a string, so the body is still JSON without it.
            body: serde_json::from_str(&body).unwrap_or(Value::String(body)),
        });
        AnswerRecord { listener: self.clone(), secrets: secrets.clone(), id, body: Vec::new(), done: false }
    }
}

/// The record of an answer in progress.
pub(super) struct AnswerRecord {
    listener: WireListener,
    secrets: Secrets,
    id: u64,
    body: Vec<u8>,
    done: bool,
}

impl AnswerRecord {
    /// Appends a part of the answer.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let room = MAX_SIZE.saturating_sub(self.body.len()).min(bytes.len());
        self.body.extend(bytes.iter().take(room));
    }

    /// Ends the answer and reports it.
    pub(super) fn end(&mut self, error: Option<String>) {
        if std::mem::replace(&mut self.done, true) {
            return;
        }
        let body = self.secrets.redact(&String::from_utf8_lossy(&self.body));
        let error = error.map(|error| self.secrets.redact(&error));
        (self.listener.0)(WireRecord::Response { id: self.id, body, error });
    }
}

impl Drop for AnswerRecord {
    fn drop(&mut self) {
        self.end(Some("stopped".to_owned()));
    }
}
