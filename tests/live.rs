//! Live sessions: in the background, and reached from other processes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::answering;
use crate::live_ends::process_of;
use crate::screen::{Screen, TIMEOUT};
use crate::time_limit::{EndInTime, RunInTime};

/// A user's home, with one folder to work in.
pub(crate) struct Home(pub(crate) TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        let home = Home(tempfile::tempdir().unwrap());
        fs::create_dir_all(home.at("work")).unwrap();
        home
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        command(self.0.path(), args)
    }

    pub(crate) fn run(&self, args: &[&str]) -> (Option<i32>, String, String) {
        texts(&self.command(args).output_in_time())
    }

    /// Starts a session in the background; returns its id.
    pub(crate) fn background(&self, url: &str, prompt: &str) -> String {
        let (code, out, err) = self.run(&["-b", "--base-url", url, "--model", "m", prompt]);
        assert_eq!(code, Some(0), "{err}");
        out.trim().to_owned()
    }

    /// Waits until no process has the session open.
    pub(crate) fn wait_until_closed(&self, id: &str) {
        let lock = self.at(&format!("tau/logs/live/{id}.lock"));
        crate::time_limit::until(TIMEOUT, || !lock.exists(), || format!("{id} stays open"));
    }

    pub(crate) fn wait_for_state(&self, id: &str, state: &str) {
        wait_for_state(self.0.path(), id, state);
    }
}

pub fn command(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
    command.args(args).current_dir(home.join("work")).env_clear();
    command.env("HOME", home).env("TAU_HOME", home.join("tau")).env("TAU_PERMISSION_MODE", "auto");
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("TAU_LOCAL_SERVERS", "false");
    command
}

