//! From a provider's error answer to a [`Failure`]: its words, its kind, how long to wait.
//!
//! Pure: the time comes in as a number. The tables hold wordings that vendors were recorded to
//! use; a new wording is a new row.

use serde_json::Value;

use super::error_text::{page_title, plain, shortened, words};
use super::failure::{Failure, FailureKind};
use crate::agent::secrets::Secrets;

/// How vendors word that a conversation does not fit, in lower case. Each row is a set of
/// fragments that must all occur.
const OVERFLOW: &[&[&str]] = &[
    &["prompt is too long"],                         // Anthropic
    &["input length and", "exceed context limit"],   // Anthropic, with max_tokens
    &["input is too long"],                          // Bedrock
    &["exceeds the context window"],                 // OpenAI
    &["context_length_exceeded"],                    // OpenAI, as a code
    &["maximum context length"],                     // OpenAI chat, OpenRouter, vLLM, DeepSeek
    &["input token count", "exceeds the maximum"],   // Google
    &["maximum prompt length"],                      // xAI
    &["reduce the length of the messages"],          // Groq
    &["exceeds the available context size"],         // llama.cpp
    &["exceed_context_size"],                        // llama.cpp, as a type
    &["requested tokens", "exceed context window"],  // llama-cpp-python
    &["greater than the context length"],            // LM Studio
    &["prompt too long"],                            // Ollama
    &["exceeded max context length"],                // Ollama
    &["model_context_window_exceeded"],              // Z.AI
    &["too large for model", "maximum context"],     // Mistral
    &["exceeded model token limit"],                 // Moonshot
    &["context window exceeds limit"],               // MiniMax
    &["range of input length should be"],            // Alibaba
    &["input or output tokens must be reduced"],     // Azure, with status 429
    &["inputs tokens + max_new_tokens must be"],     // Hugging Face
    &["longer than the model's context"],            // together and others
    &["prompt exceeds max length"],                  // Z.AI
    &["exceeded this model context window limit"],   // Cloudflare
    &["prompt token count of", "exceeds the limit"], // GitHub Copilot
    &["too long to fit into the model"],             // vLLM
    &["longer than the maximum model length"],       // vLLM
    &["too many tokens", "prompt cannot exceed"],    // Cohere
    &["`inputs` must have less than", "tokens"],     // Hugging Face
    &["input tokens exceed the configured limit"],   // OpenAI
    &["exceeds the maximum allowed input length"],
    &["reduce the length of the prompt"],
    &["context length exceeded"],
    &["context window exceeded"],
];

/// Wordings that mean the same only where nothing is said of a rate.
const LOOSE_OVERFLOW: &[&str] = &["token limit exceeded"];

/// How vendors word that too much came in too short a time, in lower case.
const RATES: &[&str] = &[
    "per second",
    "per minute",
    "per min",
    "per hour",
    "per day",
    "per month",
    "daily",
    "monthly",
    "tpm",
    "rate limit",
    "rate_limit",
    "quota",
    "too many requests",
    "try again in",
    "please wait",
];

/// Error types and codes that name a kind, whatever the status. Compared in lower case, whole.
const CODES: &[(&str, FailureKind)] = &[
    ("context_length_exceeded", FailureKind::Overflow),
    ("exceed_context_size_error", FailureKind::Overflow),
    ("model_max_prompt_tokens_exceeded", FailureKind::Overflow),
    ("request_too_large", FailureKind::Overflow),
    ("authentication_error", FailureKind::Auth),
    ("permission_error", FailureKind::Auth),
    ("permission_denied", FailureKind::Auth),
    ("unauthenticated", FailureKind::Auth),
    ("invalid_api_key", FailureKind::Auth),
    ("api_key_invalid", FailureKind::Auth),
    ("unauthorized", FailureKind::Auth),
    ("forbidden", FailureKind::Auth),
    ("model_not_found", FailureKind::NotFound),
    ("not_found_error", FailureKind::NotFound),
    ("not_found", FailureKind::NotFound),
    ("deploymentnotfound", FailureKind::NotFound),
    ("content_filter", FailureKind::Refused),
    ("content_policy_violation", FailureKind::Refused),
    ("cyber_policy", FailureKind::Refused),
    ("rate_limit_error", FailureKind::RateLimit),
    ("rate_limit_exceeded", FailureKind::RateLimit),
    ("too_many_requests", FailureKind::RateLimit),
    ("resource_exhausted", FailureKind::RateLimit),
    ("overloaded_error", FailureKind::Overloaded),
    ("api_error", FailureKind::Overloaded),
    ("server_error", FailureKind::Overloaded),
    ("internal_server_error", FailureKind::Overloaded),
    ("internal", FailureKind::Overloaded),
    ("unavailable", FailureKind::Overloaded),
    ("service_unavailable", FailureKind::Overloaded),
    ("timeout_error", FailureKind::Timeout),
    ("deadline_exceeded", FailureKind::Timeout),
    ("invalid_request_error", FailureKind::Request),
    ("invalid_argument", FailureKind::Request),
    ("failed_precondition", FailureKind::Request),
];

