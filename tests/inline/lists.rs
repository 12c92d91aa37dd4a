//! Lists and questions on the shell's screen: they leave no blank rows.

use serde_json::json;
use tau::app::Msg;
use tau::app::boot::Boot;
use tau::app::geometry::{FrameLayout, ScreenKind, Size};

use super::{FAST, wait_for_runs};
use crate::approvals::terminal::{calling, play, saying};
use crate::harness::{Screen, boot, text};
use crate::screen::{Screen as Terminal, check_order};

#[test]
fn lists_leave_the_screen_and_the_scrollback_as_they_were() {
    for (columns, rows, prompts) in [(80, 24, 2), (120, 40, 3), (40, 12, 1), (80, 24, 0), (120, 40, 0)] {
        let terminal = Terminal::inline(FAST, "", columns, rows);
        for prompt in 1..=prompts {
            terminal.type_keys("table\r");
            wait_for_runs(&terminal, prompt);
        }
        terminal.wait_for("ask for something");
        let before = terminal.rows();
        let cursor = terminal.screen(vt100::Screen::cursor_position);
        for list in LISTS {
            look_at(&terminal, list, |_| {});
            terminal.wait_until("the cursor of before", |cells| cells.cursor_position() == cursor);
            // A remark in the footer disappears by itself.
            let end = std::time::Instant::now() + crate::screen::TIMEOUT;
            while terminal.rows() != before && std::time::Instant::now() < end {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            assert_eq!(terminal.rows(), before, "{} at {columns}x{rows} after {prompts} prompts", list.0);
        }
        // Later rows are printed below all of it.
        terminal.type_keys("table\r");
        wait_for_runs(&terminal, prompts + 1);
        terminal.type_keys("\x04");
        terminal.wait_for("exit=0");
    }
}

/// The last non-blank row of the screen, and the number of its rows.
fn last_row(terminal: &Terminal) -> (usize, usize) {
    terminal.screen(|cells| {
        let rows: Vec<String> = cells.rows(0, cells.size().1.get()).collect();
        (rows.iter().rposition(|row| !row.trim().is_empty()).unwrap_or(0) + 1, rows.len())
    })
}

/// The rows between the top and the bottom border of the open box.
fn box_rows(terminal: &Terminal) -> usize {
    let rows = terminal.screen(|cells| cells.rows(0, cells.size().1.get()).collect::<Vec<_>>());
    let find = |corner: char| rows.iter().rposition(|row| row.contains(corner)).expect("a box");
    find('└') - find('┌') - 1
}

const LISTS: [(&str, &str); 6] = [
    ("/model", "Models"),
    ("/settings", "Settings"),
    ("/resume", "Sessions"),
    ("/keys", "Keys"),
    ("/theme", "light"),
    ("?", "Keys and commands"),
];

/// Opens a list, inspects it, and closes it.
fn look_at(terminal: &Terminal, (open, shown): (&str, &str), look: impl FnOnce(&Terminal)) {
    terminal.type_keys(open);
    if open.len() > 1 {
        terminal.wait_for_composer(open);
        terminal.type_keys("\r");
    }
    terminal.wait_for(shown);
    terminal.wait_until("a box", |cells| cells.contents().contains('└'));
    look(terminal);
    terminal.type_keys("\x1b");
    terminal.wait_until("the composer", |cells| {
        cells.contents().contains("ask for something") && !cells.contents().contains('└')
    });
}

/// The shell's prompt is at the bottom, and only tau's own rows above it are known.
#[test]
fn lists_of_a_fresh_start_leave_no_blank_rows_at_the_bottom_of_the_screen() {
    for (columns, rows) in [(80, 24), (120, 40), (40, 12)] {
        let terminal = Terminal::inline(&format!("{FAST}; seq 100"), "", columns, rows);
        terminal.wait_for("ask for something");
        terminal.wait_for("--base-url");
        assert_eq!(last_row(&terminal), (rows.into(), rows.into()), "{}", terminal.text());
        for list in LISTS {
            look_at(&terminal, list, |_| {});
            assert_eq!(
                last_row(&terminal),
                (rows.into(), rows.into()),
                "{} at {columns}x{rows}:\n{}\n{}",
                list.0,
                terminal.text(),
                String::from_utf8_lossy(&terminal.bytes()).replace("\x1b[?2026h", "\n=== ").escape_debug()
            );
        }
        let all = terminal.rows();
        check_order(&all, &["98", "99", "100", "shell one", "shell two", "τ tau", "> ask for"]);
        terminal.type_keys("table\r");
        wait_for_runs(&terminal, 1);
        assert_eq!(last_row(&terminal), (rows.into(), rows.into()));
    }
}

/// Before the session is open nothing is printed: completions cover the rows that are still live.
#[test]
fn names_typed_before_the_session_is_open_leave_no_blank_rows() {
    for (width, height) in [(80, 24), (120, 40), (40, 12)] {
        let mut screen =
            Screen::boot(Boot { screen: ScreenKind::Inline, size: Size { width, height }, ..boot() });
        let rows = |screen: &mut Screen| -> Vec<String> {
            let mut frame = tau::view::frame::Frame::blank(ratatui::layout::Rect::new(0, 0, width, height));
            let drawing = tau::view::draw(screen.model.as_ref().unwrap(), &mut screen.memo, &mut frame);
            assert_eq!(drawing.finished, 0);
            text(frame.buffer()).lines().map(str::to_owned).collect()
        };
        let before = rows(&mut screen);
        let room = u16::try_from(before.len()).unwrap();
        screen.fold(Msg::Laid(FrameLayout { room: Some(room), ..screen.model().laid.clone() }));
        for key in "/model".chars() {
            screen.fold(Msg::Key(key.to_string().parse().unwrap()));
        }
        let with_names = rows(&mut screen);
        assert!(with_names.iter().any(|row| row.contains("/models [name]")), "{with_names:?}");
        assert!(with_names.len() <= before.len(), "{width}x{height}: {with_names:#?}");
    }
}

/// If the terminal reports the cursor's position, a list can use the rows below it.
#[test]
fn a_list_takes_the_rows_below_where_the_terminal_tells_of_them() {
    let terminal = Terminal::inline(FAST, "", 120, 40);
    terminal.wait_for("ask for something");
    let end = std::time::Instant::now() + crate::screen::TIMEOUT;
    let asked = || String::from_utf8_lossy(&terminal.bytes()).contains("\x1b[6n");
    while !asked() {
        assert!(std::time::Instant::now() < end, "not asked");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let known = std::cell::Cell::new(0);
    look_at(&terminal, ("/settings", "local_servers"), |terminal| known.set(box_rows(terminal)));
    assert!((6..16).contains(&known.get()), "{} rows where nothing is known", known.get());
    let before = terminal.rows();
    let (row, column) = terminal.screen(vt100::Screen::cursor_position);
    terminal.type_keys(&format!("\x1b[{};{}R\x1b[?1;2c", row + 1, column + 1));
    for _ in 0..2 {
        look_at(&terminal, ("/settings", "local_servers"), |terminal| known.set(box_rows(terminal)));
        assert!(known.get() > 25, "{} rows of 40", known.get());
    }
    assert_eq!(terminal.rows(), before, "nothing left the screen");
}

/// Text before a question stays readable above it; after the answer, later text continues in its place.
#[tokio::test(flavor = "multi_thread")]
async fn questions_leave_no_blank_rows_between_what_is_finished_and_the_composer() {
    for size in [(80, 24), (120, 40)] {
        let questions =
            json!({"questions": [{"question": "Which database?", "choices": ["SQLite", "PostgreSQL"]}]});
        let plan = json!({"plan": "Why not.\n\n1. Make a file.\n2. Look at it."});
        let acts = vec![
            calling(&[("ask_user", questions)]),
            calling(&[("submit_plan", plan)]),
            calling(&[("bash", json!({"command": "touch made.txt; seq 3"}))]),
            saying("Finished."),
        ];
        let script = "export TAU_PERMISSION_MODE=plan; seq 100";
        play(acts, script, "--inline", size, move |terminal| {
            terminal.type_keys("go\r");
            terminal.wait_for("Which database?");
            terminal.press_until("1", "accept it and continue in ask");
            terminal.press_until("3", "Run this command?");
            terminal.press_until("y", "Finished.");
            terminal.wait_for("ask for something");
            let rows = terminal.rows();
            check_order(
                &rows,
                &["99", "100", "τ tau", "▌ go", "ask_user", "touch made.txt", "Finished.", "> ask for"],
            );
            let begin = rows.iter().position(|row| row.contains("τ tau")).unwrap();
            let end = rows.iter().rposition(|row| !row.is_empty()).unwrap();
            let blank = rows[begin..end].windows(2).position(|two| two.iter().all(String::is_empty));
            assert_eq!(blank, None, "{}", rows.join("\n"));
            let (last, _) = last_row(terminal);
            let text = terminal.text();
            assert_eq!(
                text.lines().filter(|row| row.contains("ask for something")).count(),
                1,
                "{last}: {text}"
            );
        })
        .await;
    }
}
