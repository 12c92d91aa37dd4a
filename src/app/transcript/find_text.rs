//! The text of entries as it is searched, and what is sought in it.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::EntryBody;
use super::panel::{PanelOutput, ToolPanel};
use crate::app::blocks::{MarkdownBlock, MarkdownBlocks};

/// Marks of markdown that are not drawn.
const MARKS: [char; 2] = ['*', '`'];

/// What is sought. Without a capital letter, capitals do not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Needle {
    text: String,
    exact: bool,
}

impl Needle {
    /// `None` for a query without characters.
    pub(crate) fn new(query: &str) -> Option<Needle> {
        let exact = query.chars().any(char::is_uppercase);
        (!query.is_empty()).then(|| Needle { text: query.to_owned(), exact })
    }

    /// Text as it is compared. In prose a line break is a blank, and marks are not there.
    pub(crate) fn fold<'a>(&self, text: &'a str, is_prose: bool) -> Cow<'a, str> {
        let skipped = |c: char| is_prose && MARKS.contains(&c) && !self.text.contains(c);
        let changes = |c: char| (is_prose && c == '\n') || skipped(c) || (!self.exact && !is_lower(c));
        if !text.chars().any(changes) {
            return Cow::Borrowed(text);
        }
        let mut folded = String::with_capacity(text.len());
        for c in text.chars().filter(|c| !skipped(*c)) {
            match c {
                '\n' if is_prose => folded.push(' '),
                c if self.exact => folded.push(c),
                c => folded.extend(c.to_lowercase()),
            }
        }
        Cow::Owned(folded)
    }

    /// How often it occurs in folded text.
    pub(crate) fn count(&self, folded: &str) -> u32 {
        u32::try_from(folded.matches(self.text.as_str()).count()).unwrap_or(u32::MAX)
    }

    /// The bytes of each occurrence in folded text.
    pub(crate) fn ranges<'a>(&'a self, folded: &'a str) -> impl Iterator<Item = std::ops::Range<usize>> + 'a {
        folded.match_indices(self.text.as_str()).map(|(at, found)| at..at + found.len())
    }
}

fn is_lower(c: char) -> bool {
    if c.is_ascii() { !c.is_ascii_uppercase() } else { c.to_lowercase().eq([c]) }
}

/// Text of a part of an entry, or of all parts from it on.
#[derive(Debug, PartialEq)]
pub(super) struct PlaceText<'a> {
    pub(super) part: u32,
    pub(super) text: Cow<'a, str>,
    /// Line breaks are blanks, marks are not drawn.
    pub(super) is_prose: bool,
    /// Bytes from the start that are shown although the entry is folded.
    pub(super) shown: usize,
}

/// The text of an entry, in the order in which it is drawn.
pub(super) fn place_texts(body: &EntryBody) -> Vec<PlaceText<'_>> {
    let whole = |text| vec![PlaceText { part: 0, text, is_prose: false, shown: usize::MAX }];
    match body {
        EntryBody::Welcome | EntryBody::Earlier { .. } | EntryBody::RunEnd(_) => Vec::new(),
        // A long one is folded; where is known to the view only.
        EntryBody::User { text, .. } => {
            let text = Cow::Borrowed(text.as_str());
            vec![PlaceText { part: 0, text, is_prose: false, shown: 0 }]
        }
        EntryBody::Notice { text, hint: None, .. } => whole(Cow::Borrowed(text.as_str())),
        EntryBody::Notice { text, hint: Some(hint), .. } => whole(Cow::Owned(format!("{text}\n{hint}"))),
        EntryBody::Answer(blocks) => blocks_texts(blocks, 0, usize::MAX),
        EntryBody::Thinking { blocks, .. } | EntryBody::Summary { blocks, .. } => blocks_texts(blocks, 1, 0),
        EntryBody::Tool(tool) => {
            let (text, shown) = tool_text(tool);
            vec![PlaceText { part: 0, text: Cow::Owned(text), is_prose: false, shown }]
        }
        EntryBody::Command(command) => {
            let mut text = command.command.as_str().trim_end().to_owned();
            let shown = text.lines().next().map_or(0, str::len);
            output_text(&command.output, &mut text);
            vec![PlaceText { part: 0, text: Cow::Owned(text), is_prose: false, shown }]
        }
    }
}

