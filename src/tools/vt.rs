//! The screen of a terminal: what programs write to one becomes cells, a cursor and lines.
//!
//! Pure and plain data, so that the model of the screen can hold one, and safe for whatever is
//! written: no sequence leaves this module but as a colour. What is understood is what xterm
//! does with the sequences that editors, pagers, line editors and progress bars use (ECMA-48, the
//! VT100 and VT220 manuals, xterm's control sequences). Cells are `screen/grid.rs`, colours
//! `screen/sgr.rs`. Output that comes from a pipe has no screen; its lines are `terminal.rs`.

pub mod grid;
pub mod sgr;

use unicode_width::UnicodeWidthChar;

use grid::{ErasePart, Grid};
pub use grid::{ScreenCell, ScreenLine, ScreenRow};

/// No screen has more columns or rows than this.
const MOST: u16 = 1_000;
/// A sequence that is longer is none.
const LONGEST: usize = 256;
/// Bytes of answers that may wait.
const ANSWERS: usize = 1_024;

/// What a program has asked of the keyboard and the mouse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// Cursor keys are sent as `ESC O A`.
    pub application_cursor: bool,
    /// Pasted text is put between marks.
    pub bracketed_paste: bool,
    /// Presses and the wheel of the mouse are told.
    pub mouse: bool,
    /// They are told in the form that knows large windows.
    pub mouse_sgr: bool,
}

/// A screen and the beginning of a sequence that has not come whole.
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
    /// A line feed also returns, for output that no terminal driver went over.
    returns: bool,
    /// Which of the two character sets is in use, and whether each holds line drawings.
    shifted: bool,
    drawings: [bool; 2],
    held: String,
    /// Within a string (a title, a picture) that is passed over.
    in_string: bool,
    answers: String,
    last: char,
}

