//! A frame as bytes: what leads from the cells that are shown to the next ones.
//!
//! Rows that only moved are moved by the terminal (a scroll region, DECSTBM, and SU or SD); of the
//! others the cells that changed are written. The sequences are those of ECMA-48 and of every terminal since the VT220.

use std::io::Write;
use std::ops::Range;

use ratatui::buffer::{Buffer, Cell, CellWidth};
use ratatui::style::{Color, Modifier};

/// Rows that must be saved for the terminal to be asked to move some.
const WORTH: usize = 3;
/// Blank cells in a row from which on they are erased instead of written.
const ERASE: u16 = 8;
/// What is seen on a blank cell too.
const SEEN_ON_BLANK: Modifier = Modifier::REVERSED
    .union(Modifier::UNDERLINED)
    .union(Modifier::SLOW_BLINK)
    .union(Modifier::RAPID_BLINK)
    .union(Modifier::CROSSED_OUT);

/// Writes what leads from `shown` to `next`, which are of the same size; nothing when they look the
/// same. The terminal's style is the default one before and after; where its cursor ends is open.
/// Afterwards `shown` holds rows as the terminal moved them.
pub(super) fn encode(shown: &mut Buffer, next: &Buffer, out: &mut Vec<u8>) {
    let mut changed = changed_rows(shown, next);
    if let Some(shift) = find_shift(shown, next, &changed) {
        shift.write(out);
        shift.apply(shown);
        let (old, new) = (Rows::of(shown), Rows::of(next));
        for (y, changed) in changed.iter_mut().enumerate().take(shift.bottom).skip(shift.top) {
            *changed = !same_row(old.row(y), new.row(y));
        }
    }
    let mut pen = Pen { out, next, style: CellStyle::default(), at: None };
    let (old, new) = (Rows::of(shown), Rows::of(next));
    for (y, changed) in (0..next.area.height).zip(changed) {
        if changed {
            pen.row(y, old.row(usize::from(y)), new.row(usize::from(y)));
        }
    }
    pen.restyle(CellStyle::default());
}

/// Which rows differ.
fn changed_rows(shown: &Buffer, next: &Buffer) -> Vec<bool> {
    let (old, new) = (Rows::of(shown), Rows::of(next));
    (0..usize::from(next.area.height)).map(|y| !same_row(old.row(y), new.row(y))).collect()
}

fn same_row(old: &[Cell], new: &[Cell]) -> bool {
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new))
}

/// Whether two cells look the same. Nearly all hold one byte.
#[inline]
fn same(old: &Cell, new: &Cell) -> bool {
    let style = old.fg == new.fg
        && old.bg == new.bg
        && old.modifier == new.modifier
        && old.underline_color == new.underline_color;
    let text = || match (old.symbol().as_bytes(), new.symbol().as_bytes()) {
        ([old], [new]) => old == new,
        (old, new) => old == new,
    };
    style && text()
}

/// A cell of the default background on which nothing is seen.
fn is_blank(cell: &Cell) -> bool {
    cell.symbol() == " " && cell.bg == Color::Reset && !cell.modifier.intersects(SEEN_ON_BLANK)
}

/// Rows `top..bottom` move up by `by`, or down when it is negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shift {
    top: usize,
    bottom: usize,
    by: isize,
}

impl Shift {
    fn write(self, out: &mut Vec<u8>) {
        let direction = if self.by > 0 { 'S' } else { 'T' };
        // Writing to memory does not fail.
        let _ = write!(
            out,
            "\x1b[{};{}r\x1b[{}{direction}\x1b[r",
            self.top + 1,
            self.bottom,
            self.by.unsigned_abs()
        );
    }

    fn apply(self, shown: &mut Buffer) {
        let width = usize::from(shown.area.width);
        let by = self.by.unsigned_abs() * width;
        let Some(cells) = shown.content.get_mut(self.top * width..self.bottom * width) else { return };
        let length = cells.len();
        let freed = if self.by > 0 {
            cells.rotate_left(by);
            length - by..length
        } else {
            cells.rotate_right(by);
            0..by
        };
        cells.get_mut(freed).into_iter().flatten().for_each(Cell::reset);
    }
}