pub fn texts(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn state(home: &Path, id: &str) -> Option<String> {
    let (code, out, err) = texts(&command(home, &["sessions", "--json"]).output_in_time());
    assert_eq!(code, Some(0), "{err}");
    let rows: Vec<Value> = serde_json::from_str(&out).unwrap();
    let row = rows.into_iter().find(|row| row["id"] == id)?;
    Some(row["state"].as_str().unwrap().to_owned())
}

pub fn wait_for_state(home: &Path, id: &str, expected: &str) {
    let end = Instant::now() + TIMEOUT;
    loop {
        let found = state(home, id);
        if found.as_deref() == Some(expected) {
            return;
        }
        assert!(Instant::now() < end, "the session is {found:?}, not {expected}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The only session's id, from the records of live sessions.
pub fn only_id(home: &Path) -> String {
    let end = Instant::now() + TIMEOUT;
    loop {
        let found: Vec<PathBuf> = fs::read_dir(home.join("tau/logs/live"))
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .collect();
        if let [only] = found.as_slice() {
            return only.file_stem().unwrap().to_str().unwrap().to_owned();
        }
        assert!(Instant::now() < end, "{found:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Starts another terminal of the same user.
pub fn other_terminal(home: &Path, line: &str) -> Screen {
    let home = home.display();
    let script =
        format!("export HOME={home} TAU_HOME={home}/tau\ncd {home}/work\n{line}\necho \"exit=$?\"; cat");
    Screen::program(Path::new("/bin/bash"), &["-c", &script], 80, 24)
}

/// Leaves a session at work, by a key or a command, and stops it.
pub fn left_running(typed: &str) {
    let url = answering(Duration::from_secs(60), "never");
    let script = format!("\"$TAU_BIN\" --base-url {url} --model m; echo \"exit=$?\"; cat");
    let screen = Screen::program(Path::new("/bin/bash"), &["-c", &script], 80, 24);
    screen.wait_until("composer", |cells| crate::screen::composer(cells).is_some());
    let home = screen.home().to_owned();
    let id = only_id(&home);
    screen.type_keys("work on\r");
    wait_for_state(&home, &id, "running");
    screen.type_keys(typed);
    screen.wait_for(&format!("the session continues: tau attach {id}"));
    screen.wait_for("exit=0");
    let (code, _, err) = texts(&command(&home, &["stop", &id]).output_in_time());
    assert_eq!(code, Some(0), "{err}");
    let (code, _, _) = texts(&command(&home, &["wait", &id]).output_in_time());
    assert_eq!(code, Some(130));
}

/// Opens the board, by a key or a command, and closes it.
pub fn board_shows_this_session(typed: &str) {
    let screen = Screen::prepared("true", "--model demo", 80, 24);
    only_id(screen.home());
    screen.type_keys(typed);
    screen.wait_for("○ idle");
    screen.wait_for("work · here");
    screen.type_keys("q");
    screen.wait_until("no board", |cells| !cells.contents().contains("work · here"));
}

#[test]
fn the_board_shows_stops_and_opens_sessions() {
    let url = answering(Duration::from_secs(60), "never");
    let first = Screen::prepared("true", "--model demo", 80, 24);
    let home = first.home().to_owned();
    let begin = |prompt: &str| {
        let (code, out, err) =
            texts(&command(&home, &["-b", "--base-url", &url, "--model", "m", prompt]).output_in_time());
        assert_eq!(code, Some(0), "{err}");
        out.trim().to_owned()
    };
    let (one, two) = (begin("count the stars"), begin("count the trees"));
    let board = other_terminal(&home, "$TAU_BIN board");
    board.wait_for("● running   count the stars");
    board.wait_for("● running   count the trees");
    board.wait_for("2 running");
    for (signal, name) in [(Signal::STOP, "suspended"), (Signal::CONT, "running")] {
        kill_process(process_of(&home, &one), signal).unwrap();
        wait_for_state(&home, &one, name);
        board.wait_for(&format!("{name:<9} count the stars"));
    }
    // The filter, stopping, and what it leads to.
    board.type_keys("/stars");
    board.wait_until("one row", |cells| !cells.contents().contains("count the trees"));
    board.type_keys("\x15\x7fxx");
    board.wait_for("stopped");
    board.wait_for("○ idle");
    let stopped = [&one, &two].into_iter().find(|id| state(&home, id).as_deref() == Some("idle"));
    let other = if stopped == Some(&one) { "trees" } else { "stars" };
    // The session opens in this terminal, from which tau board is gone.
    board.type_keys(&format!("/{other}\r"));
    board.wait_until("the session", |cells| {
        let text = cells.contents();
        text.contains(&format!("count the {other}")) && !text.contains("Sessions ·")
    });
    board.type_keys("\x04");
    board.wait_for("exit=0");
    // From the screen of a session, which is left.
    first.type_keys("\x18l");
    first.wait_for("● running");
    first.type_keys(&format!("/{other}\r"));
    first.wait_for(&format!("▌ count the {other}"));
    first.type_keys("\x1b");
    wait_for_state(&home, &one, "idle");
    wait_for_state(&home, &two, "idle");
}

#[test]
fn a_prompt_in_the_background_prints_its_id_and_is_followed_by_scripts() {
    let home = Home::new();
    let url = answering(Duration::from_secs(6), "the answer");
    let id = home.background(&url, "think about it");
    assert_eq!(id.len(), 36, "{id}");
    assert_eq!(state(home.0.path(), &id).as_deref(), Some("running"));
    // Only the user reaches it.
    let live = home.at("tau/logs/live");
    assert_eq!(fs::metadata(&live).unwrap().permissions().mode() & 0o777, 0o700);
    for entry in fs::read_dir(&live).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{entry:?}");
    }
    let (code, out, _) = home.run(&["logs", "-f", &id]);
    assert_eq!((code, out.as_str()), (Some(0), "the answer\n"));
    let (code, out, err) = home.run(&["wait", &id[30..]]);
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "", ""));
    home.wait_for_state(&id, "done");
    // The process has ended, and nothing of it is left but the result.
    crate::time_limit::until(
        TIMEOUT,
        || fs::read_dir(&live).unwrap().count() == 1,
        || format!("{:?}", fs::read_dir(&live).unwrap().collect::<Vec<_>>()),
    );
    let (code, out, _) = home.run(&["logs", &id]);
    assert_eq!((code, out.as_str()), (Some(0), "the answer\n"));
    let (_, out, _) = home.run(&["sessions"]);
    assert!(out.contains("done"), "{out}");
}

#[test]
fn the_end_of_a_background_run_is_that_of_print_mode() {
    let home = Home::new();
    // Nothing listens there.
    let id = home.background("http://127.0.0.1:9/v1", "hello");
    let (code, _, _) = home.run(&["stop", &id]);
    assert_eq!(code, Some(0));
    let (code, _, _) = home.run(&["wait", &id]);
    assert!(matches!(code, Some(1 | 130)), "{code:?}");
    home.wait_for_state(&id, if code == Some(1) { "failed" } else { "idle" });
    let hook = "[[hooks.UserPromptSubmit]]\ncommand = 'echo \"not this word\" >&2; exit 2'\n";
    fs::write(home.at("tau/config.toml"), hook).unwrap();
    let failed = home.background("http://127.0.0.1:9/v1", "hello");
    let (code, out, err) = home.run(&["wait", &failed]);
    let reason = "tau: the run has failed: a hook blocked the prompt: not this word\n";
    assert_eq!((code, out.as_str(), err.as_str()), (Some(1), "", reason));
    for arguments in [&["logs", &failed][..], &["logs", "-f", &failed]] {
        let (code, out, err) = home.run(arguments);
        assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "", reason), "{arguments:?}");
    }
    fs::remove_file(home.at("tau/config.toml")).unwrap();
    // A fault of the arguments or the setup is told at once, with the code of any other front end.
    let (code, out, err) = home.run(&["-b", "--provider", "nope", "hello"]);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    assert!(err.contains("nope"), "{err}");
    let (code, _, err) = home.run(&["-b"]);
    assert_eq!(code, Some(2), "{err}");
    for command in ["logs", "wait", "stop"] {
        let (code, _, err) = home.run(&[command, "ffff"]);
        assert_eq!(code, Some(3));
        assert!(err.contains("no session \"ffff\"; `tau sessions --all` lists them"), "{err}");
    }
}

/// A script that has no ID would pay for another one.
#[test]
fn a_session_whose_id_cannot_be_printed_is_stopped() {
    let home = Home::new();
    let slow = answering(Duration::from_secs(60), "never");
    let mut command = home.command(&["-b", "--base-url", &slow, "--model", "m", "take your time"]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let child = command.stdout(full.unwrap()).stderr(Stdio::piped()).spawn().unwrap();
    let (code, _, err) = texts(&child.output_in_time("the start"));
    let id = only_id(home.0.path());
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains(&format!("the session {id} was stopped, as its ID could not be printed")), "{err}");
    home.wait_for_state(&id, "idle");
}

#[test]
fn a_run_is_stopped_steered_and_continued_from_elsewhere() {
    let home = Home::new();
    let slow = answering(Duration::from_secs(60), "never");
    let id = home.background(&slow, "take your time");
    let (code, _, err) = home.run(&["send", &id, "one", "more", "thing"]);
    assert_eq!(code, Some(0), "{err}");
    // An unset variable of a script is not the only session.
    for command in [
        &["stop", ""][..],
        &["wait", ""],
        &["logs", ""],
        &["send", "", "x"],
        &["attach", ""],
        &["stop", "tau:"],
        &["wait", "tau:"],
        &["logs", "tau:"],
        &["send", "tau:", "x"],
        &["attach", "tau:"],
        &["export", "tau:"],
    ] {
        let (code, _, err) = home.run(command);
        assert!(
            code == Some(3) && err.contains("the ID of the session is empty"),
            "{command:?}: {code:?} {err}"
        );
    }
    home.wait_for_state(&id, "running");
    let (code, _, err) = home.run(&["stop", &id]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let (code, _, _) = home.run(&["wait", &id]);
    assert_eq!(code, Some(130));
    home.wait_for_state(&id, "idle");
    let (code, _, err) = home.run(&["stop", &id]);
    assert_eq!((code, err.trim()), (Some(0), "tau: nothing runs in this session"));
}

#[test]
fn a_session_at_rest_answers_a_message_in_the_background() {
    let home = Home::new();
    let demo = |args: &[&str]| {
        let mut command = home.command(args);
        command.env("TAU_DEMO_SPEED", "max");
        texts(&command.output_in_time())
    };
    let (code, id, err) = demo(&["-b", "--model", "demo", "hello there"]);
    assert_eq!(code, Some(0), "{err}");
    let id = id.trim();
    assert_eq!(home.run(&["wait", id]).0, Some(0));
    let (_, first, _) = home.run(&["logs", id]);
    let (code, out, err) = demo(&["send", &id[30..], "hello again"]);
    assert_eq!((code, out.as_str()), (Some(0), ""), "{err}");
    assert_eq!(home.run(&["wait", id]).0, Some(0));
    let (_, both, _) = home.run(&["logs", id]);
    assert!(!first.is_empty() && both.len() > first.len() && both.starts_with(&first), "{first}\n{both}");
}

#[test]
fn a_message_can_be_piped() {
    let home = Home::new();
    let (code, id, err) = home.run(&["-b", "--model", "demo", "hello there"]);
    assert_eq!(code, Some(0), "{err}");
    let id = id.trim().to_owned();
    assert_eq!(home.run(&["wait", &id]).0, Some(0));
    let large = "x".repeat(200_000);
    for (piped, args, sent) in [
        ("one piped\n", &["-"][..], "one piped"),
        ("two piped\n", &[], "two piped"),
        ("three piped\n", &["explain", "this"], "three piped\n\nexplain this"),
        // More than an argument of a process can be, and what none can have.
        (&large, &[], large.as_str()),
        ("a\0b", &[], "a\0b"),
    ] {
        let args = [&["send", &id], args].concat();
        let mut child =
            home.command(&args).env("TAU_DEMO_SPEED", "max").stdin(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), piped.as_bytes()).unwrap();
        assert!(child.wait_in_time("the end of what sends").success());
        assert_eq!(home.run(&["wait", &id]).0, Some(0));
        let (_, document, _) = home.run(&["export", &id, "-", "--format", "jsonl"]);
        let quoted = serde_json::to_string(sent).unwrap();
        assert!(document.contains(quoted.trim_matches('"')), "{sent}: {document}");
    }
}

#[test]
fn open_sessions_are_named_to_attach_to() {
    let home = Home::new();
    let slow = answering(Duration::from_secs(60), "never");
    let id = home.background(&slow, "take your time");
    let screen = other_terminal(home.0.path(), "$TAU_BIN attach; echo ended=$?");
    screen.wait_for("ended=3");
    let text = screen.text();
    let named = text.lines().find(|line| line.contains("tau attach ")).unwrap_or_else(|| panic!("{text}"));
    let short = named.split_whitespace().nth(2).unwrap();
    assert!(id.ends_with(short) && named.contains("running"), "{text}");
    assert!(named.contains("take your time"), "{text}");
    let (_, names, err) = home.run(&["__complete", "words", "tau", "attach", ""]);
    assert!(names.starts_with(&format!("{short}\t")), "{names} {err}");
    let (_, names, _) = home.run(&["__complete", "words", "tau", "attach", &id[..6]]);
    assert!(names.starts_with(&id), "{names}");
    // The run does not seem to begin when somebody looks.
    std::thread::sleep(Duration::from_secs(2));
    let attached = other_terminal(home.0.path(), &format!("$TAU_BIN attach {short}"));
    let mut seconds = None;
    attached.wait_until("how long it waits", |cells| {
        let text = cells.contents();
        let after = text.split_once("waiting for the model ").and_then(|(_, after)| after.split_once('s'));
        seconds = after.and_then(|(seconds, _)| seconds.parse::<f64>().ok());
        seconds.is_some()
    });
    assert!(seconds >= Some(2.0), "{seconds:?}");
    attached.wait_for("take your time");
    attached.type_keys("\x04");
    attached.wait_for("exit=");
    // Another process may have it by then.
    attached.wait_for(&format!("the session continues: tau attach {id}"));
    assert_eq!(home.run(&["stop", &id]).0, Some(0));
}

#[test]
fn a_killed_session_has_failed_and_says_how_to_continue() {
    let home = Home::new();
    let slow = answering(Duration::from_secs(60), "never");
    let id = home.background(&slow, "take your time");
    let record: Value =
        serde_json::from_slice(&fs::read(home.at(&format!("tau/logs/live/{id}.json"))).unwrap()).unwrap();
    let pid = record["pid"].as_i64().unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    home.wait_for_state(&id, "failed");
    let (code, _, err) = home.run(&["wait", &id]);
    assert_eq!(code, Some(101));
    assert!(err.contains(&format!("to continue: tau send {id} continue")), "{err}");
}

#[test]
fn an_open_session_is_listed_watched_and_answered_from_another_terminal() {
    let url = answering(Duration::from_secs(5), "from the model");
    let mut first = Screen::prepared("true", &format!("--base-url {url} --model m"), 80, 24);
    let home = first.home().to_owned();
    let id = only_id(&home);
    first.type_keys("hello there\r");
    first.wait_for("hello there");
    wait_for_state(&home, &id, "running");
    let second = other_terminal(&home, &format!("$TAU_BIN attach {id}"));
    second.wait_for("hello there");
    second.wait_for("from the model");
    first.wait_for("from the model");
    wait_for_state(&home, &id, "idle");
    // What one sends, both see.
    second.type_keys("and another\r");
    first.wait_for("and another");
    let (code, _, err) = texts(&command(&home, &["send", &id, "from a script"]).output_in_time());
    assert_eq!(code, Some(0), "{err}");
    first.wait_for("from a script");
    second.wait_for("from a script");
    second.type_keys("\x04");
    second.wait_for("exit=0");
    first.type_keys("\x04");
    assert!(first.wait_exit().success());
    // Nothing is left of a session that was quit.
    assert_eq!(fs::read_dir(home.join("tau/logs/live")).unwrap().count(), 0);
    assert_eq!(state(&home, &id).as_deref(), Some("idle"));
}

/// From the list of sessions and by name, a session that is open elsewhere is shown on this screen, too.
#[test]
fn a_session_that_is_open_elsewhere_is_opened_on_both_screens() {
    let url = answering(Duration::ZERO, "an answer");
    let first = Screen::prepared("true", &format!("--base-url {url} --model m"), 80, 24);
    let home = first.home().to_owned();
    let id = only_id(&home);
    first.type_keys("the first prompt\r");
    first.wait_for("an answer");
    first.wait_for("$?");
    let lines = ["$TAU_BIN --model demo".to_owned(), format!("$TAU_BIN --session {id}")];
    for (at, line) in lines.iter().enumerate() {
        let second = other_terminal(&home, line);
        second.wait_until("composer", |cells| crate::screen::composer(cells).is_some());
        if at == 0 {
            second.type_keys("/resume\r");
            second.wait_for("Sessions of this directory");
            second.wait_for("the first prompt");
            second.type_keys("\r");
        }
        second.wait_for("▌ the first prompt");
        // The model's price is not known.
        second.wait_for("$?");
        second.type_keys(&format!("prompt number {at}\r"));
        first.wait_for(&format!("▌ prompt number {at}"));
        wait_for_state(&home, &id, "idle");
        second.type_keys("\x04");
        second.wait_for("exit=0");
    }
}

#[test]
fn a_session_that_is_left_continues_and_comes_back_with_the_draft() {
    let url = answering(Duration::from_secs(8), "while you were away");
    let script = format!("\"$TAU_BIN\" --base-url {url} --model m\necho \"exit=$?\"; cat");
    let first = Screen::program(Path::new("/bin/bash"), &["-c", &script], 80, 24);
    first.wait_until("composer", |cells| crate::screen::composer(cells).is_some());
    let home = first.home().to_owned();
    let id = only_id(&home);
    first.type_keys("work on\r");
    wait_for_state(&home, &id, "running");
    let paste = "a line\r".repeat(30);
    first.type_keys(&format!("a draft: \x1b[200~{paste}\x1b[201~ ok?\x1b[D\x1b[D\x1b[D"));
    first.wait_for("a draft: [paste #1 +30 lines] ok?");
    first.type_keys("\x18b");
    first.wait_for("exit=0");
    first.wait_for(&format!("the session continues: tau attach {id}"));
    assert_eq!(state(&home, &id).as_deref(), Some("running"));
    let again = other_terminal(&home, &format!("$TAU_BIN attach {id}"));
    again.wait_for("a draft: [paste #1 +30 lines] ok?");
    again.wait_for("while you were away");
    again.wait_for(" ~/work");
    // Where the cursor was.
    again.type_keys("is it ");
    again.wait_for("a draft: [paste #1 +30 lines] is it ok?");
    again.type_keys("\x1b[F\x15\x04");
    again.wait_for("exit=0");
    let (code, _, _) = texts(&command(&home, &["wait", &id]).output_in_time());
    assert_eq!(code, Some(0));
    wait_for_state(&home, &id, "done");
}

#[test]
fn a_closed_terminal_stops_a_run_or_leaves_it_as_set() {
    for (setting, expected, answer) in [("continue", "done", "still here\n"), ("stop", "failed", "")] {
        let url = answering(Duration::from_secs(6), "still here");
        let prepare = format!("mkdir -p $TAU_HOME\necho 'on_hangup = \"{setting}\"' >$TAU_HOME/config.toml");
        let mut screen = Screen::prepared(&prepare, &format!("--base-url {url} --model m"), 80, 24);
        let home = screen.home().to_owned();
        let id = only_id(&home);
        screen.type_keys("work on\r");
        wait_for_state(&home, &id, "running");
        screen.close();
        let _ = texts(&command(&home, &["wait", &id]).output_in_time());
        wait_for_state(&home, &id, expected);
        let (_, out, _) = texts(&command(&home, &["logs", &id]).output_in_time());
        assert_eq!(out, answer, "{setting}");
    }
}

#[test]
fn processes_that_a_command_left_are_listed_and_stopped_whoever_started_them() {
    let home = Home::new();
    let command = "command=exec 8>&-; sleep 300 >/dev/null 2>&1 & echo $!";
    let (code, out, err) = home.run(&["tools", "run", "bash", "--arg", command]);
    assert_eq!(code, Some(0), "{out}{err}");
    let pid: i64 = out.lines().find_map(|line| line.trim().parse().ok()).unwrap_or_else(|| panic!("{out}"));
    // Other tests may have left some as well.
    let find = || {
        let (code, out, err) = home.run(&["jobs", "--json"]);
        assert_eq!(code, Some(0), "{err}");
        let rows: Vec<Value> = serde_json::from_str(&out).unwrap();
        rows.into_iter().find(|row| row["pid"] == pid)
    };
    let row = find().expect("it is not listed");
    assert_eq!(row["command"], "sleep 300");
    assert_eq!(row["session"], "tools");
    assert_eq!(row["state"], "running");
    assert!(row["memory"].as_u64().unwrap() > 0);
    let (_, out, _) = home.run(&["jobs"]);
    assert!(
        out.lines().any(|line| line.starts_with(&pid.to_string()) && line.ends_with("sleep 300")),
        "{out}"
    );
    let (code, _, err) = home.run(&["jobs", "--stop", "1"]);
    assert_eq!(code, Some(3));
    assert!(err.contains("tau started no process 1; `tau jobs` lists them"), "{err}");
    let (code, _, err) = home.run(&["jobs", "--stop", "1", &pid.to_string()]);
    assert_eq!(code, Some(3), "{err}");
    assert_eq!(find(), None, "a number without a process kept another running");
}

#[test]
fn a_directory_that_was_removed_is_named_as_the_reason() {
    let home = Home::new();
    for line in
        ["sessions", "sessions search x", "undo", "diff", "add ./x", "import", "worktree list", "attempts"]
    {
        let script = format!("mkdir gone; cd gone; rmdir ../gone; exec \"$TAU_BIN\" {line}");
        let tau = home.command(&[]);
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &script]).current_dir(home.at("work")).env_clear();
        shell.envs(tau.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.env("TAU_BIN", tau.get_program());
        let (code, _, err) = texts(&shell.output_in_time());
        assert!(
            code == Some(3) && err.contains("cannot read the working directory"),
            "{line}: {code:?} {err}"
        );
    }
}
