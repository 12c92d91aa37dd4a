//! Prompts: streaming, stop reasons, and the accepted content.

use super::*;
use crate::support::program::{calls, says, stalls};

#[tokio::test]
async fn a_prompt_streams_text_and_a_tool_call() {
    let acts = vec![calls("bash", &json!({"command": "echo from the tool"})), says("all done")];
    let mut editor = Editor::new(acts).await;
    let session = editor.session().await;
    let id = editor.prompt(&session, "go").await;
    let answer = editor.answer(id).await;
    assert_eq!(answer["result"], json!({"stopReason": "end_turn"}), "{answer}");
    let seen = editor.seen();
    assert_eq!(text_of(&seen, "agent_message_chunk"), "all done");
    let call = seen.iter().find(|update| update["sessionUpdate"] == "tool_call").expect("a call");
    assert_eq!((&call["kind"], &call["name"]), (&json!("execute"), &json!("bash")), "{call}");
    let updates: Vec<&Value> =
        seen.iter().filter(|update| update["sessionUpdate"] == "tool_call_update").collect();
    assert!(updates.iter().all(|update| update["toolCallId"] == call["toolCallId"]), "{updates:?}");
    let has = |field: &str, value: Value| updates.iter().any(|update| update[field] == value);
    assert!(has("title", json!("echo from the tool")), "{updates:?}");
    assert!(has("rawInput", json!({"command": "echo from the tool"})), "{updates:?}");
    assert!(has("status", json!("in_progress")), "{updates:?}");
    let end = updates.iter().find(|update| update["status"] == "completed").expect("an end");
    assert!(end["content"][0]["content"]["text"].as_str().unwrap().contains("from the tool\n"), "{end}");
    assert_eq!(end["rawOutput"]["exitCode"], 0, "{end}");
    assert_eq!(editor.end().await, 0);
}

#[tokio::test]
async fn a_cancelled_prompt_is_answered_and_the_next_waits_for_it() {
    let mut editor = Editor::new(vec![stalls("so far"), says("afterwards")]).await;
    let session = editor.session().await;
    let id = editor.prompt(&session, "go").await;
    let chunk = editor.update("agent_message_chunk").await;
    assert_eq!(chunk["content"]["text"], "so far");
    let busy = editor.prompt(&session, "too early").await;
    let (code, text) = refusal(&editor.answer(busy).await);
    assert!(code == -32600 && text.contains("session/cancel"), "{code} {text}");
    editor.notify("session/cancel", json!({"sessionId": session})).await;
    // One that waits can be cancelled, too.
    let dropped = editor.prompt(&session, "never mind").await;
    editor.notify("$/cancel_request", json!({"requestId": dropped})).await;
    let next = editor.prompt(&session, "again").await;
    assert_eq!(editor.answer(dropped).await["result"], json!({"stopReason": "cancelled"}));
    assert_eq!(editor.answer(id).await["result"], json!({"stopReason": "cancelled"}));
    assert_eq!(editor.answer(next).await["result"], json!({"stopReason": "end_turn"}));
    assert!(text_of(&editor.seen(), "agent_message_chunk").ends_with("afterwards"));
    // Nothing is running any more: there is nothing to cancel.
    editor.notify("session/cancel", json!({"sessionId": session})).await;
    editor.notify("session/cancel", json!({"sessionId": "none"})).await;
    assert_eq!(editor.end().await, 0);
}

#[tokio::test]
async fn a_running_command_is_cancelled() {
    let acts = vec![calls("bash", &json!({"command": "echo begun; exec sleep 600"})), says("never")];
    let mut editor = Editor::new(acts).await;
    let session = editor.session().await;
    let id = editor.prompt(&session, "go").await;
    loop {
        let update = editor.update("tool_call_update").await;
        if update["content"][0]["content"]["text"].as_str().is_some_and(|text| text.contains("begun")) {
            break;
        }
    }
    editor.notify("$/cancel_request", json!({"requestId": id})).await;
    assert_eq!(editor.answer(id).await["result"], json!({"stopReason": "cancelled"}));
    let seen = editor.seen();
    assert!(seen.iter().any(|update| update["status"] == "failed"), "{seen:?}");
    assert_eq!(editor.end().await, 0);
}

#[tokio::test]
async fn what_a_provider_refuses_is_an_error_of_the_prompt() {
    let body = json!({"error": {"message": "no such model"}}).to_string();
    let refused = crate::support::server::answer("404 Not Found", "", body.as_bytes());
    let mut editor = Editor::new(vec![Act::Send(refused), says("now")]).await;
    let session = editor.session().await;
    let id = editor.prompt(&session, "go").await;
    let (code, text) = refusal(&editor.answer(id).await);
    assert!(code == -32603 && text.contains("no such model"), "{code} {text}");
    let id = editor.prompt(&session, "go").await;
    assert_eq!(editor.answer(id).await["result"]["stopReason"], "end_turn");
    assert_eq!(editor.end().await, 0);
}

#[tokio::test]
async fn links_and_embedded_files_reach_the_model() {
    let mut editor = Editor::new(vec![says("read")]).await;
    let session = editor.session().await;
    let prompt = json!([
        {"type": "text", "text": "look at "},
        {"type": "resource_link", "name": "b.rs", "uri": "file:///x/b.rs"},
        {"type": "resource", "resource": {"uri": "file:///x/a%20b.rs", "text": "fn a() {}", "mimeType": "text/rust"}},
    ]);
    let answer = editor.ask("session/prompt", json!({"sessionId": session, "prompt": prompt})).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    let request = editor.server.requests().pop().expect("a request");
    let text = r"/x/a b.rs:\n```\nfn a() {}\n```\n\nlook at [b.rs](/x/b.rs)";
    assert!(request.contains(text), "{request}");
    let audio = json!([{"type": "audio", "data": "aaaa", "mimeType": "audio/wav"}]);
    let answer = editor.ask("session/prompt", json!({"sessionId": session, "prompt": audio})).await;
    assert_eq!(refusal(&answer).0, -32602, "{answer}");
    assert_eq!(editor.end().await, 0);
}
