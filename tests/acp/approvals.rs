//! Calls waiting for the user: the options, their effects, and withdrawn requests.

use super::*;
use crate::support::program::{calls, own_model, says};

/// Runs one prompt in ask mode whose call writes a file; `option` is chosen, or the request is answered
/// `cancelled`. Returns the request, the answer of the prompt, and the text of the file.
async fn decided(option: Option<&str>) -> (Value, Value, String) {
    let acts = vec![calls("write", &json!({"path": "a.txt", "content": "new\n"})), says("done")];
    let mut editor = Editor::new(acts).await;
    let session = editor.session().await;
    let answer = editor.ask("session/set_mode", json!({"sessionId": session, "modeId": "ask"})).await;
    assert_eq!(answer["result"], json!({}), "{answer}");
    assert_eq!(editor.update("current_mode_update").await["currentModeId"], "ask");
    let id = editor.prompt(&session, "go").await;
    let request = editor.asked("session/request_permission").await;
    let outcome = match option {
        Some(option) => json!({"outcome": "selected", "optionId": option}),
        None => json!({"outcome": "cancelled"}),
    };
    editor.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": {"outcome": outcome}})).await;
    let answer = editor.answer(id).await;
    let text = file(&editor.cwd(), "a.txt");
    assert_eq!(editor.end().await, 0);
    (request, answer, text)
}

