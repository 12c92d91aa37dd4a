//! The pen that writes cells, with the terminal's cursor position and style.

use std::cmp::Ordering;
use std::io::Write;
use std::ops::Range;

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

use super::{Glyph, Row, SEEN_ON_BLANK, is_blank};
use crate::tui::widths::Kind;
use tau_view::link::Link;

/// Erases the row from the cursor (EL).
const ERASE_ROW: &[u8] = b"\x1b[K";
/// The look of a cell apart from its character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CellStyle {
    fg: Color,
    bg: Color,
    underline: Color,
    modifier: Modifier,
}

impl CellStyle {
    fn of(cell: &Cell) -> Self {
        CellStyle { fg: cell.fg, bg: cell.bg, underline: cell.underline_color, modifier: cell.modifier }
    }
}

/// The terminal's cursor position and style.
pub(super) struct Pen<'a> {
    out: &'a mut Vec<u8>,
    /// Columns of the screen.
    width: u16,
    style: CellStyle,
    /// The row being written.
    written: Row<'a>,
    /// The current link target.
    link: Option<&'a Link>,
    /// `None` where it is unknown: at the right edge, and after a character on whose width terminals
    /// disagree.
    at: Option<(u16, u16)>,
    origin: Origin,
}

/// The origin of row numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// The top of the screen.
    Screen,
    /// The row `row`, known only by the cursor's distance to it. The row `last` is the last one that is known
    /// to be on the screen.
    Region { row: u16, last: u16 },
}

impl<'a> Pen<'a> {
    /// A pen in the default style, at an unknown position.
    pub(super) fn new(out: &'a mut Vec<u8>, width: u16, origin: Origin) -> Self {
        Pen {
            out,
            width,
            style: CellStyle::default(),
            written: Row::of_cells(&[]),
            link: None,
            at: None,
            origin,
        }
    }

    /// Selects the default style, and no link.
    pub(super) fn plain(&mut self) {
        self.restyle(CellStyle::default());
        self.link_to(None);
    }

    /// Erases the rows of a region from `y`.
    pub(super) fn erase_below(&mut self, y: u16) {
        self.jump(0, y);
        self.out.extend_from_slice(b"\x1b[J");
    }

    /// The cursor's row in the region.
    pub(super) fn region_row(&self) -> u16 {
        match self.origin {
            Origin::Region { row, .. } => row,
            Origin::Screen => 0,
        }
    }

    /// Writes the changed cells of a row.
    pub(super) fn row(&mut self, y: u16, old: Row<'a>, new: Row<'a>) {
        self.written = new;
        // Cells covered by the wide character before them in the new row; cells whose wide character in the
        // old row is gone: the terminal blanks its rest in its own way.
        let (mut covered, mut broken) = (0, 0);
        let mut blanks = 0..0;
        let erased: Vec<Range<u16>> =
            old.strips_besides(new).map(|(placed, _)| placed.columns.clone()).collect();
        let is_bare = old.links.is_empty() && new.links.is_empty() && erased.is_empty();
        for (x, (was, cell)) in (0..).zip(old.cells.iter().zip(new.cells)) {
            let (was, cell) = (Glyph::of(was), Glyph::of(cell));
            let is_same = was.is_same(cell);
            // Most cells need no closer check.
            if is_bare && x >= covered.max(broken) && cell.text.len() == 1 && is_same {
                continue;
            }
            let was_to = x + was.width().max(1);
            if x < covered {
                if was_to > x + 1 {
                    broken = broken.max(was_to);
                }
                continue;
            }
            covered = x + cell.width().max(1);
            let link = new.link(x);
            let kept = !erased.iter().any(|columns| columns.contains(&x));
            if x >= broken && kept && is_same && old.link(x) == link {
                continue;
            }
            broken = broken.max(was_to).max(covered);
            if link.is_some() || !cell.is_blank() {
                self.blanks(std::mem::take(&mut blanks), y);
                self.go(x, y);
                self.link_to(link);
                self.write(cell);
            } else if blanks.end == x && !blanks.is_empty() {
                blanks.end = x + 1;
            } else {
                self.blanks(std::mem::replace(&mut blanks, x..x + 1), y);
            }
        }
        self.blanks(blanks, y);
        for (placed, strip) in new.strips_besides(old) {
            self.plain();
            self.go(placed.columns.start, y);
            self.out.extend_from_slice(strip.as_bytes());
            self.at = None;
        }
    }

