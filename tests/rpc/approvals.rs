//! Calls that have to be approved, and the permission mode.

use tau::agent::api::OnAsk;
use tau::agent::protocol::approval::PermissionMode;
use tau::tools::Toolbox;

use super::*;

#[tokio::test]
async fn a_client_decides_on_calls() {
    let call = |command: &str| vec![Call("c", "bash", json!({ "command": command })), USE];
    let answers = vec![call("touch one"), call("touch two"), call("touch three"), vec![Say("ok"), STOP]];
    let mut client = Client::with(Player::new(answers), RpcEvents::Auto, |config| {
        config.tools = Toolbox::all();
        config.behavior.permission_mode = PermissionMode::Ask;
        config.behavior.on_ask = OnAsk::Ask;
    });
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    let request = client.until("approval_requested").await["request"].clone();
    assert_eq!(request["preview"]["command"], "touch one");
    let wrong = client.ask(json!({"type": "answer_approval", "approvalId": "a1", "decision": "maybe"})).await;
    assert!(wrong["error"].as_str().unwrap().contains("no decision"), "{wrong}");
    let answer = |id: &Value, decision: &str| json!({"type": "answer_approval", "approvalId": id, "decision": decision, "reason": "not this one"});
    let answered = client.ask(answer(&request["id"], "deny")).await;
    assert_eq!(answered["success"], true, "{answered}");
    let request = client.until("approval_requested").await["request"].clone();
    let covered = client.ask(json!({"type": "get_rule_coverage", "rule": "bash"})).await;
    assert_eq!(covered["data"]["titles"], json!(["touch one", "touch two"]));
    let text = client.ask(json!({"type": "get_proposed_text", "approvalId": request["id"]})).await;
    assert!(text["error"].as_str().unwrap().contains("writes no file"), "{text}");
    client.ask(answer(&request["id"], "allow")).await;
    client.until("approval_requested").await;
    // Another mode decides on what waits.
    client.ask(json!({"type": "set_permission_mode", "mode": "auto"})).await;
    client.settled().await;
    let made = |name: &str| client.dir.path().join(name).exists();
    assert!(!made("one") && made("two") && made("three"));
    let outcomes: Vec<&Value> = client
        .seen
        .iter()
        .filter(|record| record["type"] == "approval_ended")
        .map(|record| &record["outcome"])
        .collect();
    assert_eq!(outcomes, ["denied", "allowed", "allowed"]);
    assert!(client.seen.iter().any(|record| record["type"] == "permission_mode_changed"));
}
