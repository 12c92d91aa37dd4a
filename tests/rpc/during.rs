//! Events, questions and pending answers for a client while a run continues, and when it is aborted.

use tau::agent::protocol::run::OnRepeat;

use super::*;

#[tokio::test]
async fn what_a_call_shows_while_it_runs() {
    let answers = vec![vec![Call("c1", "chatty", text("all of it")), USE], vec![Say("seen"), STOP]];
    let mut client = Client::new(answers);
    let begun = std::time::Instant::now();
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    client.settled().await;
    let tenths = begun.elapsed().as_millis() as usize / 100;
    let is_update = |record: &Value| record["type"] == "tool_execution_update";
    let updates = client.seen.iter().filter(|record| is_update(record)).count();
    assert!((1..=tenths + 2).contains(&updates), "{updates} updates in {tenths} tenths of a second");
    // Their number and content depend on timing: the first stands for all.
    let mut first = true;
    client.seen.retain(|record| !is_update(record) || std::mem::take(&mut first));
    let shown = client.seen.iter_mut().find(|record| is_update(record)).unwrap();
    shown["partialResult"]["content"][0]["text"] = json!("N");
    client.golden("update");
}

#[tokio::test]
async fn a_question_is_asked_and_answered() {
    let call = || vec![Call("c", "echo", text("again")), USE];
    let answers = vec![call(), call(), call(), call(), call(), vec![Say("well"), STOP]];
    for (answer, requests) in [
        (json!({"confirmed": true}), 6),
        (json!({"confirmed": false}), 5),
        (json!({"cancelled": true}), 5),
        (json!({"value": 7}), 5),
    ] {
        let player = Player::new(answers.clone());
        let mut client = Client::with(player.clone(), RpcEvents::Auto, |config| {
            config.behavior.on_repeat = OnRepeat::Ask;
        });
        client.ask(json!({"type": "prompt", "message": "go"})).await;
        let question = client.until("extension_ui_request").await;
        // No such question was asked.
        client.send(json!({"type": "extension_ui_response", "id": "q99", "confirmed": true})).await;
        let mut answer = answer;
        answer["type"] = json!("extension_ui_response");
        answer["id"] = question["id"].clone();
        client.send(answer.clone()).await;
        client.settled().await;
        assert_eq!(player.requests.lock().unwrap().len(), requests, "{answer}");
        if answer["confirmed"] == true {
            client.golden("question");
        }
    }
}

#[tokio::test]
async fn what_an_abort_leaves_in_the_queues_is_a_run_of_its_own() {
    let answers = vec![vec![Say("half"), Hang], vec![Say("steered"), STOP], vec![Say("followed"), STOP]];
    let mut client = Client::new(answers);
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    client.until("message_update").await;
    client.ask(json!({"type": "follow_up", "message": "and then?"})).await;
    client.ask(json!({"type": "steer", "message": "turn left"})).await;
    let abort = client.ask(json!({"type": "abort"})).await;
    assert_eq!(abort["success"], json!(true));
    let told = client.types();
    assert_eq!(told[told.len() - 2..], ["agent_settled", "response"]);
    client.settled().await;
    let said: Vec<&Value> = client
        .seen
        .iter()
        .filter(|record| record["type"] == "message_end" && record["message"]["role"] == "user")
        .map(|record| &record["message"]["content"])
        .collect();
    assert_eq!(said, [&json!("go"), &json!("turn left"), &json!("and then?")]);
    assert_eq!(client.types().iter().filter(|kind| **kind == "agent_start").count(), 2);
}

#[tokio::test]
async fn a_follow_up_alone_is_said_after_an_abort() {
    let player = Player::new(vec![vec![Say("half"), Hang], vec![Say("followed"), STOP]]);
    let mut client = Client::with(player.clone(), RpcEvents::Auto, |_| {});
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    client.until("message_update").await;
    client.ask(json!({"type": "follow_up", "message": "and then?"})).await;
    client.ask(json!({"type": "abort"})).await;
    client.settled().await;
    let requests = player.requests.lock().unwrap();
    assert_eq!(requests.len(), 2);
    let last = serde_json::to_value(requests[1].messages.last().unwrap()).unwrap();
    assert_eq!(last["content"], json!("and then?"));
}
