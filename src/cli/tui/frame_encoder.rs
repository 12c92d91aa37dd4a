//! Encodes a frame as bytes: the difference between the displayed cells and the next ones.
//!
//! Moved rows are moved by the terminal (a scroll region, DECSTBM, and line feeds); in the others, changed
//! cells are written. The sequences are the VT100's, which small terminals support, too (the Linux console,
//! Emacs): not SU, SD, ECH and CHA. Links are OSC 8
//! (<https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda>).

mod pen;
mod shift;

use ratatui::buffer::{Cell, CellWidth};
use ratatui::style::{Color, Modifier};

use self::pen::{Origin, Pen};
use self::shift::find_shift;
use tau_view::frame::{Frame, KnownRows, LayerItem};
use tau_view::link::Link;
use tau_view::picture::PictureRow;

/// The attributes that are visible on a blank cell.
const SEEN_ON_BLANK: Modifier = Modifier::REVERSED
    .union(Modifier::UNDERLINED)
    .union(Modifier::SLOW_BLINK)
    .union(Modifier::RAPID_BLINK)
    .union(Modifier::CROSSED_OUT);

/// Writes the difference between `shown` and `next`, which are of the same size; nothing when they look the
/// same. The terminal's style is the default one before and after; the cursor's final position is
/// unspecified.
pub(super) fn encode(shown: &Frame, next: &Frame, out: &mut Vec<u8>) {
    let frames = FramePair::of(shown, next);
    let rows = 0..usize::from(next.area().height);
    let mut changed: Vec<bool> = rows.map(|y| !frames.is_same_row(y, y)).collect();
    let shift = find_shift(&frames, &changed);
    if let Some(shift) = shift {
        shift.write(out);
        for (y, changed) in changed.iter_mut().enumerate().take(shift.bottom).skip(shift.top) {
            *changed = shift.source(y).is_none_or(|from| !frames.is_same_row(from, y));
        }
    }
    let blank = shift.map(|_| vec![Cell::EMPTY; usize::from(next.area().width)]).unwrap_or_default();
    let mut pen = Pen::new(out, next.area().width, Origin::Screen);
    for (y, _) in changed.iter().enumerate().filter(|(_, changed)| **changed) {
        let from = shift.map_or(Some(y), |shift| shift.source(y));
        let old = from.map_or(Row::of_cells(&blank), |from| Row::of(shown, from));
        pen.row(y as u16, old, Row::of(next, y));
    }
    pen.plain();
}

/// Like [`encode`], for a region of a screen with other rows above it: writes the difference between the
/// displayed rows `shown`, with the cursor at row `from` of them, and the rows of `next`; nothing when they
/// look the same. Missing rows are made by line feeds, at which the terminal scrolls, so `next` may have more
/// rows than the screen. The cursor ends on the returned row of `next`, or at `cursor`.
pub(super) fn encode_region(
    shown: &Frame,
    next: &Frame,
    from: u16,
    cursor: Option<(u16, u16)>,
    out: &mut Vec<u8>,
) -> u16 {
    let (known, wanted) = (shown.area().height, next.area().height);
    let mut pen =
        Pen::new(out, next.area().width, Origin::Region { row: from, last: known.saturating_sub(1) });
    let blank = vec![Cell::EMPTY; usize::from(next.area().width)];
    for y in 0..wanted {
        let old = if y < known { Row::of(shown, y.into()) } else { Row::of_cells(&blank) };
        pen.row(y, old, Row::of(next, y.into()));
    }
    pen.plain();
    if wanted < known {
        pen.erase_below(wanted);
    } else if wanted > known {
        pen.reach(wanted - 1);
    }
    if let Some((x, y)) = cursor {
        pen.jump(x, y);
    }
    pen.region_row()
}

/// Two frames whose rows are compared.
struct FramePair<'a> {
    old: &'a Frame,
    new: &'a Frame,
    known: KnownRows<'a>,
    /// Whether one of them has more than cells.
    has_layers: bool,
}

impl<'a> FramePair<'a> {
    fn of(old: &'a Frame, new: &'a Frame) -> Self {
        let has_layers = [old, new].iter().any(|frame| frame.has_layers());
        FramePair { old, new, known: KnownRows::of(old, new), has_layers }
    }

