//! The board: questions of other sessions are answered on it, messages sent, results archived.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::live::{command, other_terminal, texts, wait_for_state};
use crate::screen::{Screen, TIMEOUT};
use crate::support::program::{calls, models_file, says};
use crate::support::server::{Act, Server};
use crate::time_limit::{EndInTime, RunInTime};

/// Time after which a prompt on the screen takes keys.
pub const QUIET: Duration = Duration::from_millis(700);

/// A server whose model acts as told.
pub fn server(acts: Vec<Act>) -> Server {
    let (sender, started) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            sender.send(Server::start(acts).await).unwrap();
            std::future::pending::<()>().await;
        });
    });
    started.recv_timeout(crate::time_limit::LIMIT).unwrap()
}

fn write_model(home: &Path, server: &Server) {
    fs::create_dir_all(home.join("tau")).unwrap();
    fs::write(home.join("tau/models.toml"), models_file(&server.url(), "")).unwrap();
}

/// Starts a session in the background that asks.
pub fn begin(home: &Path, server: &Server, prompt: &str) -> String {
    write_model(home, server);
    let mut begun = command(home, &["-b", "--model", "own/m", prompt]);
    begun.env("TAU_PERMISSION_MODE", "ask");
    let (code, out, err) = texts(&begun.output_in_time());
    assert_eq!(code, Some(0), "{err}");
    out.trim().to_owned()
}

