//! Sixel: six rows of pixels at a time, one colour after the other (DEC STD 070, VT340).
//!
//! Colours come from a cube of 6x6x6 steps; colours in between are dithered by a fixed pattern, so that
//! separately encoded rows fit together.

use std::fmt::Write as _;

use image::{Rgba, RgbaImage};

/// Steps of each of red, green and blue.
const STEPS: u8 = 6;
/// The order in which the pixels of a square of four by four take the next step (Bayer).
const PATTERN: [[u8; 4]; 4] = [[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]];
/// Pixels less opaque than this are not set.
const OPAQUE: u8 = 128;

/// The sequence that draws a picture at the cursor. Transparent pixels do not change.
pub(super) fn encode(picture: &RgbaImage) -> String {
    let (width, height) = picture.dimensions();
    let mut out = format!("\x1bP0;1;0q\"1;1;{width};{height}");
    let colors: Vec<Option<u8>> =
        picture.enumerate_pixels().map(|(x, y, pixel)| color(x, y, *pixel)).collect();
    let mut used = [false; 216];
    for color in colors.iter().flatten() {
        if let Some(used) = used.get_mut(usize::from(*color)) {
            *used = true;
        }
    }
    let percent = |step: u8| u32::from(step) * 100 / u32::from(STEPS - 1);
    let used: Vec<u8> = (0..).zip(used).filter(|(_, used)| *used).map(|(color, _)| color).collect();
    for color in &used {
        let (r, g, b) = (color / 36, color / 6 % 6, color % 6);
        // Writing to memory cannot fail.
        let _ = write!(out, "#{color};2;{};{};{}", percent(r), percent(g), percent(b));
    }
    let band = 6 * width as usize;
    for rows in colors.chunks(band.max(1)) {
        for color in &used {
            if rows.contains(&Some(*color)) {
                let _ = write!(out, "#{color}");
                line(rows, width as usize, *color, &mut out);
                out.push('$');
            }
        }
        out.push('-');
    }
    out.push_str("\x1b\\");
    out
}

/// The nearest colour of the cube, rounded up or down by the pattern; `None` for a transparent pixel.
fn color(x: u32, y: u32, Rgba([r, g, b, alpha]): Rgba<u8>) -> Option<u8> {
    let row = PATTERN.get(y as usize % 4)?;
    let threshold = u32::from(*row.get(x as usize % 4)?) * 255 / 16;
    let step = |value: u8| ((u32::from(value) * u32::from(STEPS - 1) + threshold) / 255) as u8;
    (alpha >= OPAQUE).then(|| step(r) * 36 + step(g) * 6 + step(b))
}

/// One colour of up to six rows: a character for each column, repeated ones counted.
fn line(rows: &[Option<u8>], width: usize, color: u8, out: &mut String) {
    let column = |x: usize| -> u8 {
        let pixels = rows.iter().skip(x).step_by(width);
        (0..).zip(pixels).filter(|(_, pixel)| **pixel == Some(color)).map(|(bit, _): (u8, _)| 1 << bit).sum()
    };
    let columns: Vec<u8> = (0..width).map(column).collect();
    for run in columns.chunk_by(|left, right| left == right) {
        let character = char::from(63 + run.first().copied().unwrap_or_default());
        match run.len() {
            count @ 0..=3 => out.extend(std::iter::repeat_n(character, count)),
            count => {
                let _ = write!(out, "!{count}{character}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes sixel data; returns the colour of each pixel in steps, row by row.
    fn decode(sequence: &str, width: usize, height: usize) -> Vec<Option<u8>> {
        let data = sequence.strip_prefix("\x1bP0;1;0q\"").unwrap().strip_suffix("\x1b\\").unwrap();
        let mut pixels = vec![None; width * height];
        let (mut x, mut y, mut color, mut repeat) = (0, 0, 0, 1);
        let mut rest = data.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').chars().peekable();
        let number = |rest: &mut std::iter::Peekable<std::str::Chars<'_>>| {
            let mut value = 0;
            while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
                value = value * 10 + digit as usize;
                rest.next();
            }
            value
        };
        while let Some(c) = rest.next() {
            match c {
                '#' => {
                    color = number(&mut rest);
                    while rest.next_if_eq(&';').is_some() {
                        number(&mut rest);
                    }
                }
                '!' => repeat = number(&mut rest),
                '$' => x = 0,
                '-' => (x, y) = (0, y + 6),
                '?'..='~' => {
                    for _ in 0..std::mem::replace(&mut repeat, 1) {
                        for bit in 0..6 {
                            if (c as u8 - 63) & (1 << bit) != 0 {
                                pixels[(y + bit) * width + x] = Some(color as u8);
                            }
                        }
                        x += 1;
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        pixels
    }

    #[test]
    fn what_is_encoded_is_what_is_decoded() {
        let (width, height) = (23, 20);
        let pixel = |x: u32, y: u32| {
            Rgba([(x * 11) as u8, (y * 12) as u8, (x * y) as u8, if x == y { 0 } else { 255 }])
        };
        let picture = RgbaImage::from_fn(width, height, pixel);
        let expected: Vec<Option<u8>> =
            picture.enumerate_pixels().map(|(x, y, pixel)| color(x, y, *pixel)).collect();
        assert_eq!(decode(&encode(&picture), width as usize, height as usize), expected);
        assert_eq!(expected[0], None);
    }

    #[test]
    fn plain_colours_are_exact_and_short() {
        let white = RgbaImage::from_pixel(100, 6, Rgba([255, 255, 255, 255]));
        assert_eq!(encode(&white), "\x1bP0;1;0q\"1;1;100;6#215;2;100;100;100#215!100~$-\x1b\\");
    }
}
