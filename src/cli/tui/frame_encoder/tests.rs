//! The terminal shows the frame's content after its bytes.

use proptest::prelude::*;
use ratatui::buffer::CellWidth;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_segmentation::UnicodeSegmentation;

use super::super::widths::{KINDS, Kind, Widths};
use super::*;

const WIDTH: u16 = 24;
const HEIGHT: u16 = 12;

fn blank() -> Frame {
    Frame::blank(Rect::new(0, 0, WIDTH, HEIGHT))
}

fn terminal() -> vt100::Parser {
    vt100::Parser::new(HEIGHT.try_into().unwrap(), WIDTH.try_into().unwrap(), 0)
}

/// The bytes as a small terminal sees them: Emacs's supports only these control sequences.
fn for_small_terminal(bytes: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(bytes).unwrap();
    let mut kept = String::new();
    for (index, part) in text.split("\x1b[").enumerate() {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).filter(|_| index > 0);
        let rest = end.and_then(|end| part.get(end..));
        match rest {
            Some(rest) if rest.starts_with(|c| "ABCDHJKLMPmr".contains(c)) => kept.extend(["\x1b[", part]),
            Some(rest) => kept.push_str(rest.get(1..).unwrap_or_default()),
            None => kept.push_str(part),
        }
    }
    kept.into_bytes()
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
        frame.buffer().set_string(0, y as u16, text, Style::new());
    }
    frame
}

fn check(screen: &vt100::Screen, frame: &Frame) -> Result<(), TestCaseError> {
    let mut covered = 0;
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            let wanted = &frame.row(y)[usize::from(x)];
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

/// A change of the screen from one frame to the next.
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
    let frame = frame.buffer();
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
        let (mut shown, mut frame) = (blank(), blank());
        let (mut screen, mut small) = (terminal(), terminal());
        for changes in frames {
            changes.into_iter().for_each(|change| apply(change, &mut frame));
            let bytes = step(&mut shown, &frame);
            screen.process(&bytes);
            check(screen.screen(), &frame)?;
            small.process(&for_small_terminal(&bytes));
            check(small.screen(), &frame)?;
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
    assert_eq!(bytes, "\x1b[1;10r\x1b[10H\n\n\x1b[r\x1b[9Hline number 10\x1b[10Hline number 11");
    let bytes = String::from_utf8(step(&mut shown, &lines(&before))).unwrap();
    assert_eq!(bytes, "\x1b[1;10r\x1b[1H\x1bM\x1bM\x1b[r\x1b[1Hline number 0\x1b[2Hline number 1");
}

#[test]
fn a_letter_costs_a_letter() {
    let mut shown = lines(&["hello"]);
    assert_eq!(step(&mut shown, &lines(&["hello you"])), b"\x1b[1;7Hyou");
    assert_eq!(step(&mut shown, &lines(&["hello you"])), b"");
    assert_eq!(step(&mut shown, &lines(&["hello"])), b"\x1b[1;7H   ");
}

/// A two-row terminal with its own ideas about the width of clusters.
struct OddTerminal {
    widths: Widths,
    /// The text that begins in each cell, with its width.
    cells: [Vec<Option<(String, usize)>>; 2],
    at: (usize, usize),
}

impl OddTerminal {
    fn process(&mut self, bytes: &[u8]) {
        let text = std::str::from_utf8(bytes).unwrap();
        for (index, part) in text.split('\x1b').enumerate() {
            let text = if index == 0 { part } else { self.control(part) };
            text.graphemes(true).for_each(|cluster| self.print(cluster));
        }
    }

    /// Carries out a sequence; returns the rest.
    fn control<'a>(&mut self, part: &'a str) -> &'a str {
        let sequence = part.strip_prefix('[').unwrap();
        let (parameters, rest) = sequence.split_at(sequence.find(|c: char| c.is_ascii_alphabetic()).unwrap());
        let mut rest = rest.chars();
        let last = rest.next().unwrap();
        let mut numbers = parameters.split(';').map(|number| number.parse::<usize>().unwrap_or(1));
        let first = numbers.next().unwrap_or(1);
        match last {
            'H' => self.at = (numbers.next().unwrap_or(1) - 1, first - 1),
            'C' => self.at.0 += first,
            'X' => (self.at.0..self.at.0 + first).for_each(|x| self.erase(x)),
            'K' => (self.at.0..usize::from(WIDTH)).for_each(|x| self.erase(x)),
            'm' => {}
            other => panic!("{other}"),
        }
        rest.as_str()
    }

    /// Erases a cell, together with any text drawn across it.
    fn erase(&mut self, x: usize) {
        let row = &mut self.cells[self.at.1];
        for start in 0..=x.min(row.len() - 1) {
            if row[start].as_ref().is_some_and(|(_, width)| start + width > x) {
                row[start] = None;
            }
        }
    }

    fn print(&mut self, cluster: &str) {
        let width = self.width(cluster);
        (self.at.0..self.at.0 + width).for_each(|x| self.erase(x));
        let x = self.at.0;
        self.cells[self.at.1][x] = (cluster != " ").then(|| (cluster.to_owned(), width));
        self.at.0 += width;
    }

    fn width(&self, cluster: &str) -> usize {
        let kind = Kind::of(cluster).and_then(|kind| KINDS.iter().position(|(known, ..)| *known == kind));
        let measured = kind.and_then(|index| self.widths.rows().nth(index)).map(|(_, measured, _)| measured);
        usize::from(measured.unwrap_or_else(|| cluster.cell_width()))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// On any terminal's treatment of emoji, every cluster begins where the frame has it.
    #[test]
    fn clusters_keep_their_cells_on_every_terminal(
        widths in prop::array::uniform7(prop::sample::select(vec![1_u16, 2, 4])),
        frames in prop::collection::vec((0_usize..2, prop::collection::vec(0_usize..10, 0..9)), 1..6),
    ) {
        // None makes an emoji, a styled one or a keycap wider than two cells.
        let narrow = |index: usize| widths[index].min(2);
        let cells = [narrow(0), narrow(1), narrow(2), widths[3], widths[4], widths[5], widths[6].max(2), 1];
        let widths = Widths::from_cells(&cells).unwrap();
        let area = Rect::new(0, 0, WIDTH, 2);
        let mut terminal =
            OddTerminal { widths, cells: [vec![None; 40], vec![None; 40]], at: (0, 0) };
        let (mut shown, mut frame) = (Frame::blank(area), Frame::blank(area));
        let samples: Vec<&str> = KINDS.iter().map(|(_, _, sample)| *sample).chain(["a", " "]).collect();
        for (y, picked) in frames {
            let text: String = picked.iter().map(|index| samples[*index]).collect();
            frame.buffer().set_string(0, y as u16, " ".repeat(usize::from(WIDTH)), Style::new());
            frame.buffer().set_string(0, y as u16, text, Style::new());
            let mut fitted = frame.clone();
            widths.fit(&mut fitted);
            terminal.process(&step(&mut shown, &fitted));
            for y in 0..2_u16 {
                let mut x = 0;
                while x < WIDTH {
                    for wanted in fitted.buffer()[(x, y)].symbol().graphemes(true) {
                        let found = terminal.cells[usize::from(y)][usize::from(x)].as_ref();
                        let found = found.map_or(" ", |(text, _)| text);
                        prop_assert_eq!(found, wanted, "at {},{} of {:?}", x, y, cells);
                        x += wanted.cell_width().max(1);
                    }
                }
            }
        }
    }
}

