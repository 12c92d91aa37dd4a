//! Content refused by a provider is left out, so that the session continues.

use serde_json::json;

use super::*;
use crate::support::program::body;
use crate::support::server::answer;

/// A refusal of a request with this message.
fn refuses(status: &str, message: &str) -> Act {
    let body = json!({ "error": { "type": "invalid_request_error", "message": message } }).to_string();
    Act::Send(answer(status, "content-type: application/json\r\n", body.as_bytes()))
}

/// The bodies of the requests, as JSON.
fn bodies(server: &Server) -> Vec<Value> {
    server.requests().iter().map(|request| body(request)).collect()
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
const SEES: &str = "input = [\"text\", \"image\"]";

/// However a provider words it, a refused image is left out of the same prompt and of all later ones.
#[tokio::test]
async fn a_refused_picture_is_left_out_for_good() {
    let wordings = [
        ("400 Bad Request", "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum"),
        ("400 Bad Request", "Could not process image"),
        ("400 Bad Request", "Invalid 'messages[0]': unsupported content"),
        ("422 Unprocessable", "Provided media is malformed"),
        ("404 Not Found", "No endpoints found that support image input"),
        ("500 Internal Server Error", "image input is not supported - you may need to provide the mmproj"),
        ("500 Internal Server Error", "this model is missing data required for image input"),
        ("500 Internal Server Error", "Failed to load image or audio file"),
        ("500 Internal Server Error", "cannot identify image file <_io.BytesIO object>"),
        ("500 Internal Server Error", "Unable to process input image."),
        ("500 Internal Server Error", "At most 0 image(s) may be provided in one prompt."),
        ("403 Forbidden", "Image input is not enabled for this model."),
        ("413 Payload Too Large", "Request exceeds the maximum size"),
    ];
    let coded = |status: &str, headers: &str, code: &str, words: &str| {
        let error = json!({ "error": { "code": code, "message": words } }).to_string();
        Act::Send(answer(status, &format!("content-type: application/json\r\n{headers}"), error.as_bytes()))
    };
    let streamed = |code: &str| {
        let error = json!({ "error": { "code": code, "message": "It failed." } });
        Act::Send(stream(&format!("data: {error}\n\n")))
    };
    let cases = wordings.into_iter().map(|(status, words)| (words, refuses(status, words)));
    let cases = cases.chain([
        (
            "flagged",
            coded("400 Bad Request", "", "content_policy_violation", "Your input image was flagged."),
        ),
        // It may pass, so this is tried when no retry is left.
        (
            "crashed",
            coded("500 Error", "retry-after: 9000\r\n", "server_error", "the vision encoder crashed"),
        ),
        ("in a stream", streamed("image_too_large")),
        ("without a name", streamed("invalid_prompt")),
    ]);
    for (words, refusal) in cases {
        let place = Place::new(vec![refusal, says("without it"), says("later")]).await;
        std::fs::write(place.dir.path().join("p.png"), PNG).unwrap();
        let ended = run(place.own(SEES).args(["-p", "@p.png", "what is it?"]), None).await;
        assert_eq!((ended.code, ended.out.trim()), (0, "without it"), "{words}: {ended:?}");
        assert!(ended.err.contains("pictures of this conversation"), "{words}: {ended:?}");
        let later = run(place.own(SEES).args(["-p", "--continue", "and now?"]), None).await;
        assert_eq!((later.code, later.out.trim()), (0, "later"), "{words}: {later:?}");
        assert!(!later.err.contains("refused"), "it is told once: {later:?}");
        let sent: Vec<bool> =
            place.server.requests().iter().map(|sent| sent.contains("data:image/")).collect();
        assert_eq!(sent, [true, false, false], "{words}");
    }
}

/// A fix that does not help is not repeated, and the error is the first one.
#[tokio::test]
async fn a_request_is_sent_again_once() {
    let acts = vec![refuses("400 Bad Request", "first"), refuses("400 Bad Request", "second"), says("after")];
    let place = Place::new(acts).await;
    std::fs::write(place.dir.path().join("p.png"), PNG).unwrap();
    let ended = run(place.own(SEES).args(["-p", "@p.png", "what is it?"]), None).await;
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.err.contains("first") && !ended.err.contains("second"), "{ended:?}");
    assert_eq!(place.server.requests().len(), 2);
    let later = run(place.own(SEES).args(["-p", "--continue", "again"]), None).await;
    assert_eq!(later.code, 0, "{later:?}");
    assert!(place.server.requests()[2].contains("data:image/"), "nothing was found to be refused");
    // Nothing in a plain conversation can be the reason.
    let place = Place::new(vec![refuses("400 Bad Request", "no"), says("never")]).await;
    let ended = run(&mut place.tau(&["-p", "hi"]), None).await;
    assert_eq!((ended.code, place.server.requests().len()), (1, 1), "{ended:?}");
}

