//! The theme that follows the terminal's background, and user themes, in the real program.

use std::process::Command;
use std::time::Duration;

use crate::screen::Screen;
use crate::time_limit::SOON;

const TRUE: &str = "export COLORTERM=truecolor";
const QUESTION: &str = "\x1b]11;?";
const WHITE: &str = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\";
const BLACK: &str = "\x1b]11;rgb:0000/0000/0000\x07";
/// The text colours of the dark and light themes.
const DARK: (u8, u8, u8) = (0xd3, 0xd8, 0xe3);
const LIGHT: (u8, u8, u8) = (0x2a, 0x2f, 0x3a);

fn asked(screen: &Screen) -> bool {
    String::from_utf8_lossy(&screen.bytes()).contains(QUESTION)
}

fn wait_for_question(screen: &Screen) {
    crate::time_limit::until(
        crate::screen::TIMEOUT,
        || asked(screen),
        || "the terminal is not asked".to_owned(),
    );
}

/// True if the typed text has this colour.
fn is_drawn_in(cells: &vt100::Screen, (r, g, b): (u8, u8, u8)) -> bool {
    let (rows, columns) = (cells.size().0.get(), cells.size().1.get());
    let wanted = vt100::Color::Rgb(r, g, b);
    let cell = |row, column| {
        cells.cell(row, column).is_some_and(|cell| cell.fgcolor() == wanted && cell.has_contents())
    };
    (0..rows).any(|row| (0..columns).any(|column| cell(row, column)))
}

fn wait_for_color(screen: &Screen, color: (u8, u8, u8)) {
    screen.wait_until(&format!("text in {color:?}"), |cells| is_drawn_in(cells, color));
}

#[test]
fn a_light_terminal_gets_the_light_theme() {
    let screen = Screen::prepared(TRUE, "", 80, 24);
    screen.type_keys("words");
    wait_for_color(&screen, DARK);
    wait_for_question(&screen);
    screen.type_keys(WHITE);
    wait_for_color(&screen, LIGHT);
    screen.wait_for_composer("words");
    let questions = String::from_utf8_lossy(&screen.bytes()).matches(QUESTION).count();
    assert_eq!(questions, 1);
}

#[test]
fn a_dark_terminal_gets_the_dark_theme_whatever_the_variable_says() {
    let screen = Screen::prepared(&format!("{TRUE} COLORFGBG='0;15'"), "", 80, 24);
    screen.type_keys("words");
    wait_for_color(&screen, LIGHT);
    wait_for_question(&screen);
    screen.type_keys(BLACK);
    wait_for_color(&screen, DARK);
    screen.wait_for_composer("words");
}

/// It arrives in pieces, between keys: none of it is typed.
#[test]
fn a_late_answer_does_not_reach_the_composer() {
    let screen = Screen::prepared(TRUE, "", 80, 24);
    wait_for_question(&screen);
    screen.type_keys("before");
    screen.wait_for_composer("before");
    std::thread::sleep(Duration::from_millis(1_200));
    let (start, end) = WHITE.split_at(9);
    screen.type_keys(&format!(" late{start}"));
    screen.wait_for_composer("before late");
    screen.type_keys(&format!("{end} after"));
    screen.wait_for_composer("before late after");
    wait_for_color(&screen, LIGHT);
}

#[test]
fn an_answer_after_the_end_does_not_reach_the_shell() {
    let script =
        format!("{TRUE}; \"$TAU_BIN\"; echo \"exit=$?\"; read -t 1 rest; echo \"rest=[$rest]\"; cat");
    let screen = Screen::program(std::path::Path::new("/bin/bash"), &["-c", &script], 80, 24);
    wait_for_question(&screen);
    screen.type_keys("\x04");
    std::thread::sleep(Duration::from_millis(50));
    screen.type_keys(WHITE);
    screen.wait_for("exit=0");
    screen.wait_for("rest=[]");
    assert!(!screen.text().contains("rgb"), "{}", screen.text());
}

