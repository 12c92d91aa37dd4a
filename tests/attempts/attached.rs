//! Attempts and worktrees of an attached screen: they are where the session runs.

use super::screen::{behind_a_gate, close, enter, play, until};
use crate::live::{only_id, other_terminal};
use crate::screen::composer;

#[tokio::test(flavor = "multi_thread")]
async fn attempts_of_an_attached_screen_continue_without_it_and_count_in_the_session() {
    play(behind_a_gate, ("", ""), |here| {
        let home = here.home().to_owned();
        let id = only_id(&home);
        let attached = || {
            let screen = other_terminal(&home, &format!("\"$TAU_BIN\" attach {id}"));
            screen.wait_until("composer", |cells| composer(cells).is_some());
            screen
        };
        let there = attached();
        enter(&there, "/attempts 2 --until 'test -e done' --model own/a,own/c go");
        there.wait_for("1 ● at work, round 1");
        there.wait_for("2 ✓ succeeded");
        close(&there);
        enter(&there, "/attempts 2 --until true more");
        there.wait_for("attempts are already running");
        enter(&there, "/quit");
        there.wait_for("exit=0");
        // They work on, and another screen stops or sees them.
        let there = attached();
        enter(&there, "/attempts");
        there.wait_for("s stops all");
        std::fs::write(home.join("gate"), "").unwrap();
        there.wait_for("1 ✓ succeeded");
        there.wait_for("1 file +1 -1");
        there.type_keys("\r");
        there.wait_for("+one");
        there.type_keys("\x1b");
        there.wait_for("enter shows changes · a all");
        there.type_keys("t");
        there.wait_for("took attempt 1: 1 file");
        close(&there);
        assert!(super::text(&home.join("work/lines")).starts_with("one\n"));
        // The end is said where they were begun, as long as that screen is there.
        enter(&there, "/attempts 2 --until true --model own/c again");
        there.wait_for("2 ✓ succeeded");
        close(&there);
        there.wait_for("the attempts have ended: 2 of 2 succeeded, $0.0");
        enter(&there, "/quit");
        there.wait_for("exit=0");
        enter(here, "/quit");
        here.wait_for("this session has cost $0.0");
        here.wait_for("exit=0");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attached_screen_moves_to_worktrees_of_the_session() {
    play(behind_a_gate, ("", ""), |here| {
        let home = here.home().to_owned();
        std::fs::write(home.join("gate"), "").unwrap();
        enter(here, "hello");
        here.wait_for("Done.");
        let there = other_terminal(&home, &format!("\"$TAU_BIN\" attach {}", only_id(&home)));
        there.wait_until("composer", |cells| composer(cells).is_some());
        there.wait_for("Done.");
        enter(&there, "/worktree side");
        there.wait_for("you are in the worktree side now, in a copy of the session");
        there.wait_for("work [side]");
        there.wait_for("Done.");
        enter(&there, "!touch made");
        until("the command runs where the session is", || {
            super::copies_in(&home).iter().any(|copy| copy.join("made").exists())
        });
        enter(&there, "/worktree");
        there.wait_for("0 commits, 1 change");
        there.type_keys("m");
        there.wait_for("merged side into main, and removed it");
        until("it is merged", || home.join("work/made").exists());
        // The other screen stays where it is.
        assert!(!here.text().contains("[side]"));
        enter(&there, "/quit");
        there.wait_for("exit=0");
    })
    .await;
}
