//! The terminal screen against another one: the same bytes give the same cells.
//!
//! The other one is the emulator used by the tests of the real program. Sequences known to be interpreted
//! differently (moving half a wide character away) are not tried here.

use tau::tools::vt::{TerminalScreen, ToCursor};
use unicode_width::UnicodeWidthChar;

use crate::support::dice::Dice;

/// The columns and rows of most screens here.
const SIZE: (u16, u16) = (20, 6);

fn row_text(row: &tau::tools::vt::ScreenRow) -> String {
    let mut text = String::new();
    for (column, cell) in row.cells().iter().enumerate() {
        let cell = cell.text();
        if !cell.is_empty() {
            // After a tab there are cells without text.
            let gap = column.saturating_sub(text.chars().map(|c| c.width().unwrap_or(0)).sum());
            text.push_str(&" ".repeat(gap));
        }
        text.push_str(&cell);
    }
    text.trim_end().to_owned()
}

fn ours(screen: &TerminalScreen) -> Vec<String> {
    screen.rows().map(row_text).collect()
}

fn theirs(screen: &vt100::Screen) -> Vec<String> {
    let (_, columns) = screen.size();
    screen.rows(0, columns.get()).map(|row| row.trim_end().to_owned()).collect()
}

/// Both screens after the text; ours gets it in pieces of this size.
#[track_caller]
fn check(text: &str, piece: usize) {
    let mut other = vt100::Parser::new(SIZE.1.try_into().unwrap(), SIZE.0.try_into().unwrap(), 0);
    other.process(text.as_bytes());
    let mut screen = TerminalScreen::new(SIZE.0, SIZE.1);
    let characters: Vec<char> = text.chars().collect();
    for part in characters.chunks(piece) {
        screen.write(&part.iter().collect::<String>());
    }
    let other = other.screen();
    assert_eq!(ours(&screen), theirs(other), "{text:?} by {piece}");
    let (row, column) = other.cursor_position();
    // A cursor after the last column is reported as being in it.
    let expected = (!other.hide_cursor()).then_some((column.min(SIZE.0 - 1), row));
    assert_eq!(screen.cursor(), expected, "{text:?} by {piece}");
    assert_eq!(screen.is_full(), other.alternate_screen(), "{text:?}");
    assert_eq!(screen.modes().application_cursor, other.application_cursor(), "{text:?}");
    assert_eq!(screen.modes().bracketed_paste, other.bracketed_paste(), "{text:?}");
}

#[test]
fn what_programs_write_gives_the_same_cells() {
    let cases = [
        "plain\r\ntext",
        "0123456789012345678901234",
        "한국어 漢字 wide characters",
        "0123456789012345678漢x",
        "e\u{301}x",
        "one\r\ntwo\r\n\x1b[2A\x1b[Kuno\r\n",
        "\x1b[2J\x1b[3;4Hhere\x1b[1;1Hthere",
        "a\x1b[5Cb\x1b[3Dc\x1b[2Bd\x1b[Ae",
        "12345\x1b[1G\x1b[2@ab\x1b[2P",
        "12345\x1b[3G\x1b[2X",
        "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8",
        "1\r\n2\r\n3\r\n4\r\n5\x1b[2;4r\x1b[4;1H\n\n\x1b[2;1H\x1bMtop",
        "1\r\n2\r\n3\r\n4\x1b[2;1H\x1b[L2a\x1b[3;1H\x1b[M",
        "1\r\n2\r\n3\x1b[2S",
        "1\r\n2\r\n3\x1b[T",
        "shell\x1b[?1049h\x1b[2J\x1b[H editor\x1b[?25l",
        "shell\x1b[?1049h\x1b[2J\x1b[H editor\x1b[?1049l$ ",
        "\x1b7\x1b[4;4Hx\x1b8y",
        "\x1b]0;title\x07after\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
        "\x1b[?1h\x1b[?2004h\x1b[31;1mred\x1b[m",
        "a\tb\tc",
        "\x1bPq\"1;1\x1b\\x",
        "left\x1b[1Ku\x1b[1J!",
        "漢漢漢\x1b[2Gx",
        "漢漢漢\x1b[4G\x1b[P",
    ];
    for case in cases {
        for piece in [1, 3, 1_000] {
            check(case, piece);
        }
    }
}

#[test]
fn random_sequences_give_the_same_cells() {
    for seed in 0..400 {
        let mut dice = Dice::new(seed);
        let mut text = String::new();
        for _ in 0..40 {
            let (n, m) = (dice.below(9), dice.below(24));
            text.push_str(&match dice.below(22) {
                // The pending state after the last column is interpreted differently, so the cursor leaves
                // it.
                0..=4 => {
                    format!("{}\x1b[{}G", dice.pick(&["words ", "x", "y", "0123456789", "é"]), m % 19 + 1)
                }
                5 | 6 => "\r\n".to_owned(),
                7 => "\r".to_owned(),
                8 => format!("\x1b[{n};{m}H"),
                9 => format!("\x1b[{n}{}", dice.pick(&['A', 'B', 'C', 'D'])),
                10 => format!("\x1b[{}{}", dice.below(3), dice.pick(&['J', 'K'])),
                11 => format!("\x1b[{n}{}", dice.pick(&['L', 'M'])),
                12 => format!("\x1b[{n}{}", dice.pick(&['G', 'd'])),
                13 => format!("\x1b[{n}{}", dice.pick(&['@', 'P', 'X'])),
                14 => "\x1b[r\x1b[H\x1bM".to_owned(),
                15 => format!("\x1b[{};{}r\x1b[H", n % 4, n % 4 + 2 + dice.below(2)),
                16 => "\x1b7".to_owned(),
                17 => "\x1b8".to_owned(),
                18 => format!("\x1b[3{}m", dice.below(9)),
                19 => "\x1b[9G\x08".to_owned(),
                20 => dice.pick(&["\x1b[?25l", "\x1b[?25h", "\x1b[m"]).to_string(),
                _ => "\r\n\r\n".to_owned(),
            });
        }
        check(&text, 1 + dice.below(60));
    }
}

