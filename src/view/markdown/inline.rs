//! Collects the inline text of a paragraph, heading or cell: [`Inline`].
//!
//! Keeps the stack of styles and the open links. Its output is safe to draw, even if an entity such as
//! `&#27;` stood for a control character.

use std::borrow::Cow;

use ratatui::style::{Modifier, Style};
use unicode_width::UnicodeWidthChar;

use super::span;
use crate::link::{Link, LinkedLine};
use crate::theme::{Theme, ThemeToken};
use tau_app::geometry::Addresses;
use tau_app::printable::printable_line;

/// Lines of styled text.
pub(super) type InlineLines = Vec<LinkedLine>;

/// A text style, and the link of the text.
#[derive(PartialEq)]
struct Look {
    style: Style,
    /// True if addresses in it should become links.
    bare: bool,
    link: Option<Link>,
}

struct Piece {
    text: String,
    look: Look,
}

/// A link that is being read.
struct OpenLink {
    target: String,
    /// The link for the terminal; `None` if the target is printed.
    link: Option<Link>,
    /// The visible text.
    text: String,
}

/// Collects inline text.
pub(super) struct Inline<'a> {
    theme: &'a Theme,
    addresses: Addresses,
    base: Style,
    styles: Vec<Style>,
    links: Vec<OpenLink>,
    lines: Vec<Vec<Piece>>,
    /// True if a line has ended and the following text continues it.
    is_broken: bool,
    /// The language, within a code or HTML block.
    literal: Option<String>,
}

