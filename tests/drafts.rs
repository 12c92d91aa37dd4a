//! What is written and not sent outlives what happens to it: an editor that takes signals, the end of the program.

use std::path::Path;

use crate::screen::Screen;

/// A shell with job control that runs this script.
fn shell(script: &str) -> Screen {
    Screen::program(Path::new("/bin/bash"), &["-c", &format!("export TAU_MODEL=demo\n{script}")], 80, 24)
}

#[test]
fn an_editor_has_ctrl_c_and_ctrl_z_for_itself() {
    let script = "export EDITOR=./ed
printf '#!/bin/bash\\ntrap \"echo caught it\" INT\\necho in the editor\\nread line\\necho edited >$1\\n' > ed; chmod +x ed
set -m; \"$TAU_BIN\"; echo it is stopped; read answer; fg; echo \"exit=$?\"; cat";
    let screen = shell(script);
    screen.wait_for("ask for something");
    screen.type_keys("draft");
    screen.wait_for_composer("draft");
    screen.type_keys("\x07");
    screen.wait_for("in the editor");
    screen.type_keys("\x03");
    screen.wait_for("caught it");
    screen.type_keys("\x1a");
    screen.wait_for("it is stopped");
    screen.type_keys("\r");
    screen.wait_for("\"$TAU_BIN\"");
    screen.type_keys("\r");
    screen.wait_for_composer("edited");
}

#[test]
fn drafts_outlive_the_program_as_prompts_of_its_history() {
    let script = "\"$TAU_BIN\"; echo it has ended; read answer; exec \"$TAU_BIN\"";
    let screen = shell(script);
    screen.wait_for("ask for something");
    screen.type_keys("set aside");
    screen.wait_for_composer("set aside");
    screen.type_keys("\x13");
    screen.wait_for("ask for something");
    screen.type_keys("\x04");
    screen.wait_for("it has ended");
    let kept = std::fs::read_to_string(screen.tau_home().join("prompts.jsonl")).unwrap_or_default();
    assert!(kept.contains("set aside"), "{kept}");
    screen.type_keys("\r");
    screen.wait_for("ask for something");
    screen.type_keys("\x12");
    screen.wait_for("set aside");
}
