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

#[test]
fn letters_move_and_close_in_every_list() {
    let screen = start();
    for list in LISTS {
        // The row at which a list opens has others below it.
        let first = open(&screen, list);
        for (down, up) in [("j", "k"), ("\x0e", "\x10"), ("\x1b[B", "\x1b[A"), ("2", "\x10")] {
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
fn a_word_that_begins_with_a_key_filters_and_reaches_nobody() {
    let screen = start();
    for list in LISTS.into_iter().chain(["/help"]) {
        for word in ["qwen", "4o", "2.5-pro", "quick", "kimi"] {
            screen.type_keys(list);
            screen.wait_for_composer(list);
            screen.type_keys("\r");
            screen.wait_until(list, is_open);
            // At once: on a busy machine a pause between letters would make a key of the first.
            screen.type_keys(word);
            screen.wait_until(&format!("{list}: {word}"), |cells| {
                is_open(cells) && cells.contents().contains(&format!("> {word}"))
            });
            screen.type_keys("\x1b");
            screen.wait_until(&format!("{list} closed"), |cells| !is_open(cells));
            screen.wait_for_composer("ask for something, or !command");
        }
    }
}

#[test]
fn enter_after_a_list_that_a_letter_has_closed_sends_nothing() {
    let screen = start();
    open(&screen, "/theme");
    screen.type_keys("q");
    screen.wait_until("closed", |cells| !is_open(cells));
    screen.type_keys("wen\r");
    screen.wait_for("enter again sends it");
    screen.wait_for_composer("wen");
}