    /// Whether a row of the old frame looks like one of the new. That is usually known without their cells;
    /// rows that were drawn differently count as different.
    fn is_same_row(&self, old_y: usize, new_y: usize) -> bool {
        let alike = self.known.are_alike(old_y, new_y);
        if let Some(alike) = alike.filter(|alike| !alike || !self.has_layers) {
            return alike;
        }
        let (old, new) = (Row::of(self.old, old_y), Row::of(self.new, new_y));
        let same_cells = || {
            old.cells.len() == new.cells.len()
                && old.cells.iter().zip(new.cells).all(|(old, new)| Glyph::of(old).is_same(Glyph::of(new)))
        };
        (alike.is_some() || same_cells())
            && same_layer(old.links, new.links)
            && same_layer(old.pictures, new.pictures)
    }
}

/// Whether both rows have equal layers, regardless of their position.
fn same_layer<T: PartialEq>(old: &[LayerItem<T>], new: &[LayerItem<T>]) -> bool {
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| old.lies_like(new))
}

/// A cell with its text, which is looked up once: that is a call.
#[derive(Clone, Copy)]
struct Glyph<'a> {
    cell: &'a Cell,
    text: &'a str,
}

impl<'a> Glyph<'a> {
    fn of(cell: &'a Cell) -> Self {
        Glyph { cell, text: cell.symbol() }
    }

    /// Whether both look the same. Nearly all hold one byte.
    fn is_same(self, other: Glyph<'_>) -> bool {
        let same_text = match (self.text.as_bytes(), other.text.as_bytes()) {
            ([old], [new]) => old == new,
            (old, new) => old == new,
        };
        let (old, new) = (self.cell, other.cell);
        same_text
            && old.fg == new.fg
            && old.bg == new.bg
            && old.modifier == new.modifier
            && old.underline_color == new.underline_color
    }

    /// Whether it has the default background and no visible content.
    fn is_blank(self) -> bool {
        self.text == " " && self.cell.bg == Color::Reset && !self.cell.modifier.intersects(SEEN_ON_BLANK)
    }

    /// Columns of the text. Most is ASCII, which needs no table.
    fn width(self) -> u16 {
        if self.text.len() == 1 { 1 } else { self.cell.cell_width() }
    }
}

/// A cell of the default background without visible content.
pub(super) fn is_blank(cell: &Cell) -> bool {
    Glyph::of(cell).is_blank()
}

/// The cells of a row, with its layers.
#[derive(Clone, Copy)]
struct Row<'a> {
    cells: &'a [Cell],
    links: &'a [LayerItem<Link>],
    pictures: &'a [LayerItem<PictureRow>],
}

impl<'a> Row<'a> {
    /// The row of a frame.
    fn of(frame: &'a Frame, y: usize) -> Self {
        let y = u16::try_from(y).unwrap_or(u16::MAX);
        Row { cells: frame.row(y), links: frame.links.row(y), pictures: frame.pictures.row(y) }
    }

    /// Cells without layers.
    fn of_cells(cells: &'a [Cell]) -> Self {
        Row { cells, links: &[], pictures: &[] }
    }

    fn link(&self, x: u16) -> Option<&'a Link> {
        self.links.iter().find(|placed| placed.columns.contains(&x)).map(|placed| &placed.what)
    }

    /// The layers drawn over this row's cells, and not over the other's.
    fn strips_besides(&self, other: Row<'a>) -> impl Iterator<Item = (&'a LayerItem<PictureRow>, &'a str)> {
        let own =
            |placed: &&LayerItem<PictureRow>| !other.pictures.iter().any(|known| known.lies_like(placed));
        // If a row is covered by a layer, a part of it cannot be shown.
        let whole = |placed: &&LayerItem<PictureRow>| {
            placed.columns.len() == usize::from(placed.what.picture.columns)
        };
        let strip = |placed: &'a LayerItem<PictureRow>| Some((placed, placed.what.strip()?));
        self.pictures.iter().filter(own).filter(whole).filter_map(strip)
    }
}

#[cfg(test)]
mod link_tests;
#[cfg(test)]
mod picture_tests;
#[cfg(test)]
mod tests;
