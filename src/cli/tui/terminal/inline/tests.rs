//! The terminal's content, scrollback and screen, after frames on the shell's screen.

use proptest::prelude::*;
use ratatui::style::Style;

use super::*;

const WIDTH: u16 = 16;
const HEIGHT: u16 = 6;

/// A terminal in which a shell has written two lines, and the region below them.
struct Shell {
    terminal: vt100::Parser,
    region: InlineScreen,
    /// The permanently printed rows.
    printed: Vec<String>,
}

impl Shell {
    fn new() -> Self {
        let mut terminal = vt100::Parser::new(HEIGHT.try_into().unwrap(), WIDTH.try_into().unwrap(), 1_000);
        terminal.process(b"$ one\r\n$ two\r\n");
        let printed = vec!["$ one".to_owned(), "$ two".to_owned()];
        Shell { terminal, region: InlineScreen::new(false), printed }
    }

    /// Draws a frame; returns its bytes.
    fn draw(&mut self, finished: &[String], live: &[String], cursor: Option<(u16, u16)>) -> Vec<u8> {
        self.draw_as(finished, live, cursor, false)
    }

    /// Draws a frame whose region covers the rows above it, or does not.
    fn draw_as(
        &mut self,
        finished: &[String],
        live: &[String],
        cursor: Option<(u16, u16)>,
        floats: bool,
    ) -> Vec<u8> {
        let width = self.terminal.screen().size().1.get();
        let rows = u16::try_from(finished.len() + live.len()).unwrap();
        let mut next = Frame::blank(Rect::new(0, 0, width, rows));
        for (y, text) in (0..).zip(finished.iter().chain(live)) {
            next.buffer().set_string(0, y, text, Style::new());
        }
        let finished_rows = u16::try_from(finished.len()).unwrap();
        let cursor = cursor.map(|(x, y)| (x, y + finished_rows));
        let mut out = Vec::new();
        let painted = FrameProperties { cursor, finished: finished_rows, floats };
        self.region.compose(&next, painted, HEIGHT, &mut out).unwrap();
        self.terminal.process(&out);
        self.printed.extend_from_slice(finished);
        out
    }

    /// All rows of the terminal, without empty ones at the end.
    fn rows(&mut self) -> Vec<String> {
        let width = self.terminal.screen().size().1.get();
        let screen = self.terminal.screen_mut();
        let above = screen.scrollback_len();
        let mut rows = Vec::new();
        for offset in (1..=above).rev() {
            screen.set_scrollback(offset);
            rows.extend(screen.rows(0, width).next());
        }
        screen.set_scrollback(0);
        rows.extend(screen.rows(0, width));
        trim_rows(rows)
    }

    fn expected_rows(&self, live: &[String]) -> Vec<String> {
        trim_rows(self.printed.iter().chain(live).cloned().collect())
    }
}