pub fn wait_for_file(path: &Path) {
    let end = Instant::now() + TIMEOUT;
    while !path.exists() {
        assert!(Instant::now() < end, "{} is not there", path.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn questions_of_other_sessions_are_announced_and_answered_on_the_board() {
    let config = "printf 'notify = \"osc9\"' >\"$TAU_HOME/config.toml\"";
    let script = format!("mkdir -p \"$TAU_HOME\"; {config}");
    let screen = Screen::prepared(&script, "--model demo", 100, 30);
    let home = screen.home().to_owned();
    screen.type_keys("\x1b[O");
    let touch = calls("bash", &json!({ "command": "touch made; echo one two" }));
    let model = server(vec![touch, says("All is clean."), says("As you like.")]);
    let id = begin(&home, &model, "clean up");
    wait_for_state(&home, &id, "waiting");
    // The screen of another session says so, and the terminal.
    screen.wait_for("another session waits for your answer: clean up");
    screen.wait_for("ctrl+x l shows it");
    let end = Instant::now() + TIMEOUT;
    while !String::from_utf8_lossy(&screen.bytes())
        .contains("\x1b]9;tau: waiting for your answer · clean up\x1b\\")
    {
        assert!(Instant::now() < end, "no notification: {}", screen.text());
        std::thread::sleep(Duration::from_millis(20));
    }
    screen.type_keys("\x1b[I\x18l");
    screen.wait_for("? waiting   clean up");
    screen.wait_for("a answers · enter opens");
    // The prompt of the session; back to the list, and again.
    screen.type_keys("a");
    screen.wait_for("Run this command?");
    screen.wait_for("touch made; echo one two");
    screen.type_keys("\x1ba");
    screen.wait_for("a answers · enter opens");
    screen.type_keys("a");
    screen.wait_for("Run this command?");
    std::thread::sleep(QUIET);
    assert!(!home.join("work/made").exists(), "it ran unasked");
    // In the list it selects the first row.
    screen.press_until("1", "answered");
    wait_for_file(&home.join("work/made"));
    screen.wait_for("✓ done      clean up");
    screen.wait_for("All is clean.");
    // What has ended takes a message, too; one that cannot be sent stays.
    let models = fs::read_to_string(home.join("tau/models.toml")).unwrap();
    fs::write(home.join("tau/models.toml"), "").unwrap();
    screen.type_keys("m");
    screen.wait_for("enter sends · esc goes back");
    screen.type_keys("now the cellar, q j x");
    screen.wait_for("> now the cellar, q j x");
    screen.type_keys("\r");
    screen.wait_for("no provider \"own\" is configured");
    screen.wait_for("> now the cellar, q j x");
    screen.wait_for("✓ done      clean up");
    fs::write(home.join("tau/models.toml"), models).unwrap();
    screen.type_keys("\r");
    screen.wait_for("As you like.");
    assert!(model.requests().last().unwrap().contains("now the cellar, q j x"));
    wait_for_state(&home, &id, "done");
    screen.wait_for("h archives");
    screen.type_keys("h");
    screen.wait_for("archived; tab shows what was archived");
    screen.wait_until("it is gone", |cells| !cells.contents().contains("✓ done"));
    screen.type_keys("\t");
    screen.wait_for("Archived sessions");
    screen.wait_for("✓ done      clean up");
    screen.type_keys("h");
    screen.wait_for("nothing was put away");
    screen.type_keys("\t");
    screen.wait_for("✓ done      clean up");
    // Letters that belong to a filter are no keys, also once it is empty again.
    screen.type_keys("c\x7f");
    screen.wait_until("only other keys", |cells| {
        let text = cells.contents();
        text.contains("enter opens") && !text.contains("m sends") && !text.contains("h archives")
    });
}

#[test]
fn a_question_of_the_model_is_answered_on_the_board() {
    let screen = Screen::prepared("true", "--model demo", 100, 30);
    let home = screen.home().to_owned();
    let choose = json!({"questions": [{"question": "Which database?", "choices": ["SQLite", "PostgreSQL"]}]});
    let model = server(vec![calls("ask_user", &choose), says("As you like.")]);
    let id = begin(&home, &model, "choose");
    wait_for_state(&home, &id, "waiting");
    // It can be left to wait.
    let left = other_terminal(&home, &format!("$TAU_BIN attach {id}"));
    left.wait_for("Which database?");
    std::thread::sleep(QUIET);
    left.type_keys("\x18b");
    left.wait_for(&format!("tau attach {id}"));
    left.wait_for("exit=0");
    screen.type_keys("\x18l");
    screen.wait_for("? waiting   choose");
    screen.type_keys("a");
    screen.wait_for("choose · The model asks");
    screen.wait_for("Which database?");
    std::thread::sleep(QUIET);
    // Esc goes back, and declines nothing.
    screen.type_keys("\x1b");
    screen.wait_for("? waiting   choose");
    screen.type_keys("a");
    screen.wait_for("ctrl+c declines · esc goes back");
    std::thread::sleep(QUIET);
    screen.type_keys("\x1b[B");
    std::thread::sleep(QUIET);
    screen.type_keys("\r");
    screen.wait_for("✓ done      choose");
    let told = model.requests().last().unwrap().clone();
    assert!(told.contains("1. PostgreSQL") || told.contains("PostgreSQL\"}"), "{told}");
}

/// A plan is accepted from the user's own terminals, up to the mode that is configured; a refusal is in the dialog.
#[test]
fn a_plan_made_in_the_background_is_accepted_on_the_board_and_in_a_terminal() {
    let screen = Screen::prepared("true", "--model demo", 100, 30);
    let home = screen.home().to_owned();
    let plan = calls("submit_plan", &json!({"plan": "1. Do it"}));
    let model =
        server(vec![plan.clone(), plan, calls("bash", &json!({"command": "touch done"})), says("Done.")]);
    let begun = |mode: &str| {
        write_model(&home, &model);
        let mut begun = command(&home, &["-b", "--model", "own/m", "--permission-mode", "plan", "plan it"]);
        begun.env("TAU_PERMISSION_MODE", mode);
        let (code, out, err) = texts(&begun.output_in_time());
        assert_eq!(code, Some(0), "{err}");
        wait_for_state(&home, out.trim(), "waiting");
        out.trim().to_owned()
    };
    // The mode of the settings is below the one that is chosen first.
    let id = begun("ask");
    screen.type_keys("\x18l");
    screen.wait_for("? waiting   plan it");
    screen.type_keys("a");
    screen.wait_for("plan it · Plan");
    screen.wait_for("esc goes back");
    screen.wait_for("› 3. accept it");
    std::thread::sleep(QUIET);
    screen.type_keys("\x1b");
    screen.wait_for("? waiting   plan it");
    screen.type_keys("a");
    screen.wait_for("› 3. accept it");
    std::thread::sleep(QUIET);
    screen.type_keys("1");
    screen.wait_for("cannot be raised to auto");
    screen.wait_for("› 3. accept it");
    assert_eq!(texts(&command(&home, &["stop", &id]).output_in_time()).0, Some(0));
    let id = begun("auto");
    let attached = other_terminal(&home, &format!("$TAU_BIN attach {id}"));
    attached.wait_for("› 3. accept it");
    std::thread::sleep(QUIET);
    attached.type_keys("1");
    wait_for_file(&home.join("work/done"));
}

/// Digits answer there as in the session itself: one choice at once, of several those that are marked.
#[test]
fn digits_answer_questions_of_the_model_on_the_board() {
    let screen = Screen::prepared("true", "--model demo", 100, 30);
    let home = screen.home().to_owned();
    let choose = json!({"questions": [
        {"question": "Which database?", "choices": ["SQLite", "PostgreSQL"]},
        {"question": "Which checks?", "choices": ["fmt", "tests", "lint"], "multiple": true},
    ]});
    let model = server(vec![calls("ask_user", &choose), says("As you like.")]);
    let id = begin(&home, &model, "choose");
    wait_for_state(&home, &id, "waiting");
    screen.type_keys("\x18l");
    screen.wait_for("? waiting   choose");
    screen.type_keys("a");
    screen.wait_for("Which database?");
    std::thread::sleep(QUIET);
    screen.type_keys("2");
    screen.wait_for("Which checks?");
    std::thread::sleep(QUIET);
    screen.type_keys("13\r");
    screen.wait_for("✓ done      choose");
    let told = model.requests().last().unwrap().clone();
    let result = crate::asking::result_of(&told);
    let chosen = |name: &str| result.contains(name);
    assert!(chosen("PostgreSQL") && chosen("fmt") && chosen("lint") && !chosen("tests"), "{result}");
}

#[test]
fn a_denial_on_the_board_stops_the_session_and_a_running_one_takes_messages() {
    let screen = Screen::prepared("true", "--model demo", 100, 30);
    let home = screen.home().to_owned();
    let nap = json!({ "command": "touch made" });
    let model = server(vec![calls("bash", &nap), says("So be it.")]);
    let id = begin(&home, &model, "clean up");
    wait_for_state(&home, &id, "waiting");
    let board = other_terminal(&home, "$TAU_BIN board");
    board.wait_for("? waiting   clean up");
    // While it waits it takes a message, which is queued.
    board.type_keys("m");
    board.wait_for("enter sends");
    board.type_keys("and be quick\r");
    board.wait_for("sent");
    board.type_keys("a");
    board.wait_for("Run this command?");
    std::thread::sleep(QUIET);
    board.type_keys("\x1b");
    board.wait_for("○ idle      clean up");
    assert!(!home.join("work/made").exists());
    let (code, _, _) = texts(&command(&home, &["wait", &id]).output_in_time());
    assert_eq!(code, Some(130));
}

#[test]
fn two_hundred_sessions_are_scrolled() {
    let screen = Screen::prepared("true", "--model demo", 100, 30);
    let home = screen.home().to_owned();
    let live = home.join("tau/logs/live");
    wait_for_file(&live);
    for number in 0..200 {
        let id = format!("0199aaaa-0000-7000-8000-{number:012}");
        let record = json!({"id": id, "title": format!("task {number:03}"), "state": "done", "exit": 0,
            "directory": home.join("work"), "changed": 1_000_000 - number, "background": true});
        fs::write(live.join(format!("{id}.json")), record.to_string()).unwrap();
    }
    screen.type_keys("\x18l");
    screen.wait_for("task 000");
    screen.type_keys("\x1b[F");
    screen.wait_for("task 199");
    screen.type_keys("\x1b[H");
    screen.wait_for("task 000");
    screen.type_keys(&"j".repeat(150));
    // Each key moves by one row, also when they come faster than frames.
    screen.wait_for(&format!("{:012}", 150));
}

#[test]
fn a_run_whose_end_cannot_be_recorded_is_no_success() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    fs::create_dir_all(home.join("work")).unwrap();
    let model = server(vec![calls("bash", &json!({ "command": "touch made" })), says("Done.")]);
    let id = begin(home, &model, "make it");
    wait_for_state(home, &id, "waiting");
    let mut waits = command(home, &["wait", &id]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(waits.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("the session waits for you"), "{line}");
    let record = home.join(format!("tau/logs/live/{id}.json"));
    let bytes = fs::read(&record).unwrap();
    fs::remove_file(&record).unwrap();
    assert_eq!(waits.wait_in_time("tau wait").code(), Some(101));
    said.read_to_string(&mut line).unwrap();
    assert!(
        line.contains(&format!("how the run has ended is not known; see its answers: tau logs {id}")),
        "{line}"
    );
    fs::write(&record, bytes).unwrap();
    assert_eq!(texts(&command(home, &["stop", &id]).output_in_time()).0, Some(0));
}

/// A session that was killed before it had a message, or that was killed at rest, is no row; one whose file is gone
/// is not opened.
#[test]
fn what_was_killed_at_rest_is_not_listed_and_what_is_gone_is_not_opened() {
    let screen = Screen::prepared("true", "--model demo", 100, 30);
    let home = screen.home().to_owned();
    let live = home.join("tau/logs/live");
    wait_for_file(&live);
    let gone = "0199aaaa-0000-7000-8000-000000000001";
    for (id, title, background) in
        [(gone, "gone away", true), ("0199aaaa-0000-7000-8000-000000000002", "", false)]
    {
        let record = json!({"id": id, "title": title, "state": if background { "done" } else { "idle" },
            "exit": background.then_some(0), "directory": home.join("work"), "changed": 1, "background": background});
        fs::write(live.join(format!("{id}.json")), record.to_string()).unwrap();
    }
    screen.type_keys("\x18l");
    screen.wait_for("✓ done      gone away");
    // That of this screen itself.
    assert_eq!(screen.text().matches("(no messages yet)").count(), 1, "{}", screen.text());
    // Letters filter, and are keys again on a row that was moved to.
    screen.type_keys("gone\x1b[B");
    screen.wait_for("m sends");
    screen.type_keys("m");
    screen.wait_for("enter sends · esc goes back");
    screen.type_keys("\x1b");
    screen.wait_for("enter opens");
    screen.type_keys("\r");
    screen.wait_for("this session has ended, and its file is gone");
    screen.wait_for("✓ done      gone away");
    screen.type_keys("\x1b");
    screen.wait_until("the board closes", |cells| !cells.contents().contains("gone away"));
    screen.type_keys("hello\r");
    screen.wait_for("▌ hello");
}

#[test]
fn archived_sessions_are_in_the_lists_on_request() {
    let screen = Screen::prepared("true", "--model demo", 120, 30);
    let home = screen.home().to_owned();
    let id = begin(&home, &server(vec![says("All is clean.")]), "clean up");
    wait_for_state(&home, &id, "done");
    let listed = |more: &[&str]| -> Vec<bool> {
        let arguments = [&["sessions", "--json"], more].concat();
        let (_, out, _) = texts(&command(&home, &arguments).output_in_time());
        let rows: Vec<serde_json::Value> = serde_json::from_str(&out).unwrap();
        rows.iter().filter(|row| row["id"] == id).map(|row| row["archived"] == true).collect()
    };
    assert_eq!(listed(&[]), [false]);
    screen.type_keys("/resume\r");
    screen.wait_for("ctrl+x archives");
    screen.press_until("\x18", "ctrl+o archived");
    assert_eq!((listed(&[]), listed(&["--archived"])), (vec![], vec![true]));
    screen.press_until("\x0f", "clean up archived");
    screen.wait_for("ctrl+x brings back");
    // It is not the last session, which is continued.
    let run = |arguments: &[&str]| texts(&command(&home, arguments).output_in_time());
    let (code, _, err) = run(&["-p", "-c", "--model", "demo", "go"]);
    assert!(code == Some(3) && err.contains("every session in this directory is archived"), "{code:?} {err}");
    assert!(err.contains("tau --session ID"), "{err}");
    // The board shows it, too, and brings it back, as the list does.
    screen.type_keys("\x1b");
    screen.wait_until("the list is closed", |cells| !cells.contents().contains("ctrl+x"));
    screen.type_keys("\x18l");
    screen.wait_for("tab: 1 archived");
    screen.type_keys("\x1b");
    screen.wait_until("the board is closed", |cells| !cells.contents().contains("1 archived"));
    screen.type_keys("/resume\r");
    screen.wait_for("ctrl+o archived");
    screen.press_until("\x0f", "clean up archived");
    screen.press_until("\x18", "ctrl+x archives");
    assert_eq!(listed(&[]), [false]);
}
