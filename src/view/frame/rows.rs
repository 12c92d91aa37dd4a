//! Rows on a frame, of the transcript and of the part below it: drawn, moved and kept.

use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;

use ratatui::buffer::{Cell, CellWidth};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::Frame;
use crate::row::{Row, RowLink, Rows};

/// The number of rows that moving must save from drawing to be worthwhile.
const WORTH: usize = 3;

/// A row of the transcript or of the part below it, or a blank one. It holds its rows and not just an index,
/// so that drawn rows can be compared with new ones.
#[derive(Clone, Debug)]
pub struct DrawnRow {
    /// `None` for a blank row.
    rows: Option<Rows>,
    index: usize,
    edge: Option<Edge>,
    /// Its fingerprint, once it was compared with many.
    fingerprint: Option<u64>,
}

/// A mark in the last column of a row, in place of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub mark: &'static str,
    pub style: Style,
}

impl DrawnRow {
    /// A row without text.
    pub(crate) fn blank() -> Self {
        DrawnRow { rows: None, index: 0, edge: None, fingerprint: None }
    }

    /// A row of a part.
    pub fn of(rows: &Rows, index: usize) -> Self {
        DrawnRow { rows: Some(Arc::clone(rows)), index, ..DrawnRow::blank() }
    }

    /// A row that is a part of its own.
    fn line(line: Line<'static>) -> Self {
        DrawnRow { rows: Some(Arc::new([Row::from(line)])), ..DrawnRow::blank() }
    }

    /// The row with a mark at its end.
    pub(crate) fn with_edge(self, edge: Option<Edge>) -> Self {
        DrawnRow { edge, ..self }
    }

    fn row(&self) -> Option<&Row> {
        self.rows.as_ref()?.get(self.index)
    }

    /// A number that is the same for rows that look the same.
    fn fingerprint(&self) -> u64 {
        self.fingerprint.unwrap_or_else(|| {
            let mut hasher = DefaultHasher::new();
            let spans = self.row().map(|row| &row.spans).into_iter().flatten();
            spans.for_each(|span| hasher.write(span.content.as_bytes()));
            hasher.finish()
        })
    }

    fn keep_fingerprint(&mut self) {
        self.fingerprint = Some(self.fingerprint());
    }

    /// True if both look the same on the same columns.
    fn is_like(&self, other: &DrawnRow) -> bool {
        let same_rows = match (&self.rows, &other.rows) {
            (Some(rows), Some(others)) => Arc::ptr_eq(rows, others),
            (rows, others) => rows.is_none() && others.is_none(),
        };
        let may_be_same = match (self.fingerprint, other.fingerprint) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        };
        let is_same_row = || may_be_same && self.row() == other.row();
        self.edge == other.edge && (same_rows && self.index == other.index || is_same_row())
    }
}

impl Frame {
    /// Begins a frame with a style for its text. `rows` are kept for [`Frame::draw_row`] and
    /// [`Frame::put_lines`], which must draw all of them. All others are cleared.
    pub fn begin(&mut self, style: Style, rows: Range<u16>) {
        self.clear_layers();
        let mut blank = Cell::EMPTY;
        blank.set_style(style);
        let height = self.cells.area.height;
        if self.blank != blank || self.drawn.len() != usize::from(height) {
            self.blank = blank;
            self.forget_rows();
        }
        for y in (0..height).filter(|y| !rows.contains(y)) {
            self.clear_row(y);
        }
    }

    /// Forgets the contents of the rows.
    pub(super) fn forget_rows(&mut self) {
        self.drawn.clear();
        self.drawn.resize(usize::from(self.cells.area.height), None);
    }

    /// Records that something is drawn over these rows.
    pub fn touch(&mut self, rows: Range<u16>) {
        self.forget(usize::from(rows.start)..usize::from(rows.end));
    }

    fn forget(&mut self, rows: Range<usize>) {
        let end = rows.end.min(self.drawn.len());
        self.drawn.get_mut(rows.start.min(end)..end).into_iter().flatten().for_each(|row| *row = None);
    }

