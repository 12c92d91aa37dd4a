//! The session that arguments select, without a screen: started, continued, copied, refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde_json::Value;
use tau::agent::session::Session;
use tempfile::TempDir;

use crate::support::session_files::{HEADER, line, user};
use crate::time_limit::{JoinInTime, RunInTime};

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Place(tempfile::tempdir().unwrap());
        fs::create_dir(place.work()).unwrap();
        place
    }

    fn work(&self) -> PathBuf {
        self.0.path().join("work")
    }

    /// Runs the program; returns its code and its error message.
    fn run(&self, args: &[&str]) -> (Option<i32>, String) {
        self.run_after("true", args)
    }

    /// Runs the program from a shell after these commands.
    fn run_after(&self, before: &str, args: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new("bash");
        command.args(["-c", &format!("{before}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_tau")]);
        command.args(["-p", "--model", "demo", "hello"]).args(args).current_dir(self.work());
        command.env_clear().env("HOME", self.0.path()).env("TAU_HOME", self.0.path().join("tau"));
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("TAU_DEMO_SPEED", "max");
        let output = command.output_in_time();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// All session files, each as its lines.
    fn files(&self) -> Vec<(PathBuf, Vec<Value>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.0.path().join("tau/sessions"), self.0.path().join("mine")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|end| end == "jsonl") {
                    let text = fs::read_to_string(&path).unwrap();
                    found
                        .push((path, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()));
                }
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    }
}

fn said(lines: &[Value]) -> usize {
    lines.iter().filter(|line| line["message"]["role"] == "user").count()
}

#[test]
fn an_id_begins_a_session_and_continues_with_it() {
    let place = Place::new();
    for round in 1..=2 {
        assert_eq!(place.run(&["--session-id", "my.id-1"]).0, Some(0));
        let files = place.files();
        assert_eq!(
            (files.len(), said(&files[0].1), &files[0].1[0]["id"]),
            (1, round, &Value::from("my.id-1"))
        );
    }
    assert_eq!(place.run(&["--session-id", "a/b"]).0, Some(2));
    assert_eq!(place.run(&["--session", "my.id"]).0, Some(0), "the beginning of an id");
    assert_eq!(said(&place.files()[0].1), 3);
    assert_eq!(place.run(&["--no-session"]).0, Some(0));
    assert_eq!(place.files().len(), 1);
    let mine = place.0.path().join("mine");
    assert_eq!(place.run(&["--session-dir", mine.to_str().unwrap()]).0, Some(0));
    assert!(place.files().iter().any(|(path, _)| path.parent() == Some(&mine)));
}

#[test]
fn a_session_in_use_is_refused_and_can_be_copied() {
    let place = Place::new();
    let dir = place.0.path().join("tau/sessions/other");
    let mut session = Session::begin(Some(&dir), &place.work(), Some("used".into()));
    session.append(user("theirs")).unwrap();
    let path = session.info().file.clone().unwrap();
    let before = fs::read(&path).unwrap();
    let (code, stderr) = place.run(&["--session", "used"]);
    assert_eq!(code, Some(3));
    assert!(stderr.contains(&format!("in use by another tau (process {})", std::process::id())), "{stderr}");
    assert!(stderr.contains("--fork"), "{stderr}");
    assert_eq!(place.run(&["--fork", "used"]).0, Some(0));
    assert_eq!(fs::read(&path).unwrap(), before);
    let copy = place.files().into_iter().find(|(file, _)| *file != path).unwrap().1;
    assert_eq!((said(&copy), &copy[0]["parentSession"]), (2, &Value::from(path.to_str().unwrap())));
}

#[test]
fn a_session_whose_directory_is_gone_is_refused_and_can_be_copied() {
    let place = Place::new();
    let gone = place.0.path().join("gone");
    let file = place.0.path().join("there.jsonl");
    let header = HEADER.replace("/srv/web", gone.to_str().unwrap());
    fs::write(&file, format!("{header}\n{}\n", line("a", None, "one"))).unwrap();
    let path = file.to_str().unwrap();
    let (code, stderr) = place.run(&["--session", path]);
    assert_eq!(code, Some(3));
    assert!(stderr.contains("is gone; --fork"), "{stderr}");
    assert_eq!(place.run(&["--fork", path]).0, Some(0));
    let copy = place.files().remove(0).1;
    assert_eq!((Path::new(copy[0]["cwd"].as_str().unwrap()), said(&copy)), (place.work().as_path(), 2));
}

#[test]
fn of_many_that_begin_with_one_id_one_wins_and_the_others_say_so() {
    let place = Place::new();
    let place = Arc::new(place);
    let one = || {
        let place = Arc::clone(&place);
        std::thread::spawn(move || place.run(&["--session-id", "shared"]))
    };
    let all: Vec<_> = std::iter::repeat_with(one).take(20).collect();
    let ended: Vec<(Option<i32>, String)> =
        all.into_iter().map(|one| one.join_in_time("a session that begins")).collect();
    let files = place.files();
    assert_eq!(files.len(), 1, "{ended:?}");
    let won = ended.iter().filter(|(code, _)| *code == Some(0)).count();
    // Those that started after the winner had ended continued with its session.
    assert!(won >= 1 && said(&files[0].1) == won, "{ended:?}");
    for (code, stderr) in ended.iter().filter(|(code, _)| *code != Some(0)) {
        assert_eq!(*code, Some(3), "{stderr}");
        assert!(stderr.contains("in use by another tau"), "{stderr}");
    }
}

#[test]
fn too_few_open_files_are_said_before_anything_runs() {
    let place = Place::new();
    for (limit, starts) in [("ulimit -n 10", false), ("ulimit -n 40", false), ("ulimit -S -n 10", true)] {
        let (code, stderr) = place.run_after(limit, &["--session-id", "few"]);
        assert_eq!(code, Some(if starts { 0 } else { 3 }), "{limit}: {stderr}");
        assert_eq!(stderr.contains("raise the limit (ulimit -n 256)"), !starts, "{limit}: {stderr}");
        assert_eq!(place.files().len(), usize::from(starts), "{limit}: {stderr}");
    }
}
