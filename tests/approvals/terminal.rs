//! Prompts in a real terminal, with a server on loopback whose model calls tools.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::faults::server::{Act, Server, stream};
use crate::screen::{PATIENCE, Screen as Terminal, composer};

/// An answer that makes these calls: tool and arguments.
pub(super) fn calling(calls: &[(&str, Value)]) -> Act {
    let call = |(index, (name, arguments)): (usize, &(&str, Value))| json!({"index": index, "id": format!("c{index}"), "function": {"name": name, "arguments": arguments.to_string()}});
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    let delta = json!({"choices": [{"delta": {"tool_calls": calls}}]});
    let end = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
    Act::Send(stream(&format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n")))
}

pub(super) fn saying(text: &str) -> Act {
    let delta = json!({"choices": [{"delta": {"content": text}}]});
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    Act::Send(stream(&format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n")))
}

/// Plays a session in ask mode: the script makes files, the acts are the model's, `play` is the user.
pub(super) async fn play(
    acts: Vec<Act>,
    script: &'static str,
    args: &'static str,
    (columns, rows): (u16, u16),
    play: impl FnOnce(&Terminal) + Send + 'static,
) -> Vec<String> {
    let server = Server::start(acts).await;
    let url = server.url();
    tokio::task::spawn_blocking(move || {
        let script = format!(
            "mkdir -p \"$TAU_HOME\"; export TAU_PERMISSION_MODE=ask; {script}\n\
             exec \"$TAU_BIN\" --base-url {url} --api-key x --model m {args}"
        );
        let screen = Terminal::program(Path::new("/bin/sh"), &["-c", &script], columns, rows);
        screen.wait_for("ask for something");
        play(&screen);
    })
    .await
    .unwrap();
    server.requests()
}

pub(super) fn file(screen: &Terminal, name: &str) -> Option<String> {
    std::fs::read_to_string(screen.home().join("work").join(name)).ok()
}

pub(super) fn touch() -> Act {
    calling(&[("bash", json!({"command": "echo made > made.txt"}))])
}

#[tokio::test(flavor = "multi_thread")]
async fn once_lets_the_call_run_and_the_draft_survives() {
    let acts = vec![touch(), saying("Finished.")];
    let requests = play(acts, "", "", (80, 24), |screen| {
        screen.type_keys("go\r");
        screen.wait_for("Run this command?");
        screen.wait_for("waiting for you");
        assert_eq!(file(screen, "made.txt"), None, "nothing ran yet");
        screen.resize(40, 12);
        screen.wait_for("y once");
        screen.resize(20, 5);
        screen.wait_for("esc");
        screen.resize(80, 24);
        screen.wait_for("y once · n deny · a always");
        // A draft is written while it waits, and stays.
        screen.type_keys("\x1ba");
        screen.wait_for("alt+a answers");
        screen.type_keys("my draft");
        screen.wait_for_composer("my draft");
        screen.type_keys("\x1ba");
        screen.wait_for("y once");
        // A paste decides nothing.
        screen.type_keys("\x1b[200~y\x1b[201~");
        screen.wait_for("nothing pasted");
        screen.press_until("y", "Finished.");
        screen.wait_for_composer("my draft");
        assert_eq!(file(screen, "made.txt").as_deref(), Some("made\n"));
    })
    .await;
    assert_eq!(requests.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_has_a_reason_and_the_model_gets_it() {
    let acts = vec![touch(), saying("Finished.")];
    let requests = play(acts, "", "", (120, 40), |screen| {
        screen.type_keys("go\r");
        screen.wait_for("Run this command?");
        screen.press_until("n", "why not:");
        screen.type_keys("use the makefile\r");
        screen.wait_for("Finished.");
        assert_eq!(file(screen, "made.txt"), None);
    })
    .await;
    assert!(
        requests[1].contains("the user denied this call, it was not run: use the makefile"),
        "{requests:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn esc_stops_the_run() {
    let acts = vec![touch(), saying("Finished.")];
    let requests = play(acts, "", "", (80, 24), |screen| {
        screen.type_keys("go\r");
        screen.wait_for("Run this command?");
        screen.press_until("\x1b", "ask for something");
        assert_eq!(file(screen, "made.txt"), None);
    })
    .await;
    assert_eq!(requests.len(), 1, "nothing was sent after it");
}

#[tokio::test(flavor = "multi_thread")]
async fn always_adds_a_rule_and_the_next_call_is_not_asked() {
    let makes = |name: &str| calling(&[("bash", json!({ "command": format!("mkdir {name}") }))]);
    play(vec![makes("one"), makes("two"), saying("Finished.")], "", "", (80, 24), |screen| {
        screen.type_keys("go\r");
        screen.wait_for("Run this command?");
        screen.press_until("a", "rule: ");
        screen.wait_for("‹this session›");
        screen.type_keys("\x15bash(mkdir *)");
        screen.wait_for("rule: bash(mkdir *)");
        screen.wait_for("covered 1 earlier call: mkdir one");
        screen.type_keys("\r");
        screen.wait_for("Finished.");
        assert!(screen.home().join("work/two").is_dir());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_edited_before_it_runs() {
    let acts = vec![touch(), saying("Finished.")];
    let requests = play(acts, "", "", (80, 24), |screen| {
        screen.type_keys("go\r");
        screen.wait_for("Run this command?");
        screen.press_until("e", "enter runs it as it is here");
        screen.type_keys("\x17other.txt\r");
        screen.wait_for("Finished.");
        screen.wait_for("you changed the command to: echo made > other.txt");
        assert_eq!(file(screen, "made.txt"), None);
        assert_eq!(file(screen, "other.txt").as_deref(), Some("made\n"));
    })
    .await;
    assert!(requests[1].contains("other.txt"), "the model is told");
}

const LINES: &str = "seq -f 'line %g' 1 40 > a.txt";

/// Changes the second and the thirtieth line.
fn two_edits() -> Vec<Act> {
    let edits = json!([
        {"old_string": "line 2\n", "new_string": "second\n"},
        {"old_string": "line 30\n", "new_string": "thirtieth\n"}
    ]);
    let read = calling(&[("read", json!({"path": "a.txt"}))]);
    vec![read, calling(&[("edit", json!({"path": "a.txt", "edits": edits}))]), saying("Finished.")]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hunk_is_rejected_and_the_rest_applied() {
    let requests = play(two_edits(), LINES, "", (80, 24), |screen| {
        screen.type_keys("go\r");
        screen.wait_for("Make this change?");
        screen.wait_for("hunk 1 of 2");
        screen.press_until("\x1b[B", "› [x] hunk 2 of 2");
        screen.type_keys(" ");
        screen.wait_for("[ ] hunk 2 of 2 · not applied");
        screen.type_keys("y");
        screen.wait_for("Finished.");
        screen.wait_for("rejected part of this change (hunk 2 of 2)");
        assert!(!screen.text().contains("@@"), "the diff is shown once:\n{}", screen.text());
        let text = file(screen, "a.txt").unwrap();
        assert!(text.contains("second\n") && text.contains("line 30\n"), "{text}");
    })
    .await;
    assert_eq!(requests.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_edited_in_the_editor() {
    let script = "export EDITOR='sed -i s/second/edited/'; seq -f 'line %g' 1 40 > a.txt";
    play(two_edits(), script, "", (80, 24), |screen| {
        screen.type_keys("go\r");
        screen.wait_for("Make this change?");
        screen.press_until("e", "Finished.");
        let text = file(screen, "a.txt").unwrap();
        assert!(text.contains("edited\n") && text.contains("thirtieth\n"), "{text}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mode_is_switched_while_a_call_waits() {
    let acts = vec![touch(), saying("Finished.")];
    play(acts, "", "", (80, 24), |screen| {
        screen.type_keys("go\r");
        screen.wait_for("Run this command?");
        screen.wait_for(" · ask");
        screen.type_keys("\x1bm");
        screen.wait_for("Finished.");
        screen.wait_for(" · auto");
        assert_eq!(file(screen, "made.txt").as_deref(), Some("made\n"));
    })
    .await;
}

/// Both calls of an answer wait; one key decides on all calls of the tool.
#[tokio::test(flavor = "multi_thread")]
async fn all_calls_of_a_tool_are_decided_at_once() {
    let make = |name: &str| ("bash", json!({ "command": format!("mkdir {name}") }));
    let acts = vec![
        calling(&[make("one"), make("two")]),
        calling(&[make("three"), make("four")]),
        saying("Finished."),
    ];
    let requests = play(acts, "", "", (80, 24), |screen| {
        screen.type_keys("go\r");
        screen.wait_for("Y allow all 2 bash calls · N deny all 2");
        screen.press_until("Y", "mkdir three");
        let made = |name: &str| screen.home().join("work").join(name).is_dir();
        assert!(made("one") && made("two"));
        screen.wait_for("Y allow all 2 bash calls · N deny all 2");
        screen.press_until("N", "Finished.");
        assert!(!made("three") && !made("four"));
    })
    .await;
    assert_eq!(requests[2].matches("the user denied this call, it was not run").count(), 2);
}

/// When facts of a recording became known: the first frame with a prompt, keys, the end of the request.
fn recorded(path: &Path) -> (Option<i64>, Vec<i64>, bool) {
    let (mut seen, mut keys, mut ended) = (None, Vec::new(), false);
    for line in std::fs::read_to_string(path).unwrap().lines().skip(1) {
        let Ok(fact) = serde_json::from_str::<Value>(line) else { continue };
        let at = fact["at"].as_i64().unwrap_or_default();
        if fact["msg"]["laid"]["asked"].is_string() && seen.is_none() {
            seen = Some(at);
        }
        if fact["msg"]["key"].as_str() == Some("y") || fact["msg"]["key"]["code"].as_str() == Some("y") {
            keys.push(at);
        }
        ended |= fact["msg"]["agent"]["type"] == "approval_ended";
    }
    (seen, keys, ended)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_comes_with_the_prompt_does_not_answer_it() {
    let acts = vec![touch(), saying("Finished.")];
    play(acts, "", "--record ../run.jsonl", (80, 24), |screen| {
        screen.type_keys("go\r");
        screen.wait_for("Run this command?");
        screen.type_keys("y");
        let record = screen.home().join("run.jsonl");
        let end = Instant::now() + PATIENCE;
        let (seen, keys, ended) = loop {
            let (seen, keys, ended) = recorded(&record);
            if let (Some(seen), false) = (seen, keys.is_empty()) {
                break (seen, keys, ended);
            }
            assert!(
                Instant::now() < end,
                "no key in the recording:\n{}",
                std::fs::read_to_string(&record).unwrap()
            );
            std::thread::sleep(Duration::from_millis(10));
        };
        // On a busy machine the key may have come late enough.
        if keys[0] - seen < 400 {
            assert!(!ended, "a key after {} ms answered", keys[0] - seen);
            screen.wait_for("ignored: typed as the prompt appeared");
            assert_eq!(file(screen, "made.txt"), None);
            assert_eq!(screen.screen(composer).as_deref(), Some("the call above waits for you"));
        }
        screen.press_until("y", "Finished.");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_made_and_carried_out() {
    let acts = vec![saying("1. Make a file."), touch(), saying("Finished.")];
    let requests = play(acts, "export TAU_PERMISSION_MODE=plan", "", (80, 24), |screen| {
        screen.wait_for("◇ plan");
        screen.type_keys("go\r");
        screen.wait_for("accept it, and continue in ask");
        screen.press_until("\x1b[A\r", "Finished.");
        screen.wait_for(" · auto");
        assert_eq!(file(screen, "made.txt").as_deref(), Some("made\n"));
    })
    .await;
    assert!(requests[1].contains("I accept the plan. Carry it out."));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_asks_for_the_mode_and_stores_it() {
    let server = Server::start(vec![saying("Finished.")]).await;
    let url = server.url();
    tokio::task::spawn_blocking(move || {
        let script = format!(
            "unset TAU_PERMISSION_MODE; \"$TAU_BIN\" --base-url {url} --api-key x --model m; echo first is over; read line; \
                              exec \"$TAU_BIN\" --base-url {url} --api-key x --model m"
        );
        let screen = Terminal::program(Path::new("/bin/sh"), &["-c", &script], 80, 24);
        screen.wait_for("What may the model do without asking you?");
        screen.type_keys("\x1b[B\x1b[B\r");
        screen.wait_for("◇ plan");
        let config = screen.tau_home().join("config.toml");
        let end = Instant::now() + PATIENCE;
        while !std::fs::read_to_string(&config).is_ok_and(|text| text == "screen_permission_mode = \"plan\"\n")
        {
            assert!(Instant::now() < end, "not stored");
            std::thread::sleep(Duration::from_millis(10));
        }
        screen.type_keys("\x04");
        screen.wait_for("first is over");
        screen.type_keys("\n");
        screen.wait_until("the second start", |cells| {
            let text = cells.contents();
            text.contains("◇ plan") && text.contains("ask for something") && cells.alternate_screen()
        });
        assert!(!screen.text().contains("What may the model do"), "{}", screen.text());
    })
    .await
    .unwrap();
}
