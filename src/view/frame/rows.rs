//! Rows of the transcript on a frame: drawn, moved and kept.

use std::ops::Range;
use std::sync::Arc;

use ratatui::buffer::Cell;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::Frame;
use crate::view::row::{Row, RowLink, Rows};

/// Rows that must be saved from being drawn for rows to be moved.
const WORTH: usize = 3;

/// A row of the transcript, or the blank row between two parts. It holds its rows and not only its
/// number among them, so what was drawn can be compared with what is to be drawn.
#[derive(Clone, Debug)]
pub(crate) struct DrawnRow {
    /// `None` for a blank row.
    rows: Option<Rows>,
    index: usize,
}

impl DrawnRow {
    /// A blank row.
    pub(crate) const BLANK: DrawnRow = DrawnRow { rows: None, index: 0 };

    /// A row of a part.
    pub(crate) fn of(rows: &Rows, index: usize) -> Self {
        DrawnRow { rows: Some(Arc::clone(rows)), index }
    }

    fn row(&self) -> Option<&Row> {
        self.rows.as_ref()?.get(self.index)
    }

    /// Whether both look the same on the same columns.
    fn is_like(&self, other: &DrawnRow) -> bool {
        let same_rows = match (&self.rows, &other.rows) {
            (Some(rows), Some(others)) => Arc::ptr_eq(rows, others),
            (rows, others) => rows.is_none() && others.is_none(),
        };
        same_rows && self.index == other.index || self.row() == other.row()
    }
}

impl Frame {
    /// Begins a frame in a style for its text. `rows` are those of the transcript: they stay as they are,
    /// for [`Frame::draw_row`] to draw. All others are blank.
    pub(crate) fn begin(&mut self, style: Style, rows: Range<u16>) {
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

    /// It is not known any more what the rows show.
    pub(super) fn forget_rows(&mut self) {
        self.drawn.clear();
        self.drawn.resize(usize::from(self.cells.area.height), None);
    }

    /// Something is drawn over these rows.
    pub(crate) fn touch(&mut self, rows: Range<u16>) {
        self.forget(usize::from(rows.start)..usize::from(rows.end));
    }

    fn forget(&mut self, rows: Range<usize>) {
        let end = rows.end.min(self.drawn.len());
        self.drawn.get_mut(rows.start.min(end)..end).into_iter().flatten().for_each(|row| *row = None);
    }

    /// Moves the rows of an area to where they are wanted, if that saves drawing some.
    pub(crate) fn move_rows(&mut self, area: Rect, wanted: &[DrawnRow]) {
        let top = usize::from(area.y);
        let Some(shown) = self.drawn.get(top..top + wanted.len()) else { return };
        let kept = |by: isize| {
            let at = |y: usize| shown.get(y.checked_add_signed(by)?)?.as_ref();
            let stays = |(y, wanted): &(usize, &DrawnRow)| at(*y).is_some_and(|shown| shown.is_like(wanted));
            wanted.iter().enumerate().filter(stays).count()
        };
        let in_place = kept(0);
        if in_place + WORTH > wanted.len() {
            return;
        }
        let mut best = (in_place + WORTH - 1, 0);
        for by in 1..wanted.len() as isize {
            // Further moves keep no more rows than this.
            if best.0 >= wanted.len() - by.unsigned_abs() {
                break;
            }
            for by in [by, -by] {
                let kept = kept(by);
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
        let width = usize::from(self.cells.area.width);
        rotate(&mut self.drawn, rows.clone(), by);
        rotate(&mut self.cells.content, rows.start * width..rows.end * width, by * width as isize);
    }

    /// Draws a row of the transcript, unless it is there already.
    pub(crate) fn draw_row(&mut self, area: Rect, wanted: DrawnRow) {
        if let Some(row) = wanted.row() {
            self.place_layers(area, row);
        }
        let y = usize::from(area.y);
        let there = self.drawn.get(y).and_then(Option::as_ref);
        if there.is_none_or(|there| !there.is_like(&wanted)) {
            self.clear_row(area.y);
            if let Some(row) = wanted.row() {
                self.draw_text(area, row);
            }
        }
        if let Some(place) = self.drawn.get_mut(y) {
            *place = Some(wanted);
        }
    }

    /// Draws a row where nothing else is.
    pub fn put_row(&mut self, area: Rect, row: &Row) {
        self.place_layers(area, row);
        self.draw_text(area, row);
    }

    /// Whether a row is known to have the same cells as one of another frame.
    pub(crate) fn shows_row_of(&self, y: usize, other: &Frame, other_y: usize) -> bool {
        let own = self.drawn.get(y).and_then(Option::as_ref);
        let others = other.drawn.get(other_y).and_then(Option::as_ref);
        self.blank == other.blank && own.zip(others).is_some_and(|(own, other)| own.is_like(other))
    }

    /// Moves what is known of rows with them, as [`Frame::shift_layers`] does.
    pub(crate) fn shift_drawn(&mut self, rows: Range<usize>, by: isize) {
        let freed = rotate(&mut self.drawn, rows, by);
        self.forget(freed);
    }

    /// Makes a row blank.
    fn clear_row(&mut self, y: u16) {
        let width = usize::from(self.cells.area.width);
        let from = usize::from(y) * width;
        let cells = self.cells.content.get_mut(from..from + width);
        cells.into_iter().flatten().for_each(|cell| cell.clone_from(&self.blank));
        self.touch(y..y + 1);
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

    /// Draws the text of a row. Most is ASCII, whose cells need no segmentation.
    #[allow(clippy::disallowed_methods, reason = "only printable ASCII is set cell by cell")]
    fn draw_text(&mut self, area: Rect, row: &Row) {
        let width = usize::from(self.cells.area.width);
        let mut x = area.x;
        for span in &row.spans {
            let left = area.right().saturating_sub(x);
            let style = row.style.patch(span.style);
            let text = &*span.content;
            if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
                let from = usize::from(area.y) * width + usize::from(x);
                let cells = self.cells.content.get_mut(from..from + usize::from(left)).into_iter().flatten();
                for (cell, c) in cells.zip(text.chars()) {
                    cell.set_char(c).set_style(style);
                    x += 1;
                }
            } else {
                (x, _) = self.cells.set_stringn(x, area.y, text, usize::from(left), style);
            }
        }
    }
}

/// Moves what is in a part of a vector to its front, or to its back when `by` is negative; what leaves it comes
/// back at the other end: where that is, is returned. Nothing is moved by more than the length of the part.
/// Several times as fast as `rotate_left` of the standard library, which moves large elements one by one.
pub(crate) fn rotate<T>(all: &mut Vec<T>, part: Range<usize>, by: isize) -> Range<usize> {
    let count = by.unsigned_abs();
    if part.end > all.len() || count > part.len() {
        return part.start..part.start;
    }
    let (from, to) = if by > 0 { (part.start, part.end - count) } else { (part.end - count, part.start) };
    let leaving: Vec<T> = all.drain(from..from + count).collect();
    all.splice(to..to, leaving);
    to..to + count
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
            // To the left by a negative number is to the right.
            part.rotate_left(by.rem_euclid(5).unsigned_abs());
            assert_eq!(all, slices, "{by}");
            rotate(&mut all, 2..7, 6);
            rotate(&mut all, 5..10, 1);
            assert_eq!(all, slices, "what is out of reach changes nothing");
        }
    }
}