    fn go(&mut self, x: u16, y: u16) {
        let _ = match self.at {
            Some(at) if at == (x, y) => Ok(()),
            Some((from, row)) if row == y && from < x && self.can_write_blanks(from..x) => {
                self.out.resize(self.out.len() + usize::from(x - from), b' ');
                Ok(())
            }
            Some((from, row)) if row == y && from < x => write!(self.out, "\x1b[{}C", x - from),
            _ => return self.jump(x, y),
        };
        self.at = Some((x, y));
    }

    /// Moves to a cell from any position.
    pub(super) fn jump(&mut self, x: u16, y: u16) {
        let _ = match self.origin {
            Origin::Screen if x == 0 => write!(self.out, "\x1b[{}H", y + 1),
            Origin::Screen => write!(self.out, "\x1b[{};{}H", y + 1, x + 1),
            Origin::Region { .. } => {
                self.reach(y);
                if x == 0 { write!(self.out, "\r") } else { write!(self.out, "\r\x1b[{x}C") }
            }
        };
        self.at = Some((x, y));
    }

    /// Moves to a row of a region. A row below its last one is added, and is blank.
    pub(super) fn reach(&mut self, y: u16) {
        let Origin::Region { row, last } = self.origin else { return };
        let to = y.min(last);
        let _ = match to.cmp(&row) {
            Ordering::Less => write!(self.out, "\x1b[{}A", row - to),
            Ordering::Equal => Ok(()),
            Ordering::Greater => write!(self.out, "\x1b[{}B", to - row),
        };
        if y > last {
            self.plain();
        }
        for _ in last..y {
            self.out.extend_from_slice(b"\r\n\x1b[J");
        }
        self.origin = Origin::Region { row: y, last: last.max(y) };
    }

    /// Whether unchanged cells are blank, and so few that writing them is the shortest way past them.
    fn can_write_blanks(&self, cells: Range<u16>) -> bool {
        cells.len() <= 3
            && self.link.is_none()
            && !self
                .written
                .links
                .iter()
                .any(|link| link.columns.start < cells.end && cells.start < link.columns.end)
            && self.style.bg == Color::Reset
            && !self.style.modifier.intersects(SEEN_ON_BLANK)
            && cells.into_iter().all(|x| self.written.cells.get(usize::from(x)).is_some_and(is_blank))
    }

    fn write(&mut self, glyph: Glyph<'_>) {
        let wanted = CellStyle::of(glyph.cell);
        // On a blank only the background and some attributes are visible.
        let seen = |style: CellStyle| (style.bg, style.underline, style.modifier & SEEN_ON_BLANK);
        if glyph.text != " " || seen(wanted) != seen(self.style) {
            self.restyle(wanted);
        }
        // Some terminals draw these in one cell: the old content of the other one must not stay.
        let taken = glyph.width();
        if taken > 1 && Kind::of(glyph.text).is_some() {
            let _ = write!(self.out, "\x1b[{taken}X");
        }
        match glyph.text.as_bytes() {
            [byte] => self.out.push(*byte),
            bytes => self.out.extend_from_slice(bytes),
        }
        let width = self.width;
        self.at = self.at.filter(|(x, _)| taken == 1 && x + 1 < width).map(|(x, y)| (x + 1, y));
    }

