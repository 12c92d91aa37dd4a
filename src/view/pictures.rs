//! Pictures as rows: keeps ready ones and requests missing ones. They are prepared outside, off the drawing
//! thread.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::color::{ColorDepth, nearest_color};
use super::picture::{PictureJob, PictureKey, PictureOutcome, PictureRow, PreparedPicture, PreparedPixels};
use super::row::{MARGIN, Row, Rows};
use tau_app::picture::{MessagePicture, PictureRoom};

/// The maximum number of bytes of prepared pictures that are kept.
const KEPT: usize = 48 * 1024 * 1024;
/// Combining characters that count rows and columns from 0, in the order of
/// <https://sw.kovidgoyal.net/kitty/graphics-protocol/#unicode-placeholders>.
const COUNTERS: &str = "\u{305}\u{30d}\u{30e}\u{310}\u{312}\u{33d}\u{33e}\u{33f}\u{346}\u{34a}\u{34b}\u{34c}\u{350}\u{351}\u{352}\u{357}\u{35b}\u{363}\u{364}\u{365}\u{366}\u{367}\u{368}\u{369}\u{36a}\u{36b}\u{36c}\u{36d}\u{36e}\u{36f}\u{483}\u{484}\u{485}\u{486}\u{487}\u{592}\u{593}\u{594}\u{595}\u{597}\u{598}\u{599}\u{59c}\u{59d}\u{59e}\u{59f}\u{5a0}\u{5a1}\u{5a8}\u{5a9}\u{5ab}\u{5ac}\u{5af}\u{5c4}\u{610}\u{611}\u{612}\u{613}\u{614}\u{615}\u{616}\u{617}\u{657}\u{658}\u{659}\u{65a}\u{65b}\u{65d}\u{65e}\u{6d6}\u{6d7}\u{6d8}\u{6d9}\u{6da}\u{6db}\u{6dc}\u{6df}\u{6e0}\u{6e1}\u{6e2}\u{6e4}\u{6e7}\u{6e8}\u{6eb}\u{6ec}\u{730}\u{732}\u{733}\u{735}\u{736}\u{73a}\u{73d}\u{73f}\u{740}\u{741}\u{743}";
/// The character over which the kitty graphics protocol draws a picture.
const PLACEHOLDER: char = '\u{10EEEE}';

/// Pictures that are ready, and those that are missing.
#[derive(Default)]
pub struct Pictures {
    ready: HashMap<PictureKey, Ready>,
    asked: HashSet<PictureKey>,
    missing: Vec<PictureJob>,
    bytes: usize,
    /// The number of the current frame.
    now: u64,
}

struct Ready {
    rows: Rows,
    columns: u16,
    bytes: usize,
    /// The last frame that used it.
    used: u64,
}

impl Pictures {
    /// Begins a frame.
    pub(super) fn begin(&mut self) {
        self.now += 1;
    }

    /// The rows of a picture; one of another size while the right one is missing, or none.
    pub(super) fn rows(&mut self, picture: &MessagePicture, room: PictureRoom) -> Rows {
        let key = PictureKey { id: picture.id, room };
        if !self.ready.contains_key(&key) && self.asked.insert(key) {
            self.missing.push(PictureJob { key, picture: picture.clone() });
        }
        let now = self.now;
        let fits = |(known, ready): &(&PictureKey, &mut Ready)| {
            known.id == key.id && known.room.format == room.format && ready.columns <= room.columns
        };
        let found = match self.ready.get_mut(&key) {
            Some(ready) => Some(ready),
            None => {
                self.ready.iter_mut().filter(fits).max_by_key(|(_, ready)| ready.used).map(|(_, ready)| ready)
            }
        };
        found.map_or_else(
            || Rows::from([]),
            |ready| {
                ready.used = now;
                Rows::clone(&ready.rows)
            },
        )
    }

    /// Takes the pictures that were missing since the last call.
    pub fn take_missing(&mut self) -> Vec<PictureJob> {
        std::mem::take(&mut self.missing)
    }

    /// Adds the result of a job.
    pub(super) fn add(&mut self, key: PictureKey, outcome: PictureOutcome, depth: ColorDepth) {
        self.asked.remove(&key);
        let (rows, columns, bytes) = match outcome {
            PictureOutcome::Dropped => return,
            PictureOutcome::Failed => (Rows::from([]), 0, 0),
            PictureOutcome::Prepared(picture) => {
                let (columns, bytes) = (picture.columns, picture.bytes());
                (rows(&Arc::new(picture), depth), columns, bytes)
            }
        };
        self.bytes += bytes;
        self.ready.insert(key, Ready { rows, columns, bytes, used: self.now });
        while self.bytes > KEPT {
            let oldest = self.ready.iter().filter(|(other, ready)| **other != key && ready.bytes > 0);
            let Some(oldest) = oldest.min_by_key(|(_, ready)| ready.used).map(|(key, _)| *key) else { break };
            self.bytes -= self.ready.remove(&oldest).map_or(0, |ready| ready.bytes);
        }
    }
}

