//! Vim keys in a terminal: modes, their effect on the text, and that everything else still works.

use crate::screen::Screen;

const VIM: &str = "mkdir -p $TAU_HOME\necho 'editing_mode = \"vim\"' >$TAU_HOME/config.toml";

fn started() -> Screen {
    begun("export TAU_DEMO_SPEED=max")
}

fn begun(script: &str) -> Screen {
    let screen = Screen::prepared(&format!("{script}\n{VIM}"), "", 80, 24);
    screen.wait_for("── INSERT ──");
    screen
}

/// Types a text and leaves insert mode.
fn written(text: &str) -> Screen {
    let screen = started();
    screen.type_keys(text);
    screen.wait_for_composer(text);
    normal(&screen);
    screen
}

fn normal(screen: &Screen) {
    screen.type_keys("\x1b");
    screen.wait_for("── NORMAL ──");
}

#[test]
fn text_is_edited_with_operators_motions_and_objects() {
    let screen = written("one two three");
    screen.type_keys("0dwf");
    screen.wait_for("── NORMAL f ──");
    screen.type_keys("h~");
    screen.wait_for_composer("two tHree");
    screen.type_keys("ciwsix");
    screen.wait_for("── INSERT ──");
    screen.wait_for_composer("two six");
    normal(&screen);
    screen.type_keys("u");
    screen.wait_for_composer("two tHree");
    screen.type_keys("\x12");
    screen.wait_for_composer("two six");
    screen.type_keys("0vec");
    screen.wait_for_composer(" six");
    screen.type_keys("ten");
    normal(&screen);
    screen.type_keys("w.");
    screen.wait_for_composer("ten ten");
}

#[test]
fn what_is_selected_is_marked() {
    let screen = written("one two");
    screen.type_keys("0ve");
    screen.wait_for("── VISUAL ──");
    let (column, row) = screen.find("one two");
    let background = |at: u16| screen.screen(|cells| cells.cell(row, column + at).unwrap().bgcolor());
    assert_eq!(background(0), background(2));
    assert_ne!(background(2), background(3));
    screen.type_keys("V");
    screen.wait_for("── VISUAL LINE ──");
    normal(&screen);
    assert_eq!(background(2), background(3));
}

#[test]
fn enter_sends_from_both_modes_and_up_recalls() {
    let screen = written("table");
    screen.type_keys("\r");
    screen.wait_for("▌ table");
    screen.wait_for("── INSERT ──");
    screen.wait_for("ask for something");
    screen.type_keys("hello\r");
    screen.wait_for("▌ hello");
    screen.wait_for("ask for something");
    normal(&screen);
    screen.type_keys("k");
    screen.wait_for_composer("hello");
    screen.type_keys("k");
    screen.wait_for_composer("table");
    screen.type_keys("j");
    screen.wait_for_composer("hello");
}

#[test]
fn escape_in_normal_mode_stops_and_the_key_map_works() {
    let screen = begun("");
    screen.type_keys("slow\r");
    screen.wait_for("answering");
    normal(&screen);
    screen.type_keys("\x1b");
    screen.wait_until("the end of the run", |cells| !cells.contents().contains("answering"));
    screen.type_keys("\x0c");
    screen.wait_for("Models");
    screen.type_keys("\x1b");
    screen.wait_until("no list", |cells| !cells.contents().contains("Models"));
    // Completion belongs to insert mode.
    screen.type_keys("i/sett");
    screen.wait_for("show and change settings");
    screen.type_keys("\t");
    screen.wait_for_composer("/settings");
    normal(&screen);
}

#[test]
fn the_cursor_shows_the_mode_and_is_given_back() {
    let mut screen = written("x");
    screen.type_keys("\x03");
    screen.wait_for("cleared");
    screen.type_keys("\x03");
    screen.wait_for("again to quit");
    screen.type_keys("\x03");
    screen.wait_exit();
    let bytes = String::from_utf8_lossy(&screen.bytes()).into_owned();
    assert!(bytes.contains("\x1b[2 q"), "a block in normal mode");
    assert!(bytes.contains("\x1b[6 q"), "a bar in insert mode");
    assert!(bytes.rfind("\x1b[0 q") > bytes.rfind("\x1b[6 q"), "given back");
}

#[test]
fn it_is_switched_on_and_off_in_the_settings() {
    let screen = Screen::prepared("", "", 100, 40);
    assert!(!screen.text().contains("INSERT"));
    screen.type_keys("/settings\r");
    screen.wait_for("permission_mode");
    screen.type_keys("editing_mode");
    screen.wait_for("Editing keys");
    screen.type_keys("\r");
    screen.wait_for("editing_mode vim");
    screen.type_keys("\x1b");
    screen.wait_for("── INSERT ──");
    let config = std::fs::read_to_string(screen.tau_home().join("config.toml")).unwrap();
    assert_eq!(config, "editing_mode = \"vim\"\n");
}

/// In an empty message the signs that begin a command do so in normal mode as well.
#[test]
fn commands_begin_in_normal_mode_if_the_message_is_empty() {
    let screen = started();
    normal(&screen);
    screen.type_keys("?");
    screen.wait_for("Keys and commands");
    screen.type_keys("\x1b");
    screen.wait_until("no list", |cells| !cells.contents().contains("Keys and commands"));
    screen.type_keys("/name of the session\r");
    screen.wait_until("a session with a name", |cells| {
        cells.rows(0, 80).last().is_some_and(|row| row.contains("of the session"))
    });
    normal(&screen);
    screen.type_keys("!echo from normal mode\r");
    screen.wait_for("│ from normal mode");
}