    /// Writes blank cells: up to the end of the row they are erased, which does not move the cursor.
    fn blanks(&mut self, cells: Range<u16>, y: u16) {
        let count = cells.end.saturating_sub(cells.start);
        if count == 0 {
            return;
        }
        self.go(cells.start, y);
        self.link_to(None);
        if self.style.bg != Color::Reset || self.style.modifier.intersects(SEEN_ON_BLANK) {
            self.restyle(CellStyle::default());
        }
        if cells.end == self.width && usize::from(count) >= ERASE_ROW.len() {
            self.out.extend_from_slice(ERASE_ROW);
        } else {
            self.out.resize(self.out.len() + usize::from(count), b' ');
            self.at = (cells.end < self.width).then_some((cells.end, y));
        }
    }

    /// Sets the link target of further text.
    fn link_to(&mut self, link: Option<&'a Link>) {
        if link == self.link {
            return;
        }
        let _ = match link {
            Some(link) => write!(self.out, "\x1b]8;id={:x};{}\x1b\\", link.id(), link.uri()),
            None => write!(self.out, "\x1b]8;;\x1b\\"),
        };
        self.link = link;
    }

    /// Selects a style (SGR) with as few parameters as possible.
    fn restyle(&mut self, wanted: CellStyle) {
        if wanted == self.style {
            return;
        }
        let mut from = self.style;
        self.out.extend_from_slice(b"\x1b[");
        let begin = self.out.len();
        // An attribute can only be reset reliably together with all others.
        if !wanted.modifier.contains(from.modifier) || wanted == CellStyle::default() {
            from = CellStyle::default();
            if wanted != from {
                self.out.extend_from_slice(b"0");
            }
        }
        let added = wanted.modifier - from.modifier;
        for (index, flag) in ATTRIBUTES.into_iter().enumerate() {
            if added.contains(flag) {
                self.parameters(begin, &[index as u8 + 1]);
            }
        }
        if wanted.fg != from.fg {
            self.color(begin, wanted.fg, 30);
        }
        if wanted.bg != from.bg {
            self.color(begin, wanted.bg, 40);
        }
        if wanted.underline != from.underline {
            self.color(begin, wanted.underline, 50);
        }
        self.out.push(b'm');
        self.style = wanted;
    }

    /// Adds parameters to the sequence that begins at `begin`.
    fn parameters(&mut self, begin: usize, values: &[u8]) {
        for value in values {
            if self.out.len() > begin {
                self.out.push(b';');
            }
            let digits = [value / 100, value / 10 % 10, value % 10].map(|digit| b'0' + digit);
            let first = usize::from(*value < 100) + usize::from(*value < 10);
            self.out.extend_from_slice(digits.get(first..).unwrap_or_default());
        }
    }

    /// `base` is 30 for the text, 40 for the background, 50 for the underline.
    fn color(&mut self, begin: usize, color: Color, base: u8) {
        let index = match color {
            Color::Reset => return self.parameters(begin, &[base + 9]),
            Color::Rgb(r, g, b) => {
                return self.parameters(begin, &[base + 8, 2, r, g, b]);
            }
            Color::Black => 0,
            Color::Red => 1,
            Color::Green => 2,
            Color::Yellow => 3,
            Color::Blue => 4,
            Color::Magenta => 5,
            Color::Cyan => 6,
            Color::Gray => 7,
            Color::DarkGray => 8,
            Color::LightRed => 9,
            Color::LightGreen => 10,
            Color::LightYellow => 11,
            Color::LightBlue => 12,
            Color::LightMagenta => 13,
            Color::LightCyan => 14,
            Color::White => 15,
            Color::Indexed(index) => index,
        };
        match index {
            0..8 if base < 50 => self.parameters(begin, &[base + index]),
            8..16 if base < 50 => self.parameters(begin, &[base + 60 + index - 8]),
            _ => self.parameters(begin, &[base + 8, 5, index]),
        }
    }
}

/// Attributes in the order of their numbers in SGR, from 1.
const ATTRIBUTES: [Modifier; 9] = [
    Modifier::BOLD,
    Modifier::DIM,
    Modifier::ITALIC,
    Modifier::UNDERLINED,
    Modifier::SLOW_BLINK,
    Modifier::RAPID_BLINK,
    Modifier::REVERSED,
    Modifier::HIDDEN,
    Modifier::CROSSED_OUT,
];