/// Codes that say that the account has nothing left to pay with. Vendors send them as 429, but no
/// wait mends that.
const SPENT: &[&str] = &["insufficient_quota", "billing_error", "billing_hard_limit_reached"];

/// Wordings that name a kind where the status does not (400 for a wrong key, say).
const WORDS: &[(&str, FailureKind)] = &[
    ("api key not valid", FailureKind::Auth),
    ("incorrect api key", FailureKind::Auth),
    ("invalid api key", FailureKind::Auth),
    ("authentication fails", FailureKind::Auth),
    ("model not found", FailureKind::NotFound),
    ("model does not exist", FailureKind::NotFound),
    ("overloaded", FailureKind::Overloaded),
    ("rate limit", FailureKind::RateLimit),
];

/// The failure behind an answer with a status of 400 and up. `headers` have names in lower
/// case; `now_ms` is the time in milliseconds since 1970, for retry times that are dates.
pub fn from_status(status: u16, headers: &[(String, String)], body: &str, now_ms: i64) -> Failure {
    from_status_without(&Secrets::default(), status, headers, body, now_ms)
}

/// The same, with these values taken out of its words before they are shortened.
pub(super) fn from_status_without(
    secrets: &Secrets,
    status: u16,
    headers: &[(String, String)],
    body: &str,
    now_ms: i64,
) -> Failure {
    let value: Value = serde_json::from_str(body.trim()).unwrap_or_default();
    let message = match words(&value) {
        Some(words) => secrets.redact(&words),
        None => plain(&secrets.redact(body), status),
    };
    let kind = kind_of(Some(status), &value, &message);
    let mut failure = Failure::new(kind, shortened(&message));
    failure.hint = hint(kind, &value).map(str::to_owned);
    failure.retry_after_ms = retry_after(headers, now_ms).or_else(|| retry_in_body(&value));
    failure
}

/// The failure behind an error that came inside a stream or a body with status 200: the object
/// itself, or one that holds it under `error`. Its words are whole: who reads the answer takes
/// keys out of them and shortens them after that.
pub fn from_error(value: &Value) -> Failure {
    let message = words(value).unwrap_or_else(|| match value {
        Value::Null => "the provider reported an error without words".into(),
        other => other.to_string(),
    });
    let kind = kind_of(None, value, &message);
    let mut failure = Failure::new(kind, message);
    failure.hint = hint(kind, value).map(str::to_owned);
    failure.retry_after_ms = retry_in_body(value);
    failure
}

/// The failure in a body that should have been an event stream and was not: a bare JSON error,
/// or a page of HTML, of which only the title is kept. None when it is something that may be
/// ignored.
pub(super) fn from_stray(secrets: &Secrets, text: &str) -> Option<Failure> {
    let text = text.trim();
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        let first = match &value {
            Value::Array(list) => list.first().cloned().unwrap_or_default(),
            other => other.clone(),
        };
        let failed =
            first.get("error").is_some_and(|error| !error.is_null()) || first.get("detail").is_some();
        return (failed || first.get("message").is_some()).then(|| from_error(&first));
    }
    if text.starts_with('<') {
        let title = page_title(&secrets.redact(text));
        let message = format!("the server sent a web page instead of an answer: {title}");
        return Some(
            Failure::new(FailureKind::Protocol, message)
                .hint("check the base url of the provider, and whether a proxy asks for a login"),
        );
    }
    None
}

