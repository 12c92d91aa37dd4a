//! Sessions over the wire: started, opened, forked, cloned, and queried.

use super::*;
use crate::background_jobs::Home;
use crate::background_jobs::wire::Client as Program;
use crate::support::program::{run, says};
use tau::agent::undo::UndoOptions;

async fn say(client: &mut Client, message: &str) {
    client.ask(json!({"type": "prompt", "message": message})).await;
    client.settled().await;
}

fn said(answer: &Value) -> Vec<String> {
    let messages = answer["data"]["messages"].as_array().unwrap();
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    messages.iter().map(text).collect()
}

/// What cannot be opened does not end the run.
#[tokio::test]
async fn a_refused_change_of_session_leaves_the_run_alone() {
    let kept = tempfile::tempdir().unwrap();
    let answers = vec![vec![Say("half"), Wait(1_500), Say(" whole"), STOP]];
    let mut client = Client::with(Player::new(answers), RpcEvents::Auto, |config| {
        config.behavior.undo =
            Some(UndoOptions { dir: kept.path().into(), quota: 1 << 30, own: std::path::PathBuf::new() });
    });
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    client.until("message_update").await;
    let wrong = client.dir.path().join("wrong.jsonl");
    std::fs::write(&wrong, "no session\n").unwrap();
    for command in [
        json!({"type": "fork", "entryId": "0badcafe"}),
        json!({"type": "switch_session", "sessionPath": wrong}),
        json!({"type": "switch_session", "sessionPath": "/nowhere/at/all.jsonl"}),
        json!({"type": "undo", "entryId": "0badcafe"}),
    ] {
        let answer = client.ask(command.clone()).await;
        assert_eq!(answer["success"], json!(false), "{command}: {answer}");
    }
    let settled = client.until("agent_settled").await;
    assert_eq!(settled["aborted"], json!(false), "{settled}");
    assert_eq!(said(&client.ask(json!({"type": "get_messages"})).await), ["go", "half"]);
}

/// The messages of the user that runs began with.
fn begun(client: &Client) -> Vec<&str> {
    let users = client.seen.iter().filter(|record| record["type"] == "message_end");
    users.filter_map(|record| record["message"]["content"].as_str()).collect()
}

#[tokio::test]
async fn a_prompt_that_waits_runs_unless_another_session_is_opened_or_it_is_taken_back() {
    let compacting = || vec![Wait(400), Say("in short"), STOP];
    let answers = vec![vec![Say("an answer"), STOP], compacting(), vec![Say("held"), STOP], compacting()];
    let mut client = Client::new(answers);
    say(&mut client, "question").await;
    client.send(json!({"type": "compact"})).await;
    let held = client.ask(json!({"type": "prompt", "message": "waits"})).await;
    assert_eq!(held["data"]["disposition"], "queued", "{held}");
    let path = "/nowhere/at/all.jsonl";
    let refused = client.ask(json!({"type": "switch_session", "sessionPath": path})).await;
    assert_eq!(refused["success"], json!(false), "{refused}");
    client.settled().await;
    assert_eq!(begun(&client), ["question", "waits"]);

    client.send(json!({"type": "compact"})).await;
    client.ask(json!({"type": "prompt", "message": "taken back"})).await;
    let taken = client.ask(json!({"type": "clear_queue"})).await;
    assert_eq!(taken["data"], json!({"steering": [], "followUp": ["taken back"]}));
    client.ask(json!({"type": "abort"})).await;
    let state = client.ask(json!({"type": "get_state"})).await;
    assert_eq!(state["data"]["isStreaming"], json!(false), "{state}");
    assert_eq!(begun(&client), ["question", "waits"]);
}

#[tokio::test]
async fn forks_and_clones_leave_the_first_as_it_was() {
    let answers = ["one", "two", "three"].map(|text| vec![Say(text), STOP]);
    let mut client = Client::new(answers.into());
    say(&mut client, "first").await;
    say(&mut client, "second").await;
    let first = client.ask(json!({"type": "get_state"})).await["data"]["sessionFile"].clone();
    let before = std::fs::read_to_string(first.as_str().unwrap()).unwrap();

    let found = client.ask(json!({"type": "get_fork_messages"})).await;
    let found = found["data"]["messages"].as_array().unwrap().clone();
    assert_eq!(found.iter().map(|m| m["text"].as_str().unwrap()).collect::<Vec<_>>(), ["first", "second"]);
    let fork = client.ask(json!({"type": "fork", "entryId": found[1]["entryId"]})).await;
    assert_eq!(fork["data"], json!({"text": "second", "cancelled": false}));
    assert_eq!(said(&client.ask(json!({"type": "get_messages"})).await), ["first", "one"]);
    say(&mut client, "another second").await;
    let second = client.ask(json!({"type": "get_state"})).await["data"]["sessionFile"].clone();
    assert_ne!(first, second);
    let written = std::fs::read_to_string(second.as_str().unwrap()).unwrap();
    let header: Value = serde_json::from_str(written.lines().next().unwrap()).unwrap();
    assert_eq!(header["parentSession"], first);

    let switch = client.ask(json!({"type": "switch_session", "sessionPath": first})).await;
    assert_eq!(switch["data"], json!({"cancelled": false}));
    assert_eq!(std::fs::read_to_string(first.as_str().unwrap()).unwrap(), before);
    let clone = client.ask(json!({"type": "clone"})).await;
    assert_eq!(clone["data"], json!({"cancelled": false}));
    let messages = client.ask(json!({"type": "get_messages"})).await;
    assert_eq!(said(&messages), ["first", "one", "second", "two"]);

    let new = client.ask(json!({"type": "new_session", "parentSession": first})).await;
    assert_eq!(new["data"], json!({"cancelled": false}));
    assert_eq!(said(&client.ask(json!({"type": "get_messages"})).await), Vec::<String>::new());

    let wrong = client.dir.path().join("wrong.jsonl");
    std::fs::write(&wrong, "no session\n").unwrap();
    let refused = client.ask(json!({"type": "switch_session", "sessionPath": wrong})).await;
    assert_eq!(refused["success"], json!(false));
    assert_eq!(std::fs::read_to_string(&wrong).unwrap(), "no session\n");
    let wrong = client.ask(json!({"type": "fork", "entryId": "0badcafe"})).await;
    assert_eq!(wrong["error"], "Entry not found: 0badcafe");
    client.golden("sessions");
}

