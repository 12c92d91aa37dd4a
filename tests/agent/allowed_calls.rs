//! Calls that the user has allowed as they are, for the session; tools of the permission mode.

use tau::agent::protocol::approval::{ApprovalAnswer, PermissionMode, RuleScope};
use tau::agent::protocol::command::{SessionCommand, SettingsCommand};
use tau::agent::provider::ModelRequest;

use super::approvals::{answer, asked, asking, bash};
use super::*;
use crate::time_limit::InTime;

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

/// What was allowed for the session is asked about again in another one.
#[tokio::test]
async fn what_was_allowed_for_a_session_ends_with_it() {
    let both = || vec![vec![bash("1", "touch c"), bash("2", "touch d"), USE], vec![Say("ok"), STOP]];
    let mut bench = asking(PermissionMode::Ask, [both(), both(), both(), both()].concat());
    let rule = ApprovalAnswer::AllowAlways {
        rules: vec!["bash(touch d)".into()],
        scope: RuleScope::Session,
        hunks: None,
    };
    for _ in 0..2 {
        for _ in 0..2 {
            bench.prompt("go").await;
            if !bench.dir.path().join("d").exists() {
                let request = asked(&mut bench).await;
                assert_eq!(request.tool_call_id, "1");
                answer(&bench, &request, ApprovalAnswer::AllowExact { hunks: None }).await;
                let request = asked(&mut bench).await;
                assert_eq!(request.tool_call_id, "2");
                answer(&bench, &request, rule.clone()).await;
            }
            bench.settled().await;
        }
        std::fs::remove_file(bench.dir.path().join("d")).unwrap();
        bench.send(SessionCommand::Change(SessionChange::New)).await;
    }
}

/// A call that was allowed, and then waited for another one, is not told to be denied.
#[tokio::test]
async fn an_allowed_call_that_waits_when_the_run_is_stopped_is_not_denied() {
    let steps = vec![vec![bash("1", "touch begun; sleep 60"), bash("2", "touch e"), USE]];
    let mut bench = asking(PermissionMode::Ask, steps);
    bench.prompt("go").await;
    for _ in 0..2 {
        let request = asked(&mut bench).await;
        answer(&bench, &request, ApprovalAnswer::Allow { hunks: None, edited: None }).await;
    }
    let begun = bench.dir.path().join("begun");
    let exists = async {
        while !begun.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    exists.in_time("the first call").await;
    bench.send(RunCommand::Abort).await;
    let results = tool_results(&bench.settled().await);
    let told = format!("{:?}", results[1].content);
    assert!(results[1].is_error && !told.contains("denied"), "{told}");
    assert!(!bench.dir.path().join("e").exists());
}