    /// Moves the rows of an area to their new places, if that saves drawing some.
    pub fn move_rows(&mut self, area: Rect, wanted: &mut [DrawnRow]) {
        let top = usize::from(area.y);
        let Some(shown) = self.drawn.get_mut(top..top + wanted.len()) else { return };
        let in_place = count_kept(shown, wanted, 0);
        if in_place + WORTH > wanted.len() {
            return;
        }
        // Each is compared with all others.
        shown.iter_mut().flatten().chain(wanted.iter_mut()).for_each(DrawnRow::keep_fingerprint);
        let mut best = (in_place + WORTH - 1, 0);
        for by in 1..wanted.len() as isize {
            // Longer moves cannot keep more rows than this.
            if best.0 >= wanted.len() - by.unsigned_abs() {
                break;
            }
            for by in [by, -by] {
                let kept = count_kept(shown, wanted, by);
                if kept > best.0 {
                    best = (kept, by);
                }
            }
        }
        let (_, by) = best;
        if by == 0 {
            return;
        }
        let rows = top..top + wanted.len();
        if self.ring.rows != rows {
            self.straighten();
            self.ring.rows = rows.clone();
        }
        rotate(&mut self.drawn, rows, by);
        self.ring.turn(by);
    }

    /// Puts the cells of all rows in place.
    pub(super) fn straighten(&mut self) {
        let Ring { rows, turned } = std::mem::take(&mut self.ring);
        let width = usize::from(self.cells.area.width);
        rotate(&mut self.cells.content, rows.start * width..rows.end * width, (turned * width) as isize);
    }

    /// Draws lines on the rows of an area, except those already there; the rest of the area is cleared.
    pub(crate) fn put_lines(&mut self, area: Rect, lines: impl IntoIterator<Item = Line<'static>>) {
        let mut lines = lines.into_iter();
        for y in area.top()..area.bottom() {
            let row = lines.next().map_or_else(DrawnRow::blank, DrawnRow::line);
            self.draw_row(Rect { y, height: 1, ..area }, row);
        }
    }

    /// Draws a row, unless it is already there.
    pub fn draw_row(&mut self, area: Rect, wanted: DrawnRow) {
        let text = Rect { width: area.width.saturating_sub(u16::from(wanted.edge.is_some())), ..area };
        if let Some(row) = wanted.row() {
            self.place_layers(text, row);
        }
        let y = usize::from(area.y);
        let there = self.drawn.get(y).and_then(Option::as_ref);
        if there.is_none_or(|there| !there.is_like(&wanted)) {
            let drawn = wanted.row().map_or(text.x..text.x, |row| text.x..self.draw_text(text, row));
            let end = self.cells.area.width;
            self.clear_cells(area.y, 0..drawn.start.min(end));
            self.clear_cells(area.y, drawn.end.min(end)..end);
            if let Some(Edge { mark, style }) = wanted.edge {
                self.cells.set_stringn(text.right(), self.ring.place(y) as u16, mark, 1, style);
            }
        }
        if let Some(place) = self.drawn.get_mut(y) {
            *place = Some(wanted);
        }
    }

    /// Draws a line over part of a drawn row.
    pub(crate) fn draw_over(&mut self, area: Rect, line: &Line<'_>) {
        self.flatten_area(area);
        let y = self.ring.place(usize::from(area.y)) as u16;
        let is_cut = area.x.checked_sub(1).and_then(|x| self.cells.cell((x, y)));
        let first = area.x - u16::from(is_cut.is_some_and(|cell| cell.cell_width() > 1));
        for x in first..area.right() {
            if let Some(cell) = self.cells.cell_mut((x, y)) {
                cell.clone_from(&self.blank);
            }
        }
        self.cells.set_line(area.x, y, line, area.width);
    }

    /// Draws a row where there is nothing else.
    pub fn put_row(&mut self, area: Rect, row: &Row) {
        self.touch(area.top()..area.bottom());
        self.place_layers(area, row);
        let _ = self.draw_text(area, row);
    }

    fn clear_row(&mut self, y: u16) {
        self.clear_cells(y, 0..self.cells.area.width);
        self.touch(y..y + 1);
    }

    fn clear_cells(&mut self, y: u16, columns: Range<u16>) {
        let row = self.ring.place(usize::from(y)) * usize::from(self.cells.area.width);
        let cells =
            self.cells.content.get_mut(row + usize::from(columns.start)..row + usize::from(columns.end));
        cells.into_iter().flatten().for_each(|cell| cell.clone_from(&self.blank));
    }

    /// Places the links and the picture of a row.
    fn place_layers(&mut self, area: Rect, row: &Row) {
        let column = |column: u16| area.x.saturating_add(column).min(area.right());
        let within = |columns: &Range<u16>| column(columns.start)..column(columns.end);
        for RowLink { columns, link } in row.links() {
            self.links.place(area.y, within(columns), link.clone());
        }
        if let Some((columns, picture)) = row.picture_row() {
            self.pictures.place(area.y, within(columns), picture.clone());
        }
    }

