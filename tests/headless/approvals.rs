//! Calls that have to be approved, with and without somebody who can.

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::*;

fn touches() -> Vec<Act> {
    vec![calls("bash", &json!({ "command": "touch made" })), says("done")]
}

#[tokio::test]
async fn with_nobody_to_ask_a_call_is_denied_with_its_exit_code() {
    for mode in ["text", "json"] {
        let place = Place::new(touches()).await;
        let arguments = ["--mode", mode, "--permission-mode", "ask", "make it"];
        let ended = run(&mut place.tau(&arguments), None).await;
        assert_eq!(ended.code, 4, "{ended:?}");
        assert!(!place.dir.path().join("made").exists());
        let said = format!("{}{}", ended.out, ended.err);
        assert!(said.contains("nobody is there to approve it"), "{said}");
        let request = place.server.requests().pop().unwrap();
        assert!(request.contains("start tau with --permission-mode auto"), "the model is told: {request}");
    }
}

#[tokio::test]
async fn without_a_mode_scripts_work_as_ever_and_a_setting_changes_that() {
    let place = Place::new(touches()).await;
    let ended = run(&mut place.tau(&["-p", "make it"]), None).await;
    assert!(ended.code == 0 && place.dir.path().join("made").exists(), "{ended:?}");
    for (mode, code) in [("plan", 0), ("ask", 4), ("auto", 0)] {
        let place = Place::new(touches()).await;
        let ended = run(place.tau(&["-p", "make it"]).env("TAU_PERMISSION_MODE", mode), None).await;
        assert_eq!(ended.code, code, "{mode}: {ended:?}");
        assert_eq!(place.dir.path().join("made").exists(), mode == "auto", "{mode}");
    }
}

/// The answer of the first start is about the screen: scripts work as before.
#[tokio::test]
async fn the_mode_of_the_screen_is_not_that_of_scripts() {
    for (config, code) in [("screen_permission_mode = \"ask\"\n", 0), ("permission_mode = \"ask\"\n", 4)] {
        let place = Place::new(touches()).await;
        let home = place.dir.path().join("config");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("config.toml"), config).unwrap();
        let ended = run(place.tau(&["-p", "make it"]).env("TAU_HOME", &home), None).await;
        assert_eq!(ended.code, code, "{config}: {ended:?}");
        assert_eq!(place.dir.path().join("made").exists(), code == 0, "{config}");
    }
}

#[tokio::test]
async fn a_line_of_input_decides_in_json_mode() {
    for (decision, made) in [("allow", true), ("deny", false)] {
        let place = Place::new(touches()).await;
        let mut command = place.tau(&["--json", "--permission-mode", "ask"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        input.write_all(b"{\"type\":\"message\",\"content\":\"make it\"}\n").await.unwrap();
        let mut types = Vec::new();
        while let Some(line) = lines.next_line().in_time("a record").await.unwrap() {
            let record: Value = serde_json::from_str(&line).unwrap();
            types.push(record["type"].as_str().unwrap_or_default().to_owned());
            if record["type"] == "approval_requested" {
                let request = &record["request"];
                assert_eq!(request["preview"], json!({ "kind": "command", "command": "touch made" }));
                let answer = json!({ "type": "approval", "id": request["id"], "decision": decision });
                input.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
            }
            if record["type"] == "agent_settled" {
                break;
            }
        }
        drop(input);
        let status = child.wait().in_time("its end").await.unwrap();
        assert!(status.success(), "{decision}: {status:?}");
        assert!(types.iter().any(|kind| kind == "approval_ended"), "{types:?}");
        assert_eq!(place.dir.path().join("made").exists(), made, "{decision}");
    }
}

#[tokio::test]
async fn a_decision_or_an_answer_for_what_does_not_wait_is_an_error() {
    let place = Place::new(touches()).await;
    let lines = [
        json!({ "type": "message", "content": "make it" }),
        json!({ "type": "approval", "id": "nobody", "decision": "allow" }),
        json!({ "type": "answer", "id": "nobody\n", "values": {} }),
    ];
    let input = lines.map(|line| format!("{line}\n")).concat();
    let ended = run(&mut place.tau(&["--json"]), Some(&input)).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    let records = ended.records();
    let errors: Vec<&Value> =
        records.iter().filter(|record| record["type"] == "error").map(|record| &record["error"]).collect();
    assert_eq!(
        errors,
        [
            &json!("no call with the id \"nobody\" waits for a decision"),
            &json!("no question with the id \"nobody\\n\" waits for an answer"),
        ]
    );
}

#[tokio::test]
async fn a_call_that_waits_when_the_input_ends_is_denied() {
    let place = Place::new(touches()).await;
    let mut command = place.tau(&["--json", "--permission-mode", "ask"]);
    let ended = run(&mut command, Some("{\"type\":\"message\",\"content\":\"make it\"}\n")).await;
    assert_eq!(ended.code, 4, "{ended:?}");
    assert!(!place.dir.path().join("made").exists());
}
