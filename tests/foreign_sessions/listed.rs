//! Sessions of other agents on the screen and in large numbers; and files that are not what they seem.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use tau::agent::protocol::message::{BashExecution, Message};
use tau::agent::protocol::session_row::SessionOrigin;
use tau::agent::session::Session;
use tau::agent::session::entry::Body;
use tau::agent::session::last_exchange::last_exchange;

use crate::screen::Screen;
use crate::support::dice::Dice;
use crate::time_limit::RunInTime;

/// Puts the recordings into a home, as if they had been made in the working directory.
const PUT: &str = "export TAU_DEMO_SPEED=max; \
     P=$HOME/.claude/projects/$(pwd -P | sed 's/[^a-zA-Z0-9]/-/g'); mkdir -p $P; \
     sed \"s#/home/dev/shop#$(pwd -P)#g\" RECORDINGS/claude.jsonl > $P/5f0a7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f.jsonl; \
     C=$HOME/.codex/sessions/2026/03/03; mkdir -p $C; \
     sed \"s#/home/dev/shop#$(pwd -P)#g\" RECORDINGS/codex.jsonl \
     > $C/rollout-2026-03-03T10-00-00-01a2120d-07f4-7b43-8a4d-62225e4e10ef.jsonl; \
     touch -t 202001010000 $C/*.jsonl; cp -a $HOME/.claude $HOME/claude.before; cp -a $HOME/.codex $HOME/codex.before";

fn is_unchanged(screen: &Screen) -> bool {
    let same = |name: &str| {
        let (now, before) =
            (screen.home().join(format!(".{name}")), screen.home().join(format!("{name}.before")));
        Command::new("diff").arg("-r").arg(now).arg(before).output_in_time().status.success()
    };
    same("claude") && same("codex")
}

fn own_sessions(screen: &Screen) -> usize {
    let folders = fs::read_dir(screen.tau_home().join("sessions")).into_iter().flatten().map(Result::unwrap);
    folders
        .filter(|folder| folder.path().is_dir())
        .flat_map(|folder| fs::read_dir(folder.path()).unwrap())
        .count()
}

