//! Reads the retry time of a provider from headers, fields and text of its error answer.
//!
//! Pure: the time is passed in as a number. Sources: RFC 9110 section 10.2.3 (`retry-after`),
//! draft-ietf-httpapi-ratelimit-headers (`ratelimit-reset`), and the documentation of the providers' own
//! headers: OpenAI and those that follow it, Anthropic, OpenRouter, Azure.

use serde_json::Value;

/// Numbers from here on are seconds since 1970, not a time span.
const EPOCH_SECONDS: f64 = 1e9;
/// Numbers from here on are milliseconds since 1970.
const EPOCH_MS: f64 = 1e11;
/// Words before a time to wait, in lower case.
const LEADS: [&str; 11] = [
    "try again in ", "try again after ", "retry in ", "retry after ", "retry your request after ",
    "reset after ", "resets in ", "reset in ", "available in ", "wait for ", "wait ",
];
/// Words before a date.
const DATE_LEADS: [&str; 6] =
    ["try again at ", "retry at ", "resets at ", "reset at ", "resets on ", "until "];

/// The wait that an error answer asks for, in milliseconds. `headers` have names in lower case; `now_ms` is
/// the time in milliseconds since 1970.
pub(super) fn of_answer(
    headers: &[(String, String)],
    body: &Value,
    message: &str,
    now_ms: i64,
) -> Option<u64> {
    let headers = Headers(headers);
    // The server's own clock is the better reference, if it sends one.
    let now_ms = Some(headers.get("date").and_then(rfc2822).unwrap_or(now_ms));
    headers
        .standard(now_ms)
        .or_else(|| in_body(body, now_ms))
        .or_else(|| in_words(message, now_ms))
        .or_else(|| headers.of_providers(now_ms))
}

/// The wait in an error inside an answer with status 200. Only time spans count: it has no clock.
pub(super) fn of_error(body: &Value, message: &str) -> Option<u64> {
    in_body(body, None).or_else(|| in_words(message, None))
}

/// The time in milliseconds since 1970, if known.
type Now = Option<i64>;

struct Headers<'a>(&'a [(String, String)]);

impl<'a> Headers<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.trim())
    }

    /// `retry-after-ms`, or `retry-after` as seconds, a time span or a date.
    fn standard(&self, now_ms: Now) -> Option<u64> {
        let ms = ["retry-after-ms", "x-ms-retry-after-ms"].into_iter().find_map(|name| self.get(name));
        if let Some(ms) = ms.and_then(|value| value.parse::<f64>().ok()) {
            return Some(ms.max(0.0) as u64);
        }
        let value = self.get("retry-after")?;
        wait(value, now_ms).or_else(|| rfc2822(value).and_then(|until| time_until(until, now_ms)))
    }

    /// The latest reset of the exhausted limits; for a single unnamed limit its reset.
    fn of_providers(&self, now_ms: Now) -> Option<u64> {
        let spent = self.0.iter().filter_map(|(name, value)| {
            let reset = reset_of(name)?;
            let is_spent = value.trim().parse::<f64>().is_ok_and(|left| left <= 0.0);
            is_spent.then(|| wait(self.get(&reset)?, now_ms)).flatten()
        });
        let alone = ["anthropic-ratelimit-unified-reset", "x-ratelimit-reset-after", "x-ratelimit-reset"];
        let alone = alone.into_iter().chain(["ratelimit-reset"]);
        spent.max().or_else(|| alone.filter_map(|name| self.get(name)).find_map(|value| wait(value, now_ms)))
    }
}

/// The reset header that belongs to a header of remaining requests or tokens: `x-ratelimit-remaining-tokens`
/// and `x-ratelimit-reset-tokens`, `anthropic-ratelimit-tokens-remaining` and
/// `anthropic-ratelimit-tokens-reset`.
fn reset_of(remaining: &str) -> Option<String> {
    (remaining.contains("ratelimit") && remaining.contains("remaining"))
        .then(|| remaining.replace("remaining", "reset"))
}

