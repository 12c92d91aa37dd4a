//! Contributions of the editor: its unsaved text, its MCP servers, its forms.

use super::*;
use crate::mcp::server;
use crate::support::program::{body, calls, says};

/// Answers tau's requests about files until the prompt is answered. `text` is the editor's version of every
/// file; text to write is written and kept.
async fn with_files(editor: &mut Editor, id: i64, text: Option<&str>) -> (Value, Vec<Value>) {
    let mut written = Vec::new();
    loop {
        if let Some(at) = editor.answers.iter().position(|answer| answer["id"] == id) {
            return (editor.answers.remove(at), written);
        }
        let Some(request) = editor.requests.pop_front() else {
            editor.take().await;
            continue;
        };
        let params = &request["params"];
        let mut answer = json!({"jsonrpc": "2.0", "id": request["id"]});
        match (request["method"].as_str().unwrap(), text) {
            ("fs/read_text_file", Some(text)) if written.is_empty() => {
                answer["result"] = json!({"content": text});
            }
            ("fs/write_text_file", Some(_)) => {
                let path = params["path"].as_str().unwrap();
                std::fs::write(path, params["content"].as_str().unwrap()).unwrap();
                written.push(params.clone());
                answer["result"] = json!({});
            }
            _ => answer["error"] = json!({"code": -32603, "message": "no such buffer"}),
        }
        editor.send(answer).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unsaved_text_is_read_and_changed() {
    let edit = json!({"path": "a.txt", "old_string": "unsaved", "new_string": "changed"});
    let acts = vec![calls("read", &json!({"path": "a.txt"})), calls("edit", &edit), says("done")];
    let files = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    for (shown, expected, is_unsaved) in [
        // As in most editors, the buffer has plain line ends.
        (Some("one\nunsaved\n"), "one\r\nchanged\r\n", true),
        // Some send the last line without its end.
        (Some("one\nunsaved"), "one\r\nchanged\r\n", true),
        (Some("one\nsaved"), "one\r\nsaved\r\n", false),
        (None, "one\r\nsaved\r\n", false),
    ] {
        let mut editor = Editor::with(acts.clone(), files.clone()).await;
        std::fs::write(editor.cwd().join("a.txt"), "one\r\nsaved\r\n").unwrap();
        let session = editor.session().await;
        let id = editor.prompt(&session, "go").await;
        let (answer, written) = with_files(&mut editor, id, shown).await;
        assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
        assert_eq!(file(&editor.cwd(), "a.txt"), expected);
        assert_eq!(written.len(), usize::from(is_unsaved), "{written:?}");
        let read = editor.server.requests().get(1).cloned().unwrap();
        assert_eq!(read.contains("unsaved"), is_unsaved, "{read}");
        assert_eq!(read.contains("not saved yet"), is_unsaved, "{read}");
        assert_eq!(editor.end().await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_that_cannot_write_leaves_the_file_alone() {
    let acts = vec![calls("write", &json!({"path": "new.txt", "content": "x"})), says("done")];
    let mut editor = Editor::with(acts, json!({"fs": {"writeTextFile": true}})).await;
    let session = editor.session().await;
    let id = editor.prompt(&session, "go").await;
    let (answer, _) = with_files(&mut editor, id, None).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    assert!(!editor.cwd().join("new.txt").exists());
    let request = editor.server.requests().pop().unwrap();
    assert!(request.contains("no such buffer"), "the model learns why: {request}");
    assert_eq!(editor.end().await, 0);
}

/// The tests' server, as editors specify servers.
fn given(manner: &str) -> Value {
    let parsed: toml::Table = server::config("demo", manner, "").parse().unwrap();
    let server = &parsed["mcp"]["demo"];
    let args: Vec<&str> =
        server["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    let env: Vec<Value> = server["env"]
        .as_table()
        .unwrap()
        .iter()
        .map(|(name, value)| json!({"name": name, "value": value.as_str().unwrap()}))
        .collect();
    json!({"name": "demo", "command": server["command"].as_str().unwrap(), "args": args, "env": env})
}

#[tokio::test(flavor = "multi_thread")]
async fn mcp_servers_of_the_editor_are_used() {
    let acts = vec![calls("mcp__demo__echo", &json!({"text": "$LANG"})), says("done")];
    let mut editor = Editor::new(acts).await;
    let params = json!({"cwd": editor.cwd(), "mcpServers": [given("usual")]});
    let session = editor.ask("session/new", params).await["result"]["sessionId"].as_str().unwrap().to_owned();
    let id = editor.prompt(&session, "go").await;
    assert_eq!(editor.answer(id).await["result"]["stopReason"], "end_turn");
    let request = editor.server.requests().pop().unwrap();
    assert!(request.contains("usual said: $LANG"), "{request}");
    let old = json!({"type": "sse", "name": "old", "url": "http://localhost:1/sse", "headers": []});
    let answer = editor.ask("session/new", json!({"cwd": editor.cwd(), "mcpServers": [old]})).await;
    assert_eq!(refusal(&answer).0, -32602, "{answer}");
    assert_eq!(editor.end().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_of_servers_are_shown_by_editors_that_can() {
    let answers = [
        (
            json!({"elicitation": {"form": {}}}),
            Some(json!({"action": "accept", "content": {"name": "Ada", "color": "blue"}})),
            "accept",
        ),
        (json!({"elicitation": {"form": {}}}), Some(json!({"action": "decline"})), "decline"),
        (json!({}), None, "decline"),
    ];
    for (capabilities, answer, expected) in answers {
        let acts = vec![calls("mcp__demo__ask", &json!({})), says("done")];
        let mut editor = Editor::with(acts, capabilities).await;
        let params = json!({"cwd": editor.cwd(), "mcpServers": [given("offers")]});
        let session =
            editor.ask("session/new", params).await["result"]["sessionId"].as_str().unwrap().to_owned();
        let id = editor.prompt(&session, "go").await;
        if let Some(answer) = answer {
            let request = editor.asked("elicitation/create").await;
            let schema = &request["params"]["requestedSchema"];
            assert_eq!(schema["properties"]["name"]["minLength"], 2, "{request}");
            assert!(schema["required"].as_array().unwrap().contains(&json!("name")), "{request}");
            editor.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": answer})).await;
        }
        assert_eq!(editor.answer(id).await["result"]["stopReason"], "end_turn");
        let request = editor.server.requests().pop().unwrap();
        let body = body(&request);
        let result = body["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
        assert!(result.contains(expected), "{result}");
        assert_eq!(editor.end().await, 0);
    }
}

#[tokio::test]
async fn questions_of_the_model_are_shown_by_editors_that_can() {
    let questions = json!({"questions": [
        {"question": "Which \u{202e}one?", "choices": ["a", "b"]},
        {"question": "Which ones?", "choices": ["c", "d", "e"], "multiple": true},
        {"question": "What name?"},
    ]});
    let content = json!({"choices0": "1", "choices1": ["0", "2"], "text1": "and f", "text2": "g"});
    let form = json!({"elicitation": {"form": {}}});
    let cases = [
        (
            form.clone(),
            Some(json!({"action": "accept", "content": content})),
            "1. b\n2. c; e; in the user's own words: and f\n3. g",
        ),
        (form.clone(), Some(json!({"action": "decline"})), "The user declined to answer"),
        (form, Some(json!({"action": "cancel"})), "The user declined to answer"),
        (json!({}), None, "Nobody can answer"),
    ];
    for (capabilities, answer, expected) in cases {
        let mut editor = Editor::with(vec![calls("ask_user", &questions), says("done")], capabilities).await;
        let session = editor.session().await;
        let id = editor.prompt(&session, "go").await;
        if let Some(answer) = answer {
            let request = editor.asked("elicitation/create").await;
            let schema = &request["params"]["requestedSchema"];
            assert_eq!(schema["properties"]["choices0"]["oneOf"][1], json!({"const": "1", "title": "b"}));
            assert_eq!(schema["properties"]["choices0"]["title"], "Which <U+202E>one?");
            assert_eq!(schema["required"], json!(["text2"]));
            editor.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": answer})).await;
        }
        assert_eq!(editor.answer(id).await["result"]["stopReason"], "end_turn");
        let result = crate::asking::result_of(editor.server.requests().last().unwrap());
        assert!(result.starts_with(expected), "{result}");
        assert_eq!(editor.end().await, 0);
    }
}
