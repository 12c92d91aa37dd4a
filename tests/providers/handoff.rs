//! Hand-off: any conversation becomes valid for any model.

use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use tau::agent::protocol::message::Message;
use tau::agent::protocol::model::{Api, Model};
use tau::agent::provider::handoff;

fn target(api: Api, provider: &str, sees: bool) -> Model {
    let input = if sees { vec!["text".into(), "image".into()] } else { vec!["text".into()] };
    Model { id: "m".into(), api, provider: provider.into(), input, ..Model::default() }
}

fn messages(list: &Value) -> Vec<Arc<Message>> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|message| Arc::new(serde_json::from_value(message.clone()).unwrap()))
        .collect()
}

/// The result, each message in short: `user: text`, `assistant: blocks`, `result id: text`.
fn short(list: &[Arc<Message>]) -> Vec<String> {
    let one = |message: &Arc<Message>| {
        let value = serde_json::to_value(&**message).unwrap();
        let parts = |content: &Value| -> Vec<String> {
            match content {
                Value::String(text) => vec![text.clone()],
                _ => content.as_array().unwrap().iter().map(part).collect(),
            }
        };
        match value["role"].as_str().unwrap() {
            "toolResult" => {
                let failed = if value["isError"] == true { "!" } else { "" };
                format!(
                    "result{failed} {}: {}",
                    value["toolCallId"].as_str().unwrap(),
                    parts(&value["content"]).join(" | ")
                )
            }
            role => format!("{role}: {}", parts(&value["content"]).join(" | ")),
        }
    };
    list.iter().map(one).collect()
}

fn part(block: &Value) -> String {
    let field = |name: &str| block[name].as_str().unwrap_or_default();
    match field("type") {
        "text" if block["textSignature"].is_string() => {
            format!("{} [{}]", field("text"), field("textSignature"))
        }
        "text" => field("text").to_owned(),
        "thinking" => format!("<{}>[{}]", field("thinking"), field("thinkingSignature")),
        "toolCall" => {
            let signature =
                block["thoughtSignature"].as_str().map(|text| format!(" [{text}]")).unwrap_or_default();
            format!("{}={}{}{signature}", field("id"), field("name"), block["arguments"])
        }
        other => other.to_owned(),
    }
}

fn check(what: &str, model: &Model, list: Value, wanted: &[&str]) {
    assert_eq!(short(&handoff::for_model(&messages(&list), model)), wanted, "{what}");
}

fn assistant(model: &str, stop: &str, content: Value) -> Value {
    json!({"role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic",
        "model": model, "stopReason": stop, "timestamp": 5})
}

fn call(id: &str) -> Value {
    json!({"type": "toolCall", "id": id, "name": "bash", "arguments": {"command": "ls"}, "thoughtSignature": "ts"})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "toolResult", "toolCallId": id, "toolName": "bash", "content": [{"type": "text", "text": text}],
        "isError": false, "timestamp": 6})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text, "timestamp": 1})
}

#[test]
fn what_people_did() {
    let model = target(Api::OpenaiCompletions, "p", false);
    let bash = |more: Value| {
        let mut message = json!({"role": "bashExecution", "command": "cargo check", "output": "error[E0308]\n",
            "cancelled": false, "truncated": false, "timestamp": 1});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([message])
    };
    let ran = "user: Ran `cargo check`\n```\nerror[E0308]\n```";
    check("ok", &model, bash(json!({"exitCode": 0})), &[ran]);
    check(
        "code",
        &model,
        bash(json!({"exitCode": 101})),
        &[&format!("{ran}\n\nCommand exited with code 101")],
    );
    check("cancelled", &model, bash(json!({"cancelled": true})), &[&format!("{ran}\n\n(command cancelled)")]);
    check(
        "empty",
        &model,
        bash(json!({"output": "", "exitCode": 0})),
        &["user: Ran `cargo check`\n(no output)"],
    );
    check("excluded", &model, bash(json!({"excludeFromContext": true})), &[]);
    let cut = bash(json!({"exitCode": 0, "truncated": true, "fullOutputPath": "/t/x"}));
    check("truncated", &model, cut, &[&format!("{ran}\n\n[Output truncated. Full output: /t/x]")]);
    let blocked = bash(json!({"exitCode": 1, "blocked": {"rule": "network"}}));
    let said = "[sandbox: not the program but tau's sandbox probably refused this. It blocked the network: it is off.]";
    check("blocked", &model, blocked, &[&format!("{ran}\n\nCommand exited with code 1\n\n{said}")]);
    let summaries = json!([
        {"role": "compactionSummary", "summary": "s1", "tokensBefore": 9, "timestamp": 1},
        {"role": "branchSummary", "summary": "s2", "fromId": "x", "timestamp": 1},
        {"role": "custom", "customType": "c", "content": "note", "display": false, "timestamp": 1},
    ]);
    let wanted = [
        "user: The earlier part of this conversation was replaced by this summary:\n\n<summary>\ns1\n</summary>",
        "user: Another branch of this conversation was tried and left. What happened there:\n\n<summary>\ns2\n</summary>",
        "user: note",
    ];
    check("summaries", &model, summaries, &wanted);
    let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
    let picture =
        json!([{"role": "user", "content": [{"type": "text", "text": "see"}, image], "timestamp": 1}]);
    check(
        "blind",
        &model,
        picture.clone(),
        &["user: see | (an image was here; this model does not take images)"],
    );
    check("seeing", &target(Api::OpenaiCompletions, "p", true), picture, &["user: see | image"]);
}

