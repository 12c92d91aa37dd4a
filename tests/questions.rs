//! Queries to the terminal in the real program: when they are sent, and where their answers go.

use std::time::{Duration, Instant};

use crate::screen::Screen;

const ATTRIBUTES: &str = "\x1b[c";
const QUESTIONS: [&str; 4] =
    ["\x1b]11;?\x1b\\", "\x1b[16t", "\x1b[>q", "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"];
/// A white background, cells of 9x18, kitty graphics, sixel.
const ANSWERS: &str = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[6;18;9t\x1b_Gi=31;OK\x1b\\\x1b[?62;4;22c";

fn written(screen: &Screen) -> String {
    String::from_utf8_lossy(&screen.bytes()).into_owned()
}

fn wait_for_question(screen: &Screen, question: &str) {
    crate::time_limit::until(
        crate::screen::TIMEOUT,
        || written(screen).contains(question),
        || format!("the terminal is not asked: {:?}", written(screen)),
    );
}

#[test]
fn all_is_asked_at_once_after_the_first_frame() {
    let screen = Screen::prepared("", "", 80, 24);
    wait_for_question(&screen, ATTRIBUTES);
    let text = written(&screen);
    let round = QUESTIONS.concat() + ATTRIBUTES;
    assert_eq!(text.matches(&round).count(), 1, "{text:?}");
    let (frame, asked) = (text.find("\x1b[?2026l").unwrap(), text.find(&round).unwrap());
    assert!(frame < asked, "{text:?}");
}

#[test]
fn answers_are_facts_and_no_text() {
    let screen = Screen::prepared("", "--record \"$HOME/run\"", 80, 24);
    wait_for_question(&screen, ATTRIBUTES);
    screen.type_keys("before");
    screen.wait_for_composer("before");
    for piece in ANSWERS.as_bytes().chunks(5) {
        screen.type_keys(std::str::from_utf8(piece).unwrap());
        std::thread::sleep(Duration::from_millis(2));
    }
    screen.type_keys(" after");
    screen.wait_for_composer("before after");
    let recorded = std::fs::read_to_string(screen.home().join("run")).unwrap();
    let facts = [
        r#"{"background":"light"}"#,
        r#"{"cell_pixels":{"width":9,"height":18}}"#,
        r#"{"kitty_graphics":true}"#,
        r#"{"attributes":{"sixel":true}}"#,
    ];
    for fact in facts {
        assert!(recorded.contains(&format!(r#""terminal_answered":{fact}"#)), "{fact}:\n{recorded}");
    }
}

/// The time to exit once all queries are answered.
fn time_to_leave() -> Duration {
    let mut screen = Screen::prepared("", "", 80, 24);
    wait_for_question(&screen, ATTRIBUTES);
    screen.type_keys(ANSWERS);
    // The measurement then ends with the same query.
    wait_for_question(&screen, "\x1b[6n");
    screen.type_keys("\x1b[9;2R\x1b[?62;4;22c");
    screen.type_keys("x\x7f");
    screen.wait_for_composer("ask for something, or !command");
    let begun = Instant::now();
    screen.type_keys("\x04");
    screen.wait_exit();
    begun.elapsed()
}

#[test]
fn the_last_answer_ends_the_waiting() {
    // Without it, there is a wait of one second. One success in five is enough on a busy machine.
    assert!((0..5).any(|_| time_to_leave() < Duration::from_millis(900)));
}

#[test]
fn terminals_that_would_print_a_question_are_not_asked_it() {
    for (script, asked) in [
        ("export TERM=linux", [false; 4]),
        ("export TMUX=x", [true, true, false, true]),
        ("export TERM_PROGRAM=Apple_Terminal", [true, true, false, true]),
        ("export NO_COLOR=1", [false, true, true, true]),
    ] {
        let screen = Screen::prepared(script, "", 80, 24);
        screen.type_keys("words");
        screen.wait_for_composer("words");
        let text = written(&screen);
        let found =
            [QUESTIONS[0], QUESTIONS[1], QUESTIONS[3], ATTRIBUTES].map(|question| text.contains(question));
        assert_eq!(found, asked, "{script}: {text:?}");
    }
}
