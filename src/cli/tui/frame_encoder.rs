//! A frame as bytes: what leads from the cells that are shown to the next ones.
//!
//! Rows that only moved are moved by the terminal (a scroll region, DECSTBM, and SU or SD); of the
//! others the cells that changed are written. The sequences are those of ECMA-48 and of every terminal since the VT220.
//! Links are OSC 8 (<https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda>).

mod pen;
mod shift;

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

use self::pen::{Origin, Pen};
use self::shift::find_shift;
use crate::view::frame::{Frame, Placed};
use crate::view::link::Link;
use crate::view::picture::PictureRow;

/// What is seen on a blank cell too.
const SEEN_ON_BLANK: Modifier = Modifier::REVERSED
    .union(Modifier::UNDERLINED)
    .union(Modifier::SLOW_BLINK)
    .union(Modifier::RAPID_BLINK)
    .union(Modifier::CROSSED_OUT);

/// Writes what leads from `shown` to `next`, which are of the same size; nothing when they look the
/// same. The terminal's style is the default one before and after; where its cursor ends is open.
/// Afterwards `shown` holds rows as the terminal moved them.
pub(super) fn encode(shown: &mut Frame, next: &Frame, out: &mut Vec<u8>) {
    let mut changed = changed_rows(shown, next);
    if let Some(shift) = find_shift(shown, next, &changed) {
        shift.write(out);
        shift.apply(shown);
        let (old, new) = (Rows::of(shown), Rows::of(next));
        for (y, changed) in changed.iter_mut().enumerate().take(shift.bottom).skip(shift.top) {
            *changed = !same_row(&old, y, &new, y);
        }
    }
    let mut pen = Pen::new(out, &next.cells, Origin::Screen);
    let (old, new) = (Rows::of(shown), Rows::of(next));
    for (y, changed) in (0..next.cells.area.height).zip(changed) {
        if changed {
            pen.row(y, old.row(usize::from(y)), new.row(usize::from(y)));
        }
    }
    pen.plain();
}

/// The same for a region of a screen that has other rows above: writes what leads from the rows that
/// are `shown`, with the cursor at row `from` of them, to those of `next`; nothing when they look the
/// same. Rows that do not exist are made by line feeds, at which the terminal scrolls, so `next` may
/// have more rows than the screen. Where the cursor is afterwards: on that row of `next`, or where
/// `cursor` says.
pub(super) fn encode_region(
    shown: &Frame,
    next: &Frame,
    from: u16,
    cursor: Option<(u16, u16)>,
    out: &mut Vec<u8>,
) -> u16 {
    let (known, wanted) = (shown.cells.area.height, next.cells.area.height);
    let mut pen = Pen::new(out, &next.cells, Origin::Region { row: from, last: known.saturating_sub(1) });
    let (old, new) = (Rows::of(shown), Rows::of(next));
    let blank = vec![Cell::EMPTY; usize::from(next.cells.area.width)];
    for y in 0..wanted {
        let old = if y < known {
            old.row(usize::from(y))
        } else {
            Row { cells: &blank, links: &[], pictures: &[] }
        };
        pen.row(y, old, new.row(usize::from(y)));
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

/// Which rows differ.
fn changed_rows(shown: &Frame, next: &Frame) -> Vec<bool> {
    let (old, new) = (Rows::of(shown), Rows::of(next));
    (0..usize::from(next.cells.area.height)).map(|y| !same_row(&old, y, &new, y)).collect()
}

/// Whether a row of one frame looks like one of another. Mostly that is known without their cells.
fn same_row(old: &Rows<'_>, old_y: usize, new: &Rows<'_>, new_y: usize) -> bool {
    let known = new.frame.shows_row_of(new_y, old.frame, old_y);
    let (old, new) = (old.row(old_y), new.row(new_y));
    let same_cells = || {
        old.cells.len() == new.cells.len() && old.cells.iter().zip(new.cells).all(|(old, new)| same(old, new))
    };
    (known || same_cells()) && same_layer(old.links, new.links) && same_layer(old.pictures, new.pictures)
}

/// Whether the same lies on two rows, wherever they are.
fn same_layer<T: PartialEq>(old: &[Placed<T>], new: &[Placed<T>]) -> bool {
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| old.lies_like(new))
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
pub(super) fn is_blank(cell: &Cell) -> bool {
    cell.symbol() == " " && cell.bg == Color::Reset && !cell.modifier.intersects(SEEN_ON_BLANK)
}

/// The rows of a frame.
struct Rows<'a> {
    frame: &'a Frame,
    width: usize,
}

/// The cells of a row, and what they are besides.
#[derive(Clone, Copy)]
struct Row<'a> {
    cells: &'a [Cell],
    links: &'a [Placed<Link>],
    pictures: &'a [Placed<PictureRow>],
}

impl<'a> Rows<'a> {
    fn of(frame: &'a Frame) -> Self {
        Rows { frame, width: usize::from(frame.cells.area.width) }
    }

    fn row(&self, y: usize) -> Row<'a> {
        let cells = self.frame.cells.content.get(y * self.width..(y + 1) * self.width);
        let y = u16::try_from(y).unwrap_or(u16::MAX);
        Row {
            cells: cells.unwrap_or_default(),
            links: self.frame.links.row(y),
            pictures: self.frame.pictures.row(y),
        }
    }
}

impl<'a> Row<'a> {
    fn link(&self, x: u16) -> Option<&'a Link> {
        self.links.iter().find(|placed| placed.columns.contains(&x)).map(|placed| &placed.what)
    }

    /// What is drawn on this row over its cells, and not on the other.
    fn strips_besides(&self, other: Row<'a>) -> impl Iterator<Item = (&'a Placed<PictureRow>, &'a str)> {
        let own = |placed: &&Placed<PictureRow>| !other.pictures.iter().any(|known| known.lies_like(placed));
        // Of a row that something is drawn over, a part cannot be shown.
        let whole =
            |placed: &&Placed<PictureRow>| placed.columns.len() == usize::from(placed.what.picture.columns);
        let strip = |placed: &'a Placed<PictureRow>| Some((placed, placed.what.strip()?));
        self.pictures.iter().filter(own).filter(whole).filter_map(strip)
    }
}

#[cfg(test)]
mod link_tests;
#[cfg(test)]
mod picture_tests;
#[cfg(test)]
mod tests;
