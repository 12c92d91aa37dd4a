//! Pictures that can be shown: as cells, or as what the terminal is given.

use std::sync::Arc;

use tau_app::picture::{MessagePicture, PictureId, PictureRoom};

/// What a picture is prepared for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PictureKey {
    pub id: PictureId,
    pub room: PictureRoom,
}

/// A picture that is to be prepared.
#[derive(Clone, Debug)]
pub struct PictureJob {
    pub key: PictureKey,
    pub picture: MessagePicture,
}

/// A picture that can be shown.
#[derive(Debug, PartialEq)]
pub struct PreparedPicture {
    /// Its size in cells.
    pub columns: u16,
    pub rows: u16,
    pub pixels: PreparedPixels,
}

/// What the terminal is given.
#[derive(Debug, PartialEq)]
pub enum PreparedPixels {
    /// Two colours for each cell, from left to right and from top to bottom; `None` is transparent.
    Blocks(Vec<[Option<[u8; 3]>; 2]>),
    /// The sequence that gives the terminal the picture under this number, of 24 bits.
    Kitty { number: u32, upload: String },
    /// A sequence for each row, which draws it at the cursor.
    Strips(Vec<String>),
}

impl PreparedPicture {
    /// How much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        match &self.pixels {
            PreparedPixels::Blocks(cells) => cells.len() * size_of::<[Option<[u8; 3]>; 2]>(),
            PreparedPixels::Kitty { upload, .. } => upload.len(),
            PreparedPixels::Strips(strips) => strips.iter().map(String::len).sum(),
        }
    }
}

/// A row of a picture, as it lies on cells of a frame.
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
    /// Whether the cells of the frame show it.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.picture.pixels, PreparedPixels::Blocks(_))
    }

    /// The sequence that draws the row at the cursor, where it is not made of cells.
    pub fn strip(&self) -> Option<&str> {
        match &self.picture.pixels {
            PreparedPixels::Strips(strips) => strips.get(usize::from(self.row)).map(String::as_str),
            PreparedPixels::Blocks(_) | PreparedPixels::Kitty { .. } => None,
        }
    }
}

/// What became of a job.
#[derive(Debug)]
pub enum PictureOutcome {
    Prepared(PreparedPicture),
    /// It is no picture, or too large.
    Failed,
    /// A newer job for the same picture was there.
    Dropped,
}
