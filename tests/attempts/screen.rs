//! `/attempts` in a terminal: attempts are begun, watched, stopped and taken, and end with the screen.

use std::path::{Path, PathBuf};

use super::{bash, server};
use crate::live::{only_id, other_terminal};
use crate::screen::Screen;
use crate::support::processes::{alive, rare_sleep};
use crate::support::program::says_using;
use crate::support::server::{Act, Server};

/// Plays a user at a screen in a repository with a file; `choose` is the server, `config` are settings.
pub(super) async fn play(
    choose: impl Fn(&str, usize) -> Act + Send + Sync + 'static,
    (config, arguments): (&'static str, &'static str),
    play: impl FnOnce(&mut Screen) + Send + 'static,
) -> Server {
    let server = server(choose).await;
    let models = super::models(&server.url());
    tokio::task::spawn_blocking(move || {
        let script = format!(
            "mkdir -p \"$TAU_HOME\"; cat >\"$TAU_HOME/models.toml\" <<'END'\n{models}\nEND\n\
             cat >\"$TAU_HOME/config.toml\" <<'END'\n{config}\nEND\n\
             git() {{ command git -c user.name=x -c user.email=x@x -c init.defaultBranch=main \"$@\"; }}\n\
             git init -q; seq 30 >lines; echo done >.gitignore; git add .; git commit -qm x"
        );
        let script = format!("{script}\n\"$TAU_BIN\" --model own/a {arguments}; echo \"exit=$?\"; cat");
        let mut screen = Screen::program(Path::new("/bin/bash"), &["-c", &script], 110, 30);
        screen.wait_until("composer", |cells| crate::screen::composer(cells).is_some());
        play(&mut screen);
    })
    .await
    .unwrap();
    server
}

pub(super) fn enter(screen: &Screen, line: &str) {
    screen.type_keys(line);
    let start: String = line.chars().take(20).collect();
    screen.wait_until("the line", |cells| {
        crate::screen::composer(cells).is_some_and(|text| text.contains(&start))
    });
    screen.type_keys("\r");
}

/// Closes the list of attempts, once it is there.
pub(super) fn close(screen: &Screen) {
    screen.wait_for("┌ Attempts ");
    screen.type_keys("q");
    screen.wait_until("no list", |cells| !cells.contents().contains("┌ Attempts "));
}

/// A model that works until the file `gate` is in the home directory, and others.
pub(super) fn behind_a_gate(model: &str, results: usize) -> Act {
    match (model, results) {
        ("a", 0) => {
            bash("while ! test -e ~/gate; do sleep 0.02; done; sed -i 's/^1$/one/' lines; touch done")
        }
        ("b", _) => says_using("I cannot do it.", 10),
        ("c", 0) => bash("sed -i 's/^30$/treinta/' lines; touch done"),
        _ => says_using("Done.", 10),
    }
}

fn attempts_of(screen: &Screen) -> Vec<PathBuf> {
    super::copies_in(screen.home())
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_are_begun_watched_and_taken_on_the_screen() {
    play(behind_a_gate, ("", ""), |screen| {
        enter(screen, "/attempts 3 --until 'test -e done' --model own/a,own/b,own/c go along");
        screen.wait_for("3 attempts at: go along");
        screen.wait_for("1 ● at work, round 1");
        screen.wait_for("2 × goal given up");
        screen.wait_for("3 ✓ succeeded");
        screen.wait_for("go along · until test -e done");
        screen.wait_for("$0.010");
        // What is at work is neither taken nor removed, here or elsewhere.
        screen.type_keys("t");
        screen.wait_for("they are at work: wait, or stop them with s");
        let other = |arguments: &[&str]| super::elsewhere(screen.home(), arguments);
        assert!(other(&["attempts"]).1.contains("1  at work"), "{:?}", other(&["attempts"]));
        assert!(other(&["attempts", "drop"]).2.contains("the attempts are still running"));
        assert!(other(&["attempts", "take", "3"]).2.contains("the attempts are still running"));
        // Closing the list changes nothing; quitting asks. The attempt at work counts so far.
        close(screen);
        screen.wait_for("$0.05");
        enter(screen, "/attempts 2 --until true more");
        screen.wait_for("attempts are already running");
        enter(screen, "/quit");
        screen.wait_for("3 attempts are still running.");
        screen.type_keys("\x1b");
        screen.wait_until("no question", |cells| !cells.contents().contains("Stop them and quit"));
        enter(screen, "/attempts");
        screen.wait_for("s stops all");
        std::fs::write(screen.home().join("gate"), "").unwrap();
        screen.wait_for("1 ✓ succeeded");
        screen.wait_for("enter shows changes · a all");
        screen.wait_for("1 file +1 -1");
        screen.type_keys("t");
        screen.wait_for("took attempt 1: 1 file");
        close(screen);
        screen.wait_for("the attempts have ended: 2 of 3 succeeded, $0.060");
        assert!(super::text(&screen.home().join("work/lines")).starts_with("one\n"));
        assert_eq!(attempts_of(screen), Vec::<PathBuf>::new());
        let id = only_id(screen.home());
        enter(screen, "/quit");
        screen.wait_for("this session has cost $0.0600");
        screen.wait_for("exit=0");
        // It is kept though nothing was said in it.
        let again = other_terminal(screen.home(), &format!("$TAU_BIN --session {id}"));
        again.wait_for("$0.06");
    })
    .await;
}

/// A model whose command takes very long.
fn napping(nap: &str) -> impl Fn(&str, usize) -> Act + Send + Sync + 'static {
    let command = format!("touch begun; sleep {nap}");
    move |_, _| bash(&command)
}

