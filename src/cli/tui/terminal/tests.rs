//! Output to the terminal: frames, and text outside frames.

use super::*;

fn screen(width: u16, height: u16) -> FullScreen {
    let mut screen = FullScreen::default();
    screen.fit(Rect::new(0, 0, width, height));
    screen.compose(None, &mut Vec::new()).unwrap();
    screen
}

/// The bytes that turn the previous frame into `line` with the cursor at `cursor`.
fn step(screen: &mut FullScreen, line: &str, cursor: Option<(u16, u16)>) -> String {
    let mut out = Vec::new();
    screen.next.reset();
    screen.next.buffer().set_string(0, 0, line, ratatui::style::Style::new());
    screen.compose(cursor, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_frame_like_the_one_before_writes_nothing() {
    let mut tty = screen(20, 2);
    assert!(step(&mut tty, "hello", Some((5, 0))).contains("hello"));
    assert_eq!(step(&mut tty, "hello", Some((5, 0))), "");
    let moved = step(&mut tty, "hello", Some((4, 0)));
    assert_eq!(moved, "\x1b[?2026h\x1b[1;5H\x1b[?2026l");
    assert_eq!(step(&mut tty, "hello", None), "\x1b[?2026h\x1b[?25l\x1b[?2026l");
    assert_eq!(step(&mut tty, "hello", None), "");
}

#[test]
fn every_frame_is_synchronised_and_leaves_the_cursor_as_asked() {
    let mut tty = screen(20, 2);
    let mut screen = vt100::Parser::new(2.try_into().unwrap(), 20.try_into().unwrap(), 0);
    let frames = [("one", Some((3, 0))), ("two", None), ("2", Some((1, 0))), ("日本", Some((4, 0)))];
    for (line, cursor) in frames {
        let bytes = step(&mut tty, line, cursor);
        assert!(bytes.starts_with("\x1b[?2026h") && bytes.ends_with("\x1b[?2026l"), "{bytes:?}");
        screen.process(bytes.as_bytes());
        assert_eq!(screen.screen().contents().trim_end(), line);
        assert_eq!(screen.screen().hide_cursor(), cursor.is_none(), "{line}");
        if let Some((x, y)) = cursor {
            assert_eq!(screen.screen().cursor_position(), (y, x));
        }
    }
}

#[test]
fn a_new_size_and_a_redraw_begin_from_a_blank_screen() {
    let mut tty = screen(20, 2);
    step(&mut tty, "hello", None);
    for wide in [10, 30] {
        tty.fit(Rect::new(0, 0, wide, 3));
        let bytes = step(&mut tty, "hello", None);
        assert!(bytes.contains("\x1b[2J") && bytes.contains("hello"), "{bytes:?}");
    }
    tty.forget();
    tty.fit(Rect::new(0, 0, 30, 3));
    assert!(step(&mut tty, "hello", None).contains("hello"));
    tty.fit(Rect::new(0, 0, 0, 0));
    tty.compose(None, &mut Vec::new()).unwrap();
}

#[test]
fn text_outside_a_frame_carries_no_control_sequence() {
    let cases = [
        ("a\x1b]0;evil\x07b", "a]0;evilb"),
        ("tau\u{9b}31m \u{202e}x\u{200b}", "tau31m x"),
        ("日本 café", "日本 café"),
        ("a\u{61c}b\u{115f}c\u{3164}d\u{ffa0}e\u{180e}f\u{e0041}g", "abcdefg"),
        ("line\r\nnext", "linenext"),
    ];
    for (text, shown) in cases {
        assert_eq!(plain(text), shown);
    }
}