/// The rows of a buffer.
struct Rows<'a> {
    cells: &'a [Cell],
    width: usize,
}

impl<'a> Rows<'a> {
    fn of(buffer: &'a Buffer) -> Self {
        Rows { cells: &buffer.content, width: usize::from(buffer.area.width) }
    }

    fn row(&self, y: usize) -> &'a [Cell] {
        self.cells.get(y * self.width..(y + 1) * self.width).unwrap_or_default()
    }
}

/// The move that saves most rows from being written, when it is worth it.
fn find_shift(shown: &Buffer, next: &Buffer, changed: &[bool]) -> Option<Shift> {
    let (old, new) = (Rows::of(shown), Rows::of(next));
    if changed.iter().filter(|changed| **changed).count() < WORTH {
        return None;
    }
    let first = changed.iter().position(|changed| *changed)?;
    let last = changed.iter().rposition(|changed| *changed)?;
    let span = last + 1 - first;
    let mut best: Option<(usize, Shift)> = None;
    for distance in 1..span {
        for up in [true, false] {
            // Rows `y` of the new frame are rows `y + distance` (or `y - distance`) of the old one.
            let range = if up { first..last + 1 - distance } else { first + distance..last + 1 };
            let moved = |y: usize| {
                let from = if up { y + distance } else { y - distance };
                same_row(old.row(from), new.row(y))
            };
            for (start, end) in runs(range, moved) {
                let (top, bottom) = if up { (start, end + distance) } else { (start - distance, end) };
                let saved = (start..end).filter(|y| changed.get(*y) == Some(&true)).count();
                let freed = if up { end..bottom } else { top..start };
                let spoilt = freed.filter(|y| changed.get(*y) == Some(&false)).count();
                let by = if up { distance as isize } else { -(distance as isize) };
                let gain = saved.saturating_sub(spoilt);
                if gain >= WORTH && best.is_none_or(|(least, _)| gain > least) {
                    best = Some((gain, Shift { top, bottom, by }));
                }
            }
        }
    }
    best.map(|(_, shift)| shift)
}

/// The stretches of `range` for which `holds`.
fn runs(range: Range<usize>, holds: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for y in range {
        if holds(y) {
            match found.last_mut() {
                Some((_, end)) if *end == y => *end = y + 1,
                _ => found.push((y, y + 1)),
            }
        }
    }
    found
}

/// How a cell looks apart from its character.
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

/// Where the terminal's cursor is and how it writes.
struct Pen<'a> {
    out: &'a mut Vec<u8>,
    next: &'a Buffer,
    style: CellStyle,
    /// `None` where it cannot be known: at the right edge, and after a character that terminals
    /// do not agree on.
    at: Option<(u16, u16)>,
}

