//! The real program in a real terminal: every mode is reset on every way out.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
#[cfg(target_os = "linux")]
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use vt100::{MouseProtocolEncoding, MouseProtocolMode};

use crate::screen::Screen;
use crate::time_limit::{InTime, RunInTime, SOON};

/// The modes set at start, in order, with the sequences that reset them.
const MODES: [(&str, &str); 8] = [
    ("\x1b[?1049h", "\x1b[?1049l"),
    ("\x1b[?2004h", "\x1b[?2004l"),
    ("\x1b[>7u", "\x1b[<1u"),
    ("\x1b[?1004h", "\x1b[?1004l"),
    ("\x1b[?25l", "\x1b[?25h"),
    ("\x1b[?1000h", "\x1b[?1000l"),
    ("\x1b[?1002h", "\x1b[?1002l"),
    ("\x1b[?1006h", "\x1b[?1006l"),
];

const SHELL: &str = "/bin/sh";

/// Waits for the composer.
pub(crate) fn ready(screen: &Screen) {
    screen.wait_until("composer", |cells| {
        cells.alternate_screen() && !cells.hide_cursor() && cells.contents().contains('>')
    });
}

fn started(args: &[&str], columns: u16, rows: u16) -> Screen {
    let screen = Screen::start(args, columns, rows);
    ready(&screen);
    screen
}

/// Checks that the modes were set in order, and that the last bytes reset them in reverse order.
#[track_caller]
fn check_modes_were_reversed(screen: &Screen) {
    let bytes = String::from_utf8_lossy(&screen.bytes()).into_owned();
    let mut rest = bytes.as_str();
    for (set, _) in MODES {
        let (_, after) = rest.split_once(set).unwrap_or_else(|| panic!("{set:?} is not set in order"));
        rest = after;
    }
    let mut end = bytes.len();
    for (_, reset) in MODES {
        end = bytes[..end].rfind(reset).unwrap_or_else(|| panic!("{reset:?} is not reset in order"));
    }
    screen.screen(|cells| {
        assert!(!cells.alternate_screen() && !cells.hide_cursor() && !cells.bracketed_paste());
        assert_eq!(cells.mouse_protocol_mode(), MouseProtocolMode::None);
        assert_eq!(cells.mouse_protocol_encoding(), MouseProtocolEncoding::Default);
    });
}

#[test]
fn a_normal_end_gives_the_terminal_back_as_it_was() {
    let script = "\"$TAU_BIN\"; echo \"exit=$?\"; cat";
    let screen = Screen::program(Path::new(SHELL), &["-c", script], 80, 24);
    ready(&screen);
    assert!(!screen.settings_are_as_before(), "raw mode is not set, so nothing is proved");
    screen.type_keys("\x04");
    screen.wait_for("exit=0");
    check_modes_were_reversed(&screen);
    assert!(screen.settings_are_as_before());
}

/// On a keyboard with another layout, Ctrl goes with the letter that the key has on a Latin one.
#[test]
fn ctrl_c_and_other_chords_arrive_from_keyboards_of_other_layouts() {
    // Cyrillic, Greek, Hebrew.
    for letter in ['с', 'ψ', 'ב'] {
        let mut screen = started(&[], 80, 24);
        let chord = |base: char| format!("\x1b[{}::{};5u", u32::from(letter), u32::from(base));
        screen.type_keys("a draft");
        screen.wait_for_composer("a draft");
        screen.type_keys(&chord('a'));
        screen.type_keys("this is ");
        screen.wait_for_composer("this is a draft");
        screen.type_keys(&chord('c'));
        screen.wait_for("ask for something");
        screen.type_keys(&chord('c'));
        screen.wait_for("press ctrl+c again to quit");
        screen.type_keys(&chord('c'));
        assert_eq!(screen.wait_exit().code(), Some(0), "{letter}");
    }
}

