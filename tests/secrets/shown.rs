//! Masked secrets on the screen: revealed by a key, without a trace, and masking switched while tau runs.

use std::process::Command;

use crate::screen::Screen;
use crate::time_limit::RunInTime;

/// The output of the command below; it appears as a whole only in its output.
const VALUE: &str = "zq81-Kk2m-44xx";

fn print_secret(screen: &Screen) {
    screen.type_keys("!printf 'API_TOKEN=%s-44xx\\n' zq81-Kk2m\r");
}

#[test]
fn a_secret_that_is_shown_is_not_recorded() {
    let mut screen = Screen::prepared("", "--model demo --record ../run.jsonl", 100, 30);
    print_secret(&screen);
    screen.wait_for("1 secret hidden");
    screen.type_keys("\x1bo");
    screen.wait_for("r secrets");
    screen.type_keys("r");
    screen.wait_for(&format!("token: {VALUE}"));
    screen.type_keys("\t");
    screen.wait_until("the composer", |cells| !cells.contents().contains("r hides secrets"));
    screen.type_keys("\x04");
    assert!(screen.wait_exit().success());
    let record = screen.home().join("run.jsonl");
    let recorded = std::fs::read_to_string(&record).unwrap();
    assert!(recorded.contains("API_TOKEN=[secret 1-"), "nothing is recorded:\n{recorded}");
    assert!(!recorded.contains(VALUE), "the secret is recorded");
    let mut replay = Command::new(env!("CARGO_BIN_EXE_tau"));
    replay.arg("--replay").arg(&record).env("TAU_HOME", screen.tau_home());
    let output = replay.output_in_time();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("API_TOKEN=[secret 1-"), "{text}");
    assert!(!text.contains(VALUE), "{text}");
}

#[test]
fn masking_is_switched_off_and_on_by_reload() {
    let screen = Screen::prepared("mkdir -p $TAU_HOME", "--model demo", 100, 30);
    print_secret(&screen);
    screen.wait_for("1 secret hidden");
    screen.reload("mask_secrets = false\n", "now in effect: mask_secrets false");
    print_secret(&screen);
    screen.wait_for(&format!("API_TOKEN={VALUE}"));
    screen.type_keys("/new\r");
    screen.wait_until("a new session", |cells| !cells.contents().contains("API_TOKEN="));
    screen.reload("", "now in effect: mask_secrets true");
    print_secret(&screen);
    screen.wait_for("API_TOKEN=[secret ");
    screen.wait_for("1 secret hidden");
}
