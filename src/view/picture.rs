//! Prepared pictures: as cells, or as sequences for the terminal.

use std::sync::Arc;

use tau_app::picture::{MessagePicture, PictureId, PictureRoom};

/// A picture and the conditions for which it is prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PictureKey {
    pub id: PictureId,
    pub room: PictureRoom,
}

/// A picture to prepare.
#[derive(Clone, Debug)]
pub struct PictureJob {
    pub key: PictureKey,
    pub picture: MessagePicture,
}

/// A picture that is ready to be shown.
#[derive(Debug, PartialEq)]
pub struct PreparedPicture {
    /// The size in cells.
    pub columns: u16,
    pub rows: u16,
    pub pixels: PreparedPixels,
}

/// The data for the terminal.
#[derive(Debug, PartialEq)]
pub enum PreparedPixels {
    /// Two colours for each cell, from left to right and from top to bottom; `None` is transparent.
    Blocks(Vec<[Option<[u8; 3]>; 2]>),
    /// The sequence that sends the terminal the picture with this 24-bit number.
    Kitty { number: u32, upload: String },
    /// A sequence for each row, which draws it at the cursor.
    Strips(Vec<String>),
}

impl PreparedPicture {
    /// The memory it uses, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match &self.pixels {
            PreparedPixels::Blocks(cells) => cells.len() * size_of::<[Option<[u8; 3]>; 2]>(),
            PreparedPixels::Kitty { upload, .. } => upload.len(),
            PreparedPixels::Strips(strips) => strips.iter().map(String::len).sum(),
        }
    }
}

/// A row of a picture on cells of a frame.
#[derive(Clone, Debug)]
pub struct PictureRow {
    pub picture: Arc<PreparedPicture>,
    pub row: u16,
}

impl PartialEq for PictureRow {
    fn eq(&self, other: &Self) -> bool {
        self.row == other.row && Arc::ptr_eq(&self.picture, &other.picture)
    }
}

impl PictureRow {
    /// True if the cells of the frame show it.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.picture.pixels, PreparedPixels::Blocks(_))
    }

    /// The sequence that draws the row at the cursor, unless it consists of cells.
    pub fn strip(&self) -> Option<&str> {
        match &self.picture.pixels {
            PreparedPixels::Strips(strips) => strips.get(usize::from(self.row)).map(String::as_str),
            PreparedPixels::Blocks(_) | PreparedPixels::Kitty { .. } => None,
        }
    }
}

/// The result of a job.
#[derive(Debug)]
pub enum PictureOutcome {
    Prepared(PreparedPicture),
    /// It is not a picture, or too large.
    Failed,
    /// Superseded by a newer job for the same picture.
    Dropped,
}