#[test]
fn what_is_typed_is_shown_before_the_agent_is_there() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", server.local_addr().unwrap());
    let flags = ["--base-url", &address, "--api-key", "x", "--permission-mode", "ask"];
    let screen = Screen::start(&flags, 80, 24);
    screen.wait_for("ask for something");
    screen.type_keys("typed early");
    // The name of the model is asked for, and not answered yet.
    screen.wait_for_composer("typed early");
    let (mut stream, _) = server.accept().unwrap();
    let list = r#"{"data":[{"id":"late-model"}]}"#;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    let _ = stream.read(&mut [0; 4096]).unwrap();
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{list}", list.len()).unwrap();
    screen.wait_for("late-model");
    screen.type_keys(", and late");
    screen.wait_for_composer("typed early, and late");
}

/// SU and SD are not known to every terminal (the Linux console, Emacs): rows are moved by line feeds.
#[test]
fn text_scrolls_without_sequences_that_some_terminals_lack() {
    let screen = Screen::prepared("export TAU_DEMO_SPEED=max", "", 80, 24);
    screen.type_keys("!seq 300\r");
    screen.wait_for("│ 300");
    screen.type_keys("table\r");
    screen.wait_for("and one below it");
    let (wheel_up, page_up, page_down) = ("\x1b[<64;10;5M", "\x1b[5~", "\x1b[6~");
    for key in [wheel_up, page_up, page_down, wheel_up] {
        // Two keys in one frame may leave no row that can be moved.
        let before = screen.text();
        screen.type_keys(key);
        screen.wait_until("another page", |cells| cells.contents() != before);
    }
    let bytes = String::from_utf8_lossy(&screen.bytes()).into_owned();
    let finals = bytes.split("\x1b[").skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == ';')).unwrap_or(rest.len());
        (&rest[..end], rest[end..].chars().next())
    });
    let mut moved = false;
    for (parameters, last) in finals {
        assert!(!matches!(last, Some('S' | 'T')), "CSI {parameters} {last:?} is sent");
        moved |= last == Some('r') && !parameters.is_empty();
    }
    assert!(moved, "no rows were moved at all");
}

#[test]
fn every_signal_that_ends_it_gives_the_terminal_back() {
    let signals = [
        (Signal::TERM, 143),
        (Signal::HUP, 129),
        (Signal::INT, 130),
        (Signal::QUIT, 131),
        (Signal::USR1, 138),
        (Signal::USR2, 140),
        (Signal::ALARM, 142),
        (Signal::XCPU, 152),
        (Signal::VTALARM, 154),
        (Signal::PROF, 155),
        #[cfg(target_os = "linux")]
        (Signal::STKFLT, 144),
        #[cfg(target_os = "linux")]
        (Signal::IO, 157),
        #[cfg(target_os = "linux")]
        (Signal::POWER, 158),
    ];
    for (signal, code) in signals {
        let mut screen = started(&[], 80, 24);
        screen.type_keys("some text");
        screen.wait_for("some text");
        screen.signal(signal);
        assert_eq!(screen.wait_exit().code(), Some(code), "{signal:?}");
        check_modes_were_reversed(&screen);
    }
}

/// The process that the shell waits for gives it back.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_screen_gives_the_terminal_back() {
    for signal in [Signal::KILL, Signal::ABORT] {
        let mut screen = started(&[], 80, 24);
        screen.type_keys("some text");
        screen.wait_for("some text");
        let shell = screen.pid().as_raw_nonzero();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
        let child = children.split_whitespace().next().unwrap().parse().unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_raw(child).unwrap(), signal).unwrap();
        assert_eq!(screen.wait_exit().signal(), Some(signal.as_raw()));
        check_modes_were_reversed(&screen);
    }
}

