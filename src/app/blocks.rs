//! Streamed markdown as closed blocks and one open tail: [`MarkdownBlocks`].
//!
//! A closed block never changes again, whatever follows, so the view lays it out once. The split is a fold
//! over complete lines: how the text was cut into deltas cannot matter, and neither can the width of the
//! screen. A top-level block is closed once the next one has begun on a complete line (on an incomplete one
//! it may still turn out to belong to the block before: `\n*` looks like a new list and becomes
//! `\n**bold**`).
//!
//! A code fence at the top level is not kept open until it ends: every [`PART`] lines or so a part
//! of it is closed, so that a fence of any length costs what one part costs. The view colours every
//! part from the start, with no state of the parts before.
//!
//! Limit: a link reference or footnote is resolved within its own block only. Anything else would let later
//! text change the displayed text.
//!
//! Text is made safe on the way in (`super::printable`); nothing here knows of widths or styles.

use std::sync::Arc;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use super::printable::Sanitizer;

/// Lines after which a part of a code fence is closed at the next empty line; at twice as many it is closed
/// anywhere.
pub const PART: usize = 64;
/// Below this many bytes the open text is parsed for every line that may begin a block; above, only
/// when it has grown by a [`GROWTH`]th, which keeps the total cost linear.
const SMALL: usize = 4096;
const GROWTH: usize = 8;
/// Below this many bytes the open text is parsed for every line that may begin a fence.
const FENCE_SEARCH: usize = 32 * 1024;

/// The markdown dialect: CommonMark with GitHub's extensions.
pub fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_GFM
}

/// A piece of a message that is laid out on its own.
#[derive(Clone, Debug, PartialEq)]
pub enum MarkdownBlock {
    /// The source of a top-level block.
    Markdown(Arc<str>),
    /// Lines of a code fence at the top level.
    Code {
        /// The first word after the opening fence; may be empty.
        lang: Arc<str>,
        /// The lines, each with its line end (the last one of a message may lack it).
        text: Arc<str>,
        /// Its position in the fence.
        part: CodePart,
        /// The number of earlier lines in the fence.
        start_line: usize,
    },
}

impl MarkdownBlock {
    /// Whether it continues the block before, without an empty line between.
    pub fn continues(&self) -> bool {
        matches!(self, MarkdownBlock::Code { part: CodePart::Middle | CodePart::Last, .. })
    }
}

/// The position of a block within its code fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodePart {
    First,
    Middle,
    Last,
    Whole,
}

impl CodePart {
    /// Whether the fence begins here.
    pub fn starts(self) -> bool {
        matches!(self, Self::First | Self::Whole)
    }

    /// Whether the fence ends here.
    pub fn ends(self) -> bool {
        matches!(self, Self::Last | Self::Whole)
    }
}

/// A message as it streams in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MarkdownBlocks {
    closed: Vec<MarkdownBlock>,
    /// Text after the closed blocks; inside a fence, its lines since the last part.
    tail: String,
    cleaner: Sanitizer,
    /// Offset in `tail` of the incomplete line.
    line: usize,
    fence: Option<Fence>,
    /// Whether the last complete line is empty.
    after_empty: bool,
    /// Lines in `tail` when it was last parsed, and now.
    parsed_lines: usize,
    lines: usize,
    /// A line that may begin a block has come since the last parse.
    wanted: bool,
}

/// An open code fence.
#[derive(Clone, Debug, PartialEq)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
    lang: Arc<str>,
    /// Lines in the parts that are closed.
    before: usize,
}

impl Fence {
    /// The position of the next part.
    fn next_part(&self, ends: bool) -> CodePart {
        match (self.before, ends) {
            (0, true) => CodePart::Whole,
            (0, false) => CodePart::First,
            (_, true) => CodePart::Last,
            (_, false) => CodePart::Middle,
        }
    }
}

impl MarkdownBlocks {
    /// The blocks of a complete text.
    pub fn of(text: &str) -> Self {
        let mut blocks = Self::default();
        blocks.push(text);
        blocks.finish();
        blocks
    }