fn kind_of(status: Option<u16>, value: &Value, message: &str) -> FailureKind {
    let lower = message.to_lowercase();
    let (named, code_status) = codes(value);
    if is_spent(value) {
        return FailureKind::Request;
    }
    let overflows = OVERFLOW.iter().any(|row| row.iter().all(|fragment| lower.contains(fragment)));
    if overflows || status == Some(413) || named == Some(FailureKind::Overflow) {
        return FailureKind::Overflow;
    }
    let limited = named == Some(FailureKind::RateLimit)
        || status.or(code_status) == Some(429)
        || RATES.iter().any(|word| lower.contains(word));
    if !limited && LOOSE_OVERFLOW.iter().any(|words| lower.contains(words)) {
        return FailureKind::Overflow;
    }
    // Inside a stream, a numeric code stands for the status.
    let by_status = status.or(code_status).and_then(|status| by_status(status, named));
    let by_words = WORDS.iter().find(|(word, _)| lower.contains(word)).map(|(_, kind)| *kind);
    match by_status {
        Some(FailureKind::Request) => match (named, by_words) {
            (Some(kind), _) if kind != FailureKind::Request => kind,
            (_, Some(kind)) => kind,
            _ => FailureKind::Request,
        },
        Some(kind) => kind,
        None => named.or(by_words).unwrap_or(FailureKind::Overloaded),
    }
}

/// The kind that the error's type or code names, and the status that a numeric code stands for.
fn codes(value: &Value) -> (Option<FailureKind>, Option<u16>) {
    let error = error_of(value);
    let fields = ["code", "type", "status", "status_code"];
    let reason = error.pointer("/details/0/reason");
    let mut kinds = Vec::new();
    let mut status = None;
    for field in fields.iter().filter_map(|field| error.get(field)).chain(reason) {
        match field {
            Value::Number(number) => status = status.or(number.as_u64().and_then(|n| u16::try_from(n).ok())),
            Value::String(word) => {
                status = status.or(word.parse().ok());
                let word = word.to_ascii_lowercase();
                kinds.extend(CODES.iter().find(|(code, _)| *code == word).map(|(_, kind)| *kind));
            }
            _ => {}
        }
    }
    // `invalid_request_error` is said of everything; a narrower word beside it counts.
    let narrow = kinds.iter().copied().find(|kind| *kind != FailureKind::Request);
    (narrow.or(kinds.first().copied()), status.filter(|status| (400..600).contains(status)))
}

/// The error itself, whether it stands alone, in a list, or under `error`.
fn error_of(value: &Value) -> &Value {
    let value = match value {
        Value::Array(list) => list.first().unwrap_or(&Value::Null),
        other => other,
    };
    value.get("error").filter(|error| error.is_object()).unwrap_or(value)
}

fn is_spent(value: &Value) -> bool {
    let error = error_of(value);
    let words = ["code", "type"].iter().filter_map(|field| error.get(field)?.as_str());
    words.into_iter().any(|word| SPENT.contains(&word))
}

fn by_status(status: u16, named: Option<FailureKind>) -> Option<FailureKind> {
    Some(match status {
        401 | 403 => match named {
            Some(FailureKind::Refused) => FailureKind::Refused,
            _ => FailureKind::Auth,
        },
        404 | 410 => FailureKind::NotFound,
        408 | 504 | 524 => FailureKind::Timeout,
        429 => FailureKind::RateLimit,
        400..=499 => FailureKind::Request,
        500..=599 => FailureKind::Overloaded,
        _ => return None,
    })
}

fn hint(kind: FailureKind, value: &Value) -> Option<&'static str> {
    match kind {
        _ if is_spent(value) => Some("look at plan and billing at the provider"),
        FailureKind::Auth => Some("check the key of this provider"),
        FailureKind::NotFound => Some("check the model's name and the provider's base url"),
        FailureKind::Overflow => Some("compact the conversation or begin a new one"),
        FailureKind::Refused => Some("word it differently or choose another model"),
        _ => None,
    }
}

/// The wait that the headers ask for, in milliseconds: `retry-after-ms`, or `retry-after` as
/// seconds or as a date (RFC 9110, section 10.2.3).
fn retry_after(headers: &[(String, String)], now_ms: i64) -> Option<u64> {
    let header = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.trim());
    if let Some(ms) = header("retry-after-ms").and_then(|value| value.parse::<f64>().ok()) {
        return Some(ms.max(0.0) as u64);
    }
    let value = header("retry-after")?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Some((seconds.max(0.0) * 1000.0) as u64);
    }
    let date =
        |text: &str| jiff::fmt::rfc2822::parse(text).ok().map(|time| time.timestamp().as_millisecond());
    // The server's own clock is the better reference, where it sends one.
    let now = header("date").and_then(date).unwrap_or(now_ms);
    date(value).map(|until| u64::try_from(until - now).unwrap_or(0))
}

