//! Sessions: several at once, loaded, resumed, listed, closed, deleted; their options.

use super::*;
use crate::support::program::{calls, says};

#[tokio::test]
async fn a_session_is_listed_loaded_resumed_and_deleted() {
    let acts = vec![calls("bash", &json!({"command": "ls"})), says("first answer"), says("second answer")];
    let mut editor = Editor::new(acts).await;
    let session = editor.session().await;
    let id = editor.prompt(&session, "the first prompt").await;
    editor.answer(id).await;
    let cwd = editor.cwd();
    let opened = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
    let listed = editor.ask("session/list", json!({"cwd": cwd})).await;
    let row = &listed["result"]["sessions"][0];
    assert_eq!((&row["sessionId"], &row["title"]), (&json!(session), &json!("the first prompt")), "{listed}");
    assert!(row["updatedAt"].as_str().is_some_and(|time| time.ends_with('Z')), "{row}");
    let open = editor.ask("session/delete", json!({"sessionId": session})).await;
    assert_eq!(refusal(&open).0, -32600, "{open}");
    assert_eq!(editor.ask("session/close", json!({"sessionId": session})).await["result"], json!({}));
    let closed = editor.prompt(&session, "too late").await;
    assert_eq!(refusal(&editor.answer(closed).await).0, -32002);

    editor.seen();
    let loaded = editor.ask("session/load", opened.clone()).await;
    assert_eq!(loaded["result"]["modes"]["currentModeId"], "auto", "{loaded}");
    let seen = editor.seen();
    assert_eq!(text_of(&seen, "user_message_chunk"), "the first prompt");
    assert_eq!(text_of(&seen, "agent_message_chunk"), "first answer");
    assert!(seen.iter().any(|update| update["status"] == "completed"), "{seen:?}");
    editor.ask("session/close", json!({"sessionId": session})).await;

    editor.seen();
    let resumed = editor.ask("session/resume", opened.clone()).await;
    assert!(resumed["result"]["configOptions"].is_array(), "{resumed}");
    assert_eq!(text_of(&editor.seen(), "user_message_chunk"), "");
    let id = editor.prompt(&session, "the second prompt").await;
    assert_eq!(editor.answer(id).await["result"]["stopReason"], "end_turn");
    // It is no run of -p, which lists leave out.
    let rows = editor.tau(&["sessions"]).await;
    assert!(rows.contains("the first prompt"), "{rows}");
    assert!(editor.server.requests().pop().unwrap().contains("first answer"), "the history is sent");
    editor.ask("session/close", json!({"sessionId": session})).await;

    let elsewhere = json!({"sessionId": session, "cwd": "/", "mcpServers": []});
    let (code, text) = refusal(&editor.ask("session/load", elsewhere).await);
    assert!(code == -32602 && text.contains(&cwd.display().to_string()), "{code} {text}");
    for _ in 0..2 {
        let deleted = editor.ask("session/delete", json!({"sessionId": session})).await;
        assert_eq!(deleted["result"], json!({}), "{deleted}");
    }
    assert_eq!(editor.ask("session/list", json!({})).await["result"]["sessions"], json!([]));
    assert_eq!(refusal(&editor.ask("session/load", opened).await).0, -32002);
    assert_eq!(editor.end().await, 0);
}

#[tokio::test]
async fn sessions_run_beside_each_other_in_their_own_directories() {
    let slow = calls("bash", &json!({"command": "pwd; touch here; sleep 1"}));
    let mut editor = Editor::new(vec![slow.clone(), slow, says("done")]).await;
    let (first, second) = (editor.cwd().join("first"), editor.cwd().join("second"));
    let mut sessions = Vec::new();
    for dir in [&first, &second] {
        std::fs::create_dir(dir).unwrap();
        let answer = editor.ask("session/new", json!({"cwd": dir, "mcpServers": []})).await;
        sessions.push(answer["result"]["sessionId"].as_str().unwrap().to_owned());
    }
    let one = editor.prompt(&sessions[0], "go").await;
    let two = editor.prompt(&sessions[1], "go").await;
    for id in [one, two] {
        assert_eq!(editor.answer(id).await["result"]["stopReason"], "end_turn");
    }
    let outputs: Vec<(String, String)> = editor
        .updates
        .drain(..)
        .filter(|(_, update)| update["status"] == "completed")
        .map(|(session, update)| {
            (session, update["content"][0]["content"]["text"].as_str().unwrap().to_owned())
        })
        .collect();
    for (session, dir) in sessions.iter().zip([&first, &second]) {
        assert!(dir.join("here").exists());
        let own = outputs.iter().find(|(of, _)| of == session).expect("an output");
        assert!(own.1.contains(&dir.display().to_string()), "{own:?}");
    }
    assert_eq!(editor.end().await, 0);
}

