//! A continued session has the model and the thinking level of its last use.

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::*;

/// A folder with two models at the server, of which the first is used without a flag.
async fn two_models() -> Place {
    let place = Place::new(vec![says("yes")]).await;
    let config = place.dir.path().join("config");
    crate::support::write(&config.join("config.toml"), "model = \"own/usual\"\nthinking = \"low\"\n");
    write_models(&place, "own");
    place
}

fn write_models(place: &Place, provider: &str) {
    let model = |id: &str| format!("[[vendors.{provider}.models]]\nid = \"{id}\"\nreasoning = true\n");
    let address = place.server.url();
    let text =
        format!("[vendors.{provider}]\nbase_url = \"{address}\"\n{}{}", model("usual"), model("other"));
    std::fs::write(place.dir.path().join("config/models.toml"), text).unwrap();
}

async fn tau(place: &Place, arguments: &[&str], input: Option<&str>) -> Ended {
    let mut command = bare(place.dir.path());
    run(command.env("TAU_HOME", place.dir.path().join("config")).args(arguments), input).await
}

/// The model and the effort of the last request.
fn asked(place: &Place) -> (String, String) {
    let requests = place.server.requests();
    let (_, body) = requests.last().unwrap().split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    let word = |field: &str| body[field].as_str().unwrap_or("none").to_owned();
    (word("model"), word("reasoning_effort"))
}

#[tokio::test]
async fn it_has_its_model_and_level_unless_flags_name_others() {
    let place = two_models().await;
    let begun = tau(&place, &["-p", "--session-id", "one", "--model", "own/other:high", "hi"], None).await;
    assert_eq!((begun.code, asked(&place)), (0, ("other".into(), "high".into())), "{begun:?}");
    let cases: [(&[&str], &str, &str); 8] = [
        (&["-p", "--continue"], "other", "high"),
        (&["--json", "--continue"], "other", "high"),
        (&["-p", "--session", "one"], "other", "high"),
        (&["-p", "--session-id", "one"], "other", "high"),
        (&["-p", "--fork", "one"], "other", "high"),
        (&["-p", "--session", "one", "--thinking", "medium"], "other", "medium"),
        (&["-p", "--session", "one", "--model", "own/usual"], "usual", "medium"),
        (&["-p", "--session-id", "new"], "usual", "low"),
    ];
    for (arguments, model, level) in cases {
        let ended = tau(&place, &[arguments, &["again"]].concat(), None).await;
        assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{arguments:?}: {ended:?}");
        assert_eq!(asked(&place), (model.to_owned(), level.to_owned()), "{arguments:?}");
    }
}