/// A provider names one part after another; a third refusal that names nothing new ends it.
#[tokio::test]
async fn parts_that_are_refused_one_after_another_are_all_left_out() {
    let place = Place::new(vec![
        thinks_and_calls(),
        refuses("400 Bad Request", "Could not process image"),
        refuses("400 Bad Request", "messages.1.content.0: Invalid `signature` in `thinking` block"),
        claude_says("fine"),
        claude_says("on"),
    ])
    .await;
    std::fs::write(place.dir.path().join("p.png"), PNG).unwrap();
    let model = "anthropic/claude-haiku-4-5";
    let ended = run(claude_at(&place, model).args(["-p", "@p.png", "go"]), None).await;
    assert_eq!((ended.code, ended.out.trim()), (0, "fine"), "{ended:?}");
    assert!(ended.err.contains("refused pictures and earlier thinking"), "{ended:?}");
    let later = run(claude_at(&place, model).args(["-p", "--continue", "more"]), None).await;
    assert_eq!((later.code, later.out.trim()), (0, "on"), "{later:?}");
    let sent = place.server.requests();
    assert!(!sent[4].contains("c2ln") && !sent[4].contains("image/png"), "{}", sent[4]);
}

/// An Anthropic answer that thinks and calls a tool.
fn thinks_and_calls() -> Act {
    let events = [
        json!({"type": "message_start", "message": {"id": "m1", "usage": {"input_tokens": 1, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1,
            "content_block": {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": "{\"command\":\"true\"}"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ];
    claude(&events)
}

/// An Anthropic answer with this text.
fn claude_says(text: &str) -> Act {
    claude(&[
        json!({"type": "message_start", "message": {"id": "m2", "usage": {"input_tokens": 1, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ])
}

fn claude(events: &[Value]) -> Act {
    let text =
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    Act::Send(stream(&text.collect::<String>()))
}

/// The program with Claude at the server.
fn claude_at(place: &Place, model: &str) -> Command {
    let mut command = bare(place.dir.path());
    command.env("ANTHROPIC_API_KEY", "sk-ant-of-a-test").env("ANTHROPIC_BASE_URL", place.server.url());
    command.args(["--model", model, "--permission-mode", "auto", "--thinking", "low"]);
    command
}

#[tokio::test]
async fn refused_signatures_and_ids_are_left_out() {
    for (words, gone, stays) in [
        ("400 Bad Request: Invalid `signature` in `thinking` block", "c2ln", "toolu_1"),
        ("`tool_use` ids must be unique", "\"toolu_1\"", "c2ln"),
        ("404 Not Found: Item with id 'rs_1' not found. Items are not persisted", "c2ln", "toolu_1"),
        ("something is wrong with this", "c2ln", "bash"),
        ("500 Internal Server Error: Invalid `signature` in `thinking` block", "c2ln", "toolu_1"),
        ("403 Forbidden: Thinking signature is not valid", "c2ln", "toolu_1"),
    ] {
        let acts = vec![
            thinks_and_calls(),
            refuses(words.split_once(": ").map_or("400 Bad Request", |(status, _)| status), words),
            claude_says("fine"),
            claude_says("on"),
        ];
        let place = Place::new(acts).await;
        let model = "anthropic/claude-haiku-4-5";
        let ended = run(claude_at(&place, model).args(["-p", "go"]), None).await;
        assert_eq!((ended.code, ended.out.trim()), (0, "fine"), "{words}: {ended:?}");
        let is_unknown = words.starts_with("something");
        let says = if is_unknown { "refused the request: something" } else { " of this conversation: " };
        assert!(ended.err.contains(says), "{words}: {ended:?}");
        let later = run(claude_at(&place, model).args(["-p", "--continue", "more"]), None).await;
        assert_eq!((later.code, later.out.trim()), (0, "on"), "{words}: {later:?}");
        let sent: Vec<String> = bodies(&place.server).iter().map(Value::to_string).collect();
        assert!(sent[1].contains(gone), "{words}: {}", sent[1]);
        for request in &sent[2..] {
            assert!(!request.contains(gone) && request.contains(stays), "{words}: {request}");
        }
        // A result still follows its call.
        let messages = &bodies(&place.server)[2]["messages"];
        let call = messages.pointer("/1/content").and_then(Value::as_array).unwrap().last().unwrap();
        assert_eq!(call["id"], messages[2]["content"][0]["tool_use_id"], "{messages}");
        if gone == "c2ln" {
            let thinking = &bodies(&place.server)[2]["thinking"];
            assert_ne!(thinking["type"], "enabled", "a call that was answered has no thinking before it");
        }
    }
}

#[tokio::test]
async fn signatures_do_not_go_to_another_model() {
    let place = Place::new(vec![thinks_and_calls(), claude_says("fine"), claude_says("on")]).await;
    let first = run(claude_at(&place, "anthropic/claude-haiku-4-5").args(["-p", "go"]), None).await;
    assert_eq!(first.code, 0, "{first:?}");
    let second =
        run(claude_at(&place, "anthropic/claude-sonnet-4-5").args(["-p", "--continue", "more"]), None).await;
    assert_eq!(second.code, 0, "{second:?}");
    let sent: Vec<bool> = place.server.requests().iter().map(|request| request.contains("c2ln")).collect();
    assert_eq!(sent, [false, true, false], "the own model gets its signature back");
}