#[test]
fn a_closed_window_ends_it_although_hangups_are_ignored() {
    // Half a sequence is pending, on which a careless reader blocks or spins.
    for pending in ["", "\x1b[", "\x1b[200~half a paste"] {
        let script = "trap '' HUP; exec \"$TAU_BIN\"";
        let mut screen = Screen::program(Path::new(SHELL), &["-c", script], 80, 24);
        ready(&screen);
        screen.type_keys(pending);
        let start = Instant::now();
        screen.close();
        screen.wait_exit();
        assert!(start.elapsed() < SOON, "{pending:?}: {:?}", start.elapsed());
    }
}

#[test]
fn it_can_be_suspended_and_brought_back() {
    let script = "set -m; \"$TAU_BIN\"; echo stopped; read answer; fg; echo \"exit=$?\"; cat";
    let screen = Screen::program(Path::new("/bin/bash"), &["-c", script], 80, 24);
    ready(&screen);
    screen.type_keys("kept");
    screen.wait_for("kept");
    screen.type_keys("\x1a");
    screen.wait_for("stopped");
    check_modes_were_reversed(&screen);
    assert!(screen.settings_are_as_before());
    screen.type_keys("\n");
    screen.wait_until("the screen again", |cells| {
        cells.alternate_screen() && cells.contents().contains("kept")
    });
    for _ in 0..4 {
        screen.type_keys("\x7f");
    }
    screen.wait_until("an empty composer", |cells| !cells.contents().contains("kept"));
    screen.type_keys("\x04");
    screen.wait_for("exit=0");
    assert!(screen.settings_are_as_before());
}

#[test]
fn without_a_shell_above_it_suspending_does_nothing() {
    let screen = started(&[], 80, 24);
    screen.type_keys("\x1a");
    screen.type_keys("still here");
    screen.wait_for("still here");
}

#[test]
fn odd_sizes_and_resizes_do_no_harm() {
    for (columns, rows) in [(0, 0), (1, 1), (2, 1), (1, 40), (80, 1), (10, 3), (500, 200)] {
        let mut screen = Screen::start(&[], columns, rows);
        screen.wait_until("alternate screen", vt100::Screen::alternate_screen);
        screen.type_keys("Ж");
        for (columns, rows) in [(40, 12), (1, 1), (80, 24)] {
            screen.resize(columns, rows);
        }
        screen.wait_for("Ж");
        screen.type_keys("\x7f");
        screen.wait_until("an empty composer", |cells| !cells.contents().contains('Ж'));
        screen.type_keys("\x04");
        assert_eq!(screen.wait_exit().code(), Some(0), "{columns}x{rows}");
    }
}

#[test]
fn what_is_typed_before_the_first_frame_is_not_lost() {
    let screen = Screen::start(&[], 80, 24);
    screen.type_keys("early bird");
    screen.wait_for("early bird");
}

#[test]
fn random_bytes_do_no_harm() {
    let mut screen = started(&[], 80, 24);
    // A fixed sequence without the bytes that end, suspend or send (^C ^D ^J ^M ^Z), and without those that
    // stop output or kill when they arrive just after raw mode was left (^Q ^S ^\\).
    let mut seed = 7_u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 24) as u8
    })
    .filter(|byte| ![3, 4, 10, 13, 17, 19, 26, 28].contains(byte) && *byte < 0x80)
    .take(4_000)
    .collect();
    for piece in noise.chunks(97) {
        screen.type_keys(std::str::from_utf8(piece).unwrap());
    }
    screen.signal(Signal::TERM);
    let status = screen.wait_exit();
    assert_eq!(status.code(), Some(143), "{status}");
    check_modes_were_reversed(&screen);
}

#[test]
fn an_idle_screen_writes_nothing() {
    let screen = started(&[], 80, 24);
    screen.type_keys("x");
    screen.wait_for("x");
    // Background work of start-up may draw once more; then it is quiet.
    let quiet = Duration::from_millis(700);
    let end = Instant::now() + crate::screen::TIMEOUT;
    loop {
        let before = screen.bytes().len();
        std::thread::sleep(quiet);
        if screen.bytes().len() == before {
            break;
        }
        assert!(Instant::now() < end, "it never stops writing");
    }
}

