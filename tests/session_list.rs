//! `tau sessions`, short ids, renamed directories, and runs of `-p` in lists.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Signal, kill_process};
use serde_json::Value;
use tau::agent::protocol::session_row::{FoundSession, SessionOrigin, SessionRow};
use tau::app::geometry::Size;
use tau::app::request::{FoundSessions, ScreenReply, ScreenRequest, SessionRows};
use tau::app::{Effect, Msg};
use tempfile::TempDir;

use crate::harness::{Screen as Frame, text};
use crate::live::{only_id, other_terminal};
use crate::live_ends::process_of;
use crate::screen::{Screen, TIMEOUT};
use crate::time_limit::RunInTime;

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Place(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.at("work")).unwrap();
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Runs the program in a folder; returns its code, its output and its error message.
    fn run(&self, folder: &str, args: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
        command.args(args).current_dir(self.at(folder));
        command.env_clear().env("HOME", self.0.path()).env("TAU_HOME", self.at("tau"));
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("TAU_DEMO_SPEED", "max");
        let output = command.output_in_time();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    fn say(&self, folder: &str, prompt: &str, args: &[&str]) {
        let args: Vec<&str> = ["-p", "--model", "demo", prompt].iter().chain(args).copied().collect();
        let (code, _, errors) = self.run(folder, &args);
        assert_eq!(code, Some(0), "{errors}");
    }

    fn rows(&self, folder: &str, args: &[&str]) -> Vec<Value> {
        let args: Vec<&str> = ["sessions", "--json"].iter().chain(args).copied().collect();
        let (code, text, errors) = self.run(folder, &args);
        assert_eq!(code, Some(0), "{errors}");
        serde_json::from_str(&text).unwrap()
    }
}