    /// Adds the next piece of the stream. The cost depends on the piece, not on earlier text.
    pub fn push(&mut self, delta: &str) {
        for piece in delta.split_inclusive('\n') {
            self.cleaner.feed(&mut self.tail, piece);
            if piece.ends_with('\n') {
                self.complete_line();
            }
        }
    }

    /// Closes the open text. Must be called once, at the end of the message.
    pub fn finish(&mut self) {
        if self.line < self.tail.len() {
            self.complete_line();
        }
        if let Some(fence) = self.fence.take() {
            self.close_code(&fence, true);
        } else {
            let starts = top_level(&self.tail).into_iter().map(|top| top.start).collect::<Vec<_>>();
            self.close_markdown(&starts, self.tail.len());
        }
        *self = Self { closed: std::mem::take(&mut self.closed), ..Self::default() };
    }

    /// The blocks that no longer change.
    pub fn closed_blocks(&self) -> &[MarkdownBlock] {
        &self.closed
    }

    /// Whether there is an [`open`](Self::open) block; costs nothing.
    pub fn has_open(&self) -> bool {
        self.fence.is_some() || !self.open_markdown().trim().is_empty()
    }

    /// Whether the open block continues the last closed one.
    pub fn open_continues(&self) -> bool {
        self.fence.as_ref().is_some_and(|fence| fence.before > 0)
    }

    /// The open text as a block to draw now. A last line of marks only is held back: its meaning is not known
    /// yet, and a paragraph would turn into a heading and back.
    pub fn open(&self) -> Option<MarkdownBlock> {
        let Some(fence) = &self.fence else {
            let shown = self.open_markdown();
            return (!shown.trim().is_empty()).then(|| MarkdownBlock::Markdown(shown.into()));
        };
        let (complete, partial) = self.complete_and_partial();
        let closing = !partial.is_empty() && partial.trim().chars().all(|c| c == fence.mark);
        let text = match closing {
            true => complete.into(),
            false => format!("{complete}{}", strip_indent(partial, fence.indent)).into(),
        };
        let part = fence.next_part(true);
        Some(MarkdownBlock::Code { lang: fence.lang.clone(), text, part, start_line: fence.before })
    }

    fn complete_and_partial(&self) -> (&str, &str) {
        self.tail.split_at_checked(self.line).unwrap_or((&self.tail, ""))
    }

    /// The open text outside a fence, as far as it is displayed.
    fn open_markdown(&self) -> &str {
        let (complete, partial) = self.complete_and_partial();
        let marks = |c: char| matches!(c, ' ' | '-' | '=' | '`' | '~' | '*' | '_' | '#' | '>' | '|' | '+');
        let shown = if partial.chars().all(marks) { complete } else { &self.tail };
        shown.trim_end_matches('\n')
    }

    fn complete_line(&mut self) {
        let line = self.tail.get(self.line..).unwrap_or_default().trim_end_matches('\n');
        if self.fence.is_some() {
            self.code_line();
            return;
        }
        let empty = line.trim().is_empty();
        let fence = fence_start(line).is_some();
        let begins = self.after_empty || line.trim_start().starts_with(|c: char| !c.is_alphabetic());
        self.wanted |= !empty && (fence || begins);
        self.after_empty = empty;
        self.lines += 1;
        let grown = (self.lines - self.parsed_lines) * GROWTH >= self.lines;
        let small = self.tail.len() < SMALL || (fence && self.tail.len() < FENCE_SEARCH);
        if self.wanted && !empty && (small || grown) {
            self.settle();
        }
        self.line = self.tail.len();
    }

    /// Closes every top-level block but the last; opens a fence that begins on the last line.
    fn settle(&mut self) {
        self.wanted = false;
        self.parsed_lines = self.lines;
        let tops = top_level(&self.tail);
        let starts: Vec<usize> = tops.iter().map(|top| top.start).collect();
        let Some((last, before)) = starts.split_last() else { return };
        let fence = tops.last().filter(|top| top.fenced && top.start >= self.line);
        let fence = fence.and_then(|_| fence_start(self.tail.get(*last..).unwrap_or_default()));
        if !before.is_empty() || fence.is_some() {
            self.close_markdown(before, *last);
        }
        if fence.is_some() {
            self.fence = fence;
            self.empty_tail();
        }
    }

