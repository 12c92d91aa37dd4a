//! Giving the keyboard to a running command: keys, frames, and the real program in a terminal.

use tau::agent::AgentCommand;
use tau::agent::protocol::command::ShellCommand;
use tau::agent::protocol::event::{Question, QuestionEvent, ShellEvent};
use tau::agent::protocol::message::BashExecution;
use tau::app::geometry::Size;
use tau::app::request::ScreenRequest;
use tau::app::{Effect, Msg};

use crate::harness::{Screen, frame, frames, text};

const ID: &str = "user-3";

fn begun(command: &str) -> Screen {
    let mut screen = Screen::new();
    let (id, command) = (Some(ID.to_owned()), command.to_owned());
    let size = Some((77, 24));
    screen.agent(ShellEvent::BashStart {
        id,
        command,
        exclude_from_context: false,
        size,
        without_sandbox: false,
    });
    screen.take_effects();
    screen
}

fn writes(screen: &mut Screen, delta: &str) {
    screen.agent(ShellEvent::BashExecutionUpdate { id: Some(ID.into()), delta: delta.into() });
}

fn ends(screen: &mut Screen) {
    let message = BashExecution { command: "x".into(), exit_code: Some(0), ..BashExecution::default() };
    screen.agent(ShellEvent::BashEnd { id: Some(ID.into()), message });
}

/// The text typed into the command since the last call; nothing else may have happened.
#[track_caller]
fn typed(screen: &mut Screen) -> String {
    let effects = screen.take_effects();
    let data = effects.iter().map(|effect| match effect {
        Effect::Agent(AgentCommand::Shell(ShellCommand::BashInput { id, data }))
            if id.as_deref() == Some(ID) =>
        {
            data.as_str()
        }
        Effect::Agent(AgentCommand::Shell(ShellCommand::BashResize { .. }))
        | Effect::Ask(_, ScreenRequest::Branch {}) => "",
        other => panic!("{other:?}"),
    });
    data.collect()
}

fn shown(screen: &mut Screen) -> String {
    text(&screen.draw())
}

#[test]
fn one_key_hands_the_keyboard_over_and_another_takes_it_back() {
    let mut screen = begun("sudo true");
    writes(&mut screen, "password: ");
    assert!(shown(&mut screen).contains("esc stops it, f2 types into it"), "{}", shown(&mut screen));
    screen.keys("<f2>s3cr<esc><ctrl+c><ctrl+d><up><f1><tab><enter>");
    assert_eq!(typed(&mut screen), "s3cr\x1b\x03\x04\x1b[A\x1bOP\t\r");
    assert!(screen.model().wants().secret, "a password may be typed");
    let frame = shown(&mut screen);
    assert!(
        frame.contains("typing into sudo true") && frame.contains("ctrl+] takes the keyboard back"),
        "{frame}"
    );
    assert_eq!(frame.matches("password:").count(), 1, "it is drawn once: {frame}");
    let cursor = screen.model().laid.cursor.expect("the command's cursor is shown");
    assert_eq!(cursor.0, 10);
    screen.send(Msg::Paste("two\nlines".into()));
    assert_eq!(typed(&mut screen), "two\rlines");
    screen.keys("<ctrl+]>");
    assert!(!screen.model().wants().secret);
    screen.keys("mine");
    assert!(screen.take_effects().is_empty() && shown(&mut screen).contains("> mine"));
    screen.keys("<ctrl+]>x<ctrl+]>");
    assert_eq!(typed(&mut screen), "x");
    screen.keys("<esc>");
    assert_eq!(screen.take_effects(), [Effect::Agent(AgentCommand::Shell(ShellCommand::AbortBash))]);
}