fn trim_rows(mut rows: Vec<String>) -> Vec<String> {
    rows.iter_mut().for_each(|row| row.truncate(row.trim_end().len()));
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[derive(Clone, Debug)]
enum Step {
    Frame {
        finished: Vec<String>,
        live: Vec<String>,
        cursor: Option<(u16, u16)>,
    },
    /// A list opens, or is drawn again while rows are finished.
    List {
        finished: Vec<String>,
        list: Vec<String>,
    },
    /// The terminal gets another width, and cuts overlong rows.
    Resize {
        width: u16,
    },
    /// tau is suspended, the shell writes a line, tau comes back.
    Suspend,
}

fn step() -> impl Strategy<Value = Step> {
    let text = || "[ a-c日é]{0,7}";
    let frame = (
        prop::collection::vec(text(), 0..14),
        prop::collection::vec(text(), 1..=usize::from(HEIGHT)),
        prop::option::of((0..WIDTH / 2, 0..HEIGHT)),
    );
    let list =
        (prop::collection::vec(text(), 0..9), prop::collection::vec("[x-z]{1,7}", 1..=usize::from(HEIGHT)));
    prop_oneof![
        4 => list.prop_map(|(finished, list)| Step::List { finished, list }),
        8 => frame.prop_map(|(finished, live, cursor)| Step::Frame { finished, live, cursor }),
        1 => (WIDTH / 2..WIDTH * 2).prop_map(|width| Step::Resize { width }),
        1 => Just(Step::Suspend),
    ]
}

proptest! {
    #[test]
    fn nothing_is_lost_and_nothing_is_printed_twice(steps in prop::collection::vec(step(), 1..40)) {
        let mut shell = Shell::new();
        let mut shown = Vec::new();
        for step in steps {
            match step {
                Step::Frame { finished, live, cursor } => {
                    // Rows that fit any width.
                    let fit = |row: String| row.chars().take(4).collect::<String>();
                    let (finished, live): (Vec<_>, Vec<_>) =
                        (finished.into_iter().map(fit).collect(), live.into_iter().map(fit).collect());
                    shell.draw(&finished, &live, cursor);
                    if let Some((x, y)) = cursor.filter(|(_, y)| usize::from(*y) < live.len()) {
                        let rows = shell.expected_rows(&[]).len().max(shell.printed.len());
                        let at = shell.terminal.screen().cursor_position();
                        let above = shell.terminal.screen().scrollback_len();
                        prop_assert_eq!((usize::from(at.0) + above, at.1), (rows + usize::from(y), x));
                    }
                    shown = live;
                }
                Step::List { finished, list } => {
                    let fit = |row: String| row.chars().take(4).collect::<String>();
                    let finished: Vec<_> = finished.into_iter().map(fit).collect();
                    let (room, above) = (shell.region.room(), shell.terminal.screen().scrollback_len());
                    shell.draw_as(&finished, &list, None, true);
                    if finished.is_empty() && list.len() <= usize::from(room) {
                        prop_assert_eq!(shell.terminal.screen().scrollback_len(), above, "there was room");
                    }
                    // Closing it restores the rows that it covered, in place.
                    shown = texts(&["> "]);
                    shell.draw(&[], &shown, None);
                }
                Step::Resize { width } => {
                    let height = HEIGHT.try_into().unwrap();
                    shell.terminal.screen_mut().set_size(height, width.try_into().unwrap());
                    shell.region.redraw();
                    let live = shown.clone();
                    if !live.is_empty() {
                        shell.draw(&[], &live, None);
                    }
                }
                Step::Suspend => {
                    let bytes = shell.region.erase();
                    shell.terminal.process(bytes.as_bytes());
                    shell.terminal.process(b"$ fg\r\n");
                    shell.printed.push("$ fg".to_owned());
                    shown.clear();
                }
            }
            let wanted = shell.expected_rows(&shown);
            prop_assert_eq!(shell.rows(), wanted);
        }
    }
}

#[test]
fn a_frame_like_the_one_before_writes_nothing_and_small_changes_little() {
    let mut shell = Shell::new();
    let live = texts(&["answering", "> ", "footer"]);
    assert!(!shell.draw(&[], &live, Some((2, 1))).is_empty());
    assert!(shell.draw(&[], &live, Some((2, 1))).is_empty());
    let moved = shell.draw(&[], &live, Some((3, 1)));
    assert_eq!(String::from_utf8(moved).unwrap(), "\x1b[?2026h\x1b[?25l\r\x1b[3C\x1b[?25h\x1b[?2026l");
    // Live rows stay in place when they are finished: they are not written again.
    let frame = shell.draw(&live[..1], &texts(&["> ", "footer", "more"]), Some((2, 0)));
    let text = String::from_utf8(frame).unwrap();
    assert!(text.contains("more") && !text.contains("answering") && !text.contains("footer"), "{text:?}");
}

#[test]
fn the_cursor_is_below_what_is_finished() {
    let mut shell = Shell::new();
    shell.draw(&[], &texts(&["", "", "", ""]), None);
    shell.draw(&texts(&["", "", "a"]), &texts(&[""]), None);
    shell.draw(&[], &texts(&["b"]), None);
    assert_eq!(shell.rows(), shell.expected_rows(&texts(&["b"])));
}

#[test]
fn rows_that_the_terminal_wrapped_are_found_again() {
    let mut region = InlineScreen::new(true);
    let mut next = Frame::blank(Rect::new(0, 0, 10, 3));
    next.buffer().set_string(0, 0, "0123456789", Style::new());
    next.buffer().set_string(0, 1, "> 23456", Style::new());
    let painted = FrameProperties { cursor: Some((6, 1)), ..FrameProperties::default() };
    region.compose(&next, painted, HEIGHT, &mut Vec::new()).unwrap();
    for (width, above) in [(10, 1), (9, 2), (5, 3), (4, 4), (20, 1)] {
        assert_eq!(region.rows_above(width), above, "at {width} columns");
    }
    region.reflows = false;
    assert_eq!(region.rows_above(4), 1);
}

#[test]
fn terminals_that_cut_rows_are_known() {
    let said = |variables: &'static [(&str, &str)]| {
        reflows(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    };
    assert!(said(&[("TERM", "xterm-256color")]));
    assert!(said(&[("TERM", "screen-256color"), ("TMUX", "/tmp/x")]));
    assert!(!said(&[("TERM", "xterm-256color"), ("XTERM_VERSION", "XTerm(390)")]));
    assert!(!said(&[("TERM", "screen")]) && !said(&[("TERM", "linux")]));
}

#[test]
fn rows_below_are_free_once_the_terminal_has_told_where_the_cursor_is() {
    for (printed, more, free) in [(1, 0, 2), (1, 1, 1), (1, 2, 0), (2, 0, 1), (3, 0, 0), (5, 2, 0)] {
        let mut shell = Shell::new();
        shell.region = InlineScreen::new(false).asking();
        let live = texts(&["> "]);
        shell.draw(&[], &live, Some((2, 0)));
        assert!(!shell.region.begins_to_ask(), "the cursor may be in the first row");
        let rows: Vec<String> = (0..printed).map(|n| format!("row {n}")).collect();
        shell.draw(&rows, &live, Some((2, 0)));
        assert!(shell.region.begins_to_ask() && !shell.region.begins_to_ask());
        let row = shell.terminal.screen().cursor_position().0;
        // Rows printed before the answer arrives are counted.
        shell.draw(&vec![rows[0].clone(); more], &live, Some((2, 0)));
        shell.region.on_cursor_row(row, HEIGHT);
        assert_eq!(shell.region.free, free, "after {printed} rows and {more}");
        let room = shell.region.room();
        assert_eq!(room, shell.region.above.area().height + 1 + free);
        // Without a query, the report is meaningless.
        shell.region.on_cursor_row(1, HEIGHT);
        assert_eq!(shell.region.room(), room);
        shell.region.redraw();
        shell.draw(&[], &live, Some((2, 0)));
        assert_eq!(shell.region.room(), 1, "nothing is known of a window of another size");
    }
}

#[test]
fn a_list_leaves_the_screen_as_it_was() {
    let long: Vec<String> = (0..20).map(|n| format!("row {n}")).collect();
    let (live, list) = (texts(&["> ", "footer"]), texts(&["list", "a", "b", "c", "d", "end"]));
    let mut shell = Shell::new();
    shell.draw(&long, &live, Some((2, 0)));
    let before = shell.terminal.screen().contents();
    let above = shell.terminal.screen().scrollback_len();
    for rows in [6, 4, 5, 3] {
        shell.draw_as(&[], &list[..rows], Some((1, 1)), true);
        assert_eq!(shell.rows().last(), Some(&list[rows - 1]));
    }
    shell.draw(&[], &live, Some((2, 0)));
    assert_eq!(shell.terminal.screen().contents(), before);
    assert_eq!(shell.terminal.screen().scrollback_len(), above);
    // Rows finished while it is open are printed once it is closed.
    shell.draw_as(&[], &list, None, true);
    shell.draw_as(&texts(&["new 1", "new 2"]), &list, None, true);
    assert!(!shell.terminal.screen().contents().contains("new"));
    shell.draw_as(&texts(&["new 3"]), &list, None, true);
    shell.draw(&texts(&["new 4"]), &live, Some((2, 0)));
    assert_eq!(shell.rows(), shell.expected_rows(&live));
    assert_eq!(shell.rows().last().map(String::as_str), Some("footer"));
    // It is removed together with everything that it covered.
    shell.draw_as(&texts(&["new 5"]), &list, None, true);
    let bytes = shell.region.erase();
    shell.terminal.process(bytes.as_bytes());
    assert_eq!(shell.rows(), shell.expected_rows(&[]));
}

#[test]
fn a_list_that_is_open_while_the_window_changes_hides_nothing_for_good() {
    let long: Vec<String> = (0..20).map(|n| format!("row {n} 日é")).collect();
    let (live, list) = (texts(&["> "]), texts(&["list", "a", "b", "c", "d", "end"]));
    let mut shell = Shell::new();
    shell.draw(&long, &live, None);
    shell.draw_as(&[], &list, None, true);
    shell.terminal.screen_mut().set_size(HEIGHT.try_into().unwrap(), 7.try_into().unwrap());
    shell.region.redraw();
    shell.draw_as(&[], &list, None, true);
    shell.draw(&[], &live, None);
    let text = shell.rows().concat().replace(' ', "");
    for n in 15..20 {
        assert!(text.contains(&format!("row{n}日é")), "{n}: {text}");
    }
}
