//! The panel selected with the keyboard: which one, where it is drawn, and its keys.

use serde_json::json;
use tau::app::request::{EditorSource, ScreenRequest};
use tau::app::{Effect, Msg};
use tau::tools::{Details, ToolOutput};
use tau::view::Memo;
use tau::view::color::ColorDepth;

use crate::harness::{Screen, frames, text};
use crate::panels::{asks, click, edited, ends, has, output, shown, starts};

/// A question, two reads in a row, a command with a long output, and an answer with code.
fn worked() -> Screen {
    let mut screen = Screen::new();
    screen.user("why does it fail?");
    screen.run();
    let reads = [("r1", "src/a.rs"), ("r2", "src/b.rs")];
    let read = |path: &str| json!({"path": path, "offset": 12});
    asks(&mut screen, &reads.map(|(id, path)| (id, "read", read(path))));
    for (id, path) in reads {
        starts(&mut screen, id, "read", &read(path));
        ends(&mut screen, id, ToolOutput::new(format!("text of {path}"), Details::None), false, Some(1));
    }
    let command = json!({"command": "cargo test"});
    asks(&mut screen, &[("b", "bash", command.clone())]);
    starts(&mut screen, "b", "bash", &command);
    let lines: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    ends(&mut screen, "b", output(&lines, 0), false, Some(5));
    screen.answer("It is this:\n\n```rust\nfn main() {}\n```\n\nand nothing else.", 7);
    screen.settle();
    screen.take_effects();
    screen
}

/// The marked rows: with a bar at the left edge, or as the head of the selected panel.
fn marked(screen: &mut Screen) -> Vec<String> {
    let buffer = screen.draw();
    let shown = text(&buffer);
    let selected = tau::view::theme::Theme::builtin("dark").unwrap();
    let selected = selected.style(tau::view::theme::ThemeToken::OverlaySelected).bg;
    let is_marked =
        |(y, row): &(usize, &str)| row.starts_with('┃') || Some(buffer[(40, *y as u16)].bg) == selected;
    shown.lines().enumerate().filter(is_marked).map(|(_, row)| without_bar(row)).collect()
}

/// A row without the scroll bar.
fn without_bar(row: &str) -> String {
    row.trim_end_matches("↓ end · ctrl+end").trim_end_matches(['│', '┃', ' ']).to_owned()
}

