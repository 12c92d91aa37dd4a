//! What a screen that only looks at a session leaves as it was, and what it is told.

use std::time::{Duration, SystemTime};

use rustix::process::{Signal, kill_process};

use crate::harness::answering;
use crate::live::{Home, other_terminal};
use crate::live_ends::process_of;
use crate::live_waits::begun_with;
use crate::screen::Screen;
use crate::support::program::{says, stalls};
use crate::support::server::Server;

#[test]
fn a_look_leaves_the_end_of_the_last_run_as_it_was() {
    let home = Home::new();
    let url = answering(Duration::ZERO, "an answer");
    let goal = ["-b", "--until", "false", "--max-rounds", "1", "--base-url", &url, "--model", "m", "try it"];
    let (code, id, err) = home.run(&goal);
    assert_eq!(code, Some(0), "{err}");
    let id = id.trim();
    let why = "tau: the last run was stopped: the goal was not reached within its limit of rounds\n";
    let (code, _, err) = home.run(&["wait", id]);
    assert_eq!((code, err.as_str()), (Some(5), why));
    let (code, _, err) = home.run(&["logs", id]);
    assert_eq!((code, err.as_str()), (Some(0), why));
    for _ in 0..2 {
        let screen = other_terminal(home.0.path(), &format!("$TAU_BIN attach {id}"));
        screen.wait_for("an answer");
        screen.wait_for("the last run was stopped: the goal was not");
        home.wait_for_state(id, "failed");
        screen.type_keys("\x04");
        screen.wait_for("exit=0");
        assert_eq!(home.run(&["wait", id]).0, Some(5));
        home.wait_for_state(id, "failed");
    }
    // Until there is another.
    assert_eq!(home.run(&["send", id, "now it works"]).0, Some(0));
    assert_eq!(home.run(&["wait", id]).0, Some(0));
    assert_eq!(home.run(&["logs", id]).2, "");
}

/// Also while another screen shows the session, which was told when it happened.
#[test]
fn who_comes_after_a_limit_is_told_what_ended_the_run() {
    let first = Screen::prepared("true", "--model demo --permission-mode auto --max-turns 1", 80, 24);
    let id = crate::live::only_id(first.home());
    first.type_keys("write\r");
    first.wait_for("stopped after 1 answer");
    let later = other_terminal(first.home(), &format!("$TAU_BIN attach {id}"));
    later.wait_for("the last run was stopped: it reached its limit of answers");
    later.wait_for("send a message to continue");
    // A later run is another one.
    later.type_keys("help\r");
    first.wait_for("▌ help");
    let last = other_terminal(first.home(), &format!("$TAU_BIN attach {id}"));
    last.wait_for("▌ help");
    assert!(!last.text().contains("was stopped"), "{}", last.text());
}