#[tokio::test]
async fn the_options_are_those_of_the_prompt_on_the_screen() {
    let (request, answer, text) = decided(Some("allow")).await;
    let params = &request["params"];
    let options: Vec<&str> = params["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|option| option["optionId"].as_str().unwrap())
        .collect();
    let expected = *tau::tools::words!(
        "allow always-exact always-session always-local always-project always-user deny deny-and-stop"
    );
    assert_eq!(options, expected, "{params}");
    let diff = &params["toolCall"]["content"][0];
    assert_eq!((&diff["type"], &diff["newText"]), (&json!("diff"), &json!("new\n")), "{diff}");
    assert!(diff["path"].as_str().unwrap().ends_with("/a.txt") && diff["oldText"].is_null(), "{diff}");
    assert_eq!((&answer["result"]["stopReason"], text.as_str()), (&json!("end_turn"), "new\n"), "{answer}");
}

/// The ids of the options offered to the client of this name.
async fn offered(client: &str) -> Vec<String> {
    let call = calls("write", &json!({"path": "a.txt", "content": "new\n"}));
    let mut editor = Editor::start(vec![call, says("done")], &["--permission-mode", "ask"]).await;
    let info = json!({"name": client, "version": "1.0.0"});
    editor.ask("initialize", json!({"protocolVersion": 1, "clientInfo": info})).await;
    let session = editor.session().await;
    let id = editor.prompt(&session, "go").await;
    let request = editor.asked("session/request_permission").await;
    let outcome = json!({"outcome": {"outcome": "cancelled"}});
    editor.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": outcome})).await;
    assert_eq!(editor.answer(id).await["result"]["stopReason"], "cancelled");
    assert_eq!(editor.end().await, 0);
    let options = request["params"]["options"].as_array().unwrap();
    options.iter().map(|option| option["optionId"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_client_that_hides_the_names_of_options_gets_the_narrowest_of_each_kind() {
    assert_eq!(offered("CodeCompanion.nvim").await, ["allow", "always-exact", "deny"]);
    assert_eq!(offered("zed").await.len(), 8);
}

#[tokio::test]
async fn each_option_does_what_it_says() {
    let cases = [
        (Some("always-session"), "end_turn", "new\n"),
        (Some("deny"), "end_turn", ""),
        (Some("nonsense"), "end_turn", ""),
        (Some("deny-and-stop"), "cancelled", ""),
        (None, "cancelled", ""),
    ];
    for (option, reason, text) in cases {
        let (_, answer, written) = decided(option).await;
        assert_eq!(
            (answer["result"]["stopReason"].as_str(), written.as_str()),
            (Some(reason), text),
            "{option:?}"
        );
    }
}

#[tokio::test]
async fn a_cancelled_prompt_withdraws_its_question() {
    let acts = vec![calls("bash", &json!({"command": "touch b.txt"})), says("never")];
    let mut editor = Editor::new(acts).await;
    let session = editor.session().await;
    editor.ask("session/set_mode", json!({"sessionId": session, "modeId": "ask"})).await;
    let id = editor.prompt(&session, "go").await;
    let request = editor.asked("session/request_permission").await;
    editor.notify("session/cancel", json!({"sessionId": session})).await;
    assert_eq!(editor.answer(id).await["result"], json!({"stopReason": "cancelled"}));
    let withdrawn = editor.seen().into_iter().find(|update| update["method"] == "$/cancel_request");
    assert_eq!(withdrawn.expect("a withdrawal")["params"]["requestId"], request["id"]);
    // As the protocol requires, the editor answers anyway.
    let result = json!({"outcome": {"outcome": "cancelled"}});
    editor.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).await;
    assert!(!editor.cwd().join("b.txt").exists());
    assert_eq!(editor.end().await, 0);
}

/// The setup of docs/editors.md: no mode was chosen, so the editor is asked.
#[tokio::test]
async fn without_a_mode_the_editor_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(vec![calls("bash", &json!({"command": "touch made"})), says("done")]).await;
    let mut command = bare(dir.path());
    command.arg("acp").args(own_model(&server.url()));
    command.stdin(Stdio::piped()).stderr(Stdio::null());
    let mut editor = Editor::of(command.spawn().unwrap(), server, dir);
    editor.ask("initialize", json!({"protocolVersion": 1})).await;
    let params = json!({"cwd": editor.cwd(), "mcpServers": []});
    let answer = editor.ask("session/new", params).await;
    assert_eq!(answer["result"]["modes"]["currentModeId"], "ask", "{answer}");
    let session = answer["result"]["sessionId"].as_str().unwrap().to_owned();
    editor.prompt(&session, "go").await;
    editor.asked("session/request_permission").await;
    assert!(!Path::new(&editor.cwd()).join("made").exists());
}

#[tokio::test]
async fn nothing_is_hidden_in_what_the_client_is_asked() {
    let blanks = " ".repeat(10_000);
    for (name, arguments) in [
        ("bash", json!({"command": format!("sh bu\u{200b}ild.sh{blanks}; evil")})),
        ("write", json!({"path": "bu\u{200b}ild.sh", "content": format!("bu\u{200b}ild{blanks}; evil")})),
    ] {
        let mut editor =
            Editor::start(vec![calls(name, &arguments), says("done")], &["--permission-mode", "ask"]).await;
        editor.ask("initialize", json!({"protocolVersion": 1})).await;
        let session = editor.session().await;
        let id = editor.prompt(&session, "go").await;
        let request = editor.asked("session/request_permission").await;
        let call = &request["params"]["toolCall"];
        for text in [&call["title"], &call["content"]] {
            let text = text.to_string();
            assert!(text.contains("bu<U+200B>ild") && !text.contains("bu\u{200b}ild\""), "{text}");
        }
        assert!(call["content"].to_string().contains("⋯ 10,000 blanks ⋯; evil"), "{call}");
        let outcome = json!({"outcome": {"outcome": "cancelled"}});
        editor.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": outcome})).await;
        editor.answer(id).await;
        assert_eq!(editor.end().await, 0);
    }
}

#[tokio::test]
async fn what_would_be_lost_is_in_what_the_client_is_asked() {
    let acts = vec![calls("bash", &json!({"command": "rm -rf ~/"})), says("done")];
    let mut editor = Editor::start(acts, &["--permission-mode", "auto"]).await;
    editor.ask("initialize", json!({"protocolVersion": 1})).await;
    let session = editor.session().await;
    let id = editor.prompt(&session, "go").await;
    let request = editor.asked("session/request_permission").await;
    let content = request["params"]["toolCall"]["content"].to_string();
    assert!(content.contains("it removes your home directory"), "{content}");
    let outcome = json!({"outcome": {"outcome": "cancelled"}});
    editor.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": outcome})).await;
    editor.answer(id).await;
    assert_eq!(editor.end().await, 0);
}

#[tokio::test]
async fn an_answer_in_one_session_leaves_the_request_of_another() {
    let write = |path: &str| calls("write", &json!({"path": path, "content": "new\n"}));
    let acts = vec![write("a.txt"), write("b.txt"), says("done"), says("done")];
    let mut editor = Editor::start(acts, &["--permission-mode", "ask"]).await;
    editor.ask("initialize", json!({"protocolVersion": 1})).await;
    let mut asked = Vec::new();
    for _ in 0..2 {
        let session = editor.session().await;
        let prompt = editor.prompt(&session, "go").await;
        asked.push((prompt, editor.asked("session/request_permission").await["id"].clone()));
    }
    for (prompt, request) in asked {
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": "allow"}});
        editor.send(json!({"jsonrpc": "2.0", "id": request, "result": outcome})).await;
        assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
    }
    assert_eq!(
        (file(&editor.cwd(), "a.txt"), file(&editor.cwd(), "b.txt")),
        ("new\n".into(), "new\n".into())
    );
    assert_eq!(editor.end().await, 0);
}
