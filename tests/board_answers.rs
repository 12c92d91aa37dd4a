//! Answers that are being typed when their question ends elsewhere, their session is out of reach, or the screen is
//! left: no word is lost, and no key acts on something else.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::board::{QUIET, begin, server};
use crate::live::{command, other_terminal, texts, wait_for_state};
use crate::screen::Screen;
use crate::support::program::{calls, says};
use crate::support::server::Server;
use crate::time_limit::RunInTime;

/// A session in the background that asks for a colour; its server and its ID.
fn asks_for_colour(home: &Path) -> (Server, String) {
    let choose = json!({"questions": [{"question": "Which colour?", "choices": ["green", "red"]}]});
    let model = server(vec![calls("ask_user", &choose), says("As you like."), says("So be it.")]);
    let id = begin(home, &model, "choose");
    wait_for_state(home, &id, "waiting");
    (model, id)
}

/// The process of a session.
fn process(home: &Path, id: &str) -> Pid {
    let record = fs::read(home.join(format!("tau/logs/live/{id}.json"))).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    Pid::from_raw(record["pid"].as_i64().unwrap().try_into().unwrap()).unwrap()
}

/// Opens the question on the board, and begins an answer in words.
fn type_on_board(screen: &Screen) {
    screen.type_keys("\x18l");
    screen.wait_for("? waiting   choose");
    screen.type_keys("a");
    screen.wait_for("Which colour?");
    std::thread::sleep(QUIET);
    screen.type_keys("mauve");
    screen.wait_for("mauve");
}

#[test]
fn what_is_typed_on_the_board_stays_when_another_screen_answers() {
    let screen = Screen::prepared("true", "--model demo", 100, 30);
    let home = screen.home().to_owned();
    let (model, id) = asks_for_colour(&home);
    type_on_board(&screen);
    let other = other_terminal(&home, &format!("$TAU_BIN attach {id}"));
    other.wait_for("Which colour?");
    std::thread::sleep(QUIET);
    other.type_keys("1");
    screen.wait_for("answered elsewhere, or withdrawn; enter sends your words as a message");
    // They are in the message to that session, and Enter opens nothing.
    screen.wait_for("> mauve");
    std::thread::sleep(QUIET);
    screen.type_keys(" please\r");
    screen.wait_for("sent");
    screen.wait_for("enter opens");
    wait_for_state(&home, &id, "done");
    assert!(model.requests().last().unwrap().contains("mauve please"));
}

#[test]
fn what_is_typed_on_the_board_stays_while_its_session_is_out_of_reach() {
    let screen = Screen::prepared("true", "--model demo", 100, 30);
    let home = screen.home().to_owned();
    let (model, id) = asks_for_colour(&home);
    type_on_board(&screen);
    let host = process(&home, &id);
    kill_process(host, Signal::STOP).unwrap();
    // The answer does not arrive; it is in the prompt again.
    screen.type_keys("\r");
    screen.wait_until("the text is back", |cells| {
        let text = cells.contents();
        text.contains("is suspended") && text.contains("Which colour?") && text.contains("mauve")
    });
    kill_process(host, Signal::CONT).unwrap();
    std::thread::sleep(QUIET);
    // The first answer may arrive after all: its words are in a message, which is left.
    let (end, mut is_left) = (Instant::now() + Duration::from_secs(60), false);
    while !screen.text().contains("done      choose") {
        assert!(Instant::now() < end, "{}", screen.text());
        let is_message = screen.text().contains("as a message, too");
        if !is_left {
            screen.type_keys(if is_message { "\x1b" } else { "\r" });
        }
        is_left |= is_message;
        std::thread::sleep(QUIET);
    }
    if !is_left && screen.text().contains("as a message, too") {
        screen.type_keys("\x1b");
    }
    assert!(crate::asking::result_of(model.requests().last().unwrap()).contains("mauve"));
    // Left half-written, it is there the next time.
    let (_, again) = asks_for_colour(&home);
    screen.wait_for("? waiting   choose");
    screen.type_keys("\x1b");
    screen.wait_until("the board closes", |cells| !cells.contents().contains("enter opens"));
    type_on_board(&screen);
    screen.type_keys("\x1b");
    screen.wait_for("a answers");
    screen.type_keys("a");
    screen.wait_for("mauve");
    assert_eq!(texts(&command(&home, &["stop", &again]).output_in_time()).0, Some(0));
}

#[test]
fn a_half_written_answer_is_there_after_leaving_and_attaching() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    fs::create_dir_all(home.join("work")).unwrap();
    let (model, id) = asks_for_colour(home);
    let leave = |screen: &Screen| {
        screen.type_keys("\x18b");
        screen.wait_for("exit=0");
    };
    let attach = || other_terminal(home, &format!("$TAU_BIN attach {id}"));
    let screen = attach();
    screen.wait_for("Which colour?");
    std::thread::sleep(QUIET);
    screen.type_keys("mauve");
    screen.wait_for("mauve");
    leave(&screen);
    let screen = attach();
    screen.wait_for("Which colour?");
    screen.wait_for("mauve");
    leave(&screen);
    // Once the question is gone, they are in the draft.
    assert_eq!(texts(&command(home, &["stop", &id]).output_in_time()).0, Some(0));
    let screen = attach();
    screen.wait_for("the question is gone; your answer to it is in the draft");
    screen.wait_for_composer("mauve");
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn a_begun_denial_is_there_after_leaving_and_attaching() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    fs::create_dir_all(home.join("work")).unwrap();
    let model = server(vec![calls("bash", &json!({ "command": "touch made" })), says("As you like.")]);
    let id = begin(home, &model, "clean up");
    wait_for_state(home, &id, "waiting");
    let attach = || other_terminal(home, &format!("$TAU_BIN attach {id}"));
    let screen = attach();
    screen.wait_for("Run this command?");
    std::thread::sleep(QUIET);
    screen.type_keys("n");
    screen.wait_for("enter");
    std::thread::sleep(QUIET);
    screen.type_keys("use make");
    screen.wait_for("use make");
    screen.type_keys("\x18b");
    screen.wait_for("exit=0");
    let screen = attach();
    screen.wait_for("use make");
    std::thread::sleep(QUIET);
    screen.type_keys(" here\r");
    wait_for_state(home, &id, "done");
    assert!(model.requests().last().unwrap().contains("use make here"));
}

#[test]
fn a_session_that_is_open_elsewhere_is_renamed_in_the_list() {
    let screen = Screen::prepared("true", "--model demo", 100, 30);
    let home = screen.home().to_owned();
    let (_, id) = asks_for_colour(&home);
    let other = other_terminal(&home, &format!("$TAU_BIN attach {id}"));
    other.wait_for("Which colour?");
    screen.type_keys("/resume\r");
    screen.wait_for("1/1");
    screen.type_keys("\x12");
    screen.type_keys("Colours\r");
    screen.wait_for("session renamed");
    screen.wait_for("Colours");
    let (_, out, _) = texts(&command(&home, &["sessions", "--json"]).output_in_time());
    let rows: Vec<Value> = serde_json::from_str(&out).unwrap();
    let row = rows.iter().find(|row| row["id"] == *id).unwrap();
    assert_eq!(row["name"], "Colours", "{row}");
}
