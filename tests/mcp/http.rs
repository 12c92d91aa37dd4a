//! Servers at an address.

use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};

use super::{called_of, printed};
use crate::support::program::{offered_tools, says};

/// The messages to the server: the session and token of each, and its method.
type Seen = Arc<Mutex<Vec<(String, String)>>>;

/// A server that requires a token; returns its address.
async fn server() -> (String, Seen) {
    let seen = Seen::default();
    let shown = Arc::clone(&seen);
    let answer = move |headers: HeaderMap, body: Bytes| {
        let seen = Arc::clone(&shown);
        async move { answer(&headers, &body, &seen) }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = axum::Router::new().route("/mcp", post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}/mcp"), seen)
}

fn answer(headers: &HeaderMap, body: &[u8], seen: &Seen) -> Response {
    let text =
        |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    // Of a variable that is not set, nothing is sent.
    if headers.contains_key("x-unset") {
        return StatusCode::BAD_REQUEST.into_response();
    }
    if text("authorization") != "Bearer right" {
        return (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")], "").into_response();
    }
    let message: Value = serde_json::from_slice(body).unwrap();
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    seen.lock().unwrap().push((method.clone(), text("mcp-session-id")));
    if message.get("id").is_none() {
        return StatusCode::ACCEPTED.into_response();
    }
    let result = match method.as_str() {
        "initialize" => json!({"protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}}, "serverInfo": {"name": "remote", "version": "1"}}),
        "tools/list" => json!({"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "added far away"}]}),
        _ => json!({}),
    };
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    match method.as_str() {
        // As a stream, with progress before the result.
        "tools/call" => {
            let token = &message["params"]["_meta"]["progressToken"];
            let news = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}});
            let events = format!("data: {news}\n\ndata: {answer}\n\n");
            ([("content-type", "text/event-stream")], events).into_response()
        }
        "initialize" => ([("mcp-session-id", "s1")], axum::Json(answer)).into_response(),
        _ => axum::Json(answer).into_response(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_at_an_address_is_called() {
    let (url, seen) = server().await;
    let headers = "{ Authorization = \"Bearer right\", X-Unset = \"${TAU_TEST_UNSET:-}\" }";
    let config = format!("[mcp.far]\nurl = \"{url}\"\nheaders = {headers}\n");
    assert_eq!(called_of(&config, "mcp__far__add", &json!({})).await, "added far away");
    let seen = seen.lock().unwrap();
    let call = seen.iter().find(|(method, _)| method == "tools/call").unwrap();
    assert_eq!(call.1, "s1", "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_cannot_be_used_is_reported() {
    let (url, _) = server().await;
    let (_kept, gone) = crate::support::server::closed_port();
    for (url, header, why) in [
        (url.as_str(), "Bearer wrong", "it does not accept the Authorization in its `headers`"),
        (&format!("http://{gone}/mcp"), "x", "Connection refused"),
        ("http://127.0.0.1:1/${NOT_SET_HERE}", "x", "the variable NOT_SET_HERE is not set"),
    ] {
        let config = format!("[mcp.far]\nurl = \"{url}\"\nheaders = {{ Authorization = \"{header}\" }}\n");
        let (ended, requests) = printed(&config, vec![says("Finished.")], &[]).await;
        assert!(
            ended.err.contains("MCP server far cannot be used: ") && ended.err.contains(why),
            "{why}: {}",
            ended.err
        );
        assert!(!ended.err.contains("Bearer wrong"), "{}", ended.err);
        assert_eq!(offered_tools(&requests[0]).len(), 6);
    }
}
