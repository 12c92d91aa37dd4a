//! Side questions, through the program itself: answered beside the run, and no part of the conversation.

use serde_json::{Value, json};

use crate::approvals::terminal::{play, saying};
use crate::background_jobs::wire::Client;
use crate::background_jobs::{Home, bash};
use crate::support::program::{calls_all, says, stalls, text_of};
use crate::support::server::{Act, stream};
use crate::time_limit::InTime;

/// An answer with its usage.
fn says_for(text: &str, tokens: u64) -> Act {
    let delta = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": 5}});
    Act::Send(stream(&format!("data: {delta}\n\ndata: {end}\n\ndata: {usage}\n\ndata: [DONE]\n\n")))
}

/// The body of a request.
fn body(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test]
async fn a_question_beside_a_running_call_is_answered_from_the_same_conversation() {
    let wait = "while ! test -e go; do sleep 0.02; done";
    let calls = calls_all(&[("bash", json!({ "command": wait }))], 10);
    let home = Home::new(vec![calls, says_for("It waits for *go*.", 1000), says_for("Done.", 0)]).await;
    let mut client = Client::start_with(&home, &[]);
    client.send(json!({ "id": "1", "type": "prompt", "message": "begin" })).await;
    client.record("the call", |record| record["type"] == "tool_execution_start").await;
    client
        .send(json!({ "id": "side", "type": "side_question", "message": "What are you waiting for?" }))
        .await;
    let mut text = String::new();
    let ended = loop {
        let of_side =
            |record: &Value| record["type"].as_str().is_some_and(|kind| kind.starts_with("side_answer"));
        let record = client.record("the answer", of_side).await;
        assert_eq!(record["id"], "side");
        match record["type"].as_str() {
            Some("side_answer") => text.push_str(record["text"].as_str().unwrap()),
            _ => break record,
        }
    };
    assert_eq!((text.as_str(), &ended["error"]), ("It waits for *go*.", &Value::Null), "{ended}");
    assert_eq!(ended["usage"]["input"], 1000, "{ended}");
    std::fs::write(home.dir.path().join("work/go"), "").unwrap();
    client.record("the end", |record| record["type"] == "agent_settled").await;
    let stats = client.ask(json!({ "id": "2", "type": "get_session_stats" })).await;
    assert_eq!(stats["data"]["tokens"]["input"], 1010, "{stats}");
    client.child.kill().in_time("the end").await.unwrap();
    // The same beginning, so that the provider's cache is used.
    let requests = home.server.requests();
    let (first, side, last) = (body(&requests[0]), body(&requests[1]), body(&requests[2]));
    assert_eq!((&side["tools"], &side["model"]), (&first["tools"], &first["model"]));
    let (sent, asked) = (first["messages"].as_array().unwrap(), side["messages"].as_array().unwrap());
    assert_eq!(&asked[..sent.len()], sent.as_slice());
    let texts: Vec<String> = asked.iter().map(text_of).collect();
    assert!(texts[texts.len() - 2].contains("this call is still running"), "{texts:?}");
    assert!(texts[texts.len() - 1].ends_with("\n\nWhat are you waiting for?"), "{texts:?}");
    // No part of the conversation.
    let texts: Vec<String> = last["messages"].as_array().unwrap().iter().map(text_of).collect();
    assert!(
        !texts.iter().any(|text| text.contains("waiting for?") || text.contains("It waits")),
        "{texts:?}"
    );
    assert_eq!(last["messages"].as_array().unwrap().len(), sent.len() + 2);
}

#[tokio::test]
async fn a_call_in_place_of_an_answer_runs_nothing() {
    let home = Home::new(vec![says("Hello."), bash("touch ran")]).await;
    let mut client = Client::start_with(&home, &[]);
    client.send(json!({ "id": "1", "type": "prompt", "message": "begin" })).await;
    client.record("the end", |record| record["type"] == "agent_settled").await;
    client.send(json!({ "id": "s", "type": "side_question", "message": "And?" })).await;
    let ended = client.record("the end", |record| record["type"] == "side_answer_ended").await;
    assert_eq!(ended["error"], "the model gave no answer in words");
    assert!(!home.dir.path().join("work/ran").exists());
    client.child.kill().in_time("the end").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_streams_into_a_box_that_esc_closes() {
    let acts = vec![saying("Hello there."), saying("Because of **this**."), stalls("So far"), saying("Bye.")];
    let requests = play(acts, "", "--permission-mode auto", (100, 30), |screen| {
        screen.type_keys("hi\r");
        screen.wait_for("Hello there.");
        let ask = |line: &str| {
            screen.type_keys(line);
            screen.wait_for_composer(line);
            screen.type_keys("\r");
        };
        ask("/btw why is that?");
        screen.wait_for("Side question");
        screen.wait_for("why is that?");
        screen.wait_for("Because of this.");
        screen.wait_for("not part of the conversation · esc closes");
        // One can write on below the box, with any letters.
        screen.type_keys("next: ask qq");
        screen.wait_for_composer("next: ask qq");
        screen.wait_for("Because of this.");
        screen.type_keys("\x1b");
        screen.wait_until("no box", |cells| !cells.contents().contains("Because of"));
        screen.wait_for_composer("next: ask qq");
        screen.type_keys("\x15");
        screen.wait_for("ask for something");
        // An answer that is still coming is stopped.
        ask("/btw and then?");
        screen.wait_for("So far");
        screen.wait_for("esc stops and closes it");
        screen.type_keys("\x1b");
        screen.wait_until("no box", |cells| !cells.contents().contains("So far"));
        screen.type_keys("bye\r");
        screen.wait_for("Bye.");
    })
    .await;
    let last = body(&requests[3]);
    let texts: Vec<String> = last["messages"].as_array().unwrap().iter().map(text_of).collect();
    assert!(!texts.iter().any(|text| text.contains("why is that?") || text.contains("So far")), "{texts:?}");
}
