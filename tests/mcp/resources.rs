//! Resources of servers in messages: `@server:uri`.

use serde_json::json;

use super::client::Client;
use super::prompts::sent;
use super::{server, vision};
use crate::support::program::{bare, calls, run, says};
use crate::support::server::Server;

#[tokio::test(flavor = "multi_thread")]
async fn resources_that_a_message_names_are_attached() {
    let notes = "<resource server=\"demo\" uri=\"demo://notes\">\nwhat was noted\n</resource>";
    let check = async |prompt: &str, attached: &str| {
        assert_eq!(sent(prompt).await.unwrap(), format!("{prompt}\n\n{attached}"));
    };
    check("see @demo:demo://notes, twice @demo:demo://notes", notes).await;
    let lines = "<resource server=\"demo\" uri=\"demo://lines/3\">\n1\n2\n3\n</resource>";
    check("(@demo:demo://lines/3)", lines).await;
    let table = "<resource server=\"demo\" uri=\"demo://table\">\na,b\n</resource>";
    check("@demo:demo://table", table).await;
    // The expansion of a command has them too, but text from a server cannot name any.
    let greeted = format!("Greet \"@demo:demo://notes\" in a null way.\n\n{notes}");
    assert_eq!(sent("/demo:greet @demo:demo://notes").await.unwrap(), greeted);
    for plain in ["@other:demo://notes", "mail a@demo:demo://notes", "see @demo: x", "@demo:demo://unknown"] {
        assert_eq!(sent(plain).await.unwrap(), plain);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_that_cannot_be_attached_is_an_error() {
    let why = sent("@demo:demo://archive").await.unwrap_err();
    let expected = "not sent: @demo:demo://archive: it is application/zip, which models do not take";
    assert!(why.contains(expected), "{why}");
    let why = sent("@demo:demo://lines/4").await.unwrap_err();
    assert!(why.contains("not sent: @demo:demo://lines/4: there is no such resource"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_are_attached_as_pictures() {
    let place = tempfile::tempdir().unwrap();
    let model = Server::start(vec![says("Finished.")]).await;
    let folder = place.path().join("config");
    crate::support::write(&folder.join("config.toml"), &server::config("demo", "offers", ""));
    std::fs::write(folder.join("models.toml"), vision(&model.url())).unwrap();
    let mut command = bare(place.path());
    command.env("TAU_HOME", &folder).args(["--model", "own/m", "-p", "look at @demo:demo://picture"]);
    let ended = run(&mut command, None).await;
    assert_eq!(ended.out.trim(), "Finished.", "{}", ended.err);
    let last = model.requests().pop().unwrap();
    assert!(last.contains("data:image/png;base64,iVBORw0KGgo"), "{last}");
    assert!(last.contains("uri=\\\"demo://picture\\\" />"), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_lists_resources() {
    let model = Server::start(vec![calls("mcp__demo__rename", &json!({})), says("Finished.")]).await;
    let place = tempfile::tempdir().unwrap();
    let mut client = Client::start(place.path(), &server::config("demo", "offers", ""), &model.url());
    client.event("resources_changed").await;
    let listed = client.ask(json!({"type": "get_resources"})).await;
    let listed = listed["data"]["resources"].as_array().unwrap().clone();
    assert_eq!(listed.len(), 5);
    let notes = json!({"server": "demo", "uri": "demo://notes", "name": "notes", "description": "What was noted", "isTemplate": false});
    assert_eq!(listed[0], notes);
    assert_eq!((&listed[4]["uri"], &listed[4]["isTemplate"]), (&json!("demo://lines/{n}"), &json!(true)));
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    client.event("resources_changed").await;
    let listed = client.ask(json!({"type": "get_resources"})).await;
    assert_eq!(listed["data"]["resources"][4]["uri"], "demo://late");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_is_chosen_from_the_list() {
    let model = Server::start(vec![says("Finished.")]).await;
    let url = model.url();
    let screen = super::on_screen(&url);
    screen.type_keys("/demo:");
    screen.wait_for("/demo:greet");
    screen.type_keys("\x15see @dem");
    screen.wait_for("MCP server · 5 resources");
    screen.type_keys("\t");
    screen.wait_for_composer("see @demo:");
    screen.wait_for("notes · What was noted");
    screen.wait_for("template · lines · A number of lines");
    screen.type_keys("note\r");
    screen.wait_for_composer("see @demo:demo://notes");
    screen.type_keys("\r");
    screen.wait_for("what was noted");
    screen.wait_for("Finished.");
    let requests = model.requests();
    assert!(requests[0].contains("what was noted"), "{}", requests[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_of_a_template_is_completed() {
    let model = Server::start(vec![says("Finished.")]).await;
    let place = tempfile::tempdir().unwrap();
    let mut client = Client::start(place.path(), &server::config("demo", "offers", ""), &model.url());
    client.event("resources_changed").await;
    let complete = async |client: &mut Client, typed: &str| {
        let found =
            client.ask(json!({"type": "complete_argument", "command": "@demo", "typed": typed})).await;
        found["data"].clone()
    };
    let all = json!({"argument": "n", "values": ["demo://lines/30", "demo://lines/3", "demo://lines/a%20b"]});
    assert_eq!(complete(&mut client, "demo://lines/").await, all);
    let found = json!({"argument": "n", "values": ["demo://lines/30", "demo://lines/3"]});
    assert_eq!(complete(&mut client, "demo://lines/3").await, found);
    assert_eq!(complete(&mut client, "demo://notes").await, json!({"argument": "", "values": []}));
    let url = model.url();
    let screen = super::on_screen(&url);
    screen.type_keys("/demo:");
    screen.wait_for("/demo:greet");
    screen.type_keys("\x15see @demo:lin");
    screen.wait_for("template · lines · A number of lines");
    screen.type_keys("\t");
    screen.wait_for_composer("see @demo:demo://lines/");
    screen.wait_for("demo://lines/a%20b");
    screen.type_keys("3");
    screen.wait_until("fewer addresses", |cells| {
        let text = cells.contents();
        text.contains("demo://lines/30") && !text.contains("a%20b")
    });
    // What is typed in full is sent, though another address is listed before it.
    screen.type_keys("\r");
    screen.wait_for("Finished.");
    let request = model.requests().pop().unwrap();
    assert!(request.contains("lines/3") && !request.contains("lines/30"), "{request}");
}

/// A resource that is a file is judged like the file.
#[tokio::test(flavor = "multi_thread")]
async fn a_resource_that_is_a_denied_file_is_left_out() {
    let rules = "DEMO_FILES = \"1\"\n[permissions]\ndeny = [\"read(**/.env)\"]\n";
    let config = format!("{}{rules}", server::config("demo", "offers", ""));
    for (path, is_denied) in [("/srv/a.txt", false), ("/srv/.env", true)] {
        let prompt = format!("see @demo:file://{path}");
        let place = tempfile::tempdir().unwrap();
        let acts = vec![says("Finished.")];
        let (ended, requests) = super::printed_with(place.path(), &config, acts, &["-p", &prompt]).await;
        let sent = serde_json::to_string(&requests).unwrap();
        assert_eq!(sent.contains("held by a file"), !is_denied, "{path}: {ended:?}");
        assert_eq!(ended.err.contains("a rule denies"), is_denied, "{path}: {}", ended.err);
    }
}