#[test]
fn a_panic_gives_the_terminal_back_and_leaves_a_report() {
    let this = std::env::current_exe().unwrap();
    let args = ["--exact", "pty::child_that_panics", "--ignored", "--nocapture"];
    let mut screen = Screen::program(&this, &args, 80, 24);
    assert_eq!(screen.wait_exit().code(), Some(101));
    let text = screen.text();
    assert!(text.contains("tau crashed: the answer was 41"), "{text}");
    screen.screen(|cells| assert!(!cells.alternate_screen() && !cells.hide_cursor()));
    let reports: Vec<_> = std::fs::read_dir(screen.tau_home()).unwrap().flatten().collect();
    assert_eq!(reports.len(), 1);
    let report = std::fs::read_to_string(reports[0].path()).unwrap();
    assert!(report.contains("the answer was 41") && report.contains("tests/pty.rs"), "{report}");
}

/// Not a test: the program that the test above runs in a terminal.
#[test]
#[ignore = "run by a_panic_gives_the_terminal_back_and_leaves_a_report"]
fn child_that_panics() {
    use tau::app::geometry::ScreenKind;
    use tau::cli::tui::terminal::{FrameProperties, MouseCapture, Tty};
    let Some(home) = std::env::var_os("TAU_HOME") else { return };
    tau::cli::process::crash::install(home.into());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut tty = Tty::enter(ScreenKind::Full, MouseCapture::On).unwrap();
        tty.draw(|_| FrameProperties { cursor: Some((0, 0)), finished: 0, floats: false }).unwrap();
        let task = tokio::spawn(async { panic!("the answer was {}", 41) });
        tau::cli::process::crash::wait_for_crash().await;
        assert!(task.in_time("the panic of the task").await.is_err());
    });
    std::process::exit(tau::cli::process::crash::or_crash(tau::cli::process::exit::Exit::Ok).code().into());
}

#[test]
fn a_panic_beside_the_main_loop_ends_the_program_with_a_message() {
    let this = std::env::current_exe().unwrap();
    // One ends while the panic is being reported, the other never listens.
    for child in ["pty::child_that_ends_during_a_panic", "pty::child_that_does_not_listen"] {
        let args = ["--exact", child, "--ignored", "--nocapture"];
        let mut screen = Screen::program(&this, &args, 80, 24);
        assert_eq!(screen.wait_exit().code(), Some(101), "{child}");
        let text = screen.text();
        assert!(text.contains("tau crashed: beside the loop"), "{child}: {text}");
        assert!(text.contains("the crash report is in"), "{child}: {text}");
    }
}

/// Installs the crash hook and panics in a thread, which is in the hook when this returns.
fn panic_beside() {
    let Some(home) = std::env::var_os("TAU_HOME") else { return };
    tau::cli::process::crash::install(home.into());
    let thread = std::thread::spawn(|| panic!("beside the loop"));
    let end = Instant::now() + crate::time_limit::LIMIT;
    while tau::cli::process::crash::or_crash(tau::cli::process::exit::Exit::Ok)
        == tau::cli::process::exit::Exit::Ok
    {
        assert!(Instant::now() < end, "the panic is not reported");
        assert!(!thread.is_finished(), "the panic went unnoticed");
        std::thread::yield_now();
    }
}

/// Not a test: the program that the test above runs in a terminal.
#[test]
#[ignore = "run by a_panic_beside_the_main_loop_ends_the_program_with_a_message"]
fn child_that_ends_during_a_panic() {
    panic_beside();
    std::process::exit(tau::cli::process::crash::or_crash(tau::cli::process::exit::Exit::Ok).code().into());
}