#[tokio::test]
async fn a_client_is_given_them_too() {
    let place = two_models().await;
    tau(&place, &["-p", "--session-id", "one", "--model", "own/other:high", "hi"], None).await;
    let mut command = bare(place.dir.path());
    command.env("TAU_HOME", place.dir.path().join("config")).args(["--mode", "rpc", "--session", "one"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"{\"id\":\"1\",\"type\":\"get_state\"}\n").await.unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let state = loop {
        let line = timeout(Duration::from_secs(30), lines.next_line()).await.unwrap().unwrap().unwrap();
        let record: Value = serde_json::from_str(&line).unwrap();
        if record["command"] == "get_state" {
            break record["data"].clone();
        }
    };
    drop(input);
    assert_eq!(
        (&state["model"]["id"], &state["thinkingLevel"]),
        (&json!("other"), &json!("high")),
        "{state}"
    );
    timeout(Duration::from_secs(30), child.wait()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_model_that_cannot_be_restored_is_named_with_the_reason() {
    let place = two_models().await;
    tau(&place, &["-p", "--session-id", "one", "--model", "own/other", "hi"], None).await;
    write_models(&place, "mine");
    std::fs::write(place.dir.path().join("config/config.toml"), "model = \"mine/usual\"\n").unwrap();
    let ended = tau(&place, &["-p", "--continue", "again"], None).await;
    let told = "tau: cannot restore this session's model own/other: no provider \"own\" is configured (pass its \
                --base-url, or add it to models.toml); using mine/usual instead\n";
    assert_eq!((ended.code, ended.err.as_str(), asked(&place).0.as_str()), (0, told, "usual"), "{ended:?}");
    // A known model without a key is not used either.
    let session = "{\"type\":\"session\",\"version\":3,\"id\":\"keyless\",\"timestamp\":\"2026-01-02T03:04:05.678Z\",\
                   \"cwd\":\"CWD\"}\n{\"type\":\"model_change\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\
                   \"2026-01-02T03:04:05.678Z\",\"provider\":\"anthropic\",\"modelId\":\"claude-haiku-4-5\"}\n";
    let file = place.dir.path().join("keyless.jsonl");
    let keyless =
        || std::fs::write(&file, session.replace("CWD", place.dir.path().to_str().unwrap())).unwrap();
    keyless();
    let ended = tau(&place, &["-p", "--session", file.to_str().unwrap(), "again"], None).await;
    assert_eq!((ended.code, asked(&place).0.as_str()), (0, "usual"), "{ended:?}");
    assert!(
        ended.err.contains("anthropic/claude-haiku-4-5: no key for anthropic (set ANTHROPIC_API_KEY"),
        "{ended:?}"
    );
    // With nothing else configured it is refused, as nothing can answer.
    std::fs::remove_dir_all(place.dir.path().join("config")).unwrap();
    keyless();
    let ended = tau(&place, &["-p", "--session", file.to_str().unwrap(), "again"], None).await;
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.err.contains("claude-haiku-4-5: no key for anthropic (set ANTHROPIC_API_KEY"), "{ended:?}");
}

#[tokio::test]
async fn a_model_at_another_address_keeps_what_is_known_of_it() {
    let place = Place::new(vec![says("yes")]).await;
    let url = place.server.url();
    let known = ["--model", "anthropic/claude-sonnet-4-5:medium", "--base-url", &url];
    let ended = tau(&place, &[&["-p", "hi"], &known[..]].concat(), None).await;
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{ended:?}");
    assert_eq!(asked(&place), ("anthropic/claude-sonnet-4-5".into(), "medium".into()));
    let state =
        tau(&place, &[&["--mode", "rpc"], &known[..]].concat(), Some("{\"type\":\"get_state\"}\n")).await;
    let records = state.records();
    let model =
        records.iter().find(|record| record["command"] == "get_state").unwrap()["data"]["model"].clone();
    assert_eq!((&model["contextWindow"], &model["reasoning"]), (&json!(200_000), &json!(true)), "{model}");
    assert!(model["cost"]["input"].as_f64().is_some_and(|price| price > 0.0), "{model}");
    assert!(model["maxTokens"].as_u64().is_some_and(|tokens| tokens > 0), "{model}");
}

#[tokio::test]
async fn a_level_that_cannot_be_applied_is_a_warning() {
    let place = two_models().await;
    let url = place.server.url();
    let cases: [(&[&str], &str, &str); 4] = [
        (&["--model", "m:high", "--base-url", &url], "cannot set the thinking level high: local/m", "none"),
        (&["--model", "own/other:xhigh"], "own/other has no thinking level xhigh; using high", "high"),
        (&["--model", "own/other:low", "--thinking", "high"], "ignoring :low after the model", "high"),
        (&["--model", "own/other:high"], "", "high"),
    ];
    for (arguments, told, level) in cases {
        let ended = tau(&place, &[&["-p", "hi"], arguments].concat(), None).await;
        assert!(ended.code == 0 && ended.err.contains(told), "{arguments:?}: {ended:?}");
        assert_eq!(ended.err.is_empty(), told.is_empty(), "{arguments:?}: {ended:?}");
        assert_eq!(asked(&place).1, level, "{arguments:?}");
    }
}