impl Pen<'_> {
    /// Writes the cells of a row that changed.
    fn row(&mut self, y: u16, old: &[Cell], new: &[Cell]) {
        // Cells covered by the wide character before them in the new row; cells whose wide character
        // in the old row is no longer there: the terminal blanks what is left of it in its own way.
        let (mut covered, mut broken) = (0, 0);
        let mut blanks = 0..0;
        for (x, (was, cell)) in (0..).zip(old.iter().zip(new)) {
            let was_to = x + was.cell_width().max(1);
            if x < covered {
                if was_to > x + 1 {
                    broken = broken.max(was_to);
                }
                continue;
            }
            covered = x + cell.cell_width().max(1);
            if x >= broken && same(was, cell) {
                continue;
            }
            broken = broken.max(was_to).max(covered);
            if !is_blank(cell) {
                self.blanks(std::mem::take(&mut blanks), y);
                self.go(x, y);
                self.write(cell);
            } else if blanks.end == x && !blanks.is_empty() {
                blanks.end = x + 1;
            } else {
                self.blanks(std::mem::replace(&mut blanks, x..x + 1), y);
            }
        }
        self.blanks(blanks, y);
    }

    fn go(&mut self, x: u16, y: u16) {
        let _ = match self.at {
            Some(at) if at == (x, y) => Ok(()),
            Some((from, row)) if row == y && from < x && self.can_write_blanks(from..x, y) => {
                self.out.resize(self.out.len() + usize::from(x - from), b' ');
                Ok(())
            }
            Some((from, row)) if row == y && from < x => write!(self.out, "\x1b[{}C", x - from),
            _ if x == 0 => write!(self.out, "\x1b[{}H", y + 1),
            _ => write!(self.out, "\x1b[{};{}H", y + 1, x + 1),
        };
        self.at = Some((x, y));
    }

    /// Whether cells that did not change are blank, and so few that writing them is the shortest way
    /// past them.
    fn can_write_blanks(&self, cells: Range<u16>, y: u16) -> bool {
        cells.len() <= 3
            && self.style.bg == Color::Reset
            && !self.style.modifier.intersects(SEEN_ON_BLANK)
            && cells.into_iter().all(|x| self.next.cell((x, y)).is_some_and(is_blank))
    }

    fn write(&mut self, cell: &Cell) {
        let wanted = CellStyle::of(cell);
        // On a blank only the background and some attributes are seen.
        let seen = |style: CellStyle| (style.bg, style.underline, style.modifier & SEEN_ON_BLANK);
        if cell.symbol() != " " || seen(wanted) != seen(self.style) {
            self.restyle(wanted);
        }
        // Some terminals draw these in one cell: what the other one showed must not stay.
        if cell.symbol().contains('\u{fe0f}') {
            let _ = write!(self.out, "\x1b[{}X", cell.cell_width());
        }
        self.out.extend_from_slice(cell.symbol().as_bytes());
        let width = self.next.area.width;
        self.at = self.at.filter(|(x, _)| cell.cell_width() == 1 && x + 1 < width).map(|(x, y)| (x + 1, y));
    }

    /// Blank cells: a few are written, many are erased (ECH, which leaves the cursor where it is).
    fn blanks(&mut self, cells: Range<u16>, y: u16) {
        let count = cells.end.saturating_sub(cells.start);
        if count == 0 {
            return;
        }
        self.go(cells.start, y);
        if self.style.bg != Color::Reset || self.style.modifier.intersects(SEEN_ON_BLANK) {
            self.restyle(CellStyle::default());
        }
        if count >= ERASE {
            let _ = write!(self.out, "\x1b[{count}X");
        } else {
            self.out.resize(self.out.len() + usize::from(count), b' ');
            self.at = (cells.end < self.next.area.width).then_some((cells.end, y));
        }
    }

    /// Selects a style (SGR), with as few parameters as lead to it.
    fn restyle(&mut self, wanted: CellStyle) {
        if wanted == self.style {
            return;
        }
        let mut from = self.style;
        self.out.extend_from_slice(b"\x1b[");
        let begin = self.out.len();
        // An attribute cannot be taken away reliably but with all the others.
        if !wanted.modifier.contains(from.modifier) || wanted == CellStyle::default() {
            from = CellStyle::default();
            if wanted != from {
                self.out.extend_from_slice(b"0");
            }
        }
        let added = wanted.modifier - from.modifier;
        for (index, flag) in ATTRIBUTES.into_iter().enumerate() {
            if added.contains(flag) {
                self.parameter(begin, format_args!("{}", index + 1));
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

    fn parameter(&mut self, begin: usize, value: std::fmt::Arguments<'_>) {
        if self.out.len() > begin {
            self.out.push(b';');
        }
        let _ = self.out.write_fmt(value);
    }

    /// `base` is 30 for the text, 40 for the background, 50 for the underline.
    fn color(&mut self, begin: usize, color: Color, base: u8) {
        let index = match color {
            Color::Reset => return self.parameter(begin, format_args!("{}", base + 9)),
            Color::Rgb(r, g, b) => {
                return self.parameter(begin, format_args!("{};2;{r};{g};{b}", base + 8));
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
            0..8 if base < 50 => self.parameter(begin, format_args!("{}", base + index)),
            8..16 if base < 50 => self.parameter(begin, format_args!("{}", base + 60 + index - 8)),
            _ => self.parameter(begin, format_args!("{};5;{index}", base + 8)),
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

#[cfg(test)]
mod tests;
