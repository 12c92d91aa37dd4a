//! The tokens of a login, as they are kept in `auth.json`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::provider::token_claims;

/// The time before expiry at which tokens are renewed, in seconds; half their life, if that is less.
const BEFORE: i64 = 60;

/// Milliseconds of a second.
const SECOND: i64 = 1000;

/// The tokens of a login.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginTokens {
    /// The token for requests.
    pub(crate) access: String,
    /// The token that renews it; empty if the login cannot be renewed.
    #[serde(default)]
    pub(crate) refresh: String,
    /// The end of its life, in milliseconds since 1970; 0 if it is not known.
    #[serde(default)]
    expires: i64,
    /// Its whole life, in seconds; 0 if it is not known.
    #[serde(default)]
    lasts: i64,
    /// The address for requests, where the login names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<String>,
}

tau_tools::debug_fields!(LoginTokens { expires });

/// A number, as a number or as text.
fn number(value: Option<&Value>) -> Option<f64> {
    match value? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
    .filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// A number of seconds in a server's answer, as a number or as text.
pub(super) fn seconds(answer: &Value, field: &str) -> Option<f64> {
    number(answer.get(field))
}

/// A text in a server's answer that is not empty.
pub(super) fn text<'a>(answer: &'a Value, field: &str) -> Option<&'a str> {
    answer.get(field).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// A token that can be sent in a header.
fn token(answer: &Value, field: &str) -> Option<String> {
    let token = text(answer, field)?;
    token.bytes().all(|byte| byte.is_ascii_graphic()).then(|| token.to_owned())
}

impl LoginTokens {
    /// The tokens in the answer of a token endpoint at `now` (milliseconds since 1970). `before` are the ones
    /// that it replaces. `None` if there is no usable token in it.
    pub(super) fn of_answer(answer: &Value, before: Option<&LoginTokens>, now: i64) -> Option<Self> {
        let access = token(answer, "access_token")?;
        let refresh = token(answer, "refresh_token");
        let refresh = refresh.or_else(|| before.map(|before| before.refresh.clone()));
        let of_claims = || {
            let claims = token_claims::of(&access)?;
            Some((number(claims.get("exp"))? as i64).saturating_sub(now / SECOND).max(0))
        };
        let lasts = seconds(answer, "expires_in").map(|seconds| seconds as i64).or_else(of_claims);
        let address = text(answer, "resource_url").and_then(resource_address);
        Some(LoginTokens {
            refresh: refresh.unwrap_or_default(),
            expires: lasts.map_or(0, |lasts| now.saturating_add(lasts.saturating_mul(SECOND))),
            lasts: lasts.unwrap_or_default(),
            address: address.or_else(|| before.and_then(|before| before.address.clone())),
            access,
        })
    }

    /// The tokens in Copilot's answer to the token of a GitHub login.
    pub(super) fn of_copilot(answer: &Value, github: &str, now: i64) -> Option<Self> {
        let access = token(answer, "token")?;
        let expires = (seconds(answer, "expires_at")? as i64).saturating_mul(SECOND);
        let named = answer.get("endpoints").and_then(|endpoints| text(endpoints, "api")).map(str::to_owned);
        // `proxy-ep=proxy.HOST` in the token stands for `api.HOST`.
        let in_token = || {
            let host = access.split(';').find_map(|part| part.strip_prefix("proxy-ep="))?;
            Some(format!("https://api.{}", host.strip_prefix("proxy.").unwrap_or(host)))
        };
        let address = named.or_else(in_token).map(|address| address.trim_end_matches('/').to_owned());
        let refresh = github.to_owned();
        Some(LoginTokens { refresh, expires, lasts: (expires - now).max(0) / SECOND, address, access })
    }

    /// Whether they should be renewed at `now`.
    pub(super) fn is_expiring(&self, now: i64) -> bool {
        let before = BEFORE.min(self.lasts / 2);
        self.expires > 0 && now >= self.expires.saturating_sub(before.saturating_mul(SECOND))
    }

