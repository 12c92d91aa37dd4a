//! Prompts in a real terminal, with a loopback server whose model calls tools.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::screen::{SEEN, Screen as Terminal, TIMEOUT};
use crate::support::program::body;
pub(crate) use crate::support::program::{calling, says as saying};
use crate::support::server::{Act, Server};

/// Plays a session in ask mode: the script creates files, the acts are the model's, `play` is the user.
pub(crate) async fn play(
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

/// Plays a session whose first call asks this question.
async fn asked(
    acts: Vec<Act>,
    script: &'static str,
    question: &'static str,
    user: impl FnOnce(&Terminal) + Send + 'static,
) -> Vec<String> {
    play(acts, script, "", (80, 24), move |screen| {
        screen.type_keys("go\r");
        screen.wait_for(question);
        user(screen);
    })
    .await
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
    let requests = asked(acts, "", "Run this command?", |screen| {
        assert_eq!(file(screen, "made.txt"), None, "nothing ran yet");
        screen.resize(40, 12);
        screen.wait_for("1 Yes, once");
        screen.resize(20, 5);
        screen.wait_for("› y");
        screen.resize(80, 24);
        screen.wait_for("1 Yes, once");
        // A draft is written while it waits, and is kept.
        screen.type_keys("\x1ba");
        screen.wait_for("alt+a answers");
        screen.type_keys("my draft");
        screen.wait_for_composer("my draft");
        screen.type_keys("\x1ba");
        screen.wait_for("1 Yes, once");
        // A paste decides nothing.
        screen.wait_for("› 1 Yes, once");
        screen.type_keys("\x1b[200~, pasted\x1b[201~");
        screen.wait_for_composer("my draft, pasted");
        // Nor does Enter, however long one thinks: it was to send what was typed.
        std::thread::sleep(Duration::from_millis(900));
        screen.type_keys("\r");
        screen.wait_for("enter again takes the selected row");
        assert_eq!(file(screen, "made.txt"), None, "it ran");
        screen.press_until("y", "Finished.");
        screen.wait_for_composer("my draft, pasted");
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
    let requests = asked(acts, "", "Run this command?", |screen| {
        screen.press_until("\x1b", "ask for something");
        screen.wait_for("not run: you stopped");
        assert_eq!(file(screen, "made.txt"), None);
    })
    .await;
    assert_eq!(requests.len(), 1, "nothing was sent after it");
    // So it does from the draft.
    asked(vec![touch(), saying("Finished.")], "", "Run this command?", |screen| {
        screen.type_keys("\x1ba");
        screen.wait_for("alt+a answers");
        screen.press_until("\x1b", "not run: you stopped");
        assert!(!screen.text().contains('✗'), "{}", screen.text());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn always_adds_a_rule_and_the_next_call_is_not_asked() {
    let makes = |name: &str| calling(&[("bash", json!({ "command": format!("mkdir {name}") }))]);
    asked(vec![makes("one"), makes("two"), saying("Finished.")], "", "Run this command?", |screen| {
        screen.press_until("a", "Type a rule…");
        screen.type_keys("3");
        screen.wait_for("rule: ");
        screen.wait_for("‹this session›");
        screen.type_keys("\x15bash(mkdir *)");
        screen.wait_for("rule: bash(mkdir *)");
        // The call that waits is not an earlier one.
        screen.wait_for("covered no earlier call");
        screen.type_keys("\r");
        screen.wait_for("Finished.");
        assert!(screen.home().join("work/two").is_dir());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_edited_before_it_runs() {
    let acts = vec![touch(), saying("Finished.")];
    let requests = asked(acts, "", "Run this command?", |screen| {
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
    let requests = asked(two_edits(), LINES, "Make this change?", |screen| {
        screen.wait_for("hunk 1 of 2");
        screen.press_until("\t", "● [x] hunk 2 of 2");
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
async fn going_back_in_a_question_does_not_switch_the_mode() {
    let requests = asked(two_edits(), LINES, "Make this change?", |screen| {
        screen.wait_for("hunk 1 of 2");
        screen.press_until("\t", "● [x] hunk 2 of 2");
        screen.type_keys(" ");
        screen.wait_for("[ ] hunk 2 of 2 · not applied");
        screen.type_keys("\x1b[Z");
        screen.wait_for("● [x] hunk 1 of 2");
        // Another mode would apply the whole change.
        screen.type_keys("\x1bm");
        screen.wait_for("answer this change first: you left out some of its hunks");
        screen.type_keys("a");
        screen.wait_for("in this session");
        screen.type_keys("\t\x1b[Z\x1b");
        screen.wait_for("Make this change?");
        screen.wait_for("hunk 1 of 2");
        screen.wait_for(" · ask");
        screen.type_keys("y");
        screen.wait_for("Finished.");
        let text = file(screen, "a.txt").unwrap();
        assert!(text.contains("second\n") && text.contains("line 30\n"), "{text}");
    })
    .await;
    assert_eq!(requests.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_edited_in_the_editor() {
    let script = "export EDITOR='sed -i s/second/edited/'; seq -f 'line %g' 1 40 > a.txt";
    asked(two_edits(), script, "Make this change?", |screen| {
        screen.press_until("e", "Finished.");
        let text = file(screen, "a.txt").unwrap();
        assert!(text.contains("edited\n") && text.contains("thirtieth\n"), "{text}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mode_is_switched_while_a_call_waits() {
    let acts = vec![touch(), saying("Finished.")];
    asked(acts, "", "Run this command?", |screen| {
        screen.wait_for(" · ask");
        for mode in [" · edits", "◇ plan"] {
            screen.type_keys("\x1b[Z");
            screen.wait_for(mode);
        }
        screen.wait_for("Finished.");
        assert_eq!(file(screen, "made.txt"), None);
    })
    .await;
}

/// What waits is neither run by the modes on the way nor denied by them.
#[tokio::test(flavor = "multi_thread")]
async fn a_mode_on_the_way_to_another_decides_nothing() {
    let acts = vec![touch(), saying("Finished."), touch(), saying("Finished again.")];
    let requests = play(acts, "", "", (80, 24), |screen| {
        screen.type_keys("go\r");
        screen.wait_for("Run this command?");
        // All four in one read: past plan to auto, and on to ask, where it still waits.
        screen.type_keys("\x1b[Z\x1b[Z\x1b[Z\x1b[Z");
        screen.wait_for("ask: ");
        screen.type_keys("\x1b[Z\x1b[Z\x1b[Z");
        screen.wait_for(" · auto");
        screen.wait_for("Finished.");
        assert!(file(screen, "made.txt").is_some());
    })
    .await;
    assert!(!requests[1].contains("plan mode"), "{}", requests[1]);
}

/// Both calls of an answer wait; one key decides all calls of the tool.
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
        screen.wait_for("5 Yes to all 2 bash calls (Y)");
        screen.press_until("Y", "mkdir three");
        let made = |name: &str| screen.home().join("work").join(name).is_dir();
        assert!(made("one") && made("two"));
        screen.wait_for("5 Yes to all 2 bash calls (Y)");
        screen.press_until("N", "Finished.");
        assert!(!made("three") && !made("four"));
    })
    .await;
    assert_eq!(requests[2].matches("the user denied this call, it was not run").count(), 2);
}

/// The times of facts in a recording: the first frame with a prompt, the keys, the end of the request.
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
        let end = Instant::now() + TIMEOUT;
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
            screen.wait_for_composer("y");
            assert_eq!(file(screen, "made.txt"), None);
        }
        screen.press_until("y", "Finished.");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_made_and_carried_out() {
    let plan = json!({"plan": "Why not.\n\n1. Make a file.\n2. Look at it."});
    let acts = vec![
        calling(&[("submit_plan", plan)]),
        calling(&[("bash", json!({"command": "echo made > made.txt"})), ("plan_step", json!({"done": [1]}))]),
        calling(&[("bash", json!({"command": "sleep 1; cat made.txt"}))]),
        calling(&[("plan_step", json!({"done": 2}))]),
        saying("Finished."),
        saying("And now?"),
    ];
    let requests = play(acts, "export TAU_PERMISSION_MODE=plan", "", (80, 24), |screen| {
        screen.wait_for("◇ plan");
        screen.type_keys("go\r");
        screen.wait_for("accept it and continue in ask");
        screen.press_until("1", "Plan 1 of 2");
        screen.wait_for("✓  1. Make a file.");
        screen.wait_for("›  2. Look at it.");
        screen.wait_for("Finished.");
        screen.wait_for(" · auto");
        assert_eq!(file(screen, "made.txt").as_deref(), Some("made\n"));
        screen.type_keys("again\r");
        screen.wait_for("And now?");
    })
    .await;
    let tools = |request: &String| -> Vec<String> {
        let body = body(request);
        let tools = body["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let offered =
        |name: &str| requests.iter().map(|it| tools(it).contains(&name.to_owned())).collect::<Vec<_>>();
    assert_eq!(offered("submit_plan"), [true, false, false, false, false, false]);
    assert_eq!(offered("grep"), [true, false, false, false, false, false], "auto runs commands unasked");
    assert_eq!(offered("plan_step"), [false, true, true, true, true, false]);
    assert!(requests[1].contains("The user accepted the plan. Carry it out."));
    assert!(requests[2].contains("1 of 2 done; next: 2. Look at it."), "{}", requests[2]);
    assert!(requests[4].contains("all 2 steps are done"));
}

/// The default choice is to continue in the previous mode.
#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_plan_continues_in_the_mode_of_before() {
    let cases = [
        ("auto", "export TAU_PERMISSION_MODE=auto", "› 1. accept it"),
        ("edits", "export TAU_PERMISSION_MODE=edits", "› 2. accept it"),
        ("ask", "export TAU_PERMISSION_MODE=plan", "› 3. accept it"),
    ];
    for (mode, script, marked) in cases {
        let plan = json!({"plan": "1. Make a file."});
        let acts = vec![calling(&[("submit_plan", plan)]), saying("Finished.")];
        play(acts, script, "", (80, 24), move |screen| {
            if mode != "ask" {
                screen.type_keys("/mode plan");
                screen.wait_for_composer("/mode plan");
                screen.type_keys("\r");
            }
            screen.wait_for("◇ plan");
            screen.type_keys("go\r");
            screen.wait_for(marked);
            screen.press_until("\r", "Finished.");
            screen.wait_for(&format!(" · {mode}"));
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_asks_for_the_mode_and_stores_it() {
    let server = Server::start(vec![saying("Finished.")]).await;
    let url = server.url();
    let script = format!(
        "unset TAU_PERMISSION_MODE; \"$TAU_BIN\" --base-url {url} --api-key x --model m; echo first is over; read line; \
                          exec \"$TAU_BIN\" --base-url {url} --api-key x --model m"
    );
    let screen = Terminal::program(Path::new("/bin/sh"), &["-c", &script], 80, 24);
    screen.wait_for("What may the model do without asking you?");
    std::thread::sleep(SEEN);
    screen.type_keys("\x1b[B\x1b[B\r");
    screen.wait_for(" · edits");
    let find = |folder: &Path| std::fs::read_to_string(folder.join("permission-mode.json")).ok();
    let state = screen.tau_home().join("logs");
    crate::time_limit::until(
        TIMEOUT,
        || find(&state).is_some_and(|text| text == "{\"mode\":\"edits\"}"),
        || "not kept".to_owned(),
    );
    assert!(!screen.tau_home().join("config.toml").exists(), "it is no setting");
    screen.type_keys("\x04");
    screen.wait_for("first is over");
    screen.type_keys("\n");
    screen.wait_until("the second start", |cells| {
        let text = cells.contents();
        text.contains(" · edits") && text.contains("ask for something") && cells.alternate_screen()
    });
    assert!(!screen.text().contains("What may the model do"), "{}", screen.text());
}

/// Files of the workspace change without approval; commands and other files need it.
#[tokio::test(flavor = "multi_thread")]
async fn edits_change_files_of_the_workspace_without_a_question() {
    let write = |path: &str| ("write", json!({"path": path, "content": "one\n"}));
    let acts = vec![
        calling(&[write("a.txt"), write("deep/b.txt")]),
        calling(&[("edit", json!({"path": "a.txt", "old_string": "one", "new_string": "two"}))]),
        calling(&[write("../outside.txt")]),
        calling(&[write(".git/config")]),
        touch(),
        saying("Finished."),
    ];
    play(acts, "export TAU_PERMISSION_MODE=edits", "", (80, 24), |screen| {
        screen.wait_for(" · edits");
        screen.type_keys("go\r");
        for asked in ["changes ../outside.txt", ".git/config is protected", "it writes made.txt"] {
            screen.wait_for(asked);
            screen.press_until("n", "why not:");
            screen.type_keys("\r");
        }
        screen.wait_for("Finished.");
        assert_eq!(file(screen, "a.txt").as_deref(), Some("two\n"));
        assert_eq!(file(screen, "deep/b.txt").as_deref(), Some("one\n"));
        assert_eq!((file(screen, "made.txt"), file(screen, "../outside.txt")), (None, None));
    })
    .await;
}

/// Irreversible commands need approval even in auto, with a description of the loss.
#[tokio::test(flavor = "multi_thread")]
async fn what_would_be_lost_is_on_the_screen() {
    let acts = vec![calling(&[("bash", json!({"command": "rm -rf ~/"}))]), saying("Finished.")];
    let requests = play(acts, "export TAU_PERMISSION_MODE=auto; touch ~/kept", "", (100, 24), |screen| {
        screen.type_keys("go\r");
        screen.wait_for("Run this command?");
        screen.wait_for("it removes your home directory");
        screen.wait_for("with everything in it");
        screen.wait_for("1 Yes, once");
        screen.press_until("n", "why not:");
        screen.type_keys("\r");
        screen.wait_for("Finished.");
        assert!(screen.home().join("kept").exists());
    })
    .await;
    assert!(requests.last().unwrap().contains("the user denied this call"), "{requests:?}");
}