impl<'a> Inline<'a> {
    pub(super) fn new(theme: &'a Theme, addresses: Addresses, base: Style) -> Self {
        Self {
            theme,
            addresses,
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

    /// Sets the language of the literal block that begins, or none at its end; returns the previous one.
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

    /// Emphasis of plain text may have a colour; in a heading, quotation or link it only changes the weight.
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

    /// Inline code; between backticks if the theme has no style for it.
    pub(super) fn code(&mut self, text: &str) {
        let look = self.theme.style(ThemeToken::CodeInline);
        if look == Style::new() || look == self.theme.style(ThemeToken::Text) {
            self.add(&format!("`{text}`"), self.style(), false);
        } else {
            self.add(text, self.style().patch(look), false);
        }
    }

    pub(super) fn add_styled(&mut self, text: &str, token: ThemeToken) {
        self.add(text, self.theme.style(token), false);
    }

    /// A tag as text; `<br>` ends the line.
    pub(super) fn html(&mut self, tag: &str) {
        let name = tag.trim_matches(['<', '>', '/', ' ']);
        if name.eq_ignore_ascii_case("br") {
            self.line_end();
        } else {
            self.add_styled(tag, ThemeToken::Muted);
        }
    }

    pub(super) fn line_end(&mut self) {
        self.is_broken = false;
        self.links.iter_mut().for_each(|link| link.text.push(' '));
        self.lines.push(Vec::new());
    }

    /// A line end that is not a break: the following text continues the line.
    pub(super) fn soft_break(&mut self) {
        self.is_broken = true;
    }

    pub(super) fn start_link(&mut self, target: &str) {
        self.open_link(target);
        self.push(self.style().patch(self.theme.style(ThemeToken::Link)));
    }

    /// Shows the target after the text, unless the text is the target or the terminal gets it. Text that
    /// looks like a different address does not hide the target.
    pub(super) fn end_link(&mut self) {
        self.pop();
        let Some(OpenLink { target, link, text }) = self.links.pop() else { return };
        if link.is_some() && !looks_like_address(&text) {
            return;
        }
        let shown = target.strip_prefix("mailto:").unwrap_or(&target);
        let same = |text: &str| text == shown || text.trim_end_matches('/') == shown.trim_end_matches('/');
        if !shown.is_empty() && !same(text.trim()) {
            self.add_styled(&format!(" ({shown})"), ThemeToken::Faint);
        }
    }

    pub(super) fn start_image(&mut self, target: &str) {
        self.push(self.theme.style(ThemeToken::Muted));
        self.open_link(target);
        self.add("[image: ", self.style(), false);
    }

    pub(super) fn end_image(&mut self) {
        match self.links.pop() {
            Some(OpenLink { link: None, target, .. }) => {
                self.add(&format!("]({target})"), self.style(), false);
            }
            image => {
                self.links.extend(image);
                self.add("]", self.style(), false);
                self.links.pop();
            }
        }
        self.pop();
    }

    fn open_link(&mut self, target: &str) {
        let link = match self.addresses {
            Addresses::Printed => None,
            Addresses::Linked => Link::new(target),
        };
        self.links.push(OpenLink { target: target.to_owned(), link, text: String::new() });
    }

    /// Takes the collected lines.
    pub(super) fn take(&mut self) -> InlineLines {
        self.is_broken = false;
        let lines = std::mem::replace(&mut self.lines, vec![Vec::new()]);
        lines.into_iter().map(|line| self.line(line)).collect()
    }

    fn line(&self, pieces: Vec<Piece>) -> LinkedLine {
        let mut line = LinkedLine::default();
        for piece in pieces {
            if piece.look.bare && (piece.text.contains("://") || piece.text.contains("[^")) {
                bare(&piece, self.addresses, self.theme, &mut line);
            } else {
                line.push(span(piece.text, piece.look.style), piece.look.link);
            }
        }
        line
    }

    /// True if a joined line end becomes a blank: not between characters of scripts without blanks.
    fn needs_blank(&self, after: &str) -> bool {
        let before = self.lines.last().and_then(|line| line.last()?.text.chars().next_back());
        let unspaced = |c: Option<char>| c.is_some_and(is_unspaced);
        before.is_some_and(|before| before != ' ') && !(unspaced(before) && unspaced(after.chars().next()))
    }

    /// Adds the blank of a joined line end. Before a link it belongs to the surrounding text, so that it is
    /// not underlined.
    fn blank(&mut self, bare: bool) {
        let begins = |link: &OpenLink| link.text.is_empty();
        let around = self.styles.len().checked_sub(2).and_then(|at| self.styles.get(at)).copied();
        if self.links.last().is_some_and(begins) {
            let (styles, links) = (self.styles.pop(), self.links.pop());
            self.add(" ", around.unwrap_or(self.base), self.links.is_empty());
            self.styles.extend(styles);
            self.links.extend(links);
        } else {
            self.add(" ", self.style(), bare);
        }
    }

    fn add(&mut self, text: &str, style: Style, bare: bool) {
        let text: Cow<'_, str> = printable_line(text);
        if !text.is_empty() && std::mem::take(&mut self.is_broken) && self.needs_blank(&text) {
            self.blank(bare);
        }
        self.links.iter_mut().for_each(|link| link.text.push_str(&text));
        let look = Look { style, bare, link: self.links.last().and_then(|link| link.link.clone()) };
        let Some(line) = self.lines.last_mut() else { return };
        match line.last_mut() {
            Some(last) if last.look == look => last.text.push_str(&text),
            _ if text.is_empty() => {}
            _ => line.push(Piece { text: text.into_owned(), look }),
        }
    }
}

/// True if the text of a link is, or pretends to be, its target.
fn looks_like_address(text: &str) -> bool {
    text.contains("://") || text.trim_start().starts_with("www.")
}

/// True for a character of a script that is written without blanks.
fn is_unspaced(c: char) -> bool {
    !matches!(c, '\u{1100}'..='\u{11FF}' | '\u{AC00}'..='\u{D7AF}') && c.width() == Some(2)
}

/// Adds text in which addresses without markup, and references to footnotes defined in another block, look
/// like links.
fn bare(piece: &Piece, addresses: Addresses, theme: &Theme, line: &mut LinkedLine) {
    let style = piece.look.style;
    let mut rest = piece.text.as_str();
    while let Some(found) =
        [address(rest), footnote(rest)].into_iter().flatten().min_by_key(|found| found.start)
    {
        let TokenRange { start, end, token } = found;
        if start > 0 {
            line.push(span(rest.get(..start).unwrap_or_default(), style), None);
        }
        let shown = rest.get(start..end).unwrap_or_default();
        let style = style.patch(theme.style(token));
        match (token, addresses) {
            (ThemeToken::Accent, _) => line.push(span(shown.replacen('^', "", 1), style), None),
            (_, Addresses::Linked) => line.push(span(shown, style), Link::new(shown)),
            (_, Addresses::Printed) => line.push(span(shown, style), None),
        }
        rest = rest.get(end..).unwrap_or_default();
    }
    if !rest.is_empty() {
        line.push(span(rest, style), None);
    }
}

/// A part of a text, and its kind.
struct TokenRange {
    start: usize,
    end: usize,
    token: ThemeToken,
}

/// The first web address in `text`, by the rules of GitHub's autolinks: punctuation at its end is not part
/// of it, nor is a bracket that it does not open.
fn address(text: &str) -> Option<TokenRange> {
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
    Some(TokenRange { start, end: start + address.len(), token: ThemeToken::Link })
}

/// The first `[^label]` in `text`.
fn footnote(text: &str) -> Option<TokenRange> {
    let start = text.find("[^")?;
    let label = text.get(start + 2..)?;
    let length = label.find(']').filter(|length| *length > 0)?;
    let plain = label.get(..length)?.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    plain.then_some(TokenRange { start, end: start + 2 + length + 1, token: ThemeToken::Accent })
}
