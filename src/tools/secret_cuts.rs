//! Where a text can be cut without leaving a part of a secret that nothing recognises any more.
//!
//! Tools shorten their answers before the agent masks them, so they must not cut through a secret, nor between a value and
//! the name that tells what it is.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The length of the text on each side of a cut that is searched, in bytes.
pub(crate) const REACH: usize = 4 * 1024;
/// The maximum length of a name before its value, with what is between them, in bytes.
const NAME: usize = 160;

type Find = dyn Fn(&str) -> Vec<Range<usize>> + Send + Sync;

/// Finds the secrets of a text that is about to be cut. The default finds none.
#[derive(Clone, Default)]
pub struct SecretFinder(Option<Arc<Find>>);

impl fmt::Debug for SecretFinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretFinder({})", if self.0.is_some() { "on" } else { "off" })
    }
}

impl SecretFinder {
    /// A finder with this function, which returns the ranges of the secrets in a text, in order.
    pub fn new(find: impl Fn(&str) -> Vec<Range<usize>> + Send + Sync + 'static) -> Self {
        SecretFinder(Some(Arc::new(find)))
    }

    /// The secrets in the part of the text within reach of a place.
    fn near(&self, text: &str, at: usize) -> Vec<Range<usize>> {
        let from = text.floor_char_boundary(at.saturating_sub(REACH));
        let part = text.get(from..text.ceil_char_boundary(at.saturating_add(REACH))).unwrap_or_default();
        let found = self.0.as_ref().map(|find| find(part)).unwrap_or_default();
        found.into_iter().map(|range| from + range.start..from + range.end).collect()
    }

    /// The secret that a cut at this place would part.
    pub(crate) fn secret_cut_at(&self, text: &str, at: usize) -> Option<Range<usize>> {
        self.near(text, at).into_iter().find(|range| range.start < at && at < range.end)
    }

    /// The secret that would not be recognised completely in the text from this place on.
    fn secret_lost_at(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let mut near = self.near(text, at);
        near.retain(|range| at < range.end && range.start < at + NAME);
        if at == 0 || near.is_empty() {
            return None;
        }
        let rest = text.get(at..).unwrap_or_default();
        let left = self.near(rest, 0);
        near.into_iter().find(|range| {
            let is_whole = |left: &Range<usize>| at + left.start <= range.start && range.end <= at + left.end;
            !left.iter().any(is_whole)
        })
    }

    /// Where a part of the text that ends at this place or before it can end.
    pub fn end(&self, text: &str, at: usize) -> usize {
        self.secret_cut_at(text, at).map_or(at, |range| range.start)
    }

    /// Where a part of the text that begins at this place or behind it can begin.
    pub fn start(&self, text: &str, mut at: usize) -> usize {
        while let Some(range) = self.secret_lost_at(text, at) {
            at = range.end;
        }
        at
    }

    /// Where a part of the text that begins at this place or before it can begin.
    pub(crate) fn start_before(&self, text: &str, mut at: usize) -> usize {
        while let Some(range) = self.secret_lost_at(text, at) {
            at = text.floor_char_boundary(range.start.min(at - 1).saturating_sub(NAME));
        }
        at
    }
}

/// Bytes as a text in which every byte has its place.
pub(crate) fn of_same_length(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let parts = bytes.utf8_chunks();
            let text = parts.map(|part| part.valid().to_owned() + &"?".repeat(part.invalid().len()));
            Cow::Owned(text.collect())
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::recognise;

    /// A finder of what is recognised.
    pub(crate) fn finder() -> SecretFinder {
        SecretFinder::new(|text| {
            recognise::find(text).into_iter().map(|found| found.start..found.end).collect()
        })
    }

    /// The text as the agent masks it.
    pub(crate) fn mask(text: &str) -> String {
        let mut masked = text.to_owned();
        for found in recognise::find(text).iter().rev() {
            masked.replace_range(found.start..found.end, "#");
        }
        masked
    }

    #[test]
    fn no_cut_leaves_a_part_of_a_secret() {
        let value = "zx81-Q7rr-99aB-77cc-Kd83";
        let text = format!("{} API_TOKEN={value} {}", "é ".repeat(200), "ü ".repeat(200));
        let secrets = finder();
        let secret = text.find(value).unwrap();
        let shows_a_part =
            |part: &str| ["zx8", "rr-9", "d83"].into_iter().any(|shown| mask(part).contains(shown));
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let (first, rest) =
                (|end: usize| text.get(..end).unwrap(), |start: usize| text.get(start..).unwrap());
            let (end, start, before) =
                (secrets.end(&text, at), secrets.start(&text, at), secrets.start_before(&text, at));
            assert!(!shows_a_part(first(end)) && end <= at, "{at}");
            assert!(!shows_a_part(rest(start)) && at <= start, "{at}");
            assert!(!shows_a_part(rest(before)) && before <= at, "{at}");
            if at < secret - NAME || at > secret + value.len() {
                assert_eq!((end, start, before), (at, at, at), "moved without need");
            }
        }
        assert_eq!(SecretFinder::default().end(&text, secret + 3), secret + 3);
    }
}
