//! What the sandbox refuses, in a real terminal: what the panel says, what the prompt saves, and settings
//! that change while tau runs.

use serde_json::json;

use super::terminal::{calling, play, press, saying};
use crate::sandbox::{Place, has_landlock};
use crate::screen::Screen as Terminal;

const AUTO: &str = "export TAU_PERMISSION_MODE=auto TAU_SANDBOX=workspace-write";

/// Without the breaks of lines.
fn joined(screen: &Terminal) -> String {
    screen.text().split_whitespace().map(|word| word.trim_matches(['│', '┃', '└'])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panel_says_what_the_sandbox_blocked_and_by_which_rule() {
    if !has_landlock() {
        return;
    }
    let place = Place::new();
    let target = place.outside.join("made");
    let command = format!("echo x > {}", target.display());
    let acts = vec![calling(&[("bash", json!({ "command": command }))]), saying("Finished.")];
    let named = format!("thesandboxprobablyblockedwriting{}:itisoutsidetheworkspace", target.display());
    play(acts, AUTO, "", (120, 40), move |screen| {
        screen.type_keys("go\r");
        screen.wait_for("the sandbox blocks writing");
        press(screen, "n", "why not:");
        screen.type_keys("\r");
        screen.wait_for("Finished.");
        screen.wait_for("the sandbox probably blocked writing");
        assert!(joined(screen).contains(&named), "{}", screen.text());
        assert!(!target.exists());
        drop(place);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_is_added_everywhere_from_the_prompt() {
    if !has_landlock() {
        return;
    }
    let place = Place::new();
    let target = place.outside.join("made");
    let command = format!("echo x > {}", target.display());
    let acts = vec![calling(&[("bash", json!({ "command": command }))]), saying("Finished.")];
    play(acts, AUTO, "", (120, 40), move |screen| {
        screen.type_keys("go\r");
        screen.wait_for("the sandbox blocks writing");
        press(screen, "a", "rule: sandbox_writable(");
        screen.type_keys("\t\t");
        screen.wait_for("‹everywhere›");
        screen.type_keys("\r");
        screen.wait_for("Finished.");
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "x\n");
        let config = std::fs::read_to_string(screen.tau_home().join("config.toml")).unwrap();
        assert_eq!(config, format!("sandbox_writable = [{:?}]\n", place.outside));
    })
    .await;
}

#[test]
fn a_sandbox_that_is_set_while_tau_runs_holds_for_commands_too() {
    if !has_landlock() {
        return;
    }
    let place = Place::new();
    let screen = Terminal::prepared("unset TAU_PERMISSION_MODE; mkdir -p $TAU_HOME", "--model demo", 120, 40);
    let reload = |config: &str, says: &str| {
        std::fs::write(screen.tau_home().join("config.toml"), config).unwrap();
        screen.type_keys("/reload");
        screen.wait_for_composer("/reload");
        screen.type_keys("\r");
        screen.wait_for(says);
    };
    let run = |name: &str, ends: &str| {
        let command = format!("!echo x > {}/{name}; echo {name} ends $?", place.outside.display());
        screen.type_keys(&format!("{command}\r"));
        screen.wait_for(&format!("{name} ends {ends}"));
        place.outside.join(name).exists()
    };
    assert!(run("one", "0"), "without a sandbox");
    let config = "sandbox = \"workspace-write\"\n";
    reload(config, "now in effect: sandbox workspace-write");
    screen.wait_until("the status line", |cells| {
        cells.contents().lines().last().is_some_and(|line| line.contains("workspace-write"))
    });
    assert!(run("two", "0"), "it does not hold for the user's commands");
    reload(&format!("{config}sandbox_user_commands = true\n"), "now in effect: sandbox_user_commands true");
    assert!(!run("three", "1"), "it holds for them");
    let writable =
        format!("{config}sandbox_user_commands = true\nsandbox_writable = [{:?}]\n", place.outside);
    reload(&writable, "now in effect: sandbox_writable");
    assert!(run("four", "0"), "a path was added");
}
