//! Reads from the headers of an answer how much of a plan's limits is used.
//!
//! Pure. ChatGPT reports two windows by their length in minutes, Claude any number of named ones. Sources: the
//! public client of Codex (`x-codex-primary-used-percent`, `-window-minutes`, `-reset-at`), and what Anthropic
//! sends for tokens of Claude (`anthropic-ratelimit-unified-5h-utilization`, `-5h-reset`).

use tau_protocol::plan_limits::PlanWindow;

/// The maximum number of windows that are read.
const MAX_WINDOWS: usize = 8;
/// The maximum length of a window's name in a header.
const MAX_NAME_LEN: usize = 24;
const DAY: u64 = 24 * 60;

/// The windows that these headers report; empty if they report none. Names are in lower case.
pub(super) fn of_headers(headers: &[(&str, &str)], now_ms: i64) -> Vec<PlanWindow> {
    let get = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.trim());
    let number = |name: &str| get(name)?.parse::<f64>().ok().filter(|number| number.is_finite());
    let mut windows = Vec::new();
    for window in ["primary", "secondary"] {
        let field = |name: &str| format!("x-codex-{window}-{name}");
        let Some(used_percent) = number(&field("used-percent")) else { continue };
        // A plan without this window has zeros.
        let Some(minutes) = number(&field("window-minutes")).filter(|minutes| *minutes > 0.0) else {
            continue;
        };
        let at = number(&field("reset-at")).filter(|at| *at > 0.0).map(milliseconds);
        let after = || Some(now_ms.saturating_add(milliseconds(number(&field("reset-after-seconds"))?)));
        windows.push((
            minutes as u64,
            PlanWindow { name: length(minutes as u64), used_percent, resets_at: at.or_else(after) },
        ));
    }
    for (name, value) in headers {
        let Some(window) = window_name(name) else { continue };
        let Some(used) = value.trim().parse::<f64>().ok().filter(|used| used.is_finite()) else { continue };
        let reset = format!("anthropic-ratelimit-unified-{window}-reset");
        let (minutes, name) = parse_window(window);
        let resets_at = number(&reset).filter(|at| *at > 0.0).map(milliseconds);
        windows.push((minutes, PlanWindow { name, used_percent: used * 100.0, resets_at }));
    }
    windows.sort_by_key(|(minutes, _)| *minutes);
    windows.into_iter().map(|(_, window)| window).take(MAX_WINDOWS).collect()
}

fn milliseconds(seconds: f64) -> i64 {
    (seconds * 1000.0) as i64
}

/// The name of the window in `anthropic-ratelimit-unified-NAME-utilization`.
fn window_name(header: &str) -> Option<&str> {
    let name = header.strip_prefix("anthropic-ratelimit-unified-")?.strip_suffix("-utilization")?;
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_plain && (1..=MAX_NAME_LEN).contains(&name.len())).then_some(name)
}

/// The length of a window in minutes, and its name for people, by its name in a header: `5h`, `7d`, `7d_opus`.
fn parse_window(window: &str) -> (u64, String) {
    let (span, only) = window.split_once('_').unwrap_or((window, ""));
    let minutes = match span.split_at_checked(span.len().saturating_sub(1)) {
        Some((count, "h")) => count.parse::<u64>().ok().map(|hours| hours.saturating_mul(60)),
        Some((count, "d")) => count.parse::<u64>().ok().map(|days| days.saturating_mul(DAY)),
        _ => None,
    };
    let name = minutes.map_or_else(|| span.to_owned(), length);
    let name = if only.is_empty() { name } else { format!("{name} ({})", only.replace('_', " ")) };
    (minutes.unwrap_or(u64::MAX), name)
}

/// A length of time in words.
fn length(minutes: u64) -> String {
    match minutes {
        // ChatGPT's week may lack a minute.
        10_079..=10_080 => "week".to_owned(),
        1440.. => format!("{}d", minutes.div_ceil(DAY)),
        60.. => format!("{}h", minutes.div_ceil(60)),
        _ => format!("{minutes}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(name: &str, used_percent: f64, resets_at: Option<i64>) -> PlanWindow {
        PlanWindow { name: name.to_owned(), used_percent, resets_at }
    }

    #[test]
    fn windows_of_chatgpt() {
        let headers = [
            ("x-codex-secondary-used-percent", "13"),
            ("x-codex-secondary-window-minutes", "10080"),
            ("x-codex-secondary-reset-after-seconds", "60"),
            ("x-codex-primary-used-percent", " 42.5 "),
            ("x-codex-primary-window-minutes", "299"),
            ("x-codex-primary-reset-at", "1764000000"),
        ];
        let expected =
            [window("5h", 42.5, Some(1_764_000_000_000)), window("week", 13.0, Some(1_000_060_000))];
        assert_eq!(of_headers(&headers, 1_000_000_000), expected);
        let nothing = [("x-codex-primary-used-percent", "0"), ("x-codex-primary-window-minutes", "0")];
        assert!(of_headers(&nothing, 0).is_empty());
    }

    #[test]
    fn windows_of_claude() {
        let headers = [
            ("anthropic-ratelimit-unified-7d_opus-utilization", "0.9"),
            ("anthropic-ratelimit-unified-7d-utilization", "0.5"),
            ("anthropic-ratelimit-unified-7d-reset", "1764000000"),
            ("anthropic-ratelimit-unified-5h-utilization", "0.25"),
            ("anthropic-ratelimit-unified-5h-status", "allowed"),
            ("anthropic-ratelimit-unified-\u{1b}x-utilization", "0.1"),
            ("anthropic-ratelimit-unified-1h-utilization", "NaN"),
            ("anthropic-ratelimit-tokens-remaining", "3"),
        ];
        let read = of_headers(&headers, 0);
        let expected = [
            window("5h", 25.0, None),
            window("week (opus)", 90.0, None),
            window("week", 50.0, Some(1_764_000_000_000)),
        ];
        assert_eq!(read, expected);
        assert_eq!(of_headers(&[("content-type", "text/plain")], 0), []);
    }

    #[test]
    fn a_window_is_unused_after_its_end() {
        let five = window("5h", 41.6, Some(1_000));
        assert_eq!((five.usage_percent(999), five.usage_percent(1_000)), (42, 0));
        assert_eq!(window("5h", 1e9, None).usage_percent(0), 999);
    }
}