/// The wait in fields of the body: Google's `retryDelay` (`34.07s`), seconds or a time under other names, and
/// the headers of a provider behind a gateway (OpenRouter).
fn in_body(body: &Value, now_ms: Now) -> Option<u64> {
    let error = body.get("error").unwrap_or(body);
    let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    let delay = details.filter_map(|detail| detail.get("retryDelay")?.as_str()).next();
    let named = ["retry_after", "retry_after_seconds", "retryAfter", "resets_in_seconds", "resets_at"];
    let named = || {
        let places = [Some(error), error.get("metadata"), error.get("parameters"), Some(body)];
        let value =
            places.into_iter().flatten().find_map(|place| named.iter().find_map(|name| place.get(name)))?;
        match value {
            Value::String(text) => wait(text, now_ms),
            other => of_number(other.as_f64()?, now_ms),
        }
    };
    let gateway = || {
        let headers = error.get("metadata")?.get("headers")?.as_object()?;
        let list: Vec<(String, String)> = headers
            .iter()
            .filter_map(|(name, value)| Some((name.to_lowercase(), value.as_str()?.to_owned())))
            .collect();
        Headers(&list).standard(now_ms).or_else(|| Headers(&list).of_providers(now_ms))
    };
    delay.and_then(|delay| wait(delay, now_ms)).or_else(named).or_else(gateway)
}

/// The wait in a message: "Please try again in 6m0s", "retry after 30 seconds", "resets at
/// 2026-01-02T03:04:05Z".
fn in_words(message: &str, now_ms: Now) -> Option<u64> {
    let lower = message.to_lowercase();
    let after = |lead: &str| {
        let at = lower.find(lead)? + lead.len();
        lower.get(at..)
    };
    let in_span = LEADS.iter().find_map(|lead| span(after(lead)?));
    in_span.or_else(|| {
        DATE_LEADS.iter().find_map(|lead| {
            let word = after(lead)?.split([' ', ',', ')', '"']).next()?.trim_end_matches('.');
            date(&word.to_uppercase()).and_then(|until| time_until(until, now_ms))
        })
    })
}

/// A wait in any form used in headers: a number, a time span, a date.
fn wait(value: &str, now_ms: Now) -> Option<u64> {
    let value = value.trim();
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() => of_number(number, now_ms),
        _ => span(&value.to_lowercase()).or_else(|| date(value).and_then(|until| time_until(until, now_ms))),
    }
}

/// A number is seconds; a very large one is a time in seconds or milliseconds since 1970.
fn of_number(number: f64, now_ms: Now) -> Option<u64> {
    match number {
        number if number >= EPOCH_MS => time_until(number as i64, now_ms),
        number if number >= EPOCH_SECONDS => time_until((number * 1000.0) as i64, now_ms),
        number => Some((number.max(0.0) * 1000.0) as u64),
    }
}

fn time_until(until_ms: i64, now_ms: Now) -> Option<u64> {
    Some(u64::try_from(until_ms.saturating_sub(now_ms?)).unwrap_or(0))
}

/// A date such as `2026-01-02T03:04:05Z`, in milliseconds since 1970.
fn date(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(|time| time.as_millisecond())
}

fn rfc2822(text: &str) -> Option<i64> {
    jiff::fmt::rfc2822::parse(text).ok().map(|time| time.timestamp().as_millisecond())
}

