//! Converts the event stream of AWS to server-sent events: bytes in, bytes out.
//!
//! Bedrock frames the events of other formats: a message has its length, headers, a payload and two checksums
//! (CRC-32). The payload of a `chunk` is JSON with the event in base64; exceptions become an error event.
//! Source: docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html, the same encoding, and
//! docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{Failure, FailureKind};

/// The largest message, in bytes.
const MAX_MESSAGE: usize = 24 * 1024 * 1024;
/// The size of the lengths and their checksum.
const PRELUDE: usize = 12;
/// The size of a checksum.
const CHECKSUM: usize = 4;
/// The type of a header that is a text.
const TEXT: u8 = 7;

/// The decoder. Any split of the same bytes gives the same events.
#[derive(Debug, Default)]
pub struct AwsEventStream {
    held: Vec<u8>,
}

impl AwsEventStream {
    /// Handles the next bytes; appends events to `out`. Fails when they are no event stream, or damaged.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
        self.held.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(length) = self.next_length(at)? {
            let message = self.held.get(at..at + length).unwrap_or_default();
            event(message, out)?;
            at += length;
        }
        self.held.drain(..at);
        Ok(())
    }

    /// The length of the message at this place, if it is there completely.
    fn next_length(&self, at: usize) -> Result<Option<usize>, Failure> {
        let rest = self.held.get(at..).unwrap_or_default();
        let Some(prelude) = rest.get(..PRELUDE) else { return Ok(None) };
        let length = number(prelude, 0) as usize;
        if !(PRELUDE + CHECKSUM..=MAX_MESSAGE).contains(&length)
            || crc32(prelude.get(..8).unwrap_or_default()) != number(prelude, 8)
        {
            return Err(stream_failure());
        }
        Ok((rest.len() >= length).then_some(length))
    }
}

fn stream_failure() -> Failure {
    Failure::new(FailureKind::Protocol, "the event stream is damaged")
}

/// The big-endian number at this place.
fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// Appends the event of a message.
fn event(message: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
    let end = message.len().saturating_sub(CHECKSUM);
    let (body, sum) = message.split_at_checked(end).ok_or_else(stream_failure)?;
    if crc32(body) != number(sum, 0) {
        return Err(stream_failure());
    }
    let headers = PRELUDE + number(message, 4) as usize;
    let payload = body.get(headers..).ok_or_else(stream_failure)?;
    let headers = self::headers(body.get(PRELUDE..headers).ok_or_else(stream_failure)?)?;
    let header =
        |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let value: Value = serde_json::from_slice(payload).unwrap_or_default();
    let data = match header(":message-type") {
        Some("exception") => {
            let kind = header(":exception-type").unwrap_or("exception");
            let text = value.get("message").and_then(Value::as_str).unwrap_or(kind);
            json!({ "type": "error", "error": { "type": error_type(kind), "message": text } }).to_string()
        }
        Some("error") => {
            let text = header(":error-message").or(header(":error-code")).unwrap_or("unknown error");
            json!({ "type": "error", "error": { "type": "api_error", "message": text } }).to_string()
        }
        _ => {
            let Some(bytes) = value.get("bytes").and_then(Value::as_str) else { return Ok(()) };
            let bytes = BASE64_STANDARD.decode(bytes).map_err(|_| stream_failure())?;
            // On one line, as an event is.
            serde_json::from_slice::<Value>(&bytes).map_err(|_| stream_failure())?.to_string()
        }
    };
    let name = serde_json::from_str::<Value>(&data).ok();
    let name = name.as_ref().and_then(|data| data.get("type")?.as_str()).unwrap_or("message");
    let name: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    out.extend_from_slice(format!("event: {name}\ndata: {data}\n\n").as_bytes());
    Ok(())
}

/// The type that Anthropic has for an exception of Bedrock.
fn error_type(exception: &str) -> &'static str {
    match exception {
        "throttlingException" => "rate_limit_error",
        "validationException" => "invalid_request_error",
        "accessDeniedException" => "permission_error",
        "resourceNotFoundException" => "not_found_error",
        "modelTimeoutException" => "timeout_error",
        "serviceUnavailableException" | "modelNotReadyException" => "overloaded_error",
        _ => "api_error",
    }
}

