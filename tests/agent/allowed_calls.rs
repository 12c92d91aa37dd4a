//! Calls that the user has allowed as they are, for the session; tools of the permission mode.

use tau::agent::protocol::approval::{ApprovalAnswer, PermissionMode};
use tau::agent::protocol::command::SettingsCommand;
use tau::agent::provider::ModelRequest;

use super::approvals::{answer, asked, asking, bash};
use super::*;

/// A call that was allowed as it is, for the session: by its files if it only changes files, else by its words.
#[tokio::test]
async fn an_allowed_call_is_not_asked_about_again_whichever_tool_changes_the_file() {
    let write =
        |id, path: &str, content: &str| Call(id, "write", json!({ "path": path, "content": content }));
    let edit = |id, path: &str, old: &str, new: &str| {
        Call(id, "edit", json!({ "path": path, "edits": [{ "old_string": old, "new_string": new }] }))
    };
    let steps = vec![
        vec![write("1", "a", "one\n"), USE],
        vec![edit("2", "./a", "one", "two"), USE],
        vec![write("3", "a", "three\n"), USE],
        vec![write("4", "b", "one\n"), USE],
        vec![edit("5", "b", "one", "two"), USE],
        vec![bash("6", "touch c"), USE],
        vec![bash("7", "touch c"), USE],
        vec![bash("8", "touch  c d"), USE],
        vec![Say("ok"), STOP],
    ];
    let mut bench = asking(PermissionMode::Ask, steps);
    bench.prompt("go").await;
    for id in ["1", "4", "6", "8"] {
        let request = asked(&mut bench).await;
        assert_eq!(request.tool_call_id, id, "{request:?}");
        answer(&bench, &request, ApprovalAnswer::AllowExact { hunks: None }).await;
    }
    bench.settled().await;
    let text = |name: &str| std::fs::read_to_string(bench.dir.path().join(name)).unwrap();
    assert_eq!([text("a"), text("b"), text("d")], ["three\n", "two\n", ""]);
}

#[tokio::test]
async fn tools_that_the_user_did_not_choose_change_with_the_mode() {
    let player = Player::new(vec![vec![Say("one"), STOP], vec![Say("two"), STOP]]);
    let mut bench = Bench::with(player.clone(), |config| {
        config.tools = Toolbox::all();
        config.behavior.permission_mode = PermissionMode::Ask;
    });
    for by_mode in [true, false] {
        bench.send(SettingsCommand::SetTools { names: vec!["read".into()], by_mode }).await;
        bench.prompt("go").await;
        bench.settled().await;
    }
    let requests = player.requests.lock().unwrap().clone();
    let offered = |request: &ModelRequest| -> Vec<String> {
        request.tools.iter().map(|tool| tool.name.clone()).collect()
    };
    assert_eq!(offered(&requests[0]), ["read", "grep", "find", "ls"]);
    assert_eq!(offered(&requests[1]), ["read"]);
}