#[tokio::test]
async fn entries_and_the_tree() {
    let answers = ["one", "two"].map(|text| vec![Say(text), STOP]);
    let mut client = Client::new(answers.into());
    say(&mut client, "first").await;
    let all = client.ask(json!({"type": "get_entries"})).await["data"].clone();
    let entries = all["entries"].as_array().unwrap();
    let types: Vec<&str> = entries.iter().map(|entry| entry["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["model_change", "thinking_level_change", "message", "message"]);
    assert_eq!(all["leafId"], entries[3]["id"]);
    let later = client.ask(json!({"type": "get_entries", "since": entries[2]["id"]})).await;
    assert_eq!(later["data"]["entries"], json!([entries[3]]));
    let tree = client.ask(json!({"type": "get_tree"})).await["data"].clone();
    let mut node = &tree["tree"][0];
    for entry in entries {
        assert_eq!(node["entry"], *entry);
        node = &node["children"][0];
    }
    assert!(node.is_null());
    assert_eq!(tree["leafId"], all["leafId"]);
    client.golden("entries");
}

#[tokio::test]
async fn a_change_of_session_ends_the_run_first() {
    let mut client = Client::new(vec![vec![Say("half"), Hang], vec![Say("fresh"), STOP]]);
    client.ask(json!({"type": "prompt", "message": "go"})).await;
    client.until("message_update").await;
    client.ask(json!({"type": "new_session"})).await;
    let told = client.types();
    assert_eq!(told[told.len() - 2..], ["agent_settled", "response"]);
    say(&mut client, "in the new one").await;
    assert_eq!(said(&client.ask(json!({"type": "get_messages"})).await), ["in the new one", "fresh"]);
}

/// Only the end of a large session is read at first; a client that asks gets all of it.
#[tokio::test]
async fn all_messages_of_a_large_session_are_given() {
    let mut client = Client::new(Vec::new());
    let mut lines = vec![crate::support::session_files::HEADER.to_owned()];
    for at in 0..600_usize {
        let parent = at.checked_sub(1).map(|at| format!("m{at}"));
        let text = format!("{at} {}", "word ".repeat(2_000));
        lines.push(crate::support::session_files::line(&format!("m{at}"), parent.as_deref(), &text));
    }
    let path = client.dir.path().join("large.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() > 5 * 1024 * 1024);
    client.ask(json!({"type": "switch_session", "sessionPath": path})).await;
    let said = said(&client.ask(json!({"type": "get_messages"})).await);
    assert_eq!((said.len(), said[0].get(..2), said[599].get(..4)), (600, Some("0 "), Some("599 ")));
    let state = client.ask(json!({"type": "get_state"})).await["data"].clone();
    assert_eq!(state["messageCount"], json!(600));
}

/// The tree of a long session is nested deeper than a recursive writer could follow.
#[tokio::test]
async fn the_tree_of_a_long_session_is_written() {
    let mut client = Client::with(Player::new(Vec::new()), RpcEvents::Auto, |config| {
        for n in 0..20_000 {
            let said = json!({"role": "user", "content": format!("m{n}"), "timestamp": 0});
            config.session.append(Arc::new(serde_json::from_value(said).unwrap())).unwrap();
        }
    });
    client.send(json!({"type": "get_tree"})).await;
    let line = timeout(Duration::from_secs(20), client.output.as_mut().unwrap().next_line()).await;
    let line = line.unwrap().unwrap().unwrap();
    assert_eq!(line.matches(r#""children":["#).count(), 20_000);
    assert_eq!(line.matches('[').count(), line.matches(']').count());
    assert!(line.starts_with(r#"{"type":"response","command":"get_tree","success":true,"data":{"tree":[{"#));
}

#[tokio::test]
async fn a_clone_of_a_session_that_can_no_longer_be_read_is_refused() {
    let home = Home::new((0..6).map(|_| says("I see.")).collect()).await;
    for part in 0..6 {
        let arguments: &[&str] = if part == 0 { &["-p"] } else { &["-p", "--continue"] };
        // More than is read at the start.
        let prompt = "x".repeat(150_000);
        assert_eq!(run(&mut home.tau(arguments), Some(&prompt)).await.code, 0);
    }
    let mut client = Program::start_with(&home, &["--continue"]);
    client.ask(json!({"type": "get_available_models"})).await;
    let file = crate::goal::session(&home);
    std::fs::rename(&file, file.with_extension("away")).unwrap();
    let refused = client.ask(json!({"type": "clone"})).await;
    assert_eq!(
        (&refused["success"], &refused["error"]),
        (&json!(false), &json!("The earlier part of this session cannot be read, so it cannot be copied"))
    );
}