/// The time span at the start of a text in lower case, in milliseconds: `1.5s`, `2m59.56s`, `1 hour and 5
/// minutes`. A number without a unit is seconds only if nothing follows it.
fn span(text: &str) -> Option<u64> {
    let mut rest = text.trim_start();
    let mut sum = None;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at_checked(digits)?;
        let Ok(number) = number.trim_end_matches('.').parse::<f64>() else { return sum };
        let after = after.trim_start_matches([' ', '-']);
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(letters)?;
        let unit_ms = match unit {
            "ms" | "millisecond" | "milliseconds" => 1.0,
            "s" | "sec" | "secs" | "second" | "seconds" => 1e3,
            "m" | "min" | "mins" | "minute" | "minutes" => 6e4,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3.6e6,
            "d" | "day" | "days" => 8.64e7,
            _ => return sum,
        };
        sum = Some(sum.unwrap_or(0_u64).saturating_add((number * unit_ms) as u64));
        rest = after.trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// 2015-10-21T07:28:00Z.
    const NOW: i64 = 1_445_412_480_000;

    fn headers(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn words() {
        let cases = [
            ("Rate limit reached for gpt-4. Please try again in 6m0s. Visit https://x.y", Some(360_000)),
            ("Please try again in 20ms.", Some(20)),
            ("Please try again in 1.304s. Need more tokens?", Some(1_304)),
            ("Please retry in 34.074824224s.", Some(34_074)),
            ("Requests have exceeded the limit. Please retry after 26 seconds.", Some(26_000)),
            ("Your quota will reset after 1h2m3s.", Some(3_723_000)),
            ("Too many requests, wait 5 minutes", Some(300_000)),
            ("Limit reached, resets in 3 hours and 20 minutes", Some(12_000_000)),
            ("try again in 1 day, 2 hours", Some(93_600_000)),
            ("try again in 99999999999999999999 days, 2 days", Some(u64::MAX)),
            ("Usage limit. Try again at 2015-10-21T08:28:00Z.", Some(3_600_000)),
            ("You have reached your limit, which resets at 2015-10-21T07:28:30+00:00", Some(30_000)),
            ("please wait before trying again", None),
            ("Please wait 3 more turns", None),
            ("try again in a moment", None),
            ("the file of 30 seconds is too long", None),
            ("", None),
        ];
        for (message, expected) in cases {
            assert_eq!(of_answer(&[], &Value::Null, message, NOW), expected, "{message}");
        }
    }

    type Case = (&'static [(&'static str, &'static str)], Option<u64>);

    #[test]
    fn headers_of_providers() {
        let cases: [Case; 11] = [
            (
                &[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "2m59.56s")],
                Some(179_560),
            ),
            (
                &[
                    ("x-ratelimit-remaining-requests", "12"),
                    ("x-ratelimit-reset-requests", "1h"),
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", "7.66s"),
                ],
                Some(7_660),
            ),
            (&[("x-ratelimit-remaining-requests", "12"), ("x-ratelimit-reset-requests", "1h")], None),
            (
                &[
                    ("anthropic-ratelimit-tokens-remaining", "0"),
                    ("anthropic-ratelimit-tokens-reset", "2015-10-21T07:29:00Z"),
                    ("anthropic-ratelimit-requests-remaining", "0"),
                    ("anthropic-ratelimit-requests-reset", "2015-10-21T07:28:10Z"),
                ],
                Some(60_000),
            ),
            (&[("anthropic-ratelimit-unified-reset", "1445416080")], Some(3_600_000)),
            (&[("x-ratelimit-reset", "1445412540000")], Some(60_000)),
            (&[("x-ratelimit-reset", "30")], Some(30_000)),
            (&[("ratelimit-reset", "50")], Some(50_000)),
            (&[("x-ms-retry-after-ms", "250")], Some(250)),
            (&[("retry-after", "1m")], Some(60_000)),
            (&[("x-ratelimit-reset", "soon")], None),
        ];
        for (list, expected) in cases {
            assert_eq!(of_answer(&headers(list), &Value::Null, "", NOW), expected, "{list:?}");
        }
    }

    #[test]
    fn the_clearest_source_counts() {
        let provider = ("x-ratelimit-reset", "99");
        let body = json!({ "error": { "retry_after": 3 } });
        let said = "try again in 5s";
        let all = headers(&[("retry-after", "2"), provider]);
        assert_eq!(of_answer(&all, &body, said, NOW), Some(2_000));
        assert_eq!(of_answer(&headers(&[provider]), &body, said, NOW), Some(3_000));
        assert_eq!(of_answer(&headers(&[provider]), &Value::Null, said, NOW), Some(5_000));
        assert_eq!(of_error(&Value::Null, said), Some(5_000));
        assert_eq!(of_error(&json!({ "resets_at": 1_445_412_510 }), ""), None);
    }

    #[test]
    fn fields_of_the_body() {
        let reset =
            json!({ "headers": { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1445412540000" } });
        let cases = [
            (json!({ "error": { "details": [{ "@type": "x" }, { "retryDelay": "34.5s" }] } }), Some(34_500)),
            (
                json!({ "error": { "type": "usage_limit_reached", "resets_in_seconds": 7_200 } }),
                Some(7_200_000),
            ),
            (json!({ "error": { "resets_at": 1_445_412_510 } }), Some(30_000)),
            (json!({ "retry_after": "12" }), Some(12_000)),
            (json!({ "error": { "message": "m", "metadata": reset } }), Some(60_000)),
            (json!({ "error": { "retry_after": null } }), None),
            (json!([]), None),
        ];
        for (body, expected) in cases {
            assert_eq!(of_answer(&[], &body, "", NOW), expected, "{body}");
        }
    }
}
