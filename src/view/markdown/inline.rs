//! The text of one paragraph, heading or cell while it is read: [`Inline`].
//!
//! Keeps the stack of styles and the open links. What it gives out is safe to draw, also where an
//! entity such as `&#27;` meant a control character.

use std::borrow::Cow;

use ratatui::style::{Modifier, Style};
use ratatui::text::Span;
use unicode_width::UnicodeWidthChar;

use super::span;
use crate::app::printable::printable_line;
use crate::view::theme::{Theme, ThemeToken};

/// Lines of styled text.
pub(super) type InlineLines = Vec<Vec<Span<'static>>>;

/// Text of one style; `bare` when addresses in it are to be found.
struct Piece {
    text: String,
    style: Style,
    bare: bool,
}

struct Link {
    target: String,
    /// What it shows.
    text: String,
}

/// Collects inline text.
pub(super) struct Inline<'a> {
    theme: &'a Theme,
    base: Style,
    styles: Vec<Style>,
    links: Vec<Link>,
    lines: Vec<Vec<Piece>>,
    /// A line ended, and what follows continues it.
    is_broken: bool,
    /// Within a code or HTML block: its language.
    literal: Option<String>,
}

impl<'a> Inline<'a> {
    pub(super) fn new(theme: &'a Theme, base: Style) -> Self {
        Self {
            theme,
            base,
            styles: Vec::new(),
            links: Vec::new(),
            lines: vec![Vec::new()],
            is_broken: false,
            literal: None,
        }
    }

    pub(super) fn is_literal(&self) -> bool {
        self.literal.is_some()
    }

    /// Sets the language of the literal block that begins, or none at its end; gives the one before.
    pub(super) fn set_literal(&mut self, lang: Option<String>) -> Option<String> {
        std::mem::replace(&mut self.literal, lang)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(Vec::is_empty)
    }

    /// The style of text at this point.
    pub(super) fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or(self.base)
    }

    pub(super) fn push(&mut self, style: Style) {
        self.styles.push(style);
    }

    pub(super) fn pop(&mut self) {
        self.styles.pop();
    }

    pub(super) fn modifier(&mut self, modifier: Modifier) {
        self.push(self.style().add_modifier(modifier));
    }

    /// Emphasis of plain text may have a colour; within a heading, quotation or link it only changes
    /// the weight.
    pub(super) fn emphasis(&mut self, token: ThemeToken) {
        let (current, wanted) = (self.style(), self.theme.style(token));
        if current.fg == self.theme.style(ThemeToken::Text).fg {
            self.push(current.patch(wanted));
        } else {
            self.push(current.add_modifier(wanted.add_modifier));
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        let bare = self.links.is_empty();
        self.add(text, self.style(), bare);
    }

    /// Inline code; between backticks where the theme has no look for it.
    pub(super) fn code(&mut self, text: &str) {
        let look = self.theme.style(ThemeToken::CodeInline);
        if look == Style::new() || look == self.theme.style(ThemeToken::Text) {
            self.add(&format!("`{text}`"), self.style(), false);
        } else {
            self.add(text, self.style().patch(look), false);
        }
    }

    pub(super) fn marked(&mut self, text: &str, token: ThemeToken) {
        self.add(text, self.theme.style(token), false);
    }

    /// A tag as text; `<br>` ends the line.
    pub(super) fn html(&mut self, tag: &str) {
        let name = tag.trim_matches(['<', '>', '/', ' ']);
        if name.eq_ignore_ascii_case("br") {
            self.line_end();
        } else {
            self.marked(tag, ThemeToken::Muted);
        }
    }

    pub(super) fn line_end(&mut self) {
        self.is_broken = false;
        self.links.iter_mut().for_each(|link| link.text.push(' '));
        self.lines.push(Vec::new());
    }

    /// A line end that is no break: what follows continues the line.
    pub(super) fn soft_break(&mut self) {
        self.is_broken = true;
    }

    pub(super) fn start_link(&mut self, target: &str) {
        self.links.push(Link { target: target.to_owned(), text: String::new() });
        self.push(self.style().patch(self.theme.style(ThemeToken::Link)));
    }

    /// Shows the target after the text, unless the text is the target.
    pub(super) fn end_link(&mut self) {
        self.pop();
        let Some(Link { target, text }) = self.links.pop() else { return };
        let shown = target.strip_prefix("mailto:").unwrap_or(&target);
        let same = |text: &str| text == shown || text.trim_end_matches('/') == shown.trim_end_matches('/');
        if !shown.is_empty() && !same(text.trim()) {
            self.marked(&format!(" ({shown})"), ThemeToken::Faint);
        }
    }

    pub(super) fn start_image(&mut self, target: &str) {
        self.push(self.theme.style(ThemeToken::Muted));
        self.add("[image: ", self.style(), false);
        self.links.push(Link { target: target.to_owned(), text: String::new() });
    }

    pub(super) fn end_image(&mut self) {
        let target = self.links.pop().map(|link| link.target).unwrap_or_default();
        self.add(&format!("]({target})"), self.style(), false);
        self.pop();
    }

    /// What was collected, by lines; leaves nothing.
    pub(super) fn take(&mut self) -> InlineLines {
        self.is_broken = false;
        let theme = self.theme;
        let lines = std::mem::replace(&mut self.lines, vec![Vec::new()]);
        lines
            .into_iter()
            .map(|line| line.into_iter().flat_map(|piece| spans(piece, theme)).collect())
            .collect()
    }

    /// Whether a joined line end is a blank: not between characters of scripts without blanks.
    fn needs_blank(&self, after: &str) -> bool {
        let before = self.lines.last().and_then(|line| line.last()?.text.chars().next_back());
        let unspaced = |c: Option<char>| c.is_some_and(is_unspaced);
        before.is_some_and(|before| before != ' ') && !(unspaced(before) && unspaced(after.chars().next()))
    }

    fn add(&mut self, text: &str, style: Style, bare: bool) {
        let text: Cow<'_, str> = printable_line(text);
        if !text.is_empty() && std::mem::take(&mut self.is_broken) && self.needs_blank(&text) {
            self.add(" ", self.style(), bare);
        }
        self.links.iter_mut().for_each(|link| link.text.push_str(&text));
        let Some(line) = self.lines.last_mut() else { return };
        match line.last_mut() {
            Some(last) if last.style == style && last.bare == bare => last.text.push_str(&text),
            _ if text.is_empty() => {}
            _ => line.push(Piece { text: text.into_owned(), style, bare }),
        }
    }
}

