//! Sets spelled-out bidirectional controls (`<U+202E>`) off from the text around them.

use std::borrow::Cow;

use ratatui::style::Stylize;
use ratatui::text::Span;

use tau_app::printable;

/// The spans, with spelled-out controls in reverse video.
pub(crate) fn set_off<'a>(spans: &'a [Span<'a>]) -> Cow<'a, [Span<'a>]> {
    if spans.iter().all(|span| printable::spelled_ranges(&span.content).next().is_none()) {
        return Cow::Borrowed(spans);
    }
    let mut parted = Vec::new();
    for span in spans {
        let text = &*span.content;
        let part = |from, to| Span::styled(text.get(from..to).unwrap_or_default(), span.style);
        let mut at = 0;
        for spelled in printable::spelled_ranges(text) {
            parted.push(part(at, spelled.start));
            at = spelled.end;
            parted.push(part(spelled.start, spelled.end).reversed());
        }
        parted.push(part(at, text.len()));
    }
    parted.retain(|span: &Span<'_>| !span.content.is_empty());
    Cow::Owned(parted)
}

#[cfg(test)]
mod tests {
    use ratatui::style::Modifier;

    use super::*;

    #[test]
    fn spelled_controls_are_set_off_and_nothing_else() {
        let plain = [Span::raw("if a <U+20> b <U+0041> <U+202E"), Span::raw(">")];
        assert!(matches!(set_off(&plain), Cow::Borrowed(_)));
        let spans = [Span::raw("a<U+202E>b<U+2066>"), Span::raw("<U+200F>c")];
        let parted: Vec<(String, bool)> = set_off(&spans)
            .iter()
            .map(|span| (span.content.to_string(), span.style.add_modifier == Modifier::REVERSED))
            .collect();
        let expected = [
            ("a", false),
            ("<U+202E>", true),
            ("b", false),
            ("<U+2066>", true),
            ("<U+200F>", true),
            ("c", false),
        ];
        assert_eq!(parted, expected.map(|(text, set_off)| (text.to_owned(), set_off)));
    }
}
