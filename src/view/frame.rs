//! A frame: its cells, with their links and pictures.
//!
//! A frame may be drawn over an older one: it knows the content of each of its rows ([`DrawnRow`]), and a
//! row that is already there is not drawn again.

mod rows;

use std::ops::Range;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::widgets::{Clear, Widget};
use unicode_width::UnicodeWidthStr;

use super::link::Link;
use super::picture::PictureRow;
use rows::Ring;
pub use rows::{DrawnRow, Edge, KnownRows};

/// The contents of the screen.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    cells: Buffer,
    /// The positions of its rows among the cells.
    ring: Ring,
    /// Text with links.
    pub links: Layer<Link>,
    /// Pictures, or the cells where the terminal draws them.
    pub pictures: Layer<PictureRow>,
    /// The content of each row that was drawn as a row and nothing else.
    drawn: Vec<Option<DrawnRow>>,
    /// A cell without content.
    blank: Cell,
}

impl PartialEq for Frame {
    /// True if both look the same, however they were drawn.
    fn eq(&self, other: &Self) -> bool {
        let mut rows = 0..self.area().height;
        self.area() == other.area()
            && rows.all(|y| self.row(y) == other.row(y))
            && self.links == other.links
            && self.pictures == other.pictures
    }
}

impl Frame {
    /// A blank frame.
    pub fn blank(area: Rect) -> Self {
        Frame { cells: Buffer::empty(area), ..Frame::default() }
    }

    /// The area of the frame.
    pub fn area(&self) -> Rect {
        self.cells.area
    }

    /// The cells of a row; empty if there is no such row.
    pub fn row(&self, y: u16) -> &[Cell] {
        let width = usize::from(self.cells.area.width);
        let from = self.ring.place(usize::from(y)) * width;
        self.cells.content.get(from..from + width).unwrap_or_default()
    }

    /// The cells, for drawing anywhere. Moved rows are put in place first, which costs as much as reading
    /// all of them.
    pub fn buffer(&mut self) -> &mut Buffer {
        self.straighten();
        &mut self.cells
    }

    /// The cells, in no particular order.
    pub fn cells_mut(&mut self) -> &mut [Cell] {
        &mut self.cells.content
    }

    /// Makes it blank.
    pub fn reset(&mut self) {
        self.cells.reset();
        self.ring = Ring::default();
        self.clear_layers();
        self.forget_rows();
    }

    /// Resizes the frame and clears its layers.
    pub fn resize(&mut self, area: Rect) {
        self.cells.resize(area);
        self.ring = Ring::default();
        self.clear_layers();
        self.forget_rows();
    }

    /// Removes the first rows; the remaining ones move up.
    pub fn drop_rows(&mut self, rows: u16) {
        let Rect { width, height, .. } = self.cells.area;
        let rows = rows.min(height);
        if rows == 0 {
            return;
        }
        self.buffer().content.drain(..usize::from(rows) * usize::from(width));
        self.cells.area.height = height - rows;
        self.links.drop_rows(rows);
        self.pictures.drop_rows(rows);
        self.forget_rows();
    }

    /// Appends rows of another frame of the same width.
    pub fn push_rows(&mut self, from: &Frame, rows: Range<u16>) {
        let width = self.cells.area.width;
        let rows = rows.start..rows.end.min(from.area().height).max(rows.start);
        if rows.is_empty() {
            return;
        }
        self.straighten();
        let first = self.cells.area.height;
        for y in rows.clone() {
            let row = from.row(y).iter().take(width.into());
            let missing = usize::from(width).saturating_sub(row.len());
            self.cells.content.extend(row.cloned().chain(std::iter::repeat_n(Cell::EMPTY, missing)));
        }
        self.cells.area.height = first.saturating_add(rows.len() as u16);
        self.links.push_rows(&from.links, rows.clone(), first);
        self.pictures.push_rows(&from.pictures, rows, first);
        self.forget_rows();
    }

    /// The rows at another width: long rows continue on the next one.
    pub fn wrap_to(&self, width: u16) -> Frame {
        let mut wrapped = Frame::blank(Rect { width, height: 0, ..Rect::default() });
        for y in 0..self.area().height {
            let row = self.row(y);
            let used = row.iter().rposition(|cell| cell.symbol() != " ").map_or(0, |last| last + 1);
            if used <= usize::from(width) {
                wrapped.push_rows(self, y..y + 1);
                continue;
            }
            let mut rest = row.get(..used).unwrap_or_default();
            while !rest.is_empty() {
                let mut taken = rest.len().min(width.into()).max(1);
                // A wide character is not cut.
                let ends_wide = |at: usize| rest.get(at - 1).is_some_and(|cell| cell.symbol().width() > 1);
                if taken < rest.len() && taken > 1 && ends_wide(taken) {
                    taken -= 1;
                }
                let (now, later) = rest.split_at(taken);
                let missing = usize::from(width).saturating_sub(taken);
                wrapped.cells.content.extend(now.iter().cloned());
                wrapped.cells.content.extend(std::iter::repeat_n(Cell::EMPTY, missing));
                wrapped.cells.area.height = wrapped.cells.area.height.saturating_add(1);
                rest = later;
            }
        }
        wrapped.forget_rows();
        wrapped
    }

