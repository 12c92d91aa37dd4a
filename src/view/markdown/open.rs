//! The open end of a message that streams in: a link that is half there looks like the link it will
//! be, so that its brackets and its address are not drawn and taken away again.

use std::borrow::Cow;

use crate::app::blocks::MarkdownBlock;

/// Longest text of a link that is waited for, in bytes.
const LONGEST: usize = 200;

/// The block with the link at its end, if one is open, closed without an address.
pub(crate) fn settled(block: MarkdownBlock) -> MarkdownBlock {
    match block {
        MarkdownBlock::Markdown(source) => match closed_link(&source) {
            Cow::Borrowed(_) => MarkdownBlock::Markdown(source),
            Cow::Owned(closed) => MarkdownBlock::Markdown(closed.into()),
        },
        code @ MarkdownBlock::Code { .. } => code,
    }
}

fn closed_link(source: &str) -> Cow<'_, str> {
    let paragraph = source.rfind("\n\n").map_or(0, |at| at + 2);
    match open_link(source.get(paragraph..).unwrap_or_default()) {
        Some(OpenLink { start, end }) => {
            let text = source.get(paragraph + start..paragraph + end).unwrap_or_default();
            let before = source.get(..paragraph + start).unwrap_or_default();
            // Of a bracket alone it is not known what it begins.
            Cow::Owned(if text == "[" { before.to_owned() } else { format!("{before}{text}]()") })
        }
        None => Cow::Borrowed(source),
    }
}

/// Where the text of the open link is, from its bracket on.
#[derive(Clone, Copy)]
struct OpenLink {
    start: usize,
    end: usize,
}

/// The link at the end of a paragraph whose bracket or address is not closed yet.
fn open_link(paragraph: &str) -> Option<OpenLink> {
    let mut link: Option<OpenLink> = None;
    let (mut in_address, mut in_code, mut before) = (false, false, ' ');
    let mut chars = paragraph.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '`' => in_code = !in_code,
            _ if in_code => {}
            ')' if in_address => (link, in_address) = (None, false),
            _ if in_address => {}
            // After a letter it is an index, not a link.
            '[' if !before.is_alphanumeric() && !matches!(before, '_' | ')' | ']') => {
                link = Some(OpenLink { start: at, end: paragraph.len() });
            }
            ']' => match chars.peek() {
                Some((_, '(')) => {
                    in_address = link.is_some();
                    link = link.map(|link| OpenLink { end: at, ..link });
                }
                Some(_) => link = None,
                None => link = link.map(|link| OpenLink { end: at, ..link }),
            },
            _ => {}
        }
        before = c;
    }
    let text = paragraph.get(link?.start + 1..link?.end)?;
    // `[ ]` and `[x]` are boxes, `[^` begins a footnote, `[!` an alert.
    let is_other = matches!(text, " " | "x" | "X") || text.starts_with(['^', '!']);
    link.filter(|_| !is_other && text.len() <= LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_link_looks_like_the_link_it_will_be() {
        let whole = "see [the *docs*](https://a.b/(c)?d) now";
        for end in 5..=whole.find(')').unwrap() {
            let (begun, _) = whole.split_at(end);
            let shown = closed_link(begun);
            let text = begun.split("](").next().unwrap().trim_end_matches(']');
            let expected = if end < 6 { "see ".to_owned() } else { format!("{text}]()") };
            assert_eq!(shown, expected, "{begun:?}");
        }
        assert_eq!(closed_link(whole), whole);
        assert_eq!(closed_link("![a c"), "![a c]()");
    }

    #[test]
    fn brackets_that_are_no_links_stay() {
        for text in
            ["a[0", "- [ ", "- [x", "`[a`", "`[a", "\\[a", "note[^1", "> [!NO", "[a] b", "[a\n\nb", ""]
        {
            assert_eq!(closed_link(text), text, "{text:?}");
        }
        assert_eq!(closed_link("[a] and [b"), "[a] and [b]()");
    }
}
