//! Answers that fail midway: their partial text makes way for the next attempt.

use serde_json::json;

use crate::screen::Screen;
use crate::support::program::{says, stalls};
use crate::support::server::{Act, Server, stream};

/// The stream is cut after the first half.
fn cut() -> Act {
    let delta = json!({"choices": [{"index": 0, "delta": {"content": "The first half, "}}]});
    Act::Reset(stream(&format!("data: {delta}\n\n")))
}

/// Also on a resumed screen, and if the user wrote in between, nothing is left out.
#[tokio::test(flavor = "multi_thread")]
async fn of_an_answer_that_was_cut_and_sent_again_one_is_on_the_screen() {
    let whole = "The first half, the second half.";
    let server = Server::start(vec![cut(), cut(), says(whole), says("And more.")]).await;
    let connected = format!("--base-url {} --api-key x --model m", server.url());
    let once = |screen: &Screen| {
        screen.wait_until("one answer", |cells| {
            let text = cells.contents();
            text.contains(whole) && text.matches("first half").count() == 1 && !text.contains("connection")
        });
    };
    let screen = Screen::prepared("", &connected, 80, 24);
    screen.type_keys("go\r");
    once(&screen);
    screen.type_keys("on\r");
    screen.wait_for("And more.");
    once(&screen);
    screen.type_keys("/new\r");
    screen.wait_until("an empty screen", |cells| !cells.contents().contains(whole));
    screen.type_keys("/resume\r");
    screen.wait_for("go");
    screen.type_keys("\r");
    screen.wait_for("And more.");
    once(&screen);
}

/// Esc keeps what is on the screen, in the wait before the next attempt and while that one has said nothing.
#[tokio::test(flavor = "multi_thread")]
async fn esc_keeps_the_half_of_an_answer_that_was_cut() {
    for waits in [true, false] {
        let server = Server::start(vec![cut(), Act::Stall(Vec::new()), says("And more.")]).await;
        let connected = format!("--base-url {} --api-key x --model m", server.url());
        let (screen, body) = tokio::task::spawn_blocking(move || {
            let screen = Screen::prepared("", &connected, 80, 24);
            screen.type_keys("go\r");
            screen.wait_for("retrying in");
            if !waits {
                screen.wait_until("the next attempt", |_| server.requests().len() == 2);
            }
            screen.type_keys("\x1b");
            screen.wait_for("stopped");
            screen.type_keys("continue\r");
            if waits {
                screen.wait_until("the next request", |_| server.requests().len() == 2);
            } else {
                screen.wait_for("And more.");
            }
            (screen, server.requests().pop().unwrap())
        })
        .await
        .unwrap();
        assert_eq!(screen.text().matches("The first half,").count(), 1, "{}", screen.text());
        assert!(body.contains("The first half,"), "the model is sent it: {body}");
    }
}

/// What the shell's screen has of it is not written again.
#[tokio::test(flavor = "multi_thread")]
async fn the_half_of_an_answer_is_on_the_shells_screen_once() {
    let paragraph = "The paragraph is complete.\\n\\nThe first half, ";
    let piece =
        format!("data: {{\"choices\": [{{\"index\": 0, \"delta\": {{\"content\": \"{paragraph}\"}}}}]}}\n\n");
    let server = Server::start(vec![Act::Reset(stream(&piece)), Act::Stall(Vec::new())]).await;
    let connected = format!("--base-url {} --api-key x --model m", server.url());
    tokio::task::spawn_blocking(move || {
        let screen = Screen::inline("", &connected, 80, 24);
        screen.type_keys("go\r");
        screen.wait_until("the next attempt", |_| server.requests().len() == 2);
        screen.type_keys("\x1b");
        screen.wait_for("stopped");
        for text in ["The paragraph is complete.", "The first half,"] {
            assert_eq!(screen.rows().join("\n").matches(text).count(), 1, "{:?}", screen.rows());
        }
    })
    .await
    .unwrap();
}

/// What stops a run says so, and compaction does not stop one.
#[tokio::test(flavor = "multi_thread")]
async fn no_command_stops_a_run_silently() {
    let server = Server::choosing(|_, _| stalls("working on it")).await;
    let connected = format!("--base-url {} --api-key x --model m", server.url());
    tokio::task::spawn_blocking(move || {
        let screen = Screen::prepared("", &connected, 80, 24);
        screen.type_keys("go\r");
        screen.wait_for("working on it");
        screen.type_keys("/compact\r");
        screen.wait_for("not while the model works");
        screen.wait_for("esc stops");
        for command in ["/clone", "/new"] {
            screen.type_keys(&format!("{command}\r"));
            screen.wait_for("stopped the run in the previous session; /resume reopens that session");
            screen.type_keys("/new\rgo\r");
            screen.wait_for("working on it");
        }
    })
    .await
    .unwrap();
}