#[test]
fn sessions_are_listed_and_named_by_their_last_digits() {
    let place = Place::new();
    fs::create_dir_all(place.at("other")).unwrap();
    place.say("work", "the first prompt", &[]);
    place.say("work", "the second prompt", &["--name", "second"]);
    place.say("other", "elsewhere", &[]);
    // Runs of `-p` are listed on request, or if they have a name.
    assert_eq!(place.rows("work", &[]).len(), 1);
    let (_, text, hint) = place.run("work", &["sessions"]);
    assert!(text.contains("second") && !text.contains("the first prompt"), "{text}");
    // Notes are for terminals.
    assert_eq!(hint, "");
    let rows = place.rows("work", &["--print"]);
    let titles: Vec<&str> = rows.iter().map(|row| row["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["second", "the first prompt"]);
    assert_eq!(place.rows("work", &["--print", "--all"]).len(), 3);
    let (_, text, _) = place.run("work", &["sessions", "--print", "--all"]);
    assert!(text.contains("elsewhere") && text.contains("/other"), "{text}");
    // The short id is the end of the id, and is valid everywhere.
    for row in &rows {
        let (short, id) = (row["shortId"].as_str().unwrap(), row["id"].as_str().unwrap());
        assert!(id.ends_with(short) && short.len() < 12, "{id} {short}");
        place.say("work", "table", &["--session", &short.to_uppercase()]);
        assert_eq!(place.run("work", &["export", short, "-"]).0, Some(0));
        assert_eq!(place.run("work", &["diff", short]).0, Some(0));
    }
    let count = |rows: &[Value]| rows.iter().map(|row| row["messages"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(count(&place.rows("work", &["--print"])), count(&rows) + 4);
    // An ambiguous one lists its matches.
    let (code, _, errors) = place.run("work", &["-p", "--model", "demo", "--session", "0", "x"]);
    assert_eq!(code, Some(3), "{errors}");
    for words in ["give one of these:", "the first prompt", "elsewhere", "/other"] {
        assert!(errors.contains(words), "no {words:?} in {errors}");
    }
    let (_, _, errors) = place.run("work", &["-p", "--model", "demo", "--session", "zzzz", "x"]);
    assert!(errors.contains("`tau sessions --all` lists them"), "{errors}");
    // An empty directory says so.
    fs::create_dir_all(place.at("empty")).unwrap();
    let (code, text, hint) = place.run("empty", &["sessions"]);
    assert_eq!((code, text.as_str()), (Some(0), ""));
    assert!(hint.contains("--all lists those of all directories"), "{hint}");
    assert_eq!(place.rows("empty", &[]), Vec::<Value>::new());
}

#[test]
fn a_renamed_or_moved_directory_is_recognised() {
    for (from, to) in [("work", "renamed"), ("work", "deep/below/work"), ("work", "deep/another")] {
        let place = Place::new();
        place.say("work", "remember this", &[]);
        fs::create_dir_all(place.at(to).parent().unwrap()).unwrap();
        fs::rename(place.at(from), place.at(to)).unwrap();
        let (code, _, errors) = place.run(to, &["-p", "--model", "demo", "--continue", "more"]);
        assert_eq!(code, Some(0));
        assert!(errors.contains("which no longer exists") && errors.contains("--fork"), "{to}: {errors}");
    }
    // A directory that still exists, or has another name and inode, is not a match.
    let place = Place::new();
    place.say("work", "remember this", &[]);
    fs::create_dir_all(place.at("a/work")).unwrap();
    assert!(!place.run("a/work", &["-p", "--model", "demo", "-c", "x"]).2.contains("no longer exists"));
    fs::remove_dir_all(place.at("work")).unwrap();
    fs::create_dir_all(place.at("b/different")).unwrap();
    fs::create_dir_all(place.at("b/more")).unwrap();
    assert!(!place.run("b/more", &["-p", "--model", "demo", "-c", "x"]).2.contains("no longer exists"));
}

#[test]
fn the_screen_offers_the_session_of_the_earlier_path_and_hides_runs() {
    let setup = "export TAU_DEMO_SPEED=max; mkdir was; cd was; \"$TAU_BIN\" -p --model demo 'table' >/dev/null; \
                 cd ..; mv was is; cd is; \"$TAU_BIN\" -p --model demo -c 'say hello' >/dev/null 2>&1";
    // Also after a run of print mode here.
    let screen = Screen::prepared(setup, "--continue", 100, 30);
    screen.wait_for("no longer exists");
    screen.type_keys("\x1b[B\r");
    screen.wait_for("▌ table");
    // The copy is continued on the screen, so it is listed; the run only on request.
    screen.type_keys("code\r");
    screen.wait_for("▌ code");
    screen.type_keys("/sessions\r");
    screen.wait_for("Sessions of this directory");
    screen.type_keys("\t");
    screen.wait_for("Sessions of all directories");
    screen.wait_for("1/3");
    screen.wait_for("ctrl+o runs of -p");
    screen.type_keys("\x0f");
    screen.wait_for("3/3");
    screen.type_keys("\x1b");
}

/// Nothing has run: a terminal that is closed, or a kill, interrupts nothing.
#[test]
fn a_screen_that_ends_while_it_offers_a_session_was_not_interrupted() {
    let setup = "export TAU_DEMO_SPEED=max; mkdir was; cd was; \"$TAU_BIN\" -p --model demo 'table' >/dev/null; \
                 cd ..; mv was is; cd is";
    for signal in [Signal::HUP, Signal::KILL] {
        let mut screen = Screen::prepared(setup, "--continue", 100, 30);
        screen.wait_for("no longer exists");
        let (home, id) = (screen.home().to_owned(), only_id(screen.home()));
        // Meanwhile it waits for the user.
        let record = home.join(format!("tau/logs/live/{id}.json"));
        let is_waiting = || fs::read_to_string(&record).unwrap().contains("\"state\":\"waiting\"");
        crate::time_limit::until(TIMEOUT, is_waiting, || screen.text());
        kill_process(process_of(&home, &id), signal).unwrap();
        screen.wait_exit();
        let next = other_terminal(&home, "cd is; $TAU_BIN --model demo");
        next.wait_until("composer", |cells| crate::screen::composer(cells).is_some());
        next.type_keys("/help\r");
        next.wait_for("esc closes");
        next.type_keys("\x1b");
        next.wait_until("the help closes", |cells| !cells.contents().contains("esc closes"));
        assert!(!next.text().contains("interrupted"), "{}", next.text());
        next.type_keys("\x04");
    }
}

/// Whoever has chosen to continue it here is not asked again, on the screen or elsewhere.
#[test]
fn the_session_of_the_earlier_path_is_offered_once() {
    let setup = "export TAU_DEMO_SPEED=max; mkdir was; cd was; \"$TAU_BIN\" -p --model demo 'table' >/dev/null; \
                 cd ..; mv was is; cd is; \"$TAU_BIN\" --continue; echo has ended; read line";
    let screen = Screen::prepared(setup, "--continue", 100, 30);
    screen.wait_for("no longer exists");
    screen.type_keys("\r");
    screen.wait_for("▌ table");
    screen.type_keys("\x04");
    screen.wait_for("has ended");
    screen.type_keys("\r");
    screen.wait_for("▌ table");
    assert!(!screen.text().contains("Fork: a new session"), "{}", screen.text());
    screen.type_keys("!echo in ${PWD##*/}\r");
    screen.wait_for("│ in is");
    // It is a session of this directory from now on.
    screen.type_keys("!\"$TAU_BIN\" sessions --json | grep -c '/is\",.*table'; \"$TAU_BIN\" sessions --all | grep -c /was\r");
    screen.wait_until("the count", |cells| {
        let text = cells.contents();
        let rows: Vec<&str> = text.lines().map(str::trim).collect();
        rows.windows(2).any(|rows| rows[0].ends_with("│ 1") && rows[1].ends_with("│ 0"))
    });
}

/// However long its title is.
#[test]
fn a_row_found_by_what_was_said_says_whose_it_is() {
    let title = "A title of a session that is as long as a title can be here";
    for (source, width) in
        [(SessionOrigin::Claude, 80), (SessionOrigin::Opencode, 80), (SessionOrigin::Codex, 120)]
    {
        let mut screen = Frame::new();
        screen.send(Msg::Resized(Size { width, height: 40 }));
        screen.keys("/resume<enter>");
        let Some(Effect::Ask(ticket, ScreenRequest::Sessions { .. })) = screen.take_effects().pop() else {
            panic!("no request")
        };
        let row = |name: &str, source| SessionRow {
            path: format!("/s/{name}").into(),
            first_prompt: title.into(),
            source,
            size: 123_456_789,
            ..SessionRow::default()
        };
        let (rows, troubles) = (vec![row("alpha", SessionOrigin::Tau), row("beta", source)], Vec::new());
        screen.send(Msg::Finished(ticket, ScreenReply::Sessions(SessionRows { rows, done: true, troubles })));
        screen.take_effects();
        screen.keys("zyx");
        let asked = screen.take_effects();
        let search = asked.iter().find_map(|effect| match effect {
            Effect::Ask(ticket, ScreenRequest::SearchSessions { .. }) => Some(*ticket),
            _ => None,
        });
        let line = "the **zyx** of it".into();
        let found = FoundSession { path: "/s/beta".into(), line, entry: "e1".into(), passage: "zyx".into() };
        let found = ScreenReply::Found(FoundSessions { found: vec![found], done: true });
        screen.send(Msg::Finished(search.unwrap(), found));
        let shown = text(&screen.draw());
        let row = shown.lines().find(|line| line.contains("A title")).unwrap_or_else(|| panic!("{shown}"));
        assert!(row.contains(source.name()), "{shown}");
    }
}