/// The rows of a picture, to the right of the margin.
fn rows(picture: &Arc<PreparedPicture>, depth: ColorDepth) -> Rows {
    let margin = || Span::raw(" ".repeat(usize::from(MARGIN)));
    let row = |row: u16| {
        let spans = match &picture.pixels {
            PreparedPixels::Blocks(cells) => {
                let width = usize::from(picture.columns);
                let cells = cells.get(usize::from(row) * width..).unwrap_or_default();
                blocks(cells.get(..width).unwrap_or(cells), depth)
            }
            PreparedPixels::Kitty { number, .. } => vec![placeholders(*number, row, picture.columns)],
            PreparedPixels::Strips(_) => vec![Span::raw(" ".repeat(usize::from(picture.columns)))],
        };
        let line = Line::from_iter(std::iter::once(margin()).chain(spans));
        Row::picture(line, MARGIN..MARGIN + picture.columns, PictureRow { picture: Arc::clone(picture), row })
    };
    match (&picture.pixels, depth) {
        (PreparedPixels::Blocks(_), ColorDepth::None | ColorDepth::Ansi16) => Rows::from([]),
        _ => (0..picture.rows).map(row).collect(),
    }
}

/// Cells with two colours: the upper one is the character's, unless there is only a lower one.
fn blocks(cells: &[[Option<[u8; 3]>; 2]], depth: ColorDepth) -> Vec<Span<'static>> {
    let color = |[r, g, b]: [u8; 3]| nearest_color(Color::Rgb(r, g, b), depth).unwrap_or_default();
    let look = |cell: &[Option<[u8; 3]>; 2]| match *cell {
        [None, None] => (" ", Style::new()),
        [Some(upper), None] => ("▀", Style::new().fg(color(upper))),
        [None, Some(lower)] => ("▄", Style::new().fg(color(lower))),
        [Some(upper), Some(lower)] => ("▀", Style::new().fg(color(upper)).bg(color(lower))),
    };
    let same = |left: &[Option<[u8; 3]>; 2], right: &[Option<[u8; 3]>; 2]| left == right;
    let runs = cells.chunk_by(same).filter_map(|run| Some((look(run.first()?), run.len())));
    runs.map(|((text, style), count)| Span::styled(text.repeat(count), style)).collect()
}

/// The characters over which a terminal draws a row of a picture; their colour encodes its number.
fn placeholders(number: u32, row: u16, columns: u16) -> Span<'static> {
    let counter = |count: u16| COUNTERS.chars().nth(usize::from(count));
    let text = (0..columns)
        .flat_map(|column| std::iter::once(PLACEHOLDER).chain(counter(row)).chain(counter(column)));
    let [_, r, g, b] = number.to_be_bytes();
    Span::styled(text.collect::<String>(), Style::new().fg(Color::Rgb(r, g, b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::width;
    use tau_app::picture::{COLUMNS, PictureFormat, PictureId};

    #[test]
    fn every_column_has_a_counter() {
        assert_eq!(COUNTERS.chars().count(), usize::from(COLUMNS));
        let span = placeholders(0x0A_0B_0C, 2, COLUMNS);
        assert_eq!(width::cells(&span.content), usize::from(COLUMNS));
        assert!(span.content.starts_with("\u{10EEEE}\u{30e}\u{305}\u{10EEEE}\u{30e}\u{30d}"));
        assert_eq!(span.style.fg, Some(Color::Rgb(10, 11, 12)));
    }

    #[test]
    fn half_blocks_show_what_is_there() {
        let (red, blue) = (Some([255, 0, 0]), Some([0, 0, 255]));
        let cells = [[None, None], [red, None], [None, blue], [red, blue], [red, blue]];
        let text: Vec<String> =
            blocks(&cells, ColorDepth::True).iter().map(|span| span.content.to_string()).collect();
        assert_eq!(text, [" ", "▀", "▄", "▀▀"]);
    }

    fn key(columns: u16) -> PictureKey {
        let room = PictureRoom { format: PictureFormat::Iterm2, columns, rows: 1, cell: (10, 20) };
        PictureKey { id: PictureId(1), room }
    }

    #[test]
    fn the_pictures_that_are_kept_are_bounded() {
        let mut pictures = Pictures::default();
        for columns in 1..200 {
            pictures.begin();
            let strips = PreparedPixels::Strips(vec!["x".repeat(1024 * 1024)]);
            let outcome = PictureOutcome::Prepared(PreparedPicture { columns, rows: 1, pixels: strips });
            pictures.add(key(columns), outcome, ColorDepth::True);
        }
        assert_eq!(pictures.bytes, KEPT);
        assert!(pictures.ready.contains_key(&key(199)) && !pictures.ready.contains_key(&key(1)));
    }
}
