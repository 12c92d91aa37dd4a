//! The keys that every list shares, in a terminal.

use crate::screen::Screen;

/// The row that is set off, of the box that is open.
fn selected(cells: &vt100::Screen) -> Option<u16> {
    let (rows, columns) = cells.size();
    (0..rows.get()).find(|row| {
        let is_box = |column: u16| cells.cell(*row, column).is_some_and(|cell| cell.contents() == "│");
        let border = (0..columns.get()).find(|column| is_box(*column));
        border.is_some_and(|border| {
            cells.cell(*row, border + 2).is_some_and(|cell| cell.bgcolor() != vt100::Color::Default)
        })
    })
}

fn is_open(cells: &vt100::Screen) -> bool {
    cells.contents().contains('└')
}

fn start() -> Screen {
    let skill = |name: &str| {
        format!(
            "mkdir -p \"$TAU_HOME/skills/{name}\"; printf -- '---\\nname: {name}\\ndescription: {name} things\\n---\\n' \
             >\"$TAU_HOME/skills/{name}/SKILL.md\""
        )
    };
    let script = format!(
        "export TAU_DEMO_SPEED=max\n{}\n{}\n\"$TAU_BIN\" -p --name one --model demo one >answer || exit\n\
         \"$TAU_BIN\" -p --name two --model demo two >answer || exit",
        skill("apples"),
        skill("bananas")
    );
    Screen::prepared(&script, "", 100, 40)
}

/// Opens a list and waits until its rows are there, and one of them is selected.
fn open(screen: &Screen, command: &str) -> u16 {
    // A row that is loaded after the list has opened.
    let loaded = match command {
        "/permissions" => "built-in",
        "/extensions" => "bananas",
        "/resume" => "two",
        _ => "",
    };
    screen.type_keys(command);
    screen.wait_for_composer(command);
    screen.type_keys("\r");
    screen.wait_until(command, |cells| {
        is_open(cells) && selected(cells).is_some() && cells.contents().contains(loaded)
    });
    screen.screen(selected).unwrap()
}

const LISTS: [&str; 8] =
    ["/model", "/theme", "/thinking", "/settings", "/keys", "/permissions", "/extensions", "/resume"];

/// Lists whose rows are changed, not chosen.
const CHANGED: [&str; 4] = ["/settings", "/keys", "/permissions", "/extensions"];

#[test]
fn letters_move_and_close_in_every_list() {
    let screen = start();
    for list in LISTS {
        // The row at which a list opens has others below it.
        let first = open(&screen, list);
        for (down, up) in [("j", "k"), ("\x0e", "\x10"), ("\x1b[B", "\x1b[A"), ("2", "\x10")] {
            // A digit chooses a row elsewhere.
            if down == "2" && !CHANGED.contains(&list) {
                continue;
            }
            screen.type_keys(down);
            screen.wait_until(&format!("{list}: {down:?}"), |cells| {
                selected(cells).is_some_and(|row| row > first)
            });
            screen.type_keys(up);
            screen.wait_until(&format!("{list}: {up:?}"), |cells| selected(cells) == Some(first));
        }
        screen.type_keys("q");
        screen.wait_until(&format!("{list} closed"), |cells| !is_open(cells));
        screen.wait_for_composer("ask for something, or !command");
    }
}

#[test]
fn a_slash_begins_the_filter_of_every_list() {
    let screen = start();
    for list in LISTS {
        open(&screen, list);
        screen.type_keys("/");
        screen.type_keys("qj1");
        screen.wait_until(&format!("{list}: the filter"), |cells| {
            is_open(cells) && cells.contents().contains("> qj1")
        });
        screen.type_keys("\x1b");
        screen.wait_until(&format!("{list} closed"), |cells| !is_open(cells));
    }
}

#[test]
fn a_digit_chooses_where_there_is_something_to_choose() {
    let screen = start();
    open(&screen, "/thinking");
    screen.type_keys("1");
    screen.wait_until("chosen", |cells| !is_open(cells));
    open(&screen, "/resume");
    screen.type_keys("2");
    screen.wait_until("chosen", |cells| !is_open(cells));
    let end = std::time::Instant::now() + crate::screen::TIMEOUT;
    while !String::from_utf8_lossy(&screen.bytes()).contains("\x1b]2;tau · one") {
        assert!(std::time::Instant::now() < end, "another session was opened:\n{}", screen.text());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
