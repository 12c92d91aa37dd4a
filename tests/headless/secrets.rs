//! Secrets in tool results never leave the user's machine.

use serde_json::json;

use super::*;

const TOKEN: &str = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";

/// A model that reads `.env`, then makes this call, and then says something.
fn acts(name: &str, arguments: &Value) -> Vec<Act> {
    let Act::Send(call) = calls(name, arguments) else { unreachable!() };
    vec![calls("bash", &json!({"command": "cat .env"})), Act::Quote(call), says("the token is set")]
}

async fn place(name: &str, arguments: &Value) -> Place {
    let place = Place::new(acts(name, arguments)).await;
    std::fs::write(place.dir.path().join(".env"), format!("GITHUB_TOKEN={TOKEN}\nPORT=8080\n")).unwrap();
    place
}

/// Every file below the folder.
fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let (mut files, mut open) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { files.push(path) }
        }
    }
    files
}

/// Everything written below the folder, except the named files.
fn written(dir: &Path, but: &[&str]) -> String {
    // Undo data is file content, including secrets.
    let is_undo = |path: &std::path::PathBuf| path.components().any(|part| part.as_os_str() == "undo");
    let kept = files(dir).into_iter().filter(|path| !is_undo(path));
    let kept = kept.filter(|path| !but.iter().any(|name| path.file_name().is_some_and(|file| file == *name)));
    kept.map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()).collect()
}

#[tokio::test]
async fn a_secret_reaches_neither_the_model_nor_the_session_nor_the_output() {
    for mode in ["text", "json", "rpc"] {
        let place = place("write", &json!({"path": "copy", "content": "export T='PLACEHOLDER'\n"})).await;
        let mut command = place.tau(&["--mode", mode]);
        command.env("TAU_PERMISSION_MODE", "auto");
        let ended = match mode {
            "rpc" => {
                let input = "{\"type\":\"prompt\",\"message\":\"go\"}\n";
                let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
                let mut pipe = child.stdin.take().unwrap();
                tokio::io::AsyncWriteExt::write_all(&mut pipe, input.as_bytes()).await.unwrap();
                let mut out = String::new();
                let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(
                    child.stdout.take().unwrap(),
                ));
                while let Some(line) = lines.next_line().in_time("a record").await.unwrap() {
                    out.push_str(&line);
                    if line.contains("\"agent_settled\"") {
                        break;
                    }
                }
                drop(pipe);
                child.wait().in_time("the end").await.unwrap();
                Ended { code: 0, out, err: String::new() }
            }
            _ => run(command.arg("go"), None).await,
        };
        assert_eq!(ended.code, 0, "{mode}: {ended:?}");
        let copy = std::fs::read_to_string(place.dir.path().join("copy")).unwrap();
        assert_eq!(copy, format!("export T='{TOKEN}'\n"), "{mode}: the file has the value");
        let sent = place.server.requests().join("\n");
        let kept = written(place.dir.path(), &[".env", "copy"]);
        for (what, text) in
            [("requests", &sent), ("output", &ended.out), ("errors", &ended.err), ("files", &kept)]
        {
            assert!(!text.contains("A1b2C3d4"), "{mode}: the secret is in the {what}: {text}");
        }
        assert!(
            sent.contains("GITHUB_TOKEN=[secret 1-") && sent.contains(": github token]"),
            "{mode}: {sent}"
        );
        assert!(kept.contains("PORT=8080"), "{mode}: the rest is kept");
    }
}

