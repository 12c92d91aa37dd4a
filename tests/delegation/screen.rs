//! Helpers on the screen: their rows, their questions, and the end of the tree.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Asked, delegate};
use crate::screen::Screen;
use crate::support::processes::{alive, rare_sleep};
use crate::support::program::{calls_all, says_using};
use crate::support::server::{Act, Server};

/// Plays in a terminal, with a model that acts as `choose` says.
pub async fn play(
    args: &'static str,
    choose: impl Fn(&Asked) -> Act + Send + Sync + 'static,
    play: impl FnOnce(&Screen) + Send + 'static,
) -> Vec<Asked> {
    let server = Server::choosing(move |_, request| choose(&Asked::of(request))).await;
    let url = server.url();
    let played = tokio::task::spawn_blocking(move || {
        let script = format!(
            "mkdir -p \"$TAU_HOME\"; printf '[helpers]\\nenabled = true\\n' > \"$TAU_HOME/config.toml\"\n\
             exec \"$TAU_BIN\" --base-url {url} --api-key x --model m {args}"
        );
        let screen = Screen::program(Path::new("/bin/sh"), &["-c", &script], 100, 30);
        screen.wait_for("ask for something");
        play(&screen);
    });
    played.await.unwrap();
    server.requests().iter().map(|request| Asked::of(request)).collect()
}

