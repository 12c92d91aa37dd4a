//! Hooks at prompts and sessions that are stopped or changed, over RPC.

use serde_json::{Value, json};
use tokio::process::Command;

use super::hooks::{Place, hook};
use crate::background_jobs::wire::Client;
use crate::support::program::{bare, own_model, says};
use crate::support::server::Server;

fn program(place: &Place, server: &Server) -> Command {
    let mut command = bare(place.dir.path());
    command.args(["--mode", "rpc"]).args(own_model(&server.url())).env("TAU_HOME", place.path("config"));
    command
}

async fn settled(client: &mut Client) {
    client.record("the end of the run", |record| record["type"] == "agent_settled").await;
}

fn lines(place: &Place, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(place.path(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

async fn until_exists(place: &Place, name: &str) {
    let path = place.path(name);
    let exists = async {
        while !path.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    crate::time_limit::InTime::in_time(exists, name).await;
}

/// A prompt that the hooks have not checked is not sent, however the run is stopped.
#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_whose_hook_was_stopped_is_given_back() {
    let script = r#"case "$(cat)" in *vault*) touch asked; sleep 60; exit 2;; esac"#;
    for stop in [json!({ "type": "abort" }), json!({ "type": "new_session" })] {
        let place = Place::new(&hook("UserPromptSubmit", "", script));
        let server = Server::start(vec![says("Hello.")]).await;
        let mut client = Client::of(program(&place, &server));
        client.send(json!({ "type": "prompt", "message": "open the vault" })).await;
        until_exists(&place, "asked").await;
        client.send(stop.clone()).await;
        let refused = client.record("the prompt back", |record| record["type"] == "prompt_refused").await;
        assert_eq!(refused["text"], "open the vault", "{stop}: {refused}");
        settled(&mut client).await;
        client.send(json!({ "type": "prompt", "message": "hello" })).await;
        settled(&mut client).await;
        let sent = server.requests().join("\n");
        assert!(sent.contains("hello") && !sent.contains("vault"), "{stop}: {sent}");
    }
}

/// What is queued behind a prompt that a hook blocks is sent.
#[tokio::test(flavor = "multi_thread")]
async fn messages_behind_a_blocked_prompt_are_delivered() {
    let script =
        r#"case "$(cat)" in *vault*) touch asked; until test -e go; do sleep 0.05; done; exit 2;; esac"#;
    let place = Place::new(&hook("UserPromptSubmit", "", script));
    let server = Server::start(vec![says("Hello.")]).await;
    let mut client = Client::of(program(&place, &server));
    client.send(json!({ "type": "prompt", "message": "open the vault" })).await;
    until_exists(&place, "asked").await;
    client.ask(json!({ "type": "steer", "message": "the second" })).await;
    std::fs::write(place.path("go"), "").unwrap();
    settled(&mut client).await;
    let sent = server.requests().join("\n");
    assert!(sent.contains("the second") && !sent.contains("vault"), "{sent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_run_at_the_start_of_every_session() {
    let script = r#"cat | grep -o '"source":"[a-z]*"' >> starts; echo the sun shines"#;
    let place = Place::new(&hook("SessionStart", "", script));
    let server = Server::start(vec![says("One."), says("Two."), says("Three.")]).await;
    let mut client = Client::of(program(&place, &server));
    let mut changes = vec![json!({ "type": "new_session" }), json!({ "type": "clone" })].into_iter();
    loop {
        client.send(json!({ "type": "prompt", "message": "go" })).await;
        settled(&mut client).await;
        let Some(change) = changes.next() else { break };
        let changed = client.ask(change).await;
        assert_eq!(changed["success"], true, "{changed}");
    }
    let sources = [r#""source":"startup""#, r#""source":"clear""#, r#""source":"resume""#];
    assert_eq!(lines(&place, "starts"), sources);
    for request in server.requests() {
        let body: Value = crate::support::program::body(&request);
        assert!(body["messages"].to_string().contains("the sun shines"), "{body}");
    }
}
