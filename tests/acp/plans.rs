//! Plan mode: the plan as a list, and what becomes of it.

use super::*;
use crate::headless::says;

/// A session in plan mode, and the id of its prompt.
async fn planned(acts: Vec<Act>) -> (Editor, String, i64, Value) {
    let mut editor = Editor::new(acts).await;
    let session = editor.session().await;
    editor.ask("session/set_mode", json!({"sessionId": session, "modeId": "plan"})).await;
    let id = editor.prompt(&session, "plan it").await;
    let question = editor.asked("session/request_permission").await;
    (editor, session, id, question)
}

fn chosen(question: &Value, option: &str) -> Value {
    let outcome = json!({"outcome": "selected", "optionId": option});
    json!({"jsonrpc": "2.0", "id": question["id"], "result": {"outcome": outcome}})
}

fn statuses(updates: &[Value]) -> Vec<String> {
    let plans = updates.iter().filter(|update| update["sessionUpdate"] == "plan");
    plans.map(|plan| plan["entries"][1]["status"].as_str().unwrap().to_owned()).collect()
}

const PLAN: &str = "I would:\n1. read\n2. write\n";

#[tokio::test]
async fn an_accepted_plan_is_carried_out_within_the_prompt() {
    let (mut editor, _, id, question) = planned(vec![says(PLAN), says("carried out")]).await;
    assert_eq!(question["params"]["toolCall"]["kind"], "switch_mode", "{question}");
    editor.send(chosen(&question, "accept-ask")).await;
    assert_eq!(editor.answer(id).await["result"]["stopReason"], "end_turn");
    let seen = editor.seen();
    assert_eq!(statuses(&seen), ["pending", "in_progress", "completed"]);
    assert!(seen.iter().any(|update| update["currentModeId"] == "ask"), "{seen:?}");
    assert_eq!(text_of(&seen, "user_message_chunk"), "I accept the plan. Carry it out.");
    assert!(text_of(&seen, "agent_message_chunk").ends_with("carried out"));
    let info = seen.iter().find(|update| update["sessionUpdate"] == "session_info_update").expect("a title");
    assert_eq!(info["title"], "plan it", "{info}");
    assert_eq!(editor.end().await, 0);
}

#[tokio::test]
async fn a_plan_that_is_not_accepted_ends_the_prompt() {
    let (mut editor, session, id, question) = planned(vec![says(PLAN)]).await;
    editor.send(chosen(&question, "keep")).await;
    assert_eq!(editor.answer(id).await["result"]["stopReason"], "end_turn");
    assert_eq!(statuses(&editor.seen()), ["pending"]);
    let id = editor.prompt(&session, "another").await;
    editor.asked("session/request_permission").await;
    editor.notify("session/cancel", json!({"sessionId": session})).await;
    assert_eq!(editor.answer(id).await["result"]["stopReason"], "cancelled");
    assert_eq!(editor.end().await, 0);
}
