//! The further offers of the server with the behaviour `offers`.

use serde_json::{Value, json};

/// An image of one pixel.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

pub fn capabilities() -> Value {
    json!({
        "tools": {"listChanged": true},
        "prompts": {"listChanged": true},
        "resources": {"listChanged": true},
        "completions": {},
        "logging": {},
    })
}

/// The result of a request, or a protocol error. `again` is true after the lists have changed.
pub fn answer(method: &str, params: &Value, again: bool) -> Result<Value, Value> {
    let wrong = |text: &str| Err(json!({"code": -32602, "message": text}));
    match method {
        "prompts/list" => Ok(prompts(params, again)),
        "prompts/get" => match params["name"].as_str().unwrap_or_default() {
            "greet" => {
                let given = &params["arguments"];
                let text = format!("Greet {} in a {} way.", given["name"], given["style"]);
                Ok(json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}))
            }
            "look at" => Ok(json!({"messages": [
                {"role": "user", "content": {"type": "text", "text": "What do you see? @demo:demo://notes"}},
                {"role": "user", "content": {"type": "resource", "resource": {"uri": "demo://7", "text": "seven"}}},
                {"role": "user", "content": {"type": "image", "mimeType": "image/png", "data": PICTURE}},
            ]})),
            "dialog" => Ok(json!({"messages": [
                {"role": "user", "content": {"type": "text", "text": "one"}},
                {"role": "assistant", "content": {"type": "text", "text": "two"}},
            ]})),
            _ => wrong("there is no such prompt"),
        },
        "completion/complete" => {
            let (argument, known) = (&params["argument"], &params["context"]["arguments"]["name"]);
            let all: Vec<String> = match argument["name"].as_str().unwrap_or_default() {
                "name" => vec!["Ada".into(), "Grace Hopper".into()],
                "style" => {
                    vec!["formal".into(), format!("as {} likes it", known.as_str().unwrap_or("nobody"))]
                }
                "n" if params["ref"]["uri"] == "demo://lines/{n}" => {
                    vec!["30".into(), "3".into(), "a b".into()]
                }
                _ => Vec::new(),
            };
            let typed = argument["value"].as_str().unwrap_or_default();
            let values: Vec<String> = all.into_iter().filter(|value| value.starts_with(typed)).collect();
            Ok(json!({"completion": {"values": values, "hasMore": false}}))
        }
        "resources/list" => Ok(resources(again)),
        "resources/templates/list" => Ok(json!({"resourceTemplates": [
            {"uriTemplate": "demo://lines/{n}", "name": "lines", "description": "A number of lines"},
        ]})),
        "resources/read" => {
            let uri = params["uri"].as_str().unwrap_or_default();
            let content = match uri {
                "demo://notes" => json!({"uri": uri, "mimeType": "text/plain", "text": "what was noted\n"}),
                "demo://picture" => json!({"uri": uri, "mimeType": "image/png", "blob": PICTURE}),
                "demo://archive" => json!({"uri": uri, "mimeType": "application/zip", "blob": "AAAA"}),
                "demo://table" => json!({"uri": uri, "mimeType": "text/csv", "blob": "YSxi"}),
                "file:///srv/a.txt" | "file:///srv/.env" => json!({"uri": uri, "text": "held by a file"}),
                "demo://lines/3" => json!({"uri": uri, "text": "1\n2\n3"}),
                _ => return Err(json!({"code": -32002, "message": "there is no such resource"})),
            };
            Ok(json!({"contents": [content]}))
        }
        "logging/setLevel" => Ok(json!({})),
        _ => Err(json!({"code": -32601, "message": "no such method"})),
    }
}

fn resources(again: bool) -> Value {
    let mut all = vec![
        json!({"uri": "demo://notes", "name": "notes", "description": "What was noted"}),
        json!({"uri": "demo://picture", "name": "picture", "mimeType": "image/png"}),
        json!({"uri": "demo://archive", "name": "archive"}),
        json!({"uri": "demo://table", "name": "table"}),
    ];
    if std::env::var_os("DEMO_FILES").is_some() {
        for path in ["/srv/a.txt", "/srv/.env"] {
            all.push(json!({"uri": format!("file://{path}"), "name": path}));
        }
    }
    if again {
        all.push(json!({"uri": "demo://late", "name": "late"}));
    }
    json!({ "resources": all })
}

/// In two pages.
fn prompts(params: &Value, again: bool) -> Value {
    if params["cursor"] == "2" {
        let mut rest = vec![
            json!({"name": "look at"}),
            json!({"name": "dialog", "description": "\u{1b}[31mTalks\u{1b}[0m"}),
        ];
        if again {
            rest.push(json!({"name": "late"}));
        }
        return json!({ "prompts": rest });
    }
    let arguments = json!([{"name": "name", "description": "whom", "required": true}, {"name": "style"}]);
    let greet = json!({"name": "greet", "description": "Greets somebody", "arguments": arguments});
    json!({"prompts": [greet], "nextCursor": "2"})
}

/// A form with a field of each kind.
pub fn form() -> Value {
    json!({"message": "Who are \u{1b}[31myou?", "requestedSchema": {"type": "object", "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2},
        "age": {"type": "integer", "minimum": 1, "default": 7, "description": "in years"},
        "news": {"type": "boolean", "default": true},
        "color": {"type": "string", "enum": ["red", "blue"], "enumNames": ["Red", "Blue"]},
    }, "required": ["name"]}})
}

pub fn address() -> Value {
    let url = "https://example.com/consent?id=7";
    json!({"mode": "url", "message": "Please agree.", "url": url, "elicitationId": "7"})
}

/// The levels and texts that it logs: one below the threshold, and too many.
pub fn complaints() -> Vec<(&'static str, String)> {
    let many = (0..20).map(|n| ("error", format!("full {n}")));
    std::iter::once(("notice", "all is well".to_owned())).chain(many).collect()
}

/// A result that repeats an image, in its text and in its structured content.
pub fn picture_twice() -> Value {
    let data =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    json!({"content": [{"type": "text", "text": format!("{{\"image\":\"{data}\"}}")},
                       {"type": "image", "mimeType": "image/png", "data": data}],
           "structuredContent": {"image": data, "width": 1}})
}
