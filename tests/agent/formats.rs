//! Conversations after compactions, as accepted by servers of the four wire formats.

use tau::agent::protocol::model::{Api, Model};
use tau::agent::protocol::run::CompactionSettings;
use tau::agent::provider::{ModelRequest, wire_format};

use super::*;

const FORMATS: [Api; 4] =
    [Api::OpenaiCompletions, Api::OpenaiResponses, Api::AnthropicMessages, Api::GoogleGenerativeAi];

/// Checks a body as servers do: who speaks first, and that every call is answered at once. Each part is its
/// kind and the id of the call: `said`, `answered`, `call a`, `result a`.
fn check_body(api: Api, body: &Value, what: &str) {
    let parts = match api {
        Api::OpenaiCompletions => chat(&body["messages"]),
        Api::OpenaiResponses => responses(&body["input"]),
        Api::AnthropicMessages => anthropic(&body["messages"]),
        _ => google(&body["contents"]),
    };
    assert_eq!(parts.first().map(|(kind, _)| *kind), Some("said"), "{what}: {parts:?}");
    let mut open: Vec<&String> = Vec::new();
    for (kind, id) in &parts {
        match *kind {
            "call" => open.push(id),
            "result" => {
                let at = open.iter().position(|call| *call == id);
                open.remove(at.unwrap_or_else(|| panic!("{what}: {id} has no call in {parts:?}")));
            }
            // Text next to calls belongs to the same answer; the user's text comes after results.
            "said" => assert!(open.is_empty(), "{what}: {open:?} without a result in {parts:?}"),
            _ => {}
        }
    }
    assert!(open.is_empty(), "{what}: {open:?} without a result in {parts:?}");
    let last = parts.last().map(|(kind, _)| *kind);
    assert!(matches!(last, Some("said" | "result")), "{what}: ends with {last:?}");
}

type Part = (&'static str, String);

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn chat(messages: &Value) -> Vec<Part> {
    let mut parts = Vec::new();
    for message in messages.as_array().unwrap() {
        match message["role"].as_str().unwrap() {
            "system" | "developer" => {}
            "user" => parts.push(("said", String::new())),
            "assistant" => {
                parts.push(("answered", String::new()));
                let calls = message["tool_calls"].as_array().into_iter().flatten();
                parts.extend(calls.map(|call| ("call", text_of(&call["id"]))));
            }
            "tool" => parts.push(("result", text_of(&message["tool_call_id"]))),
            other => panic!("{other}"),
        }
    }
    parts
}

fn responses(items: &Value) -> Vec<Part> {
    let part = |item: &Value| match (item["type"].as_str(), item["role"].as_str()) {
        (Some("function_call"), _) => Some(("call", text_of(&item["call_id"]))),
        (Some("function_call_output"), _) => Some(("result", text_of(&item["call_id"]))),
        (_, Some("user")) => Some(("said", String::new())),
        (_, Some("system" | "developer")) => None,
        _ => Some(("answered", String::new())),
    };
    items.as_array().unwrap().iter().filter_map(part).collect()
}

/// The results of an answer's calls must be at the start of the very next message.
fn anthropic(messages: &Value) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut roles = Vec::new();
    for message in messages.as_array().unwrap() {
        let role = text_of(&message["role"]);
        roles.push(role.clone());
        let blocks = message["content"].as_array().cloned().unwrap_or_else(|| vec![json!({"type": "text"})]);
        assert!(!blocks.is_empty(), "an empty message");
        for block in blocks {
            parts.push(match block["type"].as_str().unwrap() {
                "tool_use" => ("call", text_of(&block["id"])),
                "tool_result" => ("result", text_of(&block["tool_use_id"])),
                _ if role == "user" => ("said", String::new()),
                _ => ("answered", String::new()),
            });
        }
    }
    assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "roles take turns: {roles:?}");
    parts
}

/// Calls are answered in the next content, by name and in order; there may be no ids.
fn google(contents: &Value) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut roles = Vec::new();
    for content in contents.as_array().unwrap() {
        let role = text_of(&content["role"]);
        roles.push(role.clone());
        for part in content["parts"].as_array().unwrap() {
            parts.push(match (&part["functionCall"], &part["functionResponse"]) {
                (Value::Object(call), _) => ("call", text_of(&call["name"])),
                (_, Value::Object(result)) => ("result", text_of(&result["name"])),
                _ if role == "user" => ("said", String::new()),
                _ => ("answered", String::new()),
            });
        }
    }
    assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "roles take turns: {roles:?}");
    parts
}

/// Two compactions in one long run, with turns that are split, in every wire format. The user's first
/// message stays verbatim through both.
#[tokio::test]
async fn after_compactions_every_wire_format_takes_the_context() {
    let goal = "walk far, and mind the \u{201c}gap\u{201d} between 7 and 9";
    for api in FORMATS {
        let step = |n: &'static str| {
            let look = Call(n, "echo", json!({ "words": 360, "n": n }));
            vec![Say("I look"), look, Call("again", "echo", json!({ "words": 360, "n": n })), USE]
        };
        let mut answers = vec![vec![Say("hello"), STOP]];
        answers.extend(["1", "2", "3", "4", "5"].map(step));
        answers.push(vec![Say("the first summary"), STOP]);
        answers.extend(["6", "7", "8", "9", "10"].map(step));
        answers.push(vec![Say("the second summary"), STOP]);
        answers.extend(["11", "12"].map(step));
        let player = Player::new(answers);
        let mut bench = Bench::with(player.clone(), |config| {
            let model = Model::clone(&model("first"));
            let base_url = "http://localhost".into();
            config.model =
                Some(Arc::new(Model { api, context_window: 8_000, max_tokens: 1_000, base_url, ..model }));
            config.compaction = CompactionSettings { keep: 800, ..CompactionSettings::default() };
        });
        bench.prompt("hi").await;
        bench.settled().await;
        bench.prompt(goal).await;
        let reported = brief(&bench.settled().await);
        let compactions = reported.iter().filter(|line| *line == "compacted").count();
        assert_eq!(compactions, 2, "{api:?}: {reported:?}");
        bench.prompt("and now?").await;
        bench.settled().await;
        let requests: Vec<ModelRequest> = player.requests.lock().unwrap().clone();
        let mut after = Vec::new();
        for (at, request) in requests.iter().enumerate() {
            let body = wire_format(api).unwrap().encode(request).unwrap().body;
            check_body(api, &body, &format!("{api:?}, request {at}"));
            let text = serde_json::to_string(&body).unwrap();
            if text.contains("<summary>") {
                after.push(text.contains(&serde_json::to_string(goal).unwrap().trim_matches('"').to_owned()));
            }
        }
        assert!(after.len() >= 6 && after.iter().all(|kept| *kept), "{api:?}: verbatim {after:?}");
    }
}
