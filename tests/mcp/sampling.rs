//! What servers ask the model: only where it is on, and only if the user agrees each time.

use serde_json::{Value, json};

use super::client::Client;
use super::{answered_by_a_line, called, called_of, printed, result, server};
use crate::faults::server::{Act, Server, stream};
use crate::headless::{calls, says};

const REFUSED: &str = "the user has refused the request";

fn config() -> String {
    server::config("demo", "offers", "sampling = true")
}

fn call(text: &str) -> Act {
    calls("mcp__demo__sample", &json!({"text": text}))
}

fn bodies(model: &Server) -> Vec<Value> {
    let body = |request: String| serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    model.requests().into_iter().map(body).collect()
}

/// A chat answer that says this and has used that many tokens.
fn says_for(text: &str, tokens: u64) -> Act {
    let delta = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let used = json!({"choices": [], "usage": {"prompt_tokens": tokens - 1, "completion_tokens": 1, "total_tokens": tokens}});
    Act::Send(stream(&format!("data: {delta}\n\ndata: {end}\n\ndata: {used}\n\ndata: [DONE]\n\n")))
}

/// A client whose model acts so, after it was asked for something.
async fn asked(acts: Vec<Act>, place: &std::path::Path) -> (Server, Client) {
    let model = Server::start(acts).await;
    let mut client = Client::start(place, &config(), &model.url());
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    (model, client)
}