/// The wait that Google puts into the body: `retryDelay` of `RetryInfo`, such as `34.07s`.
fn retry_in_body(value: &Value) -> Option<u64> {
    let error = value.get("error").unwrap_or(value);
    let details = error.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds: f64 = delay.trim().strip_suffix('s')?.parse().ok()?;
    Some((seconds.max(0.0) * 1000.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn kinds_and_words() {
        let check = |status: u16, body: &str, kind: FailureKind, message: &str| {
            let failure = from_status(status, &[], body, 0);
            assert_eq!((failure.kind, failure.message.as_str()), (kind, message), "{status} {body}");
        };
        check(401, r#"{"error":{"message":"no"}}"#, FailureKind::Auth, "no");
        check(
            400,
            r#"{"code":"invalid-argument","error":"Incorrect API key provided."}"#,
            FailureKind::Auth,
            "Incorrect API key provided.",
        );
        check(401, r#"{"detail":"Invalid API Key"}"#, FailureKind::Auth, "Invalid API Key");
        check(
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#,
            FailureKind::NotFound,
            "model: x",
        );
        check(
            400,
            r#"{"error":{"message":"prompt is too long: 9 > 8"}}"#,
            FailureKind::Overflow,
            "prompt is too long: 9 > 8",
        );
        check(
            429,
            r#"{"error":{"message":"The input token count (9) exceeds the maximum number of tokens"}}"#,
            FailureKind::Overflow,
            "The input token count (9) exceeds the maximum number of tokens",
        );
        check(413, "", FailureKind::Overflow, "the server answered with status 413 and no words");
        check(
            429,
            r#"{"error":{"code":"insufficient_quota","message":"quota"}}"#,
            FailureKind::Request,
            "quota",
        );
        check(
            529,
            r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            FailureKind::Overloaded,
            "Overloaded",
        );
        check(
            422,
            r#"{"detail":[{"msg":"Field required","loc":["body"]}]}"#,
            FailureKind::Request,
            "Field required",
        );
        check(
            502,
            "<html><head><title>502 Bad\n Gateway</title></head></html>",
            FailureKind::Overloaded,
            "status 502: 502 Bad Gateway",
        );
        check(500, "oh no", FailureKind::Overloaded, "status 500: oh no");
        check(400, r#"[{"error":{"message":"in a list"}}]"#, FailureKind::Request, "in a list");
    }

    #[test]
    fn vendors_word_an_overflow_differently() {
        let check = |status: u16, message: &str, kind: FailureKind| {
            let body = serde_json::json!({ "error": { "message": message } }).to_string();
            assert_eq!(from_status(status, &[], &body, 0).kind, kind, "{status} {message}");
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
        check(r#"{"error":"what"}"#, FailureKind::Overloaded);
    }

    #[test]
    fn waits() {
        let check = |list: &[(&str, &str)], body: &str, expected: Option<u64>| {
            assert_eq!(
                from_status(429, &headers(list), body, 1_445_412_480_000).retry_after_ms,
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
    fn long_words_are_cut() {
        use crate::agent::provider::error_text::MAX_MESSAGE;
        let failure = from_status(500, &[], &"ä".repeat(5_000), 0);
        assert!(failure.message.len() <= MAX_MESSAGE && failure.message.ends_with('…'));
    }

    #[test]
    fn a_key_across_the_cut_is_taken_out_whole() {
        let mut secrets = Secrets::default();
        secrets.add("sk/very-secret-1234");
        let check = |body: &dyn Fn(&str) -> String, most: usize| {
            // Every place of the key up to and behind the cut.
            for before in most - 40..most + 5 {
                let body = body(&format!("{}sk/very-secret-1234 x", "x".repeat(before)));
                let failure = from_status_without(&secrets, 500, &[], &body, 0);
                assert!(!failure.message.contains("sk/"), "{before}: {}", failure.message);
            }
        };
        check(&|text| text.to_owned(), 2_048);
        check(&|text| serde_json::json!({ "error": { "message": text } }).to_string(), 2_048);
        check(&|text| format!("{{\"error\":{{\"message\":\"{}\"}}}}", text.replace('/', "\\/")), 2_048);
        check(&|text| format!("<html><title>{text}</title></html>"), 200);
    }
}