#[track_caller]
fn copied(screen: &mut Screen, keys: &str) -> String {
    screen.take_effects();
    screen.keys(keys);
    match screen.take_effects().as_slice() {
        [Effect::Copy(text), Effect::Ask(_, ScreenRequest::Clipboard { text: local })] if text == local => {
            text.clone()
        }
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn opened(screen: &mut Screen) -> EditorSource {
    screen.take_effects();
    screen.keys("e");
    match screen.take_effects().as_slice() {
        [Effect::Ask(_, ScreenRequest::OpenInEditor { source })] => source.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn keys_go_from_panel_to_panel_and_what_is_selected_is_marked_and_copied() {
    let mut screen = worked();
    screen.keys("<tab>");
    assert_eq!(marked(&mut screen), ["┃ ╭─ rust", "┃ │ fn main() {}", "┃ ╰─"]);
    has(&mut screen, &["c copies · e opens · esc leaves"]);
    assert_eq!(copied(&mut screen, "c"), "fn main() {}");
    assert_eq!(
        opened(&mut screen),
        EditorSource::Text { text: "fn main() {}".into(), ending: ".rust".into() }
    );
    screen.keys("<up>");
    assert_eq!(marked(&mut screen).first().map(String::as_str), Some("┃ It is this:"));
    let answer = copied(&mut screen, "c");
    assert_eq!(answer, "It is this:\n\n```rust\nfn main() {}\n```\n\nand nothing else.");
    screen.keys("<up>");
    let bash = marked(&mut screen);
    assert!(bash[0].contains("bash  cargo test") && bash[1].contains("23 hidden lines"), "{bash:?}");
    assert_eq!(copied(&mut screen, "y"), "cargo test");
    assert!(copied(&mut screen, "c").starts_with("line 1\nline 2\n"), "also what is folded");
    screen.keys("<up>");
    assert_eq!(marked(&mut screen), ["● read  src/a.rs, src/b.rs"]);
    assert_eq!(
        copied(&mut screen, "c"),
        "read src/a.rs\ntext of src/a.rs\n\nread src/b.rs\ntext of src/b.rs"
    );
    assert_eq!(opened(&mut screen), EditorSource::File { path: "src/a.rs".into(), line: Some(12) });
    screen.keys("<up>");
    assert_eq!(marked(&mut screen), ["▌ why does it fail?"]);
    screen.keys("<up><up><down>");
    assert!(marked(&mut screen)[0].starts_with("● read"));
    screen.keys("<down><down><down><down>");
    assert_eq!(marked(&mut screen), [""; 0], "after the last panel comes the composer");
    assert!(!shown(&mut screen).contains("esc leaves"));
}

#[test]
fn only_the_selected_panel_is_unfolded() {
    let mut screen = worked();
    screen.keys("<alt+o><up><up><enter>");
    has(&mut screen, &["┃ line 1 ", "enter collapses"]);
    assert!(!shown(&mut screen).contains("text of src/a.rs"));
    screen.keys(" ");
    assert!(!shown(&mut screen).contains("┃ line 1 "));
    screen.keys("<up> ");
    has(&mut screen, &["│ text of src/b.rs", "┃ text of src/a.rs", "⋯ 23 hidden lines"]);
    // The second one of the row is the first again when they are folded.
    screen.keys("<down>");
    assert!(marked(&mut screen)[0].contains("src/b.rs"));
    screen.keys("<enter>");
    assert_eq!(marked(&mut screen), ["● read  src/a.rs, src/b.rs"]);
}

#[test]
fn other_keys_go_to_the_composer_and_those_that_scroll_do_not_leave() {
    let mut screen = worked();
    screen.keys("<tab><pageup>");
    has(&mut screen, &["esc leaves"]);
    screen.keys("hello");
    assert_eq!(screen.model().composer.text(), "hello");
    assert!(!shown(&mut screen).contains("esc leaves"));
    screen.keys("<alt+o><esc>");
    assert!(!shown(&mut screen).contains("esc leaves"));
    assert_eq!(screen.model().composer.text(), "hello");
    screen.keys("<alt+o>");
    screen.send(Msg::Paste(" there".into()));
    assert_eq!(screen.model().composer.text(), "hello there");
    let mut empty = Screen::new();
    empty.keys("<tab>");
    has(&mut empty, &["nothing to select yet"]);
}

#[test]
fn nothing_moves_the_selected_panel() {
    let mut screen = worked();
    screen.keys("<tab><up><up>");
    let before = shown(&mut screen);
    // The first row may be covered by the prompt.
    let rows = |shown: &str| shown.lines().take(12).skip(1).map(without_bar).collect::<Vec<_>>();
    let long: String = (0..60).map(|n| format!("more {n}\n\n")).collect();
    screen.answer(&long, 50);
    assert_eq!(rows(&shown(&mut screen)), rows(&before));
    screen.keys("<esc>");
    assert_eq!(rows(&shown(&mut screen)), rows(&before.replace('┃', "│")));
    has(&mut screen, &["↓ 1 new message"]);
    // At the end the view follows again.
    screen.keys("<ctrl+end><tab><esc>");
    screen.answer("the last words", 50);
    has(&mut screen, &["the last words"]);
}

#[test]
fn a_panel_is_brought_into_sight() {
    let mut screen = Screen::new();
    for name in ["one", "two", "three", "four"] {
        screen.user(name);
        let rows: String = (0..30).map(|n| format!("{name} {n}\n\n")).collect();
        screen.answer(&rows, 100);
    }
    screen.keys("<tab><up>");
    assert_eq!(marked(&mut screen), ["▌ four"]);
    screen.keys("<up><up>");
    assert_eq!(marked(&mut screen), ["▌ three"]);
    screen.keys("<up>");
    let answer = marked(&mut screen);
    assert_eq!(answer.first().map(String::as_str), Some("┃ two 0"), "{answer:#?}");
    screen.keys("<down>");
    assert_eq!(marked(&mut screen), ["▌ three"]);
    screen.keys("<down>");
    assert!(marked(&mut screen).len() > 8, "much of it is in sight");
}

#[test]
fn an_edit_is_copied_as_a_diff_and_opened_where_it_changed() {
    for width in [80, 160] {
        let mut screen = Screen::new();
        screen.send(Msg::Resized(tau::app::geometry::Size { width, height: 24 }));
        edited(&mut screen);
        screen.keys("<tab>");
        let diff = copied(&mut screen, "c");
        assert!(diff.starts_with("--- a/src/a.rs\n+++ b/src/a.rs\n@@ -9,5 +9,5 @@\n fn total("), "{diff}");
        assert_eq!(opened(&mut screen), EditorSource::File { path: "src/a.rs".into(), line: Some(10) });
        assert_eq!(copied(&mut screen, "y"), "src/a.rs");
    }
}

#[test]
fn the_mark_needs_no_colour_and_fits_every_size() {
    let mut screen = worked();
    screen.keys("<tab><up><up>");
    frames(&mut screen, "selected-panel");
    screen.memo = Memo::new(ColorDepth::None, std::collections::HashMap::new());
    let buffer = screen.draw();
    let head = text(&buffer).lines().position(|row| row.contains("cargo test")).unwrap() as u16;
    assert_ne!(buffer[(10, head)].modifier, buffer[(10, head + 3)].modifier);
    assert!(text(&buffer).contains("┃ line 30"));
}

#[test]
fn a_click_on_the_pinned_prompt_goes_to_it() {
    let mut screen = Screen::new();
    screen.user("the question\nof two lines");
    let answer: String = (0..60).map(|at| format!("answer {at}\n\n")).collect();
    screen.answer(&answer, 500);
    screen.keys("<pageup>");
    assert!(!shown(&mut screen).contains("of two lines"));
    click(&mut screen, 0);
    has(&mut screen, &["▌ of two lines", "answer 0"]);
}

#[test]
fn a_prompt_names_no_keys_that_the_selected_panel_has() {
    let mut screen = crate::approvals::waiting(crate::approvals::command_request("1", "ls", (0, 2)));
    has(&mut screen, &["Yes, once (y)"]);
    screen.keys("<alt+o>");
    let shown_now = shown(&mut screen);
    assert!(!shown_now.contains("Yes, once") && shown_now.contains("esc then answer"), "{shown_now}");
    screen.keys("<esc>");
    has(&mut screen, &["Yes, once (y)"]);
    assert_eq!(crate::approvals::answers(&mut screen), []);
}