#[tokio::test]
async fn modes_and_options_are_offered_and_changed() {
    let mut editor = Editor::start(vec![says("x")], &["--permission-mode", "ask"]).await;
    editor.ask("initialize", json!({"protocolVersion": 1})).await;
    let params = json!({"cwd": editor.cwd(), "mcpServers": []});
    let answer = editor.ask("session/new", params).await;
    let result = &answer["result"];
    assert_eq!(result["modes"]["currentModeId"], "ask", "{result}");
    let offered = result["modes"]["availableModes"].as_array().unwrap();
    let offered: Vec<&str> = offered.iter().map(|mode| mode["id"].as_str().unwrap()).collect();
    assert_eq!(offered, ["ask", "plan"], "none above the one that tau was started with");
    let options = result["configOptions"].as_array().unwrap();
    let ids: Vec<&str> = options.iter().map(|option| option["id"].as_str().unwrap()).collect();
    assert_eq!(ids[..2], ["mode", "model"], "{options:?}");
    let session = result["sessionId"].as_str().unwrap().to_owned();
    let set = |option: &str, value: &str| json!({"sessionId": session, "configId": option, "value": value});
    let changed = editor.ask("session/set_config_option", set("mode", "plan")).await;
    assert_eq!(changed["result"]["configOptions"][0]["currentValue"], "plan", "{changed}");
    assert_eq!(editor.update("current_mode_update").await["currentModeId"], "plan");
    let raised = editor.ask("session/set_config_option", set("mode", "auto")).await;
    assert!(refusal(&raised).1.contains("cannot be raised"), "{raised}");
    let raised = editor.ask("session/set_mode", json!({"sessionId": session, "modeId": "auto"})).await;
    assert!(refusal(&raised).1.contains("cannot be raised"), "{raised}");
    for (option, value) in [("mode", "none"), ("model", "none"), ("thinking", "none"), ("none", "none")] {
        let answer = editor.ask("session/set_config_option", set(option, value)).await;
        assert_eq!(refusal(&answer).0, -32602, "{option}: {answer}");
    }
    assert_eq!(editor.end().await, 0);
}

#[tokio::test]
async fn without_a_key_the_client_is_told_how_to_log_in() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(vec![says("x")]).await;
    let mut command = bare(dir.path());
    command.arg("acp").stdin(Stdio::piped()).stderr(Stdio::null());
    let mut editor = Editor::of(command.spawn().unwrap(), server, dir);
    let capabilities = json!({"auth": {"terminal": true}});
    let answer =
        editor.ask("initialize", json!({"protocolVersion": 7, "clientCapabilities": capabilities})).await;
    assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
    let ways = answer["result"]["authMethods"].as_array().unwrap();
    assert_eq!((&ways[0]["id"], &ways[1]["args"]), (&json!("keys"), &json!(["--login"])), "{ways:?}");
    // The registry of the protocol asks as clients did before.
    let capabilities = json!({"terminal": true, "_meta": {"terminal-auth": true}});
    let answer =
        editor.ask("initialize", json!({"protocolVersion": 1, "clientCapabilities": capabilities})).await;
    let way = &answer["result"]["authMethods"][1];
    let command = &way["_meta"]["terminal-auth"];
    assert_eq!((&way["type"], &command["args"]), (&json!("terminal"), &json!(["acp", "--login"])), "{way}");
    assert!(Path::new(command["command"].as_str().unwrap()).is_file(), "{way}");
    let params = json!({"cwd": editor.cwd(), "mcpServers": []});
    let (code, text) = refusal(&editor.ask("session/new", params).await);
    assert!(code == -32000 && text.contains("ANTHROPIC_API_KEY"), "{code} {text}");
    assert_eq!(refusal(&editor.ask("authenticate", json!({"methodId": "keys"})).await).0, -32000);
    assert_eq!(refusal(&editor.ask("authenticate", json!({"methodId": "x"})).await).0, -32602);
    assert_eq!(editor.end().await, 0);
}

