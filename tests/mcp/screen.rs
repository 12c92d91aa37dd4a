//! Servers behind the screen: approval, display, and leftovers after tau has ended.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::server;
use crate::screen::Screen as Terminal;
use crate::support::program::{calls, says};
use crate::support::server::{Act, Server};
use crate::time_limit::in_time;

/// Starts tau with a server called `demo` and these acts of the model; `mode` is the permission mode. `play`
/// is the user, and gets the file in which the server logs its input.
async fn play(
    mode: &'static str,
    acts: Vec<Act>,
    play: impl FnOnce(Terminal, &Path) + Send + 'static,
) -> Vec<String> {
    let model = Server::start(acts).await;
    let url = model.url();
    tokio::task::spawn_blocking(move || {
        let folder = tempfile::tempdir().unwrap();
        let (file, log) = (folder.path().join("config.toml"), folder.path().join("log"));
        let config = server::config("demo", "usual", "") + &format!("FAKE_LOG = \"{}\"\n", log.display());
        std::fs::write(&file, config).unwrap();
        let script = format!(
            "mkdir -p \"$TAU_HOME\"; cp {} \"$TAU_HOME/config.toml\"; export TAU_PERMISSION_MODE={mode}\n\
             exec \"$TAU_BIN\" --base-url {url} --api-key x --model m",
            file.display()
        );
        let screen = Terminal::program(Path::new("/bin/sh"), &["-c", &script], 100, 30);
        screen.wait_for("ask for something");
        play(screen, &log);
    })
    .await
    .unwrap();
    model.requests()
}

/// The messages to the server, once `is_enough` holds.
fn sent(log: &Path, what: &str, is_enough: impl Fn(&[Value]) -> bool + Send + 'static) -> Vec<Value> {
    let log = log.to_owned();
    in_time(what, move || {
        loop {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            let messages: Vec<Value> =
                text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            if is_enough(&messages) {
                return messages;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    })
}

/// Waits until no process has this file in its environment.
fn wait_for_no_process(log: &Path) {
    let mark = log.display().to_string().into_bytes();
    in_time("the end of the server's processes", move || {
        let own = std::process::id().to_string();
        loop {
            let processes = std::fs::read_dir("/proc").unwrap().flatten();
            let holds = |process: std::fs::DirEntry| {
                let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
                *process.file_name() != *own && environment.windows(mark.len()).any(|part| part == mark)
            };
            if !processes.into_iter().any(holds) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_asked_with_its_arguments_and_its_result_is_shown() {
    let acts = vec![calls("mcp__demo__echo", &json!({"text": "to be seen"})), says("Finished.")];
    let requests = play("ask", acts, |screen, _| {
        screen.type_keys("go\r");
        screen.wait_for("1 Yes, once");
        let asked = screen.text();
        assert!(asked.contains("mcp__demo__echo") && asked.contains("to be seen"), "{asked}");
        // Keys typed at once do not count.
        std::thread::sleep(Duration::from_millis(450));
        screen.type_keys("y");
        screen.wait_for("Finished.");
        screen.wait_for("usual said: to be seen");
    })
    .await;
    assert_eq!(requests.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_shown_and_escape_cancels_the_call() {
    let acts = vec![calls("mcp__demo__steps", &json!({"text": "and wait"}))];
    play("auto", acts, |screen, log| {
        screen.type_keys("go\r");
        screen.wait_for("75 % (3 of 4): step 3");
        screen.type_keys("\x1b");
        let cancelled = |message: &Value| message["method"] == "notifications/cancelled";
        let messages = sent(log, "the cancellation", move |messages| messages.iter().any(cancelled));
        let call = messages.iter().find(|message| message["method"] == "tools/call").unwrap();
        let notice = messages.iter().find(|message| cancelled(message)).unwrap();
        assert_eq!(notice["params"]["requestId"], call["id"]);
        screen.wait_for("stopped after");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_process_of_a_server_outlives_tau() {
    play("auto", Vec::new(), |screen, log| {
        sent(log, "the start", |messages| messages.iter().any(|message| message["method"] == "tools/list"));
        screen.type_keys("\x04");
        wait_for_no_process(log);
    })
    .await;
    play("auto", Vec::new(), |screen, log| {
        sent(log, "the start", |messages| messages.iter().any(|message| message["method"] == "tools/list"));
        screen.signal(rustix::process::Signal::KILL);
        wait_for_no_process(log);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_are_listed_and_turned_off() {
    play("auto", vec![says("Finished.")], |screen, log| {
        sent(log, "the start", |messages| messages.iter().any(|message| message["method"] == "tools/list"));
        screen.type_keys("/extensions\r");
        screen.wait_for("MCP servers");
        screen.wait_for("12 tools · fake");
        screen.type_keys(" ");
        screen.wait_for("mcp:demo is off");
        screen.wait_for("off     demo");
        wait_for_no_process(log);
        screen.type_keys(" ");
        screen.wait_for("mcp:demo is on");
        let starts =
            |messages: &[Value]| messages.iter().filter(|message| message["method"] == "tools/list").count();
        sent(log, "the second start", move |messages| starts(messages) == 2);
    })
    .await;
}
