//! Messages of JSON-RPC 2.0, one per line, in both directions.
//!
//! A faulty line becomes the error that answers it. The meaning of methods is in `requests`; nothing here
//! reads or writes.

use agent_client_protocol_schema::v1::{Error, ErrorCode, RequestId};
use serde::Serialize;
use serde_json::{Map, Value};

/// A line from the client.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// It expects an answer with this id.
    Request { id: RequestId, method: String, params: Value },
    /// It expects none.
    Notification { method: String, params: Value },
    /// An answer to our request.
    Response { id: RequestId, result: Result<Value, Error> },
    /// It is not a message; the error is the answer.
    Malformed { id: RequestId, error: Error },
}

/// An error of the protocol with our own sentence.
pub(crate) fn error(code: ErrorCode, text: impl Into<String>) -> Error {
    Error::new(i32::from(code), text)
}

pub(crate) fn read(line: &str) -> Incoming {
    let malformed = |id, code, text: &str| Incoming::Malformed {
        id,
        error: error(code, format!("{text}: nothing was done")),
    };
    let mut fields = match serde_json::from_str(line) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => {
            let text = "a message is one JSON object in a line, and batches are not supported";
            return malformed(RequestId::Null, ErrorCode::InvalidRequest, text);
        }
        Err(fault) => {
            return malformed(
                RequestId::Null,
                ErrorCode::ParseError,
                &format!("the line is not JSON ({fault})"),
            );
        }
    };
    let id = fields.remove("id").map(identify);
    let known = id.as_ref().and_then(|id| id.clone().ok()).unwrap_or(RequestId::Null);
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return malformed(known, ErrorCode::InvalidRequest, "`jsonrpc` must be \"2.0\"");
    }
    let method = match fields.remove("method") {
        Some(Value::String(method)) => method,
        Some(_) => return malformed(known, ErrorCode::InvalidRequest, "`method` must be a string"),
        None => return response(known, fields),
    };
    let params = match fields.remove("params") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(params @ Value::Object(_)) => params,
        Some(_) if id.is_none() => return Incoming::Notification { method, params: Value::Null },
        Some(_) => return malformed(known, ErrorCode::InvalidParams, "`params` must be an object"),
    };
    match id {
        None => Incoming::Notification { method, params },
        Some(Ok(id)) => Incoming::Request { id, method, params },
        Some(Err(())) => {
            malformed(known, ErrorCode::InvalidRequest, "`id` must be a string, a whole number or null")
        }
    }
}

fn identify(id: Value) -> Result<RequestId, ()> {
    match id {
        Value::Null => Ok(RequestId::Null),
        Value::String(text) => Ok(RequestId::Str(text)),
        Value::Number(number) => number.as_i64().map(RequestId::Number).ok_or(()),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(()),
    }
}

fn response(id: RequestId, mut fields: Map<String, Value>) -> Incoming {
    match (fields.remove("result"), fields.remove("error")) {
        (Some(result), None) => Incoming::Response { id, result: Ok(result) },
        (None, Some(fault)) => {
            let fault = serde_json::from_value(fault)
                .unwrap_or_else(|_| error(ErrorCode::InternalError, "the editor sent a malformed error"));
            Incoming::Response { id, result: Err(fault) }
        }
        _ => {
            let text = "a message needs a `method`, or either `result` or `error`: nothing was done";
            Incoming::Malformed { id, error: error(ErrorCode::InvalidRequest, text) }
        }
    }
}

/// Our request or notification.
#[derive(Serialize)]
struct Call<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    method: &'a str,
    params: &'a P,
}

/// Our answer.
#[derive(Serialize)]
struct Answer<'a, R> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a R>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Error>,
}

/// The line of a notification.
pub(crate) fn notification(method: &str, params: &impl Serialize) -> String {
    line(&Call { jsonrpc: "2.0", id: None, method, params })
}

/// The line of a request.
pub(crate) fn request(id: i64, method: &str, params: &impl Serialize) -> String {
    line(&Call { jsonrpc: "2.0", id: Some(id), method, params })
}

/// The line of an answer.
pub(crate) fn answer(id: &RequestId, result: &impl Serialize) -> String {
    line(&Answer { jsonrpc: "2.0", id, result: Some(result), error: None })
}

/// The line of a refusal.
pub(crate) fn refusal(id: &RequestId, error: &Error) -> String {
    line(&Answer::<()> { jsonrpc: "2.0", id, result: None, error: Some(error) })
}

/// Serialising types of the protocol cannot fail: their maps have text as keys, and paths that are not text
/// never get into them.
fn line(message: &impl Serialize) -> String {
    match serde_json::to_string(message) {
        Ok(mut line) => {
            line.push('\n');
            line
        }
        Err(fault) => {
            tracing::error!(%fault, "a message to the editor is not JSON");
            String::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_understood_or_answered() {
        let request = |line: &str| match read(line) {
            Incoming::Request { id, method, params } => (id, method, params),
            other => panic!("{line}: {other:?}"),
        };
        let (id, method, params) = request(r#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":1}}"#);
        assert_eq!((id, method.as_str(), params["x"].as_i64()), (RequestId::Str("a".into()), "m", Some(1)));
        assert_eq!(request(r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#).0, RequestId::Null);
        let notified = read(r#"{"jsonrpc":"2.0","method":"m","params":[1]}"#);
        assert!(matches!(notified, Incoming::Notification { params: Value::Null, .. }), "{notified:?}");
        let answered = read(r#"{"jsonrpc":"2.0","id":3,"result":null}"#);
        assert!(matches!(answered, Incoming::Response { id: RequestId::Number(3), result: Ok(Value::Null) }));
        let failed = read(r#"{"jsonrpc":"2.0","id":3,"error":7}"#);
        assert!(matches!(failed, Incoming::Response { result: Err(_), .. }), "{failed:?}");
        let cases = [
            ("", -32700),
            ("{", -32700),
            ("[]", -32600),
            ("7", -32600),
            (r#"{"id":1,"method":"m"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":7}"#, -32602),
            (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#, -32600),
        ];
        for (line, code) in cases {
            match read(line) {
                Incoming::Malformed { error, .. } => assert_eq!(i32::from(error.code), code, "{line}"),
                other => panic!("{line}: {other:?}"),
            }
        }
    }

    #[test]
    fn lines_end_once() {
        let line = refusal(&RequestId::Number(1), &error(ErrorCode::MethodNotFound, "no\nsuch"));
        assert_eq!(
            line,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\\nsuch\"}}\n"
        );
    }
}