    /// Closes the text up to `end` as blocks that begin at `starts`; text before the first of them (link
    /// definitions) belongs to it.
    fn close_markdown(&mut self, starts: &[usize], end: usize) {
        let rest = self.tail.split_off(end.min(self.tail.len()));
        let mut bounds: Vec<usize> = starts.iter().skip(1).copied().collect();
        bounds.push(self.tail.len());
        let mut start = 0;
        for bound in bounds {
            let source = self.tail.get(start..bound).unwrap_or_default().trim_matches('\n').trim_end();
            if !source.is_empty() {
                self.closed.push(MarkdownBlock::Markdown(source.into()));
            }
            start = bound;
        }
        self.tail = rest;
        self.lines = self.tail.lines().count();
        self.parsed_lines = self.lines;
    }

    fn code_line(&mut self) {
        let Some(fence) = self.fence.take() else { return };
        let line = self.tail.get(self.line..).unwrap_or_default();
        if fence.ends_with(line) {
            self.tail.truncate(self.line);
            self.close_code(&fence, true);
            self.empty_tail();
            return;
        }
        let kept = strip_indent(line, fence.indent);
        let (empty, stripped) = (kept.trim().is_empty(), line.len() - kept.len());
        self.tail.drain(self.line..self.line + stripped);
        self.line = self.tail.len();
        self.lines += 1;
        if (self.lines >= PART && empty) || self.lines >= 2 * PART {
            self.close_code(&fence, false);
            let before = fence.before + self.lines;
            self.empty_tail();
            self.fence = Some(Fence { before, ..fence });
        } else {
            self.fence = Some(fence);
        }
    }

    fn close_code(&mut self, fence: &Fence, ends: bool) {
        self.closed.push(MarkdownBlock::Code {
            lang: fence.lang.clone(),
            text: self.tail.as_str().into(),
            part: fence.next_part(ends),
            start_line: fence.before,
        });
    }

    fn empty_tail(&mut self) {
        self.tail.clear();
        (self.line, self.lines, self.parsed_lines) = (0, 0, 0);
        self.after_empty = true;
    }
}

impl Fence {
    /// Whether `line` closes the fence (CommonMark 0.31 §4.5).
    fn ends_with(&self, line: &str) -> bool {
        let text = line.trim_start_matches(' ');
        let length = text.chars().take_while(|c| *c == self.mark).count();
        line.len() - text.len() <= 3
            && length >= self.length
            && text.trim_start_matches(self.mark).trim().is_empty()
    }
}

/// The fence that `line` opens, if it looks like one.
fn fence_start(line: &str) -> Option<Fence> {
    let line = line.lines().next()?;
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = text.trim_start_matches(mark);
    let length = text.len() - info.len();
    if indent > 3 || length < 3 || (mark == '`' && info.contains('`')) {
        return None;
    }
    let lang = info.split([' ', ',', '{']).find(|word| !word.is_empty()).unwrap_or_default();
    Some(Fence { mark, length, indent, lang: lang.into(), before: 0 })
}

/// `line` without the indentation of its fence, as far as it has it.
fn strip_indent(line: &str, indent: usize) -> &str {
    let spaces = line.bytes().take(indent).take_while(|byte| *byte == b' ').count();
    line.get(spaces..).unwrap_or(line)
}

struct Top {
    /// Start of its first line.
    start: usize,
    fenced: bool,
}

/// The blocks at the top level, in order.
fn top_level(source: &str) -> Vec<Top> {
    let mut depth = 0usize;
    let mut tops = Vec::new();
    for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
        if depth == 0 && !matches!(event, Event::End(_)) {
            let before = source.get(..range.start).unwrap_or_default();
            let start = before.rfind('\n').map_or(0, |at| at + 1);
            let fenced = matches!(event, Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))));
            tops.push(Top { start, fenced });
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    tops
}