    /// Reduces it to plain cells, without pictures, for drawing over it.
    pub fn flatten(&mut self) {
        let mut areas = Vec::new();
        for LayerItem { y, columns, what } in &self.pictures.0 {
            if !what.is_text() {
                let area = Rect { x: columns.start, y: *y, width: columns.len() as u16, height: 1 };
                areas.push(area.intersection(self.cells.area));
            }
        }
        areas.into_iter().for_each(|area| Clear.render(area, self.buffer()));
        self.clear_layers();
        self.forget_rows();
    }

    fn clear_layers(&mut self) {
        self.links.0.clear();
        self.pictures.0.clear();
    }

    /// True if it has layers besides its cells.
    pub fn has_layers(&self) -> bool {
        !self.links.0.is_empty() || !self.pictures.0.is_empty()
    }

    /// Removes links and pictures in an area that will be drawn over.
    pub fn flatten_area(&mut self, area: Rect) {
        self.links.cut(area);
        self.pictures.cut(area);
        self.touch(area.top()..area.bottom());
    }
}

/// An item placed on cells of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerItem<T> {
    pub y: u16,
    pub columns: Range<u16>,
    pub what: T,
}

impl<T: PartialEq> LayerItem<T> {
    /// True if both place the same on the same columns, of any row.
    pub fn lies_like(&self, other: &Self) -> bool {
        self.columns == other.columns && self.what == other.what
    }
}

/// The items on the cells of a frame, from top to bottom and from left to right.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer<T>(Vec<LayerItem<T>>);

impl<T> Default for Layer<T> {
    fn default() -> Self {
        Layer(Vec::new())
    }
}

impl<T: Clone> Layer<T> {
    /// Adds an item below or to the right of existing ones.
    pub fn place(&mut self, y: u16, columns: Range<u16>, what: T) {
        if !columns.is_empty() {
            self.0.push(LayerItem { y, columns, what });
        }
    }

    /// All items.
    pub fn iter(&self) -> impl Iterator<Item = &LayerItem<T>> {
        self.0.iter()
    }

    /// The items on a row.
    pub fn row(&self, y: u16) -> &[LayerItem<T>] {
        let start = self.0.partition_point(|placed| placed.y < y);
        let end = self.0.partition_point(|placed| placed.y <= y);
        self.0.get(start..end).unwrap_or_default()
    }

    /// Removes the items on the cells of an area.
    fn cut(&mut self, area: Rect) {
        let (mut kept, rows) = (Vec::with_capacity(self.0.len()), area.top()..area.bottom());
        for placed in self.0.drain(..) {
            if !rows.contains(&placed.y) {
                kept.push(placed);
                continue;
            }
            let Range { start, end } = placed.columns;
            for columns in [start..end.min(area.left()), start.max(area.right())..end] {
                if !columns.is_empty() {
                    kept.push(LayerItem { columns, what: placed.what.clone(), y: placed.y });
                }
            }
        }
        self.0 = kept;
    }

    /// Adds the items on rows of another layer; the first of them becomes row `first`.
    fn push_rows(&mut self, from: &Layer<T>, rows: Range<u16>, first: u16) {
        let placed = from.0.iter().filter(|placed| rows.contains(&placed.y));
        self.0.extend(placed.map(|placed| LayerItem {
            y: first.saturating_add(placed.y - rows.start),
            columns: placed.columns.clone(),
            what: placed.what.clone(),
        }));
    }

    /// Removes the items on the first rows; the others move up.
    fn drop_rows(&mut self, rows: u16) {
        self.0.retain(|placed| placed.y >= rows);
        self.0.iter_mut().for_each(|placed| placed.y -= rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(placed: &[(u16, Range<u16>)]) -> Layer<char> {
        Layer(
            placed
                .iter()
                .map(|(y, columns)| LayerItem { y: *y, columns: columns.clone(), what: 'a' })
                .collect(),
        )
    }

    #[test]
    fn what_is_drawn_over_is_cut_out() {
        let mut cut = layer(&[(0, 0..9), (1, 0..9), (1, 20..22), (2, 3..5), (3, 0..4)]);
        cut.cut(Rect::new(2, 1, 4, 2));
        assert_eq!(cut, layer(&[(0, 0..9), (1, 0..2), (1, 6..9), (1, 20..22), (3, 0..4)]));
        assert_eq!(cut.row(1).len(), 3);
        assert!(cut.row(2).is_empty());
    }

    #[test]
    fn rows_move_up_when_the_first_are_dropped() {
        let mut left = layer(&[(0, 0..1), (1, 0..1), (2, 0..1), (2, 4..5), (5, 0..1)]);
        left.drop_rows(2);
        assert_eq!(left, layer(&[(0, 0..1), (0, 4..5), (3, 0..1)]));
    }
}