/// Not a test: the program that the test above runs in a terminal.
#[test]
#[ignore = "run by a_panic_beside_the_main_loop_ends_the_program_with_a_message"]
fn child_that_does_not_listen() {
    panic_beside();
    // Longer than the test waits.
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_file_size_limit_is_reported_and_not_fatal() {
    let home = tempfile::tempdir().unwrap();
    let script = "ulimit -f 1; exec \"$0\" -p \"table\" --model demo/demo --verbose";
    let arguments = ["-c", script, env!("CARGO_BIN_EXE_tau")];
    let output = without_terminal(SHELL, home.path()).args(arguments).output_in_time();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{:?} {err}", output.status);
    assert!(err.contains("session"), "{err}");
}

#[test]
fn a_fifo_as_the_log_is_refused_and_not_waited_for() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join("logs/logs")).unwrap();
    let fifo = home.path().join("logs/logs/tau.log");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let mut command = without_terminal(env!("CARGO_BIN_EXE_tau"), home.path());
    let output = command.args(["-p", "table", "--model", "demo/demo", "--verbose"]).output_in_time();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("not a regular file"), "{err}");
}

/// A program with only `home` in its environment, and no standard input.
fn without_terminal(program: &str, home: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(program);
    command.env_clear().env("TAU_HOME", home).env("HOME", home).stdin(std::process::Stdio::null());
    command
}

