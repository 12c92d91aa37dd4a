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
        "vim file".to_owned(),
        "vi".to_owned(),
        "nano file".to_owned(),
        "emacs -nw file".to_owned(),
        "vim +10 -c 'set expandtab' file".to_owned(),
        format!("git init -q . && {git} commit -qm one --allow-empty && GIT_EDITOR=vi {git} tag -a v1"),
        format!("git init -q . && unset EDITOR VISUAL GIT_EDITOR; TERM=xterm {git} commit --allow-empty"),
        "sh -c \"$VISUAL file\"".to_owned(),
        "sh -c \"$HGEDITOR file\"".to_owned(),
        // As vim does where its input is no terminal: it waits for keys from its errors.
        "sh -c 'exec sleep 1000 <&2'".to_owned(),
        format!(
            "printf '#!/bin/sh\\nexec sleep 1000 <&2\\n' > own && chmod +x own && git init -q . && \
             GIT_EDITOR=$PWD/own {git} commit --allow-empty"
        ),
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
        let said = result.matches("no editor opens for this command").count();
        assert_eq!(said, 1, "{command}: {result}");
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

/// A call that nobody needs to answer reaches the editor that is installed.
#[tokio::test]
async fn editors_that_need_nobody_run() {
    use std::os::unix::fs::PermissionsExt;

    for (words, runs) in [
        ("vim --version", true),
        ("vim -es -c '%s/a/b/' -c wq file", true),
        ("vim -c 'g/x/d | wq' file", true),
        ("vim +qa", true),
        ("vim -c 'set expandtab' file", false),
        ("emacs --batch -l x.el", true),
        ("emacs -q", false),
        ("micro --version", false),
    ] {
        let place = Place::new(vec![calls("bash", &json!({ "command": words })), says("done")]).await;
        let bin = place.dir.path().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        for name in ["vim", "emacs"] {
            std::fs::write(bin.join(name), "#!/bin/sh\necho \"the real one: $*\"\n").unwrap();
            std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut tau = place.tau(&["-p", "go"]);
        tau.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        assert_eq!(run(&mut tau, None).await.code, 0, "{words}");
        let result = crate::asking::result_of(place.server.requests().last().unwrap());
        assert_eq!(result.contains("the real one"), runs, "{words}: {result}");
    }
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
