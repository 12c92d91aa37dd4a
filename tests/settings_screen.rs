//! Settings on the screen: the list, and reloaded files. The real program in a terminal.

use vt100::MouseProtocolMode;

use crate::screen::Screen;

fn config(screen: &Screen) -> Option<String> {
    std::fs::read_to_string(screen.tau_home().join("config.toml")).ok()
}

/// tau with the list of settings, filtered by the typed text.
fn listed(typed: &str) -> Screen {
    let screen = Screen::prepared("", "", 100, 40);
    screen.type_keys("/settings\r");
    screen.wait_for("permission_mode");
    screen.type_keys(typed);
    screen.wait_for(&format!("> {typed}"));
    screen
}

#[test]
fn a_space_is_part_of_the_filter() {
    let screen = listed("diff side");
    screen.wait_for(" 1/");
    assert_eq!(config(&screen), None, "nothing was changed");
    screen.type_keys("\r");
    screen.wait_for("saved; now in effect: diff");
}

#[test]
fn the_setting_whose_name_is_typed_comes_first() {
    let screen = listed("keys");
    screen.wait_for("Action name to list of keys");
    screen.type_keys("\r");
    screen.wait_for("a table: change it");
    assert_eq!(config(&screen), None, "nothing was changed");
}

/// Rules of all files hold together, and an answer of the first start has no file.
#[test]
fn values_name_where_they_come_from() {
    let rules = "unset TAU_PERMISSION_MODE; mkdir -p .tau \"$TAU_HOME/logs\"; printf '[permissions]\\nallow = [\"bash(make *)\", \"ls\"]\\n\
                 deny = [\"bash(rm *)\"]\\n' >.tau/config.local.toml; echo '{\"mode\":\"edits\"}' >STATE";
    let script = rules.replace("STATE", "\"$TAU_HOME/logs/permission-mode.json\"");
    let screen = Screen::prepared(&script, "--trust", 120, 40);
    screen.type_keys("/settings\r");
    screen.wait_for("permission_mode");
    screen.type_keys("permission");
    screen.wait_for("> permission");
    let row = |key: &str| {
        let text = screen.text();
        let row = text.lines().find(|line| line.split_whitespace().any(|word| word == key));
        row.map(str::to_owned).unwrap_or(text)
    };
    assert!(row("permissions").contains("3 rules") && row("permissions").contains("config.local.toml:1"));
    assert!(row("permission_mode").contains("chosen at the first start"), "{}", row("permission_mode"));
    screen.type_keys("s");
    screen.wait_for("> permissions");
    assert!(!screen.text().contains("no effect"), "{}", screen.text());
}

#[test]
fn what_is_as_it_was_at_the_start_needs_no_restart() {
    let screen = Screen::prepared("mkdir -p \"$TAU_HOME\"", "", 100, 40);
    screen.reload("inline = true\nundo_quota = 7\n", "after a restart: inline, undo_quota");
    screen.reload("inline = true\n", "after a restart: inline");
    screen.reload("inline = false\n", "nothing changes");
}

#[test]
fn the_mouse_is_taken_and_left_at_once() {
    let mouse = |screen: &Screen, mode| {
        screen.wait_until("the mode of the mouse", |cells| cells.mouse_protocol_mode() == mode);
    };
    let screen = Screen::prepared("mkdir -p \"$TAU_HOME\"", "", 100, 40);
    mouse(&screen, MouseProtocolMode::ButtonMotion);
    screen.reload("mouse = false", "now in effect: mouse false");
    mouse(&screen, MouseProtocolMode::None);
    screen.reload("", "now in effect: mouse true");
    mouse(&screen, MouseProtocolMode::ButtonMotion);
}

#[test]
fn a_table_that_has_a_command_names_it() {
    let screen = listed("keys");
    screen.wait_for("Action name to list of keys");
    assert!(!screen.text().contains("from the next start on"), "{}", screen.text());
    screen.type_keys("\r");
    screen.wait_for("change it with /keys");
}