    /// Draws the text of a row, whatever its cells held; returns the column behind it. Most is ASCII, whose cells need
    /// no segmentation.
    #[allow(clippy::disallowed_methods, reason = "only printable ASCII is set cell by cell")]
    fn draw_text(&mut self, area: Rect, row: &Row) -> u16 {
        let width = usize::from(self.cells.area.width);
        let y = self.ring.place(usize::from(area.y));
        let mut x = area.x;
        for span in &row.spans {
            let left = area.right().saturating_sub(x);
            let style = row.style.patch(span.style);
            let text = &*span.content;
            if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
                let from = y * width + usize::from(x);
                let cells = self.cells.content.get_mut(from..from + usize::from(left)).into_iter().flatten();
                let mut styled = self.blank.clone();
                styled.set_style(style);
                for (cell, c) in cells.zip(text.chars()) {
                    cell.clone_from(&styled);
                    cell.set_char(c);
                    x += 1;
                }
            } else {
                self.clear_cells(area.y, x..area.right());
                (x, _) = self.cells.set_stringn(x, y as u16, text, usize::from(left), style);
            }
        }
        x
    }
}

/// The number of rows that are already there after a move up.
fn count_kept(shown: &[Option<DrawnRow>], wanted: &[DrawnRow], by: isize) -> usize {
    let at = |y: usize| shown.get(y.checked_add_signed(by)?)?.as_ref();
    let stays = |(y, wanted): &(usize, &DrawnRow)| at(*y).is_some_and(|shown| shown.is_like(wanted));
    wanted.iter().enumerate().filter(stays).count()
}

/// Facts about the rows of two frames that are known without reading their cells.
pub struct KnownRows<'a> {
    old: &'a [Option<DrawnRow>],
    new: &'a [Option<DrawnRow>],
}

impl<'a> KnownRows<'a> {
    /// Nothing is known if the same row looks different on them.
    pub fn of(old: &'a Frame, new: &'a Frame) -> Self {
        match old.blank == new.blank {
            true => KnownRows { old: &old.drawn, new: &new.drawn },
            false => KnownRows { old: &[], new: &[] },
        }
    }

    /// A number for each row of the old and of the new frame, the same for rows that are alike; `None` where that is
    /// unknown. Tells most rows that differ without comparing them.
    pub fn fingerprints(&self) -> [Vec<Option<u64>>; 2] {
        [self.old, self.new].map(|rows| rows.iter().map(|row| Some(row.as_ref()?.fingerprint())).collect())
    }

    /// True if a row of the old frame was drawn like one of the new; `None` if that is unknown.
    pub fn are_alike(&self, old_y: usize, new_y: usize) -> Option<bool> {
        match (self.old.get(old_y), self.new.get(new_y)) {
            (Some(Some(old)), Some(Some(new))) => Some(old.is_like(new)),
            _ => None,
        }
    }
}

/// The positions of rows among the cells of a frame. Rows that move together are not copied: their starting
/// point moves, and rows that leave at one end reappear at the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring {
    rows: Range<usize>,
    /// The number of rows they have moved up, less than all.
    turned: usize,
}

impl Ring {
    /// The position of a row.
    pub(super) fn place(&self, y: usize) -> usize {
        if !self.rows.contains(&y) {
            return y;
        }
        self.rows.start + (y - self.rows.start + self.turned) % self.rows.len()
    }

    /// Moves the rows up, or down if negative.
    fn turn(&mut self, by: isize) {
        let all = self.rows.len() as isize;
        self.turned = (self.turned as isize + by).checked_rem_euclid(all).unwrap_or_default() as usize;
    }
}

/// Moves the elements of a part of a vector to its front, or to its back if `by` is negative; elements that
/// leave it return at the other end. Nothing is moved by more than the length of the part. Several times as
/// fast as the standard library's `rotate_left`, which moves large elements one by one.
fn rotate<T>(all: &mut Vec<T>, part: Range<usize>, by: isize) {
    let count = by.unsigned_abs();
    if part.end > all.len() || count > part.len() {
        return;
    }
    let (from, to) = if by > 0 { (part.start, part.end - count) } else { (part.end - count, part.start) };
    let leaving: Vec<T> = all.drain(from..from + count).collect();
    all.splice(to..to, leaving);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_rotated_and_the_rest_stays() {
        for by in -5..=5_isize {
            let mut all: Vec<usize> = (0..9).collect();
            let mut slices = all.clone();
            rotate(&mut all, 2..7, by);
            let part = &mut slices[2..7];
            // To the left by a negative number means to the right.
            part.rotate_left(by.rem_euclid(5).unsigned_abs());
            assert_eq!(all, slices, "{by}");
            rotate(&mut all, 2..7, 6);
            rotate(&mut all, 5..10, 1);
            assert_eq!(all, slices, "what is out of reach changes nothing");
        }
    }
}
