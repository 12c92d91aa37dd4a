//! Writes text into a page: escapes text, colours code.

use std::fmt::Write;
use std::ops::Range;

/// Finds the tokens of code: for a language and a text, the byte ranges of each line with the names of their
/// classes, from left to right.
pub type Highlight<'a> = dyn FnMut(&str, &str) -> Vec<Vec<(Range<usize>, &'static str)>> + 'a;

/// Code as markup.
pub(super) fn highlight_code(language: &str, text: &str, highlight: &mut Highlight<'_>) -> String {
    let lines = if language.is_empty() { Vec::new() } else { highlight(language, text) };
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.lines().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let mut at = 0;
        for (range, class) in lines.get(number).map(Vec::as_slice).unwrap_or_default() {
            let (Some(before), Some(token)) = (line.get(at..range.start), line.get(range.clone())) else {
                break;
            };
            let _ =
                write!(out, "{}<span class=\"{class}\">{}</span>", escape_html(before), escape_html(token));
            at = range.end;
        }
        out.push_str(&escape_html(line.get(at..).unwrap_or_default()));
    }
    out
}

/// Text in which nothing is markup; control characters are shown visibly.
pub(crate) fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Text of a session for a line of the document's own: without characters that command a terminal, or that change the order in
/// which text is shown.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_hostile =
        |c: char| c.is_control() || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    words.join(" ").chars().map(|c| if is_hostile(c) { '\u{fffd}' } else { c }).collect()
}

/// Like [`escape_html`], but web addresses become links.
pub(super) fn escape_with_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = ["http://", "https://"].into_iter().filter_map(|scheme| rest.find(scheme)).min() {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let end = from.find(|c: char| c.is_whitespace() || c.is_control() || "<>\"'`|\\".contains(c));
        let address = from.get(..end.unwrap_or(from.len())).unwrap_or(from);
        let address = address.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '*', '_']);
        out.push_str(&escape_html(before));
        let shown = escape_html(address);
        if address.ends_with("//") || address.len() <= "https:/".len() {
            out.push_str(&shown);
        } else {
            let _ = write!(out, "<a href=\"{shown}\">{shown}</a>");
        }
        rest = from.get(address.len()..).unwrap_or_default();
    }
    out.push_str(&escape_html(rest));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_become_links() {
        assert_eq!(
            escape_with_links("see <https://a.example/x?y=1&z>, (http://b)."),
            "see &lt;<a href=\"https://a.example/x?y=1&amp;z\">https://a.example/x?y=1&amp;z</a>&gt;, \
             (<a href=\"http://b\">http://b</a>)."
        );
        assert_eq!(escape_with_links("http:// https://. javascript:x"), "http:// https://. javascript:x");
        assert_eq!(
            escape_with_links("https://a\"onclick=\"x"),
            "<a href=\"https://a\">https://a</a>&quot;onclick=&quot;x"
        );
    }

    #[test]
    fn code_keeps_its_text_whatever_the_tokens_say() {
        let mut tokens = |_: &str, _: &str| vec![vec![(0..2, "k"), (3..99, "s")], vec![(1..2, "k")]];
        assert_eq!(
            highlight_code("rs", "fn <a>\né", &mut tokens),
            "<span class=\"k\">fn</span> &lt;a&gt;\né"
        );
        assert_eq!(highlight_code("", "fn", &mut tokens), "fn");
    }
}
