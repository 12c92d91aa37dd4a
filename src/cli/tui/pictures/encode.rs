//! Encodes a picture for the terminal: colours of cells, or control sequences.
//!
//! Sources: <https://sw.kovidgoyal.net/kitty/graphics-protocol/>,
//! <https://iterm2.com/documentation-images.html>.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Cursor;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use image::imageops::{self, FilterType};
use image::{ImageFormat, Rgba, RgbaImage};

use super::sixel;
use tau_app::picture::PictureFormat;
use tau_view::picture::{PictureKey, PreparedPixels};

/// Maximum amount of base64 in one sequence of the kitty graphics protocol.
const CHUNK: usize = 4096;
/// Pixels less opaque than this are left out where there is no transparency.
const OPAQUE: u8 = 128;

/// The picture scaled to its columns and rows. `None` when it cannot be encoded.
pub(super) fn pixels(
    picture: &RgbaImage,
    key: PictureKey,
    columns: u16,
    rows: u16,
) -> Option<PreparedPixels> {
    let cell = (u32::from(key.room.cell.0), u32::from(key.room.cell.1));
    let scaled = |cell: (u32, u32)| {
        let (width, height) = (u32::from(columns) * cell.0, u32::from(rows) * cell.1);
        imageops::resize(picture, width, height, FilterType::Triangle)
    };
    // One row of cells at a time: only then can any of them be shown without the others.
    let strips = |picture: &RgbaImage, strip: &dyn Fn(&RgbaImage) -> Option<String>| -> Option<Vec<String>> {
        let row = |row| imageops::crop_imm(picture, 0, row * cell.1, picture.width(), cell.1).to_image();
        (0..u32::from(rows)).map(|at| strip(&row(at))).collect()
    };
    Some(match key.room.format {
        PictureFormat::Blocks => PreparedPixels::Blocks(blocks(&scaled((1, 2)))),
        PictureFormat::Kitty => {
            let number = number(&(key, columns, rows));
            PreparedPixels::Kitty { number, upload: upload(&png(&scaled(cell))?, number, columns, rows) }
        }
        PictureFormat::Iterm2 => {
            PreparedPixels::Strips(strips(&scaled(cell), &|strip| Some(file(&png(strip)?, columns)))?)
        }
        PictureFormat::Sixel => {
            PreparedPixels::Strips(strips(&scaled(cell), &|strip| Some(sixel::encode(strip)))?)
        }
    })
}

fn blocks(picture: &RgbaImage) -> Vec<[Option<[u8; 3]>; 2]> {
    let color = |x, y| match picture.get_pixel_checked(x, y) {
        Some(Rgba([r, g, b, (OPAQUE..)])) => Some([*r, *g, *b]),
        _ => None,
    };
    let cells = (0..picture.height() / 2).flat_map(|row| (0..picture.width()).map(move |x| (x, row)));
    cells.map(|(x, row)| [color(x, 2 * row), color(x, 2 * row + 1)]).collect()
}

fn png(picture: &RgbaImage) -> Option<String> {
    let mut bytes = Vec::new();
    picture.write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png).ok()?;
    Some(BASE64_STANDARD.encode(bytes))
}

/// A number of 24 bits other than 0, equal for equal pictures of the same size.
fn number(of: &impl Hash) -> u32 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    (hasher.finish() as u32 & 0xFF_FFFF).max(1)
}

/// The sequence that uploads a picture drawn over placeholders (`U=1`), without an answer (`q=2`).
fn upload(png: &str, number: u32, columns: u16, rows: u16) -> String {
    let mut sequence = String::with_capacity(png.len() + png.len() / 100 + 100);
    let mut rest = png;
    let mut control = format!("a=T,U=1,f=100,i={number},c={columns},r={rows},q=2,");
    loop {
        let (chunk, after) = rest.split_at_checked(CHUNK).unwrap_or((rest, ""));
        let more = u8::from(!after.is_empty());
        // Writing to memory cannot fail.
        let _ = write!(sequence, "\x1b_G{control}m={more};{chunk}\x1b\\");
        if more == 0 {
            return sequence;
        }
        "q=2,".clone_into(&mut control);
        rest = after;
    }
}

/// An inline file, one row high.
fn file(png: &str, columns: u16) -> String {
    format!(
        "\x1b]1337;File=inline=1;width={columns};height=1;preserveAspectRatio=0;doNotMoveCursor=1:{png}\x07"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_app::picture::{PictureId, PictureRoom};

    fn prepare_pixels(format: PictureFormat) -> PreparedPixels {
        let mut picture = RgbaImage::from_pixel(40, 40, Rgba([200, 10, 20, 255]));
        for x in 0..40 {
            for y in 20..40 {
                picture.put_pixel(x, y, Rgba([0, 0, 0, 0]));
            }
        }
        let room = PictureRoom { format, columns: 10, rows: 10, cell: (10, 20) };
        pixels(&picture, PictureKey { id: PictureId(7), room }, 4, 2).unwrap()
    }

    #[test]
    fn blocks_are_two_colours_a_cell() {
        let PreparedPixels::Blocks(cells) = prepare_pixels(PictureFormat::Blocks) else {
            panic!("not blocks")
        };
        assert_eq!(cells.len(), 8);
        assert_eq!(cells[0][0], Some([200, 10, 20]));
        assert_eq!(cells[7], [None; 2]);
    }

    #[test]
    fn a_picture_is_uploaded_in_chunks() {
        let PreparedPixels::Kitty { number, upload: one } = prepare_pixels(PictureFormat::Kitty) else {
            panic!("not kitty")
        };
        assert!(one.starts_with(&format!("\x1b_Ga=T,U=1,f=100,i={number},c=4,r=2,q=2,m=0;iVBOR")), "{one}");
        let long = upload(&"x".repeat(2 * CHUNK + 5), 9, 1, 1);
        let chunks: Vec<&str> = long.split("\x1b\\").collect();
        assert_eq!(chunks.len(), 4);
        assert!(chunks[0].contains("m=1;xxx") && chunks[1].starts_with("\x1b_Gq=2,m=1;xxx"));
        assert_eq!(chunks[2], "\x1b_Gq=2,m=0;xxxxx");
    }

    #[test]
    fn files_and_sixels_are_strips_of_a_row() {
        for (format, begin) in [
            (PictureFormat::Iterm2, "\x1b]1337;File=inline=1;width=4;height=1;"),
            (PictureFormat::Sixel, "\x1bP0;1;0q\"1;1;40;20"),
        ] {
            let PreparedPixels::Strips(strips) = prepare_pixels(format) else { panic!("no strips") };
            assert_eq!(strips.len(), 2);
            assert!(strips.iter().all(|strip| strip.starts_with(begin)), "{strips:?}");
        }
    }
}
