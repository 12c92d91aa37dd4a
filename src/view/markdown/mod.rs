//! Markdown as rows: [`render`] lays out one block of `app::blocks`.
//!
//! CommonMark with GitHub's tables, task lists, strikethrough, footnotes and alerts; HTML is shown as text.
//! This file walks the parser's events and keeps the enclosing quotes and list items; [`inline`] collects
//! the text of a paragraph, [`table`] and [`code`] lay out theirs.
//!
//! A row is never wider than requested, from one cell up: enclosing marks use at most half of the width, and
//! are left out if they do not fit. Prose may be narrower than the rest, as long rows are hard to read. The
//! caller adds the empty row between two blocks.

#![allow(clippy::wildcard_enum_match_arm, reason = "most events and tags of the parser mean nothing here")]

pub(crate) mod code;
mod inline;
mod lists;
mod open;
mod table;

use pulldown_cmark::{BlockQuoteKind, CodeBlockKind, Event, HeadingLevel, LinkType, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use self::inline::Inline;
use self::lists::{List, ListFacts, Task, list_facts};
pub(crate) use self::open::close_open_parts;
use self::table::Table;
use super::highlight::Highlighter;
use super::row::Row;
use super::theme::{Theme, ThemeToken};
use super::wrap::{self, Break};
use tau_app::blocks::{self, CodePart, MarkdownBlock, MarkdownBlocks};
use tau_app::geometry::TextLayout;
use tau_app::printable::printable;

/// The rows of a block, each at most `width` cells wide.
pub fn render(block: &MarkdownBlock, width: u16, theme: &Theme, highlighter: &mut Highlighter) -> Vec<Row> {
    let room = Room { margin: 0, width, layout: TextLayout::default() };
    render_within(block, room, theme, highlighter)
}

/// The space in which a block is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Blank cells to the left of the rows.
    pub margin: u16,
    /// The width of the rows without the margin, in cells.
    pub width: u16,
    /// How wide paragraphs may be, and whether links are written out.
    pub layout: TextLayout,
}

/// The rows of a whole text.
pub(crate) fn rows(
    text: &str,
    room: Room,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Line<'static>> {
    let blocks = MarkdownBlocks::of(text);
    let mut rows: Vec<Line<'static>> = Vec::new();
    for block in blocks.closed_blocks().iter().chain(&blocks.open()) {
        if !rows.is_empty() && !block.continues() {
            rows.push(Line::default());
        }
        rows.extend(render_within(block, room, theme, highlighter).into_iter().map(Row::into_line));
    }
    rows
}

/// Like [`render`], after a margin and with paragraphs and links laid out as the room says.
pub fn render_within(
    block: &MarkdownBlock,
    room: Room,
    theme: &Theme,
    highlighter: &mut Highlighter,
) -> Vec<Row> {
    let Room { margin, width, layout } = Room { width: room.width.max(1), ..room };
    match block {
        MarkdownBlock::Code { lang, text, part, .. } => {
            code::rows(lang, &printable(text), *part, (margin, width), theme, highlighter)
        }
        MarkdownBlock::Markdown(source) => {
            let events: Vec<Event<'_>> = Parser::new_ext(source, blocks::options()).collect();
            let mut writer = Writer {
                theme,
                highlighter,
                width,
                prose: if layout.prose_width == 0 { width } else { layout.prose_width },
                rows: Vec::new(),
                enclosing: Vec::new(),
                facts: list_facts(&events).into_iter(),
                lists: Vec::new(),
                inline: Inline::new(theme, layout.addresses, theme.style(ThemeToken::Text)),
                literal: String::new(),
                table: None,
                gap: false,
            };
            events.into_iter().for_each(|event| writer.event(event));
            let rows = writer.finish(source).into_iter();
            match margin {
                0 => rows.collect(),
                margin => rows.map(|row| row.behind(blank(margin))).collect(),
            }
        }
    }
}

/// The marks to the left of enclosed rows.
struct Enclosing {
    /// Drawn on its first row.
    first: Span<'static>,
    /// Drawn on the rows after that.
    rest: Span<'static>,
    cells: usize,
    begun: bool,
    is_item: bool,
}

struct Writer<'a> {
    theme: &'a Theme,
    highlighter: &'a mut Highlighter,
    width: u16,
    /// The maximum width of a paragraph, including its enclosing marks.
    prose: u16,
    rows: Vec<Row>,
    enclosing: Vec<Enclosing>,
    facts: std::vec::IntoIter<ListFacts>,
    lists: Vec<List>,
    inline: Inline<'a>,
    /// The text of a code or HTML block.
    literal: String,
    table: Option<Table>,
    /// True if an empty row is due before the next block.
    gap: bool,
}