/// Answers the next question; the question.
async fn answer(client: &mut Client, mut answer: Value) -> Value {
    let asked = client.event("extension_ui_request").await;
    answer["type"] = json!("extension_ui_response");
    answer["id"] = asked["id"].clone();
    client.send(&answer).await;
    asked
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_off_unless_it_is_turned_on() {
    let refused = called("offers", "sample", "").await;
    assert!(refused.contains("-32601"), "{refused}");
    let off = server::config("demo", "offers", "sampling = false");
    assert!(called_of(&off, "mcp__demo__sample", &json!({"text": ""})).await.contains("-32601"));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_nobody_to_ask_the_model_is_not_asked() {
    let (ended, requests) = printed(&config(), vec![call(""), says("Finished.")], &[]).await;
    assert_eq!((ended.code, ended.out.trim()), (0, "Finished."), "{}", ended.err);
    assert!(ended.err.contains("declined a question of MCP server demo"), "{}", ended.err);
    assert!(result(&requests).contains(REFUSED) && requests.len() == 2, "{requests:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_answers_what_the_user_agrees_to() {
    let place = tempfile::tempdir().unwrap();
    let acts =
        vec![call(""), says("Paris, of course"), call("stop"), says("Paris, of course"), says("Finished.")];
    let (model, mut client) = asked(acts, place.path()).await;
    let question = answer(&mut client, json!({"confirmed": true})).await;
    assert_eq!((&question["method"], &question["server"]), (&json!("confirm"), &json!("demo")));
    assert_eq!(question["maxTokens"], 100);
    let message = question["message"].as_str().unwrap();
    assert!(message.starts_with("System: Be brief.\nUser: What is the "), "{message}");
    // The second time it is asked again.
    answer(&mut client, json!({"confirmed": true})).await;
    client.event("agent_settled").await;
    let requests = bodies(&model);
    let sampled = &requests[1];
    assert_eq!(sampled["messages"][0]["content"], "Be brief.");
    assert_eq!(sampled["messages"][1]["content"], "What is the \u{1b}[31mcapital of France?");
    assert_eq!(sampled["messages"].as_array().unwrap().len(), 2, "nothing of the conversation: {sampled}");
    assert!(sampled.get("tools").is_none(), "{sampled}");
    let most = sampled.get("max_tokens").or(sampled.get("max_completion_tokens"));
    assert_eq!(most, Some(&json!(100)));
    let content = json!({"type": "text", "text": "Paris, of course"});
    let expected = json!({"model": "m", "stopReason": "endTurn", "role": "assistant", "content": content});
    let said: Value = serde_json::from_str(&result(&requests[..3])).unwrap();
    assert_eq!(said, expected);
    let said: Value = serde_json::from_str(&result(&requests)).unwrap();
    assert_eq!((&said["content"]["text"], &said["stopReason"]), (&json!("Paris"), &json!("stopSequence")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_user_refuses_is_not_asked() {
    for refusal in [json!({"confirmed": false}), json!({"cancelled": true})] {
        let place = tempfile::tempdir().unwrap();
        let (model, mut client) = asked(vec![call(""), call(""), says("Finished.")], place.path()).await;
        answer(&mut client, refusal.clone()).await;
        answer(&mut client, refusal).await;
        client.event("agent_settled").await;
        let requests = bodies(&model);
        assert!(requests.len() == 3 && result(&requests).contains(REFUSED), "{requests:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_declines_is_not_asked_again() {
    let place = tempfile::tempdir().unwrap();
    let (model, mut client) = asked(vec![call(""), call(""), says("Finished.")], place.path()).await;
    answer(&mut client, json!({"declined": true})).await;
    // The second call is refused without a question, so nothing keeps the run from its end.
    client.event("agent_settled").await;
    let requests = bodies(&model);
    assert!(requests.len() == 3 && result(&requests).contains(REFUSED), "{requests:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_requests_are_refused_without_a_question() {
    for (text, why) in [
        ("long", "100009 bytes; at most 65536"),
        ("many", "1 to 64 messages, not 1000"),
        ("picture", "text only"),
        ("garbage", "-32"),
    ] {
        let refused = called_of(&config(), "mcp__demo__sample", &json!({ "text": text })).await;
        assert!(refused.contains(why) && !refused.contains(REFUSED), "{text}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_bounded_and_one_at_a_time() {
    let place = tempfile::tempdir().unwrap();
    let (_model, mut client) = asked(vec![call("much"), says("no"), says("Finished.")], place.path()).await;
    let question = answer(&mut client, json!({"confirmed": true})).await;
    assert_eq!(question["maxTokens"], 4096);
    client.event("agent_settled").await;
    let place = tempfile::tempdir().unwrap();
    let (model, mut client) = asked(vec![call("twice"), says("Finished.")], place.path()).await;
    let question = client.event("extension_ui_request").await;
    client.event("agent_settled").await;
    let withdrawn = client.event("extension_ui_withdrawn").await;
    assert_eq!(withdrawn["id"], question["id"], "with the end of the run");
    assert!(result(&bodies(&model)).contains("another request"), "{:?}", bodies(&model));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aborted_run_ends_the_request() {
    let place = tempfile::tempdir().unwrap();
    let acts = vec![call(""), crate::headless::stalls("Par"), says("never")];
    let (model, mut client) = asked(acts, place.path()).await;
    answer(&mut client, json!({"confirmed": true})).await;
    while model.requests().len() < 2 {
        tokio::task::yield_now().await;
    }
    client.ask(json!({"type": "abort"})).await;
    client.event("agent_settled").await;
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_json_mode_a_line_answers_and_the_session_counts_the_tokens() {
    let model = Server::start(vec![call(""), says_for("Paris", 37), says("Finished.")]).await;
    let place = tempfile::tempdir().unwrap();
    answered_by_a_line(place.path(), &config(), &model, json!({"confirmed": true})).await;
    assert!(result(&bodies(&model)).contains("Paris"));
    let usage = session_lines(&place.path().join("config/sessions"), "usage");
    assert_eq!(usage.len(), 1);
    assert_eq!((&usage[0]["kind"], &usage[0]["note"]), (&json!("sampling"), &json!("MCP server demo")));
    assert_eq!((&usage[0]["usage"]["totalTokens"], &usage[0]["model"]), (&json!(37), &json!("m")));
}

/// The entries of this type in the only session of a folder.
fn session_lines(folder: &std::path::Path, kind: &str) -> Vec<Value> {
    let mut open = vec![folder.to_owned()];
    let mut lines = Vec::new();
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "jsonl") {
                let text = std::fs::read_to_string(path).unwrap();
                lines.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
            }
        }
    }
    lines.retain(|line| line["type"] == kind);
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_asks_and_says_what_was_used() {
    for (keys, expected) in [("\r", REFUSED), ("\x1b[B\r", "Paris"), ("\x1b", REFUSED)] {
        let mut acts = vec![call("")];
        acts.extend((expected == "Paris").then(|| says_for("Paris", 37)));
        acts.push(says("Finished."));
        let model = Server::start(acts).await;
        let url = model.url();
        tokio::task::spawn_blocking(move || {
            let screen = super::on_screen_with(&url, &config());
            screen.type_keys("go\r");
            screen.wait_for("demo asks your model for an answer of up to 100 tokens");
            screen.wait_for("Yes, let the model answer this once");
            assert!(screen.text().contains("Be brief."), "{}", screen.text());
            screen.type_keys(keys);
            screen.wait_for("Finished.");
            if expected == "Paris" {
                screen.wait_for("the model answered MCP server demo (37 tokens)");
            }
        })
        .await
        .unwrap();
        assert!(result(&bodies(&model)).contains(expected), "{keys:?}");
    }
}
