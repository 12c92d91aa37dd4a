//! Links: addresses that a terminal may open, and lines of text that contain them.
//!
//! An address comes from a model, a file or a page, and is written to the terminal in a control sequence
//! (OSC 8). Only addresses accepted by [`Link::new`] get there.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use ratatui::text::Span;

use super::spelled;

/// The longest address, in bytes. VTE terminals accept at most 2083.
const MAX_LEN: usize = 2_000;
/// The accepted schemes, and the text that must follow. A `file:` address that names a host would make some
/// systems log in there.
const SCHEMES: [(&str, &str); 4] = [("https:", "//"), ("http:", "//"), ("mailto:", ""), ("file:", "///")];

/// An address that is safe to write to a terminal: with a known scheme, in printable ASCII without blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    uri: Arc<str>,
    id: u32,
}

impl Link {
    /// The link to an address; `None` if it is not safe for the terminal.
    pub fn new(address: &str) -> Option<Self> {
        let known = |(scheme, then): &(&str, &str)| {
            let begin = address.get(..scheme.len());
            let rest = address.get(scheme.len()..).and_then(|rest| rest.strip_prefix(then));
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
                && rest.is_some_and(|rest| !rest.is_empty())
        };
        if address.len() > MAX_LEN || address.chars().any(char::is_control) || !SCHEMES.iter().any(known) {
            return None;
        }
        let mut uri = String::with_capacity(address.len());
        for byte in address.bytes() {
            match byte {
                b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' => percent(byte, &mut uri),
                b'!'..=b'~' => uri.push(char::from(byte)),
                _ => percent(byte, &mut uri),
            }
        }
        let mut hasher = DefaultHasher::new();
        uri.hash(&mut hasher);
        (uri.len() <= MAX_LEN).then(|| Link { uri: uri.into(), id: hasher.finish() as u32 })
    }

    /// The address.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// A number for the address, by which a terminal recognises the parts of a wrapped link.
    pub fn id(&self) -> u32 {
        self.id
    }
}

fn percent(byte: u8, uri: &mut String) {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    uri.push('%');
    uri.extend([byte >> 4, byte & 15].iter().filter_map(|digit| DIGITS.get(usize::from(*digit))));
}

/// A line before wrapping: its text and links.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LinkedLine {
    pub(crate) spans: Vec<Span<'static>>,
    /// The links of the spans, one for each.
    pub(crate) links: Vec<Option<Link>>,
}

impl LinkedLine {
    /// Adds text. Spelled-out controls are split off here, as in wrapping, so that each span keeps its link.
    pub(crate) fn push(&mut self, span: Span<'static>, link: Option<Link>) {
        match spelled::set_off(std::slice::from_ref(&span)) {
            Cow::Borrowed(_) => self.spans.push(span),
            Cow::Owned(parts) => {
                self.spans.extend(
                    parts.into_iter().map(|part| Span::styled(part.content.into_owned(), part.style)),
                );
            }
        }
        self.links.resize(self.spans.len(), link);
    }

    /// Adds the text of another line.
    pub(crate) fn extend(&mut self, line: &LinkedLine) {
        self.spans.extend_from_slice(&line.spans);
        self.links.extend_from_slice(&line.links);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_schemes_are_links() {
        for address in ["https://a.b/c?d=1;2#e", "HTTP://a", "mailto:a@b.c", "file:///etc/hosts"] {
            assert_eq!(Link::new(address).unwrap().uri(), address);
        }
        for address in [
            "", "a", "src/main.rs", "/etc/passwd", "#part", "https:", "https://", "mailto:",
            "javascript:alert(1)", "data:text/html,x", "file://host/share", "file:a", "ssh://a",
            "x-man-page://ls", "вttps://a",
        ] {
            assert_eq!(Link::new(address), None, "{address}");
        }
    }

    #[test]
    fn no_address_can_end_the_sequence() {
        for address in [
            "https://a\x1b\\", "https://a\x07", "https://a\u{9c}b", "https://a\nb", "https://a\u{7f}",
            "https://a\0",
        ] {
            assert_eq!(Link::new(address), None, "{address:?}");
        }
        let uri = Link::new("https://ä.b/ \"<>\\^`{|}\u{202e}").unwrap();
        assert_eq!(uri.uri(), "https://%C3%A4.b/%20%22%3C%3E%5C%5E%60%7B%7C%7D%E2%80%AE");
        assert!(Link::new(&format!("https://{}", "a".repeat(1_990))).is_some());
        assert_eq!(Link::new(&format!("https://{}", "a".repeat(2_000))), None);
        assert_eq!(Link::new(&format!("https://{}", "ä".repeat(900))), None, "longer once it is ASCII");
    }
}
