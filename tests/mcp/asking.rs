//! Questions and logs of servers: on the screen, over RPC and JSON, and without a user.

use serde_json::{Value, json};

use super::client::Client;
use super::{answered_by_a_line, printed, server};
use crate::screen::{SEEN, Screen as Terminal};
use crate::support::program::{body, calls, last_result, says};
use crate::support::server::{Act, Server};

fn asks(tool: &str) -> Vec<Act> {
    vec![calls(&format!("mcp__demo__{tool}"), &json!({})), says("Finished.")]
}

/// The result of the call in the last request to the model.
fn answered(model: &Server) -> Value {
    let request = model.requests().pop().unwrap();
    let body = body(&request);
    serde_json::from_str(&last_result(&[body])).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn with_nobody_to_ask_questions_are_declined() {
    for tool in ["ask", "open"] {
        let (ended, requests) = printed(&server::config("demo", "offers", ""), asks(tool), &[]).await;
        assert_eq!((ended.code, ended.out.trim()), (0, "Finished."), "{}", ended.err);
        assert_eq!(last_result(&requests), "{\"action\":\"decline\"}");
        assert!(ended.err.contains("declined a question of MCP server demo"), "{}", ended.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_answers_a_form() {
    let name = json!({"name": "Ada", "color": "blue"});
    for (answer, expected) in [
        (json!({"values": name}), json!({"action": "accept", "content": name})),
        (json!({"values": {"name": "A"}}), json!({"action": "cancel"})),
        (json!({"declined": true}), json!({"action": "decline"})),
        (json!({"cancelled": true}), json!({"action": "cancel"})),
    ] {
        let model = Server::start(asks("ask")).await;
        let place = tempfile::tempdir().unwrap();
        let mut client = Client::start(place.path(), &server::config("demo", "offers", ""), &model.url());
        client.ask(json!({"type": "prompt", "message": "go"})).await;
        let asked = client.event("extension_ui_request").await;
        assert_eq!((&asked["method"], &asked["server"]), (&json!("form"), &json!("demo")));
        let fields = asked["fields"].as_array().unwrap();
        let names: Vec<&str> = fields.iter().filter_map(|field| field["name"].as_str()).collect();
        assert_eq!(names, ["name", "age", "news", "color"]);
        let first =
            json!({"name": "name", "title": "Your name", "required": true, "kind": "string", "minLength": 2});
        assert_eq!(fields[0], first);
        let mut response = answer;
        response["type"] = json!("extension_ui_response");
        response["id"] = asked["id"].clone();
        client.send(&response).await;
        client.event("agent_settled").await;
        assert_eq!(answered(&model), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_questions_at_once_only_a_few_are_asked() {
    let model = Server::start(asks("flood")).await;
    let place = tempfile::tempdir().unwrap();
    let mut client = Client::start(place.path(), &server::config("demo", "offers", ""), &model.url());
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    for _ in 0..8 {
        client.event("extension_ui_request").await;
    }
    // All others were cancelled: it waits for as many answers.
    client.event("agent_settled").await;
    assert_eq!(answered(&model), json!({"action": "cancel"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_ends_with_its_run() {
    let model = Server::start(asks("open")).await;
    let place = tempfile::tempdir().unwrap();
    let mut client = Client::start(place.path(), &server::config("demo", "offers", ""), &model.url());
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    let asked = client.event("extension_ui_request").await;
    assert_eq!(
        (&asked["method"], &asked["url"]),
        (&json!("url"), &json!("https://example.com/consent?id=7"))
    );
    client.ask(json!({"type": "abort"})).await;
    let withdrawn = client.event("extension_ui_withdrawn").await;
    assert_eq!(withdrawn["id"], asked["id"]);
}

/// A question that its server cancels goes, while the call waits on.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_its_server_cancels_is_withdrawn() {
    let acts = || vec![calls("mcp__demo__ask", &json!({"text": "and withdraw"})), says("Finished.")];
    let model = Server::start(acts()).await;
    let place = tempfile::tempdir().unwrap();
    let mut client = Client::start(place.path(), &server::config("demo", "offers", ""), &model.url());
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    let asked = client.event("extension_ui_request").await;
    let withdrawn = client.event("extension_ui_withdrawn").await;
    assert_eq!(withdrawn["id"], asked["id"]);
    client.event("tool_execution_end").await;
    client.event("agent_settled").await;
    let model = Server::start(acts()).await;
    let url = model.url();
    tokio::task::spawn_blocking(move || {
        let screen = super::on_screen(&url);
        screen.type_keys("go\r");
        screen.wait_for("demo asks");
        screen.wait_until("no form", |cells| !cells.contents().contains("demo asks"));
        screen.wait_for("Finished.");
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_input_answers_in_json_mode() {
    let model = Server::start(asks("ask")).await;
    let place = tempfile::tempdir().unwrap();
    let config = server::config("demo", "offers", "");
    answered_by_a_line(place.path(), &config, &model, json!({"values": {"name": "Ada"}})).await;
    assert_eq!(answered(&model), json!({"action": "accept", "content": {"name": "Ada"}}));
}

/// Plays a user of the screen, with a model that calls this tool.
async fn on_screen(tool: &str, play: impl FnOnce(Terminal) + Send + 'static) -> Server {
    let model = Server::start(asks(tool)).await;
    let url = model.url();
    tokio::task::spawn_blocking(move || {
        let screen = super::on_screen(&url);
        screen.type_keys("go\r");
        play(screen);
    })
    .await
    .unwrap();
    model
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_filled_in_on_the_screen() {
    let model = on_screen("ask", |screen| {
        screen.wait_for("demo asks");
        std::thread::sleep(SEEN);
        assert!(screen.text().contains("Your name*:"), "{}", screen.text());
        screen.type_keys("A\r\x7f9\r\r\x1b[C\r\r");
        screen.wait_for("Your name: it needs at least 2 characters");
        screen.type_keys("da\x1b[B\x1b[B\x1b[B\x1b[B\r");
        screen.wait_for("Finished.");
    })
    .await;
    let content = json!({"name": "Ada", "age": 9, "news": true, "color": "red"});
    assert_eq!(answered(&model), json!({"action": "accept", "content": content}));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_shown_and_not_opened_by_itself() {
    for (keys, action) in [("\r", "decline"), ("\x1b[B\r", "accept"), ("\x1b", "cancel")] {
        let model = on_screen("open", move |screen| {
            screen.wait_for("https://example.com/consent?id=7");
            std::thread::sleep(SEEN);
            screen.type_keys(keys);
            screen.wait_for("Finished.");
        })
        .await;
        assert_eq!(answered(&model), json!({ "action": action }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_logs_is_reported_with_a_limit() {
    let (ended, _) = printed(&server::config("demo", "offers", ""), asks("complain"), &[]).await;
    assert_eq!(ended.out.trim(), "Finished.", "{}", ended.err);
    let lines: Vec<&str> = ended.err.lines().filter(|line| line.contains("MCP server demo")).collect();
    assert_eq!(lines.len(), 6, "{}", ended.err);
    assert!(lines[0].contains("MCP server demo: disk: full 0"), "{lines:?}");
    assert!(lines[5].contains("further messages of MCP server demo are left out"), "{lines:?}");
}