#[tokio::test]
async fn a_fork_is_another_session_with_the_same_beginning() {
    let mut editor = Editor::new(vec![says("first answer"), says("of the fork"), says("of the first")]).await;
    let session = editor.session().await;
    let id = editor.prompt(&session, "the first prompt").await;
    editor.answer(id).await;
    let params = json!({"sessionId": session, "cwd": editor.cwd(), "mcpServers": []});
    let forked = editor.ask("session/fork", params.clone()).await;
    let fork = forked["result"]["sessionId"].as_str().unwrap().to_owned();
    assert!(fork != session && forked["result"]["modes"]["currentModeId"] == "auto", "{forked}");
    editor.seen();
    for (session, words) in [(&fork, "go left"), (&session, "go right")] {
        let id = editor.prompt(session, words).await;
        assert_eq!(editor.answer(id).await["result"]["stopReason"], "end_turn");
        let request = editor.server.requests().pop().unwrap();
        assert!(request.contains("first answer") && request.contains(words), "{request}");
    }
    assert!(!editor.server.requests().pop().unwrap().contains("go left"));
    let listed = editor.ask("session/list", json!({"cwd": editor.cwd()})).await;
    assert_eq!(listed["result"]["sessions"].as_array().unwrap().len(), 2, "{listed}");
    let missing = json!({"sessionId": "nobody", "cwd": editor.cwd(), "mcpServers": []});
    assert_eq!(refusal(&editor.ask("session/fork", missing).await).0, -32002);
    assert_eq!(editor.end().await, 0);
}

#[tokio::test]
async fn runs_of_print_mode_are_listed_once_they_have_a_name() {
    let mut editor = Editor::new(Vec::new()).await;
    let said = editor.tau(&["-p", "--model", "demo", "a run of a script"]).await;
    assert!(!said.is_empty());
    let all = editor.tau(&["sessions", "--print"]).await;
    assert!(all.contains("a run of a script"), "{all}");
    for params in [json!({"cwd": editor.cwd()}), json!({})] {
        let listed = editor.ask("session/list", params).await;
        assert_eq!(listed["result"]["sessions"], json!([]), "{listed}");
    }
    editor.tau(&["-p", "--model", "demo", "--name", "kept", "another run"]).await;
    let listed = editor.ask("session/list", json!({"cwd": editor.cwd()})).await;
    let titles: Vec<_> = listed["result"]["sessions"].as_array().unwrap().iter().collect();
    assert!(titles.len() == 1 && titles[0]["title"] == "kept", "{listed}");
    assert_eq!(editor.end().await, 0);
}

#[tokio::test]
async fn sessions_of_other_agents_are_listed_and_continued_in_a_copy() {
    let mut editor = Editor::new(vec![says("continued")]).await;
    let cwd = editor.cwd().canonicalize().unwrap();
    let name = cwd.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let folder = editor.dir.path().join(".claude/projects").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let text =
        include_str!("../foreign_sessions/claude.jsonl").replace("/home/dev/shop", &cwd.to_string_lossy());
    let id = "5f0a7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f";
    std::fs::write(folder.join(format!("{id}.jsonl")), &text).unwrap();
    let listed = editor.ask("session/list", json!({"cwd": cwd})).await;
    let row = &listed["result"]["sessions"][0];
    assert_eq!((&row["sessionId"], &row["title"]), (&json!(id), &json!("Basket lost at login")), "{listed}");
    let odd = serde_json::to_string("Basket\u{1b}\nlost at login").unwrap();
    std::fs::write(folder.join(format!("{id}.jsonl")), text.replace("\"Basket lost at login\"", &odd))
        .unwrap();
    let listed = editor.ask("session/list", json!({"cwd": cwd})).await;
    let row = &listed["result"]["sessions"][0];
    assert_eq!(row["title"], "Basket lost at login", "on one line, without control characters: {listed}");
    std::fs::write(folder.join(format!("{id}.jsonl")), &text).unwrap();
    let refused = editor.ask("session/delete", json!({"sessionId": id})).await;
    assert!(refused["error"].to_string().contains("delete it in Claude Code"), "{refused}");
    let opened = json!({"sessionId": id, "cwd": cwd, "mcpServers": []});
    editor.ask("session/load", opened.clone()).await;
    assert!(text_of(&editor.seen(), "agent_message_chunk").contains("The basket is kept under the old id."));
    let prompt = editor.prompt(id, "continue").await;
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
    let said = text_of(&editor.seen(), "agent_message_chunk");
    assert!(said.contains("not carried over from Claude Code: 1 file checkpoint"), "{said}");
    editor.ask("session/close", json!({"sessionId": id})).await;
    let rows = editor.tau(&["sessions"]).await;
    assert!(rows.contains("tau:5e6f") && rows.contains("claude:5e6f"), "{rows}");
    let ambiguous = editor.tau(&["export", "5e6f", "-"]).await;
    assert!(ambiguous.contains("tau:5e6f") && ambiguous.contains("claude:5e6f"), "{ambiguous}");
    for (name, has_more) in [("tau:5e6f", true), ("claude:5e6f", false), (&format!("claude:{id}"), false)] {
        let exported = editor.tau(&["export", name, "-", "--format", "md"]).await;
        assert!(exported.contains("The basket is kept"), "{name}: {exported}");
        assert_eq!(exported.contains("continued"), has_more, "{name}: {exported}");
    }
    // The original is as it was; the copy has its id, and is the one that is listed and loaded now.
    assert_eq!(std::fs::read_to_string(folder.join(format!("{id}.jsonl"))).unwrap(), text);
    let listed = editor.ask("session/list", json!({"cwd": cwd})).await;
    assert_eq!(listed["result"]["sessions"].as_array().unwrap().len(), 1, "{listed}");
    editor.seen();
    editor.ask("session/load", opened).await;
    assert!(text_of(&editor.seen(), "agent_message_chunk").contains("continued"));
    assert_eq!(editor.end().await, 0);
}

