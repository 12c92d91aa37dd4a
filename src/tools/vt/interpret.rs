//! Applies the tokens of a program's output to the screen.
//!
//! Follows xterm for the sequences that editors, pagers, line editors and progress bars use (ECMA-48, the
//! VT100 and VT220 manuals, xterm's control sequences). Everything else is ignored.

use unicode_width::UnicodeWidthChar;

use super::grid::{Cursor, ErasePart, Grid};
use super::sequence::{self, Csi, Token};
use super::{MAX_ANSWERS, MAX_CELLS, TerminalScreen};

impl TerminalScreen {
    pub(super) fn interpret(&mut self, token: Token<'_>) {
        match token {
            Token::Text(text) => self.print(text),
            Token::Control(character) => self.control(character),
            Token::Escape { intermediates, last } => self.escape(intermediates, last),
            Token::Csi(csi) => self.control_sequence(csi),
            // Titles, links, pictures.
            Token::String { .. } => {}
        }
    }

    fn print(&mut self, text: &[u8]) {
        let (wraps, inserts) = (self.wraps, self.inserts);
        let draws = self.line_drawing.get(usize::from(self.shifted)).copied().unwrap_or(false);
        if !inserts && !draws && wraps && text.is_ascii() {
            self.last = text.last().copied().map_or(self.last, char::from);
            return self.grid().print_ascii(text);
        }
        for character in sequence::text(text).chars() {
            let character = if draws { line_drawing(character) } else { character };
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
            '\r' => grid.move_to(0, grid.cursor.row),
            '\n' | '\u{b}' | '\u{c}' => {
                grid.feed();
                if returns {
                    grid.move_to(0, grid.cursor.row);
                }
            }
            '\u{8}' => grid.move_to(grid.cursor.column.saturating_sub(1), grid.cursor.row),
            '\t' => grid.tab(),
            '\u{e}' => self.shifted = true,
            '\u{f}' => self.shifted = false,
            _ => {}
        }
    }

    fn escape(&mut self, intermediates: &str, last: char) {
        let [first, second] = &mut self.line_drawing;
        match (intermediates, last) {
            ("(", _) => *first = last == '0',
            (")", _) => *second = last == '0',
            ("", '7') => self.grid().saved = self.active_grid().cursor,
            ("", '8') => self.grid().restore(),
            ("", 'D') => self.grid().feed(),
            ("", 'M') => self.grid().feed_back(),
            ("", 'E') => {
                self.grid().feed();
                let row = self.active_grid().cursor.row;
                self.grid().move_to(0, row);
            }
            ("", 'c') => self.reset(),
            _ => {}
        }
    }

    fn control_sequence(&mut self, csi: Csi<'_>) {
        let Csi { parameters, intermediates, last } = csi;
        match parameters.chars().next() {
            _ if !intermediates.is_empty() => {}
            Some('?') => self.private_mode(parameters.get(1..).unwrap_or_default(), last),
            Some('<'..='>') => self.private_query(parameters, last),
            _ if last == 'm' => self.grid().cursor.style.apply(parameters),
            _ => self.sequence(parameters, last),
        }
    }

    fn sequence(&mut self, parameters: &str, last: char) {
        let mut numbers = parameters.split(';').map(|number| number.parse::<usize>().ok());
        let (first, second) = (numbers.next().flatten(), numbers.next().flatten());
        let count = first.unwrap_or(1).clamp(1, usize::from(MAX_CELLS));
        let steps = isize::try_from(count).unwrap_or(1);
        let index = |number: Option<usize>| number.unwrap_or(1).max(1) - 1;
        let top = if self.origin { self.active_grid().top() } else { 0 };
        let (column, row) = (self.active_grid().cursor.column, self.active_grid().cursor.row);
        let grid = self.grid();
        match last {
            'A' => grid.move_by(0, -steps),
            'B' | 'e' => grid.move_by(0, steps),
            'C' | 'a' => grid.move_by(steps, 0),
            'D' => grid.move_by(-steps, 0),
            'E' | 'F' => {
                grid.move_by(0, if last == 'E' { steps } else { -steps });
                grid.move_to(0, grid.cursor.row);
            }
            'G' | '`' => grid.move_to(index(first), row),
            'H' | 'f' => grid.move_to(index(second), index(first).saturating_add(top)),
            'd' => grid.move_to(column, index(first).saturating_add(top)),
            'J' | 'K' => erase(grid, first.unwrap_or(0), last),
            'L' => grid.insert_rows(count),
            'M' => grid.delete_rows(count),
            '@' => grid.insert_characters(count),
            'P' => grid.delete_characters(count),
            'X' => grid.erase_characters(count),
            'S' => grid.scroll_up(count),
            'T' => grid.scroll_down(count),
            'r' => {
                // A bottom of 0, or none, means the last row.
                let bottom = second.filter(|row| *row > 0).unwrap_or(usize::MAX) - 1;
                if grid.set_margins(index(first), bottom) {
                    let top = if self.origin { self.active_grid().top() } else { 0 };
                    self.grid().move_to(0, top);
                }
            }
            's' => grid.saved = grid.cursor,
            'u' => grid.restore(),
            'b' => {
                let mut buffer = [0; 4];
                let repeated = self.last.encode_utf8(&mut buffer).as_bytes().repeat(count);
                self.print(&repeated);
            }
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

    /// Answers queries of the form `ESC [ > c`.
    fn private_query(&mut self, parameters: &str, last: char) {
        if last == 'c' && parameters.starts_with('>') {
            self.answer("\u{1b}[>0;0;0c");
        }
    }

    fn private_mode(&mut self, parameters: &str, last: char) {
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
                    let top = if on { self.active_grid().top() } else { 0 };
                    self.grid().move_to(0, top);
                }
                "7" => self.wraps = on,
                "25" => self.hidden = !on,
                "47" | "1047" | "1049" => self.switch(on),
                "1048" if on => self.grid().saved = self.active_grid().cursor,
                "1048" => self.grid().restore(),
                "1000" | "1002" | "1003" => self.modes.mouse = on,
                "1006" => self.modes.mouse_sgr = on,
                "2004" => self.modes.bracketed_paste = on,
                _ => {}
            }
        }
    }

    /// Switches to the alternate screen, or back.
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
            // xterm also restores the cursor in any case.
            (false, false) => self.main.restore(),
            (true, true) => {}
        }
    }

    /// Resets the terminal. The screen scrolls off, so that no line is lost.
    fn reset(&mut self) {
        self.alternate = None;
        let (columns, rows) = self.main.size();
        let used = self.main.used_rows();
        self.main.set_margins(0, rows);
        self.main.cursor = Cursor::default();
        self.main.scroll_up(used);
        self.main.saved = Cursor::default();
        self.main.resize(columns, rows);
        let main = std::mem::replace(&mut self.main, Grid::new(1, 1, true));
        let returns = self.returns;
        *self = TerminalScreen { main, returns, ..TerminalScreen::new(1, 1) };
    }

    fn answer(&mut self, text: &str) {
        if self.answers.len() + text.len() <= MAX_ANSWERS {
            self.answers.push_str(text);
        }
    }
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

/// The line drawing character set of the VT100.
fn line_drawing(character: char) -> char {
    const DRAWINGS: &str = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·";
    let index =
        u32::from(character).checked_sub(u32::from('`')).and_then(|index| usize::try_from(index).ok());
    index.and_then(|index| DRAWINGS.chars().nth(index)).unwrap_or(character)
}
