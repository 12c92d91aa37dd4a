//! What a terminal shows after the bytes of a frame is what the frame says.

use proptest::prelude::*;
use ratatui::buffer::CellWidth;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::*;

const WIDTH: u16 = 24;
const HEIGHT: u16 = 12;

fn blank() -> Frame {
    Frame::blank(Rect::new(0, 0, WIDTH, HEIGHT))
}

fn terminal() -> vt100::Parser {
    vt100::Parser::new(HEIGHT.try_into().unwrap(), WIDTH.try_into().unwrap(), 0)
}

/// The bytes of a frame; `shown` is `next` afterwards.
fn step(shown: &mut Frame, next: &Frame) -> Vec<u8> {
    let mut out = Vec::new();
    encode(shown, next, &mut out);
    *shown = next.clone();
    out
}

fn lines(texts: &[&str]) -> Frame {
    let mut frame = blank();
    for (y, text) in texts.iter().enumerate() {
        frame.cells.set_string(0, y as u16, text, Style::new());
    }
    frame
}

fn check(screen: &vt100::Screen, frame: &Frame) -> Result<(), TestCaseError> {
    let mut covered = 0;
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            let wanted = frame.cells.cell((x, y)).unwrap();
            if covered > 0 {
                covered -= 1;
                continue;
            }
            covered = wanted.cell_width().saturating_sub(1);
            let cell = screen.cell(y, x).unwrap();
            let text = if cell.has_contents() { cell.contents() } else { " " };
            prop_assert_eq!(text, wanted.symbol(), "at {},{}", x, y);
            prop_assert_eq!(cell.bgcolor(), color(wanted.bg), "background at {},{}", x, y);
            prop_assert_eq!(cell.inverse(), wanted.modifier.contains(Modifier::REVERSED), "at {},{}", x, y);
            prop_assert_eq!(
                cell.underline(),
                wanted.modifier.contains(Modifier::UNDERLINED),
                "at {},{}",
                x,
                y
            );
            if text != " " {
                prop_assert_eq!(cell.fgcolor(), color(wanted.fg), "colour at {},{}", x, y);
                prop_assert_eq!(cell.bold(), wanted.modifier.contains(Modifier::BOLD), "at {},{}", x, y);
                prop_assert_eq!(cell.italic(), wanted.modifier.contains(Modifier::ITALIC), "at {},{}", x, y);
            }
        }
    }
    Ok(())
}

fn color(color: Color) -> vt100::Color {
    match color {
        Color::Rgb(r, g, b) => vt100::Color::Rgb(r, g, b),
        Color::Indexed(index) => vt100::Color::Idx(index),
        Color::Red => vt100::Color::Idx(1),
        Color::White => vt100::Color::Idx(15),
        _ => vt100::Color::Default,
    }
}

fn style() -> impl Strategy<Value = Style> {
    let color = || {
        prop_oneof![
            4 => Just(Color::Reset),
            1 => Just(Color::Red),
            1 => Just(Color::White),
            1 => Just(Color::Indexed(88)),
            1 => Just(Color::Rgb(1, 2, 3)),
        ]
    };
    let modifier = prop_oneof![
        4 => Just(Modifier::empty()),
        1 => Just(Modifier::BOLD),
        1 => Just(Modifier::ITALIC | Modifier::BOLD),
        1 => Just(Modifier::UNDERLINED),
        1 => Just(Modifier::REVERSED),
    ];
    (color(), color(), modifier)
        .prop_map(|(fg, bg, modifier)| Style::new().fg(fg).bg(bg).add_modifier(modifier))
}

/// What happens to a screen from one frame to the next.
#[derive(Clone, Debug)]
enum Change {
    /// Rows from `top` on move up or down by some.
    Scroll {
        top: u16,
        bottom: u16,
        by: i16,
    },
    Text {
        x: u16,
        y: u16,
        text: String,
        style: Style,
    },
    Clear {
        y: u16,
    },
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (0..HEIGHT, 0..=HEIGHT, -4i16..=4).prop_map(|(top, bottom, by)| Change::Scroll { top, bottom, by }),
        (0..WIDTH, 0..HEIGHT, "[ a-c日é]{0,24}", style()).prop_map(|(x, y, text, style)| Change::Text {
            x,
            y,
            text,
            style
        }),
        (0..HEIGHT).prop_map(|y| Change::Clear { y }),
    ]
}

fn apply(change: Change, frame: &mut Frame) {
    let frame = &mut frame.cells;
    match change {
        Change::Scroll { top, bottom, by } => {
            let before = frame.clone();
            for y in top..bottom {
                let from = i32::from(y) + i32::from(by);
                for x in 0..WIDTH {
                    let cell = (i32::from(top)..i32::from(bottom))
                        .contains(&from)
                        .then(|| before.cell((x, from as u16)).unwrap().clone());
                    *frame.cell_mut((x, y)).unwrap() = cell.unwrap_or_default();
                }
            }
        }
        Change::Text { x, y, text, style } => frame.set_string(x, y, text, style),
        Change::Clear { y } => frame.set_string(0, y, " ".repeat(usize::from(WIDTH)), Style::reset()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn a_terminal_shows_each_frame(frames in prop::collection::vec(prop::collection::vec(change(), 1..5), 1..12)) {
        let (mut shown, mut frame, mut screen) = (blank(), blank(), terminal());
        for changes in frames {
            changes.into_iter().for_each(|change| apply(change, &mut frame));
            screen.process(&step(&mut shown, &frame));
            check(screen.screen(), &frame)?;
        }
    }
}

#[test]
fn scrolled_text_is_moved_and_not_written_again() {
    let texts: Vec<String> = (0..20).map(|n| format!("line number {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut before: Vec<&str> = texts[0..10].to_vec();
    let mut after: Vec<&str> = texts[2..12].to_vec();
    before.extend(["", "> prompt"]);
    after.extend(["", "> prompt"]);
    let mut shown = lines(&before);
    let bytes = String::from_utf8(step(&mut shown, &lines(&after))).unwrap();
    assert_eq!(bytes, "\x1b[1;10r\x1b[2S\x1b[r\x1b[9Hline number 10\x1b[10Hline number 11");
    let bytes = String::from_utf8(step(&mut shown, &lines(&before))).unwrap();
    assert_eq!(bytes, "\x1b[1;10r\x1b[2T\x1b[r\x1b[1Hline number 0\x1b[2Hline number 1");
}

#[test]
fn a_letter_costs_a_letter() {
    let mut shown = lines(&["hello"]);
    assert_eq!(step(&mut shown, &lines(&["hello you"])), b"\x1b[1;7Hyou");
    assert_eq!(step(&mut shown, &lines(&["hello you"])), b"");
    assert_eq!(step(&mut shown, &lines(&["hello"])), b"\x1b[1;7H   ");
}
