//! Editors that write nonsense, or disconnect.

use super::*;
use crate::support::dice::Dice;
use crate::support::program::{says, stalls};

const METHODS: [&str; 16] = [
    "initialize", "authenticate", "session/new", "session/load", "session/resume", "session/list",
    "session/delete", "session/close", "session/prompt", "session/set_mode", "session/set_config_option",
    "session/cancel", "$/cancel_request", "session/update", "_own", "",
];

fn line(dice: &mut Dice) -> Vec<u8> {
    let method = METHODS[dice.below(METHODS.len())];
    let fields = [
        json!({"jsonrpc": "2.0", "id": 1_000_000, "method": method, "params": {"sessionId": "x", "cwd": "relative"}}),
        json!({"jsonrpc": "2.0", "id": "s", "method": method, "params": {"sessionId": 7, "cwd": [], "prompt": {}}}),
        json!({"jsonrpc": "2.0", "id": null, "method": method, "params": {"prompt": [{"type": "x"}], "sessionId": "y"}}),
        json!({"jsonrpc": "2.0", "id": 1_000_001, "method": method, "params": {"cwd": "/nowhere", "mcpServers": [7]}}),
        json!({"jsonrpc": "2.0", "method": method, "params": {"sessionId": [method]}}),
        json!({"jsonrpc": "2.0", "id": 1_000_002, "result": {"outcome": method}}),
        json!({"jsonrpc": "2.0", "id": {"a": 1}, "method": method}),
        json!([{"jsonrpc": "2.0", "id": 1, "method": method}]),
        json!({"jsonrpc": "1.0", "id": 1_000_003, "method": [method]}),
    ];
    let whole = dice.pick(&fields).to_string().into_bytes();
    dice.mangle(whole)
}

#[tokio::test]
async fn a_thousand_lines_of_nonsense_leave_it_alive() {
    let mut editor = Editor::new(vec![says("still here")]).await;
    let session = editor.session().await;
    let mut dice = Dice::new(11);
    for n in 0..1_000 {
        let line = line(&mut dice);
        editor.raw(&line).await;
        if n % 100 == 99 {
            // It answers in between, so its input was read.
            let answer =
                editor.ask("session/set_mode", json!({"sessionId": session, "modeId": "auto"})).await;
            assert_eq!(answer["result"], json!({}), "{answer}");
        }
    }
    let id = editor.prompt(&session, "go").await;
    assert_eq!(editor.answer(id).await["result"]["stopReason"], "end_turn");
    assert_eq!(text_of(&editor.seen(), "agent_message_chunk"), "still here");
    let codes = [-32700, -32600, -32601, -32602];
    for code in codes {
        assert!(editor.answers.iter().any(|answer| answer["error"]["code"] == code), "no error {code}");
    }
    assert_eq!(editor.end().await, 0);
}

#[tokio::test]
async fn nothing_is_done_before_it_is_initialized() {
    let mut editor = Editor::start(vec![says("x")], &[]).await;
    let params = json!({"cwd": editor.cwd(), "mcpServers": []});
    let (code, text) = refusal(&editor.ask("session/new", params).await);
    assert!(code == -32600 && text.contains("initialize"), "{code} {text}");
    assert_eq!(refusal(&editor.ask("_own/method", json!({})).await).0, -32601);
    assert_eq!(editor.end().await, 0);
}

#[tokio::test]
async fn an_editor_that_leaves_during_a_prompt_ends_it() {
    let mut editor = Editor::new(vec![stalls("so far")]).await;
    let session = editor.session().await;
    editor.prompt(&session, "go").await;
    editor.update("agent_message_chunk").await;
    assert_eq!(editor.end().await, 0);
}
