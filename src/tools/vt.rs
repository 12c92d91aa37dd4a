//! A terminal's screen: turns a program's output into cells, a cursor and lines.
//!
//! Pure and plain data, so that the model of the screen can hold one, and safe for any input: the only
//! sequences that leave this module are colours, as data. `vt/sequence.rs` tokenizes the stream,
//! `vt/interpret.rs` applies the tokens, `vt/grid.rs` holds cells, `vt/sgr.rs` colours. Output from a pipe
//! has no screen: `line_output.rs` handles its lines.

pub(crate) mod grid;
mod interpret;
pub mod sequence;
pub mod sgr;

use grid::Grid;
pub use grid::{ScreenCell, ScreenLine, ScreenRow};
use sequence::Parser;

/// The maximum number of columns, and of rows, of a screen.
const MAX_CELLS: u16 = 1_000;
/// The maximum number of bytes of answers that wait for the program.
const MAX_ANSWERS: usize = 1_024;

/// The keyboard and mouse modes that a program has set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// Cursor keys are sent as `ESC O A`.
    pub application_cursor: bool,
    /// Pasted text is enclosed in marks.
    pub bracketed_paste: bool,
    /// Mouse presses and the wheel are reported.
    pub mouse: bool,
    /// Mouse events are reported in the form for large windows (SGR).
    pub mouse_sgr: bool,
}

/// A screen, and the parser of the stream written to it.
#[derive(Clone, Debug, PartialEq)]
pub struct TerminalScreen {
    main: Grid,
    /// The screen of a full-screen program.
    alternate: Option<Grid>,
    modes: Modes,
    wraps: bool,
    inserts: bool,
    /// Rows are counted from the margin.
    origin: bool,
    hidden: bool,
    /// A line feed also returns, for output that did not pass through a terminal driver.
    returns: bool,
    /// The active one of the two character sets, and whether each is the line drawing set.
    shifted: bool,
    line_drawing: [bool; 2],
    parser: Parser,
    answers: String,
    last: char,
}

impl TerminalScreen {
    /// A blank screen.
    pub fn new(columns: u16, rows: u16) -> Self {
        let size = |cells: u16| usize::from(cells.clamp(1, MAX_CELLS));
        TerminalScreen {
            main: Grid::new(size(columns), size(rows), true),
            alternate: None,
            modes: Modes::default(),
            wraps: true,
            inserts: false,
            origin: false,
            hidden: false,
            returns: false,
            shifted: false,
            line_drawing: [false; 2],
            parser: Parser::default(),
            answers: String::new(),
            last: ' ',
        }
    }

    /// A blank screen for output from a pipe, where a line feed alone ends a line.
    pub fn for_pipe(columns: u16, rows: u16) -> Self {
        TerminalScreen { returns: true, ..TerminalScreen::new(columns, rows) }
    }

    /// Writes the next piece of a program's output. It may be cut between any two characters.
    pub fn write(&mut self, text: &str) {
        let mut parser = std::mem::take(&mut self.parser);
        parser.feed(text.as_bytes(), &mut |token| self.interpret(token));
        self.parser = parser;
    }

    /// Resizes the window.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let size = |cells: u16| usize::from(cells.clamp(1, MAX_CELLS));
        for grid in std::iter::once(&mut self.main).chain(&mut self.alternate) {
            grid.resize(size(columns), size(rows));
        }
    }

    /// The number of columns and rows.
    pub fn size(&self) -> (u16, u16) {
        let (columns, rows) = self.main.size();
        (u16::try_from(columns).unwrap_or(MAX_CELLS), u16::try_from(rows).unwrap_or(MAX_CELLS))
    }

    /// True if a program uses the alternate screen.
    pub fn is_full(&self) -> bool {
        self.alternate.is_some()
    }

    /// The keyboard and mouse modes that the program has set.
    pub fn modes(&self) -> Modes {
        self.modes
    }

    /// The visible rows, from top to bottom.
    pub fn rows(&self) -> impl Iterator<Item = &ScreenRow> {
        self.active_grid().rows()
    }

    /// The number of rows down to the cursor or the last one that is not blank.
    pub fn used_rows(&self) -> usize {
        self.active_grid().used_rows().max(self.active_grid().cursor.row + 1)
    }

    /// The column and row of the cursor, from 0; `None` while the program hides it.
    pub fn cursor(&self) -> Option<(u16, u16)> {
        let cursor = self.active_grid().cursor;
        let cell = |n: usize| u16::try_from(n).unwrap_or(MAX_CELLS);
        (!self.hidden).then(|| (cell(cursor.column), cell(cursor.row)))
    }

    /// The lines that scrolled off the top since the last call.
    pub fn take_scrolled_off(&mut self) -> Vec<ScreenLine> {
        self.main.take_scrolled_off()
    }

    /// The lines on the main screen: with [`ToCursor::Yes`] at least those down to the cursor, with
    /// [`ToCursor::No`] without trailing blank lines.
    pub fn lines(&self, to_cursor: ToCursor) -> Vec<ScreenLine> {
        let used = self.main.used_rows();
        self.main.lines(match to_cursor {
            ToCursor::Yes => used.max(self.main.cursor.row + 1),
            ToCursor::No => used,
        })
    }

    /// Takes the answers to the program's queries.
    pub fn take_answers(&mut self) -> String {
        std::mem::take(&mut self.answers)
    }

    fn active_grid(&self) -> &Grid {
        self.alternate.as_ref().unwrap_or(&self.main)
    }

    fn grid(&mut self) -> &mut Grid {
        self.alternate.as_mut().unwrap_or(&mut self.main)
    }
}

/// Whether blank lines down to the cursor are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToCursor {
    Yes,
    No,
}