/// A character of a script that is written without blanks.
fn is_unspaced(c: char) -> bool {
    !matches!(c, '\u{1100}'..='\u{11FF}' | '\u{AC00}'..='\u{D7AF}') && c.width() == Some(2)
}

/// The spans of a piece: addresses without markup look like links, and so do references to footnotes
/// that another block defines.
fn spans(piece: Piece, theme: &Theme) -> Vec<Span<'static>> {
    let Piece { text, style, bare } = piece;
    if !bare || !(text.contains("://") || text.contains("[^")) {
        return vec![span(text, style)];
    }
    let mut spans = Vec::new();
    let mut rest = text.as_str();
    while let Some(found) =
        [address(rest), footnote(rest)].into_iter().flatten().min_by_key(|found| found.start)
    {
        let Found { start, end, token } = found;
        if start > 0 {
            spans.push(span(rest.get(..start).unwrap_or_default(), style));
        }
        let shown = rest.get(start..end).unwrap_or_default();
        let shown = if token == ThemeToken::Accent { shown.replacen('^', "", 1) } else { shown.to_owned() };
        spans.push(span(shown, style.patch(theme.style(token))));
        rest = rest.get(end..).unwrap_or_default();
    }
    if !rest.is_empty() {
        spans.push(span(rest, style));
    }
    spans
}

/// Part of a text, and what it is.
struct Found {
    start: usize,
    end: usize,
    token: ThemeToken,
}

/// The first web address in `text`, by the rules of GitHub's autolinks: punctuation at its end is
/// not part of it, nor is a bracket it does not open.
fn address(text: &str) -> Option<Found> {
    let starts = ["https://", "http://"].map(|scheme| text.find(scheme));
    let start = starts.into_iter().flatten().min()?;
    let rest = text.get(start..)?;
    let ends = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`' | '⏎');
    let mut address = rest.get(..rest.find(ends).unwrap_or(rest.len()))?;
    loop {
        let unopened = address.ends_with(')') && address.matches(')').count() > address.matches('(').count();
        let shorter = match unopened {
            true => address.strip_suffix(')').unwrap_or(address),
            false => address.trim_end_matches(['.', ',', ':', ';', '!', '?', '\'', '*', '_', '~']),
        };
        if shorter.len() == address.len() {
            break;
        }
        address = shorter;
    }
    Some(Found { start, end: start + address.len(), token: ThemeToken::Link })
}

/// The first `[^label]` in `text`.
fn footnote(text: &str) -> Option<Found> {
    let start = text.find("[^")?;
    let label = text.get(start + 2..)?;
    let length = label.find(']').filter(|length| *length > 0)?;
    let plain = label.get(..length)?.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    plain.then_some(Found { start, end: start + 2 + length + 1, token: ThemeToken::Accent })
}
