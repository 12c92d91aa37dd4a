//! Server prompts as slash commands: without a screen, over RPC, and typed.

use serde_json::{Value, json};

use super::client::Client;
use super::{server, vision};
use crate::support::program::{bare, calls, run, says};
use crate::support::server::Server;

/// The user's message in the last request.
fn asked(requests: &[Value]) -> String {
    let messages = requests.last().and_then(|request| request["messages"].as_array()).unwrap();
    let message = messages.iter().rfind(|message| message["role"] == "user").expect("a message");
    message["content"].as_str().map_or_else(|| message["content"].to_string(), str::to_owned)
}

/// The message for the model from a prompt in print mode.
pub async fn sent(prompt: &str) -> Result<String, String> {
    let config = server::config("demo", "offers", "");
    let place = tempfile::tempdir().unwrap();
    let (ended, requests) =
        super::printed_with(place.path(), &config, vec![says("Finished.")], &["-p", prompt]).await;
    if requests.is_empty() { Err(ended.err) } else { Ok(asked(&requests)) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_of_a_server_is_what_its_command_stands_for() {
    assert_eq!(sent("/demo:greet Ada").await.unwrap(), "Greet \"Ada\" in a null way.");
    assert_eq!(
        sent("/demo:greet 'Grace Hopper' very formal").await.unwrap(),
        "Greet \"Grace Hopper\" in a \"very formal\" way."
    );
    assert_eq!(sent("/demo:greet style=odd Ada").await.unwrap(), "Greet \"Ada\" in a \"odd\" way.");
    assert_eq!(sent("/demo:dialog").await.unwrap(), "User:\none\nAssistant:\ntwo");
    assert_eq!(sent("/demo:dialog and then?").await.unwrap(), "User:\none\nAssistant:\ntwo\n\nand then?");
    assert_eq!(sent("/demo:nothing x").await.unwrap(), "/demo:nothing x", "not a command");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_without_what_it_needs_is_not_sent() {
    let why = sent("/demo:greet").await.unwrap_err();
    assert!(
        why.contains("not sent: /demo:greet needs a value for name; type /demo:greet <name> [style]"),
        "{why}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_with_a_resource_and_a_picture_is_one_message() {
    let text = sent("/demo:look_at").await.unwrap();
    let expected =
        "What do you see? @demo:demo://notes\n\n[resource demo://7]\nseven\n\n[picture, image/png, ";
    assert!(text.starts_with(expected), "{text}");
    let place = tempfile::tempdir().unwrap();
    let model = Server::start(vec![says("Finished.")]).await;
    let folder = place.path().join("config");
    crate::support::write(&folder.join("config.toml"), &server::config("demo", "offers", ""));
    std::fs::write(folder.join("models.toml"), vision(&model.url())).unwrap();
    let mut command = bare(place.path());
    let ended = run(command.env("TAU_HOME", &folder).args(["--model", "own/m", "-p", "/demo:look_at"]), None);
    let ended = ended.await;
    assert_eq!(ended.out.trim(), "Finished.", "{}", ended.err);
    let last = model.requests().pop().unwrap();
    assert!(last.contains("data:image/png;base64,iVBORw0KGgo") && last.contains("seven"), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_lists_completes_and_sends_prompts() {
    let model = Server::start(vec![calls("mcp__demo__rename", &json!({})), says("Finished.")]).await;
    let place = tempfile::tempdir().unwrap();
    let config = server::config("demo", "offers", "");
    let mut client = Client::start(place.path(), &config, &model.url());
    client.event("commands_changed").await;
    let listed = client.ask(json!({"type": "get_commands"})).await;
    let row = |listed: &Value, name: &str| {
        let rows = listed["data"]["commands"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).cloned()
    };
    let greet = row(&listed, "demo:greet").unwrap();
    assert_eq!((&greet["source"], &greet["argumentHint"]), (&json!("mcp"), &json!("<name> [style]")));
    assert_eq!(greet["arguments"][0], json!({"name": "name", "description": "whom", "required": true}));
    assert_eq!(row(&listed, "demo:late"), None);
    let complete = json!({"type": "complete_argument", "command": "demo:greet", "typed": "Ada "});
    let found = client.ask(complete).await;
    assert_eq!(found["data"], json!({"argument": "style", "values": ["formal", "as Ada likes it"]}));
    let nothing = client.ask(json!({"type": "complete_argument", "command": "demo:none"})).await;
    assert_eq!(nothing["data"], json!({"argument": "", "values": []}));
    client.ask(json!({"type": "prompt", "message": "/demo:greet Ada"})).await;
    client.event("commands_changed").await;
    client.event("agent_settled").await;
    assert!(row(&client.ask(json!({"type": "get_commands"})).await, "demo:late").is_some());
    assert!(model.requests()[0].contains("Greet \\\"Ada\\\""), "{}", model.requests()[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_is_typed_with_the_menu() {
    let model = Server::start(vec![says("Finished.")]).await;
    let url = model.url();
    let screen = super::on_screen(&url);
    screen.type_keys("/demo:");
    screen.wait_for("/demo:greet <name> [style]");
    screen.wait_for("Talks");
    assert!(screen.text().contains("Greets somebody"), "{}", screen.text());
    // Enter accepts the command, and the values of its first argument follow.
    screen.type_keys("gre\r");
    screen.wait_for("Grace Hopper");
    screen.type_keys("Gr");
    screen.wait_until("one value", |cells| !cells.contents().contains("Ada"));
    screen.type_keys("\t");
    screen.wait_for_composer("/demo:greet \"Grace Hopper\"");
    screen.wait_for("as Grace Hopper likes it");
    screen.type_keys("style=f");
    screen.wait_until("one value", |cells| {
        let text = cells.contents();
        text.contains("formal") && !text.contains("likes it")
    });
    screen.type_keys("\t");
    screen.wait_for_composer("/demo:greet \"Grace Hopper\" style=formal");
    screen.type_keys("\r");
    screen.wait_for("Greet \"Grace Hopper\" in a \"formal\" way.");
    screen.wait_for("Finished.");
    screen.type_keys("/extensions\r");
    screen.wait_for("16 tools · 3 prompts · 5 resources · fake");
    assert_eq!(model.requests().len(), 1);
}

/// A server that is not ready before `go` exists.
fn late(go: &std::path::Path) -> String {
    server::config("demo", "late", "") + &format!("FAKE_GO = \"{}\"\n", go.display())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_waits_for_its_server() {
    let (model, place) = (Server::start(vec![says("Finished.")]).await, tempfile::tempdir().unwrap());
    let go = place.path().join("go");
    let config = late(&go);
    let mut client = Client::start(place.path(), &config, &model.url());
    client.ask(json!({"type": "prompt", "message": "/demo:greet Ada"})).await;
    client.event("agent_start").await;
    std::fs::write(&go, "").unwrap();
    client.event("agent_settled").await;
    assert!(model.requests()[0].contains("Greet \\\"Ada\\\""), "{}", model.requests()[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_sends_a_prompt_when_its_server_is_ready() {
    let model = Server::start(vec![says("Finished.")]).await;
    let url = model.url();
    let folder = tempfile::tempdir().unwrap();
    let go = folder.path().join("go");
    let screen = super::on_screen_with(&url, &late(&go));
    screen.type_keys("/other:greet Ada\r");
    screen.wait_for("unknown command /other:greet");
    screen.type_keys("\x15/demo:greet Ada\r");
    screen.wait_for("MCP server demo is starting");
    screen.wait_for_composer("/demo:greet Ada");
    std::fs::write(&go, "").unwrap();
    screen.wait_for("Greet \"Ada\"");
    screen.wait_for("Finished.");
    assert_eq!(model.requests().len(), 1);
}