/// All lines that left the screen and all that are on it.
fn all_lines(screen: &mut TerminalScreen) -> Vec<String> {
    let mut lines: Vec<String> = screen.take_scrolled_off().into_iter().map(|line| line.text).collect();
    lines.extend(screen.lines(ToCursor::No).into_iter().map(|line| line.text));
    lines
}

#[test]
fn no_line_is_lost_or_delivered_twice() {
    let cases: &[(&str, &[&str])] = &[
        ("1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n", &["1", "2", "3", "4", "5", "6", "7", "8", "9"]),
        // Progress bars that move up and redraw themselves.
        (
            "a 1%\r\nb 1%\r\n\x1b[2Aa 50%\r\nb 50%\r\n\x1b[2Aa 100%\r\nb 100%\r\ndone\r\n",
            &["a 100%", "b 100%", "done"],
        ),
        // A line over several rows is one line, even when it leaves the screen.
        (
            "0123456789012345678901234567890123456789\r\n1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n",
            &["0123456789012345678901234567890123456789", "1", "2", "3", "4", "5", "6"],
        ),
        (
            "before\r\n\x1b[?1049h\x1b[H1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\x1b[?1049lafter",
            &["before", "after"],
        ),
        ("kept\r\n\x1bcnew", &["kept", "new"]),
        ("tab\there", &["tab\there"]),
    ];
    for (text, expected) in cases {
        let mut screen = TerminalScreen::new(SIZE.0, SIZE.1);
        screen.write(text);
        assert_eq!(all_lines(&mut screen), *expected, "{text:?}");
    }
    for (columns, rows) in [(20, 2), (5, 6), (40, 12), (1, 1)] {
        let mut screen = TerminalScreen::new(SIZE.0, SIZE.1);
        screen.write("one\r\ntwo\r\nthree\r\nfour");
        screen.resize(columns, rows);
        assert_eq!(all_lines(&mut screen), ["one", "two", "three", "four"], "{columns}x{rows}");
    }
}

#[test]
fn questions_of_programs_are_answered() {
    let cases = [
        ("\x1b[6n", "\x1b[1;1R"),
        ("ab\r\nc\x1b[6n", "\x1b[2;2R"),
        ("\x1b[5n", "\x1b[0n"),
        ("\x1b[c", "\x1b[?6c"),
        ("\x1b[>c", "\x1b[>0;0;0c"),
        ("\x1b[?c plain", ""),
    ];
    for (question, answer) in cases {
        let mut screen = TerminalScreen::new(SIZE.0, SIZE.1);
        screen.write(question);
        assert_eq!(screen.take_answers(), answer, "{question:?}");
        assert_eq!(screen.take_answers(), "");
    }
    let mut screen = TerminalScreen::new(SIZE.0, SIZE.1);
    screen.write(&"\x1b[6n".repeat(10_000));
    assert!(screen.take_answers().len() <= 1_024, "answers are bounded");
}

#[test]
fn nothing_that_is_written_does_harm() {
    let pieces = [
        "\x1b[", "\x1b]", "\x1b(0", "\x0e", "\x0f", "99999999999999999999", ";", "?", "1049", "h", "l", "r",
        "m", "b", "S", "T", "@", "P", "L", "M", "H", "J", "K", "漢", "\u{200d}", "\u{301}", "x", "\t", "\n",
        "\r", "\x08", "\x1bc", "\x1bM", "\x1bD", "\u{9b}", "\u{7f}", "\0", "4h", "?6h", "?7l", "2;3r", "👨‍👩‍👧",
        "é", "48;2;1;2;3m",
    ];
    for seed in 0..1_500 {
        let mut dice = Dice::new(seed);
        let mut screen = TerminalScreen::new(dice.below(9) as u16, dice.below(5) as u16);
        for _ in 0..120 {
            let piece: &&str = dice.pick(&pieces);
            screen.write(piece);
            if dice.below(12) == 0 {
                screen.resize(dice.below(40) as u16, dice.below(9) as u16);
            }
            let (columns, rows) = screen.size();
            assert_eq!(screen.rows().count(), usize::from(rows));
            if let Some((column, row)) = screen.cursor() {
                assert!(column < columns && row < rows, "{seed}");
            }
            let lines = screen.take_scrolled_off();
            let mut texts = lines
                .iter()
                .chain(&screen.lines(ToCursor::Yes))
                .map(|line| &line.text)
                .cloned()
                .collect::<Vec<_>>();
            texts.extend(ours(&screen));
            assert!(!texts.concat().contains(|c: char| c.is_control() && c != '\t'), "{seed}: {texts:?}");
        }
        let copy = screen.clone();
        assert_eq!(copy, screen);
    }
}