#[tokio::test]
async fn a_session_can_be_exported_without_the_secret() {
    let place = place("bash", &json!({"command": "true"})).await;
    assert_eq!(run(&mut place.tau(&["-p", "go"]), None).await.code, 0);
    let session =
        files(place.dir.path()).into_iter().find(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let session = session.expect("a session");
    for format in ["html", "md", "jsonl"] {
        let file = format!("out.{format}");
        let mut export = bare(place.dir.path());
        let ended = run(export.arg("export").arg(&session).arg(&file), None).await;
        let text =
            std::fs::read_to_string(place.dir.path().join(&file)).unwrap_or_else(|_| panic!("{ended:?}"));
        assert!(text.contains("github token") && !text.contains("A1b2C3d4"), "{format}: {ended:?}");
    }
}

#[tokio::test]
async fn commands_take_no_placeholder_and_the_model_is_told_what_to_do() {
    let place = place("bash", &json!({"command": "echo PLACEHOLDER >copy"})).await;
    assert_eq!(run(&mut place.tau(&["-p", "go"]), None).await.code, 0);
    assert!(!place.dir.path().join("copy").exists(), "it was not run");
    let last = place.server.requests().pop().unwrap();
    assert!(last.contains("set -a; . ./.env; set +a"), "{last}");
}

#[tokio::test]
async fn an_edit_finds_the_secret_by_its_placeholder() {
    let place = place("edit", &json!({})).await;
    let acts = vec![
        calls("read", &json!({"path": ".env"})),
        acts("edit", &json!({"path": ".env", "old_string": "GITHUB_TOKEN=PLACEHOLDER", "new_string": "GH=PLACEHOLDER"}))
            .remove(1),
        says("done"),
    ];
    let place = Place { server: Server::start(acts).await, ..place };
    let ended = run(&mut place.tau(&["--json", "go"]), None).await;
    let text = std::fs::read_to_string(place.dir.path().join(".env")).unwrap();
    assert_eq!(text, format!("GH={TOKEN}\nPORT=8080\n"), "{ended:?}");
    assert!(!ended.out.contains("A1b2C3d4"), "the diff is masked: {}", ended.out);
}

#[tokio::test]
async fn a_resumed_session_has_placeholders_without_values() {
    let place = place("bash", &json!({"command": "true"})).await;
    assert_eq!(run(&mut place.tau(&["-p", "go"]), None).await.code, 0);
    let acts =
        vec![acts("write", &json!({"path": "copy", "content": "PLACEHOLDER"})).remove(1), says("I cannot")];
    let place = Place { server: Server::start(acts).await, ..place };
    assert_eq!(run(&mut place.tau(&["-p", "--continue", "again"]), None).await.code, 0);
    assert!(!place.dir.path().join("copy").exists(), "nothing was written");
    let last = place.server.requests().pop().unwrap();
    assert!(last.contains("earlier run of tau"), "{last}");
}

#[tokio::test]
async fn masking_can_be_switched_off() {
    let place = place("bash", &json!({"command": "true"})).await;
    assert_eq!(run(&mut place.tau(&["-p", "go", "--mask-secrets=false"]), None).await.code, 0);
    assert!(place.server.requests().pop().unwrap().contains(TOKEN));
}

#[tokio::test]
async fn a_known_key_is_masked_in_every_form_that_a_command_gives_it() {
    let forms = [
        "cat k",
        "base64 k",
        "printf ab | cat - k | base64 -w 7",
        "base64 k | tr +/ -_",
        "xxd k || od -An -tx1 k",
        "od -An -tx1 k",
        "od -An -tx1 k | tr -d ' \\n' | tr a-f A-F",
        "od -An -tx1 k | tr ' ' %",
        "rev k",
        "sed 's/^/x=/; s/-/%2D/g' k",
        "head -c 9 k; sleep 0.1; tail -c +10 k",
    ];
    for key in ["hunter2-password-of-mine", "correcthorsebattery"] {
        let acts = forms.iter().map(|form| calls("bash", &json!({"command": form}))).chain([says("done")]);
        let place = Place::new(acts.collect()).await;
        let config = place.dir.path().join("config");
        std::fs::create_dir_all(&config).unwrap();
        let auth = json!({"openai": {"type": "api_key", "key": key}});
        std::fs::write(config.join("auth.json"), auth.to_string()).unwrap();
        std::fs::write(place.dir.path().join("k"), key).unwrap();
        let mut command = place.tau(&["--mode", "json"]);
        let ended = run(command.env("TAU_HOME", &config).arg("go"), None).await;
        assert_eq!(ended.code, 0, "{ended:?}");
        let sent = place.server.requests().pop().unwrap();
        let squeezed: String = sent.replace("\\n", "").to_lowercase().split_whitespace().collect();
        let bytes = key.as_bytes();
        let half = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let backwards: String = key.chars().rev().collect();
        for part in [&key[..10], &backwards[..10], &half(&bytes[2..10])] {
            assert!(!squeezed.contains(part), "{part}: {sent}");
        }
        for part in ["aHVudGVyMi1w", "Y29ycmVjdGhv", "1bnRlcjItcGFz", "h1bnRlcjIt", "b3JyZWN0aG9y"] {
            assert!(!sent.replace("\\n", "").contains(part), "{part}: {sent}");
        }
        assert!(sent.matches("secret of your environment]").count() >= forms.len(), "{sent}");
    }
}