/// Each looked at the session before the other had written its copy.
#[tokio::test]
async fn two_editors_continue_a_session_of_another_agent_in_two_copies() {
    let mut first = Editor::new(vec![says("answer to A")]).await;
    let server = Server::start(vec![says("answer to B")]).await;
    let mut command = bare(first.dir.path());
    command.arg("acp").args(own_model(&server.url())).stdin(Stdio::piped()).stderr(Stdio::null());
    let mut second = Editor::of(command.spawn().unwrap(), server, tempfile::tempdir().unwrap());
    second.ask("initialize", json!({"protocolVersion": 1, "clientCapabilities": {}})).await;
    let cwd = first.cwd();
    let name = cwd.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let folder = first.dir.path().join(".claude/projects").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let text =
        include_str!("../foreign_sessions/claude.jsonl").replace("/home/dev/shop", &cwd.to_string_lossy());
    let id = "5f0a7c1e-8f0e-4a53-9d3c-1b2f3c4d5e6f";
    std::fs::write(folder.join(format!("{id}.jsonl")), &text).unwrap();
    let opened = json!({"sessionId": id, "cwd": cwd, "mcpServers": []});
    for editor in [&mut first, &mut second] {
        editor.ask("session/load", opened.clone()).await;
    }
    let prompts = [first.prompt(id, "said in A").await, second.prompt(id, "said in B").await];
    let mut told = String::new();
    for (editor, prompt) in [&mut first, &mut second].into_iter().zip(prompts) {
        assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
        told += &text_of(&editor.seen(), "agent_message_chunk");
    }
    assert_eq!(second.end().await, 0);
    let rows: Vec<Value> = serde_json::from_str(&first.tau(&["sessions", "--json"]).await).unwrap();
    let own = rows.iter().filter(|row| row["source"] == "tau").map(|row| row["id"].as_str().unwrap());
    let (named, others): (Vec<&str>, Vec<&str>) = own.partition(|own| *own == id);
    assert_eq!((named.len(), others.len()), (1, 1), "{rows:?}");
    assert!(
        told.contains(&format!("another tau has continued {id} already: this copy is {}", others[0])),
        "{told}"
    );
    let mut texts = Vec::new();
    for id in [id, others[0]] {
        texts.push(first.tau(&["export", &format!("tau:{id}"), "-", "--format", "md"]).await);
    }
    for name in ["A", "B"] {
        let has = |text: &&String| {
            text.contains(&format!("said in {name}")) && text.contains(&format!("answer to {name}"))
        };
        assert_eq!(texts.iter().filter(has).count(), 1, "{name}: {texts:?}");
    }
    assert_eq!(first.end().await, 0);
}
