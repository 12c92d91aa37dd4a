//! Pictures in messages: their identity, and ways to show them in the terminal.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::terminal_facts::TerminalFacts;
use tau_protocol::message::{Block, Message, UserContent};
use tau_tools::details::Content;

/// Maximum rows of a picture.
const ROWS: u16 = 20;
/// Maximum columns of a picture: the limit of rows and columns in kitty's placeholders.
pub const COLUMNS: u16 = 96;

/// The identity of a picture: equal data have equal ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PictureId(pub u64);

/// A picture of a message, which holds the data.
#[derive(Clone, Debug, PartialEq)]
pub struct MessagePicture {
    pub id: PictureId,
    message: Arc<Message>,
    nth: usize,
}

impl MessagePicture {
    /// The pictures of a message, in order.
    pub fn all_of(message: &Arc<Message>) -> Vec<Self> {
        let picture = |(nth, data): (usize, &str)| {
            let mut hasher = DefaultHasher::new();
            data.hash(&mut hasher);
            MessagePicture { id: PictureId(hasher.finish()), message: Arc::clone(message), nth }
        };
        all_data(message).enumerate().map(picture).collect()
    }

    /// The file, as base64. Its content is not validated.
    pub fn data(&self) -> &str {
        all_data(&self.message).nth(self.nth).unwrap_or_default()
    }
}

fn all_data(message: &Message) -> impl Iterator<Item = &str> {
    let blocks = match message {
        Message::User(user) => blocks(&user.content),
        Message::Custom(custom) => blocks(&custom.content),
        _ => &[],
    };
    let content = match message {
        Message::ToolResult(result) => result.content.as_slice(),
        _ => &[],
    };
    let of_user = blocks.iter().filter_map(|block| match block {
        Block::Image { data, .. } => Some(data.as_str()),
        _ => None,
    });
    let of_tool = content.iter().filter_map(|content| match content {
        Content::Image { data, .. } => Some(data.as_str()),
        Content::Text { .. } => None,
    });
    of_user.chain(of_tool)
}

fn blocks(content: &UserContent) -> &[Block] {
    match content {
        UserContent::Blocks(blocks) => blocks,
        UserContent::Text(_) => &[],
    }
}

/// The support for pictures, from settings and the environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PictureSupport {
    /// None: a line describes each picture.
    #[default]
    Off,
    /// This format.
    Known(PictureFormat),
    /// To be determined from the terminal's answer.
    Asked,
}

/// A way to show pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PictureFormat {
    /// Cells of two colours, one above the other.
    Blocks,
    /// The kitty graphics protocol, with placeholders: the terminal keeps the picture and draws it at certain
    /// characters.
    Kitty,
    /// Inline files (OSC 1337).
    Iterm2,
    Sixel,
}

/// The room for a picture, and its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PictureRoom {
    pub format: PictureFormat,
    pub columns: u16,
    pub rows: u16,
    /// Width and height of a cell, in pixels.
    pub cell: (u16, u16),
}

impl PictureRoom {
    /// The room in a window of `height` rows, for text `width` cells wide; `None` where pictures are not
    /// shown.
    pub fn new(support: PictureSupport, terminal: TerminalFacts, width: u16, height: u16) -> Option<Self> {
        let sixel = if terminal.cell_pixels.is_some() { PictureFormat::Sixel } else { PictureFormat::Blocks };
        let format = match support {
            PictureSupport::Off => return None,
            PictureSupport::Known(PictureFormat::Sixel) => sixel,
            PictureSupport::Known(format) => format,
            PictureSupport::Asked if terminal.sixel => sixel,
            PictureSupport::Asked => PictureFormat::Blocks,
        };
        let (columns, rows) = (width.min(COLUMNS), (height / 2).clamp(1, ROWS));
        let cell = terminal.cell_pixels.unwrap_or((10, 20));
        (columns > 0).then_some(PictureRoom { format, columns, rows, cell })
    }

    /// Columns and rows of a picture with that many pixels: its own size, or as much as fits.
    pub fn fit(&self, (width, height): (u32, u32)) -> (u16, u16) {
        let natural = (f64::from(width) / f64::from(self.cell.0), f64::from(height) / f64::from(self.cell.1));
        let scale = (f64::from(self.columns) / natural.0).min(f64::from(self.rows) / natural.1).min(1.0);
        let cells = |natural: f64, most: u16| ((natural * scale).round() as u16).clamp(1, most.max(1));
        (cells(natural.0, self.columns), cells(natural.1, self.rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixel_needs_the_size_of_a_cell() {
        let plain = TerminalFacts::default();
        let sixel = TerminalFacts { sixel: true, ..plain };
        let sized = TerminalFacts { cell_pixels: Some((8, 16)), ..sixel };
        let format = |support, facts| PictureRoom::new(support, facts, 40, 24).map(|room| room.format);
        assert_eq!(format(PictureSupport::Off, sized), None);
        assert_eq!(format(PictureSupport::Asked, plain), Some(PictureFormat::Blocks));
        assert_eq!(format(PictureSupport::Asked, sixel), Some(PictureFormat::Blocks));
        assert_eq!(format(PictureSupport::Asked, sized), Some(PictureFormat::Sixel));
        let known = PictureSupport::Known(PictureFormat::Sixel);
        assert_eq!(format(known, plain), Some(PictureFormat::Blocks));
        assert_eq!(format(known, sized), Some(PictureFormat::Sixel));
    }

    #[test]
    fn pictures_fit_and_keep_their_shape() {
        let facts = TerminalFacts { cell_pixels: Some((10, 20)), ..TerminalFacts::default() };
        let room = PictureRoom::new(PictureSupport::Asked, facts, 50, 24).unwrap();
        assert_eq!((room.columns, room.rows), (50, 12));
        assert_eq!(room.fit((100, 100)), (10, 5));
        assert_eq!(room.fit((1_000, 1_000)), (24, 12));
        assert_eq!(room.fit((10_000, 100)), (50, 1));
        assert_eq!(room.fit((1, 1)), (1, 1));
        assert_eq!(room.fit((1, 100_000)), (1, 12));
    }
}
