//! File changes, and undoing them.

use tau::agent::undo::UndoOptions;
use tau::tools::Toolbox;

use super::*;

fn bash(command: &str) -> Vec<Step> {
    vec![Call("c", "bash", json!({ "command": command })), USE]
}

/// A client whose model has answered two prompts, `first` and `second`; `kept` holds what undo needs.
async fn client(answers: Vec<Vec<Step>>, kept: &Path) -> Client {
    let mut client = Client::with(Player::new(answers), RpcEvents::Auto, |config| {
        config.tools = Toolbox::all();
        config.behavior.undo = Some(UndoOptions { dir: kept.into(), quota: 1 << 30, own: "".into() });
    });
    for message in ["first", "second"] {
        client.ask(json!({"type": "prompt", "message": message})).await;
        client.settled().await;
    }
    client
}

#[tokio::test]
async fn a_client_lists_changes_and_takes_them_back() {
    let kept = tempfile::tempdir().unwrap();
    let command = "printf 'one\\ntwo\\n' >a; echo b >b";
    let answers = vec![bash(command), vec![Say("done"), STOP], bash("echo more >>a"), vec![Say("ok"), STOP]];
    let mut client = client(answers, kept.path()).await;
    let path = |name: &str| client.dir.path().join(name);
    let (a, b) = (path("a"), path("b"));
    let found = client.ask(json!({"type": "get_checkpoints"})).await["data"]["checkpoints"].clone();
    assert_eq!((&found[0]["text"], &found[0]["files"]), (&json!("first"), &json!(["a", "b"])));
    assert_eq!((&found[1]["text"], &found[1]["restores"]), (&json!("second"), &json!(1)));
    let changes = client.ask(json!({"type": "get_changes"})).await["data"].clone();
    assert_eq!(changes["files"][0]["kind"], "created");
    assert_eq!(changes["files"][0]["diff"]["hunks"][0]["lines"], json!(["+one", "+two", "+more"]));

    std::fs::write(&a, "zero\none\ntwo\nmore\n").unwrap();
    let second = &found[1]["entryId"];
    let plan = client.ask(json!({"type": "get_undo_plan", "entryId": second})).await["data"].clone();
    assert_eq!(plan["conflicts"], json!([{"path": "a", "reason": "changed since", "mergeable": true}]));
    let undo = json!({"type": "undo", "entryId": second, "scope": "files", "choices": {"a": "merge"}});
    let undone = client.ask(undo).await["data"].clone();
    assert_eq!(undone["merged"], json!(["a"]));
    assert_eq!(std::fs::read_to_string(&a).unwrap(), "zero\none\ntwo\n");
    let redone = client.ask(json!({"type": "redo"})).await;
    assert_eq!(redone["data"]["restored"], json!(["a"]), "{redone}");
    assert_eq!(std::fs::read_to_string(&a).unwrap(), "zero\none\ntwo\nmore\n");

    let changes = client.ask(json!({"type": "get_changes"})).await["data"].clone();
    let version = changes["files"][1]["version"].clone();
    let stale = client.ask(json!({"type": "revert", "path": "b", "version": "x"})).await;
    assert!(stale["error"].as_str().unwrap().contains("list it again"), "{stale}");
    client.ask(json!({"type": "revert", "path": "b", "version": version})).await;
    assert!(!b.exists());
    let nowhere = client.ask(json!({"type": "undo", "entryId": "nosuch"})).await;
    assert_eq!(nowhere["success"], false);
}

#[tokio::test]
async fn secrets_in_changes_are_masked() {
    let kept = tempfile::tempdir().unwrap();
    // The value is not in the model's text, so it is first seen here.
    let command = "echo API_TOKEN=zx81-Q7rr$(echo -99aB) >.env";
    let call = bash(command);
    let mut client =
        Client::with(Player::new(vec![call, vec![Say("done"), STOP]]), RpcEvents::Auto, |config| {
            config.tools = Toolbox::all();
            config.behavior.undo =
                Some(UndoOptions { dir: kept.path().into(), quota: 1 << 30, own: "".into() });
        });
    client.ask(json!({"type": "prompt", "message": "first"})).await;
    client.settled().await;
    let changes = client.ask(json!({"type": "get_changes"})).await["data"].clone();
    let line = changes["files"][0]["diff"]["hunks"][0]["lines"][0].as_str().unwrap().to_owned();
    assert!(line.starts_with("+API_TOKEN=[secret 1-") && !changes.to_string().contains("zx81"), "{changes}");
    // Undo keeps the content itself.
    let version = &changes["files"][0]["version"];
    client.ask(json!({"type": "revert", "path": ".env", "version": version})).await;
    assert!(!client.dir.path().join(".env").exists());
    client.ask(json!({"type": "redo"})).await;
    let text = std::fs::read_to_string(client.dir.path().join(".env")).unwrap();
    assert_eq!(text, "API_TOKEN=zx81-Q7rr-99aB\n");
}

