//! Ctrl+V in the real program: from the clipboard of the machine, of tmux and of the terminal.

use std::io::Cursor;
use std::time::Duration;

use base64::Engine;
use tau::app::request::{Picture, ScreenReply, ScreenRequest};
use tau::app::{Effect, Msg};

use crate::harness;
use crate::screen::Screen;

const CTRL_V: &str = "\x16";
const KNOWS_TYPES: &str = "\x1b[?5522$p\x1b[c";
const CONTENT: &str =
    "\x1b]5522;type=read;aW1hZ2UvcG5nIGltYWdlL2pwZWcgaW1hZ2Uvd2VicCBpbWFnZS9naWYgdGV4dC9wbGFpbg==\x1b\\";
const TEXT: &str = "\x1b]52;c;?\x1b\\\x1b[c";
const ATTRIBUTES: &str = "\x1b[?62;22c";
const SSH: &str = "export SSH_CONNECTION='a b'";

fn coded(bytes: impl AsRef<[u8]>) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn png() -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image::RgbImage::new(7, 5).write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// tau without a desktop, with its startup questions answered.
fn start(script: &str) -> Screen {
    let screen = Screen::prepared(script, "", 80, 24);
    wait_for_question(&screen, "\x1b[c", 1);
    screen.type_keys(ATTRIBUTES);
    // Widths are measured then; this terminal does not report its cursor.
    wait_for_question(&screen, "\x1b[c", 2);
    screen.type_keys(ATTRIBUTES);
    screen
}

/// Waits until the terminal was asked this many times.
fn wait_for_question(screen: &Screen, question: &str, times: usize) {
    crate::time_limit::until(
        crate::screen::TIMEOUT,
        || String::from_utf8_lossy(&screen.bytes()).matches(question).count() >= times,
        || format!("{question:?} is not asked:\n{}", screen.text()),
    );
}

/// Presses Ctrl+V in a terminal that does not know types, up to the question for its text.
fn ask_for_text(screen: &Screen, times: usize) {
    screen.type_keys(CTRL_V);
    wait_for_question(screen, KNOWS_TYPES, times);
    screen.type_keys(&format!("\x1b[?5522;0$y{ATTRIBUTES}"));
    wait_for_question(screen, TEXT, times);
}