#[test]
fn rows_that_are_kept_reach_the_screen_as_all_others() {
    use std::sync::Arc;

    use ratatui::text::Line;

    use tau_view::frame::DrawnRow;
    use tau_view::row::{Row as TextRow, Rows as TextRows};

    let rows = |texts: std::ops::Range<usize>| -> TextRows {
        texts.map(|at| TextRow::from(Line::raw(format!("row {at}")))).collect::<Vec<_>>().into()
    };
    let area = Rect::new(0, 0, WIDTH, HEIGHT);
    let text = rows(0..40);
    let mut frames = [blank(), blank()];
    let mut terminal = terminal();
    // The first row on the screen; whether the rows are rendered again; a marked row.
    for (top, again, marked) in [
        (0, false, None),
        (0, false, Some(3)),
        (1, false, None),
        (1, true, None),
        (5, true, Some(0)),
        (4, false, None),
        (36, false, None),
        (2, false, Some(11)),
        (3, false, None),
    ] {
        let text = if again { rows(0..40) } else { Arc::clone(&text) };
        let [shown, next] = &mut frames;
        next.begin(Style::new(), 0..HEIGHT);
        let mut wanted: Vec<DrawnRow> =
            (0..usize::from(HEIGHT)).map(|y| DrawnRow::of(&text, top + y)).collect();
        next.move_rows(area, &mut wanted);
        for (y, row) in wanted.into_iter().enumerate() {
            next.draw_row(Rect { y: y as u16, height: 1, ..area }, row);
        }
        if let Some(y) = marked {
            next.touch(y..y + 1);
            next.buffer().set_style(Rect { y, height: 1, ..area }, Style::new().bg(Color::Red));
        }
        let mut out = Vec::new();
        encode(shown, next, &mut out);
        terminal.process(&out);
        check(terminal.screen(), next).unwrap();
        frames.swap(0, 1);
    }
}