#[test]
fn the_command_with_the_keyboard_is_drawn_below_and_a_full_screen_one_everywhere() {
    let mut screen = begun("git add -p && git commit");
    writes(
        &mut screen,
        "\x1b[1mdiff --git a/x b/x\x1b[m\r\n\x1b[31m-old 漢字\x1b[m\r\n\x1b[32m+new\x1b[m\r\n",
    );
    writes(&mut screen, "\x1b[1;34m(1/2) Stage this hunk [y,n,q,a,d,e,?]? \x1b[m");
    screen.keys("<f2>");
    frames(&mut screen, "console");
    // A full-screen program redraws when its size changes.
    for (width, height) in [(200, 50), (120, 40), (40, 12), (80, 24)] {
        screen.send(Msg::Resized(Size { width, height }));
        writes(
            &mut screen,
            "\x1b[?1049h\x1b[2J\x1b[1;1H# the message of the commit\x1b[23;1H\x1b[7m COMMIT_EDITMSG \x1b[m\x1b[2;1H",
        );
        frame(&mut screen, "console-full", width, height);
    }
}

#[test]
fn without_a_command_the_key_says_so() {
    let mut screen = Screen::new();
    screen.take_effects();
    screen.keys("<f2>");
    assert!(screen.take_effects().is_empty());
    assert!(shown(&mut screen).contains("no command is running to take the keyboard"));
}

#[test]
fn what_is_typed_into_a_command_that_has_just_ended_is_not_sent() {
    let mut screen = begun("sudo true");
    screen.keys("<f2>secr");
    ends(&mut screen);
    screen.keys("et<enter>");
    screen.send(Msg::Paste("more".into()));
    assert_eq!(typed(&mut screen), "secr");
    let frame = shown(&mut screen);
    assert!(frame.contains("command finished; tau has the keyboard again"), "{frame}");
    assert!(screen.model().composer.is_empty() && screen.model().wants().secret);
    screen.wait(1_000);
    screen.keys("hello");
    assert!(!screen.model().wants().secret && shown(&mut screen).contains("> hello"));
}

#[test]
fn a_full_screen_program_gets_the_screen_and_gives_it_back() {
    let mut screen = begun("vim x");
    writes(
        &mut screen,
        "\x1b[?1049h\x1b[?1h\x1b[2J\x1b[23;1H\x1b[7mbottom row\x1b[m\x1b[1;3Hin vim\x1b[?25h",
    );
    let effects = screen.take_effects();
    let resized = AgentCommand::Shell(ShellCommand::BashResize { id: Some(ID.into()), size: (80, 23) });
    assert_eq!(effects, [Effect::Agent(resized)], "all but one row");
    let frame = shown(&mut screen);
    let rows: Vec<&str> = frame.lines().collect();
    assert!(rows[0].starts_with("  in vim") && rows[22].starts_with("bottom row"), "{frame}");
    assert!(rows[23].contains("vim x") && rows[23].contains("ctrl+] takes the keyboard back"), "{frame}");
    assert_eq!(screen.model().laid.cursor, Some((8, 0)));
    screen.keys(":q<up><ctrl+z>");
    assert_eq!(typed(&mut screen), ":q\x1bOA\x1a");
    // After that the program keeps running in the background; with the keyboard again, it is as before.
    screen.keys("<ctrl+]>");
    let frame = shown(&mut screen);
    assert!(!frame.contains("in vim") && frame.contains("f2 types into it"), "{frame}");
    writes(&mut screen, "\x1b[2;1Hmore");
    assert!(!shown(&mut screen).contains("in vim"), "it does not take the screen by itself again");
    screen.keys("<f2>");
    assert!(shown(&mut screen).starts_with("  in vim"));
    writes(&mut screen, "\x1b[?1049ldone\r\n");
    // The user handed it over, so the user takes it back, or the end does.
    ends(&mut screen);
    let frame = shown(&mut screen);
    assert!(frame.contains("│ done") && !frame.contains("in vim"), "{frame}");
}

