//! Custom tools on the screen: approval, display, and the effect of Esc.

use serde_json::json;

use crate::screen::{Screen, TIMEOUT};
use crate::support::program::{calls, says};
use crate::support::server::Server;
use crate::time_limit::InTime;

/// A screen with a tool that creates a file, in ask mode.
fn on_screen(url: &str, tool: &str) -> Screen {
    let script = format!("mkdir -p $TAU_HOME/tools; cat >$TAU_HOME/tools/make.toml <<'END'\n{tool}\nEND\n");
    Screen::prepared(
        &script,
        &format!("--base-url {url} --api-key x --model m --permission-mode ask"),
        100,
        30,
    )
}

const MAKES: &str = "description = 'Makes a file'\ncommand = ['touch', '--', '{name}']\ntitle = 'the file {name}'\n\
                     [arguments.name]";

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_asked_with_its_command() {
    let server = Server::start(vec![calls("make", &json!({"name": "it's"})), says("all done")]).await;
    let url = server.url();
    let work = tokio::task::spawn_blocking(move || {
        let screen = on_screen(&url, MAKES);
        screen.type_keys("go\r");
        screen.wait_for("Run this command?");
        let shown = screen.text();
        for words in ["make  the file it's", r"touch -- 'it'\''s'", "make may change something", "2 Always"] {
            assert!(shown.contains(words), "no {words:?}:\n{shown}");
        }
        assert!(!shown.contains("e edit"), "its command is made from its arguments:\n{shown}");
        assert!(!screen.home().join("work/it's").exists());
        screen.press_until("y", "all done");
        assert!(screen.home().join("work/it's").exists());
    });
    work.in_time("the screen").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn escape_ends_a_tool_with_all_that_it_started() {
    let hangs = "description = 'Hangs'\nshell = true\n\
                 command = 'sleep 1000 & echo $! > child.new; mv child.new child; echo started; wait'\n\
                 [access]\nreads = []";
    let server = Server::start(vec![calls("make", &json!({})), says("never")]).await;
    let url = server.url();
    let work = tokio::task::spawn_blocking(move || {
        let screen = on_screen(&url, hangs);
        screen.type_keys("go\r");
        screen.wait_for("started");
        let child = std::fs::read_to_string(screen.home().join("work/child")).unwrap();
        let status = format!("/proc/{}/stat", child.trim());
        let runs = || std::fs::read_to_string(&status).is_ok_and(|text| !text.contains(") Z "));
        assert!(runs());
        screen.type_keys("\x1b");
        screen.wait_for("stopped after");
        crate::time_limit::until(TIMEOUT, || !runs(), || "it still runs".to_owned());
    });
    work.in_time("the screen").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_is_listed_and_a_repaired_file_is_used_after_a_reload() {
    let server = Server::start(vec![calls("make", &json!({"name": "made"})), says("all done")]).await;
    let url = server.url();
    let work = tokio::task::spawn_blocking(move || {
        let screen = on_screen(&url, "description = 'Makes a file'\ncomand = ['true']");
        screen.type_keys("/extensions\r");
        screen.wait_for("Custom tools");
        screen.type_keys("\x1b[F");
        screen.wait_for("line 2: unknown name `comand`");
        screen.type_keys("\x1b");
        screen.wait_until("the list closed", |cells| !cells.contents().contains("Custom tools"));
        std::fs::write(screen.home().join("tau/tools/make.toml"), MAKES).unwrap();
        screen.type_keys("/reload\r");
        screen.wait_for("custom tools");
        screen.type_keys("go\r");
        screen.press_until("y", "all done");
        assert!(screen.home().join("work/made").exists());
    });
    work.in_time("the screen").await.unwrap();
}
