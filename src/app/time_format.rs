//! Readable times: durations, ages, and times of day.
//!
//! Pure: the current time comes with messages, the offset from UTC with the entries.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

use super::msg::Millis;

/// The times beside rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Times {
    #[default]
    Hidden,
    Ages,
    /// The time of day, with the date if it was not today.
    Clock,
}

impl Times {
    /// The next choice.
    pub fn next(self) -> Self {
        match self {
            Times::Hidden => Times::Ages,
            Times::Ages => Times::Clock,
            Times::Clock => Times::Hidden,
        }
    }
}

/// A duration in readable form.
pub fn seconds(span: Millis) -> String {
    let span = span.max(0);
    match span {
        0..10_000 => format!("{}.{}s", span / 1_000, span % 1_000 / 100),
        10_000..60_000 => format!("{}s", span / 1_000),
        60_000..3_600_000 => format!("{}m{:02}s", span / 60_000, span % 60_000 / 1_000),
        _ => format!("{}h{:02}m", span / 3_600_000, span % 3_600_000 / 60_000),
    }
}

/// A duration of at least half a second.
pub fn noticeable(span: Millis) -> Option<String> {
    (span >= 500).then(|| seconds(span))
}

/// A time span in one unit.
pub fn age(span: Millis) -> String {
    let minutes = span.max(0) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes}m"),
        60..1_440 => format!("{}h", minutes / 60),
        _ => format!("{}d", minutes / 1_440),
    }
}

/// A time span in its two largest units, rounded up to minutes.
pub fn span(span: Millis) -> String {
    let minutes = span.max(0).saturating_add(59_999) / 60_000;
    match minutes {
        0..60 => format!("{minutes}m"),
        60..1_440 => format!("{}h{:02}m", minutes / 60, minutes % 60),
        _ => format!("{}d{:02}h", minutes / 1_440, minutes % 1_440 / 60),
    }
}

/// A time of day: `14:05` for today, otherwise with the date, and the year if it is another one.
/// `ahead` is the offset from UTC in minutes; if it is unknown, the time is in UTC and says so.
pub fn clock(at: Millis, ahead: Option<i32>, now: Millis) -> String {
    let (Some(then), Some(now)) = (civil(at, ahead), civil(now, ahead)) else { return "?".to_owned() };
    let format = match (then.date() == now.date(), then.year() == now.year()) {
        (true, _) => "%H:%M",
        (false, true) => "%m-%d %H:%M",
        (false, false) => "%Y-%m-%d %H:%M",
    };
    format!("{}{}", then.strftime(format), if ahead.is_none() { " UTC" } else { "" })
}

fn civil(at: Millis, ahead: Option<i32>) -> Option<DateTime> {
    let offset = Offset::from_seconds(ahead.unwrap_or(0).saturating_mul(60)).ok()?;
    Some(offset.to_datetime(Timestamp::from_millisecond(at).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_says_as_much_as_is_needed() {
        let millis = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
        let now = millis("2026-03-01T00:30:00Z");
        let check = |at: &str, ahead: Option<i32>, expected: &str| {
            assert_eq!(clock(millis(at), ahead, now), expected, "{at} {ahead:?}");
        };
        check("2026-03-01T00:05:59Z", Some(0), "00:05");
        check("2026-02-28T23:05:00Z", Some(0), "02-28 23:05");
        check("2026-02-28T23:05:00Z", Some(60), "00:05");
        check("2026-02-28T23:05:00Z", Some(-330), "17:35");
        check("2025-12-31T23:59:00Z", Some(0), "2025-12-31 23:59");
        check("2025-12-31T23:59:00Z", Some(60), "01-01 00:59");
        check("2026-02-28T23:05:00Z", None, "02-28 23:05 UTC");
        check("1956-12-09T01:40:00Z", Some(0), "1956-12-09 01:40");
        assert_eq!(clock(Millis::MAX, Some(0), now), "?");
        assert_eq!(clock(0, Some(i32::MAX), now), "?");
        assert_eq!(
            [Times::Hidden, Times::Ages, Times::Clock].map(Times::next),
            [Times::Ages, Times::Clock, Times::Hidden]
        );
    }
}