#[test]
fn the_screen_comes_back_by_itself_when_it_went_by_itself() {
    let mut screen = begun("less x; echo after");
    writes(&mut screen, "\x1b[?1049h\x1b[Hpaged");
    assert!(screen.model().jobs.owner().is_some());
    writes(&mut screen, "\x1b[?1049lafter\r\n");
    assert!(screen.model().jobs.owner().is_none());
    let frame = shown(&mut screen);
    assert!(frame.contains("│ after") && !frame.contains("paged"), "{frame}");
    let sizes: Vec<Effect> = screen.take_effects();
    let size =
        |size| Effect::Agent(AgentCommand::Shell(ShellCommand::BashResize { id: Some(ID.into()), size }));
    assert_eq!(sizes, [size((80, 23)), size((77, 24))]);
}

#[test]
fn who_writes_is_not_interrupted() {
    let mut screen = begun("make menuconfig");
    screen.keys("half a message");
    writes(&mut screen, "\x1b[?1049h\x1b[Hmenu");
    let frame = shown(&mut screen);
    assert!(
        frame.contains("> half a message") && frame.contains("a program wants the whole screen; f2 shows it"),
        "{frame}"
    );
    screen.keys("<f2>");
    assert!(shown(&mut screen).starts_with("menu"));
    screen.keys("<ctrl+]>");
    assert!(shown(&mut screen).contains("> half a message"));
}

#[test]
fn a_question_of_the_agent_waits_for_the_keyboard() {
    let mut screen = begun("python3");
    screen.keys("<f2>");
    let question = Question::Confirm { title: "really?".into(), message: String::new() };
    screen.agent(QuestionEvent::Asked { id: "q".into(), question });
    screen.take_effects();
    screen.keys("1+1<enter>");
    assert_eq!(typed(&mut screen), "1+1\r");
    let frame = shown(&mut screen);
    assert!(
        frame.contains("tau has a question · ctrl+] takes the keyboard back") && !frame.contains("really?"),
        "{frame}"
    );
    screen.keys("<ctrl+]>");
    assert!(shown(&mut screen).contains("really?"));
}

#[test]
fn the_terminal_follows_the_window_and_answers() {
    let mut screen = begun("top");
    screen.send(Msg::Resized(Size { width: 100, height: 30 }));
    let size =
        |size| Effect::Agent(AgentCommand::Shell(ShellCommand::BashResize { id: Some(ID.into()), size }));
    assert_eq!(screen.take_effects(), [size((97, 30))]);
    writes(&mut screen, "\x1b[6n");
    assert_eq!(typed(&mut screen), "\x1b[1;1R");
    screen.send(Msg::Resized(Size { width: 1, height: 1 }));
    screen.keys("<f2>");
    writes(&mut screen, "\x1b[?1049h\x1b[5;5Hx");
    screen.send(Msg::Resized(Size { width: 0, height: 0 }));
}

#[test]
fn bars_of_progress_are_shown_once_and_lines_are_counted() {
    let mut screen = begun("docker pull");
    for percent in 0..50 {
        writes(&mut screen, &format!("layer a {percent}%\r\nlayer b {percent}%\r\n\x1b[2A"));
    }
    let frame = shown(&mut screen);
    assert_eq!(frame.matches("layer").count(), 2, "{frame}");
    writes(&mut screen, "\x1b[2B");
    let flood: String = (0..60_000).map(|n| format!("line {n}\r\n")).collect();
    for piece in flood.as_bytes().chunks(4_000) {
        writes(&mut screen, std::str::from_utf8(piece).unwrap());
    }
    ends(&mut screen);
    screen.send(Msg::Resized(Size { width: 80, height: 40 }));
    let frame = shown(&mut screen);
    assert!(frame.contains("line 59999") && frame.contains("59982 hidden lines"), "{frame}");
}

/// The real program in the test's terminal.
mod program {
    use rustix::process::Signal;

    use crate::screen::Screen;

