//! Sandbox denials in a real terminal: the panel, the prompt's choices, and settings that change meanwhile.

use std::path::Path;

use serde_json::json;

use super::terminal::{calling, play, saying};
use crate::sandbox::{Place, has_landlock};
use crate::screen::Screen as Terminal;

const AUTO: &str = "export TAU_PERMISSION_MODE=auto TAU_SANDBOX=workspace-write";

/// The text without line breaks.
fn joined(screen: &Terminal) -> String {
    screen.text().split_whitespace().map(|word| word.trim_matches(['│', '┃', '└'])).collect()
}

/// Plays a session whose command writes a file outside of the workspace, up to the question whether to run
/// it again; `then` continues from there.
async fn blocked(then: impl FnOnce(&Terminal, &Path) + Send + 'static) {
    needs!(has_landlock());
    let place = Place::new();
    let target = place.outside.join("made");
    let command = format!("echo x > {}", target.display());
    let acts = vec![calling(&[("bash", json!({ "command": command }))]), saying("Finished.")];
    play(acts, AUTO, "", (120, 40), move |screen| {
        screen.type_keys("go\r");
        screen.wait_for("the sandbox blocks writing");
        screen.wait_for("Run it again without the sandbox?");
        screen.wait_for("1 Yes, again without the sandbox (y)");
        screen.wait_for("2 Always: add the path (a)");
        then(screen, &target);
        drop(place);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panel_says_what_the_sandbox_blocked_and_by_which_rule() {
    blocked(|screen, target| {
        screen.press_until("n", "why not:");
        screen.type_keys("\r");
        screen.wait_for("Finished.");
        screen.wait_for("the sandbox probably blocked writing");
        let named = format!("thesandboxprobablyblockedwriting{}:itisoutsidetheworkspace", target.display());
        assert!(joined(screen).contains(&named), "{}", screen.text());
        assert!(!target.exists());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_again_without_the_sandbox() {
    blocked(|screen, target| {
        assert!(!target.exists());
        screen.press_until("y", "Finished.");
        screen.wait_for("run a second time, because the sandbox had refused a part of it");
        assert_eq!(std::fs::read_to_string(target).unwrap(), "x\n");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_is_added_once_from_the_prompt() {
    blocked(|screen, target| {
        screen.press_until("a", "rule: sandbox_writable(");
        screen.wait_for("‹this time›");
        screen.wait_for("this call can change everything in it");
        screen.type_keys("\r");
        screen.wait_for("Finished.");
        assert_eq!(std::fs::read_to_string(target).unwrap(), "x\n");
        assert!(!screen.tau_home().join("config.toml").exists());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_is_added_everywhere_from_the_prompt() {
    blocked(|screen, target| {
        screen.press_until("a", "rule: sandbox_writable(");
        screen.type_keys("\t\t");
        screen.wait_for("‹everywhere›");
        screen.type_keys("\r");
        screen.wait_for("Finished.");
        assert_eq!(std::fs::read_to_string(target).unwrap(), "x\n");
        let config = std::fs::read_to_string(screen.tau_home().join("config.toml")).unwrap();
        assert_eq!(config, format!("[sandbox]\nwritable = [{:?}]\n", target.parent().unwrap()));
    })
    .await;
}

const USER_COMMANDS: &str = "mkdir -p $TAU_HOME; \
    printf 'sandbox.level = \"workspace-write\"\\nsandbox.user_commands = true\\n' > $TAU_HOME/config.toml; \
    \"$TAU_BIN\" --model demo; echo again in a moment; read go";

#[test]
fn a_command_of_the_user_says_what_was_blocked_and_runs_without_the_sandbox_on_a_key() {
    needs!(has_landlock());
    let place = Place::new();
    let target = place.outside.join("made");
    let screen = Terminal::prepared(USER_COMMANDS, "--model demo --continue", 120, 40);
    screen.type_keys(&format!("!echo x > {}\r", target.display()));
    screen.wait_for("the sandbox probably blocked writing");
    let named = format!("thesandboxprobablyblockedwriting{}:itisoutsidetheworkspace", target.display());
    assert!(joined(&screen).contains(&named), "{}", screen.text());
    screen.wait_for("alt+o, then s runs it again without the sandbox");
    screen.type_keys("\x1bo");
    screen.wait_for("s without the sandbox");
    assert!(!target.exists());
    screen.type_keys("s");
    screen.wait_for("· without the sandbox");
    screen.wait_until("the file", |_| target.exists());
    screen.type_keys("\x1bo");
    screen.wait_for("esc leaves");
    screen.type_keys("s");
    screen.wait_for("the sandbox has not blocked a `!` command here");
    screen.type_keys("\t");
    screen.type_keys("hello\r");
    screen.wait_until("the end of the run", |cells| cells.contents().contains("ask for something"));
    // The denial is in the session.
    screen.type_keys("\x04");
    screen.wait_for("again in a moment");
    screen.type_keys("\r");
    screen.wait_for("the sandbox probably blocked writing");
    assert!(joined(&screen).contains(&named), "{}", screen.text());
}

#[test]
fn a_sandbox_that_is_set_while_tau_runs_holds_for_commands_too() {
    needs!(has_landlock());
    let place = Place::new();
    let screen = Terminal::prepared("unset TAU_PERMISSION_MODE; mkdir -p $TAU_HOME", "--model demo", 120, 40);
    let run = |name: &str, ends: &str| {
        let command = format!("!echo x > {}/{name}; echo {name} ends $?", place.outside.display());
        screen.type_keys(&format!("{command}\r"));
        screen.wait_for(&format!("{name} ends {ends}"));
        place.outside.join(name).exists()
    };
    assert!(run("one", "0"), "without a sandbox");
    let config = "[sandbox]\nlevel = \"workspace-write\"\n";
    screen.reload(config, "now in effect: sandbox.level workspace-write");
    screen.wait_until("the status line", |cells| {
        cells
            .contents()
            .lines()
            .last()
            .is_some_and(|line| line.ends_with("sandbox") || line.contains("sandbox "))
    });
    assert!(run("two", "0"), "it does not hold for the user's commands");
    screen.reload(&format!("{config}user_commands = true\n"), "now in effect: sandbox.user_commands true");
    assert!(!run("three", "1"), "it holds for them");
    let writable = format!("{config}user_commands = true\nwritable = [{:?}]\n", place.outside);
    screen.reload(&writable, "now in effect: sandbox.writable");
    assert!(run("four", "0"), "a path was added");
}