/// Runs tau without a terminal; returns its exit code, standard output and standard error.
fn batch(args: &[&str]) -> (Option<i32>, String, String) {
    let home = tempfile::tempdir().unwrap();
    let output = without_terminal(env!("CARGO_BIN_EXE_tau"), home.path()).args(args).output_in_time();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn usage_errors_and_help_have_their_codes_and_streams() {
    for help in [&["--help"][..], &["-h"], &["help"], &["serve", "--help"], &["auth", "set", "-h"]] {
        let (code, out, err) = batch(help);
        assert_eq!((code, err.as_str()), (Some(0), ""));
        assert!(out.contains("Usage: tau") && !out.contains('\x1b'), "{out}");
        assert!(!out.starts_with("error"), "{help:?}: {out}");
    }
    let page = batch(&["--help"]).1;
    assert!(page.contains("Exit codes:"));
    let sections: Vec<&str> =
        page.lines().filter(|line| line.ends_with(':') && line.starts_with(char::is_uppercase)).collect();
    let expected = ["Commands:", "Front end:", "Session:", "Model:", "Other:", "More:"];
    assert_eq!(sections, expected, "what one wants most comes first");
    let (code, out, _) = batch(&["--version"]);
    assert_eq!((code, out), (Some(0), format!("tau {}\n", env!("CARGO_PKG_VERSION"))));
    let (code, out, err) = batch(&["--modle", "x"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("--model") && !err.contains('\x1b'), "{err}");
    let (code, _, err) = batch(&["-p", "-C", "/nowhere/at/all", "hello"]);
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("/nowhere/at/all"), "{err}");
    let (code, out, err) = batch(&["-p", "hello"]);
    assert_eq!((code, out.as_str()), (Some(3), ""), "{err}");
}

/// A home in which a session used a model and level other than those of a plain start.
const BEGUN: &str = "mkdir \"$TAU_HOME\"; printf '[vendors.own]\\nbase_url = \"http://127.0.0.1:9\"\\n\
                     [[vendors.own.models]]\\nid = \"usual\"\\n' >\"$TAU_HOME/models.toml\"; \
                     echo 'model = \"own/usual\"' >\"$TAU_HOME/config.toml\"; \
                     TAU_DEMO_SPEED=max \"$TAU_BIN\" -p --session-id one --model demo:high hi >answer; ";

/// Starts a shell that begins a session and then runs this.
fn after_a_session(then: &str) -> Screen {
    Screen::program(Path::new(SHELL), &["-c", &format!("{BEGUN}{then}")], 100, 24)
}

#[test]
fn a_session_that_is_continued_has_its_model_and_level() {
    for flags in ["--continue", "--session one", "-r one"] {
        let screen = after_a_session(&format!("exec \"$TAU_BIN\" {flags}"));
        screen.wait_for("scripted demo (not an AI) · high");
    }
    let screen = after_a_session("exec \"$TAU_BIN\" --continue --thinking low");
    screen.wait_for("scripted demo (not an AI) · low");
    let screen = after_a_session("exec \"$TAU_BIN\" --continue --model own/usual");
    screen.wait_until("the model of the flag", |cells| {
        let text = cells.contents();
        text.contains("hi") && text.lines().last().is_some_and(|row| row.trim_end().ends_with("usual · auto"))
    });
}

#[test]
fn a_session_that_is_picked_has_its_model_unless_a_flag_names_another() {
    let picked = |flags: &str| {
        let screen = after_a_session(&format!("exec \"$TAU_BIN\" --resume {flags}"));
        screen.wait_for("ctrl+o runs of -p");
        screen.type_keys("\x0f");
        screen.wait_until("the session", |cells| {
            cells.contents().contains("ago") || cells.contents().contains("now")
        });
        screen.type_keys("\r");
        screen.wait_until("the session is open", |cells| !cells.contents().contains("enter opens"));
        screen
    };
    picked("").wait_for("scripted demo (not an AI) · high");
    picked("--model own/usual").wait_until("the model of the flag", |cells| {
        cells.contents().lines().last().is_some_and(|row| row.trim_end().ends_with("usual · auto"))
    });
}

/// The output as shown by a terminal that knows no more control sequences than Emacs: none that moves rows
/// (SU, SD), erases cells (ECH) or goes to a column (CHA).
fn on_a_small_terminal(screen: &Screen, columns: u16, rows: u16) -> String {
    let cells = |n: u16| n.try_into().unwrap();
    let mut terminal = vt100::Parser::new(cells(rows), cells(columns), 0);
    let bytes = String::from_utf8_lossy(&screen.bytes()).into_owned();
    for (index, part) in bytes.split("\x1b[").enumerate() {
        let last = part.find(|c: char| c.is_ascii_alphabetic()).filter(|_| index > 0);
        let known = last.is_none_or(|last| "ABCDHJKLMPhlmr".contains(&part[last..=last]));
        match last.filter(|_| !known) {
            Some(last) => terminal.process(&part.as_bytes()[last + 1..]),
            None if index > 0 => terminal.process(format!("\x1b[{part}").as_bytes()),
            None => terminal.process(part.as_bytes()),
        }
    }
    terminal.screen().contents()
}

#[test]
fn a_terminal_that_cannot_scroll_by_itself_shows_the_same() {
    for inline in [false, true] {
        let script = "export TAU_DEMO_SPEED=max; clear";
        let screen = match inline {
            false => Screen::prepared(script, "", 80, 24),
            true => Screen::inline(script, "", 80, 24),
        };
        let same = |what: &str| {
            screen.wait_for(what);
            let end = Instant::now() + crate::screen::TIMEOUT;
            while on_a_small_terminal(&screen, 80, 24) != screen.text() {
                let small = on_a_small_terminal(&screen, 80, 24);
                assert!(Instant::now() < end, "{what}:\n{small}\ninstead of\n{}", screen.text());
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        screen.type_keys("!seq 100; printf 'end: %s\\n' done\r");
        same("end: done");
        screen.type_keys("\x0f");
        screen.type_keys("tell me\r");
        screen.wait_until("the end of the run", |cells| !cells.contents().contains("esc to stop"));
        same("> ");
        for key in ["\x1b[5~", "\x1b[5~", "\x1b[1;2A", "\x1b[1;2A", "\x1b[6~", "/mod", "\x03", "\x0c"] {
            screen.type_keys(key);
            std::thread::sleep(Duration::from_millis(50));
            same(" ");
        }
    }
}