#[test]
fn signatures_and_broken_turns() {
    let same = Model { id: "claude".into(), ..target(Api::AnthropicMessages, "anthropic", true) };
    let other = target(Api::OpenaiResponses, "openai", true);
    let content = json!([
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
        {"type": "thinking", "thinking": "", "thinkingSignature": "red", "redacted": true},
        {"type": "thinking", "thinking": "unsigned"},
        {"type": "text", "text": "yes", "textSignature": "t"},
        {"type": "text", "text": " "},
        call("c1"),
    ]);
    let list = json!([user("u"), assistant("claude", "toolUse", content), result("c1", "out"), user("v")]);
    let kept = "assistant: <hm>[sig] | <>[red] | yes [t] | c1=bash{\"command\":\"ls\"} [ts]";
    check("same", &same, list.clone(), &["user: u", kept, "result c1: out", "user: v"]);
    let bare = "assistant: yes | c1=bash{\"command\":\"ls\"}";
    check("other", &other, list.clone(), &["user: u", bare, "result c1: out", "user: v"]);
    let mut wants = target(Api::OpenaiCompletions, "deepseek", true);
    wants.quirks.insert("requires_reasoning_content_on_assistant_messages".into(), true.into());
    let thinks = "assistant: <hm>[] | <unsigned>[] | yes | c1=bash{\"command\":\"ls\"}";
    check("wants thinking", &wants, list, &["user: u", thinks, "result c1: out", "user: v"]);

    let cut = json!([{"type": "text", "text": "half"}, {"type": "toolCall", "id": "c1", "name": "bash", "arguments": "{\"comm"}]);
    check(
        "cut",
        &other,
        json!([user("u"), assistant("x", "error", cut), user("v")]),
        &["user: u", "assistant: half", "user: v"],
    );
    let only = json!([{"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}]);
    check("only thinking", &same, json!([user("u"), assistant("claude", "aborted", only)]), &["user: u"]);
    check("empty", &same, json!([user("u"), assistant("claude", "stop", json!([]))]), &["user: u"]);
    let bad = json!([{"type": "toolCall", "id": "c1", "name": "bash", "arguments": "{bad"}]);
    let wrapped = "assistant: c1=bash{\"invalid_json\":\"{bad\"}";
    check(
        "bad arguments",
        &other,
        json!([assistant("x", "toolUse", bad), result("c1", "no")]),
        &[wrapped, "result c1: no"],
    );
}

#[test]
fn calls_and_results() {
    let model = target(Api::OpenaiResponses, "openai", true);
    let one = "assistant: a=bash{\"command\":\"ls\"}";
    let lost = "result! a: no result: the call was interrupted";
    check(
        "orphaned call",
        &model,
        json!([assistant("x", "toolUse", json!([call("a")])), user("u")]),
        &[one, lost, "user: u"],
    );
    check("call at the end", &model, json!([assistant("x", "aborted", json!([call("a")]))]), &[one, lost]);
    check("orphan results", &model, json!([result("z", "?"), user("u"), result("z", "?")]), &["user: u"]);
    let twice = json!([assistant("x", "toolUse", json!([call("a")])), result("a", "1"), result("a", "2")]);
    check("two results", &model, twice, &[one, "result a: 1"]);
    let mixed = json!([
        assistant("x", "toolUse", json!([call("a"), call("b")])),
        result("b", "2"),
        user("now"),
        result("a", "1"),
        user("u")
    ]);
    let two = "assistant: a=bash{\"command\":\"ls\"} | b=bash{\"command\":\"ls\"}";
    check("order", &model, mixed, &[two, "result a: 1", "result b: 2", "user: now", "user: u"]);
    let again = json!([
        assistant("x", "toolUse", json!([call("a")])),
        result("a", "1"),
        assistant("x", "toolUse", json!([call("a"), call("a")])),
        result("a", "2"),
        result("a", "3"),
    ]);
    let wanted = [
        one,
        "result a: 1",
        "assistant: a_2=bash{\"command\":\"ls\"} | a_3=bash{\"command\":\"ls\"}",
        "result a_2: 2",
        "result a_3: 3",
    ];
    check("ids that occur twice", &model, again, &wanted);
}

/// Models without a grammar for calls write any name; a provider refuses a conversation with one that it does not allow.
#[test]
fn names_of_tools_are_in_the_alphabet_and_length_of_all_providers() {
    let long = "x".repeat(70);
    for (name, sent) in [
        ("mcp__a-b__c", "mcp__a-b__c"),
        ("read.file", "read_file"),
        ("", "unknown"),
        ("lies ü", "lies__"),
        (&long, "x".repeat(64).as_str()),
    ] {
        let mut called = call("1");
        called["name"] = json!(name);
        let list = json!([user("go"), assistant("m", "toolUse", json!([called])), result("1", "done")]);
        for model in ["m", "other"] {
            let model = Model { id: model.into(), ..target(Api::AnthropicMessages, "anthropic", true) };
            let list = serde_json::to_value(handoff::for_model(&messages(&list), &model)).unwrap();
            let names = (&list[1]["content"][0]["name"], &list[2]["toolName"]);
            assert_eq!(names, (&json!(sent), &json!(sent)));
        }
    }
}

#[test]
fn call_ids() {
    let id = |model: &Model, given: &str, from: (&str, &str, &str)| {
        let mut turn = assistant(from.2, "toolUse", json!([call(given)]));
        (turn["api"], turn["provider"]) = (from.0.into(), from.1.into());
        let out = handoff::for_model(&messages(&json!([turn, result(given, "r")])), model);
        let (Message::Assistant(first), Message::ToolResult(second)) = (&*out[0], &*out[1]) else { panic!() };
        let id = first.tool_calls().next().unwrap().id.clone();
        assert_eq!(id, second.tool_call_id);
        id
    };
    let foreign = ("openai-responses", "o", "o");
    let kimi = target(Api::OpenaiCompletions, "kimi", true);
    assert_eq!(id(&kimi, "functions.read:0", ("openai-completions", "kimi", "m")), "functions.read:0");
    assert_eq!(id(&kimi, "functions.read:0", foreign), "functions_read_0");
    assert!(id(&kimi, &"x".repeat(90), foreign).len() <= 40);
    let claude = target(Api::AnthropicMessages, "anthropic", true);
    assert_eq!(id(&claude, "call|fc.1", foreign), "call_fc_1");
    assert_eq!(id(&claude, "", foreign), "call");
    assert_eq!(id(&claude, &"x".repeat(90), foreign).len(), 64);
    let mistral = target(Api::OpenaiCompletions, "mistral", true);
    assert_eq!(id(&mistral, "Ah0BFgzqX", foreign), "Ah0BFgzqX");
    let made = id(&mistral, "toolu_01ABC", foreign);
    assert!(made.len() == 9 && made.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    assert_eq!(made, id(&mistral, "toolu_01ABC", foreign), "the same in every run");
    assert_ne!(made, id(&mistral, "toolu_01ABD", foreign));
}

/// The history law: each call has one result, directly after its turn, and ids are unique.
pub fn check_valid(list: &[Arc<Message>]) {
    let mut waiting: Vec<String> = Vec::new();
    let mut used = HashSet::new();
    for message in list {
        match &**message {
            Message::ToolResult(result) => assert_eq!(waiting.remove(0), result.tool_call_id),
            Message::Assistant(assistant) => {
                assert!(waiting.is_empty() && !assistant.content.is_empty());
                waiting.extend(assistant.tool_calls().map(|call| call.id.clone()));
                assert!(waiting.iter().all(|id| !id.is_empty() && used.insert(id.clone())), "{waiting:?}");
            }
            Message::User(_) => assert!(waiting.is_empty()),
            other => panic!("{other:?}"),
        }
    }
    assert!(waiting.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]
    #[test]
    fn any_history_becomes_valid(steps in proptest::collection::vec((0..6u8, "[ab|]{0,2}", "[ab|]{0,2}"), 0..24), which in 0..4usize) {
        let list: Vec<Value> = steps.iter().map(|(kind, first, second)| match kind {
            0 => user("u"),
            1 => assistant("x", "toolUse", json!([call(first), call(second)])),
            2 => assistant("x", "aborted", json!([{"type": "toolCall", "id": first, "name": "bash", "arguments": "{"}, call(second)])),
            3 => assistant("x", "stop", json!([{"type": "text", "text": "t"}])),
            _ => result(first, "r"),
        }).collect();
        let apis = [Api::OpenaiCompletions, Api::OpenaiResponses, Api::AnthropicMessages, Api::GoogleGenerativeAi];
        let model = target(apis[which], if which == 0 { "mistral" } else { "p" }, true);
        check_valid(&handoff::for_model(&messages(&Value::Array(list)), &model));
    }
}