#[tokio::test]
async fn the_conversation_goes_back_with_the_files() {
    let kept = tempfile::tempdir().unwrap();
    let call = vec![Call("c", "write", json!({ "path": "new/a", "content": "text" })), USE];
    let answers = vec![call, vec![Say("done"), STOP]];
    let mut client = Client::with(Player::new(answers), RpcEvents::Auto, |config| {
        config.tools = Toolbox::all();
        config.behavior.undo = Some(UndoOptions { dir: kept.path().into(), quota: 1 << 30, own: "".into() });
    });
    client.ask(json!({"type": "prompt", "message": "first"})).await;
    client.settled().await;
    assert!(client.dir.path().join("new/a").exists());
    let found = client.ask(json!({"type": "get_checkpoints"})).await["data"]["checkpoints"].clone();
    client.ask(json!({"type": "undo", "entryId": found[0]["entryId"]})).await;
    let messages = client.ask(json!({"type": "get_messages"})).await["data"]["messages"].clone();
    assert_eq!(messages, json!([]));
    assert!(!client.dir.path().join("new").exists());
    client.ask(json!({"type": "redo"})).await;
    let messages = client.ask(json!({"type": "get_messages"})).await["data"]["messages"].clone();
    assert_eq!(messages.as_array().unwrap().len(), 4);
    assert!(client.dir.path().join("new/a").exists());
}

/// A directory that the session wrote to has become a link to somewhere else.
#[tokio::test]
async fn nothing_is_written_through_a_link() {
    let (kept, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let answers = vec![
        bash("mkdir d; echo evil >d/file"),
        vec![Say("done"), STOP],
        bash("echo more >>d/file"),
        vec![Say("ok"), STOP],
    ];
    let mut client = client(answers, kept.path()).await;
    let found = client.ask(json!({"type": "get_checkpoints"})).await["data"]["checkpoints"].clone();
    let file = client.ask(json!({"type": "get_changes"})).await["data"]["files"][1].clone();
    std::fs::remove_dir_all(client.dir.path().join("d")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), client.dir.path().join("d")).unwrap();
    // The file there is exactly what undo would remove or change.
    let there = elsewhere.path().join("file");
    let text = "evil\nmore\n";
    std::fs::write(&there, text).unwrap();

    let second = &found[1]["entryId"];
    let plan = client.ask(json!({"type": "get_undo_plan", "entryId": second})).await["data"].clone();
    let reason = "a link is on the way to it";
    assert_eq!(plan["conflicts"], json!([{"path": "d/file", "reason": reason, "mergeable": false}]));
    for at in [0, 1] {
        for otherwise in ["keep", "merge", "old"] {
            let id = &found[at]["entryId"];
            let undo = json!({"type": "undo", "entryId": id, "scope": "files", "otherwise": otherwise});
            let undone = client.ask(undo).await;
            let redone = client.ask(json!({"type": "redo", "otherwise": otherwise})).await;
            assert_eq!(std::fs::read_to_string(&there).unwrap(), text, "{undone} {redone}");
        }
    }
    let (path, version) = (&file["path"], &file["version"]);
    for hunk in [json!(0), Value::Null] {
        let order = json!({"type": "revert", "path": path, "version": version, "hunk": hunk});
        let reverted = client.ask(order).await;
        assert_eq!(std::fs::read_to_string(&there).unwrap(), text, "{reverted}");
    }
}

#[tokio::test]
async fn a_redo_of_nothing_ends_no_run() {
    let kept = tempfile::tempdir().unwrap();
    let answers =
        vec![vec![Say("one"), STOP], vec![Say("two"), STOP], bash("sleep 1"), vec![Say("three"), STOP]];
    let mut client = client(answers, kept.path()).await;
    client.ask(json!({"type": "prompt", "message": "third"})).await;
    let refused = client.ask(json!({"type": "redo"})).await;
    assert_eq!(refused["success"], false, "{refused}");
    assert!(refused["error"].as_str().unwrap().contains("nothing to redo"), "{refused}");
    client.settled().await;
    let last = client.ask(json!({"type": "get_last_assistant_text"})).await;
    assert_eq!(last["data"]["text"], "three", "{last}");
}