/// Waits until the commands of two attempts have begun.
fn both_begun(screen: &Screen) {
    until("they begin", || {
        attempts_of(screen).iter().filter(|copy| copy.join("begun").exists()).count() == 2
    });
}

pub(super) fn until(what: &str, is_so: impl Fn() -> bool) {
    crate::time_limit::until(crate::time_limit::SOON, is_so, || what.to_owned());
}

/// The attempts of the screen's directory, in a shell.
fn listed(screen: &Screen) -> String {
    super::elsewhere(screen.home(), &["attempts"]).1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_stops_attempts_and_so_does_quitting() {
    let nap = rare_sleep();
    play(napping(&nap), ("", ""), move |screen| {
        enter(screen, "/attempts 2 --until false go");
        both_begun(screen);
        screen.wait_for("2 ● at work");
        screen.type_keys("s");
        screen.wait_for("2 × terminated");
        close(screen);
        screen.wait_for("the attempts have ended: 0 of 2 succeeded, $0.020");
        until("the commands end", || alive(&nap).is_empty());
        enter(screen, "/attempts");
        screen.wait_for("enter shows changes · a all");
        screen.type_keys("xx");
        screen.wait_for("removed 2 attempts");
        close(screen);
        enter(screen, "/attempts 2 --until false again");
        both_begun(screen);
        close(screen);
        enter(screen, "/quit");
        screen.wait_for("› Stop them and quit");
        screen.type_keys("\r");
        screen.wait_for("stopped 2 attempts; `tau attempts` lists what they have");
        screen.wait_for("this session has cost $0.0400");
        screen.wait_for("exit=0");
        assert!(alive(&nap).is_empty());
        assert_eq!(listed(screen).matches("terminated").count(), 2, "{}", listed(screen));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_end_with_a_screen_that_is_killed() {
    let nap = rare_sleep();
    let command = format!("touch begun; sleep {nap}");
    let choose = move |model: &str, _| match model {
        "b" => bash(&command),
        _ => says_using("Hello.", 10),
    };
    play(choose, ("", ""), move |screen| {
        enter(screen, "hello");
        screen.wait_for("Hello.");
        enter(screen, "/attempts 2 --until false --model own/b go");
        both_begun(screen);
        let parent = |pid: i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse::<i32>().ok())
        };
        let own = screen.pid().as_raw_nonzero().get();
        let is_below = |pid: i32| std::iter::successors(Some(pid), |pid| parent(*pid)).any(|pid| pid == own);
        let hosts = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
            (line.contains("--attempts-host") && is_below(pid)).then_some(pid)
        });
        let hosts: Vec<i32> = hosts.collect();
        let [host] = hosts.as_slice() else { panic!("{hosts:?}") };
        let of_screen = rustix::process::Pid::from_raw(parent(*host).unwrap()).unwrap();
        rustix::process::kill_process(of_screen, rustix::process::Signal::KILL).unwrap();
        until("the commands end", || alive(&nap).is_empty());
        until("their record is written", || listed(screen).matches("terminated").count() == 2);
        // What they have cost counts once in their session, as soon as that is opened again.
        for _ in 0..2 {
            let again = other_terminal(screen.home(), "\"$TAU_BIN\" --model own/a --continue");
            again.wait_until("composer", |cells| crate::screen::composer(cells).is_some());
            enter(&again, "/quit");
            again.wait_for("this session has cost $0.0300");
        }
        assert!(super::elsewhere(screen.home(), &["attempts", "drop"]).0 == Some(0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_goal_decides_and_what_is_missing_is_said() {
    play(behind_a_gate, ("", "--max-cost 0.025"), |screen| {
        std::fs::write(screen.home().join("gate"), "").unwrap();
        enter(screen, "/attempts 2 go");
        screen.wait_for("attempts need a command that decides which of them succeed");
        screen.wait_for("write /attempts 3 --until 'cargo test' TASK, or set a goal with /goal");
        enter(screen, "/attempts two go");
        screen.wait_for("\"two\" is not a number of attempts");
        enter(screen, "/attempts 2 --until true --model nosuch go");
        screen.wait_for("the attempts did not start: ");
        enter(screen, "/goal echo yes");
        screen.wait_for("the goal is reached after 0 rounds");
        enter(screen, "/attempts 2 --model own/b go");
        screen.wait_for("go · until echo yes");
        screen.wait_for("1 ✓ succeeded");
        screen.wait_for("2 ✓ succeeded");
        close(screen);
        screen.wait_for("the attempts have ended: 2 of 2 succeeded, $0.020");
        // The limit of dollars is one for all of them.
        enter(screen, "/attempts 3 --until false --model own/b more");
        close(screen);
        screen.wait_for("stopped: all attempts together have cost $0.0");
        enter(screen, "/mode plan");
        screen.wait_for("◇ plan");
        enter(screen, "/attempts 2 go");
        screen.wait_for("attempts cannot change anything in plan mode");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_count_for_the_limit_of_the_session() {
    // Each answer costs 1 cent.
    let server = play(
        |_, results| bash(&format!("echo {results} >>file")),
        ("session_cost = 1", ""),
        |screen| {
            enter(screen, "/attempts 2 --until false go");
            screen.wait_for("1 × limit reached");
            screen.wait_for("2 × limit reached");
            close(screen);
            screen.wait_for("the attempts have ended");
            screen.wait_for("all attempts together");
            enter(screen, "/attempts 2 --until false again");
            screen.wait_for("session_cost allows $1");
            enter(screen, "hello");
            screen.wait_for("stopped: this session has cost $1.0");
        },
    )
    .await;
    let asked = server.requests().len();
    assert!((100..=104).contains(&asked), "{asked}");
}

/// Two models that change the same line in different ways; the first changes another one, too.
fn at_one_place(model: &str, results: usize) -> Act {
    match (model, results) {
        ("a", 0) => bash("sed -i 's/^1$/one/; s/^30$/thirty/' lines; touch done"),
        ("c", 0) => bash("sed -i 's/^1$/uno/' lines; echo new >made; touch done"),
        _ => says_using("Done.", 10),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hunks_of_several_attempts_are_marked_side_by_side_and_taken() {
    play(at_one_place, ("", ""), |screen| {
        screen.resize(160, 40);
        enter(screen, "/attempts 2 --until 'test -e done' --model own/a,own/c go");
        screen.wait_for("enter shows changes · a all");
        screen.type_keys("a");
        screen.wait_for("+uno");
        screen.wait_for("hunk 1 · new file");
        assert!(!screen.text().contains("new file mode"));
        let is_beside = |cells: &vt100::Screen| {
            cells.contents().lines().any(|line| line.contains("+one") && line.contains("+uno"))
        };
        screen.wait_until("both in one row", is_beside);
        screen.type_keys(" \x1b[C \x1b[B");
        screen.wait_for("2 marked to be taken");
        screen.type_keys("t");
        screen.wait_for("hunk 1 of attempt 1 and hunk 1 of attempt 2 change the same place of lines; take one of them only");
        let lines = || super::text(&screen.home().join("work/lines"));
        assert!(lines().starts_with("1\n") && lines().ends_with("30\n"), "nothing has changed");
        // The second one of the first attempt instead of its first, and a new file.
        screen.type_keys("\x1b[H \x1b[B \x1b[F ");
        screen.wait_for("3 marked to be taken");
        screen.type_keys("t");
        screen.wait_for("took attempts 1, 2: 2 files");
        assert!(lines().starts_with("uno\n") && lines().ends_with("thirty\n"), "{}", lines());
        assert_eq!(super::text(&screen.home().join("work/made")), "new\n");
        assert_eq!(attempts_of(screen).len(), 2, "the copies stay");
        // What no longer fits changes nothing.
        screen.type_keys("\x1b[H t");
        screen.wait_for("the files have changed since it began");
        assert!(lines().starts_with("uno\n"));
    })
    .await;
}
