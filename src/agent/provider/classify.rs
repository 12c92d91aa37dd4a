//! Converts a provider's error answer to a [`Failure`]: its message, kind and wait.
//!
//! Pure: the time is passed in as a number. `error_kind` decides the kind of a failure by tables.

use serde_json::Value;

use super::error_kind::{is_plan_limit, is_spent, kind_of, plan_reset};
use super::error_text::{is_page, message_of, page_title, plain, shorten};
use super::failure::{Failure, FailureKind};
use super::retry_time;
use crate::secrets::Secrets;

/// The failure in an answer with a status of 400 and up. `headers` have names in lower case; `now_ms` is the time in
/// milliseconds since 1970, for retry times that are dates. `secrets` are removed from the message before it is
/// shortened.
pub fn from_status(
    secrets: &Secrets,
    status: u16,
    headers: &[(String, String)],
    body: &str,
    now_ms: i64,
) -> Failure {
    let value: Value = serde_json::from_str(body.trim()).unwrap_or_default();
    if is_page(body) {
        let failure = page(secrets, Some(status), body);
        return Failure {
            retry_after_ms: retry_time::of_answer(headers, &value, &failure.message, now_ms),
            ..failure
        };
    }
    let message = match message_of(&value) {
        Some(message) => secrets.redact(&message),
        None => plain(&secrets.redact(body), status),
    };
    let kind = kind_of(Some(status), &value, &message);
    let mut failure = Failure::new(kind, shorten(&message));
    failure.hint = hint(kind, Some(status), &value).map(str::to_owned);
    if is_plan_limit(&value) {
        failure.hint = Some(plan_hint(plan_reset(&value, now_ms)));
        return failure;
    }
    failure.retry_after_ms = retry_time::of_answer(headers, &value, &message, now_ms);
    failure
}

/// The hint at the limit of a subscription, which ends in so many seconds.
fn plan_hint(seconds: Option<i64>) -> String {
    let time = |seconds: i64| {
        let minutes = seconds.saturating_add(59) / 60;
        match (minutes / (24 * 60), minutes / 60 % 24, minutes % 60) {
            (0, 0, minutes) => format!("{minutes} min"),
            (0, hours, minutes) => format!("{hours} h {minutes} min"),
            (days, hours, _) => format!("{days} d {hours} h"),
        }
    };
    match seconds {
        Some(seconds) => {
            format!("the limit of your plan ends in {}; until then choose another model", time(seconds))
        }
        None => "the limit of your plan is reached; choose another model".to_owned(),
    }
}

/// The failure for an error inside a stream or a body with status 200: the object itself, or one that holds
/// it under `error`. The message is complete: the reader of the answer removes keys from it and then shortens
/// it.
pub(crate) fn from_error(value: &Value) -> Failure {
    let message = message_of(value).unwrap_or_else(|| match value {
        Value::Null => "the provider reported an error without a message".into(),
        Value::String(text) if !text.trim().is_empty() => text.clone(),
        other => other.to_string(),
    });
    let kind = kind_of(None, value, &message);
    let mut failure = Failure::new(kind, message);
    failure.hint = hint(kind, None, value).map(str::to_owned);
    failure.retry_after_ms = retry_time::of_error(value, &failure.message);
    failure
}

/// Whether an object without an answer is an error that is not under `error`.
pub(super) fn is_bare_error(value: &Value) -> bool {
    let has_text =
        |name: &str| value.get(name).and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
    value.get("object").and_then(Value::as_str) == Some("error") || has_text("message") || has_text("detail")
}

/// A body that should have been an event stream and was not.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stray {
    /// An error of the provider, as bare JSON.
    Error(Failure),
    /// An HTML page, of which only the title is kept.
    Page(Failure),
}

/// The failure in text outside of an event stream; `None` if the text may be ignored.
pub(super) fn stray(secrets: &Secrets, text: &str) -> Option<Stray> {
    let text = text.trim();
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        let first = match &value {
            Value::Array(list) => list.first().cloned().unwrap_or_default(),
            other => other.clone(),
        };
        let failed =
            first.get("error").is_some_and(|error| !error.is_null()) || first.get("detail").is_some();
        return (failed || first.get("message").is_some()).then(|| Stray::Error(from_error(&first)));
    }
    text.starts_with('<').then(|| Stray::Page(page(secrets, None, text)))
}

/// The beginning of the message of such a failure.
pub(super) const NOT_THE_API: &str = "a web page answered, not the API";

/// The failure if a page for people came: from a filter or a proxy in between, or from another server than the API.
fn page(secrets: &Secrets, status: Option<u16>, html: &str) -> Failure {
    let title = page_title(&secrets.redact(html));
    let said = if title.is_empty() { String::new() } else { format!(": {title}") };
    let status_said = status.map(|status| format!(" (status {status})")).unwrap_or_default();
    // A page does not know the key, whatever the status means to the API.
    let kind = match status.map(|status| kind_of(Some(status), &Value::Null, "")) {
        Some(FailureKind::Auth) if status != Some(401) => FailureKind::Request,
        Some(kind) => kind,
        None => FailureKind::Protocol,
    };
    let failure = Failure::new(kind, format!("{NOT_THE_API}{said}{status_said}"));
    // A gateway in front of the API sends such pages for temporary failures.
    if status.is_some_and(|status| (500..600).contains(&status)) {
        return failure;
    }
    failure.hint("check the provider's base URL, and whether a filter, a proxy or a login page is in between")
}