impl TerminalScreen {
    /// A blank screen.
    pub fn new(columns: u16, rows: u16) -> Self {
        let size = |cells: u16| usize::from(cells.clamp(1, MOST));
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
            drawings: [false; 2],
            held: String::new(),
            in_string: false,
            answers: String::new(),
            last: ' ',
        }
    }

    /// The same for output that comes from a pipe, where a line feed alone ends a line.
    pub fn for_pipe(columns: u16, rows: u16) -> Self {
        TerminalScreen { returns: true, ..TerminalScreen::new(columns, rows) }
    }

    /// Carries out what a program wrote. It may be cut anywhere.
    pub fn write(&mut self, text: &str) {
        if self.held.is_empty() {
            return self.carry_out(text);
        }
        let mut all = std::mem::take(&mut self.held);
        all.push_str(text);
        self.carry_out(&all);
    }

    /// The window has another size now.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let size = |cells: u16| usize::from(cells.clamp(1, MOST));
        for grid in std::iter::once(&mut self.main).chain(&mut self.alternate) {
            grid.resize(size(columns), size(rows));
        }
    }

    /// Columns and rows.
    pub fn size(&self) -> (u16, u16) {
        let (columns, rows) = self.main.size();
        (u16::try_from(columns).unwrap_or(MOST), u16::try_from(rows).unwrap_or(MOST))
    }

    /// Whether a full-screen program shows itself.
    pub fn is_full(&self) -> bool {
        self.alternate.is_some()
    }

    /// What the program has asked of keyboard and mouse.
    pub fn modes(&self) -> Modes {
        self.modes
    }

    /// The rows that are shown, top to bottom.
    pub fn rows(&self) -> impl Iterator<Item = &ScreenRow> {
        self.shown().rows()
    }

    /// Rows down to the cursor or the last one that is not blank.
    pub fn used(&self) -> usize {
        self.shown().used().max(self.shown().cursor.row + 1)
    }

    /// Column and row of the cursor, from 0; none while the program hides it.
    pub fn cursor(&self) -> Option<(u16, u16)> {
        let cursor = self.shown().cursor;
        let cell = |n: usize| u16::try_from(n).unwrap_or(MOST);
        (!self.hidden).then(|| (cell(cursor.column), cell(cursor.row)))
    }

    /// The lines that scrolled out at the top since this was asked last.
    pub fn take_scrolled_off(&mut self) -> Vec<ScreenLine> {
        self.main.take_scrolled_off()
    }

    /// The lines on the ordinary screen. With `to_cursor` those down to the cursor at least, as
    /// they would be printed; without, blank ones at the end are left out.
    pub fn lines(&self, to_cursor: ToCursor) -> Vec<ScreenLine> {
        let used = self.main.used();
        self.main.lines(match to_cursor {
            ToCursor::Yes => used.max(self.main.cursor.row + 1),
            ToCursor::No => used,
        })
    }

    /// What the terminal has to answer to the program.
    pub fn take_answers(&mut self) -> String {
        std::mem::take(&mut self.answers)
    }

    fn shown(&self) -> &Grid {
        self.alternate.as_ref().unwrap_or(&self.main)
    }

    fn grid(&mut self) -> &mut Grid {
        self.alternate.as_mut().unwrap_or(&mut self.main)
    }

    fn carry_out(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.in_string {
                rest = self.pass_over(rest);
                continue;
            }
            let at = control_at(rest);
            let (plain, control) = rest.split_at_checked(at).unwrap_or((rest, ""));
            self.print(plain);
            let mut characters = control.chars();
            rest = match characters.next() {
                Some('\u{1b}') => match self.escape(characters.as_str()) {
                    Some(after) => after,
                    None if control.len() < LONGEST => return control.clone_into(&mut self.held),
                    None => characters.as_str(),
                },
                Some(character) => {
                    self.control(character);
                    characters.as_str()
                }
                None => "",
            };
        }
    }

    /// What follows the string that is passed over. A line end ends it too: a string that is
    /// never closed must not swallow all that comes.
    fn pass_over<'a>(&mut self, text: &'a str) -> &'a str {
        let Some(at) = text.find(['\u{7}', '\u{1b}', '\u{9c}', '\u{18}', '\u{1a}', '\n']) else { return "" };
        let end = text.get(at..).unwrap_or_default();
        self.in_string = false;
        match end.chars().next() {
            // The end mark is ESC backslash, which does nothing by itself.
            Some('\u{1b}' | '\n') | None => end,
            Some(mark) => end.get(mark.len_utf8()..).unwrap_or_default(),
        }
    }

    fn print(&mut self, text: &str) {
        let (wraps, inserts) = (self.wraps, self.inserts);
        let draws = self.drawings.get(usize::from(self.shifted)).copied().unwrap_or(false);
        if !inserts && !draws && wraps && text.is_ascii() {
            self.last = text.chars().next_back().unwrap_or(self.last);
            return self.grid().print_ascii(text);
        }
        for character in text.chars() {
            let character = if draws { drawing(character) } else { character };
            let width = if character.is_ascii() { 1 } else { character.width().unwrap_or(0) };
            let grid = self.grid();
            if inserts {
                grid.insert_characters(width);
            }
            grid.print(character, width, wraps);
            self.last = character;
        }
    }

    fn control(&mut self, character: char) {
        let returns = self.returns;
        let grid = self.grid();
        match character {
            '\r' => grid.go(0, grid.cursor.row),
            '\n' | '\u{b}' | '\u{c}' => {
                grid.feed();
                if returns {
                    grid.go(0, grid.cursor.row);
                }
            }
            '\u{8}' => grid.go(grid.cursor.column.saturating_sub(1), grid.cursor.row),
            '\t' => grid.tab(),
            '\u{e}' => self.shifted = true,
            '\u{f}' => self.shifted = false,
            _ => {}
        }
    }

    /// Carries out the sequence behind an ESC and gives what follows it; none while it is not whole.
    fn escape<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let mut characters = text.chars();
        match characters.next()? {
            '[' => return self.control_sequence(characters.as_str()),
            ']' | 'P' | 'X' | '^' | '_' => self.in_string = true,
            set @ ('(' | ')') => {
                let drawings = characters.next()? == '0';
                let [first, second] = &mut self.drawings;
                *(if set == '(' { first } else { second }) = drawings;
            }
            ' '..='/' => {
                let after = characters.as_str().trim_start_matches(|c: char| (' '..='/').contains(&c));
                let last = after.chars().next()?;
                return after.get(last.len_utf8()..);
            }
            '7' => self.grid().saved = self.shown().cursor,
            '8' => self.grid().restore(),
            'D' => self.grid().feed(),
            'M' => self.grid().feed_back(),
            'E' => {
                self.grid().feed();
                let row = self.shown().cursor.row;
                self.grid().go(0, row);
            }
            'c' => self.reset(),
            '0'..='~' => {}
            // No sequence: what stands there stands for itself.
            _ => return Some(text),
        }
        Some(characters.as_str())
    }

    /// A control sequence behind its `ESC [`: parameters, intermediates, a last letter.
    fn control_sequence<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let end = text.find(|c: char| !(' '..='?').contains(&c))?;
        let (parameters, rest) = text.split_at_checked(end)?;
        let last = rest.chars().next()?;
        if !('@'..='~').contains(&last) {
            return Some(rest);
        }
        match parameters.chars().next() {
            Some('?') => self.private(parameters.get(1..).unwrap_or_default(), last),
            Some('<'..='>') => self.asked(parameters, last),
            _ if last == 'm' => self.grid().cursor.style.apply(parameters),
            _ if parameters.contains(|c: char| (' '..='/').contains(&c)) => {}
            _ => self.sequence(parameters, last),
        }
        rest.get(1..)
    }

    fn sequence(&mut self, parameters: &str, last: char) {
        let mut numbers = parameters.split(';').map(|number| number.parse::<usize>().ok());
        let (first, second) = (numbers.next().flatten(), numbers.next().flatten());
        let count = first.unwrap_or(1).clamp(1, usize::from(MOST));
        let steps = isize::try_from(count).unwrap_or(1);
        let place = |number: Option<usize>| number.unwrap_or(1).max(1) - 1;
        let top = if self.origin { self.shown().top() } else { 0 };
        let (column, row) = (self.shown().cursor.column, self.shown().cursor.row);
        let grid = self.grid();
        match last {
            'A' => grid.step(0, -steps),
            'B' | 'e' => grid.step(0, steps),
            'C' | 'a' => grid.step(steps, 0),
            'D' => grid.step(-steps, 0),
            'E' | 'F' => {
                grid.step(0, if last == 'E' { steps } else { -steps });
                grid.go(0, grid.cursor.row);
            }
            'G' | '`' => grid.go(place(first), row),
            'H' | 'f' => grid.go(place(second), place(first).saturating_add(top)),
            'd' => grid.go(column, place(first).saturating_add(top)),
            'J' | 'K' => erase(grid, first.unwrap_or(0), last),
            'L' => grid.insert_rows(count),
            'M' => grid.delete_rows(count),
            '@' => grid.insert_characters(count),
            'P' => grid.delete_characters(count),
            'X' => grid.erase_characters(count),
            'S' => grid.scroll_up(count),
            'T' => grid.scroll_down(count),
            'r' => {
                // A bottom of 0, or none, is the last row.
                let bottom = second.filter(|row| *row > 0).unwrap_or(usize::MAX) - 1;
                if grid.set_margins(place(first), bottom) {
                    let top = if self.origin { self.shown().top() } else { 0 };
                    self.grid().go(0, top);
                }
            }
            's' => grid.saved = grid.cursor,
            'u' => grid.restore(),
            'b' => self.print(&String::from(self.last).repeat(count)),
            'h' | 'l' if first == Some(4) => self.inserts = last == 'h',
            'h' | 'l' if first == Some(20) => self.returns = last == 'h',
            'c' => self.answer("\u{1b}[?6c"),
            'n' if first == Some(5) => self.answer("\u{1b}[0n"),
            'n' if first == Some(6) => {
                self.answer(&format!("\u{1b}[{};{}R", row + 1 - top.min(row), column + 1));
            }
            _ => {}
        }
    }

    /// Questions of the kind `ESC [ > c`.
    fn asked(&mut self, parameters: &str, last: char) {
        if last == 'c' && parameters.starts_with('>') {
            self.answer("\u{1b}[>0;0;0c");
        }
    }

    fn private(&mut self, parameters: &str, last: char) {
        let on = match last {
            'h' => true,
            'l' => false,
            _ => return,
        };
        for mode in parameters.split(';') {
            match mode {
                "1" => self.modes.application_cursor = on,
                "6" => {
                    self.origin = on;
                    let top = if on { self.shown().top() } else { 0 };
                    self.grid().go(0, top);
                }
                "7" => self.wraps = on,
                "25" => self.hidden = !on,
                "47" | "1047" | "1049" => self.switch(on),
                "1048" if on => self.grid().saved = self.shown().cursor,
                "1048" => self.grid().restore(),
                "1000" | "1002" | "1003" => self.modes.mouse = on,
                "1006" => self.modes.mouse_sgr = on,
                "2004" => self.modes.bracketed_paste = on,
                _ => {}
            }
        }
    }

    /// To the screen of a full-screen program, or back.
    fn switch(&mut self, on: bool) {
        match (on, self.alternate.is_some()) {
            (true, false) => {
                self.main.saved = self.main.cursor;
                let (columns, rows) = self.main.size();
                let mut grid = Grid::new(columns, rows, false);
                grid.cursor = self.main.cursor;
                self.alternate = Some(grid);
            }
            (false, true) => {
                self.alternate = None;
                self.main.restore();
            }
            // As xterm does, which goes back to the saved place in any case.
            (false, false) => self.main.restore(),
            (true, true) => {}
        }
    }

    /// As at the beginning. What stands on the screen scrolls out, so that none of it is lost.
    fn reset(&mut self) {
        self.alternate = None;
        let (columns, rows) = self.main.size();
        let used = self.main.used();
        self.main.set_margins(0, rows);
        self.main.cursor = grid::Cursor::default();
        self.main.scroll_up(used);
        self.main.saved = grid::Cursor::default();
        self.main.resize(columns, rows);
        let main = std::mem::replace(&mut self.main, Grid::new(1, 1, true));
        let returns = self.returns;
        *self = TerminalScreen { main, returns, ..TerminalScreen::new(1, 1) };
    }

    fn answer(&mut self, text: &str) {
        if self.answers.len() + text.len() <= ANSWERS {
            self.answers.push_str(text);
        }
    }
}

/// Whether lines down to the cursor are given although they are blank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToCursor {
    Yes,
    No,
}

fn erase(grid: &mut Grid, which: usize, last: char) {
    let part = match which {
        0 => ErasePart::FromCursor,
        1 => ErasePart::ToCursor,
        2 => ErasePart::All,
        _ => return,
    };
    if last == 'J' { grid.erase(part) } else { grid.erase_in_row(part) }
}

/// Where the first control character is, or the end. Most of what is written is looked at here
/// and nowhere else byte by byte.
fn control_at(text: &str) -> usize {
    let bytes = text.as_bytes();
    let control = |at: &usize| match bytes.get(*at) {
        Some(0..=0x1f | 0x7f) => true,
        Some(0xc2) => bytes.get(at + 1).is_some_and(|next| (0x80..=0x9f).contains(next)),
        _ => false,
    };
    (0..bytes.len()).find(control).unwrap_or(bytes.len())
}

/// The line drawings of the VT100.
fn drawing(character: char) -> char {
    const DRAWINGS: &str = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·";
    let index =
        u32::from(character).checked_sub(u32::from('`')).and_then(|index| usize::try_from(index).ok());
    index.and_then(|index| DRAWINGS.chars().nth(index)).unwrap_or(character)
}