#[test]
fn the_picker_shows_searches_opens_and_continues_them() {
    let put = PUT.replace("RECORDINGS", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign_sessions"));
    let screen = Screen::prepared(&put, "--resume --model demo", 120, 36);
    screen.wait_for("Basket lost at login");
    screen.wait_for("codex · ");
    screen.wait_for("claude · ");
    screen.wait_for("codex: A missing comma.");
    // In the order of `tau sessions`: by the last message, whatever the times of the files.
    let table = Command::new(env!("CARGO_BIN_EXE_tau"))
        .arg("sessions")
        .current_dir(screen.home().join("work"))
        .env_clear()
        .env("HOME", screen.home())
        .env("TAU_HOME", screen.tau_home())
        .output_in_time();
    let table = String::from_utf8(table.stdout).unwrap();
    let order =
        |text: &str| text.find("Basket lost at login").unwrap() < text.find("Make the tests pass").unwrap();
    assert_eq!(order(&screen.text()), order(&table), "{table}\n{}", screen.text());
    // They are not renamed, which is said before a name is typed.
    screen.wait_for("enter opens it, to continue in a copy");
    for key in ["\x12", "\x04"] {
        screen.type_keys(key);
        screen.wait_for(", whose files are not changed · enter continues it in a copy ");
        screen.wait_for("Sessions of this directory");
        screen.type_keys("\x1b[B");
        screen.wait_until("no refusal", |cells| !cells.contents().contains("whose files are not changed"));
    }
    // The column is searched.
    screen.type_keys("codex");
    screen.wait_until("that of Codex", |cells| {
        let text = cells.contents();
        text.contains("A missing comma.") && !text.contains("Basket lost at login")
    });
    screen.type_keys("\x15");
    screen.wait_for("Basket lost at login");
    // Their messages are searched.
    screen.type_keys("kept under");
    screen.wait_for("text match");
    screen.type_keys("\r");
    screen.wait_for("The basket moves along now.");
    screen.wait_for("a session of Claude Code");
    // It opens at the match; Esc ends the search there.
    screen.wait_for("1 of 1");
    screen.type_keys("\x1b");
    screen.wait_for("> ask for something");
    // Looking at one makes no session; the first message does.
    assert_eq!(own_sessions(&screen), 0);
    screen.type_keys("table\r");
    screen.wait_for("▌ table");
    screen.wait_until("a session", |_| own_sessions(&screen) > 0);
    assert!(is_unchanged(&screen));
    screen.type_keys("/resume\r");
    screen.wait_for("tau · ");
    screen.type_keys("\x1b");
}

/// What is typed in one go is one filter, which Enter does not run ahead of.
#[test]
fn enter_opens_what_letters_before_it_have_left() {
    let put = PUT.replace("RECORDINGS", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign_sessions"));
    for (typed, opened) in [("codex\r", "A missing comma."), ("claude\r", "The basket moves along now.")] {
        let screen = Screen::prepared(&put, "--resume --model demo", 120, 36);
        screen.wait_for("Basket lost at login");
        screen.wait_for("codex · ");
        screen.type_keys(typed);
        screen.wait_for("what you send continues in a copy");
        screen.wait_for(opened);
    }
}

#[test]
fn what_the_picker_refuses_is_said_in_whole() {
    let put = PUT.replace("RECORDINGS", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign_sessions"));
    for columns in [80, 44] {
        let screen = Screen::prepared(&put, "--resume --model demo", columns, 24);
        screen.wait_for("Basket lost");
        screen.type_keys("basket\x12");
        screen.wait_until("the refusal", |cells| {
            let text = cells.contents().replace('│', " ");
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            text.contains("of Claude Code, whose files are not changed · enter continues it in a copy")
                && text.contains("esc closes")
        });
    }
}

#[test]
fn files_of_other_agents_are_imported() {
    let put = PUT.replace("RECORDINGS", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign_sessions"));
    let screen = Screen::prepared(&put, "--model demo", 120, 36);
    let line = |id: &str, parent: Option<&str>, content: &str| {
        let message = serde_json::json!({"role": "user", "content": content});
        serde_json::json!({"type": "user", "sessionId": "s", "cwd": "/w", "uuid": id, "parentUuid": parent,
            "timestamp": "2026-03-02T09:00:01.000Z", "message": message})
        .to_string()
    };
    let command = [
        line("a", None, "<bash-input>run that</bash-input>"),
        line("b", Some("a"), "<bash-stdout>its output</bash-stdout><bash-stderr></bash-stderr>"),
    ];
    fs::write(screen.home().join("c.jsonl"), command.join("\n")).unwrap();
    for (path, text, program) in [
        ("claude.before/projects/*/*.jsonl", "The basket moves along now.", "Claude Code"),
        ("codex.before/sessions/2026/03/03/*.jsonl", "A missing comma.", "Codex"),
        ("c.jsonl", "its output", "Claude Code"),
    ] {
        let find = format!("cp {path} imported.jsonl");
        let copied = Command::new("sh").args(["-c", &find]).current_dir(screen.home()).output_in_time();
        assert!(copied.status.success(), "{copied:?}");
        screen.type_keys(&format!("/import {}\r", screen.home().join("imported.jsonl").display()));
        screen.wait_for(text);
        screen.wait_for(&format!("a session of {program}"));
    }
    assert!(screen.text().contains("$ run that") && !screen.text().contains("killed"), "{}", screen.text());
    assert_eq!(own_sessions(&screen), 0);
}

/// What is done in a session of another agent begins the copy; looking at it and choosing a model do not.
#[test]
fn a_copy_begins_with_the_first_thing_that_is_done_in_it() {
    let home = Home::new();
    let path = home.claude().join("5f0a7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f.jsonl");
    fs::write(&path, home.recording(include_str!("claude.jsonl"))).unwrap();
    let command = BashExecution { command: "ls".into(), ..BashExecution::default() };
    let summary = Body::BranchSummary {
        from_id: "x".into(),
        summary: "it was tried".into(),
        details: None,
        usage: None,
    };
    type Act = Box<dyn Fn(&mut Session)>;
    let acts: [(Act, bool); 4] = [
        (Box::new(|session| session.set_model("own", "m").unwrap()), false),
        (Box::new(|session| session.set_name("mine").unwrap()), true),
        (
            Box::new(move |session| {
                session.append(Message::BashExecution(command.clone()).into()).unwrap();
            }),
            true,
        ),
        (Box::new(move |session| session.append_body(summary.clone()).unwrap()), true),
    ];
    for (at, (act, is_kept)) in acts.iter().enumerate() {
        let dir = home.0.path().join(format!("sessions{at}"));
        let mut session = Session::begin_from(&path, SessionOrigin::Claude, Some(&dir), None).unwrap();
        let file = session.info().file.clone().unwrap();
        session.flush().unwrap();
        assert!(!file.exists());
        act(&mut session);
        session.flush().unwrap();
        assert_eq!(file.exists(), *is_kept, "{at}");
    }
}

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Home(tempfile::tempdir().unwrap());
        fs::create_dir_all(home.work()).unwrap();
        home
    }

    fn work(&self) -> std::path::PathBuf {
        self.0.path().canonicalize().unwrap().join("shop")
    }

    fn recording(&self, text: &str) -> String {
        text.replace("/home/dev/shop", &self.work().to_string_lossy())
    }

    /// The folder of this directory's sessions of Claude Code.
    fn claude(&self) -> std::path::PathBuf {
        let name = self.work().to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let folder = self.0.path().join(".claude/projects").join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn rows(&self) -> Vec<Value> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
        command.args(["sessions", "--json"]).current_dir(self.work()).env_clear().env("HOME", self.0.path());
        let output = command.env("TAU_HOME", self.0.path().join("tau")).output_in_time();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn a_thousand_sessions_are_listed_at_once() {
    let home = Home::new();
    let (folder, day) = (home.claude(), home.0.path().join(".codex/sessions/2026/03/03"));
    fs::create_dir_all(&day).unwrap();
    let claude = home.recording(include_str!("claude.jsonl"));
    let codex = home.recording(include_str!("codex.jsonl"));
    for n in 0..500 {
        fs::write(folder.join(format!("5f0a7c1e-8f0e-4a53-9d3c-{n:012x}.jsonl")), &claude).unwrap();
        let id = format!("01a2120d-07f4-7b43-8a4d-{n:012x}");
        let text = codex.replace("01a2120d-07f4-7b43-8a4d-62225e4e10ef", &id);
        fs::write(day.join(format!("rollout-2026-03-03T10-00-00-{id}.jsonl")), text).unwrap();
    }
    let begun = Instant::now();
    assert_eq!(home.rows().len(), 1_000);
    let first = begun.elapsed();
    let begun = Instant::now();
    assert_eq!(home.rows().len(), 1_000);
    let again = begun.elapsed();
    println!("1,000 sessions of others: {first:?} at first, {again:?} later");
    // The second list reads no session. A busy machine is slow, but not that slow.
    assert!(first < Duration::from_secs(10) && again < Duration::from_secs(5), "{first:?} {again:?}");
}

#[test]
fn files_that_are_not_what_they_seem_are_left_out() {
    let home = Home::new();
    let folder = home.claude();
    let claude = home.recording(include_str!("claude.jsonl"));
    fs::write(folder.join("good.jsonl"), &claude).unwrap();
    // A pipe, a link to itself, a folder, no JSON, nothing, a helper's own file, one without a message.
    rustix::fs::mkfifoat(rustix::fs::CWD, folder.join("pipe.jsonl"), rustix::fs::Mode::RUSR).unwrap();
    std::os::unix::fs::symlink("loop.jsonl", folder.join("loop.jsonl")).unwrap();
    fs::create_dir(folder.join("folder.jsonl")).unwrap();
    fs::write(folder.join("noise.jsonl"), [0xff_u8; 5_000]).unwrap();
    fs::write(folder.join("empty.jsonl"), "").unwrap();
    fs::write(folder.join("agent-1.jsonl"), &claude).unwrap();
    fs::write(folder.join("short.jsonl"), claude.lines().next().unwrap()).unwrap();
    // One whose name and id are meant to move the cursor of whoever lists it.
    let evil = claude
        .replace("Basket lost at login", "\\u001b[2Jgone\\u202e")
        .replace("5f0a7c1e", "\\u001b]0;x\\u0007");
    fs::write(folder.join("evil.jsonl"), evil).unwrap();
    let mut ids: Vec<String> = home.rows().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["evil", "good"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
    command.arg("sessions").current_dir(home.work()).env_clear().env("HOME", home.0.path());
    let output = command.env("TAU_HOME", home.0.path().join("tau")).output_in_time();
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("gone") && !table.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{table:?}");
}

/// The time of a large session is at its end, or that of its file where its last line is longer than that end.
#[test]
fn a_long_last_line_hides_no_time() {
    let home = Home::new();
    let long = "x".repeat(200_000);
    let claude = serde_json::json!({"type": "user", "message": {"role": "user", "content": long}});
    let codex = serde_json::json!({"type": "response_item", "payload": {
        "type": "function_call_output", "call_id": "c", "output": long}});
    let day = home.0.path().join(".codex/sessions/2026/03/03");
    fs::create_dir_all(&day).unwrap();
    let name = "rollout-2026-03-03T10-00-00-01a2120d-07f4-7b43-8a4d-62225e4e10ef.jsonl";
    let files = [
        ("claude", home.claude().join("a.jsonl"), include_str!("claude.jsonl"), claude),
        ("codex", day.join(name), include_str!("codex.jsonl"), codex),
    ];
    let begun = jiff::Timestamp::now().as_millisecond() - 5_000;
    for (source, file, recording, line) in files {
        let text = home.recording(recording);
        fs::write(&file, format!("{text}{line}\n")).unwrap();
        let row = || home.rows().into_iter().find(|row| row["source"] == source).unwrap();
        assert!(row()["modified"].as_i64().unwrap() > begun, "{}", row());
        assert_eq!(row()["messages"], Value::Null, "they are not counted");
        // A line at the end has a time.
        let last = text.lines().rfind(|line| line.contains("\"timestamp\"")).unwrap();
        fs::write(&file, format!("{text}{line}\n{last}\n")).unwrap();
        assert!(row()["updated"].as_str().unwrap().starts_with("2026-03-0"), "{}", row());
        fs::write(&file, text).unwrap();
        assert!(row()["messages"].as_i64().unwrap() > 0, "{}", row());
    }
}

/// A document of another agent's session says whose it is, under the id that its commands know.
#[test]
fn an_exported_session_has_its_own_id_and_program() {
    let home = Home::new();
    let id = "5f0a7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f";
    fs::write(home.claude().join(format!("{id}.jsonl")), home.recording(include_str!("claude.jsonl")))
        .unwrap();
    let exported = |format: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
        command.args(["export", id, "-", "--format", format]).current_dir(home.work()).env_clear();
        let output =
            command.env("HOME", home.0.path()).env("TAU_HOME", home.0.path().join("tau")).output_in_time();
        String::from_utf8(output.stdout).unwrap()
    };
    let page = exported("md");
    assert!(page.contains(&format!("Session `{id}` of Claude Code in `")), "{page}");
    assert!(page.contains("\n## claude-") && !page.contains("## tau"), "{page}");
    assert!(exported("html").contains(&format!("session {id} of Claude Code in ")));
    assert!(exported("jsonl").lines().next().unwrap().contains(&format!("\"id\":\"{id}\"")));
}

/// Whatever a file holds, reading it ends, and takes the rest of it.
#[test]
fn damaged_sessions_are_read_as_far_as_they_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.jsonl");
    let recordings = [
        include_str!("claude.jsonl"),
        include_str!("claude-compacted.jsonl"),
        include_str!("codex.jsonl"),
        include_str!("codex-compacted.jsonl"),
    ];
    let mut dice = Dice::new(30);
    let mut opened = 0;
    for round in 0..400 {
        let mut bytes = recordings[round % recordings.len()].as_bytes().to_vec();
        for _ in 0..=dice.below(6) {
            let at = dice.below(bytes.len());
            match dice.below(4) {
                0 => bytes[at] = dice.below(256) as u8,
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, *dice.pick(b"{}[]\",:\\0n\n")),
                _ => bytes.truncate(at.max(1)),
            }
        }
        fs::write(&path, &bytes).unwrap();
        opened += usize::from(Session::copy(&path, None, None).is_ok_and(|session| {
            // What is there can be sent, and written.
            !session.context().messages.is_empty() && session.source().is_some()
        }));
        let _ = last_exchange(&path);
    }
    assert!(opened > 200, "{opened}");
    // A line that is nested too deeply is one that cannot be read.
    let deep = format!("{}\n{}{}\n", recordings[2].trim_end(), "[".repeat(100_000), "]".repeat(100_000));
    fs::write(&path, deep).unwrap();
    assert_eq!(Session::copy(&path, None, None).unwrap().skipped_lines(), 2);
}

/// pi puts attached files before your words; they are neither the title nor shown as yours.
#[test]
fn files_before_the_words_of_pi_are_named() {
    let put = r##"D=$(pwd -P | sed 's#^/##; s#/#-#g'); P=$HOME/.pi/agent/sessions/--$D--; mkdir -p $P
        ATTACHED='<file name=\\"/w/list.rs\\">\\nfn secret_body() {}\\n</file>\\nSort it'
        sed "s#/home/dev/shop#$(pwd -P)#g; s#Sort the list#$ATTACHED#" RECORDINGS/pi.jsonl \
            >$P/2026-03-05T09-00-00-000Z_019f0000-8f0e-7a53-9d3c-1b2f3c4d5e70.jsonl"##;
    let put = put.replace("RECORDINGS", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign_sessions"));
    let screen = Screen::prepared(&put, "--resume --model demo", 100, 30);
    screen.wait_for("pi · ");
    screen.wait_for("  Sort it ");
    screen.type_keys("\r");
    screen.wait_for("@/w/list.rs");
    screen.wait_for("Sorted.");
    assert!(!screen.text().contains("secret_body") && screen.text().contains("Sort it"), "{}", screen.text());
}