#[test]
fn a_terminal_that_never_answers_is_taken_as_dark_and_left_soon() {
    let mut screen = Screen::prepared(TRUE, "", 80, 24);
    wait_for_question(&screen);
    screen.type_keys("words");
    wait_for_color(&screen, DARK);
    screen.type_keys("\x7f\x7f\x7f\x7f\x7f");
    screen.wait_for_composer("ask for something, or !command");
    let begun = std::time::Instant::now();
    screen.type_keys("\x04");
    screen.wait_exit();
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[test]
fn nothing_is_asked_where_there_is_nothing_to_learn() {
    for (script, args) in [
        ("export TERM=linux", ""),
        ("unset TERM", ""),
        ("export NO_COLOR=1", ""),
        (TRUE, "--theme dark"),
        (TRUE, "--theme system"),
    ] {
        let screen = Screen::prepared(script, args, 80, 24);
        screen.type_keys("words");
        screen.wait_for_composer("words");
        assert!(!asked(&screen), "{script} {args}");
    }
}

/// A theme with this text colour.
fn themed(color: &str) -> String {
    format!("inherits = \"dark\"\n[colors]\ntext = \"{color}\"\n")
}

#[test]
fn the_list_shows_themes_as_you_move_and_files_as_you_save_them() {
    let file = themed("#123456");
    let script = format!(
        "{TRUE}; mkdir -p \"$TAU_HOME/themes\"; printf '%s' '{file}' >\"$TAU_HOME/themes/mine.toml\""
    );
    let screen = Screen::prepared(&script, "--theme dark", 80, 24);
    let open = || {
        screen.type_keys("/theme\r");
        screen.wait_for("Themes");
        screen.type_keys("mine");
        wait_for_color(&screen, (0x12, 0x34, 0x56));
    };
    open();
    screen.type_keys("\x1b");
    wait_for_color(&screen, DARK);
    screen.wait_until("the list closed", |cells| !cells.contents().contains("Themes"));
    open();
    screen.type_keys("\r");
    screen.wait_until("the list closed", |cells| !cells.contents().contains("Themes"));
    wait_for_color(&screen, (0x12, 0x34, 0x56));
    let path = screen.tau_home().join("themes/mine.toml");
    std::fs::write(&path, themed("#654321")).unwrap();
    // If the system does not report changes, with the next key.
    if !cfg!(target_os = "linux") {
        screen.type_keys("x");
    }
    wait_for_color(&screen, (0x65, 0x43, 0x21));
    std::fs::write(&path, themed("#abcdef")).unwrap();
    screen.type_keys("\x1b[I");
    wait_for_color(&screen, (0xab, 0xcd, 0xef));
    // A program that saves in place leaves the file empty for a moment.
    std::fs::write(&path, "").unwrap();
    screen.type_keys("\x1b[Iz");
    screen.wait_for_composer("z");
    screen.type_keys("\x7f");
    screen.wait_until("the composer is empty", |cells| !cells.contents().contains("> z"));
    wait_for_color(&screen, (0xab, 0xcd, 0xef));
    std::fs::write(&path, themed("purplish")).unwrap();
    screen.type_keys("y");
    screen.wait_for("colors.text");
    wait_for_color(&screen, (0xab, 0xcd, 0xef));
    // One that is created while tau runs, and the first one removed.
    screen.type_keys("\x15");
    std::fs::write(path.with_file_name("later.toml"), themed("#0f1e2d")).unwrap();
    screen.type_keys("/theme\r");
    screen.wait_for("Themes");
    screen.type_keys("later");
    wait_for_color(&screen, (0x0f, 0x1e, 0x2d));
}

#[test]
fn tau_theme_check_says_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mine.toml");
    let check = |source: &str| {
        std::fs::write(&file, source).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
        command.args(["theme", "check"]).arg(&file).env_clear().env("HOME", dir.path());
        let output = crate::time_limit::RunInTime::output_in_time(&mut command);
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), text.replace(&format!("{}:", file.display()), ""))
    };
    assert_eq!(check(&themed("#ffffff")), (Some(0), " no problems found\n".to_owned()));
    let (code, text) = check("[colors]\ntext = \"purplish\"\nnothing = 1\n");
    assert_eq!((code, text.lines().count()), (Some(3), 2), "{text}");
    assert!(text.starts_with("2: colors.text: `purplish` is not a color"), "{text}");
    let (_, text) = check("[colors]\nfoo = 1\ndiff_add = 1\n");
    assert!(
        text.starts_with("2: colors.foo: no element of that name; docs/themes.md lists them\n"),
        "{text}"
    );
    assert!(text.contains("did you mean diff_added?"), "{text}");
    let (_, text) = check("inherits = \"dark\n");
    assert!(text.starts_with("1: is not valid TOML (") && text.ends_with("); fix the line\n"), "{text}");
    let (code, text) = check("inherits = \"dark\"\n[colors]\nlink = \"#505050\"\n");
    assert_eq!(code, Some(3));
    assert!(text.starts_with("3: link: #505050 on #1e1e1e is 2.06:1; it needs 4.5:1\n"), "{text}");
}