/// Programs that stand in for those of a desktop and for tmux: each prints the content of `~/clip`.
const FAKE: &str = r#"mkdir ~/bin
cat >~/bin/wl-paste <<'END'
#!/bin/sh
case "$*" in
--list-types) cat ~/types;;
"--type image/png") cat ~/picture;;
--no-newline) cat ~/clip;;
esac
END
cat >~/bin/xclip <<'END'
#!/bin/sh
case "$*" in
*TARGETS) echo TARGETS; echo UTF8_STRING;;
*-o) cat ~/clip;;
esac
END
cat >~/bin/tmux <<'END'
#!/bin/sh
echo "$*" >>~/tmux
test "$1" = save-buffer && cat ~/clip
END
chmod +x ~/bin/*
PATH=~/bin:/usr/bin:/bin
printf 'image/png\n' >~/types"#;

#[test]
fn a_picture_on_the_clipboard_of_the_desktop_becomes_an_attachment() {
    let screen = Screen::prepared(&format!("{FAKE}\nexport WAYLAND_DISPLAY=w"), "", 80, 24);
    std::fs::write(screen.home().join("picture"), png()).unwrap();
    screen.type_keys(&format!("see {CTRL_V}"));
    screen.wait_for("[image #1 7x5]");
    assert!(!screen.text().contains("reading the clipboard"));
}

#[test]
fn text_on_the_clipboard_of_the_desktop_is_pasted() {
    for (variables, types) in [("WAYLAND_DISPLAY=w", "text/plain"), ("DISPLAY=:99", "")] {
        let script =
            format!("{FAKE}\nexport {variables}\nprintf '{types}' >~/types; printf 'one\\r\\ntwo' >~/clip");
        let screen = Screen::prepared(&script, "", 80, 24);
        screen.type_keys(&format!("> {CTRL_V}"));
        screen.wait_for_composer("> one\ntwo");
    }
}

/// In the form in which terminals paste the paths of dropped files.
#[test]
fn dropped_pictures_become_attachments_and_anything_else_stays_text() {
    let screen = Screen::prepared("touch 'no picture.png' notes.txt", "", 100, 30);
    let work = screen.home().join("work");
    for name in ["a b.png", "c.png", "d%20e.png", "\u{e9}.png"] {
        std::fs::write(work.join(name), png()).unwrap();
    }
    let at = work.display();
    let cases = [
        (format!("{at}/a\\ b.png "), "[image #1 7x5]"),
        (format!("'{at}/a b.png'"), "[image #1 7x5]"),
        (format!("file://{at}/a%20b.png\r\n"), "[image #1 7x5]"),
        (format!("{at}/a%20b.png"), "[image #1 7x5]"),
        (format!("{at}/d%20e.png"), "[image #1 7x5]"),
        ("./e\u{301}.png".to_owned(), "[image #1 7x5]"),
        (format!("{at}/a\\ b.png {at}/c.png"), "[image #1 7x5] [image #2 7x5]"),
        (format!("file://{at}/c.png\rfile://{at}/a%20b.png"), "[image #1 7x5] [image #2 7x5]"),
        ("./no\\ picture.png".to_owned(), "./no\\ picture.png"),
        ("/nowhere/x.png".to_owned(), "/nowhere/x.png"),
        ("./c.png /nowhere/x.png".to_owned(), "./c.png /nowhere/x.png"),
        ("./c.png ./notes.txt".to_owned(), "./c.png ./notes.txt"),
    ];
    for (pasted, expected) in cases {
        screen.type_keys(&format!("\x1b[200~{pasted}\x1b[201~"));
        screen.wait_for_composer(expected);
        screen.type_keys("\x03");
        screen.wait_for_composer("ask for something, or !command");
    }
    // It stays where it was dropped, though more is typed before it is read.
    screen.type_keys("see \x1b[200~./c.png\x1b[201~ and tell me");
    screen.wait_for_composer("see [image #1 7x5] and tell me");
    screen.type_keys("\x03");
    screen.wait_for_composer("ask for something, or !command");
    // A command takes a path verbatim.
    screen.type_keys("!file \x1b[200~./c.png\x1b[201~");
    screen.wait_for("!file ./c.png");
}

#[test]
fn an_empty_clipboard_is_said_to_be() {
    let script = format!("{FAKE}\nexport WAYLAND_DISPLAY=w; : >~/clip; : >~/types");
    let screen = Screen::prepared(&script, "", 80, 24);
    screen.type_keys(CTRL_V);
    screen.wait_for("nothing to paste");
}

#[test]
fn tmux_fetches_the_clipboard_of_its_terminal() {
    let script = format!("{FAKE}\n{SSH}\nexport TMUX=/nowhere,1,0 DISPLAY=:99; printf 'from afar' >~/clip");
    let screen = Screen::prepared(&script, "", 80, 24);
    screen.type_keys(CTRL_V);
    screen.wait_for_composer("from afar");
    let commands = std::fs::read_to_string(screen.home().join("tmux")).unwrap();
    assert_eq!(commands, "refresh-client -l\nsave-buffer -\n");
}

#[test]
fn text_comes_from_the_terminal_where_the_machine_is_another() {
    let screen = start(&format!("{SSH} DISPLAY=:99"));
    ask_for_text(&screen, 1);
    screen.wait_for("reading the clipboard");
    let text = coded("one\r\ntwo \x1b[31m\x07 three");
    // In pieces, with a key in between.
    let (first, rest) = text.split_at(9);
    screen.type_keys(&format!("k\x1b]52;c;{first}"));
    std::thread::sleep(Duration::from_millis(60));
    screen.type_keys(&format!("{rest}\x1b\\{ATTRIBUTES}"));
    screen.wait_for_composer("kone\ntwo [31m three");
    assert!(!screen.text().contains("reading the clipboard"));
    // This one was not requested.
    screen.type_keys(&format!("\x1b]52;c;{}\x07", coded("unasked")));
    screen.type_keys("!");
    screen.wait_for_composer("kone\ntwo [31m three!");
}

#[test]
fn a_terminal_that_is_silent_or_talks_nonsense_is_explained() {
    let screen = start(&format!("{SSH} TERM=xterm-kitty"));
    ask_for_text(&screen, 1);
    screen.type_keys(ATTRIBUTES);
    screen.type_keys("typed");
    screen.wait_for_composer("typed");
    screen.wait_for("to clipboard_control in kitty.conf");
    screen.wait_for_composer("typed");
    ask_for_text(&screen, 2);
    screen.type_keys("\x1b]52;c;no base64!\x1b\\");
    screen.wait_for("more than 20 MB");
    ask_for_text(&screen, 3);
    screen.type_keys(&format!("\x1b]52;c;{}\x1b[Dnever ended", coded("lost")));
    screen.wait_for_composer("typenever endedd");
}

#[test]
fn pictures_come_from_terminals_that_know_their_protocol() {
    let screen = start(SSH);
    let ask = |times| {
        screen.type_keys(CTRL_V);
        wait_for_question(&screen, KNOWS_TYPES, times);
        screen.type_keys(&format!("\x1b[?5522;2$y{ATTRIBUTES}"));
        wait_for_question(&screen, CONTENT, times);
    };
    let packet = |status: &str, kind: &str, data: &[u8]| {
        format!("\x1b]5522;type=read:status={status}:mime={};{}\x1b\\", coded(kind), coded(data))
    };
    ask(1);
    screen.type_keys("\x1b]5522;type=read:status=OK\x1b\\");
    for part in png().chunks(40) {
        screen.type_keys(&packet("DATA", "image/png", part));
    }
    screen.type_keys(&packet("DATA", "text/plain", b"a file name"));
    screen.type_keys("\x1b]5522;type=read:status=DONE\x1b\\");
    screen.wait_for("[image #1 7x5]");
    ask(2);
    screen.type_keys(&packet("DATA", "text/plain", b" and text"));
    screen.type_keys("\x1b]5522;type=read:status=DONE\x1b\\");
    screen.wait_for_composer("[image #1 7x5] and text");
    ask(3);
    screen.type_keys("\x1b]5522;type=read:status=EPERM\x1b\\");
    screen.wait_for("the terminal keeps its clipboard (EPERM)");
    assert!(!String::from_utf8_lossy(&screen.bytes()).contains(TEXT), "it was not asked twice");
}

/// The user is told when a picture is pasted, and again when it is left out.
#[test]
fn a_picture_for_a_model_that_is_not_known_to_take_it_is_not_dropped_silently() {
    let url = crate::harness::answering(Duration::ZERO, "I see nothing.");
    let arguments = format!("--base-url {url} --api-key x --model m");
    let screen = Screen::prepared("export NO_PROXY='*'", &arguments, 80, 24);
    std::fs::write(screen.home().join("work/a.png"), png()).unwrap();
    screen.type_keys("\x1b[200~./a.png\x1b[201~");
    screen.wait_for("[image #1 7x5]");
    screen.wait_for("m may not accept images, so this one would not be sent");
    screen.wait_for("input = [\"text\", \"image\"]");
    screen.type_keys("\r");
    screen.wait_for("1 picture not sent");
    screen.wait_for("I see nothing.");
    assert_eq!(screen.text().matches("add to models.toml").count(), 1, "{}", screen.text());
}

#[test]
fn a_command_does_not_leave_a_picture_out() {
    for command in ["/btw what is this ", "/attempts 2 draw this ", "/compact ", "!echo "] {
        let mut screen = harness::Screen::new();
        screen.send(Msg::Paste("/tmp/shot.png".to_owned()));
        let ticket = screen.take_effects().into_iter().find_map(|effect| match effect {
            Effect::Ask(ticket, ScreenRequest::Pictures { .. }) => Some(ticket),
            _ => None,
        });
        let picture = Picture { data: "AA==".into(), mime_type: "image/png".into(), width: 8, height: 8 };
        screen.send(Msg::Finished(ticket.expect("asked"), ScreenReply::Pictures(vec![picture])));
        screen.keys(&format!("<home>{command}<esc>"));
        let draft = screen.model().composer.text();
        assert_eq!(draft, format!("{command}[image #1 8x8]"));
        screen.take_effects();
        screen.keys("<enter>");
        assert_eq!(screen.model().composer.text(), draft, "it is not sent");
        assert!(harness::text(&screen.draw()).contains("takes no picture; remove it"), "{command}");
        assert!(!screen.take_effects().iter().any(|effect| matches!(effect, Effect::Agent(_))), "{command}");
    }
}