fn blocks_texts(blocks: &MarkdownBlocks, first: u32, shown: usize) -> Vec<PlaceText<'_>> {
    let closed = blocks.closed().iter().map(|block| match block {
        MarkdownBlock::Markdown(text) => (Cow::Borrowed(&**text), true),
        MarkdownBlock::Code { text, .. } => (Cow::Borrowed(&**text), false),
    });
    let open = blocks.open().map(|block| match block {
        MarkdownBlock::Markdown(text) => (Cow::Owned(text.to_string()), true),
        MarkdownBlock::Code { text, .. } => (Cow::Owned(text.to_string()), false),
    });
    let all = closed.chain(open).zip(first..);
    all.map(|((text, is_prose), part)| PlaceText { part, text, is_prose, shown }).collect()
}

/// What a call shows, and how much of it when folded.
fn tool_text(tool: &ToolPanel) -> (String, usize) {
    let mut text = format!("{}  ", tool.name);
    let command = tool.arguments.command.as_str().trim();
    if command.is_empty() || !command.starts_with(tool.title.trim_end_matches('…').trim_end()) {
        text.push_str(&tool.title);
    }
    let mut shown = text.len();
    if !command.is_empty() {
        if text.trim_end() != tool.name.as_str() {
            text.push('\n');
        }
        text.push_str(command);
        shown = text.len() - command.len() + command.lines().next().map_or(0, str::len);
    }
    for argument in &tool.arguments.texts {
        let _ = write!(text, "\n{}:\n{}", argument.name, argument.text);
    }
    output_text(&tool.output, &mut text);
    for words in tool.reason.iter().chain(tool.notes.iter()) {
        let _ = write!(text, "\n{words}");
    }
    (text, shown)
}

/// Adds each line of an output, after a line break.
pub(super) fn output_text(output: &PanelOutput, text: &mut String) {
    match output {
        PanelOutput::None => {}
        PanelOutput::Text(lines) => {
            for line in lines.iter() {
                text.push('\n');
                text.push_str(line);
            }
        }
        PanelOutput::Diff(diff) => {
            for line in diff.hunks.iter().flat_map(|hunk| &hunk.lines) {
                text.push('\n');
                text.push_str(line.get(1..).unwrap_or_default());
            }
        }
        PanelOutput::Terminal { lines, .. } => {
            for line in lines.iter() {
                text.push('\n');
                line.iter().for_each(|run| text.push_str(&run.text));
            }
        }
        PanelOutput::Picture(note) => {
            text.push('\n');
            text.push_str(note);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(query: &str, text: &str, is_prose: bool) -> u32 {
        let needle = Needle::new(query).unwrap_or_else(|| panic!("no needle for {query:?}"));
        needle.count(&needle.fold(text, is_prose))
    }

    #[test]
    fn capitals_matter_when_there_is_one() {
        assert_eq!(count("err", "Err ERR err", false), 3);
        assert_eq!(count("Err", "Err ERR err", false), 1);
        assert_eq!(count("größe", "GRÖSSE Größe", false), 1);
        assert_eq!(Needle::new(""), None);
    }

    #[test]
    fn prose_is_searched_as_it_is_read() {
        assert_eq!(count("the parser reads", "the **parser**\nreads", true), 1);
        assert_eq!(count("the parser reads", "the **parser**\nreads", false), 0);
        assert_eq!(count("**parser", "the **parser**", true), 1);
        assert_eq!(count("a\nb", "a\nb", false), 1);
    }
}