fn hint(kind: FailureKind, status: Option<u16>, value: &Value) -> Option<&'static str> {
    match kind {
        _ if is_spent(status, value) => Some("check your plan and billing with the provider"),
        FailureKind::Auth => Some("check the API key of this provider"),
        FailureKind::NotFound => Some("check the model's name and the provider's base URL"),
        FailureKind::Request => {
            Some("the provider refused this request: try another model or thinking level")
        }
        FailureKind::Refused => Some("rephrase the prompt or choose another model"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn kinds_and_messages() {
        // Status, kind, message, body.
        let rows = r#"
            401 | Auth | no | {"error":{"message":"no"}}
            400 | Auth | Incorrect API key provided. | {"code":"invalid-argument","error":"Incorrect API key provided."}
            401 | Auth | Invalid API Key | {"detail":"Invalid API Key"}
            404 | NotFound | model: x | {"type":"error","error":{"type":"not_found_error","message":"model: x"}}
            400 | Overflow | prompt is too long: 9 > 8 | {"error":{"message":"prompt is too long: 9 > 8"}}
            429 | Overflow | The input token count (9) exceeds the maximum number of tokens | {"error":{"message":"The input token count (9) exceeds the maximum number of tokens"}}
            413 | Overflow | the server answered with status 413 and no message |
            429 | Request | quota | {"error":{"code":"insufficient_quota","message":"quota"}}
            529 | Overloaded | Overloaded | {"error":{"type":"overloaded_error","message":"Overloaded"}}
            422 | Request | Field required | {"detail":[{"msg":"Field required","loc":["body"]}]}
            400 | Request | bad | {"type":"error","error":{"type":"api_error","message":"bad"}}
            500 | Overloaded | status 500: oh no | oh no
            400 | Request | in a list | [{"error":{"message":"in a list"}}]
        "#;
        for row in rows.trim().lines() {
            let mut cells = row.splitn(4, '|').map(str::trim);
            let mut cell = || cells.next().unwrap();
            let (status, kind, message) = (cell().parse().unwrap(), cell(), cell());
            let failure = from_status(&Secrets::default(), status, &[], cell(), 0);
            assert_eq!(
                (format!("{:?}", failure.kind).as_str(), failure.message.as_str()),
                (kind, message),
                "{row}"
            );
        }
    }

    #[test]
    fn whoever_has_no_credit_left_is_told_about_billing() {
        let hint = |status: u16, body: &str| from_status(&Secrets::default(), status, &[], body, 0).hint;
        let billing = Some("check your plan and billing with the provider".to_owned());
        for (status, body) in [
            (402, r#"{"error":{"message":"Insufficient credits"}}"#),
            (402, ""),
            (429, r#"{"error":{"code":"insufficient_quota","message":"quota"}}"#),
        ] {
            assert_eq!(hint(status, body), billing, "{status} {body}");
        }
        let in_stream = serde_json::json!({ "error": { "code": 402, "message": "Insufficient credits" } });
        assert_eq!(from_error(&in_stream).hint, billing);
        assert_ne!(hint(400, r#"{"error":{"message":"bad"}}"#), billing);
    }

    #[test]
    fn a_page_about_a_fault_of_the_server_gives_no_advice_about_the_address() {
        for (status, has_hint) in [(500, false), (502, false), (503, false), (403, true), (404, true)] {
            let failure = from_status(&Secrets::default(), status, &[], "<html><title>x</title></html>", 0);
            assert_eq!((failure.hint.is_some(), failure.retryable()), (has_hint, !has_hint), "{status}");
        }
    }

    #[test]
    fn a_page_is_not_an_answer_of_the_api() {
        let check = |status: u16, body: &str, kind: FailureKind, message: &str| {
            let failure = from_status(&Secrets::default(), status, &[], body, 0);
            assert_eq!((failure.kind, failure.message.as_str()), (kind, message), "{status} {body}");
        };
        check(
            502,
            "<html><head><title>502 Bad\n Gateway</title></head></html>",
            FailureKind::Overloaded,
            "a web page answered, not the API: 502 Bad Gateway (status 502)",
        );
        check(
            403,
            "\u{feff}\n<!DOCTYPE html><title>Forbidden by Zscaler &#8211; a\u{1b}[2J &amp; b</title><p>x",
            FailureKind::Request,
            "a web page answered, not the API: Forbidden by Zscaler \u{2013} a[2J & b (status 403)",
        );
        check(
            404,
            "<html><style>p { color: red }</style><script>if (1 < 2) go()</script><p>No such\npage</html>",
            FailureKind::NotFound,
            "a web page answered, not the API: No such page (status 404)",
        );
        check(
            403,
            "<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>",
            FailureKind::Auth,
            "status 403: AccessDenied",
        );
    }

    #[test]
    fn providers_word_an_overflow_differently() {
        let check = |status: u16, message: &str, kind: FailureKind| {
            let body = serde_json::json!({ "error": { "message": message } }).to_string();
            assert_eq!(
                from_status(&Secrets::default(), status, &[], &body, 0).kind,
                kind,
                "{status} {message}"
            );
        };
        let overflows = [
            "Prompt exceeds max length",
            "The estimated number of input and maximum output tokens (9000) exceeded this model \
             context window limit (8192).",
            "prompt token count of 70000 exceeds the limit of 64000",
            "This prompt (total length 9000) is too long to fit into the model (context length 8192).",
            "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
            "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 8000.",
            "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000",
            "Input tokens exceed the configured limit of 272000 tokens.",
            "The input (9000 tokens) exceeds the maximum allowed input length (8192 tokens).",
            "Please reduce the length of the prompt.",
            "Token limit exceeded",
        ];
        for message in overflows {
            check(400, message, FailureKind::Overflow);
        }
        check(429, "Token limit exceeded", FailureKind::RateLimit);
        check(400, "Token limit exceeded: 90000 tokens per minute", FailureKind::Request);
        check(429, "Too many tokens, please wait before trying again.", FailureKind::RateLimit);
        check(400, "Token limit exceeded for this rate limit", FailureKind::RateLimit);
    }

    #[test]
    fn errors_inside_a_stream() {
        let check = |json: &str, kind: FailureKind| {
            let value = serde_json::from_str(json).unwrap();
            assert_eq!(from_error(&value).kind, kind, "{json}");
        };
        check(r#"{"type":"overloaded_error","message":"Overloaded"}"#, FailureKind::Overloaded);
        check(r#"{"error":{"code":429,"message":"slow down"}}"#, FailureKind::RateLimit);
        check(
            r#"{"error":{"message":"m","type":"invalid_request_error","status_code":400}}"#,
            FailureKind::Request,
        );
        check(r#"{"error":{"code":"server_error","message":"m"}}"#, FailureKind::Overloaded);
        check(r#"{"code":"image_too_large","message":"The image is too large."}"#, FailureKind::Request);
        check(r#"{"code":"invalid_encrypted_content","message":"m"}"#, FailureKind::Request);
        check(r#"{"code":"invalid_api_key","message":"m"}"#, FailureKind::Auth);
        check(r#"{"error":"what"}"#, FailureKind::Overloaded);
    }

    #[test]
    fn waits() {
        let check = |list: &[(&str, &str)], body: &str, expected: Option<u64>| {
            assert_eq!(
                from_status(&Secrets::default(), 429, &headers(list), body, 1_445_412_480_000).retry_after_ms,
                expected,
                "{list:?}"
            );
        };
        check(&[], "", None);
        check(&[("retry-after", "7")], "", Some(7_000));
        check(&[("retry-after", "0.5")], "", Some(500));
        check(&[("retry-after-ms", "1500"), ("retry-after", "9")], "", Some(1_500));
        check(&[("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT")], "", Some(30_000));
        check(
            &[("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT"), ("date", "Wed, 21 Oct 2015 07:28:20 GMT")],
            "",
            Some(10_000),
        );
        check(&[("retry-after", "Wed, 21 Oct 2015 07:00:00 GMT")], "", Some(0));
        check(&[("retry-after", "soon")], "", None);
        check(&[], r#"{"error":{"details":[{"@type":"x"},{"retryDelay":"34.5s"}]}}"#, Some(34_500));
    }

    #[test]
    fn long_messages_are_cut() {
        use crate::provider::error_text::MAX_MESSAGE;
        let failure = from_status(&Secrets::default(), 500, &[], &"ä".repeat(5_000), 0);
        assert!(failure.message.len() <= MAX_MESSAGE && failure.message.ends_with('…'));
    }

    #[test]
    fn a_key_across_the_cut_is_removed() {
        let mut secrets = Secrets::default();
        secrets.add("sk/very-secret-1234");
        let check = |body: &dyn Fn(&str) -> String, most: usize| {
            // Every position of the key up to and after the cut.
            for before in most - 40..most + 5 {
                let body = body(&format!("{}sk/very-secret-1234 x", "x".repeat(before)));
                let failure = from_status(&secrets, 500, &[], &body, 0);
                assert!(!failure.message.contains("sk/"), "{before}: {}", failure.message);
            }
        };
        check(&|text| text.to_owned(), 2_048);
        check(&|text| serde_json::json!({ "error": { "message": text } }).to_string(), 2_048);
        check(&|text| format!("{{\"error\":{{\"message\":\"{}\"}}}}", text.replace('/', "\\/")), 2_048);
        check(&|text| format!("<html><title>{text}</title></html>"), 200);
    }
}