pub fn bash(command: &str) -> Act {
    calls_all(&[("bash", json!({ "command": command }))], 1_500)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_helper_asks_on_the_screen_of_its_parent() {
    let choose = |asked: &Asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(&[delegate(json!({ "task": "make it" }))], 10),
        (true, 0) => bash("echo one > made.txt"),
        (true, 1) => {
            calls_all(&[("ask_user", json!({ "questions": [{ "question": "which colour?" }] }))], 10)
        }
        (true, 2) => bash("echo two > second.txt"),
        (true, _) => says_using(&format!("made: {}", asked.results()[1]), 10),
        _ => says_using("All done.", 10),
    };
    let asked = play("--permission-mode ask", choose, |screen| {
        screen.type_keys("go\r");
        screen.wait_for("asked by the helper work 1");
        screen.wait_for("Run this command?");
        screen.wait_for("echo one > made.txt");
        std::thread::sleep(Duration::from_millis(600));
        screen.type_keys("y");
        screen.wait_for("work 1 asks: which colour?");
        // Until nothing was typed for a moment, keys go to the draft.
        std::thread::sleep(Duration::from_millis(600));
        screen.type_keys("blue\r");
        screen.wait_for("echo two > second.txt");
        std::thread::sleep(Duration::from_millis(600));
        screen.type_keys("y");
        screen.wait_for("All done.");
        screen.wait_for("tokens");
        let work = screen.home().join("work");
        assert_eq!(std::fs::read_to_string(work.join("made.txt")).unwrap(), "one\n");
        assert!(work.join("second.txt").exists());
        // Unfolded, the panel has what it did.
        screen.type_keys("\x0f");
        screen.wait_for("bash echo two > second.txt");
        screen.wait_for("made: ");
        // Its changes belong to the prompt, so undo takes them back.
        screen.type_keys("/undo\r");
        screen.wait_for("Rewind to before");
        screen.type_keys("\r");
        screen.wait_for("Files and conversation");
        screen.type_keys("\r");
        let gone = || !work.join("made.txt").exists() && !work.join("second.txt").exists();
        crate::time_limit::until(crate::time_limit::SOON, gone, || format!("not undone: {}", screen.text()));
    })
    .await;
    assert!(asked.last().unwrap().results()[0].contains("blue"));
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_live_and_esc_stops_the_tree() {
    let nap = rare_sleep();
    let command = format!("sleep {nap}");
    let choose = move |asked: &Asked| match (asked.is_helper(), asked.task().as_str()) {
        (false, _) if asked.results().is_empty() => calls_all(
            &[
                delegate(json!({ "task": "first task" })),
                delegate(json!({ "task": "look", "kind": "review" })),
            ],
            10,
        ),
        (false, _) => says_using("It stopped.", 10),
        (true, "first task") => calls_all(&[delegate(json!({ "task": "inner" }))], 2_000),
        _ => bash(&command),
    };
    let looked = nap.clone();
    play("--permission-mode auto", choose, move |screen| {
        screen.type_keys("go\r");
        screen.wait_for("first task");
        screen.wait_for("review: look");
        screen.wait_for(&format!("bash sleep {looked}"));
        screen.wait_for("3.5k tokens");
        let begun = Instant::now();
        while alive(&looked).len() < 2 {
            assert!(begun.elapsed() < crate::time_limit::SOON);
            std::thread::sleep(Duration::from_millis(10));
        }
        let stopped = Instant::now();
        screen.type_keys("\x1b");
        while !alive(&looked).is_empty() {
            assert!(stopped.elapsed() < crate::time_limit::SOON, "left: {:?}", alive(&looked));
            std::thread::sleep(Duration::from_millis(2));
        }
        println!("the tree ended {} ms after Esc", stopped.elapsed().as_millis());
        screen.wait_for("■");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_of_a_helper_is_moved_to_the_background() {
    let nap = rare_sleep();
    let command = format!("sleep {nap}");
    let choose = move |asked: &Asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(&[delegate(json!({ "task": "x" }))], 10),
        (true, 0) => bash(&command),
        _ => says_using("It is over.", 10),
    };
    let asked = play("--permission-mode auto", choose, move |screen| {
        screen.type_keys("go\r");
        let runs = || !alive(&nap).is_empty();
        crate::time_limit::until(crate::time_limit::SOON, runs, || "it does not run".to_owned());
        screen.type_keys("\x02");
        screen.wait_for("It is over.");
        screen.wait_until("no complaint", |cells| !cells.contents().contains("no command is running"));
    })
    .await;
    let told = asked.iter().filter(|asked| asked.is_helper()).flat_map(Asked::results).collect::<String>();
    assert!(told.contains("the user moved it to the background"), "{told}");
}

/// Jobs of a helper, and what its commands have left, are told to end together with its calls, and not after them.
#[tokio::test(flavor = "multi_thread")]
async fn esc_ends_jobs_and_what_they_left_at_once() {
    let [job, left, stubborn, call] = [(); 4].map(|()| rare_sleep());
    let background = |command: String| ("bash", json!({ "command": command, "background": true }));
    let ignoring = |nap: &str| format!("trap '' TERM; while true; do sleep {nap}; done");
    let first = [
        background(format!("sleep {job}")),
        background(format!("setsid sleep {left}")),
        background(ignoring(&stubborn)),
    ];
    let last = ignoring(&call);
    let choose = move |asked: &Asked| match (asked.is_helper(), asked.results().len()) {
        (false, _) => calls_all(&[delegate(json!({ "task": "x" }))], 10),
        (true, 0) => calls_all(&first, 10),
        (true, _) => bash(&last),
    };
    play("--permission-mode auto", choose, move |screen| {
        screen.type_keys("go\r");
        let all = [&job, &left, &stubborn, &call];
        let run = || all.iter().all(|nap| !alive(nap).is_empty());
        crate::time_limit::until(crate::time_limit::SOON, run, || "they do not run".to_owned());
        let stopped = Instant::now();
        screen.type_keys("\x1b");
        let mut ends = [None; 4];
        while ends.contains(&None) {
            assert!(stopped.elapsed() < crate::time_limit::SOON, "{all:?}: {ends:?}");
            for (end, nap) in ends.iter_mut().zip(all) {
                if end.is_none() && alive(nap).is_empty() {
                    *end = Some(stopped.elapsed());
                }
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        println!("after Esc: {ends:?}");
        let [job, left, stubborn, call] = ends;
        assert!(job.max(left) < stubborn.min(call), "{ends:?}");
        screen.wait_for("■");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_commands_of_a_helper_left_ends_with_it() {
    let nap = rare_sleep();
    let (leaving, looked) = (format!("setsid -f sleep {nap} >/dev/null 2>&1; echo left"), nap.clone());
    let choose = move |asked: &Asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(&[delegate(json!({ "task": "x" }))], 10),
        (true, 0) => bash(&leaving),
        (true, _) => says_using(&format!("{} ran", alive(&looked).len()), 10),
        (false, _) => says_using(&format!("{} run", alive(&looked).len()), 10),
    };
    let asked = play("--permission-mode auto", choose, |screen| {
        screen.type_keys("go\r");
        screen.wait_for("0 run");
    })
    .await;
    assert!(asked.last().unwrap().results()[0].starts_with("1 ran"), "{:?}", asked.last().unwrap().results());
}