    fn started() -> Screen {
        let screen = Screen::start(&[], 80, 24);
        screen.wait_until("alternate screen", vt100::Screen::alternate_screen);
        screen
    }

    #[test]
    fn a_command_is_typed_into_and_a_full_screen_program_comes_and_goes() {
        let screen = started();
        screen.type_keys("!read -p 'name? ' -s name; echo; echo \"hello ${name}\"\r");
        screen.wait_for("name? ");
        screen.wait_for("types into it");
        screen.type_keys("\x1bOQ");
        screen.wait_for("typing into read");
        screen.type_keys("w\u{f6}rld\r");
        screen.wait_for("hello w\u{f6}rld");
        screen.wait_until("the composer again", |cells| !cells.contents().contains("typing into"));
        let script = "printf '\\033[?1049h\\033[H'; stty size; read -n1 key; \
                      printf '\\033[?1049l'; echo \"key=$key\"; stty size";
        std::thread::sleep(std::time::Duration::from_millis(500));
        screen.type_keys(&format!("!{script}\r"));
        screen.wait_until("the program's own screen", |cells| {
            cells
                .contents()
                .lines()
                .last()
                .is_some_and(|last| last.contains("ctrl+] takes the keyboard back"))
                && !cells.contents().contains("name? ")
        });
        screen.resize(100, 30);
        screen.type_keys("k");
        screen.wait_for("key=k");
        screen.wait_until("the transcript again", |cells| cells.contents().contains("name? "));
        screen.type_keys("\x04");
    }

    #[test]
    fn ending_with_a_command_that_has_the_screen_gives_the_terminal_back() {
        let mut screen = started();
        screen.type_keys("!printf '\\033[?1049h\\033[Hmine'; sleep 60\r");
        screen.wait_until("the program's screen", |cells| cells.contents().starts_with("mine"));
        screen.signal(Signal::TERM);
        assert_eq!(screen.wait_exit().code(), Some(143));
        assert!(screen.settings_are_as_before());
        screen.screen(|cells| assert!(!cells.alternate_screen() && !cells.hide_cursor()));
    }

    /// A shell starts a background job like this, and `nohup` any program.
    #[test]
    fn ctrl_c_interrupts_a_command_of_a_tau_that_was_started_with_signals_ignored() {
        let script = "trap '' INT QUIT HUP TSTP; exec \"$TAU_BIN\"";
        let screen = Screen::program(std::path::Path::new("/bin/sh"), &["-c", script], 80, 24);
        screen.wait_until("alternate screen", vt100::Screen::alternate_screen);
        // The signals 1 to 31; the test runner's treatment of real-time signals does not matter.
        let ignored = "$((0x$(grep SigIgn /proc/self/status | cut -f2) & 0x7fffffff))";
        screen.type_keys(&format!("!grep -q . /proc/self/status; echo {ignored}-ignored; sleep 60\r"));
        screen.wait_for("0-ignored");
        screen.wait_for("types into it");
        screen.type_keys("\x1bOQ");
        screen.wait_for("typing into grep");
        screen.type_keys("\x03");
        screen.wait_until("the end of the command", |cells| !cells.contents().contains("typing into"));
    }

    #[test]
    fn what_only_the_programs_terminal_may_see_stays_in_it() {
        let screen = started();
        let hostile =
            "printf '\\033]0;evil\\007\\033]52;c;ZXZpbA==\\007\\033[?1000h\\033P+q\\033\\\\shown'; sleep 5";
        screen.type_keys(&format!("!{hostile}\r"));
        screen.wait_for("shown");
        screen.wait_for("types into it");
        screen.type_keys("\x1bOQ");
        screen.wait_for("typing into printf");
        let bytes = screen.bytes();
        let log = String::from_utf8_lossy(&bytes);
        for sequence in ["\x1b]0;evil", "\x1b]52;c;ZX", "\x1bP+q"] {
            assert!(!log.contains(sequence), "{sequence:?}");
        }
    }
}