/// The headers that are texts.
fn headers(mut bytes: &[u8]) -> Result<Vec<(String, String)>, Failure> {
    let mut headers = Vec::new();
    while let Some((length, rest)) = bytes.split_first() {
        let (name, rest) = rest.split_at_checked(usize::from(*length)).ok_or_else(stream_failure)?;
        let (kind, rest) = rest.split_first().ok_or_else(stream_failure)?;
        let (size, rest) = match kind {
            0 | 1 => (0, rest),
            2 => (1, rest),
            3 => (2, rest),
            4 => (4, rest),
            5 | 8 => (8, rest),
            9 => (16, rest),
            6 | 7 => {
                let (size, rest) = rest.split_at_checked(2).ok_or_else(stream_failure)?;
                (
                    usize::from(u16::from_be_bytes([
                        size.first().copied().unwrap_or(0),
                        size.get(1).copied().unwrap_or(0),
                    ])),
                    rest,
                )
            }
            _ => return Err(stream_failure()),
        };
        let (value, rest) = rest.split_at_checked(size).ok_or_else(stream_failure)?;
        if *kind == TEXT {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            headers.push((text(name), text(value)));
        }
        bytes = rest;
    }
    Ok(headers)
}

/// The checksum of Ethernet and zip.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(
            sum ^ u32::from(*byte),
            |sum, _| if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn message(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
        let mut head = Vec::new();
        for (name, value) in headers {
            head.push(u8::try_from(name.len()).unwrap());
            head.extend_from_slice(name.as_bytes());
            head.push(TEXT);
            head.extend_from_slice(&u16::try_from(value.len()).unwrap().to_be_bytes());
            head.extend_from_slice(value.as_bytes());
        }
        let length = PRELUDE + head.len() + payload.len() + CHECKSUM;
        let mut bytes = u32::try_from(length).unwrap().to_be_bytes().to_vec();
        bytes.extend_from_slice(&u32::try_from(head.len()).unwrap().to_be_bytes());
        bytes.extend_from_slice(&crc32(&bytes).to_be_bytes());
        bytes.extend_from_slice(&head);
        bytes.extend_from_slice(payload);
        bytes.extend_from_slice(&crc32(&bytes).to_be_bytes());
        bytes
    }

    fn chunk(event: &str) -> Vec<u8> {
        let payload = json!({ "bytes": BASE64_STANDARD.encode(event), "p": "abc" }).to_string();
        message(
            &[(":event-type", "chunk"), (":content-type", "application/json"), (":message-type", "event")],
            payload.as_bytes(),
        )
    }

    #[test]
    fn events_are_the_same_however_they_are_split() {
        let bytes = [
            chunk(r#"{"type":"message_start","message":{}}"#),
            chunk("{\"type\": \"message_stop\",\n \"x\": 1}"),
            message(
                &[(":message-type", "exception"), (":exception-type", "throttlingException")],
                br#"{"message":"slow"}"#,
            ),
        ]
        .concat();
        let expected = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n\
            event: message_stop\ndata: {\"type\":\"message_stop\",\"x\":1}\n\n\
            event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow\"}}\n\n";
        for step in [1, 2, 7, 50, bytes.len()] {
            let (mut stream, mut out) = (AwsEventStream::default(), Vec::new());
            bytes.chunks(step).for_each(|part| stream.push(part, &mut out).unwrap());
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{step}");
        }
    }

    #[test]
    fn damaged_bytes_are_a_failure() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        let good = chunk(r#"{"type":"x"}"#);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x55;
            let (mut stream, mut out) = (AwsEventStream::default(), Vec::new());
            let pushed = stream.push(&bad, &mut out);
            assert!(pushed.is_err() && out.is_empty(), "{at}");
        }
        let text = b"HTTP says something else entirely, at length";
        assert!(AwsEventStream::default().push(text, &mut Vec::new()).is_err());
    }
}
