//! Determines the kind of an error: by its code, its status, and the wording of its message.
//!
//! The tables hold recorded answers of providers; a new wording is a new row.

use serde_json::Value;

use super::failure::FailureKind;

/// Wordings for a conversation that does not fit, in lower case. Each row is a set of fragments that must all
/// occur.
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

/// Wordings that mean the same only if no rate is mentioned.
const OVERFLOW_WITHOUT_RATE: &[&str] = &["token limit exceeded"];

/// Wordings for too many requests in too short a time, in lower case.
const RATES: &[&str] = &[
    "per second", "per minute", "per min", "per hour", "per day", "per month", "daily", "monthly", "tpm",
    "rate limit", "rate_limit", "quota", "too many requests", "try again in", "please wait",
];

/// Error types and codes that determine a kind, independent of the status. Compared in lower case, as a
/// whole.
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

/// Codes for a plan whose limit is reached or that does not include the model. Its end may be days away, so it
/// is not waited for.
const PLAN: &[&str] = &["usage_limit_reached", "usage_not_included"];

/// Codes for an account without credit. Providers send them with status 429, but waiting does not help.
const SPENT: &[&str] = &["insufficient_quota", "billing_error", "billing_hard_limit_reached"];

/// Wordings that determine a kind where the status does not (400 for a wrong key, say).
const WORDINGS: &[(&str, FailureKind)] = &[
    ("api key not valid", FailureKind::Auth),
    ("incorrect api key", FailureKind::Auth),
    ("invalid api key", FailureKind::Auth),
    ("authentication fails", FailureKind::Auth),
    ("model not found", FailureKind::NotFound),
    ("model does not exist", FailureKind::NotFound),
    ("overloaded", FailureKind::Overloaded),
    ("rate limit", FailureKind::RateLimit),
];

/// The kind of the failure described by `value` and its `message`.
pub(super) fn kind_of(status: Option<u16>, value: &Value, message: &str) -> FailureKind {
    let lower = message.to_lowercase();
    let (named, code_status) = codes(value);
    if is_spent(status, value) || is_plan_limit(value) {
        return FailureKind::Request;
    }
    let overflows = OVERFLOW.iter().any(|row| row.iter().all(|fragment| lower.contains(fragment)));
    if overflows || status == Some(413) || named == Some(FailureKind::Overflow) {
        return FailureKind::Overflow;
    }
    let limited = named == Some(FailureKind::RateLimit)
        || status.or(code_status) == Some(429)
        || RATES.iter().any(|word| lower.contains(word));
    if !limited && OVERFLOW_WITHOUT_RATE.iter().any(|words| lower.contains(words)) {
        return FailureKind::Overflow;
    }
    // Inside a stream, a numeric code is the status.
    let by_status = status.or(code_status).and_then(|status| by_status(status, named));
    let by_words = WORDINGS.iter().find(|(word, _)| lower.contains(word)).map(|(_, kind)| *kind);
    match by_status {
        Some(FailureKind::Request) => match (named, by_words) {
            // The status means that a retry does not help, whatever the type.
            (Some(FailureKind::Overloaded | FailureKind::Timeout), None) => FailureKind::Request,
            (Some(kind), _) if kind != FailureKind::Request => kind,
            (_, Some(kind)) => kind,
            _ => FailureKind::Request,
        },
        Some(kind) => kind,
        None => named.or(by_words).unwrap_or(FailureKind::Overloaded),
    }
}

/// The kind determined by the error's type or code, and the status given by a numeric code.
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
                let kind = CODES.iter().find(|(code, _)| *code == word).map(|(_, kind)| *kind);
                kinds.extend(kind.or_else(|| is_about_request(&word).then_some(FailureKind::Request)));
            }
            _ => {}
        }
    }
    // `invalid_request_error` is used for everything; a narrower word next to it counts.
    let narrow = kinds.iter().copied().find(|kind| *kind != FailureKind::Request);
    (narrow.or(kinds.first().copied()), status.filter(|status| (400..600).contains(status)))
}

/// Whether a code says that something in the request is wrong: `invalid_prompt`, `image_too_large`.
fn is_about_request(code: &str) -> bool {
    code.starts_with("invalid_") || code.contains("image")
}

/// The error itself, whether it is alone, in a list, or under `error`.
fn error_of(value: &Value) -> &Value {
    let value = match value {
        Value::Array(list) => list.first().unwrap_or(&Value::Null),
        other => other,
    };
    value.get("error").filter(|error| error.is_object()).unwrap_or(value)
}

/// Whether the limit of a subscription is reached.
pub(super) fn is_plan_limit(value: &Value) -> bool {
    names(value).any(|word| PLAN.contains(&word))
}

/// The code and the type of the error.
fn names(value: &Value) -> impl Iterator<Item = &str> {
    let error = error_of(value);
    ["code", "type"].into_iter().filter_map(|field| error.get(field)?.as_str())
}

/// When the limit of a subscription ends, in seconds from `now_ms`.
pub(super) fn plan_reset(value: &Value, now_ms: i64) -> Option<i64> {
    let error = error_of(value);
    let number = |field: &str| error.get(field).and_then(Value::as_i64);
    let at = || Some(number("resets_at")?.saturating_sub(now_ms / 1000));
    number("resets_in_seconds").or_else(at).filter(|seconds| *seconds > 0)
}

/// Whether the account has no credit left.
pub(super) fn is_spent(status: Option<u16>, value: &Value) -> bool {
    status.or(codes(value).1) == Some(402) || names(value).any(|word| SPENT.contains(&word))
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