/// The clock may be wrong.
#[test]
fn a_look_removes_no_result_however_old_it_seems() {
    let home = Home::new();
    let url = answering(Duration::ZERO, "an answer");
    let goal = ["-b", "--until", "false", "--max-rounds", "1", "--base-url", &url, "--model", "m", "try it"];
    let (code, id, err) = home.run(&goal);
    assert_eq!(code, Some(0), "{err}");
    let id = id.trim();
    assert_eq!(home.run(&["wait", id]).0, Some(5));
    let record = std::fs::File::open(home.at(&format!("tau/logs/live/{id}.json"))).unwrap();
    record.set_modified(SystemTime::now() - Duration::from_secs(400 * 24 * 3600)).unwrap();
    home.wait_for_state(id, "failed");
    assert_eq!(home.run(&["wait", id]).0, Some(5));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_run_has_failed_until_it_is_continued_however_it_is_looked_at() {
    let server = Server::start(vec![stalls("begun"), says("done")]).await;
    let (home, id) = begun_with(&server.url());
    let is_failed = || {
        home.wait_for_state(&id, "failed");
        let (code, _, err) = home.run(&["wait", &id]);
        assert!(code == Some(101) && err.contains("to continue: tau send"), "{code:?} {err}");
    };
    home.wait_for_state(&id, "running");
    kill_process(process_of(home.0.path(), &id), Signal::KILL).unwrap();
    is_failed();
    for line in [format!("attach {id}"), format!("--session {id}"), format!("attach {id}")] {
        let mut screen = other_terminal(home.0.path(), &format!("$TAU_BIN {line}"));
        screen.wait_for("this session was interrupted during a run");
        is_failed();
        let second = other_terminal(home.0.path(), &format!("$TAU_BIN attach {id}"));
        second.wait_for("this session was interrupted during a run");
        second.type_keys("\x04");
        second.wait_for("exit=0");
        if line.starts_with("attach") {
            screen.close();
        } else {
            screen.type_keys("\x04");
            screen.wait_for("exit=0");
        }
        home.wait_until_closed(&id);
        is_failed();
    }
    assert_eq!(home.run(&["send", &id, "continue"]).0, Some(0));
    assert_eq!(home.run(&["wait", &id]).0, Some(0));
}

#[test]
fn a_session_that_was_deleted_does_not_begin_again_with_other_rights() {
    let home = Home::new();
    let id = home.background(&answering(Duration::from_secs(60), "never"), "a question");
    let screen = other_terminal(home.0.path(), &format!("$TAU_BIN attach {id}"));
    screen.wait_for("a question");
    assert_eq!(home.run(&["stop", &id]).0, Some(0));
    kill_process(process_of(home.0.path(), &id), Signal::KILL).unwrap();
    screen.wait_for("the process of the session has ended");
    std::fs::remove_dir_all(home.at("tau/sessions")).unwrap();
    screen.type_keys("are you there\r");
    screen.wait_for("the session was deleted");
    screen.wait_for_composer("are you there");
    let (_, listed, _) = home.run(&["sessions", "--json"]);
    assert!(!listed.contains(&id), "{listed}");
}

#[test]
fn a_conversation_that_was_taken_back_stays_so() {
    let home = Home::new();
    let id = home.background(&answering(Duration::ZERO, "an answer"), "the first");
    assert_eq!(home.run(&["wait", &id]).0, Some(0));
    assert_eq!(home.run(&["send", &id, "the second"]).0, Some(0));
    assert_eq!(home.run(&["wait", &id]).0, Some(0));
    let screen = other_terminal(home.0.path(), &format!("$TAU_BIN attach {id}"));
    screen.wait_for("the second");
    screen.type_keys("/undo\r");
    screen.wait_for("Rewind to before");
    screen.type_keys("\r");
    screen.wait_for("Before “the second”");
    screen.type_keys("\r");
    screen.wait_for("took the conversation back");
    screen.type_keys("\x15\x04");
    screen.wait_for("exit=0");
    let again = other_terminal(home.0.path(), &format!("$TAU_BIN attach {id}"));
    again.wait_for("an answer");
    assert!(!again.text().contains("the second"), "{}", again.text());
}

#[test]
fn a_session_that_is_saved_nowhere_is_not_left_running() {
    let screen = Screen::prepared("true", "--no-session --model demo", 80, 24);
    screen.type_keys("/background\r");
    screen.wait_for("this session is not saved");
    screen.type_keys("\x18b");
    screen.type_keys("still here");
    screen.wait_for_composer("still here");
}

/// Whoever leaves last replaces nothing, and the one who only reads takes nothing.
#[test]
fn the_drafts_of_several_screens_come_back_on_the_next() {
    let home = Home::new();
    let id = home.background(&answering(Duration::from_secs(60), "never"), "take your time");
    let line = format!("$TAU_BIN attach {id}");
    let typed = ["first draft", "second draft", ""];
    let screens = typed.map(|_| other_terminal(home.0.path(), &line));
    screens.iter().for_each(|screen| screen.wait_for("take your time"));
    for (screen, text) in screens.iter().zip(typed) {
        screen.type_keys(text);
        screen.wait_for(text);
        screen.type_keys("\x18b");
        screen.wait_for("exit=0");
    }
    let next = other_terminal(home.0.path(), &line);
    next.wait_for_composer("second draft");
    next.wait_for("draft set aside");
    next.type_keys("\x15");
    next.wait_until("an empty composer", |cells| !cells.contents().contains("second draft"));
    next.type_keys("\x13");
    next.wait_for_composer("first draft");
    assert_eq!(home.run(&["stop", &id]).0, Some(0));
}