impl Writer<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(end),
            Event::Text(text) if self.inline.is_literal() => self.literal.push_str(&text),
            Event::Text(text) => self.inline.text(&text),
            Event::Code(text) => self.inline.code(&text),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.inline.code(&text),
            Event::Html(text) => self.literal.push_str(&text),
            Event::InlineHtml(tag) => self.inline.html(&tag),
            Event::FootnoteReference(label) => {
                self.inline.add_styled(&format!("[{label}]"), ThemeToken::Accent);
            }
            Event::SoftBreak => self.inline.soft_break(),
            Event::HardBreak => self.inline.line_end(),
            Event::Rule => self.rule(),
            Event::TaskListMarker(done) => self.task(if done { Task::Done } else { Task::Open }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::TableHead | Tag::TableRow | Tag::TableCell => self.start_cells(&tag),
            Tag::Heading { level, .. } => self.start_heading(level),
            Tag::BlockQuote(kind) => self.start_quote(kind),
            Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::MetadataBlock(_) => {
                self.flush();
                self.inline.set_literal(Some(language(&tag)));
            }
            Tag::List(first) => self.start_list(first),
            Tag::Item => self.start_item(),
            Tag::FootnoteDefinition(label) => {
                self.flush();
                self.start_block();
                self.enclose(format!("[{label}] "), ThemeToken::Accent);
            }
            Tag::Table(alignments) => {
                self.flush();
                self.table = Some(Table::new(alignments));
            }
            Tag::Emphasis => self.inline.emphasis(ThemeToken::Emphasis),
            Tag::Strong => self.inline.emphasis(ThemeToken::Strong),
            Tag::Strikethrough => self.inline.modifier(Modifier::CROSSED_OUT),
            Tag::Link { link_type: LinkType::Email, dest_url, .. } => {
                self.inline.start_link(&format!("mailto:{dest_url}"));
            }
            Tag::Link { dest_url, .. } => self.inline.start_link(&dest_url),
            Tag::Image { dest_url, .. } => self.inline.start_image(&dest_url),
            // Not enabled in `blocks::options`; their text would appear unchanged.
            Tag::Superscript | Tag::Subscript => self.inline.modifier(Modifier::empty()),
            Tag::DefinitionList | Tag::DefinitionListTitle | Tag::DefinitionListDefinition => self.flush(),
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Paragraph => {
                self.flush();
                self.gap = true;
            }
            TagEnd::Heading(_) => {
                self.flush();
                self.inline.pop();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.enclosing.pop();
                self.inline.pop();
                self.end_block();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::HtmlBlock | TagEnd::MetadataBlock(_) => self.end_html(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.end_block();
            }
            TagEnd::Item => self.end_item(),
            TagEnd::FootnoteDefinition => {
                self.flush();
                self.enclosing.pop();
                self.end_block();
            }
            TagEnd::Table => self.end_table(),
            TagEnd::TableCell => {
                let cell = self.inline.take();
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {}
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => self.inline.pop(),
            TagEnd::Superscript | TagEnd::Subscript => self.inline.pop(),
            TagEnd::Link => self.inline.end_link(),
            TagEnd::Image => self.inline.end_image(),
            TagEnd::DefinitionList | TagEnd::DefinitionListTitle | TagEnd::DefinitionListDefinition => {
                self.flush();
            }
        }
    }

    /// A source that shows nothing, such as link definitions, is shown verbatim.
    fn finish(mut self, source: &str) -> Vec<Row> {
        self.flush();
        if self.rows.is_empty() && !source.trim().is_empty() {
            for line in printable(source).lines() {
                let span = Span::styled(line.to_owned(), self.theme.style(ThemeToken::Muted));
                self.rows.extend(wrap::rows(&[span], self.width, 0, Break::Words));
            }
        }
        self.rows
    }

    fn start_cells(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Paragraph => self.flush(),
            Tag::TableHead | Tag::TableRow => self.table.iter_mut().for_each(Table::row),
            _ => {}
        }
    }

    fn start_heading(&mut self, level: HeadingLevel) {
        self.flush();
        let style = self.theme.style(ThemeToken::Heading);
        self.inline.push(match level {
            HeadingLevel::H1 => style.add_modifier(Modifier::UNDERLINED),
            HeadingLevel::H2 => style,
            HeadingLevel::H3 => style.add_modifier(Modifier::ITALIC),
            HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => {
                self.theme.style(ThemeToken::Strong).add_modifier(Modifier::ITALIC)
            }
        });
    }

    fn start_quote(&mut self, kind: Option<BlockQuoteKind>) {
        self.flush();
        self.start_block();
        let (token, title) = match kind {
            None => (ThemeToken::Quote, ""),
            Some(BlockQuoteKind::Note) => (ThemeToken::Accent, "Note"),
            Some(BlockQuoteKind::Tip) => (ThemeToken::Success, "Tip"),
            Some(BlockQuoteKind::Important) => (ThemeToken::Heading, "Important"),
            Some(BlockQuoteKind::Warning) => (ThemeToken::Warning, "Warning"),
            Some(BlockQuoteKind::Caution) => (ThemeToken::Error, "Caution"),
        };
        let bar = Span::styled("▎ ", self.theme.style(token));
        self.enclosing.push(Enclosing {
            first: bar.clone(),
            rest: bar,
            cells: 2,
            begun: false,
            is_item: false,
        });
        if title.is_empty() {
            self.inline.push(self.theme.style(ThemeToken::QuoteText));
        } else {
            self.inline.push(self.inline.style());
            let style = self.theme.style(token).add_modifier(Modifier::BOLD);
            let rows = wrap::rows(&[Span::styled(title, style)], self.inner_width(), 0, Break::Words);
            self.write(rows);
        }
    }

    fn enclose(&mut self, marker: String, token: ThemeToken) {
        let cells = wrap::cells(&marker);
        self.enclosing.push(Enclosing {
            first: Span::styled(printable(&marker).into_owned(), self.theme.style(token)),
            rest: Span::raw(" ".repeat(cells)),
            cells,
            begun: false,
            is_item: true,
        });
    }

    fn rule(&mut self) {
        self.flush();
        self.start_block();
        let rule = "─".repeat(usize::from(self.inner_width()));
        let rule = Line::from(Span::styled(rule, self.theme.style(ThemeToken::Rule)));
        self.write(vec![Row::mark(rule)]);
        self.end_block();
    }

    fn end_code(&mut self) {
        let lang = self.inline.set_literal(None).unwrap_or_default();
        let text = std::mem::take(&mut self.literal);
        self.start_block();
        let (width, text) = (self.inner_width(), printable(&text));
        let rows =
            code::rows(&printable(&lang), &text, CodePart::Whole, (0, width), self.theme, self.highlighter);
        self.write(rows);
        self.end_block();
    }

    fn end_html(&mut self) {
        self.inline.set_literal(None);
        let text = std::mem::take(&mut self.literal);
        let style = self.theme.style(ThemeToken::Muted);
        self.start_block();
        for line in printable(text.trim_end()).lines() {
            let span = Span::styled(line.to_owned(), style);
            let rows = wrap::rows(&[span], self.inner_width(), 0, Break::Words);
            self.write(rows);
        }
        self.end_block();
    }

    fn end_table(&mut self) {
        if let Some(table) = self.table.take() {
            self.start_block();
            let rows = table.rows(self.inner_width(), self.theme);
            self.write(rows);
            self.end_block();
        }
    }

    /// Writes the collected paragraph, if there is one.
    fn flush(&mut self) {
        if self.inline.is_empty() {
            return;
        }
        self.start_block();
        let enclosing = self.width - self.inner_width();
        let width = self.prose.saturating_sub(enclosing).clamp(1, self.inner_width().max(1));
        for line in self.inline.take() {
            let rows = wrap::wrap_linked(&line, width, 0);
            self.write(rows);
        }
    }

    fn start_block(&mut self) {
        if std::mem::take(&mut self.gap) && !self.rows.is_empty() {
            self.write(vec![Line::default().into()]);
        }
    }

    fn end_block(&mut self) {
        let in_item = self.enclosing.last().is_some_and(|enclosing| enclosing.is_item);
        self.gap = !in_item || self.lists.last().is_none_or(|list| list.loose);
    }

    /// The innermost enclosing marks that fit in half of the width: the index of the first and the cells of
    /// all.
    fn visible_marks(&self) -> (usize, usize) {
        let mut cells = 0;
        let mut first = self.enclosing.len();
        for enclosing in self.enclosing.iter().rev() {
            if cells + enclosing.cells > usize::from(self.width) / 2 {
                break;
            }
            cells += enclosing.cells;
            first -= 1;
        }
        (first, cells)
    }

    fn inner_width(&self) -> u16 {
        self.width - self.visible_marks().1 as u16
    }

    /// Adds rows to the right of their enclosing marks. Bullets and numbers are text; the bars of quotes,
    /// and anything to the left of them, are marks.
    fn write(&mut self, rows: Vec<Row>) {
        let (shown, _) = self.visible_marks();
        let (mut cells, mut text_from) = (0, 0);
        for enclosing in self.enclosing.iter().skip(shown) {
            cells += enclosing.cells;
            text_from = if enclosing.is_item { text_from } else { cells };
        }
        for row in rows {
            let mut before = Vec::with_capacity(self.enclosing.len() - shown);
            for enclosing in self.enclosing.iter_mut().skip(shown) {
                let begun = std::mem::replace(&mut enclosing.begun, true);
                before.push(if begun { enclosing.rest.clone() } else { enclosing.first.clone() });
            }
            for hidden in self.enclosing.iter_mut().take(shown).rev().take_while(|hidden| !hidden.begun) {
                hidden.begun = true;
            }
            self.rows.push(row.with_indent(before, text_from as u16));
        }
    }
}

/// The first word after a fence.
fn language(tag: &Tag<'_>) -> String {
    match tag {
        Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
            info.split([' ', ',', '{']).next().unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

/// A span of this many blank cells.
fn blank(cells: u16) -> Span<'static> {
    Span::raw(" ".repeat(usize::from(cells)))
}

fn span(text: impl Into<String>, style: Style) -> Span<'static> {
    Span::styled(text.into(), style)
}
