//! Editors: those of the model's commands exit at once, those of the user's own commands open.

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::*;

/// An editor that waits forever, however it is set.
const WAITS: &str = "sleep 1000";

#[tokio::test]
async fn editors_of_the_models_commands_end_at_once_and_say_how_to_pass_the_text() {
    let git = "git -c user.name=a -c user.email=a@b.c";
    let commands = [
        format!("git init -q . && {git} commit -q --allow-empty"),
        format!("git init -q . && {git} -c core.editor='{WAITS}' commit -q --allow-empty"),
        format!(
            "git init -q . && {git} commit -qm one --allow-empty && {git} commit -qm two --allow-empty && \
             {git} -c sequence.editor='{WAITS}' rebase -i HEAD~1"
        ),
        "$EDITOR file".to_owned(),
        "sh -c \"$VISUAL file\"".to_owned(),
        "sh -c \"$HGEDITOR file\"".to_owned(),
    ];
    for command in commands {
        let place = Place::new(vec![calls("bash", &json!({ "command": command })), says("done")]).await;
        let mut tau = place.tau(&["-p", "go"]);
        for name in ["EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "HGEDITOR"] {
            tau.env(name, WAITS);
        }
        let ended = run(&mut tau, None).await;
        assert_eq!(ended.code, 0, "{command}: {ended:?}");
        let result = crate::asking::result_of(place.server.requests().last().unwrap());
        let quoted = command.starts_with('$');
        assert!(quoted || result.contains("no editor opens for this command"), "{command}: {result}");
        assert!(!result.contains("exit code: 0"), "{command}: {result}");
    }
    // An editor set by the model itself is used.
    let own = format!(
        "git init -q . && GIT_EDITOR='echo hello >' {git} commit -q --allow-empty && git log --format=%s"
    );
    let place = Place::new(vec![calls("bash", &json!({ "command": own })), says("done")]).await;
    assert_eq!(run(&mut place.tau(&["-p", "go"]), None).await.code, 0);
    let result = crate::asking::result_of(place.server.requests().last().unwrap());
    assert!(result.contains("hello"), "{result}");
}

#[tokio::test]
async fn the_users_own_commands_have_the_users_editor() {
    let place = Place::new(Vec::new()).await;
    let mut command = place.tau(&["--mode", "rpc"]);
    command.env("EDITOR", "my-editor").env("GIT_EDITOR", "my-git-editor");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    input
        .write_all(b"{\"id\":\"1\",\"type\":\"bash\",\"command\":\"echo $EDITOR $GIT_EDITOR\"}\n")
        .await
        .unwrap();
    loop {
        let line = lines.next_line().in_time("an answer").await.unwrap().expect("an answer");
        let record: Value = serde_json::from_str(&line).unwrap();
        if record["command"] == "bash" {
            assert_eq!(record["data"]["output"], "my-editor my-git-editor\n", "{record}");
            break;
        }
    }
    drop(input);
    child.wait().in_time("its end").await.unwrap();
}
