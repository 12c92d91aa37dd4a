//! Provider caches: a request begins with all of the previous one, byte for byte, in every wire format.

use serde_json::Map;
use tau::agent::protocol::model::{Api, Model};
use tau::agent::provider::{ModelRequest, wire_format};

use super::*;

const FORMATS: [(Api, &str); 4] = [
    (Api::OpenaiCompletions, "messages"),
    (Api::OpenaiResponses, "input"),
    (Api::AnthropicMessages, "messages"),
    (Api::GoogleGenerativeAi, "contents"),
];

/// Removes the marks that move with the end of a request: they are not part of the cached text.
fn without_marks(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(name, _)| name != "cache_control");
            Value::Object(kept.map(|(name, value)| (name, without_marks(value))).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_marks).collect()),
        other => other,
    }
}

/// The messages of a request's body, each as text, and the rest of the body.
fn encoded(request: &ModelRequest, api: Api, field: &str) -> (Vec<String>, String) {
    let mut body = without_marks(wire_format(api).unwrap().encode(request).unwrap().body);
    let messages = body.as_object_mut().unwrap().remove(field).unwrap();
    let texts = messages.as_array().unwrap().iter().map(Value::to_string).collect();
    (texts, body.to_string())
}

#[tokio::test]
async fn a_request_begins_with_the_one_before_it() {
    for (api, field) in FORMATS {
        let answers = vec![
            vec![Say("I look"), Call("a", "echo", text("x")), Call("b", "refuse", json!({})), USE],
            vec![Say("one"), STOP],
            vec![Call("c", "echo", text("y")), USE],
            vec![Say("two"), STOP],
            vec![Say("three"), STOP],
        ];
        let player = Player::new(answers);
        let mut bench = Bench::with(player.clone(), |config| {
            let model = Model::clone(&model("first"));
            config.model = Some(Arc::new(Model { api, max_tokens: 1_000, ..model }));
        });
        for text in ["first", "second", "third"] {
            bench.prompt(text).await;
            bench.settled().await;
        }
        let requests = player.requests.lock().unwrap().clone();
        assert_eq!(requests.len(), 5, "{api:?}");
        for pair in requests.windows(2) {
            let [(before, rest), (after, same)] = [0, 1].map(|at| encoded(&pair[at], api, field));
            assert_eq!(rest, same, "{api:?}: prompt, tools and options");
            assert!(
                after.len() > before.len() && after.starts_with(&before),
                "{api:?}: {before:?}\n{after:?}"
            );
        }
    }
}