    /// Whether they cannot be used any more at `now`.
    pub(super) fn has_expired(&self, now: i64) -> bool {
        self.expires > 0 && now >= self.expires
    }

    /// The tokens in an entry of `auth.json`.
    pub(crate) fn of_entry(entry: &Value) -> Option<Self> {
        let is_login = entry.get("type").and_then(Value::as_str) == Some("oauth");
        let tokens: LoginTokens = is_login.then(|| serde_json::from_value(entry.clone()).ok())??;
        (!tokens.access.is_empty()).then_some(tokens)
    }

    /// Their entry in `auth.json`.
    pub(crate) fn entry(&self) -> Value {
        let mut entry = serde_json::json!({ "type": "oauth" });
        if let (Some(entry), Ok(Value::Object(fields))) = (entry.as_object_mut(), serde_json::to_value(self))
        {
            entry.extend(fields);
        }
        entry
    }
}

/// The address for requests that Qwen names: a host, or an address.
fn resource_address(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches('/');
    let whole = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    url::Url::parse(&whole).ok()?;
    Some(if whole.ends_with("/v1") { whole } else { format!("{whole}/v1") })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_are_read_from_answers_and_kept() {
        let answer = json!({"access_token": "a1", "refresh_token": "r1", "expires_in": "3600"});
        let first = LoginTokens::of_answer(&answer, None, 5_000).unwrap();
        assert_eq!(LoginTokens::of_entry(&first.entry()), Some(first.clone()));
        assert_eq!((first.expires, first.lasts), (3_605_000, 3_600));
        // A renewal that replaces no refresh token keeps it.
        let answer = json!({"access_token": "a2", "expires_in": 10, "resource_url": "portal.example"});
        let second = LoginTokens::of_answer(&answer, Some(&first), 0).unwrap();
        assert_eq!((second.access.as_str(), second.refresh.as_str()), ("a2", "r1"));
        assert_eq!(second.address.as_deref(), Some("https://portal.example/v1"));
        for unusable in [json!({}), json!({"access_token": ""}), json!({"access_token": "a\nb"}), json!(1)] {
            assert_eq!(LoginTokens::of_answer(&unusable, None, 0), None, "{unusable}");
        }
        assert_eq!(LoginTokens::of_entry(&json!({"type": "api_key", "key": "k"})), None);
    }

    #[test]
    fn tokens_are_renewed_before_they_expire() {
        let lasting = |lasts| {
            let answer = json!({"access_token": "a", "expires_in": lasts});
            LoginTokens::of_answer(&answer, None, 0).unwrap()
        };
        let cases =
            [(3600, 3_539_999, false), (3600, 3_540_000, true), (10, 4_999, false), (10, 5_000, true)];
        for (lasts, now, expected) in cases {
            assert_eq!(lasting(lasts).is_expiring(now), expected, "{lasts} {now}");
        }
        assert!(!lasting(10).has_expired(9_999) && lasting(10).has_expired(10_000));
        let unknown = LoginTokens::of_answer(&json!({"access_token": "a"}), None, 0).unwrap();
        assert!(!unknown.is_expiring(i64::MAX));
    }

    #[test]
    fn copilot_names_its_address() {
        let of = |answer: Value| LoginTokens::of_copilot(&answer, "gho", 0).unwrap();
        let plain = of(json!({"token": "tid=1;exp=2;proxy-ep=proxy.business.example;x=1", "expires_at": 60}));
        assert_eq!(plain.address.as_deref(), Some("https://api.business.example"));
        let named =
            json!({"token": "t", "expires_at": 60, "endpoints": {"api": "https://api.corp.example/"}});
        assert_eq!(of(named).address.as_deref(), Some("https://api.corp.example"));
        assert_eq!((plain.refresh.as_str(), plain.lasts), ("gho", 60));
    }
}
