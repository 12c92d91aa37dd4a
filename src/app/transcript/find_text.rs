//! The searchable text of entries.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::EntryBody;
use super::panel::{PanelOutput, ToolPanel};
use crate::blocks::{MarkdownBlock, MarkdownBlocks};

/// Text of a part of an entry, or of all parts from it on.
#[derive(Debug, PartialEq)]
pub(super) struct PlaceText<'a> {
    pub(super) part: u32,
    pub(super) text: Cow<'a, str>,
    /// Line breaks are blanks, marks are not drawn.
    pub(super) is_prose: bool,
    /// Bytes from the start that are visible although the entry is folded.
    pub(super) shown: usize,
}

/// The text of an entry, in drawing order.
pub(super) fn place_texts(body: &EntryBody) -> Vec<PlaceText<'_>> {
    let whole = |text| vec![PlaceText { part: 0, text, is_prose: false, shown: usize::MAX }];
    match body {
        EntryBody::Welcome | EntryBody::Earlier { .. } | EntryBody::RunEnd(_) => Vec::new(),
        // A long one is folded; only the view knows where.
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
            if let Some(words) = &command.blocked {
                let _ = write!(text, "\n{words}");
            }
            vec![PlaceText { part: 0, text: Cow::Owned(text), is_prose: false, shown }]
        }
    }
}

fn blocks_texts(blocks: &MarkdownBlocks, first: u32, shown: usize) -> Vec<PlaceText<'_>> {
    let closed = blocks.closed_blocks().iter().map(|block| match block {
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

/// The text of a call, and its part that is visible when folded.
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
    for words in tool.reason.iter().chain(tool.notes.iter()).chain(tool.remarks.iter()).chain(&tool.blocked) {
        let _ = write!(text, "\n{words}");
    }
    (text, shown)
}

/// Adds each line of an output, after a line break.
pub(super) fn output_text(output: &PanelOutput, text: &mut String) {
    match output {
        PanelOutput::None => {}
        PanelOutput::Text(lines) | PanelOutput::Helper { lines, .. } => {
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
