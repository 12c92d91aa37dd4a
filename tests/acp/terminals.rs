//! Commands in terminals of the editor.

use super::*;
use crate::support::program::{calls, says};

/// A session whose model runs a command, with the request for its terminal answered.
async fn in_terminal(arguments: Value) -> (Editor, String, i64, Value) {
    let acts = vec![calls("bash", &arguments), says("done")];
    let mut editor = Editor::with(acts, json!({"terminal": true})).await;
    let session = editor.session().await;
    let id = editor.prompt(&session, "go").await;
    let create = editor.asked("terminal/create").await;
    editor.send(json!({"jsonrpc": "2.0", "id": create["id"], "result": {"terminalId": "t1"}})).await;
    (editor, session, id, create["params"].clone())
}

/// Answers the next request of this method about the terminal.
async fn reply(editor: &mut Editor, method: &str, result: Value) {
    let request = editor.asked(method).await;
    assert_eq!(request["params"]["terminalId"], "t1", "{request}");
    editor.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_where_the_user_sees_it() {
    let (mut editor, _, id, create) = in_terminal(json!({"command": "make it"})).await;
    let args: Vec<&str> =
        create["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    assert_eq!(
        (create["command"].as_str(), args[args.len() - 2..].to_vec()),
        (Some("env"), vec!["-c", "make it"])
    );
    assert_eq!(create["cwd"], json!(editor.cwd()));
    assert!(
        create["env"].as_array().unwrap().contains(&json!({"name": "PAGER", "value": "cat"})),
        "{create}"
    );
    reply(&mut editor, "terminal/wait_for_exit", json!({"exitCode": 3})).await;
    reply(&mut editor, "terminal/output", json!({"output": "made nothing\n", "truncated": false})).await;
    assert_eq!(editor.answer(id).await["result"]["stopReason"], "end_turn");
    editor.asked("terminal/release").await;
    let seen = editor.seen();
    let shown = json!([{"type": "terminal", "terminalId": "t1"}]);
    let with: Vec<&Value> = seen.iter().filter(|update| update["content"] == shown).collect();
    let statuses: Vec<&Value> = with.iter().map(|update| &update["status"]).collect();
    assert_eq!(statuses, [&Value::Null, &json!("failed")], "shown at once and kept: {seen:?}");
    let request = editor.server.requests().pop().unwrap();
    assert!(request.contains("made nothing") && request.contains("exit code 3"), "{request}");
    assert_eq!(editor.end().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_takes_too_long_or_is_cancelled_is_killed() {
    for (arguments, is_cancelled, reason) in [
        (json!({"command": "wait", "timeout": 1}), false, "end_turn"),
        (json!({"command": "wait"}), true, "cancelled"),
    ] {
        let (mut editor, session, id, _) = in_terminal(arguments).await;
        editor.asked("terminal/wait_for_exit").await;
        if is_cancelled {
            editor.notify("session/cancel", json!({"sessionId": session})).await;
        }
        editor.asked("terminal/kill").await;
        let answered = async {
            reply(&mut editor, "terminal/output", json!({"output": "so far\n", "truncated": true})).await;
            editor
        };
        let mut editor = answered.in_time("the output to be asked for").await;
        assert_eq!(editor.answer(id).await["result"]["stopReason"], reason);
        if !is_cancelled {
            let request = editor.server.requests().pop().unwrap();
            assert!(request.contains("so far") && request.contains("timed out after 1 s"), "{request}");
        }
        assert_eq!(editor.end().await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sandboxed_commands_stay_with_tau() {
    let acts = vec![calls("bash", &json!({"command": "echo from tau"})), says("done")];
    let mut editor = Editor::start(acts, &["--sandbox", "workspace-write", "--network", "on"]).await;
    let params = json!({"protocolVersion": 1, "clientCapabilities": {"terminal": true}});
    editor.ask("initialize", params).await;
    let session = editor.session().await;
    let id = editor.prompt(&session, "go").await;
    assert_eq!(editor.answer(id).await["result"]["stopReason"], "end_turn");
    assert!(editor.requests.is_empty(), "{:?}", editor.requests);
    assert_eq!(editor.end().await, 0);
}
