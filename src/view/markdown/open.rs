//! Closes the open end of a streaming message, so that half a link or table already looks like one.

use std::borrow::Cow;

use tau_app::blocks::MarkdownBlock;

/// The longest link text that is waited for, in bytes.
const MAX_LEN: usize = 200;

/// Closes an open link or table at the end of the block, so that brackets, addresses and pipes are not drawn
/// and then removed again: a link without an address, the head of a table without the line that makes it
/// one.
pub(crate) fn close_open_parts(block: MarkdownBlock) -> MarkdownBlock {
    match block {
        MarkdownBlock::Markdown(source) => {
            let linked = close_link(&source);
            match (close_table(&linked), linked) {
                (Some(closed), _) | (None, Cow::Owned(closed)) => MarkdownBlock::Markdown(closed.into()),
                (None, Cow::Borrowed(_)) => MarkdownBlock::Markdown(source),
            }
        }
        code @ MarkdownBlock::Code { .. } => code,
    }
}

/// The source with a complete delimiter row, if it ends within the head of a table or within that row.
fn close_table(source: &str) -> Option<String> {
    let mut lines = source.rsplit('\n');
    let (last, above) = (lines.next()?, lines.next().unwrap_or_default());
    if is_head(last) && !above.starts_with('|') {
        let before = source.strip_suffix(last)?;
        // A pipe alone does not show what it begins.
        return Some(match columns(last) {
            0 => before.to_owned(),
            columns => format!("{source}\n{}", delimiters(columns)),
        });
    }
    let is_first = !lines.next().unwrap_or_default().starts_with('|');
    let begins = last.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '));
    let columns = columns(above);
    let is_whole = self::columns(last) == columns && last.contains('-');
    if is_head(above) && is_first && begins && columns > 0 && !is_whole {
        let before = source.strip_suffix(last)?;
        return Some(format!("{before}{}", delimiters(columns)));
    }
    None
}

/// True if a line looks like the head of a table, as models write it.
fn is_head(line: &str) -> bool {
    line == "|" || line.starts_with("| ")
}

/// The number of cells in a row; the last one may be open.
fn columns(row: &str) -> usize {
    let row = row.trim().trim_start_matches('|').trim_start();
    let row = row.strip_suffix('|').filter(|rest| !rest.ends_with('\\')).unwrap_or(row);
    if row.is_empty() {
        return 0;
    }
    1 + row.replace("\\|", "").matches('|').count()
}

fn delimiters(columns: usize) -> String {
    format!("|{}", "---|".repeat(columns))
}

fn close_link(source: &str) -> Cow<'_, str> {
    let paragraph = source.rfind("\n\n").map_or(0, |at| at + 2);
    match open_link(source.get(paragraph..).unwrap_or_default()) {
        Some(OpenLink { start, end }) => {
            let text = source.get(paragraph + start..paragraph + end).unwrap_or_default();
            let before = source.get(..paragraph + start).unwrap_or_default();
            // A bracket alone does not show what it begins.
            Cow::Owned(if text == "[" { before.to_owned() } else { format!("{before}{text}]()") })
        }
        None => Cow::Borrowed(source),
    }
}

/// The position of the open link's text, from its bracket on.
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
    link.filter(|_| !is_other && text.len() <= MAX_LEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_link_looks_like_the_link_it_will_be() {
        let whole = "see [the *docs*](https://a.b/(c)?d) now";
        for end in 5..=whole.find(')').unwrap() {
            let (begun, _) = whole.split_at(end);
            let shown = close_link(begun);
            let text = begun.split("](").next().unwrap().trim_end_matches(']');
            let expected = if end < 6 { "see ".to_owned() } else { format!("{text}]()") };
            assert_eq!(shown, expected, "{begun:?}");
        }
        assert_eq!(close_link(whole), whole);
        assert_eq!(close_link("![a c"), "![a c]()");
    }

    #[test]
    fn a_half_table_looks_like_the_table_it_will_be() {
        let check = |source: &str, expected: Option<&str>| {
            assert_eq!(close_table(source).as_deref(), expected, "{source:?}");
        };
        check("|", Some(""));
        check("So:\n\n| ", Some("So:\n\n"));
        check("So:\n| Na", Some("So:\n| Na\n|---|"));
        check("| Name | ", Some("| Name | \n|---|"));
        check("| Name | a \\| b", Some("| Name | a \\| b\n|---|---|"));
        check("| Name | Age |\n", Some("| Name | Age |\n|---|---|"));
        check("| Name | Age |\n|--", Some("| Name | Age |\n|---|---|"));
        check("| Name | Age |\n|---|--:", None);
        check("| Name | Age |\n|---|---|\n| Ada", None);
        check("| Name | Age |\n|---|---|\n| Ada | 1 |\n", None);
        check("|x| is never negative", None);
        check("a | b", None);
        check("| Name |\nand then", None);
    }

    #[test]
    fn brackets_that_are_no_links_stay() {
        for text in
            ["a[0", "- [ ", "- [x", "`[a`", "`[a", "\\[a", "note[^1", "> [!NO", "[a] b", "[a\n\nb", ""]
        {
            assert_eq!(close_link(text), text, "{text:?}");
        }
        assert_eq!(close_link("[a] and [b"), "[a] and [b]()");
    }
}
