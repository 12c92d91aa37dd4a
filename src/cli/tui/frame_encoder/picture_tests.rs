//! Pictures drawn over cells: they are written once, and are removed completely.

use std::sync::Arc;

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::*;
use tau_view::picture::{PreparedPicture, PreparedPixels};

fn picture() -> Arc<PreparedPicture> {
    let strips = (0..3).map(|row| format!("<strip {row}>")).collect();
    Arc::new(PreparedPicture { columns: 10, rows: 3, pixels: PreparedPixels::Strips(strips) })
}

/// A frame with the picture's rows from `top`, and text above and below.
fn frame(picture: &Arc<PreparedPicture>, top: i32) -> Frame {
    let mut frame = Frame::blank(Rect::new(0, 0, 20, 8));
    for y in 0..8_i32 {
        let row = y - top;
        if (0..3).contains(&row) {
            let row = PictureRow { picture: Arc::clone(picture), row: row as u16 };
            frame.pictures.place(y as u16, 2..12, row);
        } else {
            frame.buffer().set_string(0, y as u16, format!("text {row}"), Style::new());
        }
    }
    frame
}

fn step(shown: &mut Frame, next: &Frame) -> String {
    let mut out = Vec::new();
    encode(shown, next, &mut out);
    *shown = next.clone();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_picture_is_written_once() {
    let picture = picture();
    let mut shown = Frame::blank(Rect::new(0, 0, 20, 8));
    let first = step(&mut shown, &frame(&picture, 2));
    for (y, row) in [(3, 0), (4, 1), (5, 2)] {
        assert!(first.contains(&format!("\x1b[{y};3H<strip {row}>")), "{first:?}");
    }
    assert_eq!(step(&mut shown, &frame(&picture, 2)), "");
    let mut typed = frame(&picture, 2);
    typed.buffer().set_string(15, 3, "x", Style::new());
    assert_eq!(step(&mut shown, &typed), "\x1b[4;16Hx", "beside it something may change");
}

#[test]
fn a_picture_that_moves_is_erased_where_it_was() {
    let picture = picture();
    let mut shown = frame(&picture, 2);
    let moved = step(&mut shown, &frame(&picture, 1));
    assert!(!moved.contains("\x1b[r"), "moved by the terminal: {moved:?}");
    assert!(moved.contains("\x1b[2;3H<strip 0>"), "{moved:?}");
    assert!(moved.contains("\x1b[4;3H          \x1b[4;3H<strip 2>"), "{moved:?}");
    let gone = step(&mut shown, &frame(&picture, 20));
    for y in 2..5 {
        assert!(gone.contains(&format!("\x1b[{y}Htext")), "{gone:?}");
    }
    assert!(!gone.contains("strip"));
}

#[test]
fn blanks_erase_a_picture() {
    let mut shown = frame(&picture(), 2);
    let mut next = shown.clone();
    next.flatten();
    assert_eq!(step(&mut shown, &next), (3..6).map(|y| format!("\x1b[{y};3H          ")).collect::<String>());
}

#[test]
fn of_a_row_that_is_partly_hidden_nothing_is_written() {
    let picture = picture();
    let mut next = frame(&picture, 2);
    next.flatten_area(Rect::new(8, 3, 4, 1));
    next.buffer().set_string(8, 3, "over", Style::new());
    let written = step(&mut Frame::blank(Rect::new(0, 0, 20, 8)), &next);
    assert!(written.contains("<strip 0>") && !written.contains("<strip 1>") && written.contains("over"));
}
