//! A terminal with link support shows the frame's content after its bytes.

use proptest::prelude::*;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::*;

const WIDTH: u16 = 20;
const HEIGHT: u16 = 8;
const TARGETS: [&str; 3] = ["https://a.b/c?d;e", "mailto:a@b.c", "https://other"];

/// The parts of a terminal that frames need.
struct Terminal {
    cells: Vec<Vec<(char, String)>>,
    at: (usize, usize),
    region: std::ops::Range<usize>,
    link: String,
}

impl Terminal {
    fn new() -> Self {
        let row = vec![(' ', String::new()); usize::from(WIDTH)];
        let height = usize::from(HEIGHT);
        Terminal { cells: vec![row; height], at: (0, 0), region: 0..height, link: String::new() }
    }

    fn take(&mut self, bytes: &[u8]) {
        let mut rest = std::str::from_utf8(bytes).unwrap();
        while let Some(c) = rest.chars().next() {
            if let Some(link) = rest.strip_prefix("\x1b]8;") {
                let (link, after) = link.split_once("\x1b\\").unwrap();
                let (parameters, target) = link.split_once(';').unwrap();
                assert_eq!(parameters.starts_with("id="), !target.is_empty(), "{link:?}");
                self.link = target.to_owned();
                rest = after;
            } else if let Some(sequence) = rest.strip_prefix("\x1b[") {
                let end = sequence.find(|c: char| c.is_ascii_alphabetic()).unwrap();
                let (parameters, after) = sequence.split_at(end);
                let (name, after) = after.split_at(1);
                let numbers: Vec<usize> = parameters.split(';').filter_map(|n| n.parse().ok()).collect();
                self.control(name, &numbers);
                rest = after;
            } else if let Some(after) = rest.strip_prefix("\x1bM") {
                self.cells[self.region.clone()].rotate_right(1);
                self.cells[self.region.start].fill((' ', String::new()));
                rest = after;
            } else if let Some(after) = rest.strip_prefix('\n') {
                self.cells[self.region.clone()].rotate_left(1);
                self.cells[self.region.end - 1].fill((' ', String::new()));
                rest = after;
            } else {
                let (x, y) = self.at;
                self.cells[y][x] = (c, self.link.clone());
                self.at.0 = (x + 1).min(usize::from(WIDTH) - 1);
                (_, rest) = rest.split_at(c.len_utf8());
            }
        }
        assert_eq!(self.link, "", "a link is open after the frame");
    }

    fn control(&mut self, name: &str, numbers: &[usize]) {
        let number = |index: usize| numbers.get(index).copied().unwrap_or(1);
        match name {
            "H" => self.at = (number(1) - 1, number(0) - 1),
            "C" => self.at.0 += number(0),
            "K" => self.cells[self.at.1][self.at.0..].fill((' ', String::new())),
            "r" if numbers.is_empty() => self.region = 0..usize::from(HEIGHT),
            "r" => self.region = number(0) - 1..number(1),
            "m" => {}
            other => panic!("unknown: {other}"),
        }
    }
}

/// A row: its text, and the targets of its columns.
type TestRow = (String, Option<(u16, u16, usize)>);

fn row() -> impl Strategy<Value = TestRow> {
    let link = prop::option::of((0..WIDTH, 1..WIDTH, 0..TARGETS.len()));
    ("[ ab]{0,20}", link)
}

fn frame(rows: &[TestRow]) -> Frame {
    let mut frame = Frame::blank(Rect::new(0, 0, WIDTH, HEIGHT));
    for (y, (text, link)) in rows.iter().enumerate() {
        frame.buffer().set_string(0, y as u16, text, Style::new());
        if let Some((start, length, target)) = link {
            let link = Link::new(TARGETS[*target]).unwrap();
            frame.links.place(y as u16, *start..(start + length).min(WIDTH), link);
        }
    }
    frame
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn a_terminal_has_the_links_of_each_frame(
        rows in prop::collection::vec(row(), 8..30),
        tops in prop::collection::vec((0..20usize, row()), 1..8),
    ) {
        let (mut shown, mut terminal) = (frame(&[]), Terminal::new());
        for (top, last) in tops {
            // Rows that scroll, and one that does not.
            let mut seen: Vec<TestRow> = rows.iter().cycle().skip(top).take(7).cloned().collect();
            seen.push(last);
            let next = frame(&seen);
            let mut out = Vec::new();
            encode(&shown, &next, &mut out);
            shown = next;
            terminal.take(&out);
            for (y, cells) in (0..).zip(&terminal.cells) {
                for (x, (text, link)) in (0..).zip(cells) {
                    let expected = shown.links.row(y).iter().find(|placed| placed.columns.contains(&x));
                    prop_assert_eq!(link.as_str(), expected.map_or("", |placed| placed.what.uri()), "{},{}", x, y);
                    prop_assert_eq!(text.to_string(), shown.row(y)[usize::from(x)].symbol());
                }
            }
        }
    }
}

#[test]
fn a_link_is_sent_once_and_with_an_id() {
    let shown = frame(&[]);
    let next = frame(&[("go to a b".to_owned(), Some((6, 3, 0)))]);
    let mut out = Vec::new();
    encode(&shown, &next, &mut out);
    let id = format!("{:x}", Link::new(TARGETS[0]).unwrap().id());
    let expected = format!("\x1b[1Hgo to \x1b]8;id={id};https://a.b/c?d;e\x1b\\a b\x1b]8;;\x1b\\");
    assert_eq!(String::from_utf8(out).unwrap(), expected);
    let (shown, mut out) = (next.clone(), Vec::new());
    encode(&shown, &next, &mut out);
    assert!(out.is_empty());
}

#[test]
fn a_link_ends_where_its_text_ends() {
    let blank: Vec<TestRow> = vec![(String::new(), Some((3, 13, 1)))];
    let (shown, mut out) = (frame(&blank), Vec::new());
    encode(&shown, &frame(&[("aaaaaa".to_owned(), Some((5, 1, 1)))]), &mut out);
    let id = Link::new(TARGETS[1]).unwrap().id();
    let expected = format!("\x1b[1Haaaaa\x1b]8;id={id:x};mailto:a@b.c\x1b\\a\x1b]8;;\x1b\\          ");
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}
