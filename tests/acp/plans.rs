//! Plan mode: the plan as a list, its outcome, and its progress.

use super::*;
use crate::support::program::{calls, says};

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

fn plan() -> Act {
    calls("submit_plan", &json!({"plan": "I would:\n1. read \u{202e}\n2. write\n"}))
}

#[tokio::test]
async fn an_accepted_plan_is_carried_out_within_the_prompt() {
    let report = |step: usize| calls("plan_step", &json!({"done": [step]}));
    for mode in ["ask", "edits", "auto"] {
        let acts = vec![plan(), report(1), report(2), says("carried out")];
        let (mut editor, _, id, question) = planned(acts).await;
        assert_eq!(question["params"]["toolCall"]["kind"], "switch_mode", "{question}");
        assert!(question.to_string().contains("read <U+202E>"), "{question}");
        editor.send(chosen(&question, &format!("accept-{mode}"))).await;
        assert_eq!(editor.answer(id).await["result"]["stopReason"], "end_turn");
        let seen = editor.seen();
        assert_eq!(statuses(&seen), ["pending", "pending", "in_progress", "completed"]);
        assert!(seen.iter().any(|update| update["currentModeId"] == mode), "{seen:?}");
        assert!(text_of(&seen, "agent_message_chunk").ends_with("carried out"));
        let info =
            seen.iter().find(|update| update["sessionUpdate"] == "session_info_update").expect("a title");
        assert_eq!(info["title"], "plan it", "{info}");
        assert_eq!(editor.end().await, 0);
    }
}

#[tokio::test]
async fn a_plan_that_is_not_accepted_ends_the_prompt() {
    let (mut editor, session, id, question) = planned(vec![plan(), plan()]).await;
    editor.send(chosen(&question, "keep")).await;
    assert_eq!(editor.answer(id).await["result"]["stopReason"], "cancelled");
    assert_eq!(statuses(&editor.seen()), ["pending"]);
    let id = editor.prompt(&session, "another").await;
    editor.asked("session/request_permission").await;
    editor.notify("session/cancel", json!({"sessionId": session})).await;
    assert_eq!(editor.answer(id).await["result"]["stopReason"], "cancelled");
    assert_eq!(editor.end().await, 0);
}
