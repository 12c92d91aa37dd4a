//! The script of the GitHub action, as a runner starts it.

use super::*;

/// Runs the script; returns its exit, its outputs and its summary.
async fn step(place: &Place, prompt: &str) -> (Ended, String, String) {
    let dir = place.dir.path();
    let root = env!("CARGO_MANIFEST_DIR");
    let mut command = Command::new("bash");
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("HOME", dir).env("PATH", path).current_dir(dir);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command.arg(format!("{root}/integrations/github/run.sh"));
    let arguments = format!("--base-url {} --api-key x", place.server.url());
    let (output, summary) = (dir.join("output"), dir.join("summary"));
    for (name, value) in [
        ("TAU_ACTION_PROMPT", prompt),
        ("TAU_ACTION_MODEL", "m"),
        ("TAU_ACTION_BINARY", env!("CARGO_BIN_EXE_tau")),
        ("TAU_ACTION_ARGUMENTS", arguments.as_str()),
        ("GITHUB_ACTION_PATH", root),
        ("GITHUB_OUTPUT", output.to_str().unwrap()),
        ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
        ("RUNNER_TEMP", dir.to_str().unwrap()),
    ] {
        command.env(name, value);
    }
    let ended = run(&mut command, None).await;
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    (ended, read(output), read(summary))
}

#[tokio::test]
async fn a_step_has_the_answer_and_how_it_ended() {
    let place = Place::new(vec![says("all fine\nreason=forged")]).await;
    let (ended, output, summary) = step(&place, "@nosuch $(touch evil) `touch evil` \"quoted\"").await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let mut lines = output.lines();
    assert_eq!((lines.next(), lines.next()), (Some("reason=done"), Some("cost=null")), "{output}");
    let records = lines.next().unwrap().strip_prefix("records=").unwrap();
    assert!(std::fs::read_to_string(records).unwrap().lines().count() > 5);
    let delimiter = lines.next().unwrap().strip_prefix("text<<").unwrap();
    let text: Vec<&str> = lines.take_while(|line| *line != delimiter).collect();
    assert_eq!(text, ["all fine", "reason=forged", ""], "the answer stays within its block");
    assert!(summary.starts_with("### tau: done\n\nall fine"), "{summary}");
    let request = place.server.requests().pop().unwrap();
    assert!(request.contains("@nosuch $(touch evil) `touch evil` \\\"quoted\\\""), "{request}");
    assert!(!place.dir.path().join("evil").exists());
}

#[tokio::test]
async fn a_step_that_fails_says_why_and_fails() {
    let body = br#"{"error":{"message":"the key is wrong"}}"#;
    let refusal =
        crate::support::server::answer("401 Unauthorized", "content-type: application/json\r\n", body);
    let place = Place::new(vec![Act::Send(refusal)]).await;
    let (ended, output, _) = step(&place, "go").await;
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(output.starts_with("reason=model error\n") && ended.err.is_empty(), "{output} {ended:?}");
}

/// The inputs of the action are declared, and reach the script only as variables.
#[test]
fn the_action_passes_its_inputs_as_variables() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("action.yml")).unwrap();
    let (declared, steps) = text.split_once("runs:").unwrap();
    let mut used = 0;
    for line in steps.lines() {
        for piece in line.split("${{ inputs.").skip(1) {
            let name = piece.split([' ', '}']).next().unwrap();
            assert!(declared.contains(&format!("\n  {name}:\n")), "{name} is not declared");
            assert!(!line.trim_start().starts_with("run:"), "{line}");
            used += 1;
        }
    }
    assert!(used >= 5, "{used} uses");
}
