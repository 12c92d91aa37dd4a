//! The keys of a selected panel, pressed in a terminal.

use tau::app::action::Action;

use super::{FAST, numbers, sent_for, wait_for_both};
use crate::screen::Screen;

/// An editor that keeps its input for inspection.
const EDITOR: &str = r#"printf '#!/bin/sh\necho "$@" >args; cat "$1" >shown; echo edits; sleep 0.1\n' >ed; chmod +x ed; export EDITOR=./ed"#;

/// Presses the key of an action on a selected panel.
pub fn check(action: Action, key: &str) {
    let screen = Screen::prepared(&format!("{FAST}\n{EDITOR}"), "", 80, 40);
    screen.type_keys("code\r");
    screen.wait_for("for file in");
    screen.wait_until("the end of the run", |cells| cells.contents().contains("ask for something"));
    screen.type_keys("!seq 70\r");
    screen.wait_until("the last lines", |cells| numbers(cells).last() == Some(&70));
    screen.wait_for("hidden lines");
    let first = "enter expands · c copies · y its command · e opens · esc leaves";
    if action != Action::SelectPanel {
        screen.type_keys(&sent_for("alt+o"));
        screen.wait_for(first);
    }
    if action == Action::PanelReveal {
        return reveals(&screen, key);
    }
    screen.type_keys(key);
    let copied = |text: &str, count: &str| {
        screen.wait_for(&format!("copied {count}"));
        assert_eq!(screen.copied().last().map(String::as_str), Some(text));
    };
    let all = (1..=70).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    match action {
        Action::SelectPanel => screen.wait_for(first),
        Action::PanelUp => {
            // A code block has no command.
            wait_for_both(&screen, "c copies · e opens", "its command");
            screen.wait_for("┃ ╭─ sh");
            screen.type_keys(&sent_for("down"));
            screen.wait_for(first);
        }
        Action::PanelDown => {
            screen.wait_until("the composer", |cells| !cells.contents().contains("esc leaves"));
            screen.type_keys("text");
            screen.wait_for_composer("text");
        }
        Action::PanelFold => {
            screen.wait_until("the first lines", |cells| cells.contents().contains("┃ 2"));
            screen.wait_for("enter collapses");
            screen.type_keys(key);
            screen.wait_for(first);
        }
        Action::PanelCopy => copied(&all, "70 lines"),
        Action::PanelCopyCommand => copied("seq 70", "1 line"),
        Action::PanelOpen => {
            screen.wait_for("edits");
            screen.wait_for(first);
            let work = screen.home().join("work");
            assert_eq!(std::fs::read_to_string(work.join("shown")).unwrap(), all);
            assert!(std::fs::read_to_string(work.join("args")).unwrap().ends_with(".txt\n"));
            // A tool call on a file opens that file.
            screen.type_keys("\x1b");
            screen.wait_until("the composer", |cells| !cells.contents().contains("esc leaves"));
            screen.type_keys("read ed\r");
            screen.wait_for("read  ed");
            screen.wait_until("the end of the run", |cells| cells.contents().contains("ask for something"));
            screen.type_keys(&sent_for("alt+o"));
            screen.type_keys(&sent_for("up"));
            screen.wait_for("its command");
            screen.type_keys(key);
            let opened = format!("{}\n", work.join("ed").display());
            screen.wait_until("the file", |_| std::fs::read_to_string(work.join("args")).unwrap() == opened);
        }
        // Blocked commands run again in `approvals::sandboxed`.
        Action::PanelRerun => screen.wait_for("the sandbox has not blocked a `!` command here"),
        Action::PanelLeave => {
            screen.wait_until("the composer", |cells| !cells.contents().contains("esc leaves"));
            screen.type_keys("text");
            screen.wait_for_composer("text");
        }
        other => panic!("{other:?}"),
    }
}

/// Without secrets it says so; otherwise it shows their values, and hides them again.
fn reveals(screen: &Screen, key: &str) {
    screen.type_keys(key);
    screen.wait_for("no secrets in it are hidden");
    // Not Esc, which turns the next character into another key.
    screen.type_keys("\t");
    // The command has only the parts of the value, so that it appears nowhere else.
    let value = "zq81-Kk2m-44xx";
    screen.type_keys("!printf 'API_TOKEN=%s-44xx\\n' zq81-Kk2m\r");
    screen.wait_for("API_TOKEN=[secret 1-");
    screen.wait_for("1 secret hidden");
    assert!(!screen.text().contains(value));
    screen.type_keys(&sent_for("alt+o"));
    screen.wait_for("r secrets");
    screen.type_keys(key);
    screen.wait_for(&format!("token: {value}"));
    screen.type_keys(key);
    screen.wait_for("1 secret hidden");
    assert!(!screen.text().contains(value));
}

/// An editor that cannot be used is named with its variable, and the draft stays.
#[test]
fn an_editor_that_cannot_be_used_is_named_and_the_draft_stays() {
    for (set, says) in [
        ("VISUAL='nope --wait' EDITOR=true", "$VISUAL is `nope --wait`, which was not found"),
        ("VISUAL=' ' EDITOR=./nope", "$EDITOR is `./nope`, which was not found"),
        ("EDITOR=./notes.txt", "$EDITOR is `./notes.txt`, which cannot be run"),
        ("EDITOR='rm'", "cannot read what the editor saved: it does not exist"),
        ("EDITOR=false", "false failed"),
        ("EDITOR=", "no editor is set; set VISUAL or EDITOR"),
    ] {
        let script = format!("{FAST}\nunset VISUAL EDITOR\n{set}; export VISUAL EDITOR; touch notes.txt");
        let screen = Screen::prepared(&script, "", 120, 30);
        screen.type_keys("a draft");
        screen.wait_for_composer("a draft");
        screen.type_keys("\x07");
        screen.wait_for(says);
        screen.wait_for_composer("a draft");
    }
}
